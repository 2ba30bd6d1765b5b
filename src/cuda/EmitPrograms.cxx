/*=========================================================================
 *
 *  Copyright NumFOCUS
 *
 *  Licensed under the Apache License, Version 2.0 (the "License");
 *  you may not use this file except in compliance with the License.
 *  You may obtain a copy of the License at
 *
 *         https://www.apache.org/licenses/LICENSE-2.0.txt
 *
 *  Unless required by applicable law or agreed to in writing, software
 *  distributed under the License is distributed on an "AS IS" BASIS,
 *  WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 *  See the License for the specific language governing permissions and
 *  limitations under the License.
 *
 *=========================================================================*/
#include "HierarchicalTiling.h"
#include "ProgramEmitter.h"
#include "TilePolicy.h"

#include <fstream>
#include <iostream>
#include <stdexcept>

/** Build-time program: writes the tile program of one window as a header.
 *
 * Usage: EmitPrograms radiusX radiusY radiusZ radiusW header */
int
main(int argc, char * argv[])
{
  try
  {
    if (argc != 2 + cudamedian::Dimension)
    {
      throw std::invalid_argument("usage: EmitPrograms radiusX radiusY radiusZ radiusW header");
    }
    cudamedian::Extent radius;
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      radius[axis] = std::stoll(argv[1 + axis]);
    }
    const auto    program = cudamedian::BuildHierarchicalTilingProgram(radius, cudamedian::ChooseTile(radius));
    std::ofstream file(argv[1 + cudamedian::Dimension]);
    file << "// Written by EmitPrograms: " << program.GetInstructions().size() << " operations for "
         << cudamedian::Volume(program.GetTile()) << " pixels.\n#pragma once\n#include \"PixelKey.h\"\n"
         << "namespace cudamedian\n{\n";
    cudamedian::EmitProgram(program, file);
    file << "} // namespace cudamedian\n";
    file.close();
    if (!file)
    {
      throw std::runtime_error(std::string("cannot write ") + argv[1 + cudamedian::Dimension]);
    }
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "EmitPrograms: " << error.what() << std::endl;
    return 1;
  }
}
