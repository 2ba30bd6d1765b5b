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
#ifndef MergeKernels_h
#define MergeKernels_h

#include "KernelArguments.h"
#include "MergePolicy.h"
#include "PixelFormat.h"

/** Medians, or values of any other rank, of windows along two axes by hierarchical tiling with lists in memory.
 *
 * The data-aware variant of L. Sugy, "A Fast Parallel Median Filtering Algorithm Using Hierarchical Tiling" (SIGGRAPH
 * 2025), section 5. Each tile of outputs has a sorted core, the pixels that all its windows share, and sorted lines
 * beside it: columns as high as the core, rows as wide. Halving the tile, a part takes in half a tile of columns, then
 * of rows, which are merged in pairs and then with the core; lines grow by the corners, which are sorted and merged
 * with them. A pixel of the core that has too many pixels below or above it to be of the wanted rank in any window,
 * whatever the windows' other pixels are, is left out. Columns are shared between the tiles that lie side by side, rows
 * between those that lie one below the other. Of tiles of 2x2 outputs, each output's median is searched among the core,
 * one column, one row and one corner. Lists are merged by merge path (S. Odeh et al., "Merge Path", 2012): threads
 * search where their part of the merger starts in both lists. An output costs a number of merges in proportion to the
 * radius.
 *
 * All tiles of a region go through one pass after the other (MergePolicy.h lists them), a block for each tile or some
 * lines. What a block makes between a pass's rounds stays in shared memory where that has room; the lists between
 * passes take up to a hundred times the region's pixels.
 *
 * Written so that the host can run it: see KernelBodies.h. */
namespace cudamedian
{

/** What the kernel of a pass is told. Region axes 0 and 1 are those of the window. */
template <typename TKey>
struct MergeArguments
{
  KernelArguments slab;
  KeyFormat       keyFormat;
  int             axes[Dimension]; ///< image axis of each region axis
  int             window[2];
  std::int64_t    origin[Dimension]; ///< the region's first output along its axes, relative to the slab's
  TKey *          copies[2];         ///< keys of the footprint, row by row and column by column
  TKey *          lines[2][2];       ///< sorted lines along each axis, in two buffers
  TKey *          cores[2];          ///< sorted cores, in two buffers
  MergePass       pass;

