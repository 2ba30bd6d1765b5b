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
#ifndef HistogramRuns_h
#define HistogramRuns_h

#include "HistogramRegion.h"

/** Finds the medians of wider pixels in their bins.
 *
 * HistogramKernels.h tells the bin of each output, and its rank among the window's pixels there. The pixels of a bin
 * are a run of their region's sorted list. A warp has 32 outputs side by side in some rows. The bins of neighbours are
 * few: for each of them the warp goes through the run once, and keeps the pixels that lie in the rows of any of the
 * windows, in their order. Of each pixel that it keeps a lane tells which of the 32 windows of a row have it, a bit for
 * each; with the rows and columns of 32 such words exchanged, a lane has a bit for each pixel that its own window has.
 *
 * Written so that the host can run it. What a warp does is written for all its lanes. A TWarp has, besides what
 * HistogramKernels.h says,
 * - Exchange(value): to each lane's bit i what bit `lane` of lane i's word was;
 * - CountBits(word);
 * - Synchronize(): what lanes have written to memory is seen by the others. */
namespace cudamedian
{

/** Rows of 32 outputs that a warp has: a divisor of the rows of a block. */
constexpr int histogramRunRows = 4;

/** What a warp keeps in memory that its lanes share. */
struct HistogramRunStorage
{
  static constexpr int Pixels = 256;

  std::uint32_t kept[Pixels + 32];           ///< packed positions of pixels of a run, and of those that are not kept
  std::uint32_t bins[histogramRunRows][32];  ///< of outputs, those that are found have none
  std::uint32_t ranks[histogramRunRows][32]; ///< among the pixels of the window that come next in the bin
};

/** What a warp does for its outputs. */
template <typename TWarp>
class HistogramRuns
{
public:
  /** \param region number within the launch. \param number of the warp's outputs in the region's tile. */
  CUDAMEDIAN_HOST_DEVICE
  HistogramRuns(const TWarp &              warp,
                const HistogramArguments & arguments,
                int                        region,
                int                        number,
                HistogramRunStorage &      storage)
    : m_Warp(warp)
    , m_Arguments(arguments)
    , m_Region(arguments, arguments.firstRegion + region)
    , m_Positions(arguments.positions + std::int64_t{ region } * arguments.shape.pixels)
    , m_Storage(storage)
  {
    const auto & shape = arguments.shape;
    const int    across = shape.tile[0] / 32;
    const int    groups = shape.tile[1] / Rows;
    m_First[0] = number % across * 32;
    m_First[1] = number / across % groups * Rows;
    m_First[2] = number / (across * groups);
    m_Found = arguments.found + GetFoundNumber(shape, region, m_First[0], m_First[1], m_First[2]);
  }

  /** Finds the outputs' pixels and copies them to the output. */
  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    const int left = GetOutputsLeft(0);
    if (left <= 0 || GetOutputsLeft(1) <= 0 || GetOutputsLeft(2) <= 0)
    {
      return;
    }
    const auto active = left < 32 ? (1U << left) - 1 : 0xFFFFFFFFU;
    const int  rows = GetOutputsLeft(1) < Rows ? GetOutputsLeft(1) : Rows;
    m_Warp.ForEachLane([&](int lane) {
      for (int row = 0; row < Rows; ++row)
      {
        const bool isWanted = row < rows && (active >> lane & 1) != 0;
        const auto found = isWanted ? GetFound(row)[lane] : 0;
        m_Storage.bins[row][lane] = isWanted ? found % histogramBins : NoBin;
        m_Storage.ranks[row][lane] = found / histogramBins;
      }
    });
    m_Warp.Synchronize();
    CUDAMEDIAN_KEEP_LOOP
    for (int row = 0; row < rows; ++row)
    {
      Value<std::uint32_t> bins;
      const auto           isLeft = [&](int lane) {
        bins[lane] = m_Storage.bins[row][lane];
        return bins[lane] != NoBin;
      };
      CUDAMEDIAN_KEEP_LOOP
      for (auto lanes = SelectLanes(m_Warp, isLeft); lanes != 0; lanes = SelectLanes(m_Warp, isLeft))
      {
        FindIn(m_Warp.Get(bins, GetLowest(lanes)), row);
      }
    }
    CopyPixels(active, rows);
  }

private:
  template <typename T>
  using Value = typename TWarp::template Value<T>;

  static constexpr int           Rows = histogramRunRows;
  static constexpr std::uint32_t NoBin = histogramBins;

