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
#include "FootprintTiling.h"

#include "ProgramSchedule.h"
#include "SortingNetwork.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

namespace cudamedian
{
namespace
{

using Value = TileProgram::Value;

/** A pixel of a tile's inputs, and how often it counts. */
struct Member
{
  Extent       place;
  std::int64_t weight;

  bool
  operator<(const Member & other) const
  {
    return place != other.place ? place < other.place : weight < other.weight;
  }
};

/** Members in a fixed order, each place once. */
using Members = std::vector<Member>;

/** Outputs of a tile: a box of them. */
struct Outputs
{
  Extent first;
  Extent last; ///< the one after

  std::int64_t
  GetLength(int axis) const
  {
    return last[axis] - first[axis];
  }
};

/** The part of a sorted list that can still hold the wanted value, and how many values were discarded on either side.
 */
struct SortedCore
{
  SortedValues values;
  std::int64_t discardedBelow{ 0 };
  std::int64_t discardedAbove{ 0 };
};

class Builder
{
public:
  Builder(const Window & window, const Extent & tile, Division division)
    : m_Window(window), m_Division(division), m_Program(window, tile), m_Results(static_cast<std::size_t>(Volume(tile)))
  {}

  TileProgram
  Build()
  {
    Outputs all{ {}, m_Program.GetTile() };
    Split(all, {}, {});
    m_Program.SetOutputs(m_Results);
    m_Program.RemoveDeadCode();
    return std::move(m_Program);
  }

private:
  /** What the windows of all outputs have in common. */
  Members
  GetCore(const Outputs & outputs) const
  {
    struct Common
    {
      std::int64_t windows{ 0 };
      std::int64_t weight{ 0 };
    };
    std::map<Extent, Common> seen;
    std::int64_t             windows = 0;
    Extent                   output;
    for (output[3] = outputs.first[3]; output[3] < outputs.last[3]; ++output[3])
    {
      for (output[2] = outputs.first[2]; output[2] < outputs.last[2]; ++output[2])
      {
        for (output[1] = outputs.first[1]; output[1] < outputs.last[1]; ++output[1])
        {
          for (output[0] = outputs.first[0]; output[0] < outputs.last[0]; ++output[0])
          {
            for (const auto & pixel : m_Window.footprint->GetPixels())
            {
              Extent place;
              for (int axis = 0; axis < Dimension; ++axis)
              {
                place[axis] = output[axis] + m_Window.radius[axis] + pixel.offset[axis];
              }
              auto & common = seen[place];
              common.weight = common.windows == 0 ? pixel.weight : std::min(common.weight, pixel.weight);
              ++common.windows;
            }
            ++windows;
          }
        }
      }
    }
    Members core;
    for (const auto & [place, common] : seen)
    {
      if (common.windows == windows)
      {
        core.push_back({ place, common.weight });
      }
    }
    return core;
  }

  /** What is in a set beyond a part of it. */
  static Members
  Subtract(const Members & whole, const Members & part)
  {
    Members rest;
    auto    next = part.begin();
    for (const auto & member : whole)
    {
      auto weight = member.weight;
      if (next != part.end() && next->place == member.place)
      {
        weight -= next->weight;
        ++next;
      }
      if (weight > 0)
      {
        rest.push_back({ member.place, weight });
      }
    }
    return rest;
  }

  /** Of n values seen, the one of rank i can be the wanted one only if no more than those below it are below, and no
   * more than those above it above. */
  void
  Discard(SortedCore & core) const
  {
    const auto seen = static_cast<std::int64_t>(core.values.size()) + core.discardedBelow + core.discardedAbove;
    const auto lowest = std::max(core.discardedBelow, seen - 1 - m_Window.CountAbove());
    const auto highest = std::min(seen - 1 - core.discardedAbove, m_Window.rank);
    core.values = SortedValues(core.values.begin() + (lowest - core.discardedBelow),
                               core.values.begin() + (highest - core.discardedBelow + 1));
    core.discardedBelow = lowest;
    core.discardedAbove = seen - 1 - highest;
  }

