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

#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "RankEdges.h"
#include "RankThresholdPolicy.h"
#include "Remembered.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace cudamedian
{
namespace
{

/** Pixels that the kernels that sort a region have room for (RankKernels.cu has some for each); the first five for
 * 64-bit pixels. */
constexpr int sortSizes[] = { 2048, 3072, 4096, 6144, 8192, 12288, 16384 };

/** Of sizes that 64-bit pixels are sorted by. */
constexpr int sortSizesOf64Bits = 5;

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

/** Sets the window's pixels along the region axes, once these are known. */
void
SetWindow(const Window & window, RankShape & shape)
{
  for (int axis = 0; axis < 3; ++axis)
  {
    shape.window[axis] = static_cast<int>(window.GetSize(shape.axes[axis]));
  }
}

/** The same for the pixels of a footprint. */
void
SetFootprint(const Window & window, RankShape & shape)
{
  if (window.footprint != nullptr)
  {
    shape.members = static_cast<int>(window.footprint->GetPixels().size());
    // Kernels read four at once.
    shape.edges = RoundUp(CountEdges(*window.footprint, shape.axes[2]), 4);
  }
}

/** How windows of a block count the pixels of its region. \returns false if the region is beyond any block. */
bool
SetCounters(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  if (shape.pixels > GetMostRankPixels(pixelBytes))
  {
    return false;
  }
  const int padded = RoundUp(shape.pixels, 8);
  int       offsetBytes = 0;
  if (pixelBytes == 1)
  {
    shape.counterBits = window.CountPixels() < 1024 ? 10 : 16;
    shape.words = shape.counterBits == 10 ? 86 : 128;
    shape.firstRank = shape.sortPixels = 0;
    shape.scratchBytes = 0;
    // Offsets of rows and columns lie where the words do afterwards.
    offsetBytes = RoundUp(8 * (shape.region[0] + shape.region[1] * shape.region[2]), 16);
  }
  else
  {
    shape.sortPixels = FindSortSize(shape.pixels, pixelBytes, traits);
    if (shape.sortPixels == 0)
    {
      return false;
    }
    shape.scratchBytes = std::int64_t{ padded } * (2 + pixelBytes) + 8;
    // The wanted pixel has so many others of its window below it, and so many above.
    const auto above = window.CountPixels() - 1 - window.GetGreatestRank();
    const auto lowest = static_cast<int>(window.CountBelow() / 32);
    const auto highest = static_cast<int>((shape.pixels - 1 - above) / 32);
    shape.counterBits = 1;
    shape.words = highest - lowest + 3;
    shape.firstRank = 32 * (lowest - 1);
  }
  shape.sharedBytes = std::max(shape.words * shape.threads * 4, offsetBytes) + shape.edges * 8 + padded * 2;
  return shape.words << shape.rankShift <= 32768 &&
         shape.sharedBytes <= std::min(GetMostRankSharedBytes(), traits.blockSharedBytes);
}

/** How many times as long as its instructions say a block takes, for what lies apart in the image. */
double
GetDistance(const RankShape & shape)
{
  const int lanes = shape.lanes[0];
  if (shape.axes[2] == 0)
  {
    return lanes >= 8 ? 1.22 : lanes == 4 ? 1.35 : 1.5;
  }
  return lanes >= 8 ? 1 : lanes == 4 ? 1.06 : 1.12;
}

/** Walks along another axis than that of the image's rows. \returns false if the window has no radius along any. */
bool
WalkAcrossRows(const Window & window, RankShape & shape)
{
  const int other = window.radius[shape.axes[0]] > window.radius[shape.axes[1]] ? 0 : 1;
  if (window.radius[shape.axes[other]] == 0)
  {
    return false;
  }
  shape.axes[2] = shape.axes[other];
  shape.axes[1] = shape.axes[1 - other];
  shape.axes[0] = 0;
  SetWindow(window, shape);
  SetFootprint(window, shape);
  return true;
}

/** Finds the block of the lowest cost that walks along a candidate's axes.
 *
 * \param cost of `shape`, 0 if that is none yet; both are changed where a block is found that costs less.
 * \returns whether there is one. */
bool
ConsiderBlocks(const Window &       window,
               int                  pixelBytes,
               const DeviceTraits & traits,
               RankShape            candidate,
               double &             cost,
               RankShape &          shape)
{
  bool found = false;
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
            candidate.region[axis] = candidate.tile[axis] + candidate.window[axis] - 1;
            // Rows have an even number of pixels, so that two ranks of any row are loaded at once.
            candidate.region[axis] += axis == 0 ? candidate.region[axis] % 2 : 0;
            pixels = std::min<std::int64_t>(pixels * candidate.region[axis], 1 << 20);
          }
          candidate.pixels = static_cast<int>(pixels);
          if (!SetCounters(window, pixelBytes, candidate, traits))
          {
            break;
          }
          const auto estimate = EstimateRankPicoseconds(candidate, window, pixelBytes, traits);
          if (cost == 0 || estimate < cost)
          {
            shape = candidate;
            cost = estimate;
          }
          found = true;
        }
      }
    }
  }
  return found;
}

