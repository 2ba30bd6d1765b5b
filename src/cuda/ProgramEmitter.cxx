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
#include <utility>

namespace cudamedian
{
namespace
{

class Emitter
{
public:
  Emitter(const TileProgram & program, const KernelKind & kind, std::ostream & os)
    : m_Program(program), m_Stream(os), m_LoadKeys(GetLoadKeys(program.GetTile(), kind))
  {
    const auto & tile = program.GetTile();
    m_MissingInRow.assign(static_cast<std::size_t>(Volume(tile) / tile[0]), static_cast<int>(tile[0]));
    for (std::size_t output = 0; output < program.GetOutputs().size(); ++output)
    {
      m_OutputsOfValue.emplace(program.GetOutputs()[output], output);
    }
  }

  void
  WriteConstants(const LoweredProgram & lowered)
  {
    const auto & tile = m_Program.GetTile();
    const auto & radius = m_Program.GetRadius();
    m_Stream << "  // " << lowered.instructions.size() << " instructions for " << Volume(tile) << " pixels.\n"
             << "  static constexpr int Operations = " << m_Program.GetInstructions().size() << ";\n";
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const char letter = "XYZW"[axis];
      m_Stream << "  static constexpr int Tile" << letter << " = " << tile[axis] << ";\n"
               << "  static constexpr int Radius" << letter << " = " << radius[axis] << ";\n";
    }
    m_Stream << "  static constexpr int LoadKeys = " << m_LoadKeys << ";\n";
  }

  void
  WriteBody(const LoweredProgram & lowered, const RegisterPlan & plan)
  {
    for (std::size_t row = 0; row < m_MissingInRow.size(); ++row)
    {
      m_Stream << "    typename TRegisters::Keys row" << row << "[TileX];\n";
    }
    for (TileProgram::Value input = 0; input < m_Program.GetNumberOfInputs(); ++input)
    {
      if (m_OutputsOfValue.count(input) != 0)
      {
        Load(input); // a window of one pixel
        Store(input);
      }
    }
    for (const auto & step : plan.steps)
    {
      switch (step.action)
      {
        case RegisterPlan::Action::Load:
          Load(step.value);
          break;
        case RegisterPlan::Action::Save:
          m_Stream << "    access.Save(" << step.slot << ", " << GetText(step.value) << ");\n";
          break;
        case RegisterPlan::Action::Restore:
          m_Restored[step.value] = GetText(step.value) + "r";
          m_Stream << "    const auto " << GetText(step.value) << " = access.Restore(" << step.slot << ");\n";
          break;
        default:
          Compute(lowered.instructions[step.instruction]);
      }
    }
  }

private:
  static const char *
  GetName(LoweredOperation operation)
  {
    switch (operation)
    {
      case LoweredOperation::Min:
        return "Min";
      case LoweredOperation::Max:
        return "Max";
      case LoweredOperation::Min3:
        return "Min3";
      case LoweredOperation::Max3:
        return "Max3";
      default:
        return "MaxBySum";
    }
  }

  bool
  IsInput(TileProgram::Value value) const
  {
    return value < m_Program.GetNumberOfInputs();
  }

  /** The variable with the vector that holds an input, as it was loaded last. */
  std::string
  GetVectorText(const FootprintVector & vector) const
  {
    const auto loads = m_Loads.at({ vector.line, vector.column });
    return "p" + std::to_string(vector.line) + "_" + std::to_string(vector.column + m_LoadKeys) +
           (loads == 1 ? "" : "_" + std::to_string(loads));
  }

  std::string
  GetText(TileProgram::Value value) const
  {
    if (!IsInput(value))
    {
      const auto restored = m_Restored.find(value);
      return restored == m_Restored.end() ? "v" + std::to_string(value) : restored->second;
    }
    const auto vector = GetFootprintVector(m_Program, value, m_LoadKeys);
    return GetVectorText(vector) + ".Get(" + std::to_string(vector.place) + ")";
  }

