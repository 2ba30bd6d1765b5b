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
#include "DeviceProfiles.h"
#include "ProgramEmitter.h"
#include "PublishedPrograms.h"
#include "RowEmitter.h"
#include "TilePolicy.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace
{

using namespace cudamedian;

/** A shape of footprints that there are programs of, and the expression that makes it. */
struct Shape
{
  std::string name; ///< "" for a box
  std::string expression;
};

Shape
GetShape(const Window & window)
{
  if (window.footprint == nullptr)
  {
    return {};
  }
  const auto & radius = window.radius;
  std::string  list = "{ { ";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    list += std::to_string(radius[axis]) + (axis + 1 < Dimension ? ", " : " } }");
  }
  if (window.footprint == Footprint::MakeCross(radius))
  {
    return { "cross", "Footprint::MakeCross(" + list + ")" };
  }
  std::array<double, Dimension> radii;
  std::transform(radius.begin(), radius.end(), radii.begin(), [](auto r) { return static_cast<double>(r); });
  if (window.footprint == Footprint::MakeEllipsoid(radii))
  {
    return { "ellipsoid", "Footprint::MakeEllipsoid(" + list + ")" };
  }
  const auto weight = std::to_string(window.footprintValues - window.CountBoxPixels() + 1);
  return { "centre" + weight, "Footprint::MakeCentreWeighted(" + list + ", " + weight + ")" };
}

/** The footprint of a shape's name. */
const Footprint *
MakeShape(const std::string & name, const Extent & radius)
{
  if (name == "cross")
  {
    return Footprint::MakeCross(radius);
  }
  if (name == "ellipsoid")
  {
    std::array<double, Dimension> radii;
    std::transform(radius.begin(), radius.end(), radii.begin(), [](auto r) { return static_cast<double>(r); });
    return Footprint::MakeEllipsoid(radii);
  }
  if (name.rfind("centre", 0) == 0)
  {
    return Footprint::MakeCentreWeighted(radius, std::stoll(name.substr(6)));
  }
  throw std::invalid_argument("no footprint is a " + name);
}

/** Follows the name of a published program in names of files and structs. */
constexpr char behindMethod[] = "of";

std::string
GetProgramName(const Window & window, const KernelKind & kind)
{
  return GetEmittedName(window, kind, GetShape(window).name);
}

/** A program of a window, and the architectures that run it. */
struct Variant
{
  KernelKind       kind;
  KernelPolicy     policy;
  std::string      name;
  std::vector<int> architectures;
};

bool
IsSame(const KernelPolicy & one, const KernelPolicy & other)
{
  const auto list = [](const KernelPolicy & policy) {
    return std::make_tuple(policy.tile,
                           policy.tiling.root,
                           policy.tiling.division,
                           policy.phases.sharedPhases,
                           policy.phases.firstColumn,
                           policy.phases.columns,
                           policy.lowering.threeInput,
                           policy.lowering.sumPercent,
                           policy.lowering.excessPercent,
                           policy.blockX,
                           policy.blockY,
                           policy.registers,
                           policy.residentBlocks,
                           policy.lineBytes,
                           policy.steps);
  };
  return list(one) == list(other);
}

/** The programs that pixels of a width need on a list of architectures such as "75,90,120f". */
std::vector<Variant>
ListVariants(const Window & window, int pixelBytes, const std::string & architectures)
{
  std::vector<Variant> variants;
  std::istringstream   list(architectures);
  for (std::string text; std::getline(list, text, ',');)
  {
    const int  architecture = std::stoi(text);
    const auto kind = GetKernelKind(pixelBytes, architecture, text.back() == 'f');
    const auto policy = GetKernelPolicy(window, kind, GetArchitectureTraits(architecture));
    const auto same = std::find_if(variants.begin(), variants.end(), [&](const Variant & variant) {
      return variant.kind.packing == kind.packing && IsSame(variant.policy, policy);
    });
    if (same != variants.end())
    {
      same->architectures.push_back(architecture);
      continue;
    }
    // Two programs of one packing differ by what their architectures have.
    const auto name = GetProgramName(window, kind);
    const bool isTaken = std::any_of(
      variants.begin(), variants.end(), [&](const Variant & variant) { return variant.kind.packing == kind.packing; });
    variants.push_back({ kind, policy, isTaken ? name + "_" + std::to_string(architecture) : name, { architecture } });
  }
  return variants;
}

