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
#ifndef RankKernels_h
#define RankKernels_h

#include "DivideUp.h"
#include "KernelArguments.h"
#include "PixelFormat.h"
#include "RankPolicy.h"
#include "RankWindow.h"

/** Medians, or values of any other rank, of large windows by local ranks.
 *
 * All pixels that the windows of a block touch are sorted once and numbered: their ranks. A window is then a set of
 * bits, one for each rank of the region that can be wanted, and each thread keeps one window. It walks along an axis:
 * pixels that enter or leave count in their bits, and the number of pixels below a word of bits is kept up to date. The
 * median lies in the word where half of the window is reached, which from step to step moves by a word or so, and its
 * bit is found by counting. This is Huang's sliding histogram (1979) with ranks for values: its cost does not depend on
 * how many values a pixel can have, only on the pixels that enter and leave, 2 (2r+1) in 2D and 2 (2r+1)^2 in 3D.
 * Pixels of 8 bits are not sorted: their 256 values have counters of 10 or 16 bits in place of the ranks' bits.
 *
 * Sorting costs the region divided by the outputs of the block. Keys go to as many buckets as there are pixels, which
 * divide the range of the region's keys evenly, and then differ from their rank by less than what is in their bucket.
 * Where buckets are too full for that, which constant parts of an image make them, a radix sort takes over. Memory: two
 * bytes and a pixel for each pixel of a region, for as many regions as run at once; none for 8-bit pixels.
 *
 * Windows in a plane that are large keep no bits, but a threshold: RankThreshold.h.
 *
 * Written so that the host can run it: its tests pass threads that take turns. RankSort.h sorts. */
namespace cudamedian
{

/** What the kernels are told besides the slab. */
struct RankArguments
{
  KernelArguments       slab;
  RankShape             shape;
  KeyFormat             keyFormat;
  std::uint32_t         blocks[3];  ///< along the first axes of the region
  std::int64_t          firstBlock; ///< of this launch
  std::uint16_t *       ranks;      ///< of the launch's regions, each GetPaddedPixels() long
  void *                sorted;     ///< the pixels in order of rank, as long; null where regions are sorted by values
  std::uint32_t *       unordered;  ///< a bit for each packed rank, GetUnorderedWords() of each region; null: none is
  std::uint32_t *       places;     ///< of each packed rank of large regions (RankPlaces.h)
  std::uint32_t *       left;       ///< how many of these regions are left to be sorted by digits, and which
  const std::uint32_t * lists;      ///< MakeRankLists() for a footprint

  CUDAMEDIAN_HOST_DEVICE int
  GetPaddedPixels() const
  {
    return RoundUp(shape.pixels, 8);
  }
  /** Of a region whose pixels have numbers. */
  CUDAMEDIAN_HOST_DEVICE int
  GetUnorderedWords() const
  {
    return RoundUp(shape.words, 4);
  }
  /** Rows of a region. */
  CUDAMEDIAN_HOST_DEVICE int
  GetRows() const
  {
    return shape.region[1] * shape.region[2];
  }
};

/** Arguments of a slab, up to the launch. */
inline RankArguments
MakeRankArguments(const KernelArguments & slab, const RankShape & shape, KeyFormat keyFormat)
{
  RankArguments arguments{};
  arguments.slab = slab;
  arguments.shape = shape;
  arguments.keyFormat = keyFormat;
  for (int axis = 0; axis < 3; ++axis)
  {
    arguments.blocks[axis] =
      static_cast<std::uint32_t>(DivideUp(slab.outputExtent[shape.axes[axis]], shape.tile[axis]));
  }
  return arguments;
}

/** The first output of a block along the region's axes, relative to the slab's first output. */
struct RankBlock
{
  std::int64_t origin[Dimension];

