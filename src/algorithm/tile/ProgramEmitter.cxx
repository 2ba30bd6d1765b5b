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
#include <sstream>
#include <tuple>
#include <initializer_list>
#include <utility>

namespace cudamedian
{
namespace
{

class Emitter
{
public:
  Emitter(const KernelProgram & kernel, std::size_t phase, const KernelKind & kind, std::ostream & os)
    : m_Phase(kernel.phases.phases[phase])
    , m_Program(m_Phase.program)
    , m_Lowered(kernel.lowered[phase])
    , m_Plan(kernel.plans[phase])
    , m_Shared(kernel.shared)
    , m_Stream(os)
    , m_LoadKeys(GetLoadKeys(m_Program.GetTile(), kind))
  {
    const auto & tile = m_Program.GetTile();
    m_Ranks = m_Program.GetOutputs().size() / static_cast<std::size_t>(Volume(tile));
    m_MissingInRow.assign(static_cast<std::size_t>(Volume(tile) / tile[0]), static_cast<int>(tile[0]));
    for (std::size_t output = 0; output < m_Program.GetOutputs().size(); ++output)
    {
      m_OutputsOfValue.emplace(m_Program.GetOutputs()[output], output);
    }
    for (std::size_t i = 0; i < m_Phase.exports.size(); ++i)
    {
      const auto & place = m_Shared.places[m_Phase.exports[i]];
      m_ExportOfValue.emplace(m_Program.GetExports()[i], place);
      ++m_MissingInVector[place.vector];
    }
  }

