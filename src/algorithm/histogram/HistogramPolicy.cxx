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
#include "Extents.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace cudamedian
{
namespace
{

/** Pixels of a region, whose coordinates are packed into 32 bits beside the region's number. */
constexpr std::int64_t largestRegion = std::int64_t{ 1 } << 20;

/** What sorting takes besides the pixels: digits' counts, and places in buffers that are aligned. */
constexpr std::size_t sortBytes = std::size_t{ 1 } << 18;

/** Scratch memory beyond which nothing is gained. 64, 128, 256 and 512 MiB: 0.90, 0.99, 1.05 and 1.06 Gpixel/s at
 * 151x151 with 16-bit pixels on an H200, 9cdad97. */
constexpr std::size_t mostScratchBytes = std::size_t{ 256 } << 20;

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
SetWindow(const Window & window, int pixelBytes, HistogramShape & shape)
{
  constexpr std::int64_t largestCount = 65535;
  if (window.GetLargestRadius() > largestCount || window.CountPixels() > std::numeric_limits<std::int32_t>::max() ||
      !ChooseAxes(window.radius, shape))
  {
    return false;
  }
  shape.pixelBytes = pixelBytes;
  for (int axis = 0; axis < 3; ++axis)
  {
    shape.window[axis] = static_cast<int>(window.GetSize(shape.axes[axis]));
  }
  const auto column = std::int64_t{ shape.window[1] } * shape.window[2];
  // Blocks of wider pixels are too narrow in cubes to gain by it: 16 bits, 21x21x21, 1.63 for 1.70 with 16 bits.
  const bool gains = pixelBytes == 1 || shape.window[2] == 1;
  shape.columnBits = column < 1 << 8 ? 8 : column < 1 << 10 && gains ? 10 : 16;
  shape.counterBytes = window.CountPixels() <= largestCount ? 2 : 4;
  shape.columnsInScratch = false;
  return column <= largestCount;
}

/** Moves the columns' histograms to scratch memory, where they are counted in the widest counters: there is one kernel
 * for all windows whose columns shared memory cannot hold. */
void
MoveColumnsToScratch(HistogramShape & shape)
{
  shape.columnsInScratch = true;
  shape.columnBits = 16;
  shape.counterBytes = 4;
}

/** Blocks of a multiprocessor at once: what its memory allows, and of wider pixels what the request has, since their
 * regions are large. Where columns lie in scratch memory also what that has room for. */
double
CountBlocksAtOnce(const HistogramShape & shape, const DeviceTraits & traits, double requested)
{
  auto blocks = static_cast<double>(traits.CountBlocks(shape.sharedBytes, shape.GetThreads()));
  if (shape.columnsInScratch || shape.pixelBytes > 1)
  {
    const auto there = std::ceil(requested / (static_cast<double>(shape.width) * shape.rows));
    blocks = std::min(blocks, there / traits.multiprocessors);
  }
  if (shape.columnsInScratch)
  {
    // 512x128 outputs of 16 bits reach 0.30 Gpixel/s at 301x301, as 48 such blocks are all that scratch memory holds.
    const auto atOnce =
      static_cast<double>(mostScratchBytes) / static_cast<double>(shape.scratchBytes) * shape.CountBlocks();
    blocks = std::min(blocks, atOnce / traits.multiprocessors);
  }
  return blocks;
}

/** Bins in which 32 neighbours have their medians, in addition to one, are this many divided by the square root of the
 * window's pixels. */
constexpr double binSpread = 840;

/** How many times four bins are looked at: medians of 32 neighbours are further apart the fewer pixels windows have. */
double
CountLooks(const HistogramShape & shape)
{
  return 1.5 + 42 / std::sqrt(shape.CountWindow()) * std::min(1.0, std::sqrt(64.0 / shape.window[0]));
}

/** What an output takes with columns in scratch memory: fitted to 301x301, 401x401 and 601x601 with 8 bits, within 6 %,
 * and to 251x251, 301x301 and 401x401 with more. */
double
EstimateScratchPicoseconds(const HistogramShape & shape, const DeviceTraits & traits, double requested)
{
  const double warps = CountBlocksAtOnce(shape, traits, requested) * shape.GetThreads() / 32;
  const double columns = static_cast<double>(shape.GetColumns()) / shape.width;
  const double changes = columns * shape.window[2] * (2 + static_cast<double>(shape.window[1]) / shape.rows);
  // Measured with 16 warps and more; fewer leave the memory waiting.
  const double waits = std::max(1.0, 16 / warps);
  return shape.pixelBytes == 1 ? 15 * CountLooks(shape) + 48 * changes * waits
                               : 215 * CountLooks(shape) + 22 * changes * waits;
}

/** What finding the bin of an output takes. Fitted to 324 blocks of 15 windows, 7x7x7 to 301x301, with random pixels of
 * 8 bits on an H200: within 9 % of it. Columns of 10 bits to 57 blocks of 8 windows, 17x17x17 to 501x501: within 16 %,
 * 6 % rms. */
double
EstimateBlockPicoseconds(const HistogramShape & shape, const DeviceTraits & traits, double requested)
{
  if (shape.columnsInScratch)
  {
    return EstimateScratchPicoseconds(shape, traits, requested);
  }
  const double slices = shape.window[2];
  const double looks = CountLooks(shape);
  const double blocks = CountBlocksAtOnce(shape, traits, requested);
  // Instructions of a warp for a row of its segment.
  const double across = DivideUp(shape.window[0], 32);
  const double batches = shape.segment / 32;
  const bool   apart = shape.columnBits == 10; // counts whose upper bits lie apart
  const double look = apart ? 130 + 17 * across : 100 + 11 * across;
  const double find = 60 + 22 * across + 60 * (batches - 1) + batches * (50 + looks * look);
  const double turns = DivideUp(shape.GetColumns(), shape.GetThreads());
  const double move = turns * (apart ? 48 : 42) * slices + 70;
  const double fill = turns * (24 * slices * shape.window[1] + 80) / shape.rows;
  const double filling = (slices > 1 ? 0.6 : 0.3) + (apart ? 0.1 : 0);
  const double instructions = (1.3 * find + move + filling * fill) / shape.segment;
  // Registers leave room for 16 warps.
  const double most = std::min(blocks, std::floor(16.0 * 32 / shape.GetThreads()));
  const double atOnce = shape.pixelBytes == 1 ? std::max(1.0, most) : most;
  const double busy = std::min(blocks, atOnce) * shape.GetThreads() / 32;
  // Taller blocks are too few at the end of a launch, and narrow ones slower than this model has them.
  const double unfit = (shape.rows > 32 ? 1.05 : 1) * (shape.width < 128 ? 1.08 : 1);
  return instructions * 4.32 * (5.9 / busy + 0.192) * (1 + 0.074 / std::max(1.0, atOnce)) * unfit;
}

/** Words of 32 pixels that a bin's run has. */
double
CountRunWords(const HistogramShape & shape)
{
  return static_cast<double>(shape.pixels) / histogramBins / 32;
}

/** What looking up the outputs' pixels in their bins takes: a warp goes through the run of each bin that its outputs
 * are in, and for each row of these through those pixels that it keeps. */
double
EstimateRunPicoseconds(const HistogramShape & shape)
{
  const double bins = std::min(32.0, 1 + binSpread / std::sqrt(shape.CountWindow()));
  const double words = CountRunWords(shape);
  const double kept = words * shape.window[1] / shape.region[1] * shape.window[2] / shape.region[2];
  return 8 + bins * (0.12 * words + 0.97 * (kept + 1.5));
}

/** What cubes of 15x15x15 to 31x31x31 take of what is told of windows of all shapes, in the regions that are chosen. */
constexpr double inCubes = 0.95;

/** Sets a block's width, and what shared memory it takes. \returns false when that is more than a block may have, or
 * the block has more threads than the kernel is compiled for. */
bool
SetHistogramWidth(int width, int segment, const DeviceTraits & traits, HistogramShape & shape)
{
  shape.width = width;
  shape.segment = segment;
  if (width % segment != 0 || shape.GetThreads() > mostHistogramThreads)
  {
    return false;
  }
  const auto columns = shape.columnsInScratch ? 0 : shape.GetColumnsBytes();
  if (columns > traits.blockSharedBytes)
  {
    return false;
  }
  shape.sharedBytes = static_cast<int>(columns);
  return true;
}

/** Calls a function with each tile of outputs that a region of a shape's blocks may have. */
template <typename TConsider>
void
ForEachHistogramTile(const HistogramShape & shape, const TConsider & consider)
{
  if (shape.pixelBytes == 1)
  {
    consider({ { shape.width, shape.rows, 1 } });
    return;
  }
  const int deepest = shape.window[2] > 1 ? 64 : 1;
  for (int outputs0 = shape.width; outputs0 <= 1024; outputs0 *= 2)
  {
    for (int outputs1 = shape.rows; outputs1 <= 1024; outputs1 *= 2)
    {
      for (int outputs2 = 1; outputs2 <= deepest; outputs2 *= 2)
      {
        consider({ { outputs0, outputs1, outputs2 } });
      }
    }
  }
}

} // namespace

const char * const histogramLimits =
  "at most three axes may have a radius, columns of the window may have no more than 65535 pixels and the window no "
  "more "
  "than 2147483647, and regions of pixels of more than 8 bits have no more than 1048576 pixels; with 8 bits that is up "
  "to 46339x46339 or 255x255x255, with more up to 1001x1001 or 87x87x87";

// Of more than 8 bits fitted to 366 shapes of 17 windows, 31x31 to 401x401 and 9x9x9 to 31x31x31, with random pixels on
// an H200, two in three of them within 9 %; the shapes chosen are within 30 % of their rates (HistogramRates.inc).
double
EstimateHistogramPicoseconds(const HistogramShape & shape, const DeviceTraits & traits, const Extent & outputs)
{
  const auto block = EstimateBlockPicoseconds(shape, traits, static_cast<double>(Volume(outputs)));
  if (shape.pixelBytes == 1)
  {
    return block;
  }
  const double find = (shape.columnsInScratch ? 1 : 1.18) * block;
  const double sort = shape.pixelBytes == 2 ? 31 : shape.pixelBytes == 4 ? 51 : 119;
  const auto   pixels = static_cast<double>(CountHistogramRegions(shape, outputs)) * shape.pixels;
  const auto   all = find + EstimateRunPicoseconds(shape) + sort * pixels / static_cast<double>(Volume(outputs));
  return shape.window[2] > 1 ? inCubes * all : all;
}

bool
SetHistogramTile(const std::array<int, 3> & tile, HistogramShape & shape)
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
  const auto columnsBytes = shape.columnsInScratch ? RoundUp(shape.CountBlocks() * shape.GetColumnsBytes(), 256) : 0;
  const bool fits = columnsBytes <= static_cast<std::int64_t>(mostScratchBytes / 2);
  if (shape.pixelBytes == 1)
  {
    shape.pixels = 0;
    shape.scratchBytes = columnsBytes;
    return fits;
  }
  // Keys and positions twice, bins, and what sorting takes for each pixel; what is found for each output.
  shape.pixels = static_cast<int>(pixels);
  shape.scratchBytes =
    columnsBytes + RoundUp(pixels * (2 * (shape.pixelBytes + 4) + 2), 256) + RoundUp(4 * shape.CountOutputs(), 256);
  return fits && pixels <= largestRegion && bits < 31;
}