  /** Words of 32 pixels of a run that are looked at before any is kept. */
  static constexpr int Looks = histogramRunPixels / 32;

  /** Outputs of a bin that are as fast one by one. */
  static constexpr std::uint32_t Few = 3;

  CUDAMEDIAN_HOST_DEVICE int
  GetOutputsLeft(int axis) const
  {
    return m_Arguments.GetOutputs(axis) - m_Region.origin[axis] - m_First[axis];
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Count(std::uint32_t word) const
  {
    return static_cast<std::uint32_t>(m_Warp.CountBits(word));
  }

  /** The lowest bit of those that are set. */
  CUDAMEDIAN_HOST_DEVICE int
  GetLowest(std::uint32_t word) const
  {
    return m_Warp.CountBits((word & (0 - word)) - 1);
  }

  /** Packed positions from one on. */
  struct Box
  {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t guards;

    /** \param size of the box along each axis, packed. */
    CUDAMEDIAN_HOST_DEVICE
    Box(const HistogramShape & shape, std::uint32_t position, std::uint32_t size)
      : first(position)
      , last(position + size - PackPosition(shape, 1, 1, 1) + 2 * GetPositionGuards(shape))
      , guards(GetPositionGuards(shape))
    {}

    /** Each coordinate has a guard bit above it, which stays if what is subtracted is not larger. A pixel has it, and
     * the last position twice. */
    CUDAMEDIAN_HOST_DEVICE bool
    Contains(std::uint32_t pixel) const
    {
      return ((pixel - first) & (last - pixel) & guards) == guards;
    }
  };

  /** The window of an output. */
  CUDAMEDIAN_HOST_DEVICE Box
  GetWindow(int row, int output) const
  {
    const auto & shape = m_Arguments.shape;
    return { shape,
             PackPosition(shape, m_First[0] + output, m_First[1] + row, m_First[2]),
             PackPosition(shape, shape.window[0], shape.window[1], shape.window[2]) };
  }

  /** What was found of the outputs of a row, in place of which their pixels' packed positions come. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                         GetFound(int row) const
  {
    return m_Found + row * m_Arguments.shape.tile[0];
  }

  /** The outputs of a row whose bin this is. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetOutputs(int row, std::uint32_t bin) const
  {
    return SelectLanes(m_Warp, [&](int lane) { return m_Storage.bins[row][lane] == bin; });
  }

  /** Notes that outputs of a row are found. */
  CUDAMEDIAN_HOST_DEVICE void
  SetDone(int row, std::uint32_t outputs) const
  {
    m_Warp.ForEachLane([&](int lane) {
      if ((outputs >> lane & 1) != 0)
      {
        m_Storage.bins[row][lane] = NoBin;
      }
    });
  }

  /** Finds the pixels of all outputs whose bin this is. \param firstRow that has some. */
  CUDAMEDIAN_HOST_DEVICE void
  FindIn(std::uint32_t bin, int firstRow) const
  {
    const int     first = GetFirstRank(m_Arguments.shape, static_cast<int>(bin));
    const int     behind = GetFirstRank(m_Arguments.shape, static_cast<int>(bin) + 1);
    std::uint32_t count = 0;
    for (int row = firstRow; row < Rows; ++row)
    {
      count += Count(GetOutputs(row, bin));
    }
    if (count > Few)
    {
      FindMany(bin, firstRow, first, behind);
      return;
    }
    CUDAMEDIAN_KEEP_LOOP
    for (int row = firstRow; row < Rows; ++row)
    {
      const auto outputs = GetOutputs(row, bin);
      CUDAMEDIAN_KEEP_LOOP
      for (auto left = outputs; left != 0; left &= left - 1)
      {
        FindOne(row, GetLowest(left), first, behind);
      }
      SetDone(row, outputs);
    }
  }

  /** Finds the pixel of one output in a run. */
  CUDAMEDIAN_HOST_DEVICE void
  FindOne(int row, int output, int index, int behind) const
  {
    const Box            window = GetWindow(row, output);
    auto                 rank = m_Storage.ranks[row][output];
    Value<std::uint32_t> pixels[Looks];
    std::uint32_t        inside[Looks];
    CUDAMEDIAN_KEEP_LOOP
    for (;; index += histogramRunPixels)
    {
      LoadPixels(index, pixels);
      std::uint32_t count = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Looks; ++i)
      {
        inside[i] = SelectLanes(m_Warp, [&](int lane) { return window.Contains(pixels[i][lane]); });
        count += Count(inside[i]);
      }
      if (rank < count || index + histogramRunPixels >= behind)
      {
        break;
      }
      rank -= count;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i + 1 < Looks; ++i)
    {
      // What is not before the rank stays.
      const auto here = Count(inside[0]);
      const bool isBefore = rank >= here;
      rank -= isBefore ? here : 0;
      inside[0] = isBefore ? inside[i + 1] : inside[0];
      m_Warp.ForEachLane([&](int lane) { pixels[0][lane] = isBefore ? pixels[i + 1][lane] : pixels[0][lane]; });
    }
    m_Warp.ForEachLane([&](int lane) {
      if ((inside[0] >> lane & 1) != 0 && Count(inside[0] & ((1U << lane) - 1)) == rank)
      {
        GetFound(row)[output] = pixels[0][lane];
      }
    });
  }

