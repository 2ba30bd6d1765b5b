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
#include "RowEmitter.h"

#include "ProgramLowering.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

namespace cudamedian
{
namespace
{

constexpr std::size_t nowhere = ~std::size_t{ 0 };

/** A value that was read from memory is read again when it was used so many instructions ago. What a phase leaves for
 * others may lie anywhere, so a compiler reads inputs again after each store; but it has too few registers to keep them
 * all. */
constexpr std::size_t inputReach = 3;

/** Writes a phase. */
class PhaseEmitter
{
public:
  PhaseEmitter(const ProgramPhases::Phase & phase, std::size_t chunkOperations)
    : m_Phase(phase), m_Program(phase.program), m_Lowered(LowerProgram(phase.program, { false, 100 })),
      m_Inputs(m_Program.GetNumberOfInputs()), m_LastUse(m_Inputs + m_Program.GetInstructions().size(), 0),
      m_IsPaired(m_LastUse.size(), false), m_LastRead(m_LastUse.size(), nowhere),
      m_SlotOfValue(m_LastUse.size(), nowhere)
  {
    for (std::size_t n = 0; n < m_Lowered.instructions.size(); ++n)
    {
      const auto & instruction = m_Lowered.instructions[n];
      for (int i = 0; i < instruction.numberOfOperands; ++i)
      {
        m_LastUse[instruction.operands[i]] = n;
      }
      if (instruction.operation == LoweredOperation::MaxBySum)
      {
        m_IsPaired[instruction.operands[2]] = true;
      }
    }
    for (std::size_t i = 0; i < m_Program.GetOutputs().size(); ++i)
    {
      m_Results.emplace(m_Program.GetOutputs()[i], "Median(" + std::to_string(i));
    }
    for (std::size_t i = 0; i < m_Program.GetExports().size(); ++i)
    {
      m_Results.emplace(m_Program.GetExports()[i], "Share(" + std::to_string(phase.exports[i]));
    }
    Cut(chunkOperations);
  }

  std::size_t
  GetNumberOfChunks() const
  {
    return m_Ends.size();
  }

  /** Writes the chunks, numbered from a number on. \returns how many slots they take. */
  std::size_t
  Write(std::size_t number, std::ostream & os)
  {
    std::size_t begin = 0;
    for (const auto end : m_Ends)
    {
      os << "  template <typename TRow>\n  static CUDAMEDIAN_HOST_DEVICE void\n  Run(std::integral_constant<int, "
         << number++ << ">, const TRow & row)\n  {\n";
      for (auto n = begin; n < end; ++n)
      {
        WriteInstruction(m_Lowered.instructions[n], begin, end, os);
      }
      os << "  }\n";
      // A slot that is read in this chunk is written by none before the next.
      for (auto & [value, slot] : m_Kept)
      {
        if (m_LastUse[value] < end && slot != nowhere)
        {
          m_FreeSlots.push_back(slot);
          slot = nowhere;
        }
      }
      begin = end;
    }
    return m_Slots;
  }

private:
  /** Finds where chunks end: near multiples of their length, where the fewest values are alive. */
  void
  Cut(std::size_t chunkOperations)
  {
    const auto       total = m_Lowered.instructions.size();
    std::vector<int> change(total + 1, 0);
    for (std::size_t n = 0; n < total; ++n)
    {
      const auto last = m_LastUse[m_Lowered.instructions[n].result];
      if (last > n)
      {
        ++change[n + 1];
        --change[last + 1 > total ? total : last + 1];
      }
    }
    std::vector<int> alive(total + 1, 0); // before each instruction
    for (std::size_t n = 1; n <= total; ++n)
    {
      alive[n] = alive[n - 1] + change[n];
    }
    const auto chunks = std::max<std::size_t>(1, total / chunkOperations);
    for (std::size_t chunk = 1; chunk < chunks; ++chunk)
    {
      const auto middle = total * chunk / chunks;
      const auto reach = total / chunks / 3;
      const auto best = std::min_element(alive.begin() + static_cast<std::ptrdiff_t>(middle - reach),
                                         alive.begin() + static_cast<std::ptrdiff_t>(middle + reach + 1));
      m_Ends.push_back(static_cast<std::size_t>(best - alive.begin()));
    }
    m_Ends.push_back(total);
  }

  /** Where an input, or what another chunk left, is in memory. */
  std::string
  GetPlace(TileProgram::Value value) const
  {
    if (value < m_Program.GetNumberOfPixels())
    {
      const auto width = static_cast<std::size_t>(m_Program.GetFootprint()[0]);
      return "Pixel(" + std::to_string(value / width) + ", " + std::to_string(value % width) + ")";
    }
    if (value < m_Inputs)
    {
      const auto & import = m_Phase.imports[value - m_Program.GetNumberOfPixels()];
      return "Shared(" + std::to_string(import.value) + ", " + std::to_string(import.position) + ")";
    }
    return "Kept(" + std::to_string(m_SlotOfValue[value]) + ")";
  }

  /** The name of an operand of instruction n, after it is read if it has to be. */
  std::string
  Read(TileProgram::Value value, std::size_t begin, std::size_t n, std::ostream & os)
  {
    const auto text = "v" + std::to_string(value);
    if (value >= m_Inputs && m_DefinedAt.at(value) >= begin)
    {
      return text;
    }
    auto & last = m_LastRead[value];
    auto & reads = m_Reads[value];
    if (last == nowhere || last < begin || n - last > inputReach)
    {
      ++reads;
      os << "    const auto " << text << "_" << reads << " = row." << GetPlace(value) << ";\n";
    }
    last = n;
    return text + "_" + std::to_string(reads);
  }

