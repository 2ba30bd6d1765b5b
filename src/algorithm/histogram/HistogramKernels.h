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
#ifndef HistogramKernels_h
#define HistogramKernels_h

#include "HistogramRegion.h"
#include "LaneBins.h"

/** Medians, or values of any other rank, of the largest windows of pixels of more than 8 bits by sliding histograms
 * (ByteHistogramKernels.h has those of 8 bits).
 *
 * Each warp slides a window of 256 bins along a row, eight bins to a lane: the histogram of the column of pixels that
 * enters is added, that of the one that leaves is subtracted (Huang 1979, with the column histograms of Perreault and
 * Hebert, "Median Filtering in Constant Time", 2007). The warps of a block share the columns, in shared memory, or in
 * scratch memory where that has no room for them; a row further down, each column has one row of pixels more and one
 * less. An output costs the same whatever the radius.
 *
 * A region, the footprint of a tile of outputs, is sorted, and bin b has the pixels from the b-th 256th of the sorted
 * list on, as many as every other bin, whatever the image. The median's bin is then searched: its pixels are a run of
 * the list, of which the warp looks up 128 at once whether their positions lie in the window.
 *
 * This file has what a block does. HistogramRegion.h has where pixels and outputs of a region lie, and how the region
 * is sorted into bins.
 *
 * Written so that the host can run it. What a warp does is written for all its lanes. A TWarp has
 * - Value<T>: a T for each lane; value[lane] is that of a lane;
 * - ForEachLane(f): f(lane) for each;
 * - Sum, Scan (inclusive sums), Get (one lane's value), Ballot (a bit for each lane): on values of all lanes;
 * - AddTo(histogram, bin, change): an addition to a count that other lanes may change at the same time;
 * - CountBits(word), Synchronize(): what lanes have written to memory is seen by the others. */
namespace cudamedian
{

/** Everything that a block does, in steps between which it waits for all its threads:
 * FillColumns; FillWindow and Slide for row 0; for each further row MoveColumns and MoveWindow, then Slide.
 *
 * \tparam TPixelBits the pixels.
 * \tparam TColumn, TCounter counters of the columns' and the windows' histograms.
 * \tparam VHasMap whether each output has a rank of its own. */
template <typename TPixelBits, typename TColumn, typename TCounter, bool VHasMap>
class HistogramBlock
{
public:
  /** \param block number within the launch. \param columns shape.GetColumnsBytes() of memory, and \param windows
   * memory for a histogram of each warp, both at multiples of 16 bytes. */
  CUDAMEDIAN_HOST_DEVICE
  HistogramBlock(const HistogramArguments & arguments, std::int64_t block, void * columns, void * windows)
    : m_Arguments(arguments)
    , m_Columns(static_cast<TColumn *>(columns))
    , m_Windows(static_cast<TCounter *>(windows))
    , m_Region(arguments, arguments.firstRegion + block / arguments.shape.CountBlocks())
    , m_RegionNumber(static_cast<int>(block / arguments.shape.CountBlocks()))
  {
    const HistogramShape & shape = arguments.shape;
    const int              blocks0 = shape.tile[0] / shape.width;
    const int              blocks1 = shape.tile[1] / shape.rows;
    block -= std::int64_t{ m_RegionNumber } * shape.CountBlocks();
    const int number = static_cast<int>(block);
    m_First[0] = number % blocks0 * shape.width;
    m_First[1] = number / blocks0 % blocks1 * shape.rows;
    m_First[2] = number / (blocks0 * blocks1);
    m_Bins = arguments.bins + std::int64_t{ m_RegionNumber } * shape.pixels;
  }

  /** Rows of outputs that the block has, none if it lies beyond the slab. */
  CUDAMEDIAN_HOST_DEVICE int
  GetRows() const
  {
    const int  left = GetOutputsLeft(1);
    const bool inside = GetOutputsLeft(0) > 0 && GetOutputsLeft(2) > 0;
    return !inside || left < 0 ? 0 : left < m_Arguments.shape.rows ? left : m_Arguments.shape.rows;
  }