  /** Line `position` of the tiles in a row of them, along an axis. \param tile number of the tile along that axis. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetLineNumber(int axis, int tile, int position) const
  {
    return std::int64_t{ tile } * pass.footprint[1 - axis] + position;
  }
};

/** Arguments of a region, up to the pass. */
template <typename TKey>
MergeArguments<TKey>
MakeMergeArguments(const KernelArguments & slab,
                   const MergeShape &      shape,
                   KeyFormat               keyFormat,
                   const MergeMemory &     memory,
                   TKey *                  scratch)
{
  MergeArguments<TKey> arguments{};
  arguments.slab = slab;
  arguments.keyFormat = keyFormat;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.axes[axis] = shape.axes[axis];
  }
  for (int i = 0; i < 2; ++i)
  {
    arguments.window[i] = shape.window[i];
    arguments.copies[i] = scratch + memory.copies[i];
    arguments.lines[0][i] = scratch + memory.lines[0][i];
    arguments.lines[1][i] = scratch + memory.lines[1][i];
    arguments.cores[i] = scratch + memory.cores[i];
  }
  return arguments;
}

template <typename TKey>
struct SortedList
{
  const TKey * keys;
  int          count;
};

/** Writes `count` keys of the merger of two lists, from the key on that `first` others are before. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE void
MergePart(const SortedList<TKey> & a, const SortedList<TKey> & b, int first, int count, TKey * destination)
{
  // How many of the keys before come from a: where a[i] and b[first - 1 - i] change sides.
  int fromA = first > b.count ? first - b.count : 0;
  int most = first < a.count ? first : a.count;
  while (fromA < most)
  {
    const int middle = (fromA + most) / 2;
    if (a.keys[middle] <= b.keys[first - 1 - middle])
    {
      fromA = middle + 1;
    }
    else
    {
      most = middle;
    }
  }
  int  fromB = first - fromA;
  TKey nextA = fromA < a.count ? a.keys[fromA] : TKey{ 0 };
  TKey nextB = fromB < b.count ? b.keys[fromB] : TKey{ 0 };
  for (int i = 0; i < count; ++i)
  {
    const bool takeA = fromB >= b.count || (fromA < a.count && nextA <= nextB);
    destination[i] = takeA ? nextA : nextB;
    fromA += takeA ? 1 : 0;
    fromB += takeA ? 0 : 1;
    const bool   left = takeA ? fromA < a.count : fromB < b.count;
    const TKey * next = takeA ? a.keys + fromA : b.keys + fromB;
    const TKey   key = left ? *next : TKey{ 0 };
    nextA = takeA ? key : nextA;
    nextB = takeA ? nextB : key;
  }
}

/** The same for a list of sorted runs, of which two each are merged to one twice as long. The last may be shorter. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE void
MergeRuns(const TKey * source, int length, int run, int first, int count, TKey * destination)
{
  while (count > 0)
  {
    const int  pair = first / (2 * run) * (2 * run);
    const int  left = length - pair;
    const int  countA = left < run ? left : run;
    const int  countB = left - countA < run ? left - countA : run;
    const int  here = pair + countA + countB - first;
    const int  part = here < count ? here : count;
    const auto a = SortedList<TKey>{ source + pair, countA };
    MergePart(a, SortedList<TKey>{ a.keys + countA, countB }, first - pair, part, destination);
    first += part;
    count -= part;
    destination += part;
  }
}

/** Sorts up to mergePart keys by odd-even transposition. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE void
SortPart(const TKey * source, int count, TKey * destination)
{
  TKey keys[mergePart];
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < mergePart; ++i)
  {
    keys[i] = i < count ? source[i] : static_cast<TKey>(~TKey{ 0 });
  }
  CUDAMEDIAN_UNROLL
  for (int round = 0; round < mergePart; ++round)
  {
    CUDAMEDIAN_UNROLL
    for (int i = round % 2; i + 1 < mergePart; i += 2)
    {
      const TKey lower = keys[i] < keys[i + 1] ? keys[i] : keys[i + 1];
      keys[i + 1] = keys[i] < keys[i + 1] ? keys[i + 1] : keys[i];
      keys[i] = lower;
    }
  }
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < mergePart; ++i)
  {
    if (i < count)
    {
      destination[i] = keys[i];
    }
  }
}

/** Finds the key that `rank` others are before in sorted lists, of which the last has at most one key. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE TKey
SelectKey(SortedList<TKey> (&lists)[4], int rank)
{
  for (;;)
  {
    // A third of those before in each list: of all first thirds the one whose last key is lowest is before the rank,
    // for the others hold no more than two thirds of what is below that key.
    const int step = (rank + 2) / 3;
    int       lowest = -1;
    TKey      pivot{ 0 };
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 4; ++i)
    {
      if (lists[i].count > 0)
      {
        const int  taken = step < 1 ? 1 : step < lists[i].count ? step : lists[i].count;
        const TKey key = lists[i].keys[taken - 1];
        if (lowest < 0 || key < pivot)
        {
          lowest = i;
          pivot = key;
        }
      }
    }
    if (rank == 0)
    {
      return pivot;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 4; ++i)
    {
      if (lowest == i)
      {
        const int taken = step < lists[i].count ? step : lists[i].count;
        lists[i].keys += taken;
        lists[i].count -= taken;
        rank -= taken;
      }
    }
  }
}

/** The parts of a number of keys that threads merge, one each. */
CUDAMEDIAN_HOST_DEVICE int
CountMergeParts(int keys)
{
  return (keys + mergePart - 1) / mergePart;
}

/** Keys of one of them. */
CUDAMEDIAN_HOST_DEVICE int
GetPartLength(int keys, int first)
{
  return keys - first < mergePart ? keys - first : mergePart;
}

/** What a block does for one task of a pass: Run() of each round for each thread; threads wait between rounds. */
template <typename TKey, MergePassKind VKind>
class MergeTask;

/** A task of one round, in which each thread has an item. */
template <typename TKey>
class MergeTurn
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeTurn(const MergeArguments<TKey> & arguments, int task, TKey *) : m_Arguments(arguments), m_Task(task)
  {}