  CUDAMEDIAN_HOST_DEVICE
  RankBlock(const RankArguments & arguments, std::int64_t block)
  {
    // Blocks are hundreds of pixels each: 32 bits number those of any slab.
    auto rest = static_cast<std::uint32_t>(block);
    for (int axis = 0; axis < 3; ++axis)
    {
      const std::uint32_t next = rest / arguments.blocks[axis];
      origin[axis] = std::int64_t{ rest - next * arguments.blocks[axis] } * arguments.shape.tile[axis];
      rest = next;
    }
    origin[3] = rest;
  }
};

/** Where a position of a block's region along one of its axes lies in the slab's input, clamped to the image. */
CUDAMEDIAN_HOST_DEVICE std::int64_t
                       GetOffsetAlong(const RankArguments & arguments, const RankBlock & block, int axis, int position)
{
  const int          imageAxis = arguments.shape.axes[axis];
  const std::int64_t last = arguments.slab.inputExtent[imageAxis] - 1;
  const std::int64_t at =
    block.origin[axis] + arguments.slab.outputOrigin[imageAxis] - arguments.slab.radius[imageAxis] + position;
  return (at < 0 ? 0 : at > last ? last : at) * arguments.slab.inputPitch[imageAxis];
}

/** The same for many positions along an axis. */
class RegionAxis
{
public:
  CUDAMEDIAN_HOST_DEVICE
  RegionAxis(const RankArguments & arguments, const RankBlock & block, int axis)
    : m_First(static_cast<int>(block.origin[axis] + arguments.slab.outputOrigin[arguments.shape.axes[axis]] -
                               arguments.slab.radius[arguments.shape.axes[axis]]))
    , m_Last(static_cast<int>(arguments.slab.inputExtent[arguments.shape.axes[axis]]) - 1)
    , m_Pitch(arguments.slab.inputPitch[arguments.shape.axes[axis]])
  {}

  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOffset(int position) const
  {
    const int at = m_First + position;
    return (at < 0 ? 0 : at > m_Last ? m_Last : at) * m_Pitch;
  }

private:
  int          m_First;
  int          m_Last;
  std::int64_t m_Pitch;
};

/** The same for a row of the region: a position along axes 1 and 2. */
CUDAMEDIAN_HOST_DEVICE std::int64_t
                       GetRowOffset(const RankArguments & arguments, const RankBlock & block, int row)
{
  const int rows = arguments.shape.region[1];
  return GetOffsetAlong(arguments, block, 1, row % rows) + GetOffsetAlong(arguments, block, 2, row / rows) +
         GetOffsetAlong(arguments, block, 3, 0);
}

/** Everything that one thread does once the ranks or values are known: its first window, and one output a step.
 *
 * \tparam VHasEvenRows whether the window has an even number of pixels along region axis 0.
 * \tparam VHasMap whether each output has a rank of its own.
 * \param ranks of the block's region, packed. \param bits of all threads, zero. \param sorted pixels by rank; none for
 * values. */
template <typename TPixelBits, int VThreads, int VCounterBits, bool VHasEvenRows, bool VHasMap>
CUDAMEDIAN_HOST_DEVICE void
SlideRankWindow(const RankArguments & arguments,
                const RankBlock &     block,
                int                   thread,
                const std::uint16_t * ranks,
                std::uint32_t *       bits,
                const TPixelBits *    sorted)
{
  const RankShape & shape = arguments.shape;
  int               window[3];
  int               lane[3];
  lane[0] = thread % shape.lanes[0];
  lane[1] = thread / shape.lanes[0] % shape.lanes[1];
  lane[2] = thread / (shape.lanes[0] * shape.lanes[1]) * shape.steps;

  std::int64_t output = arguments.slab.outputOrigin[0] - arguments.slab.gridOrigin +
                        block.origin[3] * arguments.slab.outputPitch[shape.axes[3]];
  bool inside = true;
  int  steps = shape.steps;
  for (int axis = 0; axis < 3; ++axis)
  {
    const int imageAxis = shape.axes[axis];
    // Computed here: a kernel that reads it from the shape, again in each loop, takes 4 to 7 % longer in 3D.
    // An odd number of pixels is known to be one.
    const int shorter = axis == 0 && !VHasEvenRows ? 0 : arguments.slab.shorter[imageAxis];
    window[axis] = 2 * static_cast<int>(arguments.slab.radius[imageAxis]) + 1 - shorter;
    const std::int64_t position = block.origin[axis] + lane[axis];
    const std::int64_t left = arguments.slab.outputExtent[imageAxis] - position;
    output += position * arguments.slab.outputPitch[imageAxis];
    inside = inside && left > 0;
    steps = axis == 2 && left < steps ? static_cast<int>(left) : steps;
  }
  if (!inside)
  {
    return;
  }

  const int                          row = shape.region[0];
  const int                          slice = row * shape.region[1];
  const std::uint16_t *              entering = ranks + lane[2] * slice + lane[1] * row + lane[0];
  const std::uint16_t *              leaving = entering;
  RankWindow<VThreads, VCounterBits> ranksInside(bits, thread);
  ranksInside.InsertBox(entering, window, row, slice);
  entering += window[2] * slice;
  ranksInside.StartAt(shape.words / 2);

  auto       below = static_cast<int>(GetWantedRank<VHasMap>(arguments.slab, output));
  auto *     pixels = static_cast<TPixelBits *>(arguments.slab.output);
  const auto findPixel = [&]() -> TPixelBits {
    const int rank = ranksInside.FindRank(below);
    return VCounterBits == 1 ? sorted[rank + shape.firstRank]
                             : PixelKey<TPixelBits, KeyMapping::Integer>::ToBits(
                                 static_cast<TPixelBits>(rank), static_cast<TPixelBits>(arguments.slab.signMask));
  };
  TPixelBits median = findPixel();
  // Rows of an even number of pixels have their last one replaced alone.
  const int      last = VHasEvenRows ? window[0] - 1 : window[0];
  const RankRows rows(entering, last, window[1], row);
  entering += rows.odd;
  leaving += rows.odd;
  while (--steps > 0)
  {
    if constexpr (VHasMap)
    {
      // Asked for early: memory takes its time to answer.
      below = static_cast<int>(GetWantedRank<true>(arguments.slab, output + arguments.slab.outputPitch[shape.axes[2]]));
    }
    ranksInside.ReplaceRows(entering, leaving, rows);
    for (int y = 0; VHasEvenRows && y < window[1]; ++y)
    {
      const int place = y * row + last - rows.odd;
      ranksInside.ReplaceOne(entering[place], leaving[place]);
    }
    entering += slice;
    leaving += slice;
    // Now that memory has had the time to answer.
    pixels[output] = median;
    output += arguments.slab.outputPitch[shape.axes[2]];
    median = findPixel();
  }
  pixels[output] = median;
}

/** The same for a footprint: the pixels at its edges enter and leave, by lists.
 *
 * \param steps the replacements of a step, where they are read fastest. */
template <typename TPixelBits, int VThreads, int VCounterBits, bool VHasMap>
CUDAMEDIAN_HOST_DEVICE void
SlideRankFootprint(const RankArguments & arguments,
                   const RankBlock &     block,
                   int                   thread,
                   const std::uint16_t * ranks,
                   std::uint32_t *       bits,
                   const TPixelBits *    sorted,
                   const std::uint32_t * steps)
{
  const RankShape & shape = arguments.shape;
  int               lane[3];
  lane[0] = thread % shape.lanes[0];
  lane[1] = thread / shape.lanes[0] % shape.lanes[1];
  lane[2] = thread / (shape.lanes[0] * shape.lanes[1]) * shape.steps;

  std::int64_t output = arguments.slab.outputOrigin[0] - arguments.slab.gridOrigin +
                        block.origin[3] * arguments.slab.outputPitch[shape.axes[3]];
  bool         inside = true;
  std::int64_t outputs = shape.steps;
  for (int axis = 0; axis < 3; ++axis)
  {
    const int          imageAxis = shape.axes[axis];
    const std::int64_t position = block.origin[axis] + lane[axis];
    const std::int64_t left = arguments.slab.outputExtent[imageAxis] - position;
    output += position * arguments.slab.outputPitch[imageAxis];
    inside = inside && left > 0;
    outputs = axis == 2 && left < outputs ? left : outputs;
  }
  if (!inside)
  {
    return;
  }

  const int                          slice = shape.region[0] * shape.region[1];
  const std::uint16_t *              corner = ranks + lane[2] * slice + lane[1] * shape.region[0] + lane[0];
  const std::uint32_t *              members = arguments.lists + 2 * shape.edges;
  RankWindow<VThreads, VCounterBits> ranksInside(bits, thread);
  for (int i = 0; i + 1 < shape.members; i += 2)
  {
    const auto both = members[i / 2];
    ranksInside.InsertBoth(corner[both & 0xFFFFU], corner[both >> 16]);
  }
  if (shape.members % 2 != 0)
  {
    ranksInside.Insert(corner + members[shape.members / 2], 1);
  }
  ranksInside.StartAt(shape.words / 2);

  auto       below = static_cast<int>(GetWantedRank<VHasMap>(arguments.slab, output));
  auto *     pixels = static_cast<TPixelBits *>(arguments.slab.output);
  const auto findPixel = [&]() -> TPixelBits {
    const int rank = ranksInside.FindRank(below);
    return VCounterBits == 1 ? sorted[rank + shape.firstRank]
                             : PixelKey<TPixelBits, KeyMapping::Integer>::ToBits(
                                 static_cast<TPixelBits>(rank), static_cast<TPixelBits>(arguments.slab.signMask));
  };
  TPixelBits median = findPixel();
  while (--outputs > 0)
  {
    if constexpr (VHasMap)
    {
      // Asked for early: memory takes its time to answer.
      below = static_cast<int>(GetWantedRank<true>(arguments.slab, output + arguments.slab.outputPitch[shape.axes[2]]));
    }
    ranksInside.ReplaceListed(corner, steps, shape.edges);
    corner += slice;
    pixels[output] = median;
    output += arguments.slab.outputPitch[shape.axes[2]];
    median = findPixel();
  }
  pixels[output] = median;
}

} // namespace cudamedian

#endif
