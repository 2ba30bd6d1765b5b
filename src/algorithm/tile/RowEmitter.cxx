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

/** A pixel stays in a register for its next use if that is so few operations away; else it is loaded again. AVX-512 has
 * 32 registers. At 3x3 with 16 bits that is 1.6 times as fast as loading for each use, which is what GCC 12 makes of
 * loads that it may repeat, and at 5x5 1.15 times. 10 operations have no effect, and 80 that of 30. */
constexpr std::size_t mostOperationsInRegister = 30;

/** Writes a phase. */
class PhaseEmitter
{
public:
  PhaseEmitter(const ProgramPhases::Phase & phase, std::size_t chunkOperations)
    : m_Phase(phase)
    , m_Program(phase.program)
    , m_Lowered(LowerProgram(phase.program, { false, 100 }))
    , m_Inputs(m_Program.GetNumberOfInputs())
    , m_LastUse(m_Inputs + m_Program.GetInstructions().size(), 0)
    , m_SlotOfValue(m_LastUse.size(), nowhere)
  {
    for (std::size_t n = 0; n < m_Lowered.instructions.size(); ++n)
    {
      const auto & instruction = m_Lowered.instructions[n];
      m_DefinedAt[instruction.result] = n;
      for (int i = 0; i < instruction.numberOfOperands; ++i)
      {
        m_LastUse[instruction.operands[i]] = n;
      }
    }
    // A row of medians is written when its last is there.
    const auto & outputs = m_Program.GetOutputs();
    const auto   values = GetRowValues();
    const auto   isBefore = [this](auto a, auto b) { return m_DefinedAt.at(a) < m_DefinedAt.at(b); };
    for (std::size_t first = 0; first < outputs.size(); first += values)
    {
      const auto begin = outputs.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(values);
      const auto last = *std::max_element(begin, end, isBefore);
      m_Rows.emplace(last, first);
      std::for_each(
        begin, end, [&](auto value) { m_LastUse[value] = std::max(m_LastUse[value], m_DefinedAt.at(last)); });
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
      os << "  template <typename TRow>\n  static HWY_INLINE void\n  Run(std::integral_constant<int, " << number++
         << ">, const TRow & row)\n  {\n";
      m_Loaded.clear();
      for (auto n = begin; n < end; ++n)
      {
        LoadPixels(n, os);
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

  /** Writes the loads of an instruction's pixels that are in no register. */
  void
  LoadPixels(std::size_t number, std::ostream & os)
  {
    const auto & instruction = m_Lowered.instructions[number];
    for (int i = 0; i < instruction.numberOfOperands; ++i)
    {
      const auto value = instruction.operands[i];
      if (value >= m_Program.GetNumberOfPixels())
      {
        continue;
      }
      const auto found = m_Loaded.find(value);
      if (found == m_Loaded.end() || number - found->second.lastUse > mostOperationsInRegister)
      {
        const auto width = static_cast<std::size_t>(m_Program.GetFootprint()[0]);
        m_Loaded[value].load = m_Loads;
        os << "    const auto p" << m_Loads++ << " = row.Pixel(" << value / width << ", " << value % width << ");\n";
      }
      m_Loaded[value].lastUse = number;
    }
  }

  std::string
  GetText(TileProgram::Value value, std::size_t begin) const
  {
    if (value < m_Program.GetNumberOfPixels())
    {
      return "p" + std::to_string(m_Loaded.at(value).load);
    }
    if (value < m_Inputs)
    {
      const auto & import = m_Phase.imports[value - m_Program.GetNumberOfPixels()];
      return "row.Shared(" + std::to_string(import.value) + ", " + std::to_string(import.position) + ")";
    }
    return m_DefinedAt.at(value) >= begin ? "v" + std::to_string(value)
                                          : "row.Kept(" + std::to_string(m_SlotOfValue[value]) + ")";
  }

  void
  WriteInstruction(const LoweredProgram::Instruction & instruction,
                   std::size_t                         begin,
                   std::size_t                         end,
                   std::ostream &                      os)
  {
    const auto value = instruction.result;
    const auto text = "v" + std::to_string(value);
    os << "    const auto " << text << " = row."
       << (instruction.operation == LoweredOperation::Min   ? "Min("
           : instruction.operation == LoweredOperation::Max ? "Max("
                                                            : "MaxBySum(");
    for (int i = 0; i < instruction.numberOfOperands; ++i)
    {
      os << (i == 0 ? "" : ", ") << GetText(instruction.operands[i], begin);
    }
    os << ");\n";
    const auto results = m_Results.equal_range(value);
    for (auto result = results.first; result != results.second; ++result)
    {
      os << "    row." << result->second << ", " << text << ");\n";
    }
    const auto rows = m_Rows.equal_range(value);
    for (auto row = rows.first; row != rows.second; ++row)
    {
      WriteRow(row->second, begin, os);
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

  /** Values that are found for a row of the tile: one for each pixel, or a run of them where several ranks are. */
  std::size_t
  GetRowValues() const
  {
    const auto & program = m_Phase.program;
    const auto   pixels = static_cast<std::size_t>(Volume(program.GetTile()));
    return std::max<std::size_t>(1, program.GetOutputs().size() / pixels) *
           static_cast<std::size_t>(program.GetTile()[0]);
  }

  /** Writes that a row of the tile is stored, whose values begin with the output `first`. Of several ranks of an output
   * one is chosen. */
  void
  WriteRow(std::size_t first, std::size_t begin, std::ostream & os) const
  {
    const auto  columns = static_cast<std::size_t>(m_Program.GetTile()[0]);
    const auto  ranks = GetRowValues() / columns;
    const auto  row = first / GetRowValues();
    std::string list;
    for (std::size_t column = 0; column < columns; ++column)
    {
      std::string values;
      for (std::size_t rank = 0; rank < ranks; ++rank)
      {
        values += ", " + GetText(m_Program.GetOutputs()[first + column * ranks + rank], begin);
      }
      list += ranks == 1 ? values
                         : ", row.Choose(std::integral_constant<int, " + std::to_string(row) +
                             ">(), std::integral_constant<int, " + std::to_string(column) + ">()" + values + ")";
    }
    os << "    row.Medians(" << row << list << ");\n";
  }

  /** A load of a pixel: its number, and the last instruction so far that took it. */
  struct Loaded
  {
    std::size_t load{ 0 };
    std::size_t lastUse{ 0 };
  };

  const ProgramPhases::Phase &                            m_Phase;
  const TileProgram &                                     m_Program;
  LoweredProgram                                          m_Lowered;
  std::size_t                                             m_Inputs;
  std::vector<std::size_t>                                m_LastUse; ///< of each value: the instruction
  std::multimap<TileProgram::Value, std::string>          m_Results; ///< where values go for other phases
  std::multimap<TileProgram::Value, std::size_t>          m_Rows;    ///< first of the medians that are written then
  std::vector<std::size_t>                                m_Ends;    ///< of chunks
  std::map<TileProgram::Value, std::size_t>               m_DefinedAt;
  std::vector<std::size_t>                                m_SlotOfValue;
  std::vector<std::pair<TileProgram::Value, std::size_t>> m_Kept; ///< values and their slots while they are alive
  std::vector<std::size_t>                                m_FreeSlots;
  std::size_t                                             m_Slots{ 0 };
  std::map<TileProgram::Value, Loaded>                    m_Loaded; ///< pixels of a chunk
  std::size_t                                             m_Loads{ 0 };
};

} // namespace

void
EmitRowProgram(const ProgramPhases & program, std::size_t chunkOperations, const std::string & name, std::ostream & os)
{
  // Highway's frame of what is compiled once per instruction set.
  const auto guard = name + "_inl_h";
  os << "// Written by EmitPrograms.\n#if defined(" << guard << ") == defined(HWY_TARGET_TOGGLE)\n#ifdef " << guard
     << "\n#undef " << guard << "\n#else\n#define " << guard
     << "\n#endif\n#include \"hwy/highway.h\"\n#include <type_traits>\n"
        "HWY_BEFORE_NAMESPACE();\nnamespace cudamedian\n{\nnamespace HWY_NAMESPACE\n{\nnamespace\n{\n";
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
    writeConstant(std::string("Radius") + "XYZW"[axis], last.GetWindow().radius[axis]);
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
  os << "};\n} // namespace\n} // namespace HWY_NAMESPACE\n} // namespace cudamedian\nHWY_AFTER_NAMESPACE();\n#endif\n";
}

} // namespace cudamedian