  /** Some pixels of a run from one on. */
  CUDAMEDIAN_HOST_DEVICE void
  LoadPixels(int index, Value<std::uint32_t> (&pixels)[histogramRunPixels / 32]) const
  {
    m_Warp.ForEachLane([&](int lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Looks; ++i)
      {
        pixels[i][lane] = m_Positions[index + 32 * i + lane];
      }
    });
  }

  /** Finds the pixels of many outputs in their run. */
  CUDAMEDIAN_HOST_DEVICE void
  FindMany(std::uint32_t bin, int firstRow, int index, int behind) const
  {
    bool isLeft = true;
    CUDAMEDIAN_KEEP_LOOP
    while (isLeft)
    {
      int count = 0;
      CUDAMEDIAN_KEEP_LOOP
      for (; index < behind && count <= HistogramRunStorage::Pixels - histogramRunPixels; index += histogramRunPixels)
      {
        Keep(index, count);
      }
      m_Warp.Synchronize();
      isLeft = false;
      CUDAMEDIAN_KEEP_LOOP
      for (int row = firstRow; row < Rows; ++row)
      {
        const auto outputs = GetOutputs(row, bin);
        if (outputs != 0)
        {
          const auto later = FindInKept(count, row, outputs);
          // All of them are in the run.
          const auto done = index < behind ? outputs & ~later : outputs;
          SetDone(row, done);
          isLeft = isLeft || done != outputs;
        }
      }
      m_Warp.Synchronize();
    }
  }

  /** Keeps those of the next pixels of a run that lie in the windows' rows. What follows the run is none of the bin,
   * but all that are come before it. \param count of those kept. */
  CUDAMEDIAN_HOST_DEVICE void
  Keep(int index, int & count) const
  {
    const auto &         shape = m_Arguments.shape;
    const Box            rows(shape,
                   PackPosition(shape, 0, m_First[1], m_First[2]),
                   PackPosition(shape, shape.region[0], shape.window[1] + Rows - 1, shape.window[2]));
    Value<std::uint32_t> pixels[Looks];
    LoadPixels(index, pixels);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Looks; ++i)
    {
      const auto inside = SelectLanes(m_Warp, [&](int lane) { return rows.Contains(pixels[i][lane]); });
      m_Warp.ForEachLane([&](int lane) {
        const int at = count + static_cast<int>(Count(inside & ((1U << lane) - 1)));
        m_Storage.kept[(inside >> lane & 1) != 0 ? at : HistogramRunStorage::Pixels + lane] = pixels[i][lane];
      });
      count += static_cast<int>(Count(inside));
    }
  }

  /** Finds the pixels of outputs of a row among those kept. \returns the outputs whose pixels come later. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInKept(int count, int row, std::uint32_t outputs) const
  {
    Value<std::uint32_t> ranks;
    Value<std::uint32_t> words;
    Value<int>           firsts;
    m_Warp.ForEachLane([&](int lane) {
      ranks[lane] = m_Storage.ranks[row][lane];
      words[lane] = 0;
      firsts[lane] = -1;
    });
    auto later = outputs;
    CUDAMEDIAN_KEEP_LOOP
    for (int first = 0; first < count && later != 0; first += 32)
    {
      Value<std::uint32_t> windows;
      m_Warp.ForEachLane(
        [&](int lane) { windows[lane] = first + lane < count ? GetWindowsOf(m_Storage.kept[first + lane], row) : 0; });
      const auto pixels = m_Warp.Exchange(windows);
      later &= SelectLanes(m_Warp, [&](int lane) {
        const auto here = Count(pixels[lane]);
        const bool isBefore = firsts[lane] < 0;
        const bool isHere = isBefore && ranks[lane] < here;
        words[lane] = isHere ? pixels[lane] : words[lane];
        firsts[lane] = isHere ? first : firsts[lane];
        ranks[lane] -= isBefore && !isHere ? here : 0;
        return firsts[lane] < 0;
      });
    }
    m_Warp.ForEachLane([&](int lane) {
      if (((outputs & ~later) >> lane & 1) != 0)
      {
        GetFound(row)[lane] = m_Storage.kept[firsts[lane] + FindBit(words[lane], ranks[lane])];
      }
      m_Storage.ranks[row][lane] = (later >> lane & 1) != 0 ? ranks[lane] : m_Storage.ranks[row][lane];
    });
    return later;
  }

  /** Which of a row's 32 windows have a pixel. \param position packed. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetWindowsOf(std::uint32_t position, int row) const
  {
    const auto & window = m_Arguments.shape.window;
    const auto   at = UnpackPosition(m_Arguments.shape, position);
    const int    last = at.x - m_First[0];
    const auto   windows = GetBitsBelow(last + 1) & ~GetBitsBelow(last - window[0] + 1);
    const auto   line = static_cast<std::uint32_t>(at.y - m_First[1] - row);
    return line < static_cast<std::uint32_t>(window[1]) ? windows : 0;
  }

  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  GetBitsBelow(int bit)
  {
    return bit <= 0 ? 0 : bit >= 32 ? 0xFFFFFFFFU : (1U << bit) - 1;
  }

  /** The bit of a word that is set and has so many below it that are. */
  CUDAMEDIAN_HOST_DEVICE int
  FindBit(std::uint32_t word, std::uint32_t below) const
  {
    int bit = 0;
    CUDAMEDIAN_UNROLL
    for (int bits = 16; bits > 0; bits /= 2)
    {
      const auto here = Count(word >> bit & ((1U << bits) - 1));
      bit += below >= here ? bits : 0;
      below -= below >= here ? here : 0;
    }
    return bit;
  }

  CUDAMEDIAN_HOST_DEVICE void
  CopyPixels(std::uint32_t active, int rows) const
  {
    switch (m_Arguments.shape.pixelBytes)
    {
      case 2:
        return CopyBits<std::uint16_t>(active, rows);
      case 4:
        return CopyBits<std::uint32_t>(active, rows);
      default:
        return CopyBits<std::uint64_t>(active, rows);
    }
  }

  template <typename TPixelBits>
  CUDAMEDIAN_HOST_DEVICE void
  CopyBits(std::uint32_t active, int rows) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    m_Warp.ForEachLane([&](int lane) {
      if ((active >> lane & 1) == 0)
      {
        return;
      }
      std::int64_t output = slab.outputOrigin[0] - slab.gridOrigin +
                            m_Region.origin[3] * slab.outputPitch[shape.axes[3]] +
                            lane * slab.outputPitch[shape.axes[0]];
      CUDAMEDIAN_UNROLL
      for (int axis = 0; axis < 3; ++axis)
      {
        output += (std::int64_t{ m_Region.origin[axis] } + m_First[axis]) * slab.outputPitch[shape.axes[axis]];
      }
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < Rows; ++row)
      {
        if (row < rows)
        {
          const auto at = UnpackPosition(shape, GetFound(row)[lane]);
          const auto input =
            m_Region.origin[3] * slab.inputPitch[shape.axes[3]] + GetHistogramOffset(m_Arguments, m_Region, 0, at.x) +
            GetHistogramOffset(m_Arguments, m_Region, 1, at.y) + GetHistogramOffset(m_Arguments, m_Region, 2, at.z);
          static_cast<TPixelBits *>(slab.output)[output + row * slab.outputPitch[shape.axes[1]]] =
            static_cast<const TPixelBits *>(slab.input)[input];
        }
      }
    });
  }

  const TWarp &              m_Warp;
  const HistogramArguments & m_Arguments;
  HistogramRegion            m_Region;
  const std::uint32_t *      m_Positions; ///< of the region's sorted pixels
  HistogramRunStorage &      m_Storage;
  std::uint32_t *            m_Found;
  int                        m_First[3]; ///< the first output, relative to the region's
};

} // namespace cudamedian

#endif