  void
  WriteBody()
  {
    for (std::size_t row = 0; row < m_MissingInRow.size() && !m_Program.GetOutputs().empty(); ++row)
    {
      m_Stream << "      typename TRegisters::Keys row" << row << "[TileX];\n";
      if (m_Ranks > 1)
      {
        m_Stream << "      const auto ranks" << row << " = access.LoadRanks(" << GetRowText(row) << ");\n";
      }
    }
    for (const auto & vector : m_MissingInVector)
    {
      m_Stream << "      typename TRegisters::Keys shared" << vector.first << "[SharedKeys];\n";
      // The rest of a vector that the phase does not fill.
      for (int place = vector.second; place < m_Shared.keys; ++place)
      {
        m_Stream << "      shared" << vector.first << "[" << place << "] = 0;\n";
      }
    }
    for (TileProgram::Value input = 0; input < m_Program.GetNumberOfInputs(); ++input)
    {
      if (m_OutputsOfValue.count(input) != 0)
      {
        Load(input); // a window of one pixel
        Store(input);
      }
    }
    for (const auto & step : m_Plan.steps)
    {
      switch (step.action)
      {
        case RegisterPlan::Action::Load:
          Load(step.value);
          break;
        case RegisterPlan::Action::Save:
          m_Stream << "      access.Save(" << step.slot << ", " << GetText(step.value) << ");\n";
          break;
        case RegisterPlan::Action::Restore:
          m_Restored[step.value] = GetText(step.value) + "r";
          m_Stream << "      const auto " << GetText(step.value) << " = access.Restore(" << step.slot << ");\n";
          break;
        case RegisterPlan::Action::Compute:
          Compute(m_Lowered.instructions[step.instruction]);
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
      case LoweredOperation::Excess:
        return "GetExcess";
      case LoweredOperation::MinOfSum:
        return "MinOfSum";
      case LoweredOperation::MaxOfSum:
        return "MaxOfSum";
      case LoweredOperation::MaxBySum:
        break;
    }
    return "MaxBySum";
  }

  /** The variable with the vector that holds an input, as it was loaded last. */
  std::string
  GetVectorText(const std::string & vector) const
  {
    const auto loads = m_Loads.at(vector);
    return vector + (loads == 1 ? "" : "_" + std::to_string(loads));
  }

  const ProgramPhases::Import &
  GetImport(TileProgram::Value value) const
  {
    return m_Phase.imports[value - m_Program.GetNumberOfPixels()];
  }

  std::string
  GetVectorName(TileProgram::Value input) const
  {
    if (input < m_Program.GetNumberOfPixels())
    {
      const auto vector = GetFootprintVector(m_Program, input, m_LoadKeys);
      return "p" + std::to_string(vector.line) + "_" + std::to_string(vector.column + m_LoadKeys);
    }
    const auto & import = GetImport(input);
    return "s" + std::to_string(m_Shared.places[import.value].vector) + "_" +
           std::to_string(import.position - m_Shared.firstPosition);
  }

  std::string
  GetText(TileProgram::Value value) const
  {
    if (value >= m_Program.GetNumberOfInputs())
    {
      const auto restored = m_Restored.find(value);
      return restored == m_Restored.end() ? "v" + std::to_string(value) : restored->second;
    }
    const auto place = value < m_Program.GetNumberOfPixels() ? GetFootprintVector(m_Program, value, m_LoadKeys).place
                                                             : m_Shared.places[GetImport(value).value].place;
    return GetVectorText(GetVectorName(value)) + ".Get(" + std::to_string(place) + ")";
  }

  void
  Compute(const LoweredProgram::Instruction & instruction)
  {
    m_Stream << "      const auto v" << instruction.result << " = registers." << GetName(instruction.operation) << "(";
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
    const auto        name = GetVectorName(value);
    const bool        isFirst = ++m_Loads[name] == 1;
    const std::string again = isFirst ? "(" : "Again(";
    m_Stream << "      const auto " << GetVectorText(name) << " = access.";
    if (value >= m_Program.GetNumberOfPixels())
    {
      const auto & import = GetImport(value);
      m_Stream << "LoadShared" << again << m_Shared.places[import.value].vector << ", " << import.position << ");\n";
      return;
    }
    const auto   vector = GetFootprintVector(m_Program, value, m_LoadKeys);
    const auto & footprint = m_Program.GetFootprint();
    const auto   rows = static_cast<std::size_t>(footprint[1]);
    const auto   slices = static_cast<std::size_t>(footprint[2]);
    m_Stream << "Load" << again << vector.column << ", " << vector.line % rows << ", " << vector.line / rows % slices
             << ", " << vector.line / rows / slices << ");\n";
  }

  /** Where a row of the tile's outputs lies along axes 1 to 3, as arguments. */
  std::string
  GetRowText(std::size_t row) const
  {
    const auto rows = static_cast<std::size_t>(m_Program.GetTile()[1]);
    const auto slices = static_cast<std::size_t>(m_Program.GetTile()[2]);
    return std::to_string(row % rows) + ", " + std::to_string(row / rows % slices) + ", " +
           std::to_string(row / rows / slices);
  }

  /** Enters one of the values that are left of an output in a round of choosing: see RankChoice. */
  void
  Choose(std::size_t output, int round, std::size_t place, const std::string & text)
  {
    const auto width = static_cast<std::size_t>(m_Program.GetTile()[0]);
    const auto left = ((m_Ranks - 1) >> round) + 1; // values of an output in this round
    if (left == 1)
    {
      const auto row = output / width;
      m_Stream << "      row" << row << "[" << output % width << "] = " << text << ";\n";
      if (--m_MissingInRow[row] == 0)
      {
        m_Stream << "      access.Store(" << GetRowText(row) << ", row" << row << ");\n";
      }
      return;
    }
    if (place % 2 == 0 && place + 1 == left)
    {
      Choose(output, round + 1, place / 2, text); // has no neighbour
      return;
    }
    const auto neighbour = m_Left.find({ output, round, place ^ 1U });
    if (neighbour == m_Left.end())
    {
      m_Left.emplace(std::make_tuple(output, round, place), text);
      return;
    }
    const auto chosen = "c" + std::to_string(m_Chosen++);
    m_Stream << "      const auto " << chosen << " = ranks" << output / width << ".Choose("
             << (place % 2 == 0 ? text : neighbour->second) << ", " << (place % 2 == 0 ? neighbour->second : text)
             << ", " << output % width << ", " << round << ");\n";
    Choose(output, round + 1, place / 2, chosen);
  }

  void
  Store(TileProgram::Value value)
  {
    const auto range = m_OutputsOfValue.equal_range(value);
    for (auto entry = range.first; entry != range.second; ++entry)
    {
      Choose(entry->second / m_Ranks, 0, entry->second % m_Ranks, GetText(value));
    }
    const auto exported = m_ExportOfValue.find(value);
    if (exported != m_ExportOfValue.end())
    {
      const auto & place = exported->second;
      m_Stream << "      shared" << place.vector << "[" << place.place << "] = " << GetText(value) << ";\n";
      if (--m_MissingInVector[place.vector] == 0)
      {
        m_Stream << "      access.StoreShared(" << place.vector << ", shared" << place.vector << ");\n";
      }
    }
  }

  const ProgramPhases::Phase &                      m_Phase;
  const TileProgram &                               m_Program;
  const LoweredProgram &                            m_Lowered;
  const RegisterPlan &                              m_Plan;
  const SharedLayout &                              m_Shared;
  std::ostream &                                    m_Stream;
  int                                               m_LoadKeys;
  std::map<std::string, int>                        m_Loads;    // how often each vector was loaded
  std::map<TileProgram::Value, std::string>         m_Restored; // variables of values that were restored
  std::size_t                                       m_Ranks;    // values that are found for each output
  std::vector<int>                                  m_MissingInRow;
  std::multimap<TileProgram::Value, std::size_t>    m_OutputsOfValue;
  std::map<TileProgram::Value, SharedLayout::Place> m_ExportOfValue;
  std::map<std::size_t, int>                        m_MissingInVector; // by vector: shared values still to come
  // Values that wait for their neighbour, by output, round and place, and how many were chosen.
  std::map<std::tuple<std::size_t, int, std::size_t>, std::string> m_Left;
  std::size_t                                                      m_Chosen{ 0 };
};

/** Writes a constant for each phase. */
template <typename TGet>
void
WritePhaseConstants(const char * name, const KernelProgram & program, std::ostream & os, const TGet & get)
{
  const auto & phases = program.phases.phases;
  os << "  static CUDAMEDIAN_HOST_DEVICE constexpr int " << name << (phases.size() == 1 ? "(int)" : "(int phase)")
     << "\n  {\n    return ";
  for (std::size_t phase = 0; phase + 1 < phases.size(); ++phase)
  {
    os << "phase == " << phase << " ? " << get(phases[phase]) << " : ";
  }
  os << "0;\n  }\n";
}

/** What KernelProgram knows and TileKernel needs, as constants. Returns the counts. */
EmittedProgram
WriteConstants(const KernelProgram & program, const KernelPolicy & policy, const KernelKind & kind, std::ostream & os)
{
  EmittedProgram count;
  for (std::size_t phase = 0; phase < program.lowered.size(); ++phase)
  {
    count.operations += program.phases.phases[phase].program.GetInstructions().size();
    count.instructions += program.lowered[phase].instructions.size();
  }
  const auto & last = program.phases.phases.back().program;
  os << "  // " << count.instructions << " instructions for " << Volume(last.GetTile()) << " pixels.\n"
     << "  static constexpr int Operations = " << count.operations << ";\n";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const char letter = "XYZW"[axis];
    os << "  static constexpr int Tile" << letter << " = " << last.GetTile()[axis] << ";\n"
       << "  static constexpr int Radius" << letter << " = " << last.GetWindow().radius[axis] << ";\n";
  }
  const auto & shared = program.shared;
  for (const auto & [name, value] : std::initializer_list<std::pair<const char *, std::int64_t>>{
         { "LoadKeys", GetLoadKeys(last.GetTile(), kind) },
         { "BlockX", policy.blockX },
         { "BlockY", policy.blockY },
         { "ResidentBlocks", policy.residentBlocks },
         { "LineBytes", policy.lineBytes },
         { "MarchAxis", policy.steps > 0 ? GetMarchAxis(last.GetWindow()) : 0 },
         { "Steps", policy.steps },
         { "Margin", program.margin },
         { "SavedKeys", static_cast<std::int64_t>(program.savedValues) },
         { "SharedVectors", static_cast<std::int64_t>(shared.numberOfVectors) },
         { "SharedKeys", shared.keys },
         { "FirstPosition", shared.firstPosition },
         { "LastPosition", shared.lastPosition },
         { "Phases", static_cast<std::int64_t>(program.lowered.size()) } })
  {
    os << "  static constexpr int " << name << " = " << value << ";\n";
  }
  os << "  /** The tiles, relative to the first and the last of a row, that run a phase. */\n";
  WritePhaseConstants("GetFirstPosition", program, os, [](const auto & phase) { return phase.first; });
  WritePhaseConstants("GetLastPosition", program, os, [](const auto & phase) { return phase.last; });
  return count;
}

} // namespace

std::string
GetEmittedName(const Window & window, const KernelKind & kind, const std::string & shape)
{
  std::string name = "TileProgram_" + shape;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    name += (axis == 0 ? "" : "x") + std::to_string(window.GetSize(axis));
  }
  name += window.IsMedian() ? "" : "at" + std::to_string(window.rank);
  name += window.ranks == 1 ? "" : "to" + std::to_string(window.GetGreatestRank());
  return name + "_" + std::to_string(8 * kind.pixelBytes) + ToString(kind.packing);
}

