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

#include "MergeCoreTasks.h"
#include "MergeLineTasks.h"
#include "MergeLists.h"
#include "MergeTask.h"

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
 * This file has the first pass and the last one. The others are in MergeLineTasks.h and MergeCoreTasks.h, what a pass
 * is told is in MergeTask.h, and how threads merge is in MergeLists.h.
 *
 * Written so that the host can run it: the tests call Run() for each thread in turn. */
namespace cudamedian
{

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
