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
#include "HostHistogramPolicy.h"

#include "BinSearch.h"

namespace cudamedian
{
namespace
{

// A region takes some 20 bytes a pixel, for each work unit.
constexpr std::int64_t mostRegionPixels = std::int64_t{ 1 } << 21;

constexpr std::int64_t mostWindowPixels = std::int64_t{ 1 } << 31;

// Positions in a region have 16 bits, and one of them lies in no window.
constexpr std::int64_t mostRegionExtent = SortedBins::outside;

// The histograms of columns, 544 bytes each, stay within a second-level cache.
constexpr std::int64_t mostCachedColumns = 1536;

/** The least tile. */
constexpr std::int64_t leastTile[Dimension] = { 32, 8, 1, 1 };

bool
IsSmallEnough(const HostBlockShape & shape)
{
  std::int64_t pixels = 1;
  for (int axis = 0; axis < Dimension && pixels <= mostRegionPixels; ++axis)
  {
    const auto extent = shape.GetRegion(axis);
    pixels = extent <= mostRegionExtent ? pixels * extent : mostRegionPixels + 1;
  }
  return pixels <= mostRegionPixels;
}

} // namespace

const char * const hostHistogramLimits = "on the CPU at most 65535 columns of at most 65535 pixels and, of pixels "
                                         "wider than 8 bits, regions of at most 2097152 "
                                         "pixels";

bool
IsCoveredByHostHistograms(const Window & window, int pixelBytes)
{
  // Counts have 16 bits, and sums of columns 32. A row of outputs begins with all of a window's columns.
  constexpr std::int64_t most = 65535;
  const auto             columns = window.GetSize(0);
  if (columns > most || window.CountPixels() / columns > most || window.CountPixels() > mostWindowPixels)
  {
    return false;
  }
  HostBlockShape shape{ { 0, 1, 2, 3 }, {}, { 1, 1, 1, 1 } };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    shape.window[axis] = window.GetSize(axis);
  }
  return pixelBytes == 1 || IsSmallEnough(shape);
}

double
EstimateHostHistogramNanoseconds(const HostBlockShape & shape, int pixelBytes)
{
  const auto pixels = static_cast<double>(shape.CountPixels());
  const auto columns = static_cast<double>(shape.GetRegion(0));
  const auto rim = static_cast<double>(shape.window[2] * shape.window[3]);
  const auto slices = static_cast<double>(shape.tile[2] * shape.tile[3]);
  const auto rows = slices * static_cast<double>(shape.tile[1]);
  const auto outputs = rows * static_cast<double>(shape.tile[0]);
  int        axes = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    axes += shape.tile[axis] > 1 ? 1 : 0;
  }
  // Memory beyond the caches is slower.
  const double isCached = pixels < 65536 ? 1 : pixels < 524288 ? 1.3 : 1.8;
  const double sorting = pixels * (4 + 3.0 * pixelBytes) * isCached;
  const double clearing = slices * columns * 20;
  const double filling = slices * columns * rim * static_cast<double>(shape.window[1]) * 2.5;
  const double moving = rows * columns * rim * 4 * (columns > static_cast<double>(mostCachedColumns) ? 2 : 1);
  // Half of a bin is looked through, 32 pixels at a time.
  const double searching = outputs * (8 + pixels / SortedBins::bins / 2 / 32 * (0.5 + 0.7 * axes));
  return sorting + clearing + filling + moving + searching + outputs * 25;
}

bool
FindHostHistogramShape(const Window &   window,
                       int              pixelBytes,
                       const Extent &   outputExtent,
                       unsigned int     units,
                       HostBlockShape & shape)
{
  const auto estimate = [&](const HostBlockShape & tried) {
    return EstimateHostHistogramNanoseconds(tried, pixelBytes);
  };
  return FindHostBlockShape(window, leastTile, mostRegionExtent, IsSmallEnough, estimate, outputExtent, units, shape);
}

} // namespace cudamedian
