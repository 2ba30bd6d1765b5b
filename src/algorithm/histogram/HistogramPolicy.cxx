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
#include "HistogramPolicy.h"

#include "DivideUp.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** Pixels of a region, whose coordinates are packed into 32 bits beside the region's number. */
constexpr std::int64_t largestRegion = std::int64_t{ 1 } << 20;

/** What sorting takes besides the pixels: digits' counts, and places in buffers that are aligned. */
constexpr std::size_t sortBytes = std::size_t{ 1 } << 18;

int
CountBits(int value)
{
  int bits = 0;
  for (; value > 0; value >>= 1)
  {
    ++bits;
  }
  return bits;
}

/** Slides along the first axis that has to be, where rows of the image are read, and walks along the longer of the
 * other two, since a step costs the pixels of the shorter. */
bool
ChooseAxes(const Extent & radius, HistogramShape & shape)
{
  int free = Dimension - 1;
  while (free >= 0 && radius[free] > 0)
  {
    --free;
  }
  if (free < 0)
  {
    return false;
  }
  int count = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (axis != free)
    {
      shape.axes[count++] = axis;
    }
  }
  shape.axes[3] = free;
  if (radius[shape.axes[2]] > radius[shape.axes[1]])
  {
    std::swap(shape.axes[1], shape.axes[2]);
  }
  return true;
}

/** Sets what follows from the window alone. \returns false when counters or regions cannot hold it. */
bool
SetWindow(const Window & window, HistogramShape & shape)
{
  constexpr std::int64_t largestCount = 65535;
  if (window.GetLargestRadius() > largestCount || !ChooseAxes(window.radius, shape))
  {
    return false;
  }
  for (int axis = 0; axis < 3; ++axis)
  {
    shape.window[axis] = static_cast<int>(window.GetSize(shape.axes[axis]));
  }
  const auto column = std::int64_t{ shape.window[1] } * shape.window[2];
  shape.columnBytes = column <= 255 ? 1 : 2;
  shape.counterBytes = window.CountPixels() <= largestCount ? 2 : 4;
  // Instructions for a row of 32 pixels that enters and one that leaves, and for a column.
  const auto byPixels = 28.0 * shape.window[2] * ((shape.window[0] + 31) / 32);
  shape.movesByPixels = byPixels < 12.0 * shape.window[0];
  return column <= largestCount;
}

} // namespace

const char * const histogramLimits =
  "at most three axes may have a radius, columns of the window may have no more than 65535 pixels, the histograms of "
  "the columns of a block must fit in its shared memory, and regions of pixels of more than 8 bits have no more than "
  "1048576 pixels; in 2D that is up to 405x405 on sm_90, in 3D 255x255x255 or, with more than 8 bits, 87x87x87";

// An instruction of a warp takes 2.2 ps where all of an H200's multiprocessors issue two a clock. The rates are 0.55
// to 1.6 times those of HistogramRates.inc: too high with 8 bits, too low with 64.
double
EstimateHistogramPicoseconds(const HistogramShape & shape, int pixelBytes, const DeviceTraits & traits)
{
  const double columns = static_cast<double>(shape.GetColumns()) / shape.width;
  const double slices = shape.window[2];
  const double columnPixels = slices * (2 + static_cast<double>(shape.window[1]) / shape.rows);
  const double sums = 12.0 * shape.window[0];
  const double pixels = 28 * slices * ((shape.window[0] + 31) / 32);
  const double starts = shape.movesByPixels ? pixels + sums / shape.rows : sums;
  const double regionPixels = pixelBytes == 1 ? 0 : shape.pixels;
  const double scan = pixelBytes == 1 ? 0 : 20 + 14 * (regionPixels / histogramBins / 64 + 1);
  const double slide = shape.columnBytes == 1 && shape.counterBytes == 2 ? 50 : 60;
  const double instructions = slide + starts / shape.segment + columns * columnPixels * 7 / 32 + scan;
  // Half as many warps as an SM can have keep it busy.
  const double blocks = traits.CountBlocks(shape.sharedBytes, shape.GetThreads());
  const double warps = std::min(24.0, blocks * shape.GetThreads() / 32);
  const double outputs = static_cast<double>(shape.tile[0]) * shape.tile[1] * shape.tile[2];
  const double sortCost = pixelBytes == 2 ? 60 : pixelBytes == 4 ? 130 : 330;
  return instructions * 2.2 * 24 / warps + sortCost * regionPixels / outputs;
}