  /** Adds what the outputs' windows share beyond what is in a core, and goes on with both halves of the outputs. */
  void
  Split(const Outputs & outputs, const Members & parent, SortedCore core)
  {
    const auto members = GetCore(outputs);
    const auto added = Subtract(members, parent);
    if (!added.empty())
    {
      core.values = MergeSorted(m_Program, core.values, Sort(added));
      Discard(core);
    }
    int longest = 0;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      longest = outputs.GetLength(axis) > outputs.GetLength(longest) ? axis : longest;
    }
    if (outputs.GetLength(longest) == 1)
    {
      std::int64_t index = 0;
      for (int axis = Dimension - 1; axis >= 0; --axis)
      {
        index = index * m_Program.GetTile()[axis] + outputs.first[axis];
      }
      auto result = core.values.at(0);
      // An output is the result of an operation, also where it is a pixel.
      if (result < m_Program.GetNumberOfInputs())
      {
        result = m_Program.Append(TileProgram::Operation::Min, result, result);
      }
      m_Results[static_cast<std::size_t>(index)] = result;
      return;
    }
    const auto middle = outputs.first[longest] + (outputs.GetLength(longest) + 1) / 2;
    for (const bool isFirst : { true, false })
    {
      Outputs half = outputs;
      (isFirst ? half.last : half.first)[longest] = middle;
      Split(half, members, core);
    }
  }

  /** The sorted values of members, built once. */
  SortedValues
  Sort(const Members & members)
  {
    const auto found = m_Sorted.find(members);
    if (found != m_Sorted.end())
    {
      return found->second;
    }
    SortedValues sorted;
    if (members.size() == 1)
    {
      sorted.assign(static_cast<std::size_t>(members[0].weight), m_Program.InputAt(members[0].place));
    }
    else
    {
      Members first;
      Members second;
      Cut(members, first, second);
      const auto sortedFirst = Sort(first);
      sorted = MergeSorted(m_Program, sortedFirst, Sort(second));
    }
    m_Sorted.emplace(members, sorted);
    return sorted;
  }

  /** Cuts members in two: layers along outer axes first, then columns, and columns last. Halves are cut in the middle;
   * powers at places that are multiples of the largest one, which are the same for all members. */
  void
  Cut(const Members & members, Members & first, Members & second) const
  {
    for (const int axis : { 3, 2, 0, 1 })
    {
      auto least = members[0].place[axis];
      auto greatest = least;
      for (const auto & member : members)
      {
        least = std::min(least, member.place[axis]);
        greatest = std::max(greatest, member.place[axis]);
      }
      if (least == greatest)
      {
        continue;
      }
      auto middle = (least + greatest + 1) / 2;
      if (m_Division != Division::Halves)
      {
        std::int64_t step = 1;
        while ((least / (2 * step) + 1) * 2 * step <= greatest)
        {
          step *= 2;
        }
        const auto aligned = (least / step + 1) * step;
        middle = m_Division == Division::PowerFirst ? aligned : greatest / step * step;
      }
      for (const auto & member : members)
      {
        (member.place[axis] < middle ? first : second).push_back(member);
      }
      return;
    }
    throw std::logic_error("members of one place");
  }