/** "TileProgram_5x5x1x1_16": the name of a window and a pixel width, whatever the packing. */
std::string
GetName(const Window & window, const KernelKind & kind)
{
  const auto name = GetProgramName(window, kind);
  return name.substr(0, name.rfind('_')) + "_" + std::to_string(8 * kind.pixelBytes);
}

/** Writes a type that names the program of each architecture. One that has none is an incomplete type. */
void
WriteProgramsOfArchitectures(const Window & window, const std::vector<Variant> & variants, std::ostream & os)
{
  const auto  name = "Programs_of_" + GetName(window, variants.front().kind);
  std::string list;
  for (const auto & variant : variants)
  {
    for (const int architecture : variant.architectures)
    {
      list += (list.empty() ? "" : ", ") + std::to_string(architecture);
    }
  }
  os << "struct " << name << "\n{\n  static constexpr int Architectures[] = { " << list
     << " };\n  template <int>\n  struct Of;\n};\n";
  for (const auto & variant : variants)
  {
    for (const int architecture : variant.architectures)
    {
      os << "template <>\nstruct " << name << "::Of<" << architecture << ">\n{\n  using Type = " << variant.name
         << ";\n  static constexpr auto Packing = KeyPacking::"
         << ToString(variant.policy.lineBytes > 0 ? GetLinePacking(variant.kind.packing) : variant.kind.packing)
         << ";\n};\n";
    }
  }
}