bool
SetHistogramTile(const std::array<int, 3> & tile, int pixelBytes, HistogramShape & shape)
{
  std::int64_t pixels = 1;
  int          bits = 0;
  for (int axis = 0; axis < 3; ++axis)
  {
    shape.tile[axis] = tile[static_cast<std::size_t>(axis)];
    shape.region[axis] = shape.tile[axis] + shape.window[axis] - 1;
    pixels = std::min(pixels * shape.region[axis], largestRegion + 1);
    // One bit more to subtract coordinates all at once.
    bits += CountBits(shape.region[axis]) + 1;
    shape.positionBits[axis] = bits;
  }
  if (pixelBytes == 1)
  {
    shape.pixels = 0;
    shape.scratchBytes = 0;
    return true;
  }
  // Keys and positions twice, bins, and what sorting takes for each pixel.
  shape.pixels = static_cast<int>(pixels);
  shape.scratchBytes = (pixels * (2 * (pixelBytes + 4) + 2) + 255) / 256 * 256;
  return pixels <= largestRegion && bits < 31;
}

bool
FindHistogramShape(const Window & window, int pixelBytes, HistogramShape & shape, const DeviceTraits & traits)
{
  HistogramShape candidate{};
  if (!SetWindow(window, candidate))
  {
    return false;
  }
  double     best = 0;
  bool       found = false;
  const auto consider = [&](const std::array<int, 3> & tile) {
    if (SetHistogramTile(tile, pixelBytes, candidate))
    {
      const auto cost = EstimateHistogramPicoseconds(candidate, pixelBytes, traits);
      if (!found || cost < best)
      {
        shape = candidate;
        best = cost;
        found = true;
      }
    }
  };
  // Regions come in batches of fewer outputs than slabs have: their blocks are shorter, so that there are enough.
  candidate.rows = pixelBytes == 1 ? 32 : 16;
  const int deepest = candidate.window[2] > 1 ? 64 : 1;
  for (const int width : { 32, 64, 128 })
  {
    for (const int segment : { 8, 16 })
    {
      candidate.width = width;
      candidate.segment = segment;
      const auto bytes = std::int64_t{ candidate.GetColumns() } * histogramStride * candidate.columnBytes + 16 +
                         std::int64_t{ width / segment } * histogramBins * candidate.counterBytes;
      if (bytes > traits.blockSharedBytes)
      {
        continue;
      }
      candidate.sharedBytes = candidate.GetWindowsOffset() + width / segment * histogramBins * candidate.counterBytes;
      if (pixelBytes == 1)
      {
        consider({ { width, candidate.rows, 1 } });
        continue;
      }
      for (int outputs0 = width; outputs0 <= 1024; outputs0 *= 2)
      {
        for (int outputs1 = candidate.rows; outputs1 <= 1024; outputs1 *= 2)
        {
          for (int outputs2 = 1; outputs2 <= deepest; outputs2 *= 2)
          {
            consider({ { outputs0, outputs1, outputs2 } });
          }
        }
      }
    }
  }
  return found;
}

Extent
GetHistogramTile(const HistogramShape & shape)
{
  Extent tile{ { 1, 1, 1, 1 } };
  for (int axis = 0; axis < 3 && shape.scratchBytes > 0; ++axis)
  {
    tile[static_cast<std::size_t>(shape.axes[axis])] = shape.tile[axis];
  }
  return tile;
}

std::size_t
GetLeastHistogramScratchBytes(const HistogramShape & shape)
{
  return shape.scratchBytes == 0 ? 0 : static_cast<std::size_t>(shape.scratchBytes) + sortBytes;
}

std::size_t
GetHistogramScratchBytes(const HistogramShape & shape, const Extent & outputExtent, std::size_t available)
{
  // 64, 128, 256 and 512 MiB: 0.90, 0.99, 1.05 and 1.06 Gpixel/s at 151x151 with 16-bit pixels on an H200, 9cdad97.
  constexpr std::size_t enough = std::size_t{ 256 } << 20;
  const auto            most = std::min(enough, available);
  if (shape.scratchBytes == 0 || GetLeastHistogramScratchBytes(shape) > most)
  {
    return 0;
  }
  const auto one = static_cast<std::size_t>(shape.scratchBytes);
  const auto all = static_cast<std::size_t>(CountHistogramRegions(shape, outputExtent));
  return sortBytes + std::min(all, (most - sortBytes) / one) * one;
}

std::int64_t
CountHistogramRegionsIn(const HistogramShape & shape, std::size_t scratchBytes)
{
  const auto numbered = std::int64_t{ 1 } << (32 - shape.positionBits[2]);
  return scratchBytes < sortBytes
           ? 0
           : std::min(numbered, static_cast<std::int64_t>(scratchBytes - sortBytes) / shape.scratchBytes);
}

std::int64_t
CountHistogramRegions(const HistogramShape & shape, const Extent & outputExtent)
{
  std::int64_t regions = outputExtent[shape.axes[3]];
  for (int axis = 0; axis < 3; ++axis)
  {
    regions *= DivideUp(outputExtent[shape.axes[axis]], shape.tile[axis]);
  }
  return regions;
}

} // namespace cudamedian
