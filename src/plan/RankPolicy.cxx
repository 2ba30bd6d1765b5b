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
#include "RankPolicy.h"

#include <algorithm>
#include <cmath>

namespace cudamedian
{
namespace
{

/** Threads and pixels of each for the kernels that sort a region (RankKernels.cu has one for each). */
struct SortSize
{
  int threads;
  int items;
};
constexpr SortSize sortSizes[] = { { 128, 16 }, { 128, 24 }, { 128, 32 }, { 256, 24 },
                                   { 256, 32 }, { 512, 24 }, { 512, 32 } };
constexpr SortSize wideSortSizes[] = { { 256, 8 }, { 256, 12 }, { 256, 16 }, { 512, 12 }, { 512, 16 } };

/** The smallest sort that holds a number of pixels, or null. */
const SortSize *
FindSortSize(int pixels, int pixelBytes)
{
  const auto fits = [&](const SortSize & size) { return pixels <= size.threads * size.items; };
  if (pixelBytes == 8)
  {
    const auto * found = std::find_if(std::begin(wideSortSizes), std::end(wideSortSizes), fits);
    return found == std::end(wideSortSizes) ? nullptr : found;
  }
  const auto * found = std::find_if(std::begin(sortSizes), std::end(sortSizes), fits);
  return found == std::end(sortSizes) ? nullptr : found;
}

/** Walks along the axis of the largest radius, which saves most, and keeps rows of the image along the threads. */
bool
ChooseAxes(const Extent & radius, RankShape & shape)
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
  int walk = free == 0 ? 1 : 0;
  for (int axis = walk + 1; axis < Dimension; ++axis)
  {
    if (axis != free && radius[axis] >= radius[walk])
    {
      walk = axis;
    }
  }
  int count = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (axis != free && axis != walk)
    {
      shape.axes[count++] = axis;
    }
  }
  shape.axes[2] = walk;
  shape.axes[3] = free;
  // A window flat along the first of the two lies along the second.
  if (radius[shape.axes[0]] == 0 && radius[shape.axes[1]] > 0)
  {
    std::swap(shape.axes[0], shape.axes[1]);
  }
  return true;
}

} // namespace

// Sorting takes 6.5, 11, 26 and 60 ps for a pixel of 1, 2, 4 and 8 bytes, whether it is there or fills up. A thread
// issues 4 instructions for each pixel of its first window, 6.5 for each that enters or leaves later and some 60 for
// each output; an SM gets through them as warps are at hand, up to 16.
double
EstimateRankPicoseconds(const RankShape & shape, const Extent & radius, int pixelBytes)
{
  const double sortCost = pixelBytes == 1 ? 6.5 : pixelBytes == 2 ? 11 : pixelBytes == 4 ? 26 : 60;
  const double outputs = static_cast<double>(shape.tile[0]) * shape.tile[1] * shape.tile[2];
  const double sort = sortCost * shape.sortThreads * shape.sortItems / outputs;
  double       slice = 1;
  for (int axis = 0; axis < 2; ++axis)
  {
    slice *= static_cast<double>(2 * radius[shape.axes[axis]] + 1);
  }
  const double  depth = static_cast<double>(2 * radius[shape.axes[2]] + 1);
  const double  instructions = (slice * depth * 4 + shape.words * 2.5) / shape.steps + slice * 13 + 60;
  constexpr int sharedBytesOfMultiprocessor = 233472;
  constexpr int sharedBytesReserved = 1024;
  const double  blocks = std::min(32, sharedBytesOfMultiprocessor / (shape.sharedBytes + sharedBytesReserved));
  const double  warps = std::min(16.0, blocks * shape.threads / 32);
  return sort + instructions / (1.1 * warps);
}

bool
FindRankShape(const Extent & radius, int pixelBytes, RankShape & shape)
{
  RankShape candidate{};
  if (!ChooseAxes(radius, candidate))
  {
    return false;
  }
  // A region beyond any sort; keeps the products below within 32 bits.
  for (const auto r : radius)
  {
    if (r > 8192)
    {
      return false;
    }
  }
  double best = 0;
  bool   found = false;
  for (const int threads : { 32, 64 })
  {
    candidate.threads = threads;
    candidate.rankShift = threads == 32 ? 7 : 8;
    for (int lanes = 2; lanes <= threads; lanes *= 2)
    {
      candidate.lanes[0] = lanes;
      for (int rows = 1; rows * lanes <= threads; rows *= 2)
      {
        candidate.lanes[1] = rows;
        const int segments = threads / (lanes * rows);
        for (candidate.steps = 1; candidate.steps <= 128; ++candidate.steps)
        {
          candidate.tile[0] = lanes;
          candidate.tile[1] = rows;
          candidate.tile[2] = candidate.steps * segments;
          std::int64_t pixels = 1;
          for (int axis = 0; axis < 3; ++axis)
          {
            candidate.region[axis] = candidate.tile[axis] + 2 * static_cast<int>(radius[candidate.axes[axis]]);
            pixels = std::min<std::int64_t>(pixels * candidate.region[axis], 1 << 20);
          }
          candidate.pixels = static_cast<int>(pixels);
          candidate.words = (candidate.pixels + 31) / 32;
          const auto * sort = FindSortSize(candidate.pixels, pixelBytes);
          if (sort == nullptr || candidate.words << candidate.rankShift > 65536)
          {
            break;
          }
          candidate.sortThreads = sort->threads;
          candidate.sortItems = sort->items;
          const int padded = (candidate.pixels + 7) / 8 * 8;
          candidate.sharedBytes = candidate.words * threads * 4 + padded * 2;
          candidate.scratchBytes = std::int64_t{ padded } * (2 + pixelBytes);
          const auto cost = EstimateRankPicoseconds(candidate, radius, pixelBytes);
          if (!found || cost < best)
          {
            shape = candidate;
            best = cost;
            found = true;
          }
        }
      }
    }
  }
  return found;
}

