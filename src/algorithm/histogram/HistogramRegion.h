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
#ifndef HistogramRegion_h
#define HistogramRegion_h

#include "Clamp.h"
#include "DivideUp.h"
#include "HistogramPolicy.h"
#include "KernelArguments.h"
#include "PixelFormat.h"

namespace cudamedian
{

/** What histograms count. */
enum class BinSource
{
  Pixels,      ///< of 8 bits
  SortedRegion ///< the bins of a region's wider pixels
};

/** What the kernels are told besides the slab. */
struct HistogramArguments
{
  KernelArguments       slab;
  HistogramShape        shape;
  KeyFormat             keyFormat;
  std::int64_t          firstRegion; ///< of this launch
  const std::uint8_t *  bins;        ///< of the launch's regions, one pixel after the other; null for 8-bit pixels
  const std::uint32_t * positions;   ///< packed positions of the regions' pixels in their order; histogramRunPixels
                                     ///< more can be read behind them
  std::uint32_t * found;             ///< for each output of the regions 256 times its rank within its bin, and the bin
  void *          columns;           ///< the histograms of columns of one block after the other, or null

  /** Outputs along one of the shape's axes. */
  CUDAMEDIAN_HOST_DEVICE int
  GetOutputs(int axis) const
  {
    return slab.outputExtent[shape.axes[axis]];
  }
};

/** The first output of a region along the shape's axes, relative to the slab's first output. */
struct HistogramRegion
{
  int origin[Dimension];