bool
FindHistogramShape(const Window &       window,
                   int                  pixelBytes,
                   HistogramShape &     shape,
                   const DeviceTraits & traits,
                   const Extent &       outputs)
{
  HistogramShape candidate{};
  if (!SetWindow(window, pixelBytes, candidate))
  {
    return false;
  }
  double     best = 0;
  bool       found = false;
  const auto consider = [&](const std::array<int, 3> & tile) {
    if (SetHistogramTile(tile, candidate))
    {
      // With scans outputs share few bins, and each goes through a long run by itself: 16 bits, 31x31x31, in regions of
      // 64x64x64 outputs 1.09 Gpixel/s on random pixels and 0.44 on a scan, of 64x32x32 1.0 and 0.57; 301x301, of
      // 640x512 2.0 and 0.65, of 320x320 2.3 and 0.82.
      const double words = CountRunWords(candidate);
      const double alone =
        candidate.window[2] > 1 ? inCubes * 4 * std::max(0.0, words - 24) : std::max(0.0, words - 48);
      const auto cost = EstimateHistogramPicoseconds(candidate, traits, outputs) + alone;
      if (!found || cost < best)
      {
        shape = candidate;
        best = cost;
        found = true;
      }
    }
  };
  const auto considerBlocks = [&](std::initializer_list<int> heights, std::initializer_list<int> segments) {
    // Columns of 10 bits are so long or so many that blocks fill shared memory before they fill a multiprocessor.
    const bool isFull = candidate.columnBits == 10;
    const int  widest = isFull || candidate.columnsInScratch || pixelBytes == 1 ? 512 : 256;
    for (const int rows : heights)
    {
      for (int width = 32; width <= widest; width = isFull ? width + 32 : 2 * width)
      {
        for (const int segment : segments)
        {
          candidate.rows = rows;
          if (SetHistogramWidth(width, segment, traits, candidate))
          {
            ForEachHistogramTile(candidate, consider);
          }
        }
      }
    }
  };
  if (pixelBytes == 1)
  {
    candidate.columnBits == 10 ? considerBlocks({ 32, 64, 128 }, { 32, 64 }) : considerBlocks({ 32, 128 }, { 32, 64 });
    MoveColumnsToScratch(candidate);
    considerBlocks({ 32, 128 }, { 32, 64 });
    return found;
  }
  considerBlocks({ 16, 32, 64 }, { 32 });
  // Without columns shared memory has room for wider blocks, and the larger a block is, the fewer changes of its
  // columns come to an output.
  MoveColumnsToScratch(candidate);
  considerBlocks({ 16, 64, 128 }, { 32 });
  return found;
}

