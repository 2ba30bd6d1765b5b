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
#include "RankThresholdPolicy.h"

#include "DivideUp.h"
#include "RankEdges.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace cudamedian
{
namespace
{

/** What windows are told of wide pixels that are sorted by values: a bit for each rank. */
int
GetUnorderedBytes(const RankShape & shape, int pixelBytes)
{
  return HasNumbers(shape, pixelBytes) ? 4 * RoundUp(shape.words, 4) : 0;
}

/** How a region is sorted, and what memory that takes. \returns false if it has too many pixels. */
bool
SetSort(int pixelBytes, bool byValues, RankShape & shape, const DeviceTraits & traits)
{
  const auto padded = std::int64_t{ RoundUp(shape.pixels, 8) };
  if (byValues && shape.pixels <= valueSortPixels && GetValueSortBytes(shape, pixelBytes) <= traits.blockSharedBytes)
  {
    // Pixels stay where they are in the image.
    shape.sortPixels = valueSortPixels;
    shape.scratchBytes = 2 * padded + GetUnorderedBytes(shape, pixelBytes);
    return true;
  }
  // Bytes are sorted by values alone.
  shape.sortPixels = pixelBytes > 1 ? FindSortSize(shape.pixels, pixelBytes, traits) : 0;
  shape.scratchBytes = padded * (2 + pixelBytes) + 8;
  return shape.sortPixels > 0;
}

/** Sets the region of a block, and which of its ranks can be wanted. \returns false if coordinates have no room. */
bool
SetRegion(const Window & window, RankShape & shape)
{
  std::int64_t pixels = 1;
  for (int axis = 0; axis < 3; ++axis)
  {
    shape.region[axis] = shape.tile[axis] + shape.window[axis] - 1;
    // Rows have an even number of pixels, so that two ranks of any row are loaded at once.
    shape.region[axis] += axis == 0 ? shape.region[axis] % 2 : 0;
    if (shape.region[axis] > 2047)
    {
      return false;
    }
    pixels *= shape.region[axis];
  }
  shape.pixels = static_cast<int>(std::min<std::int64_t>(pixels, 1 << 20));
  // The wanted pixel has so many others of its window below it, and so many above.
  const auto lowest = static_cast<int>(window.CountBelow() / 32);
  const auto highest = static_cast<int>((shape.pixels - 1 - window.CountAbove()) / 32);
  shape.counterBits = 0;
  shape.words = highest - lowest + 3;
  shape.firstRank = 32 * (lowest - 1);
  shape.rankShift = 5;
  return true;
}

/** Numbers that ranks are compared as: half floats, which are infinite from here on. */
constexpr int mostCompared = 31744;

/** Sets what follows from the lanes and steps. \returns false if the block is too large. */
bool
SetBlock(const Window & window, int pixelBytes, bool byValues, RankShape & shape, const DeviceTraits & traits)
{
  if (!SetRegion(window, shape) || !SetSort(pixelBytes, byValues, shape, traits))
  {
    return false;
  }
  const int sums = (32 + shape.window[0]) / 2;
  shape.sharedBytes = (GetRegionForm(shape) == RegionForm::Narrow ? 64 : 128) * shape.words +
                      RoundUp(4 * sums * (shape.threads / 32), 16) + GetUnorderedBytes(shape, pixelBytes) +
                      2 * RoundUp(shape.pixels, 8);
  if (shape.members > 0)
  {
    shape.sharedBytes += static_cast<int>(GetRankListBytes(shape));
  }
  return 32 * shape.words <= mostCompared && shape.sharedBytes <= traits.blockSharedBytes;
}

/** The same for a large region, of whose ranks the words are compared. */
bool
SetLargeBlock(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  shape.sortPixels = largeSortPixels;
  if (!SetRegion(window, shape) || shape.pixels > largeSortPixels - 128 || shape.words > mostCompared ||
      GetValueSortBytes(shape, pixelBytes) > traits.blockSharedBytes)
  {
    return false;
  }
  const auto * longest = std::max_element(std::begin(shape.region), std::end(shape.region));
  if (GetRegionForm(shape) == RegionForm::Solid && *longest > mostNarrow)
  {
    return false;
  }
  const int sums = (32 + shape.window[0]) / 2;
  shape.sharedBytes = 4 * sums * (largeThresholdThreads / 32);
  if (shape.members > 0)
  {
    shape.sharedBytes += static_cast<int>(GetRankListBytes(shape));
  }
  shape.scratchBytes =
    2 * std::int64_t{ RoundUp(shape.pixels, 8) } + GetUnorderedBytes(shape, pixelBytes) + 128 * shape.words;
  return shape.sharedBytes <= traits.blockSharedBytes;
}

/** Sorting by values takes so long for a region, and for each time that all threads load eight pixels. */
struct ValueSortRate
{
  double region;
  double batch;
};
constexpr ValueSortRate
GetValueSortRate(int pixelBytes)
{
  return pixelBytes == 1   ? ValueSortRate{ 5500, 8850 }
         : pixelBytes == 2 ? ValueSortRate{ 37000, 48000 }
         : pixelBytes == 4 ? ValueSortRate{ 188000, 70800 }
                           : ValueSortRate{ 242000, 105700 };
}

/** Fitted to 27 blocks of 7 windows, 31x31 to 151x151, on an H100. Sorting by values is within 10 % of it, sliding over
 * random pixels within 30 %. What is wide was fitted on an H200: within 10 % of random pixels from 75x75 on. \param
 * restlessness how many times as far as in a random image medians move. */
double
Estimate(const RankShape &    shape,
         const Window &       window,
         int                  pixelBytes,
         const DeviceTraits & traits,
         double               restlessness)
{
  const auto   width = static_cast<double>(window.GetSize(shape.axes[0]));
  const auto   height = static_cast<double>(window.GetSize(shape.axes[2]));
  const double outputs = static_cast<double>(shape.tile[0]) * shape.tile[2];
  // Ranks of the region for each of the window's; how many of them a median moves by at a step, and from the middle of
  // the region to where it is first, in a random image.
  const double spread = shape.pixels / (width * height);
  const double drift = restlessness * spread * 0.56 * std::sqrt(width);
  const double first = spread * 0.4 * std::sqrt(width * height);
  const double eights = 1 + 2.2 * drift / 8 + (1 + 2.2 * first / 8) / shape.steps;
  double       start = ((32 + width) / 64 * height * 2.5 + width * 1.5 + 200) / shape.steps;
  const double load = 12.0 * shape.pixels / outputs;
  const bool   isNarrow = GetRegionForm(shape) == RegionForm::Narrow;
  double       eightCost = isNarrow ? 28 : 45;
  // Pixels that share a number are compared.
  const double unordered = GetUnorderedBytes(shape, pixelBytes) > 0 ? 800 * shape.pixels / 65536.0 : 0;
  double       replaced = width * 1.3;
  if (shape.members > 0)
  {
    // Pixels are replaced by lists, and each that may be the wanted one is looked up.
    replaced = 8 * (shape.edges + shape.pairs);
    start += (0.05 * shape.members + 12 * shape.runs) / shape.steps;
    const bool isDisk = shape.disk > 0;
    eightCost += isNarrow ? (isDisk ? 10 : 50) : (isDisk ? 25 : 80);
  }
  const double instructions = replaced + 100 + eights * eightCost + start + load + unordered;
  const double warps = static_cast<double>(traits.CountBlocks(shape.sharedBytes, shape.threads)) * shape.threads / 32;
  const int    loaded = 8 * GetValueSortThreads(shape, pixelBytes) / 32;
  const int    batches = DivideUp(DivideUp(shape.region[0], 32) * shape.region[2], loaded);
  const auto   rate = GetValueSortRate(pixelBytes);
  const double sort = IsSortedByValues(shape) ? rate.region + rate.batch * batches
                                              : EstimateSortPicoseconds(shape.sortPixels, pixelBytes);
  return sort / outputs + 1.95 * instructions / (3.8 * warps / (1 + 0.103 * warps));
}

/** The same for random pixels in a large region, of the one block that there is for them. Fitted to 17 windows, 183x183
 * to 401x401, on an H200: within 13 %. Disks of radius 100 to 200 take as many times as long, within 20 %. */
double
EstimateLarge(const Window & window, int pixelBytes)
{
  const bool isBox = window.footprint == nullptr;
  // A disk has 0.785 of its box.
  const auto pixels = isBox ? static_cast<double>(window.CountPixels())
                            : 0.785 * static_cast<double>(window.GetSize(0) * window.GetSize(1));
  const auto side = std::sqrt(pixels);
  const auto footprint = isBox ? 1 : pixelBytes == 1 ? 1.4 : pixelBytes == 2 ? 2 : 2.7;
  const auto box = pixelBytes <= 2   ? (0.99 + 0.0042 * side) * side
                   : pixelBytes == 4 ? (0.70 + 0.0058 * side) * side
                                     : (0.0123 * side - 0.11) * side;
  return footprint * box;
}

/** \returns false if windows of a shape keep no threshold. */
bool
SetThresholdAxes(const Window & window, int pixelBytes, RankShape & shape)
{
  // Histograms of 8 bits know no footprints.
  if ((pixelBytes == 1 && window.footprint == nullptr) || !SetRankAxes(window, shape) ||
      (shape.window[1] != 1 && window.footprint == nullptr))
  {
    return false;
  }
  if (shape.axes[2] == 0)
  {
    // Threads lie along the image's rows even where walking along them would let fewer pixels enter.
    std::swap(shape.axes[0], shape.axes[2]);
    std::swap(shape.window[0], shape.window[2]);
  }
  if (window.footprint != nullptr)
  {
    SetPairedEdges(*window.footprint, shape);
  }
  shape.lanes[1] = shape.tile[1] = 1;
  return shape.axes[0] == 0;
}

/** What an output of a solid region takes in picoseconds. Fitted to balls of radius 8, 10 and 15 in random images on an
 * H200, which it is within 15 % of; larger ones take longer. \param restlessness how many times as far as in a random
 * image medians move. */
double
EstimateSolid(const RankShape & shape, double restlessness)
{
  const double outputs = static_cast<double>(shape.tile[0]) * shape.tile[1] * shape.tile[2];
  const double spread = static_cast<double>(shape.pixels) / shape.members;
  const double drift = restlessness * spread * 0.56 * std::sqrt(2.0 * shape.pairs + shape.edges);
  const double rows = DivideUp(shape.window[1], 2) * DivideUp(shape.window[2], 2);
  const double start = 10.5 * rows + 12.0 * shape.runs + 0.05 * shape.members + 6000;
  const double replaced = 8.0 * (shape.edges + shape.pairs);
  const double words = 180 * (1 + 2.2 * drift / 32);
  return 40.0 * shape.pixels / outputs + 0.113 * (replaced + words + 150 + start / shape.steps);
}

/** The block of a large region of windows along three axes. \param shape with its axes; its lanes and steps are set. */
bool
FindSolidBlock(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  // Medians of scans move further than those of random pixels.
  constexpr double restlessness = 2;
  RankShape        candidate = shape;
  double           cost = 0;
  constexpr int    width = 32;
  candidate.lanes[0] = candidate.tile[0] = width;
  for (int rows = largeThresholdThreads / width; rows <= 32; rows += largeThresholdThreads / width)
  {
    candidate.lanes[1] = candidate.tile[1] = rows;
    candidate.threads = width * rows;
    for (int steps = 4; steps <= 64; ++steps)
    {
      candidate.steps = candidate.tile[2] = steps;
      if (!SetLargeBlock(window, pixelBytes, candidate, traits))
      {
        break;
      }
      const auto estimate = EstimateSolid(candidate, restlessness);
      if (cost == 0 || estimate < cost)
      {
        shape = candidate;
        cost = estimate;
      }
    }
  }
  return cost > 0;
}

/** Whether large regions were measured to be faster than others, whose blocks then have few outputs. */
bool
IsLargeRegionFaster(const Window & window, int pixelBytes)
{
  if (window.footprint != nullptr)
  {
    // Disks on an H200, in large regions and others, Gpixel/s of 8 bits, 16 bits and float: radius 80 2.60, 2.16, 1.55
    // and 3.30, 3.00, 2.12, radius 100 2.17, 1.69, 1.18 and 1.41, 1.27, 0.86.
    return window.CountPixels() > 26000 || window.CountAxes() > 2;
  }
  return window.CountPixels() > (pixelBytes <= 2 ? 211 * 211 : 181 * 181);
}

/** The block of a large region. \param shape with its axes; its lanes and steps are set. */
bool
FindLargeBlock(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  if (shape.window[1] > 1)
  {
    return FindSolidBlock(window, pixelBytes, shape, traits);
  }
  // Of 14 blocks the best at 301x301, or near to it, with random pixels and a scan, and so at 251x251 and 351x351.
  // Memory takes its time to answer: fewer threads wait for it, and more start anew too often.
  constexpr int rows = 8;
  shape.lanes[0] = shape.tile[0] = 128;
  shape.threads = rows * shape.lanes[0];
  static_assert(rows * 128 % largeThresholdThreads == 0, "whole blocks slide over a region");
  for (shape.steps = 20; shape.steps > 0; --shape.steps)
  {
    shape.tile[2] = rows * shape.steps;
    if (SetLargeBlock(window, pixelBytes, shape, traits))
    {
      return true;
    }
  }
  return false;
}

} // namespace

double
EstimateThresholdPicoseconds(const RankShape &    shape,
                             const Window &       window,
                             int                  pixelBytes,
                             const DeviceTraits & traits)
{
  const bool isSolid = GetRegionForm(shape) == RegionForm::Solid;
  return isSolid                ? EstimateSolid(shape, 1)
         : IsLargeRegion(shape) ? EstimateLarge(window, pixelBytes)
                                : Estimate(shape, window, pixelBytes, traits, 1);
}

bool
FindThresholdShape(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits)
{
  RankShape candidate{};
  if (!SetThresholdAxes(window, pixelBytes, candidate))
  {
    return false;
  }
  if (IsLargeRegionFaster(window, pixelBytes))
  {
    const bool fits = FindLargeBlock(window, pixelBytes, candidate, traits);
    shape = fits ? candidate : shape;
    // A footprint's windows have nothing else.
    if (fits || window.footprint == nullptr)
    {
      return fits;
    }
  }
  constexpr double restlessness = 4;
  double           cost = 0;
  bool             found = false;
  const auto       tryBlocks = [&](int width, bool byValues) {
    for (candidate.steps = 4; candidate.steps <= 128; ++candidate.steps)
    {
      candidate.tile[2] = candidate.steps * (candidate.threads / width);
      if (!SetBlock(window, pixelBytes, byValues, candidate, traits))
      {
        return;
      }
      // Medians of scans move further than those of random pixels: not the largest regions.
      const auto estimate = Estimate(candidate, window, pixelBytes, traits, restlessness);
      if (!found || estimate < cost)
      {
        shape = candidate;
        cost = estimate;
        found = true;
      }
    }
  };
  for (int width = 32; width <= 128; width *= 2)
  {
    candidate.lanes[0] = candidate.tile[0] = width;
    for (candidate.threads = width; candidate.threads <= mostThresholdThreads; candidate.threads *= 2)
    {
      tryBlocks(width, true);
      if (pixelBytes > 2)
      {
        // Buckets may be faster for small regions.
        tryBlocks(width, false);
      }
    }
  }
  if (!found && window.footprint != nullptr)
  {
    // Boxes of so many pixels have histograms.
    found = FindLargeBlock(window, pixelBytes, candidate, traits);
    shape = found ? candidate : shape;
  }
  return found;
}

bool
IsDenseFootprint(const Window & window)
{
  return window.footprint != nullptr && 4 * window.CountPixels() >= window.CountBoxPixels();
}

bool
IsThresholdFaster(const Window & window, int pixelBytes)
{
  if (window.footprint != nullptr)
  {
    // Where scans do not lose by much: of disks with 8 bits counters are up to 1.1 times as fast on them at 61x61,
    // thresholds 1.6 times at 81x81; random pixels gain from 51x51 on. Of others each place is looked up.
    const bool isDisk = FindDisk(*window.footprint) > 0;
    if (window.CountAxes() > 2)
    {
      // On scans balls of radius 8 with 16 bits have 0.54 Gpixel/s by counters and 0.40 with a threshold, of random
      // pixels 0.52 and 1.31; of radius 9 0.19 and 0.33, 0.18 and 1.22.
      const int side = pixelBytes == 1 ? (isDisk ? 21 : 23) : isDisk && pixelBytes > 2 ? 17 : 19;
      return IsDenseFootprint(window) && window.CountBoxPixels() >= std::int64_t{ side } * side * side;
    }
    const int least = pixelBytes == 1 ? (isDisk ? 59 : 71) : isDisk && pixelBytes == 4 ? 45 : 51;
    return std::min(window.GetSize(0), window.GetSize(1)) >= least;
  }
  const auto shorter = std::min(window.GetSize(0), window.GetSize(1));
  const auto longer = std::max(window.GetSize(0), window.GetSize(1));
  const bool isFloat = pixelBytes == 4;
  const auto least = isFloat ? 41 : 45;
  // Random pixels and a scan, by counters and with a threshold, on an H200: float 49x29 12.4 and 17.6, 9.6 and 9.6,
  // 61x27 11.6 and 17.7, 8.8 and 10.8; 16 bits 59x39 9.2 and 16.9, 8.2 and 9.9. 99x21 is as fast on scans either way.
  const auto pixels = shorter * longer;
  const bool isLong = 4 * longer > 5 * shorter && pixels >= (isFloat ? 1400 : 1850);
  const bool isMeasured = shorter >= (isFloat ? 27 : 31) && longer <= 3 * shorter;
  const bool isLarge = shorter >= least || (isMeasured && (isLong || pixels >= least * least));
  const bool isTooLarge = window.CountPixels() > 401 * 401 || longer > 2 * shorter;
  return pixelBytes > 1 && isLarge && !(IsLargeRegionFaster(window, pixelBytes) && isTooLarge);
}

} // namespace cudamedian