double
EstimateHostRankNanoseconds(const RankShape & shape, const Extent & radius, int pixelBytes)
{
  // For a byte of a pixel that is sorted, a pixel that is sorted, one that enters or leaves a window, and an output.
  constexpr double sortByteCost = 2.5;
  constexpr double sortCost = 4;
  constexpr double updateCost = 1.2;
  constexpr double outputCost = 12;
  const auto       window = [&](int axis) { return 2.0 * static_cast<double>(radius[shape.axes[axis]]) + 1; };
  const double     lanes = static_cast<double>(shape.lanes[0]) * shape.lanes[1];
  const double     turns = lanes * (2 * window(1) * window(2)) + window(0) * window(1) * window(2);
  return static_cast<double>(shape.pixels) * (sortByteCost * pixelBytes + sortCost) + turns * updateCost +
         lanes * shape.steps * (2 * window(0) * window(1) * updateCost + outputCost);
}

bool
FindHostRankShape(const Extent & radius,
                  int            pixelBytes,
                  const Extent & outputExtent,
                  unsigned       workUnits,
                  RankShape &    shape)
{
  constexpr std::int64_t largestRegion = 65536;
  RankShape              candidate{};
  int                    free = Dimension - 1;
  while (free > 0 && radius[free] > 0)
  {
    --free;
  }
  if (free == 0 || *std::max_element(radius.begin(), radius.end()) > largestRegion)
  {
    return false;
  }
  int others[2];
  int count = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    if (axis != free)
    {
      others[count++] = axis;
    }
  }
  const bool first = radius[others[0]] > radius[others[1]];
  candidate.axes[0] = 0;
  candidate.axes[1] = others[first ? 1 : 0];
  candidate.axes[2] = others[first ? 0 : 1];
  candidate.axes[3] = free;
  candidate.threads = 1;
  candidate.rankShift = 5;

  double best = 0;
  bool   found = false;
  for (const int width : { 1, 4, 16, 32, 64, 128, 256 })
  {
    for (const int height : { 1, 2, 4, 8, 16, 32 })
    {
      for (int steps = 1; steps <= 512; steps *= 2)
      {
        candidate.tile[0] = width;
        candidate.tile[1] = height;
        candidate.tile[2] = steps;
        std::int64_t pixels = 1;
        for (int axis = 0; axis < 3; ++axis)
        {
          const auto length = candidate.tile[axis] + 2 * radius[candidate.axes[axis]];
          candidate.region[axis] = static_cast<int>(length);
          pixels = std::min(pixels * length, largestRegion + 1);
        }
        if (pixels > largestRegion)
        {
          break;
        }
        candidate.pixels = static_cast<int>(pixels);
        candidate.words = (candidate.pixels + 31) / 32;
        candidate.lanes[0] = width;
        candidate.lanes[1] = height;
        candidate.steps = steps;
        const auto blocks = static_cast<double>(CountRankBlocks(candidate, outputExtent));
        // Work units wait for the one that has most blocks.
        const double cost = EstimateHostRankNanoseconds(candidate, radius, pixelBytes) * std::ceil(blocks / workUnits);
        if (!found || cost < best)
        {
          shape = candidate;
          best = cost;
          found = true;
        }
      }
    }
  }
  return found;
}

Extent
GetRankTile(const RankShape & shape)
{
  Extent tile{ { 1, 1, 1, 1 } };
  for (int axis = 0; axis < 3; ++axis)
  {
    tile[static_cast<std::size_t>(shape.axes[axis])] = shape.tile[axis];
  }
  return tile;
}

std::int64_t
CountRankBlocks(const RankShape & shape, const Extent & outputExtent)
{
  std::int64_t blocks = outputExtent[shape.axes[3]];
  for (int axis = 0; axis < 3; ++axis)
  {
    blocks *= (outputExtent[shape.axes[axis]] + shape.tile[axis] - 1) / shape.tile[axis];
  }
  return blocks;
}

std::size_t
GetRankScratchBytes(const RankShape & shape, const Extent & outputExtent, std::size_t available)
{
  // Some waves of blocks, and about what the second-level cache of a large GPU holds.
  constexpr std::size_t enough = std::size_t{ 64 } << 20;
  const auto            one = static_cast<std::size_t>(shape.scratchBytes);
  const auto            all = static_cast<std::size_t>(CountRankBlocks(shape, outputExtent)) * one;
  return std::min({ all, enough, available }) / one * one;
}

} // namespace cudamedian