  void
  Compute(const LoweredProgram::Instruction & instruction)
  {
    m_Stream << "    const auto v" << instruction.result << " = registers." << GetName(instruction.operation) << "(";
    for (int i = 0; i < instruction.numberOfOperands; ++i)
    {
      m_Stream << (i == 0 ? "" : ", ") << GetText(instruction.operands[i]);
    }
    m_Stream << ");\n";
    Store(instruction.result);
  }

  void
  Load(TileProgram::Value value)
  {
    const auto   vector = GetFootprintVector(m_Program, value, m_LoadKeys);
    const auto   loads = ++m_Loads[{ vector.line, vector.column }];
    const auto & footprint = m_Program.GetFootprint();
    const auto   rows = static_cast<std::size_t>(footprint[1]);
    const auto   slices = static_cast<std::size_t>(footprint[2]);
    m_Stream << "    const auto " << GetVectorText(vector) << " = access." << (loads == 1 ? "Load(" : "LoadAgain(")
             << vector.column << ", " << vector.line % rows << ", " << vector.line / rows % slices << ", "
             << vector.line / rows / slices << ");\n";
  }

  void
  Store(TileProgram::Value value)
  {
    const auto & tile = m_Program.GetTile();
    const auto   range = m_OutputsOfValue.equal_range(value);
    for (auto entry = range.first; entry != range.second; ++entry)
    {
      const auto row = entry->second / static_cast<std::size_t>(tile[0]);
      m_Stream << "    row" << row << "[" << entry->second % static_cast<std::size_t>(tile[0])
               << "] = " << GetText(value) << ";\n";
      if (--m_MissingInRow[row] == 0)
      {
        const auto rows = static_cast<std::size_t>(tile[1]);
        const auto slices = static_cast<std::size_t>(tile[2]);
        m_Stream << "    access.Store(" << row % rows << ", " << row / rows % slices << ", " << row / rows / slices
                 << ", row" << row << ");\n";
      }
    }
  }

  const TileProgram &                            m_Program;
  std::ostream &                                 m_Stream;
  int                                            m_LoadKeys;
  std::map<std::pair<std::size_t, int>, int>     m_Loads;    // how often each vector was loaded
  std::map<TileProgram::Value, std::string>      m_Restored; // variables of values that were restored
  std::vector<int>                               m_MissingInRow;
  std::multimap<TileProgram::Value, std::size_t> m_OutputsOfValue;
};

} // namespace

std::string
GetEmittedName(const Extent & radius, const KernelKind & kind)
{
  std::string name = "TileProgram";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    name += (axis == 0 ? "_" : "x") + std::to_string(2 * radius[axis] + 1);
  }
  return name + "_" + std::to_string(8 * kind.pixelBytes) + ToString(kind.packing);
}

EmittedProgram
EmitProgram(const Extent &       radius,
            const KernelPolicy & policy,
            const KernelKind &   kind,
            const std::string &  name,
            std::ostream &       os)
{
  const auto program = BuildKernelProgram(radius, policy);
  const auto lowered = LowerProgram(program, policy.lowering);
  Emitter    emitter(program, kind, os);
  const auto plan = PlanKernelRegisters(program, lowered, policy, kind);
  os << "struct " << name << "\n{\n";
  emitter.WriteConstants(lowered);
  os << "  static constexpr int BlockX = " << policy.blockX << ";\n  static constexpr int BlockY = " << policy.blockY
     << ";\n  static constexpr int SavedKeys = " << plan.numberOfSlots
     << ";\n\n  template <typename TRegisters, typename TAccess>\n"
     << "  static CUDAMEDIAN_HOST_DEVICE void\n  Run(const TRegisters & registers, const TAccess & access)\n  {\n"
     << "    (void)registers; // a window of one pixel compares nothing\n";
  emitter.WriteBody(lowered, plan);
  os << "  }\n};\n";
  return { program.GetInstructions().size(), lowered.instructions.size(), plan.numberOfSlots };
}

} // namespace cudamedian
