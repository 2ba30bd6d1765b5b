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
#ifndef MergeCoreTasks_h
#define MergeCoreTasks_h

#include "MergeLists.h"
#include "MergeTask.h"

namespace cudamedian
{

/** The core of a root tile: its lines along one axis, which follow each other, are merged. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SortCores>
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeTask(const MergeArguments<TKey> & arguments, int task, TKey * work)
    : m_Arguments(arguments)
    , m_Task(task)
    , m_Work(work)
  {}

  CUDAMEDIAN_HOST_DEVICE int
  GetRounds() const
  {
    const MergeLevel & level = m_Arguments.pass.child;
    const int          rounds = CountMergeRounds(level.line[0] * level.line[1], level.line[m_Arguments.pass.axis]);
    return rounds == 0 ? 1 : rounds;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Run(int round, int thread) const
  {
    const MergePass &  pass = m_Arguments.pass;
    const MergeLevel & level = pass.child;
    const int          axis = pass.axis;
    const int          length = level.line[0] * level.line[1];
    const int          tile[2] = { m_Task % level.tiles[0], m_Task / level.tiles[0] };
    const int          firstLine = tile[1 - axis] * level.tile[1 - axis] + level.tile[1 - axis] - 1;
    const bool         isLast = round + 1 == GetRounds();
    const int          start = isLast ? static_cast<int>(level.first) : 0;
    const int          count = isLast ? level.core : length;
    const std::int64_t buffer = length;
    const TKey *       source = round == 0 ? m_Arguments.lines[axis][pass.lines[axis]] +
                                         m_Arguments.GetLineNumber(axis, tile[axis], firstLine) * level.line[axis]
                                           : m_Work + (round - 1) % 2 * buffer;
    TKey *             destination =
      isLast ? m_Arguments.cores[pass.cores] + std::int64_t{ m_Task } * level.core : m_Work + round % 2 * buffer;
    for (int first = thread * mergePart; first < count; first += pass.threads * mergePart)
    {
      MergeRuns(
        source, length, level.line[axis] << round, start + first, GetPartLength(count, first), destination + first);
    }
  }

private:
  const MergeArguments<TKey> & m_Arguments;
  int                          m_Task;
  TKey *                       m_Work;
};

/** The cores of a tile's parts: first those of tiles halved along axis 0, which take in columns, then those of tiles
 * halved along axis 1 too, which take in rows. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SplitCores>
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeTask(const MergeArguments<TKey> & arguments, int task, TKey * work)
    : m_Arguments(arguments)
    , m_Task(task)
    , m_Work(work)
    , m_Tile{ task % arguments.pass.parent.tiles[0], task / arguments.pass.parent.tiles[0] }
  {}

  CUDAMEDIAN_HOST_DEVICE int
  GetRounds() const
  {
    const MergePass & pass = m_Arguments.pass;
    return GetGroupRounds() + (pass.added[0] > 0 ? 1 : 0) + (pass.added[1] > 0 ? 1 : 0);
  }

  CUDAMEDIAN_HOST_DEVICE void
  Run(int round, int thread) const
  {
    const int groupRounds = GetGroupRounds();
    if (round < groupRounds)
    {
      MergeGroups(round, thread);
    }
    else if (round == groupRounds && m_Arguments.pass.added[0] > 0)
    {
      TakeInColumns(thread);
    }
    else
    {
      TakeInRows(thread);
    }
  }

private:
  CUDAMEDIAN_HOST_DEVICE int
  GetGroupRounds() const
  {
    const int * rounds = m_Arguments.pass.rounds;
    return rounds[0] > rounds[1] ? rounds[0] : rounds[1];
  }

  CUDAMEDIAN_HOST_DEVICE int
  GetParts() const
  {
    return m_Arguments.pass.parts[0] * m_Arguments.pass.parts[1];
  }

  /** Keys of all groups of lines that the parts take in. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetGroupKeys() const
  {
    const MergePass & pass = m_Arguments.pass;
    return std::int64_t{ pass.parts[0] } * pass.group[0] + std::int64_t{ GetParts() } * pass.group[1];
  }

  /** Where a part's group of lines lies after a number of rounds. \param axis 0: columns, of parts[0] parts.
   * 1: rows, of all parts. */
  CUDAMEDIAN_HOST_DEVICE TKey *
  GetGroup(int axis, int part, int round) const
  {
    const MergePass & pass = m_Arguments.pass;
    if (round > 0)
    {
      const std::int64_t before = axis == 0 ? 0 : std::int64_t{ pass.parts[0] } * pass.group[0];
      return m_Work + (round - 1) % 2 * GetGroupKeys() + before + std::int64_t{ part } * pass.group[axis];
    }
    // Lines along the other axis, before or behind those of the tile's core.
    const int  along = 1 - axis;
    const int  half = axis == 0 ? part : part / pass.parts[0];
    const int  first = m_Tile[axis] * pass.parent.tile[axis];
    const int  position = half == 0 ? first + pass.child.tile[axis] - 1 : first + m_Arguments.window[axis];
    const int  tile = axis == 0 ? m_Tile[1] : m_Tile[0] * pass.parts[0] + part % pass.parts[0];
    const auto line = m_Arguments.GetLineNumber(along, tile, position);
    return m_Arguments.lines[along][pass.lines[along]] + line * GetLineLength(axis);
  }

