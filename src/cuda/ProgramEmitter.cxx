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

#include <map>
#include <ostream>

namespace cudamedian
{
namespace
{

std::string
JoinPosition(std::size_t index, const Extent & extent)
{
  std::string text;
  for (const auto size : extent)
  {
    text += std::to_string(index % static_cast<std::size_t>(size)) + ", ";
    index /= static_cast<std::size_t>(size);
  }
  return text.substr(0, text.size() - 2);
}

} // namespace

std::string
GetEmittedName(const Extent & window)
{
  std::string name = "TileProgram";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    name += (axis == 0 ? "_" : "x") + std::to_string(window[axis]);
  }
  return name;
}

void
EmitProgram(const TileProgram & program, std::ostream & os)
{
  const auto &                            tile = program.GetTile();
  std::multimap<std::size_t, std::size_t> outputsOfValue;
  for (std::size_t output = 0; output < program.GetOutputs().size(); ++output)
  {
    outputsOfValue.emplace(program.GetOutputs()[output], output);
  }
  std::vector<bool> loaded(program.GetNumberOfInputs(), false);
  const auto        load = [&](TileProgram::Value value) {
    if (value < loaded.size() && !loaded[value])
    {
      loaded[value] = true;
      os << "    const auto v" << value << " = access.Load(" << JoinPosition(value, program.GetFootprint()) << ");\n";
    }
  };
  const auto store = [&](std::size_t value) {
    const auto range = outputsOfValue.equal_range(value);
    for (auto entry = range.first; entry != range.second; ++entry)
    {
      os << "    access.Store(" << JoinPosition(entry->second, tile) << ", v" << value << ");\n";
    }
  };

  os << "struct " << GetEmittedName(program.GetWindow()) << "\n{\n"
     << "  static constexpr int TileX = " << tile[0] << ";\n  static constexpr int TileY = " << tile[1]
     << ";\n  static constexpr int TileZ = " << tile[2] << ";\n  static constexpr int TileW = " << tile[3] << ";\n\n"
     << "  template <typename TRegister, typename TAccess>\n"
     << "  static CUDAMEDIAN_HOST_DEVICE void\n  Run(const TAccess & access)\n  {\n";
  for (const auto output : program.GetOutputs())
  {
    if (output < program.GetNumberOfInputs())
    {
      load(output);
    }
  }
  for (std::size_t input = 0; input < program.GetNumberOfInputs(); ++input)
  {
    store(input);
  }
  for (std::size_t n = 0; n < program.GetInstructions().size(); ++n)
  {
    const auto & instruction = program.GetInstructions()[n];
    const auto   value = program.GetNumberOfInputs() + n;
    load(instruction.a);
    load(instruction.b);
    os << "    const auto v" << value
       << " = TRegister::" << (instruction.operation == TileProgram::Operation::Min ? "Min" : "Max") << "(v"
       << instruction.a << ", v" << instruction.b << ");\n";
    store(value);
  }
  os << "  }\n};\n";
}

} // namespace cudamedian