/** The fastest block for a window, of those that count and those whose windows keep a threshold. */
std::optional<RankShape>
FindFastestShape(const Window & window, int pixelBytes, const DeviceTraits & traits)
{
  RankShape  counters{};
  RankShape  thresholds{};
  const bool counts = FindCounterShape(window, pixelBytes, counters, traits);
  // One threshold keeps to one rank. Of large footprints it is known which is faster.
  if (window.ranks == 1 && (IsThresholdFaster(window, pixelBytes) || (!counts && IsDenseFootprint(window))) &&
      FindThresholdShape(window, pixelBytes, thresholds, traits) &&
      (!counts || window.footprint != nullptr ||
       EstimateRankPicoseconds(thresholds, window, pixelBytes, traits) <
         EstimateRankPicoseconds(counters, window, pixelBytes, traits)))
  {
    return thresholds;
  }
  return counts ? std::optional<RankShape>(counters) : std::nullopt;
}

} // namespace

int
GetMostRankSharedBytes()
{
  static const int bytes = GetBlockSharedBytes(86);
  return bytes;
}

int
FindSortSize(int pixels, int pixelBytes, const DeviceTraits & traits)
{
  const auto * end = pixelBytes == 8 ? sortSizes + sortSizesOf64Bits : std::end(sortSizes);
  const auto * found = std::find_if(std::begin(sortSizes), end, [&](int size) { return pixels <= size; });
  return found == end || GetRankSortBytes(*found, pixelBytes) > traits.blockSharedBytes ? 0 : *found;
}

double
EstimateSortPicoseconds(int sortPixels, int pixelBytes)
{
  const double cost = (pixelBytes <= 2   ? 6.2
                       : pixelBytes == 4 ? 7.4
                                         : 11) *
                      (sortPixels <= 3072 ? 1 : 1.05 + sortPixels * 1e-5);
  return cost * sortPixels;
}

int
GetMostRankPixels(int pixelBytes)
{
  return pixelBytes == 8 ? sortSizes[sortSizesOf64Bits - 1] : *(std::end(sortSizes) - 1);
}