  Window                          m_Window;
  Division                        m_Division;
  TileProgram                     m_Program;
  std::vector<Value>              m_Results;
  std::map<Members, SortedValues> m_Sorted;
};

/** Replaces what says nothing new: the least of a value and itself, operations that were done before, and the least of
 * a value and what is at least as great. */
TileProgram
Simplify(const TileProgram & given)
{
  using Operation = TileProgram::Operation;
  const auto                                           inputs = given.GetNumberOfInputs();
  TileProgram                                          program(given.GetWindow(), given.GetTile());
  std::vector<Value>                                   replaced(inputs + given.GetInstructions().size());
  std::map<std::tuple<Operation, Value, Value>, Value> known;
  for (std::size_t i = 0; i < inputs; ++i)
  {
    replaced[i] = static_cast<Value>(i);
  }
  const auto isAmong = [&](Value value, Value one, Operation operation) {
    if (one < inputs)
    {
      return false;
    }
    const auto & made = program.GetInstructions()[one - inputs];
    return made.operation == operation && (made.a == value || made.b == value);
  };
  for (std::size_t n = 0; n < given.GetInstructions().size(); ++n)
  {
    const auto & instruction = given.GetInstructions()[n];
    const auto   a = std::min(replaced[instruction.a], replaced[instruction.b]);
    const auto   b = std::max(replaced[instruction.a], replaced[instruction.b]);
    const auto   other = instruction.operation == Operation::Min ? Operation::Max : Operation::Min;
    auto &       result = replaced[inputs + n];
    if (a == b && a >= inputs)
    {
      result = a;
    }
    else if (isAmong(a, b, other))
    {
      result = a;
    }
    else if (isAmong(b, a, other))
    {
      result = b;
    }
    else if (isAmong(a, b, instruction.operation))
    {
      result = b;
    }
    else if (isAmong(b, a, instruction.operation))
    {
      result = a;
    }
    else
    {
      const auto found = known.find({ instruction.operation, a, b });
      result = found != known.end() ? found->second : program.Append(instruction.operation, a, b);
      known.emplace(std::make_tuple(instruction.operation, a, b), result);
    }
  }
  auto outputs = given.GetOutputs();
  for (auto & output : outputs)
  {
    output = replaced[output];
    output = output < inputs ? program.Append(Operation::Min, output, output) : output;
  }
  program.SetOutputs(outputs);
  program.RemoveDeadCode();
  return program;
}

} // namespace

TileProgram
BuildFootprintProgram(const Window & window, const Extent & tile, Division division)
{
  return Simplify(Builder(window, tile, division).Build());
}

FootprintPolicy
ChooseFootprintPolicy(const Window & window, std::size_t mostLiveValues)
{
  static auto & mutex = *new std::mutex;
  static auto & known = *new std::map<std::pair<Window, std::size_t>, FootprintPolicy>;

  const std::lock_guard<std::mutex> lock(mutex);
  const auto                        found = known.find({ window, mostLiveValues });
  if (found != known.end())
  {
    return found->second;
  }
  constexpr Extent        tiles[] = { { { 1, 1, 1, 1 } }, { { 2, 1, 1, 1 } }, { { 1, 2, 1, 1 } }, { { 2, 2, 1, 1 } },
                                      { { 4, 1, 1, 1 } }, { { 4, 2, 1, 1 } }, { { 2, 4, 1, 1 } }, { { 4, 4, 1, 1 } },
                                      { { 2, 1, 2, 1 } }, { { 1, 2, 2, 1 } }, { { 2, 2, 2, 1 } }, { { 4, 2, 2, 1 } } };
  FootprintPolicy         best;
  bool                    isFirst = true;
  std::pair<bool, double> least;
  for (const auto & tile : tiles)
  {
    bool isOfUse = true;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      isOfUse = isOfUse && tile[axis] <= window.GetSize(axis);
    }
    for (const auto division : { Division::Halves, Division::PowerFirst, Division::PowerLast })
    {
      if (!isOfUse)
      {
        continue;
      }
      const auto program = BuildHierarchicalTilingProgram(window, tile, { tile, division });
      const auto live = ScheduleProgram(program).numberOfSlots;
      const bool isTooLarge = live > mostLiveValues;
      const auto operations = static_cast<double>(program.GetInstructions().size()) / static_cast<double>(Volume(tile));
      const std::pair<bool, double> cost{ isTooLarge, isTooLarge ? static_cast<double>(live) : operations };
      if (isFirst || cost < least)
      {
        least = cost;
        best = { tile, division };
        isFirst = false;
      }
    }
  }
  return known.emplace(std::make_pair(window, mostLiveValues), best).first->second;
}

} // namespace cudamedian