  CUDAMEDIAN_HOST_DEVICE static int
  GetRounds()
  {
    return 1;
  }

protected:
  /** The number of a thread's item. */
  CUDAMEDIAN_HOST_DEVICE int
  GetItem(int thread) const
  {
    return m_Task * m_Arguments.pass.threads + thread;
  }

  const MergeArguments<TKey> & m_Arguments;

private:
  int m_Task;
};

/** A task of some lines. */
template <typename TKey>
class MergeLines
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeLines(const MergeArguments<TKey> & arguments, int task, TKey * work)
    : m_Arguments(arguments), m_FirstLine(std::int64_t{ task } * arguments.pass.lists), m_Work(work)
  {}

protected:
  /** Lines of each tile. */
  CUDAMEDIAN_HOST_DEVICE int
  GetPositions() const
  {
    return m_Arguments.pass.footprint[1 - m_Arguments.pass.axis];
  }

  /** Keys of a line that the pass makes. */
  CUDAMEDIAN_HOST_DEVICE int
  GetLength() const
  {
    return m_Arguments.pass.child.line[m_Arguments.pass.axis];
  }

  /** Lines of the task: the last has what is left. */
  CUDAMEDIAN_HOST_DEVICE int
  GetLists() const
  {
    const MergePass &  pass = m_Arguments.pass;
    const std::int64_t lines = std::int64_t{ pass.child.tiles[pass.axis] } * GetPositions() - m_FirstLine;
    return lines < pass.lists ? static_cast<int>(lines) : pass.lists;
  }

  const MergeArguments<TKey> & m_Arguments;
  std::int64_t                 m_FirstLine;
  TKey *                       m_Work;
};

