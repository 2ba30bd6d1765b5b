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
#include "ProgramEmitter.h"
#include "RowEmitter.h"
#include "TilePolicy.h"

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace
{

using namespace cudamedian;

/** The kinds of kernels that pixels of a width need on a list of architectures such as "75,90". */
std::map<KeyPacking, KernelKind>
GetKinds(int pixelBytes, const std::string & architectures)
{
  std::map<KeyPacking, KernelKind> kinds;
  std::istringstream               list(architectures);
  for (std::string architecture; std::getline(list, architecture, ',');)
  {
    const auto kind = GetKernelKind(pixelBytes, std::stoi(architecture));
    kinds[kind.packing] = kind;
  }
  return kinds;
}

/** "TileProgram_5x5x1x1_16": the name of a window and a pixel width, whatever the packing. */
std::string
GetName(const Extent & radius, const std::map<KeyPacking, KernelKind> & kinds)
{
  const auto & kind = kinds.begin()->second;
  const auto   name = GetEmittedName(radius, kind);
  return name.substr(0, name.rfind('_')) + "_" + std::to_string(8 * kind.pixelBytes);
}

/** Writes a type that names the program of each packing. One that was not emitted is an incomplete type. */
void
WriteProgramsOfPackings(const Extent & radius, const std::map<KeyPacking, KernelKind> & kinds, std::ostream & os)
{
  const auto name = "Packings_of_" + GetName(radius, kinds);
  os << "struct " << name << "\n{\n  template <KeyPacking>\n  struct Of;\n};\n";
  for (const auto & entry : kinds)
  {
    os << "template <>\nstruct " << name << "::Of<KeyPacking::" << ToString(entry.first)
       << ">\n{\n  using Type = " << GetEmittedName(radius, entry.second) << ";\n};\n";
  }
}

/** Writes the function that adds a window's kernels to the table. */
void
WriteDescription(const Extent & radius, const std::map<KeyPacking, KernelKind> & kinds, std::ostream & os)
{
  const auto pixelBytes = kinds.begin()->second.pixelBytes;
  const auto bits = std::to_string(8 * pixelBytes);
  const auto name = GetName(radius, kinds);
  os << "void\nDescribe_" << name << "(std::vector<EmittedKernel> & kernels)\n{\n";
  for (const auto & entry : kinds)
  {
    for (const std::string mapping : { "Integer", "Float" })
    {
      if (pixelBytes >= 4 || mapping == "Integer")
      {
        os << "  kernels.push_back(Describe"
           << (IsFilteredInStrips(radius) ? "StripKernel<" : "EmittedKernel<Packings_of_" + name + ", ") << "std::uint"
           << bits << "_t, KeyMapping::" << mapping << ", KeyPacking::" << ToString(entry.first)
           << ">(KeyFormat::" << mapping << bits << "));\n";
      }
    }
  }
  os << "}\n";
}

/** Writes a program for the CPU, which has instructions of two operands only and vectors of neighbouring tiles. */
void
WriteRowProgram(const Extent & radius, std::size_t keyBytes, std::ostream & os)
{
  const auto policy = GetRowPolicy(radius, keyBytes);
  const auto program = BuildHierarchicalTilingProgram(radius, policy.tile, policy.tiling);
  const auto name = GetEmittedName(radius, KernelKind());
  EmitRowProgram(CutIntoPhases(program, policy.phases),
                 policy.chunkOperations,
                 "Row" + name.substr(name.find('_'), name.rfind('_') - name.find('_')),
                 os);
}

/** Writes the programs of a window for each kind of kernel. */
void
WriteKernelPrograms(const Extent &                           radius,
                    const std::map<KeyPacking, KernelKind> & kinds,
                    bool                                     isHeader,
                    std::ostream &                           os)
{
  os << "// Written by EmitPrograms.\n"
     << (isHeader ? "#pragma once\n#include \"KeyRegisters.h\"\n" : "#include \"EmittedKernel.cuh\"\n")
     << "namespace cudamedian\n{\n";
  for (const auto & entry : kinds)
  {
    if (!isHeader && IsFilteredInStrips(radius))
    {
      break; // a kernel that needs no program
    }
    const auto & kind = entry.second;
    const auto   policy = GetKernelPolicy(radius, kind);
    EmitProgram(BuildKernelProgram(radius, policy, kind), policy, kind, GetEmittedName(radius, kind), os);
  }
  if (!isHeader)
  {
    if (!IsFilteredInStrips(radius))
    {
      WriteProgramsOfPackings(radius, kinds, os);
    }
    WriteDescription(radius, kinds, os);
  }
  os << "} // namespace cudamedian\n";
}

/** Writes a file, but leaves one alone that says the same: what is compiled from it takes minutes. */
void
WriteFile(const std::string & path, const std::string & text)
{
  {
    std::ifstream      old(path);
    std::ostringstream oldText;
    oldText << old.rdbuf();
    if (old && oldText.str() == text)
    {
      return;
    }
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file)
  {
    throw std::runtime_error("cannot write " + path);
  }
}

} // namespace

/** Build-time program: writes the tile programs of one window and pixel width, as the source of the kernels that are
 * compiled ahead (.cu), as a header without kernels (.h), or for the CPU (-inl.h).
 *
 * Usage: EmitPrograms radiusX radiusY radiusZ radiusW pixelBytes architecture[,architecture...] file */
int
main(int argc, char * argv[])
{
  try
  {
    if (argc != 8)
    {
      throw std::invalid_argument(
        "usage: EmitPrograms radiusX radiusY radiusZ radiusW pixelBytes architecture[,architecture...] file");
    }
    Extent radius;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      radius[axis] = std::stoll(argv[1 + axis]);
    }
    const std::string  path = argv[7];
    std::ostringstream text;
    if (path.size() > 6 && path.substr(path.size() - 6) == "-inl.h")
    {
      WriteRowProgram(radius, std::stoul(argv[5]), text);
    }
    else
    {
      WriteKernelPrograms(radius, GetKinds(std::stoi(argv[5]), argv[6]), path.substr(path.rfind('.')) == ".h", text);
    }
    WriteFile(path, text.str());
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "EmitPrograms: " << error.what() << std::endl;
    return 1;
  }
}