/** Writes the function that adds a window's kernels to the table. */
void
WriteDescription(const Window & window, const std::vector<Variant> & variants, std::ostream & os)
{
  const auto pixelBytes = variants.front().kind.pixelBytes;
  const auto bits = std::to_string(8 * pixelBytes);
  const auto name = GetName(window, variants.front().kind);
  os << "void\nDescribe_" << name << "(std::vector<EmittedKernel> & kernels)\n{\n";
  for (const auto & variant : variants)
  {
    for (const int architecture : variant.architectures)
    {
      for (const std::string mapping : { "Integer", "Float" })
      {
        if (pixelBytes >= 4 || mapping == "Integer")
        {
          os << "  kernels.push_back(Describe"
             << (IsFilteredInStrips(window) ? "StripKernel<" : "EmittedKernel<Programs_of_" + name + ", ")
             << "std::uint" << bits << "_t, KeyMapping::" << mapping << ", " << architecture
             << ">(KeyFormat::" << mapping << bits << "));\n";
          if (window.footprint != nullptr)
          {
            os << "  kernels.back().window = { " << GetShape(window).expression << ", " << window.rank << " };\n";
          }
        }
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
  const auto name = GetProgramName(window, KernelKind());
  EmitRowProgram(CutIntoPhases(program, policy.phases),
                 policy.chunkOperations,
                 "Row" + name.substr(name.find('_'), name.rfind('_') - name.find('_')),
                 os);
}

/** Writes a published program for the CPU. */
void
WritePublishedRowProgram(const std::string & method, const Window & window, std::ostream & os)
{
  const auto name = GetEmittedName(window, KernelKind(), method + behindMethod);
  EmitRowProgram(CutIntoPhases(BuildPublishedProgram(method, window), {}),
                 RowPolicy().chunkOperations,
                 "Row" + name.substr(name.find('_'), name.rfind('_') - name.find('_')),
                 os);
}

/** Writes a published program for kernels, as a header. */
void
WritePublishedPrograms(const std::string &          method,
                       const Window &               window,
                       const std::vector<Variant> & variants,
                       std::ostream &               os)
{
  os << "// Written by EmitPrograms.\n#pragma once\n#include \"KeyRegisters.h\"\nnamespace cudamedian\n{\n";
  const auto program = BuildPublishedProgram(method, window);
  for (const auto & variant : variants)
  {
    const auto policy = AdaptPolicy(variant.policy, program);
    const auto name = GetEmittedName(window, variant.kind, method + behindMethod);
    EmitProgram(BuildKernelProgram(program, policy, variant.kind),
                policy,
                variant.kind,
                name + variant.name.substr(GetProgramName(window, variant.kind).size()),
                os);
  }
  os << "} // namespace cudamedian\n";
}

/** Writes the programs of a window for each architecture. */
void
WriteKernelPrograms(const Window & window, const std::vector<Variant> & variants, bool isHeader, std::ostream & os)
{
  os << "// Written by EmitPrograms.\n"
     << (isHeader ? "#pragma once\n#include \"KeyRegisters.h\"\n" : "#include \"EmittedKernel.cuh\"\n")
     << (isHeader || window.footprint == nullptr ? "" : "#include \"itkCudaMedianFootprint.h\"\n")
     << "namespace cudamedian\n{\n";
  const bool hasPrograms = isHeader || !IsFilteredInStrips(window); // strips are a kernel that needs no program
  for (const auto & variant : variants)
  {
    if (hasPrograms)
    {
      EmitProgram(
        BuildKernelProgram(window, variant.policy, variant.kind), variant.policy, variant.kind, variant.name, os);
    }
  }
  if (!isHeader)
  {
    if (hasPrograms)
    {
      WriteProgramsOfArchitectures(window, variants, os);
    }
    WriteDescription(window, variants, os);
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

constexpr char usage[] = "usage: EmitPrograms [cross|ellipsoid|centreWEIGHT|METHODof] radiusX radiusY radiusZ radiusW "
                         "[rank[torank]] pixelBytes "
                         "architecture[f][,architecture[f]...] file";

} // namespace

/** Build-time program: writes the tile programs of one window and pixel width, as the source of the kernels that are
 * compiled ahead (.cu), as a header without kernels (.h), or for the CPU (-inl.h). Kernels compiled ahead are for
 * medians of odd sizes; headers take any rank and size, 1.5 being the radius of 4 pixels, and several ranks: 3to6. The
 * name of a published program (PublishedPrograms.h) with "of" behind it, such as forgetful1x2of, writes that one, as a
 * header or for the CPU. */
int
main(int argc, char * argv[])
{
  try
  {
    std::string shape;
    if (argc > 1 && std::isalpha(static_cast<unsigned char>(argv[1][0])) != 0)
    {
      shape = argv[1];
      ++argv;
      --argc;
    }
    std::string method;
    if (shape.size() > 2 && shape.substr(shape.size() - 2) == behindMethod)
    {
      method = shape.substr(0, shape.size() - 2);
      shape.clear();
    }
    if (argc != 8 && argc != 9)
    {
      throw std::invalid_argument(usage);
    }
    Extent radius;
    Extent shorter;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      // An even size has a radius and a half.
      const std::string text = argv[1 + axis];
      shorter[axis] = text.size() > 2 && text.substr(text.size() - 2) == ".5" ? 1 : 0;
      radius[axis] = std::stoll(text) + shorter[axis];
    }
    const std::string ranks = argc == 9 ? argv[5] : "-1";
    const auto        rank = std::stoll(ranks);
    Window            window = shape.empty() ? Window(radius, shorter, rank) : Window(MakeShape(shape, radius), rank);
    const auto        to = ranks.find("to");
    window.ranks = to == std::string::npos ? 1 : std::stoll(ranks.substr(to + 2)) - rank + 1;
    const int         pixelBytes = std::stoi(argv[argc - 3]);
    const std::string path = argv[argc - 1];
    const auto        extension = path.substr(path.rfind('.'));
    const bool        isForHost = path.size() > 6 && path.substr(path.size() - 6) == "-inl.h";
    const bool        isOther = !window.IsMedian() || window.HasEvenSize() || !method.empty();
    if (isOther && !isForHost && extension != ".h")
    {
      throw std::invalid_argument(
        "only headers have programs for other ranks than the median's and even sizes, and published ones");
    }
    std::ostringstream text;
    if (!method.empty() && isForHost)
    {
      WritePublishedRowProgram(method, window, text);
    }
    else if (!method.empty())
    {
      WritePublishedPrograms(method, window, ListVariants(window, pixelBytes, argv[argc - 2]), text);
    }
    else if (isForHost)
    {
      WriteRowProgram(window, static_cast<std::size_t>(pixelBytes), text);
    }
    else
    {
      WriteKernelPrograms(window, ListVariants(window, pixelBytes, argv[argc - 2]), extension == ".h", text);
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