/** Keys of the footprint: one for each of the usual number of threads. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::CopyKeys> : public MergeTurn<TKey>
{
public:
  using MergeTurn<TKey>::MergeTurn;

  CUDAMEDIAN_HOST_DEVICE void
  Run(int, int thread) const
  {
    const auto & slab = m_Arguments.slab;
    const int *  footprint = m_Arguments.pass.footprint;
    const int    pixel = this->GetItem(thread);
    if (pixel >= footprint[0] * footprint[1])
    {
      return;
    }
    const int    position[Dimension] = { pixel % footprint[0], pixel / footprint[0], 0, 0 };
    std::int64_t offset = 0;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const int          imageAxis = m_Arguments.axes[axis];
      const std::int64_t last = slab.inputExtent[imageAxis] - 1;
      const std::int64_t at =
        m_Arguments.origin[axis] + slab.outputOrigin[imageAxis] - slab.radius[imageAxis] + position[axis];
      offset += (at < 0 ? 0 : at > last ? last : at) * slab.inputPitch[imageAxis];
    }
    const TKey bits = static_cast<const TKey *>(slab.input)[offset];
    const TKey key = CallWithMapping<TKey>(
      m_Arguments.keyFormat, [&](auto mapping) { return mapping.FromBits(bits, static_cast<TKey>(slab.signMask)); });
    m_Arguments.copies[0][pixel] = key;
    m_Arguments.copies[1][position[0] * footprint[1] + position[1]] = key;
  }

private:
  using MergeTurn<TKey>::m_Arguments;
};

/** Some lines of root tiles: parts of them are sorted, then merged. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SortLines> : public MergeLines<TKey>
{
public:
  using MergeLines<TKey>::MergeLines;

  CUDAMEDIAN_HOST_DEVICE int
  GetRounds() const
  {
    return 1 + CountMergeRounds(this->GetLength(), mergePart);
  }

  CUDAMEDIAN_HOST_DEVICE void
  Run(int round, int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         axis = pass.axis;
    const int         length = this->GetLength();
    const int         parts = CountMergeParts(length);
    const int         positions = this->GetPositions();
    const int         buffer = pass.lists * length;
    const int         lists = this->GetLists();
    const bool        isLast = round + 1 == GetRounds();
    TKey *            sorted = m_Arguments.lines[axis][pass.lines[axis]] + m_FirstLine * length;
    for (int number = thread; number < lists * parts; number += pass.threads)
    {
      const int list = number / parts;
      const int first = (number - list * parts) * mergePart;
      const int count = GetPartLength(length, first);
      TKey *    destination = (isLast ? sorted : m_Work + round % 2 * buffer) + list * length + first;
      if (round == 0)
      {
        const std::int64_t line = m_FirstLine + list;
        const auto         tile = line / positions;
        const auto         start = tile * pass.child.tile[axis] + pass.child.tile[axis] - 1;
        const TKey *       copy = m_Arguments.copies[axis] + (line - tile * positions) * pass.footprint[axis];
        SortPart(copy + start + first, count, destination);
      }
      else
      {
        const TKey * source = m_Work + (round - 1) % 2 * buffer + list * length;
        MergeRuns(source, length, mergePart << (round - 1), first, count, destination);
      }
    }
  }

private:
  using MergeLines<TKey>::m_Arguments;
  using MergeLines<TKey>::m_FirstLine;
  using MergeLines<TKey>::m_Work;
};

/** The core of a root tile: its lines along one axis, which follow each other, are merged. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SortCores>
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeTask(const MergeArguments<TKey> & arguments, int task, TKey * work)
    : m_Arguments(arguments), m_Task(task), m_Work(work)
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

/** Some lines of tiles that are half as long as those before: corners are sorted, then merged with the line. The
 * results leave from the block's memory all together, since a thread's own parts would fill memory accesses poorly. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::ExtendLines> : public MergeLines<TKey>
{
public:
  using MergeLines<TKey>::MergeLines;

  CUDAMEDIAN_HOST_DEVICE static int
  GetRounds()
  {
    return 3;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Run(int round, int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         axis = pass.axis;
    const int         positions = this->GetPositions();
    const int         length = this->GetLength();
    const int         parentLength = pass.parent.line[axis];
    const int         added = length - parentLength;
    const int         lists = this->GetLists();
    if (round == 0)
    {
      for (int number = thread; number < lists * added; number += pass.threads)
      {
        const int          list = number / added;
        const int          own = number - list * added;
        const std::int64_t line = m_FirstLine + list;
        const auto         tile = line / positions;
        // The first half of the parent's tile takes in what is before the parent's line, the other what is behind it.
        const auto   start = tile % 2 == 0 ? tile * pass.child.tile[axis] + pass.child.tile[axis] - 1
                                           : (tile - 1) * pass.child.tile[axis] + m_Arguments.window[axis];
        const TKey * corners = m_Arguments.copies[axis] + (line - tile * positions) * pass.footprint[axis] + start;
        const TKey   key = corners[own];
        int          rank = 0;
        for (int i = 0; i < added; ++i)
        {
          const TKey other = corners[i];
          rank += other < key || (other == key && i < own) ? 1 : 0;
        }
        m_Work[list * added + rank] = key;
      }
      return;
    }
    TKey * extended = m_Work + pass.lists * added;
    if (round == 2)
    {
      TKey * destination = m_Arguments.lines[axis][1 - pass.lines[axis]] + m_FirstLine * length;
      for (int i = thread; i < lists * length; i += pass.threads)
      {
        destination[i] = extended[i];
      }
      return;
    }
    const int    parts = CountMergeParts(length);
    const TKey * parents = m_Arguments.lines[axis][pass.lines[axis]];
    for (int number = thread; number < lists * parts; number += pass.threads)
    {
      const int          list = number / parts;
      const int          first = (number - list * parts) * mergePart;
      const std::int64_t line = m_FirstLine + list;
      const auto         tile = line / positions;
      const auto         parent = tile / 2 * positions + (line - tile * positions);
      MergePart(SortedList<TKey>{ parents + parent * parentLength, parentLength },
                SortedList<TKey>{ m_Work + list * added, added },
                first,
                GetPartLength(length, first),
                extended + list * length + first);
    }
  }

private:
  using MergeLines<TKey>::m_Arguments;
  using MergeLines<TKey>::m_FirstLine;
  using MergeLines<TKey>::m_Work;
};

/** The cores of a tile's parts: first those of tiles halved along axis 0, which take in columns, then those of tiles
 * halved along axis 1 too, which take in rows. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SplitCores>
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeTask(const MergeArguments<TKey> & arguments, int task, TKey * work)
    : m_Arguments(arguments), m_Task(task),
      m_Work(work), m_Tile{ task % arguments.pass.parent.tiles[0], task / arguments.pass.parent.tiles[0] }
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

/** Medians: one output for each of the usual number of threads. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SelectKeys> : public MergeTurn<TKey>
{
public:
  using MergeTurn<TKey>::MergeTurn;

  CUDAMEDIAN_HOST_DEVICE void
  Run(int, int thread) const
  {
    const MergePass &  pass = m_Arguments.pass;
    const MergeLevel & level = pass.parent;
    const auto &       slab = m_Arguments.slab;
    const int          number = this->GetItem(thread);
    const int          width = level.tiles[0] * level.tile[0];
    const int          output[2] = { number % width, number / width };
    std::int64_t       offset = slab.outputOrigin[0] - slab.gridOrigin;
    bool               inside = output[1] < level.tiles[1] * level.tile[1];
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const int          imageAxis = m_Arguments.axes[axis];
      const std::int64_t position = m_Arguments.origin[axis] + (axis < 2 ? output[axis] : 0);
      inside = inside && position < slab.outputExtent[imageAxis];
      offset += position * slab.outputPitch[imageAxis];
    }
    if (!inside)
    {
      return;
    }

    int tile[2];
    int position[2]; // of the column and the row that the output's window has besides its tile's core
    for (int axis = 0; axis < 2; ++axis)
    {
      tile[axis] = output[axis] / level.tile[axis];
      const int first = tile[axis] * level.tile[axis];
      position[axis] = output[axis] == first ? first : first + m_Arguments.window[axis];
    }
    const bool         split[2] = { level.tile[0] > 1, level.tile[1] > 1 };
    const std::int64_t tileNumber = std::int64_t{ tile[1] } * level.tiles[0] + tile[0];
    SortedList<TKey>   lists[4];
    lists[0] = { m_Arguments.cores[pass.cores] + tileNumber * level.core, level.core };
    for (int axis = 0; axis < 2; ++axis)
    {
      const int  along = 1 - axis;
      const auto line = m_Arguments.GetLineNumber(along, tile[along], position[axis]);
      lists[1 + axis] = { m_Arguments.lines[along][pass.lines[along]] + line * level.line[along],
                          split[axis] ? level.line[along] : 0 };
    }
    lists[3] = { m_Arguments.copies[0] + std::int64_t{ position[1] } * pass.footprint[0] + position[0],
                 split[0] && split[1] ? 1 : 0 };
    const TKey key = SelectKey(lists, static_cast<int>(slab.rank - level.first));
    static_cast<TKey *>(slab.output)[offset] = CallWithMapping<TKey>(
      m_Arguments.keyFormat, [&](auto mapping) { return mapping.ToBits(key, static_cast<TKey>(slab.signMask)); });
  }

private:
  using MergeTurn<TKey>::m_Arguments;
};

} // namespace cudamedian

#endif