// Fitted to 230 blocks of 7 windows in 2D and 3 in 3D on an H200, bf48110, which it is within 6 % of, 23 % at worst. Of
// the rates of RankRates.inc up to 91x91, other windows and pixels among them, it is 0.84 to 1.5 times. Sorting
// takes 6.2, 7.4 and 11 ps for a pixel of 2, 4 and 8 bytes that a block has room for, and more where fewer blocks run.
// A thread issues 4 instructions for each pixel of its first window, 4.75 for each that enters or leaves later and some
// 80 for each output; those that empty and load a block come on top. An SM gets through them as warps are at hand.
//
// Rows of 3 to 11 pixels are replaced in 0.6 to 0.8 times as many instructions since: 3x9x11 has 1.2 to 1.35 times the
// rate, 9x9x9 and 7x7x7 1.15 to 1.25 times. The model does not know: with 8.5, 7.6 and 6.5 instructions in place of the
// 9.5 for each pixel of a slice it chooses blocks that are the same or slower.
//
// Where windows walk along the image's rows, or few threads lie along them, what is read and written lies apart:
// 13x3x11 has 1.4 to 1.6 times the rate where it does not, 27x15 1.16 to 1.25 times, and 3x9x13 with 8 bits 1.15 times
// with 8 threads along rows for 4. Blocks of 8 are no faster where they sort more for it: 5x11x13 0.8 to 0.98 times.
double
EstimateRankPicoseconds(const RankShape & shape, const Window & window, int pixelBytes, const DeviceTraits & traits)
{
  if (KeepsThresholds(shape))
  {
    return EstimateThresholdPicoseconds(shape, window, pixelBytes, traits);
  }
  const double outputs = static_cast<double>(shape.tile[0]) * shape.tile[1] * shape.tile[2];
  const double sort = EstimateSortPicoseconds(shape.sortPixels, pixelBytes) / outputs;
  double       slice = 1;
  for (int axis = 0; axis < 2; ++axis)
  {
    slice *= static_cast<double>(window.GetSize(shape.axes[axis]));
  }
  double depth = static_cast<double>(window.GetSize(shape.axes[2]));
  if (shape.members > 0)
  {
    // Reasoned: a footprint's pixels are read one by one, by a list.
    constexpr double single = 1.25;
    slice = single * shape.edges;
    depth = single * shape.members / slice;
  }
  const double load = (shape.counterBits > 1 ? 52 : 0.5) * shape.pixels / outputs;
  const double instructions = (slice * depth * 4 + shape.words * 31) / shape.steps + slice * 9.5 + 80 + load;
  const double blocks = traits.CountBlocks(shape.sharedBytes, shape.threads);
  const double warps = blocks * shape.threads / 32;
  return GetDistance(shape) * (sort + instructions / (3.8 * warps / (1 + 0.103 * warps)));
}

bool
FindRankShape(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  using Key = std::tuple<Window, int, DeviceTraits>;
  // Never destroyed: a thread may be at work when the process ends.
  static auto & known = *new Remembered<Key, std::optional<RankShape>>(256);
  const auto    fastest =
    known.Get({ window, pixelBytes, traits }, [&] { return FindFastestShape(window, pixelBytes, traits); });
  shape = fastest.value_or(shape);
  return fastest.has_value();
}

bool
SetRankAxes(const Window & window, RankShape & shape)
{
  // A region beyond any sort.
  if (window.GetLargestRadius() > largestCountedRadius || !ChooseAxes(window.radius, shape))
  {
    return false;
  }
  SetWindow(window, shape);
  SetFootprint(window, shape);
  return true;
}

bool
FindCounterShape(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  RankShape candidate{};
  if (!SetRankAxes(window, candidate))
  {
    return false;
  }
  double best = 0;
  bool   found = ConsiderBlocks(window, pixelBytes, traits, candidate, best, shape);
  // Rows of the image along the threads may be worth more than the axis that saves most.
  if (candidate.axes[2] == 0 && WalkAcrossRows(window, candidate))
  {
    found = ConsiderBlocks(window, pixelBytes, traits, candidate, best, shape) || found;
  }
  return found;
}

bool
IsRankFastestOnDevice(const Window & window, int pixelBytes)
{
  const std::int64_t planar = pixelBytes == 1 ? 61 * 61 : pixelBytes == 8 ? 75 * 75 : 99 * 99;
  // Rows of up to 11 pixels are replaced faster: 11x11x13 with 8 bits has 10.2 Gpixel/s for 9.1 by histograms, 13x13x13
  // 5.7 for 8.1.
  const std::int64_t solid = pixelBytes > 1 ? 15 * 15 * 15 : window.GetSize(0) <= 11 ? 11 * 11 * 13 + 1 : 11 * 11 * 11;
  return window.CountPixels() < (window.CountAxes() > 2 ? solid : planar);
}

