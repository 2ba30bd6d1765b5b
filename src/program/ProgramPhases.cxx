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
#include "ProgramPhases.h"

#include "ProgramNodes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace cudamedian
{
namespace
{

using Value = TileProgram::Value;
using Instance = ProgramNodes::Instance;

class Cutter
{
public:
  Cutter(const TileProgram & program, const PhaseOptions & options)
    : m_Program(program)
  {
    if (options.sharedPhases < 0 || options.firstColumn < 0 || options.firstColumn >= program.GetTile()[0])
    {
      throw std::invalid_argument("CutIntoPhases: " + std::to_string(options.sharedPhases) +
                                  " shared phases from column " + std::to_string(options.firstColumn) +
                                  ", but there must be at least 0, and the column from 0 to " +
                                  std::to_string(program.GetTile()[0] - 1));
    }
    ProgramNodes numbered(program, options.firstColumn);
    m_Nodes = std::move(numbered.nodes);
    m_Instances = std::move(numbered.instances);
    m_FirstPosition = numbered.firstPosition;
    m_LastPosition = numbered.lastPosition;
    SetLevels(options.sharedPhases, options.columns);
  }

  ProgramPhases
  Cut()
  {
    int levels = 0;
    for (const auto & node : m_Nodes)
    {
      levels = std::max(levels, node.level + 1);
    }
    // From the last phase to the first: what one imports, the others must export.
    for (int level = levels; level >= 0; --level)
    {
      m_IsLast = level == levels;
      m_Level = level;
      m_Phases.push_back(BuildPhase());
    }
    std::reverse(m_Phases.begin(), m_Phases.end());
    return NumberSharedValues();
  }

private:
  /** A node that a tile has at two positions is shared. It can be computed once the nodes that other tiles leave for it
   * are there. */
  void
  SetLevels(int sharedPhases, int columns)
  {
    for (auto & node : m_Nodes)
    {
      if (node.isPixel || !node.isRepeated || (columns > 0 && node.lastColumn - node.firstColumn >= columns))
      {
        continue;
      }
      int level = 0;
      for (const auto & operand : node.operands)
      {
        const auto & other = m_Nodes[operand.node];
        if (!other.isPixel)
        {
          // The operands of a shared node are shared, unless they are above the last shared phase.
          level = other.level < 0 ? sharedPhases : std::max(level, other.level + (operand.position == 0 ? 0 : 1));
        }
        if (level >= sharedPhases)
        {
          break;
        }
      }
      node.level = level < sharedPhases ? level : -1;
    }
  }

  /** Whether the phase being built takes a value from an earlier one. */
  bool
  IsImport(const Instance & instance) const
  {
    const auto & node = m_Nodes[instance.node];
    return node.level >= 0 && (m_IsLast || node.level < m_Level || instance.position != 0);
  }

  bool
  IsComputed(const Instance & instance) const
  {
    return !m_Nodes[instance.node].isPixel && !IsImport(instance);
  }

  /** Instances of a phase, numbered: nodes at every position that a tile or its neighbours have. */
  std::size_t
  GetNumber(const Instance & instance) const
  {
    return instance.node * static_cast<std::size_t>(GetNumberOfPositions()) +
           static_cast<std::size_t>(instance.position - m_FirstPosition);
  }
  int
  GetNumberOfPositions() const
  {
    return m_LastPosition - 2 * m_FirstPosition + 1; // relative to an instance at 0, operands lie this far right
  }
  std::size_t
  GetNumberOfInstances() const
  {
    return m_Nodes.size() * static_cast<std::size_t>(GetNumberOfPositions());
  }

  struct DraftPhase
  {
    TileProgram              program;
    std::vector<Instance>    imports;
    std::vector<std::size_t> exports; ///< nodes
  };

  /** What a phase is for. */
  struct Goal
  {
    std::vector<Instance> order; ///< instances in the order in which the program computes them
    std::vector<Instance> results;
  };

  /** What a phase is made of. */
  struct Contents
  {
    std::vector<Instance> computed; ///< in order
    std::vector<Instance> imports;
    std::vector<Value>    values; ///< of the phase's program, for each instance
  };

  static constexpr Value unknown = std::numeric_limits<Value>::max();

  DraftPhase
  BuildPhase()
  {
    const auto goal = FindGoal();
    return WritePhase(goal, CollectContents(goal, FindNeeded(goal)));
  }

  /** The last phase is for the program's outputs, the others for what later phases import. */
  Goal
  FindGoal() const
  {
    Goal goal;
    if (m_IsLast)
    {
      goal.order = m_Instances;
      for (const auto output : m_Program.GetOutputs())
      {
        goal.results.push_back(m_Instances[output]);
      }
      return goal;
    }
    for (std::size_t node = 0; node < m_Nodes.size(); ++node)
    {
      goal.order.push_back({ node, 0 });
      if (m_Nodes[node].level == m_Level && !m_Nodes[node].importedFrom.empty())
      {
        goal.results.push_back({ node, 0 });
      }
    }
    return goal;
  }

  /** Which instances the results come from, up to what the phase imports. */
  std::vector<bool>
  FindNeeded(const Goal & goal) const
  {
    std::vector<bool>     needed(GetNumberOfInstances(), false);
    std::vector<Instance> open = goal.results;
    while (!open.empty())
    {
      const auto instance = open.back();
      open.pop_back();
      const auto number = GetNumber(instance);
      const bool isNew = !needed[number];
      needed[number] = true;
      if (isNew && IsComputed(instance))
      {
        for (const auto & operand : GetOperands(instance))
        {
          open.push_back(operand);
        }
      }
    }
    return needed;
  }

  /** Sorts out what the phase computes and what it takes from elsewhere. */
  Contents
  CollectContents(const Goal & goal, std::vector<bool> needed)
  {
    Contents contents{ {}, {}, std::vector<Value>(GetNumberOfInstances(), unknown) };
    for (const auto & instance : goal.order)
    {
      // Each once; a program may compute the same twice.
      const auto number = GetNumber(instance);
      if (needed[number] && IsComputed(instance))
      {
        needed[number] = false;
        contents.computed.push_back(instance);
        for (const auto & operand : GetOperands(instance))
        {
          Enter(operand, contents);
        }
      }
    }
    for (const auto & result : goal.results)
    {
      Enter(result, contents); // does nothing for what is computed
    }
    return contents;
  }

  /** Gives a pixel or an import of the phase its value. */
  void
  Enter(const Instance & instance, Contents & contents)
  {
    auto & node = m_Nodes[instance.node];
    auto & value = contents.values[GetNumber(instance)];
    if (node.isPixel)
    {
      auto pixel = node.pixel;
      pixel[0] += instance.position * m_Program.GetTile()[0];
      value = m_Program.InputAt(pixel);
    }
    else if (IsImport(instance) && value == unknown)
    {
      value = static_cast<Value>(m_Program.GetNumberOfPixels() + contents.imports.size());
      contents.imports.push_back(instance);
      if (node.importedFrom.empty())
      {
        node.order = m_NumberOfImports++;
      }
      node.importedFrom.insert(instance.position);
    }
  }

  /** Writes the phase's program. */
  DraftPhase
  WritePhase(const Goal & goal, Contents contents) const
  {
    auto &     values = contents.values;
    DraftPhase phase{ TileProgram(m_Program.GetWindow(), m_Program.GetTile(), contents.imports.size()),
                      contents.imports,
                      {} };
    for (const auto & instance : contents.computed)
    {
      const auto operands = GetOperands(instance);
      values[GetNumber(instance)] = phase.program.Append(
        m_Nodes[instance.node].operation, values[GetNumber(operands[0])], values[GetNumber(operands[1])]);
    }
    std::vector<Value> resultValues;
    for (const auto & result : goal.results)
    {
      resultValues.push_back(values[GetNumber(result)]);
    }
    if (m_IsLast)
    {
      phase.program.SetOutputs(resultValues);
      return phase;
    }
    phase.program.SetExports(resultValues);
    for (const auto & result : goal.results)
    {
      phase.exports.push_back(result.node);
    }
    return phase;
  }

  std::array<Instance, 2>
  GetOperands(const Instance & instance) const
  {
    auto operands = m_Nodes[instance.node].operands;
    for (auto & operand : operands)
    {
      operand.position += instance.position;
    }
    return operands;
  }

  /** Numbers the shared values by phase, positions and first use, and finds which tiles must run each phase. */
  ProgramPhases
  NumberSharedValues()
  {
    std::vector<std::size_t> shared;
    for (const auto & phase : m_Phases)
    {
      shared.insert(shared.end(), phase.exports.begin(), phase.exports.end());
    }
    const auto group = [&](std::size_t node) { return std::tie(m_Nodes[node].level, m_Nodes[node].importedFrom); };
    std::sort(shared.begin(), shared.end(), [&](std::size_t a, std::size_t b) {
      return group(a) != group(b) ? group(a) < group(b) : m_Nodes[a].order < m_Nodes[b].order;
    });

    ProgramPhases                      result;
    std::map<std::size_t, std::size_t> numbers;
    for (std::size_t number = 0; number < shared.size(); ++number)
    {
      numbers[shared[number]] = number;
      result.groupOfValue.push_back(
        number == 0 ? 0 : result.groupOfValue.back() + (group(shared[number - 1]) == group(shared[number]) ? 0 : 1));
    }
    for (auto & draft : m_Phases)
    {
      ProgramPhases::Phase phase{ std::move(draft.program), {}, {}, 0, 0 };
      for (const auto & import : draft.imports)
      {
        phase.imports.push_back({ numbers.at(import.node), import.position });
      }
      for (const auto node : draft.exports)
      {
        phase.exports.push_back(numbers.at(node));
      }
      result.phases.push_back(std::move(phase));
    }

    std::vector<bool> hasRange(result.phases.size(), false);
    hasRange.back() = true;
    for (std::size_t user = result.phases.size(); user-- > 1;)
    {
      for (const auto & import : result.phases[user].imports)
      {
        const auto level = static_cast<std::size_t>(m_Nodes[shared[import.value]].level);
        auto &     maker = result.phases[level];
        const int  first = result.phases[user].first + import.position;
        const int  last = result.phases[user].last + import.position;
        maker.first = hasRange[level] ? std::min(maker.first, first) : first;
        maker.last = hasRange[level] ? std::max(maker.last, last) : last;
        hasRange[level] = true;
      }
    }
    return result;
  }

  const TileProgram &             m_Program;
  std::vector<ProgramNodes::Node> m_Nodes;
  std::vector<Instance>           m_Instances; ///< of the program's values
  std::vector<DraftPhase>         m_Phases;
  int                             m_FirstPosition{ 0 };
  int                             m_LastPosition{ 0 };
  int                             m_Level{ 0 };
  bool                            m_IsLast{ false };
  std::size_t                     m_NumberOfImports{ 0 };
};

} // namespace

ProgramPhases
CutIntoPhases(const TileProgram & program, const PhaseOptions & options)
{
  return Cutter(program, options).Cut();
}

} // namespace cudamedian
