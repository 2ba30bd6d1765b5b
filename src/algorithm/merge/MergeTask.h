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
#ifndef MergeTask_h
#define MergeTask_h

#include "KernelArguments.h"
#include "MergePolicy.h"
#include "PixelFormat.h"

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

/** What a block does for one task of a pass: Run() of each round for each thread; threads wait between rounds. */
template <typename TKey, MergePassKind VKind>
class MergeTask;

/** A task of one round, in which each thread has an item. */
template <typename TKey>
class MergeTurn
{
public:
  CUDAMEDIAN_HOST_DEVICE
  MergeTurn(const MergeArguments<TKey> & arguments, int task, TKey *)
    : m_Arguments(arguments)
    , m_Task(task)
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
    : m_Arguments(arguments)
    , m_FirstLine(std::int64_t{ task } * arguments.pass.lists)
    , m_Work(work)
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

} // namespace cudamedian

#endif