  /** Counts the pixels of a thread's columns, as row 0 has them. */
  CUDAMEDIAN_HOST_DEVICE void
  FillColumns(int thread) const
  {
    const HistogramShape & shape = m_Arguments.shape;
    for (int column = thread; column < shape.GetColumns(); column += shape.GetThreads())
    {
      TColumn * counts = m_Columns + column * histogramStride;
      auto *    words = reinterpret_cast<std::uint32_t *>(counts);
      for (int i = 0; i < histogramBins * static_cast<int>(sizeof(TColumn)) / 4; ++i)
      {
        words[i] = 0;
      }
      const std::int64_t offset = GetOffset(0, column);
      for (int z = 0; z < shape.window[2]; ++z)
      {
        const std::int64_t sliceOffset = offset + GetOffset(2, z);
        int                y = 0;
        // Several loads are under way before the first is counted.
        for (; y + Batch <= shape.window[1]; y += Batch)
        {
          int bins[Batch];
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Batch; ++i)
          {
            bins[i] = GetBin(sliceOffset + GetOffset(1, y + i));
          }
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Batch; ++i)
          {
            ++counts[bins[i]];
          }
        }
        for (; y < shape.window[1]; ++y)
        {
          ++counts[GetBin(sliceOffset + GetOffset(1, y))];
        }
      }
    }
  }

  /** Moves a thread's columns a row down, to a row. */
  CUDAMEDIAN_HOST_DEVICE void
  MoveColumns(int thread, int row) const
  {
    const HistogramShape & shape = m_Arguments.shape;
    const std::int64_t     leavingRow = GetOffset(1, row - 1);
    const std::int64_t     enteringRow = GetOffset(1, row - 1 + shape.window[1]);
    for (int column = thread; column < shape.GetColumns(); column += shape.GetThreads())
    {
      TColumn *          counts = m_Columns + column * histogramStride;
      const std::int64_t offset = GetOffset(0, column);
      int                z = 0;
      for (; z + Batch / 2 <= shape.window[2]; z += Batch / 2)
      {
        int leaving[Batch / 2];
        int entering[Batch / 2];
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Batch / 2; ++i)
        {
          const std::int64_t slice = offset + GetOffset(2, z + i);
          leaving[i] = GetBin(slice + leavingRow);
          entering[i] = GetBin(slice + enteringRow);
        }
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Batch / 2; ++i)
        {
          --counts[leaving[i]];
          ++counts[entering[i]];
        }
      }
      for (; z < shape.window[2]; ++z)
      {
        const std::int64_t slice = offset + GetOffset(2, z);
        const int          leaving = GetBin(slice + leavingRow);
        const int          entering = GetBin(slice + enteringRow);
        --counts[leaving];
        ++counts[entering];
      }
    }
  }

  /** Adds up the columns of the first window of a warp's segment, where it is moved by its pixels from then on. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  FillWindow(const TWarp & warp, int warpNumber) const
  {
    if (!m_Arguments.shape.movesByPixels)
    {
      return;
    }
    TCounter * window = m_Windows + warpNumber * histogramBins;
    const int  first = warpNumber * m_Arguments.shape.segment;
    warp.ForEachLane([&](int lane) { SumColumns(first, lane).Store(window + lane * 8); });
    warp.Synchronize();
  }

  /** Moves the first window of a warp's segment a row down, to a row. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  MoveWindow(const TWarp & warp, int warpNumber, int row) const
  {
    const HistogramShape & shape = m_Arguments.shape;
    if (!shape.movesByPixels)
    {
      return;
    }
    TCounter *         window = m_Windows + warpNumber * histogramBins;
    const int          first = warpNumber * shape.segment;
    const std::int64_t leavingRow = GetOffset(1, row - 1);
    const std::int64_t enteringRow = GetOffset(1, row - 1 + shape.window[1]);
    for (int z = 0; z < shape.window[2]; ++z)
    {
      const std::int64_t slice = GetOffset(2, z);
      warp.ForEachLane([&](int lane) {
        for (int x = lane; x < shape.window[0]; x += 32)
        {
          const std::int64_t offset = slice + GetOffset(0, first + x);
          const int          leaving = GetBin(offset + leavingRow);
          const int          entering = GetBin(offset + enteringRow);
          // Equal pixels are common where counting them would be slow, since lanes would wait for each other.
          if (leaving != entering)
          {
            warp.AddTo(window, leaving, -1);
            warp.AddTo(window, entering, 1);
          }
        }
      });
    }
    warp.Synchronize();
  }

  /** Slides the window of a warp along its segment of a row, and writes the medians. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  Slide(const TWarp & warp, int warpNumber, int row) const
  {
    using Bins = LaneBins<TCounter>;
    const HistogramShape & shape = m_Arguments.shape;
    const int              first = warpNumber * shape.segment;
    const int              left = GetOutputsLeft(0) - first;
    const int              count = left < shape.segment ? left : shape.segment;
    if (count <= 0)
    {
      return;
    }
    typename TWarp::template Value<Bins> bins;
    warp.ForEachLane([&](int lane) {
      bins[lane] =
        shape.movesByPixels ? Bins::Load(m_Windows + warpNumber * histogramBins + lane * 8) : SumColumns(first, lane);
    });

    auto          rank = static_cast<std::uint32_t>(m_Arguments.slab.rank);
    const auto    step = m_Arguments.slab.outputPitch[shape.axes[0]];
    std::int64_t  output = GetOutputOffset(first, row);
    std::uint32_t position = PackPosition(shape, m_First[0] + first, m_First[1] + row, m_First[2]);
    int           medianLane = 16;
    for (int i = 0;; ++i, ++position, output += step)
    {
      if constexpr (VHasMap)
      {
        rank = static_cast<std::uint32_t>(GetWantedRank<true>(m_Arguments.slab, output));
      }
      const auto                                    left = rank - FindLane(warp, bins, rank, medianLane);
      typename TWarp::template Value<std::uint32_t> found;
      warp.ForEachLane([&](int lane) {
        std::uint32_t inBin = left;
        const int     bin = bins[lane].FindBin(inBin);
        found[lane] = inBin * histogramBins + static_cast<std::uint32_t>(lane * 8 + bin);
      });
      WriteFromRun(warp, warp.Get(found, medianLane), position, output);
      if (i + 1 == count)
      {
        return;
      }
      const TColumn * leaving = m_Columns + (first + i) * histogramStride;
      const TColumn * entering = leaving + shape.window[0] * histogramStride;
      warp.ForEachLane(
        [&](int lane) { bins[lane].Replace(Bins::Load(entering + lane * 8), Bins::Load(leaving + lane * 8)); });
    }
  }

private:
  /** Pixels that are loaded before they are counted. */
  static constexpr int Batch = 8;

  /** Words of 32 pixels of a run that are looked up at once. */
  static constexpr int RunWords = histogramRunPixels / 32;

  /** Outputs of the slab from the block's first on. */
  CUDAMEDIAN_HOST_DEVICE int
  GetOutputsLeft(int axis) const
  {
    return m_Arguments.GetOutputs(axis) - m_Region.origin[axis] - m_First[axis];
  }

  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOutputOffset(int x, int row) const
  {
    const auto & slab = m_Arguments.slab;
    const auto * axes = m_Arguments.shape.axes;
    std::int64_t offset = slab.outputOrigin[0] - slab.gridOrigin + m_Region.origin[3] * slab.outputPitch[axes[3]];
    for (int axis = 0; axis < 3; ++axis)
    {
      const int inBlock = axis == 0 ? x : axis == 1 ? row : 0;
      offset += (std::int64_t{ m_Region.origin[axis] } + m_First[axis] + inBlock) * slab.outputPitch[axes[axis]];
    }
    return offset;
  }

  /** Where the bins of a position of the block's footprint lie along an axis of the region. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOffset(int axis, int position) const
  {
    const int * region = m_Arguments.shape.region;
    return (m_First[axis] + position) * (axis == 0 ? 1 : axis == 1 ? region[0] : region[0] * region[1]);
  }

  CUDAMEDIAN_HOST_DEVICE int
  GetBin(std::int64_t offset) const
  {
    return m_Bins[offset];
  }

  /** A lane's bins of the window whose first column is given. */
  CUDAMEDIAN_HOST_DEVICE LaneBins<TCounter>
                         SumColumns(int first, int lane) const
  {
    const TColumn * column = m_Columns + first * histogramStride + lane * 8;
    auto            bins = LaneBins<TCounter>::Load(column);
    for (int x = 1; x < m_Arguments.shape.window[0]; ++x)
    {
      column += histogramStride;
      bins.Add(LaneBins<TCounter>::Load(column));
    }
    return bins;
  }

  /** Finds the lane that has the pixel of a rank.
   *
   * \param medianLane the one before, which mostly is the one again, then the one found.
   * \returns how many pixels the lanes before it have. */
  template <typename TWarp, typename TBins>
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindLane(const TWarp & warp, const TBins & bins, std::uint32_t rank, int & medianLane) const
  {
    typename TWarp::template Value<std::uint32_t> sums;
    typename TWarp::template Value<std::uint32_t> before;
    warp.ForEachLane([&](int lane) {
      sums[lane] = bins[lane].GetSum();
      before[lane] = lane < medianLane ? sums[lane] : 0;
    });
    const std::uint32_t below = warp.Sum(before);
    if (below <= rank && rank < below + warp.Get(sums, medianLane))
    {
      return below;
    }
    const auto                           scanned = warp.Scan(sums);
    typename TWarp::template Value<bool> isBelow;
    warp.ForEachLane([&](int lane) { isBelow[lane] = scanned[lane] <= rank; });
    // Sums rise with the lanes: those below come first.
    medianLane = warp.CountBits(warp.Ballot(isBelow));
    return warp.Get(scanned, medianLane) - warp.Get(sums, medianLane);
  }

  /** Finds the median among the pixels of its bin, a run of the region's sorted list.
   *
   * \param found the bin, and the median's rank in it above. \param position of the window's first pixel. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  WriteFromRun(const TWarp & warp, std::uint32_t found, std::uint32_t position, std::int64_t output) const
  {
    const HistogramShape & shape = m_Arguments.shape;
    const std::uint32_t    guards = GetPositionGuards(shape);
    const std::uint32_t    beyond = position + PackPosition(shape, shape.window[0], shape.window[1], shape.window[2]);
    const std::int64_t     list = std::int64_t{ m_RegionNumber } * shape.pixels;
    std::uint32_t          rank = found / histogramBins;
    for (int index = GetFirstRank(shape, static_cast<int>(found % histogramBins)); index < shape.pixels;
         index += 32 * RunWords)
    {
      // Each lane looks at one pixel of each word. What follows the region's last pixel may look as if it were inside,
      // but all pixels inside come before it.
      std::uint32_t inside[RunWords];
      std::uint32_t count = 0;
      CUDAMEDIAN_UNROLL
      for (int word = 0; word < RunWords; ++word)
      {
        const std::uint32_t *                pixels = m_Arguments.positions + list + index + 32 * word;
        typename TWarp::template Value<bool> isInside;
        warp.ForEachLane([&](int lane) {
          // Each coordinate has a guard bit above it, which stays if what is subtracted is not larger.
          isInside[lane] = ((pixels[lane] - position) & ~(pixels[lane] - beyond) & guards) == guards;
        });
        inside[word] = warp.Ballot(isInside);
        count += static_cast<std::uint32_t>(warp.CountBits(inside[word]));
      }
      if (rank >= count)
      {
        rank -= count;
        continue;
      }
      CUDAMEDIAN_UNROLL
      for (int word = 0; word + 1 < RunWords; ++word)
      {
        // What is not before the rank stays.
        const auto here = static_cast<std::uint32_t>(warp.CountBits(inside[0]));
        const bool before = rank >= here;
        rank -= before ? here : 0;
        index += before ? 32 : 0;
        inside[0] = before ? inside[word + 1] : inside[0];
      }
      warp.ForEachLane([&](int lane) {
        const bool isFound = (inside[0] >> lane & 1) != 0 &&
                             static_cast<std::uint32_t>(warp.CountBits(inside[0] & ((1U << lane) - 1))) == rank;
        if (isFound)
        {
          const auto key = static_cast<const TPixelBits *>(m_Arguments.sorted)[list + index + lane];
          static_cast<TPixelBits *>(m_Arguments.slab.output)[output] =
            CallWithMapping<TPixelBits>(m_Arguments.keyFormat, [&](auto mapping) {
              return mapping.ToBits(key, static_cast<TPixelBits>(m_Arguments.slab.signMask));
            });
        }
      });
      return;
    }
  }

  const HistogramArguments & m_Arguments;
  TColumn *                  m_Columns;
  TCounter *                 m_Windows;
  HistogramRegion            m_Region;
  int                        m_RegionNumber; ///< within the launch
  const std::uint8_t *       m_Bins;         ///< of the region
  int                        m_First[3];     ///< the block's first output, relative to the region's
};

} // namespace cudamedian

#endif