  /** Whether a min or max comes without the other of its pair. One in three of those is made by a comparison and a
   * blend. With AVX-512 the first port makes min, max of those without a min, and nothing else; the second compares;
   * and both blend, and make a max of its min. So each has as much to do. */
  bool
  IsSelected(const LoweredProgram::Instruction & instruction)
  {
    const bool isAlone = instruction.operation == LoweredOperation::Max ||
                         (instruction.operation == LoweredOperation::Min && !m_IsPaired[instruction.result]);
    return isAlone && ++m_Alone % 3 == 0;
  }

  void
  WriteInstruction(const LoweredProgram::Instruction & instruction,
                   std::size_t                         begin,
                   std::size_t                         end,
                   std::ostream &                      os)
  {
    const auto  n = static_cast<std::size_t>(&instruction - m_Lowered.instructions.data());
    const auto  value = instruction.result;
    const auto  text = "v" + std::to_string(value);
    std::string operands;
    for (int i = 0; i < instruction.numberOfOperands; ++i)
    {
      operands += (i == 0 ? "" : ", ") + Read(instruction.operands[i], begin, n, os);
    }
    os << "    const auto " << text << " = row." << (IsSelected(instruction) ? "Select" : "")
       << (instruction.operation == LoweredOperation::Min   ? "Min("
           : instruction.operation == LoweredOperation::Max ? "Max("
                                                            : "MaxBySum(")
       << operands << ");\n";
    m_DefinedAt[value] = n;
    const auto results = m_Results.equal_range(value);
    for (auto result = results.first; result != results.second; ++result)
    {
      os << "    row." << result->second << ", " << text << ");\n";
    }
    if (m_LastUse[value] >= end)
    {
      if (m_FreeSlots.empty())
      {
        m_FreeSlots.push_back(m_Slots++);
      }
      m_SlotOfValue[value] = m_FreeSlots.back();
      m_FreeSlots.pop_back();
      m_Kept.emplace_back(value, m_SlotOfValue[value]);
      os << "    row.Keep(" << m_SlotOfValue[value] << ", " << text << ");\n";
    }
  }

  const ProgramPhases::Phase &                            m_Phase;
  const TileProgram &                                     m_Program;
  LoweredProgram                                          m_Lowered;
  std::size_t                                             m_Inputs;
  std::vector<std::size_t>                                m_LastUse;  ///< of each value: the instruction
  std::multimap<TileProgram::Value, std::string>          m_Results;  ///< where values go for good
  std::vector<std::size_t>                                m_Ends;     ///< of chunks
  std::vector<bool>                                       m_IsPaired; ///< a min whose max is made of it
  std::map<TileProgram::Value, std::size_t>               m_DefinedAt;
  std::vector<std::size_t>                                m_LastRead; ///< of each value from memory: the instruction
  std::map<TileProgram::Value, int>                       m_Reads;
  std::vector<std::size_t>                                m_SlotOfValue;
  std::vector<std::pair<TileProgram::Value, std::size_t>> m_Kept; ///< values and their slots while they are alive
  std::vector<std::size_t>                                m_FreeSlots;
  std::size_t                                             m_Slots{ 0 };
  std::size_t m_Alone{ 0 }; ///< instructions without the other of their pair
};

} // namespace

void
EmitRowProgram(const ProgramPhases & program, std::size_t chunkOperations, const std::string & name, std::ostream & os)
{
  os << "struct " << name << "\n{\n";
  std::vector<std::size_t> firstChunk{ 0 };
  std::vector<std::size_t> slots;
  std::size_t              operations = 0;
  for (const auto & phase : program.phases)
  {
    PhaseEmitter emitter(phase, chunkOperations);
    slots.push_back(emitter.Write(firstChunk.back(), os));
    firstChunk.push_back(firstChunk.back() + emitter.GetNumberOfChunks());
    operations += phase.program.GetInstructions().size();
  }
  const auto & last = program.phases.back().program;
  const auto   writeConstant = [&os](const std::string & constant, std::int64_t value) {
    os << "  static constexpr int " << constant << " = " << value << ";\n";
  };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    writeConstant(std::string("Radius") + "XYZW"[axis], last.GetRadius()[axis]);
    writeConstant(std::string("Tile") + "XYZW"[axis], last.GetTile()[axis]);
  }
  writeConstant("Operations", static_cast<std::int64_t>(operations));
  writeConstant("SharedValues", static_cast<std::int64_t>(program.groupOfValue.size()));
  writeConstant("Slots", static_cast<std::int64_t>(*std::max_element(slots.begin(), slots.end())));
  writeConstant("Phases", static_cast<std::int64_t>(program.phases.size()));
  writeConstant("Chunks", static_cast<std::int64_t>(firstChunk.back()));
  const auto writeArray = [&os](const std::string & constant, const auto & values, const auto & get) {
    os << "  static constexpr int " << constant << "[] = {";
    for (const auto & value : values)
    {
      os << " " << get(value) << ",";
    }
    os << " };\n";
  };
  writeArray("FirstChunk", firstChunk, [](std::size_t chunk) { return chunk; });
  writeArray("FirstTile", program.phases, [](const auto & phase) { return phase.first; });
  writeArray("LastTile", program.phases, [](const auto & phase) { return phase.last; });
  os << "};\n";
}

} // namespace cudamedian