Extent
GetHistogramTile(const HistogramShape & shape)
{
  Extent tile{ { 1, 1, 1, 1 } };
  for (int axis = 0; axis < 3 && shape.pixels > 0; ++axis)
  {
    tile[static_cast<std::size_t>(shape.axes[axis])] = shape.tile[axis];
  }
  return tile;
}

std::size_t
GetLeastHistogramScratchBytes(const HistogramShape & shape)
{
  return static_cast<std::size_t>(shape.scratchBytes) + (shape.pixels == 0 ? 0 : sortBytes);
}

std::size_t
GetHistogramScratchBytes(const HistogramShape & shape, const Extent & outputExtent, std::size_t available)
{
  const auto most = std::min(mostScratchBytes, available);
  const auto least = GetLeastHistogramScratchBytes(shape);
  if (shape.scratchBytes == 0 || least > most)
  {
    return 0;
  }
  const auto one = static_cast<std::size_t>(shape.scratchBytes);
  const auto all = static_cast<std::size_t>(CountHistogramRegions(shape, outputExtent));
  return least + std::min(all - 1, (most - least) / one) * one;
}

std::int64_t
CountHistogramRegionsIn(const HistogramShape & shape, std::size_t scratchBytes)
{
  const auto least = GetLeastHistogramScratchBytes(shape);
  if (scratchBytes < least)
  {
    return 0;
  }
  const auto regions = 1 + static_cast<std::int64_t>(scratchBytes - least) / shape.scratchBytes;
  // Positions of sorted pixels have their region's number.
  return shape.pixels == 0 ? regions : std::min(regions, std::int64_t{ 1 } << (32 - shape.positionBits[2]));
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
