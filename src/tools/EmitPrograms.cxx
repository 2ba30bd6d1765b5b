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
GetName(const Window & window, const std::map<KeyPacking, KernelKind> & kinds)
{
  const auto & kind = kinds.begin()->second;
  const auto   name = GetEmittedName(window, kind);
  return name.substr(0, name.rfind('_')) + "_" + std::to_string(8 * kind.pixelBytes);
}

/** Writes a type that names the program of each packing. One that was not emitted is an incomplete type. */
void
WriteProgramsOfPackings(const Window & window, const std::map<KeyPacking, KernelKind> & kinds, std::ostream & os)
{
  const auto name = "Packings_of_" + GetName(window, kinds);
  os << "struct " << name << "\n{\n  template <KeyPacking>\n  struct Of;\n};\n";
  for (const auto & entry : kinds)
  {
    os << "template <>\nstruct " << name << "::Of<KeyPacking::" << ToString(entry.first)
       << ">\n{\n  using Type = " << GetEmittedName(window, entry.second) << ";\n};\n";
  }
}

/** Writes the function that adds a window's kernels to the table. */
void
WriteDescription(const Window & window, const std::map<KeyPacking, KernelKind> & kinds, std::ostream & os)
{
  const auto pixelBytes = kinds.begin()->second.pixelBytes;
  const auto bits = std::to_string(8 * pixelBytes);
  const auto name = GetName(window, kinds);
  os << "void\nDescribe_" << name << "(std::vector<EmittedKernel> & kernels)\n{\n";
  for (const auto & entry : kinds)
  {
    for (const std::string mapping : { "Integer", "Float" })
    {
      if (pixelBytes >= 4 || mapping == "Integer")
      {
        os << "  kernels.push_back(Describe"
           << (IsFilteredInStrips(window) ? "StripKernel<" : "EmittedKernel<Packings_of_" + name + ", ") << "std::uint"
           << bits << "_t, KeyMapping::" << mapping << ", KeyPacking::" << ToString(entry.first)
           << ">(KeyFormat::" << mapping << bits << "));\n";
      }
    }
  }
  os << "}\n";
}

/** Writes a program for the CPU, which has instructions of two operands only and vectors of neighbouring tiles. */
void
WriteRowProgram(const Window & window, std::size_t keyBytes, std::ostream & os)
{
  const auto policy = GetRowPolicy(window, keyBytes);
  const auto program = BuildHierarchicalTilingProgram(window, policy.tile, policy.tiling);
  const auto name = GetEmittedName(window, KernelKind());
  EmitRowProgram(CutIntoPhases(program, policy.phases),
                 policy.chunkOperations,
                 "Row" + name.substr(name.find('_'), name.rfind('_') - name.find('_')),
                 os);
}

/** Writes the programs of a window for each kind of kernel. */
void
WriteKernelPrograms(const Window &                           window,
                    const std::map<KeyPacking, KernelKind> & kinds,
                    bool                                     isHeader,
                    std::ostream &                           os)
{
  os << "// Written by EmitPrograms.\n"
     << (isHeader ? "#pragma once\n#include \"KeyRegisters.h\"\n" : "#include \"EmittedKernel.cuh\"\n")
     << "namespace cudamedian\n{\n";
  for (const auto & entry : kinds)
  {
    if (!isHeader && IsFilteredInStrips(window))
    {
      break; // a kernel that needs no program
    }
    const auto & kind = entry.second;
    const auto   policy = GetKernelPolicy(window, kind);
    EmitProgram(BuildKernelProgram(window, policy, kind), policy, kind, GetEmittedName(window, kind), os);
  }
  if (!isHeader)
  {
    if (!IsFilteredInStrips(window))
    {
      WriteProgramsOfPackings(window, kinds, os);
    }
    WriteDescription(window, kinds, os);
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

constexpr char usage[] =
  "usage: EmitPrograms radiusX radiusY radiusZ radiusW [rank] pixelBytes architecture[,architecture...] file";

} // namespace

/** Build-time program: writes the tile programs of one window and pixel width, as the source of the kernels that are
 * compiled ahead (.cu), as a header without kernels (.h), or for the CPU (-inl.h). What is compiled ahead is for
 * medians only; headers take any rank. */
int
main(int argc, char * argv[])
{
  try
  {
    if (argc != 8 && argc != 9)
    {
      throw std::invalid_argument(usage);
    }
    Extent radius;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      radius[axis] = std::stoll(argv[1 + axis]);
    }
    const Window      window(radius, argc == 9 ? std::stoll(argv[5]) : -1);
    const int         pixelBytes = std::stoi(argv[argc - 3]);
    const std::string path = argv[argc - 1];
    const auto        extension = path.substr(path.rfind('.'));
    const bool        isForHost = path.size() > 6 && path.substr(path.size() - 6) == "-inl.h";
    if (!window.IsMedian() && (isForHost || extension != ".h"))
    {
      throw std::invalid_argument("only headers have programs for another rank than the median's");
    }
    std::ostringstream text;
    if (isForHost)
    {
      WriteRowProgram(window, static_cast<std::size_t>(pixelBytes), text);
    }
    else
    {
      WriteKernelPrograms(window, GetKinds(pixelBytes, argv[argc - 2]), extension == ".h", text);
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