  CUDAMEDIAN_HOST_DEVICE
  HistogramRegion(const HistogramArguments & arguments, std::int64_t region)
  {
    for (int axis = 0; axis < 3; ++axis)
    {
      const int tile = arguments.shape.tile[axis];
      const int tiles = DivideUp(arguments.GetOutputs(axis), tile);
      origin[axis] = static_cast<int>(region % tiles) * tile;
      region /= tiles;
    }
    origin[3] = static_cast<int>(region);
  }
};

/** Where the launch's `found` has an output. \param region number within the launch. \param x, y, z of the output in
 * the region's tile. */
CUDAMEDIAN_HOST_DEVICE std::int64_t
                       GetFoundNumber(const HistogramShape & shape, int region, int x, int y, int z)
{
  return region * shape.CountOutputs() + (std::int64_t{ z } * shape.tile[1] + y) * shape.tile[0] + x;
}

/** A bit for each lane of a warp of which isSelected(lane) is true. */
template <typename TWarp, typename TIsSelected>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       SelectLanes(const TWarp & warp, const TIsSelected & isSelected)
{
  typename TWarp::template Value<bool> selected;
  warp.ForEachLane([&](int lane) { selected[lane] = isSelected(lane); });
  return warp.Ballot(selected);
}

/** Where a position of a region's footprint along one of its axes lies in the slab's input, clamped to the image. */
CUDAMEDIAN_HOST_DEVICE std::int64_t
GetHistogramOffset(const HistogramArguments & arguments, const HistogramRegion & region, int axis, int position)
{
  const int imageAxis = arguments.shape.axes[axis];
  const int last = arguments.slab.inputExtent[imageAxis] - 1;
  const int at = region.origin[axis] + arguments.slab.outputOrigin[imageAxis] -
                 static_cast<int>(arguments.slab.radius[imageAxis]) + position;
  return Clamp(at, last) * arguments.slab.inputPitch[imageAxis];
}

/** Bits above the coordinates of a packed position, which tell whether a difference was negative. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetPositionGuards(const HistogramShape & shape)
{
  return 1U << (shape.positionBits[0] - 1) | 1U << (shape.positionBits[1] - 1) | 1U << (shape.positionBits[2] - 1);
}

/** Coordinates of a region in one word. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       PackPosition(const HistogramShape & shape, int x, int y, int z)
{
  return static_cast<std::uint32_t>(x) | static_cast<std::uint32_t>(y) << shape.positionBits[0] |
         static_cast<std::uint32_t>(z) << shape.positionBits[1];
}

/** A position in a region. */
struct PositionInRegion
{
  int x, y, z;
};

CUDAMEDIAN_HOST_DEVICE PositionInRegion
UnpackPosition(const HistogramShape & shape, std::uint32_t position)
{
  position &= ~GetPositionGuards(shape);
  return { static_cast<int>(position & ((1U << shape.positionBits[0]) - 1)),
           static_cast<int>((position & ((1U << shape.positionBits[1]) - 1)) >> shape.positionBits[0]),
           static_cast<int>((position & ((1U << shape.positionBits[2]) - 1)) >> shape.positionBits[1]) };
}

/** How many of the region's pixels are sorted before those of a bin. */
CUDAMEDIAN_HOST_DEVICE int
GetFirstRank(const HistogramShape & shape, int bin)
{
  return DivideUp(bin * shape.pixels, histogramBins);
}

/** A row of a region's pixels. */
struct RegionRow
{
  std::int64_t  offset;   ///< in the slab's input, of a pixel whose offset along axis 0 is 0
  std::uint32_t position; ///< packed, of the first pixel, with the region's number
  std::int64_t  listed;   ///< before it in the lists
};

/** \param number of the region within the launch. \param row counts rows through the region, and beyond. */
CUDAMEDIAN_HOST_DEVICE RegionRow
FindRegionRow(const HistogramArguments & arguments, const HistogramRegion & region, int number, int row)
{
  const HistogramShape & shape = arguments.shape;
  const int              z = row / shape.region[1];
  const int              y = row - z * shape.region[1];
  return { GetHistogramOffset(arguments, region, 1, y) + GetHistogramOffset(arguments, region, 2, z) +
             region.origin[3] * arguments.slab.inputPitch[shape.axes[3]],
           PackPosition(shape, 0, y, z) | GetPositionGuards(shape) |
             static_cast<std::uint32_t>(number) << shape.positionBits[2],
           std::int64_t{ number } * shape.pixels + std::int64_t{ row } * shape.region[0] };
}

/** Lists some pixels of a row: their keys and packed positions.
 *
 * \param lane of so many that list the row. \param keys, positions of the launch's regions. */
template <typename TPixelBits>
CUDAMEDIAN_HOST_DEVICE void
ListRegionRow(const HistogramArguments & arguments,
              const HistogramRegion &    region,
              const RegionRow &          row,
              int                        lane,
              int                        lanes,
              TPixelBits *               keys,
              std::uint32_t *            positions)
{
  const auto * pixels = static_cast<const TPixelBits *>(arguments.slab.input) + row.offset;
  keys += row.listed;
  positions += row.listed;
  CUDAMEDIAN_KEEP_LOOP
  for (int x = lane; x < arguments.shape.region[0]; x += lanes)
  {
    const TPixelBits bits = pixels[GetHistogramOffset(arguments, region, 0, x)];
    keys[x] = CallWithMapping<TPixelBits>(arguments.keyFormat, [&](auto mapping) {
      return mapping.FromBits(bits, static_cast<TPixelBits>(arguments.slab.signMask));
    });
    positions[x] = row.position + static_cast<std::uint32_t>(x);
  }
}

/** Calls visit(place, bin) for the pixels of a sorted region's bins that one of some warps' lanes has. */
template <typename TVisit>
CUDAMEDIAN_HOST_DEVICE void
ForEachBinned(const HistogramShape & shape, int warp, int warps, int lane, const TVisit & visit)
{
  for (int bin = warp; bin < histogramBins; bin += warps)
  {
    const int behind = GetFirstRank(shape, bin + 1);
    for (int rank = GetFirstRank(shape, bin) + lane; rank < behind; rank += 32)
    {
      visit(rank, static_cast<std::uint8_t>(bin));
    }
  }
}

/** Where a packed position lies among a region's pixels. */
CUDAMEDIAN_HOST_DEVICE int
GetPixelNumber(const HistogramShape & shape, std::uint32_t position)
{
  const auto at = UnpackPosition(shape, position);
  return (at.z * shape.region[1] + at.y) * shape.region[0] + at.x;
}

} // namespace cudamedian

#endif