EmittedProgram
EmitProgram(const KernelProgram & program,
            const KernelPolicy &  policy,
            const KernelKind &    kind,
            const std::string &   name,
            std::ostream &        os)
{
  os << "struct " << name << "\n{\n";
  const auto count = WriteConstants(program, policy, kind, os);
  os << "\n  template <int VPhase, typename TRegisters, typename TAccess>\n"
     << "  static CUDAMEDIAN_HOST_DEVICE void\n  Run(const TRegisters & registers, const TAccess & access)\n  {\n"
     << "    (void)registers; // a window of one pixel compares nothing\n";
  for (std::size_t phase = 0; phase < program.lowered.size(); ++phase)
  {
    os << "    if constexpr (VPhase == " << phase << ")\n    {\n";
    Emitter(program, phase, kind, os).WriteBody();
    os << "    }\n";
  }
  os << "  }\n};\n";
  return count;
}

std::string
MakeKernelSource(const KernelProgram & program,
                 const KernelPolicy &  policy,
                 const KernelKind &    kind,
                 bool                  isFloat,
                 EmittedProgram &      count,
                 KernelTask            task)
{
  std::ostringstream source;
  const bool         inLines = policy.lineBytes > 0;
  const bool         readsMasks = task == KernelTask::ValidMedians;
  const bool         tellsOutliers = task == KernelTask::Outliers;
  const auto * const header = inLines         ? "LineKernel.h"
                              : readsMasks    ? "MaskedTileKernel.h"
                              : tellsOutliers ? "OutlierTileKernel.h"
                                              : "TileBlock.h";
  source << "#include \"EarlyStart.h\"\n#include \"" << header << "\"\nnamespace cudamedian\n{\n";
  count = EmitProgram(program, policy, kind, "Program", source);
  const auto         packing = inLines ? GetLinePacking(kind.packing) : kind.packing;
  const auto * const kernel = inLines ? "LineKernel" : readsMasks ? "MaskedTileKernel" : "ProgramKernel";
  source << "using Kernel = " << (tellsOutliers ? "OutlierTileKernel<" : "") << kernel << "<Program, std::uint"
         << 8 * kind.pixelBytes << "_t, KeyMapping::" << (isFloat ? "Float" : "Integer")
         << ", KeyPacking::" << ToString(packing)
         << (readsMasks ? HasTurns(program.phases.phases.back().program.GetWindow()) ? ", true" : ", false" : "")
         << (tellsOutliers ? ">>;\n}\n" : ">;\n}\n")
         << "extern \"C\" __global__ void __launch_bounds__(cudamedian::Kernel::Threads, "
         << "cudamedian::Program::ResidentBlocks)\n"
         << runtimeKernelName << "(const __grid_constant__ cudamedian::KernelArguments arguments"
         << (readsMasks      ? ",\n                     const __grid_constant__ cudamedian::MaskRules rule"
             : tellsOutliers ? ",\n                     const __grid_constant__ cudamedian::OutlierDistance rule"
                             : "")
         << ")\n{\n  cudamedian::AwaitKernelsInFront();\n"
         << (inLines ? "  cudamedian::Kernel::Run(arguments, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);\n}\n"
             : readsMasks    ? "  cudamedian::RunMaskedTileBlock<cudamedian::Kernel>(arguments, rule);\n}\n"
             : tellsOutliers ? "  cudamedian::RunTileKernelBlock<cudamedian::Kernel>(arguments, rule);\n}\n"
                             : "  cudamedian::RunTileKernelBlock<cudamedian::Kernel>(arguments);\n}\n");
  return source.str();
}

} // namespace cudamedian