  CUDAMEDIAN_HOST_DEVICE int
  GetLineLength(int axis) const
  {
    return axis == 0 ? m_Arguments.pass.parent.line[1] : m_Arguments.pass.child.line[0];
  }

  CUDAMEDIAN_HOST_DEVICE void
  MergeGroups(int round, int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         columnParts = round < pass.rounds[0] ? CountMergeParts(pass.group[0]) : 0;
    const int         rowParts = round < pass.rounds[1] ? CountMergeParts(pass.group[1]) : 0;
    const int         columns = columnParts * pass.parts[0];
    for (int number = thread; number < columns + rowParts * GetParts(); number += pass.threads)
    {
      const int axis = number < columns ? 0 : 1;
      const int inAxis = number - (axis == 0 ? 0 : columns);
      const int parts = axis == 0 ? columnParts : rowParts;
      const int part = inAxis / parts;
      const int first = (inAxis - part * parts) * mergePart;
      MergeRuns(GetGroup(axis, part, round),
                pass.group[axis],
                GetLineLength(axis) << round,
                first,
                GetPartLength(pass.group[axis], first),
                GetGroup(axis, part, round + 1) + first);
    }
  }

  /** The core of a part that is halved along axis 0 alone, in the block's memory. */
  CUDAMEDIAN_HOST_DEVICE TKey *
  GetMiddleCore(int part) const
  {
    const int rounds = GetGroupRounds();
    return m_Work + (rounds < 2 ? rounds : 2) * GetGroupKeys() + std::int64_t{ part } * m_Arguments.pass.middleCore;
  }

  CUDAMEDIAN_HOST_DEVICE TKey *
  GetChildCore(int part) const
  {
    const MergePass &  pass = m_Arguments.pass;
    const std::int64_t row = m_Tile[1] * pass.parts[1] + part / pass.parts[0];
    const int          column = m_Tile[0] * pass.parts[0] + part % pass.parts[0];
    return m_Arguments.cores[1 - pass.cores] + (row * pass.child.tiles[0] + column) * pass.child.core;
  }

  CUDAMEDIAN_HOST_DEVICE SortedList<TKey>
                         GetParentCore() const
  {
    const MergePass & pass = m_Arguments.pass;
    return { m_Arguments.cores[pass.cores] + std::int64_t{ m_Task } * pass.parent.core, pass.parent.core };
  }

  CUDAMEDIAN_HOST_DEVICE void
  TakeInColumns(int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         parts = CountMergeParts(pass.middleCore);
    const int         start = static_cast<int>(pass.middleFirst - pass.parent.first);
    for (int number = thread; number < parts * pass.parts[0]; number += pass.threads)
    {
      const int part = number / parts;
      const int first = (number - part * parts) * mergePart;
      TKey *    core = pass.added[1] > 0 ? GetMiddleCore(part) : GetChildCore(part);
      MergePart(GetParentCore(),
                SortedList<TKey>{ GetGroup(0, part, pass.rounds[0]), pass.group[0] },
                start + first,
                GetPartLength(pass.middleCore, first),
                core + first);
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  TakeInRows(int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         parts = CountMergeParts(pass.child.core);
    const int         start = static_cast<int>(pass.child.first - pass.middleFirst);
    for (int number = thread; number < parts * GetParts(); number += pass.threads)
    {
      const int  part = number / parts;
      const int  first = (number - part * parts) * mergePart;
      const auto core =
        pass.added[0] > 0 ? SortedList<TKey>{ GetMiddleCore(part % pass.parts[0]), pass.middleCore } : GetParentCore();
      MergePart(core,
                SortedList<TKey>{ GetGroup(1, part, pass.rounds[1]), pass.group[1] },
                start + first,
                GetPartLength(pass.child.core, first),
                GetChildCore(part) + first);
    }
  }

  const MergeArguments<TKey> & m_Arguments;
  int                          m_Task;
  TKey *                       m_Work;
  int                          m_Tile[2];
};

} // namespace cudamedian

#endif
