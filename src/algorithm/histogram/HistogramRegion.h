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
  const void * sorted;               ///< their keys
  void *       columns;              ///< the histograms of columns of one block after the other, or null

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

/** The bin of the pixel that so many of the region's are sorted before. */
CUDAMEDIAN_HOST_DEVICE std::uint8_t
                       GetBinOfRank(const HistogramShape & shape, int rank)
{
  return static_cast<std::uint8_t>(static_cast<std::uint32_t>(rank) * histogramBins /
                                   static_cast<std::uint32_t>(shape.pixels));
}

/** How many of the region's pixels are sorted before those of a bin. */
CUDAMEDIAN_HOST_DEVICE int
GetFirstRank(const HistogramShape & shape, int bin)
{
  return DivideUp(bin * shape.pixels, histogramBins);
}

/** Lists some pixels of a row of a launch's regions: their keys and packed positions.
 *
 * \param number counts rows through all regions of the launch. \param lane of so many that list the row. */
template <typename TPixelBits>
CUDAMEDIAN_HOST_DEVICE void
ListRegionRow(const HistogramArguments & arguments,
              int                        number,
              int                        lane,
              int                        lanes,
              TPixelBits *               keys,
              std::uint32_t *            positions)
{
  const HistogramShape & shape = arguments.shape;
  const int              rows = shape.region[1] * shape.region[2];
  const int              regionNumber = number / rows;
  const int              row = number - regionNumber * rows;
  const int              z = row / shape.region[1];
  const int              y = row - z * shape.region[1];
  const HistogramRegion  region(arguments, arguments.firstRegion + regionNumber);
  const std::int64_t     rowOffset = GetHistogramOffset(arguments, region, 1, y) +
                                 GetHistogramOffset(arguments, region, 2, z) +
                                 region.origin[3] * arguments.slab.inputPitch[shape.axes[3]];
  const std::uint32_t first = PackPosition(shape, 0, y, z) | GetPositionGuards(shape) |
                              static_cast<std::uint32_t>(regionNumber) << shape.positionBits[2];
  keys += std::int64_t{ number } * shape.region[0];
  positions += std::int64_t{ number } * shape.region[0];
  for (int x = lane; x < shape.region[0]; x += lanes)
  {
    const std::int64_t offset = rowOffset + GetHistogramOffset(arguments, region, 0, x);
    const TPixelBits   bits = static_cast<const TPixelBits *>(arguments.slab.input)[offset];
    keys[x] = CallWithMapping<TPixelBits>(arguments.keyFormat, [&](auto mapping) {
      return mapping.FromBits(bits, static_cast<TPixelBits>(arguments.slab.signMask));
    });
    positions[x] = first + static_cast<std::uint32_t>(x);
  }
}

/** Writes a pixel's bin to its place, once the launch's regions are sorted.
 *
 * \param number counts pixels through the sorted lists of all regions of the launch. */
CUDAMEDIAN_HOST_DEVICE void
ScatterBin(const HistogramShape & shape, int number, const std::uint32_t * positions, std::uint8_t * bins)
{
  const int           region = number / shape.pixels;
  const std::uint32_t position = positions[number] & ~GetPositionGuards(shape);
  const auto          x = position & ((1U << shape.positionBits[0]) - 1);
  const auto          y = (position & ((1U << shape.positionBits[1]) - 1)) >> shape.positionBits[0];
  const auto          z = (position & ((1U << shape.positionBits[2]) - 1)) >> shape.positionBits[1];
  const auto          row = z * static_cast<std::uint32_t>(shape.region[1]) + y;
  bins[static_cast<std::uint32_t>(region * shape.pixels) + row * static_cast<std::uint32_t>(shape.region[0]) + x] =
    GetBinOfRank(shape, number - region * shape.pixels);
}

} // namespace cudamedian

#endif