double
EstimateHostRankNanoseconds(const RankShape & shape, const Window & window, int pixelBytes)
{
  // For a byte of a pixel that is sorted, a pixel that is sorted, one that enters or leaves a window, and an output.
  constexpr double sortByteCost = 2.5;
  constexpr double sortCost = 4;
  constexpr double updateCost = 1.2;
  constexpr double outputCost = 12;
  const auto       size = [&](int axis) { return static_cast<double>(window.GetSize(shape.axes[axis])); };
  const double     lanes = static_cast<double>(shape.lanes[0]) * shape.lanes[1];
  const double     turns = lanes * (2 * size(1) * size(2)) + size(0) * size(1) * size(2);
  // What lies in a farther cache.
  const double distance = shape.pixels > mostShortRanks ? 1.2 : 1;
  return distance * (static_cast<double>(shape.pixels) * (sortByteCost * pixelBytes + sortCost) + turns * updateCost +
                     lanes * shape.steps * (2 * size(0) * size(1) * updateCost + outputCost));
}

bool
FindHostRankShape(const Window & window,
                  int            pixelBytes,
                  const Extent & outputExtent,
                  unsigned       workUnits,
                  RankShape &    shape)
{
  // Boxes have histograms where regions are larger.
  const std::int64_t largestRegion = window.footprint != nullptr ? mostRankPixels : mostShortRanks;
  const auto &       radius = window.radius;
  RankShape          candidate{};
  int                free = Dimension - 1;
  while (free > 0 && radius[free] > 0)
  {
    --free;
  }
  if (free == 0 || window.GetLargestRadius() > largestRegion)
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
  SetWindow(window, candidate);

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
          const auto length = std::int64_t{ candidate.tile[axis] } + candidate.window[axis] - 1;
          candidate.region[axis] = static_cast<int>(length);
          pixels = std::min(pixels * length, largestRegion + 1);
        }
        if (pixels > largestRegion)
        {
          break;
        }
        candidate.pixels = static_cast<int>(pixels);
        candidate.words = DivideUp(candidate.pixels, 32);
        candidate.lanes[0] = width;
        candidate.lanes[1] = height;
        candidate.steps = steps;
        const auto blocks = static_cast<double>(CountRankBlocks(candidate, outputExtent));
        // Work units wait for the one that has most blocks.
        const double cost = EstimateHostRankNanoseconds(candidate, window, pixelBytes) * std::ceil(blocks / workUnits);
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
    blocks *= DivideUp(outputExtent[shape.axes[axis]], shape.tile[axis]);
  }
  return blocks;
}

bool
LeavesDeviceIdle(const RankShape & shape, const Extent & outputExtent, const DeviceTraits & traits)
{
  return IsLargeRegion(shape) && 2 * CountRankBlocks(shape, outputExtent) < traits.multiprocessors;
}

std::size_t
GetRankScratchBytes(const RankShape & shape, const Extent & outputExtent, std::size_t available)
{
  // Launches of few blocks wait for their last ones: 64, 128 and 256 MiB reach 24.4, 25.9 and 26.6 Gpixel/s at 21x21
  // with 16-bit pixels on an H200, bf48110, 7.3, 8.4 and 9.0 at 51x51 with float.
  // Large regions take a multiprocessor each.
  const auto enough = std::size_t{ IsLargeRegion(shape) ? 512U : 256U } << 20;
  const auto one = static_cast<std::size_t>(shape.scratchBytes);
  const auto most = one == 0 ? 0 : std::min(enough, available) / one;
  if (most == 0)
  {
    return 0;
  }
  // Launches are of the same size.
  const auto blocks = static_cast<std::size_t>(CountRankBlocks(shape, outputExtent));
  const auto launches = DivideUp(blocks, most);
  return DivideUp(blocks, std::max<std::size_t>(1, launches)) * one;
}

} // namespace cudamedian
