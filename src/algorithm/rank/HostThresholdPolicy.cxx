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
#include "HostThresholdPolicy.h"

#include "FootprintRows.h"
#include "PixelNumbers.h"
#include "ThresholdRows.h"

#include <algorithm>
#include <cmath>

namespace cudamedian
{
namespace
{

constexpr std::int64_t mostRegionExtent = RankedPixels::outside;

/** The least tile. */
constexpr std::int64_t leastTile[Dimension] = { 16, 4, 1, 1 };

bool
IsSmallEnough(const HostBlockShape & shape)
{
  int bits = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (shape.GetRegion(axis) > mostRegionExtent)
    {
      return false;
    }
    bits += CountPositionBits(shape.GetRegion(axis));
  }
  return bits <= 16;
}

} // namespace

bool
IsThresholdFastestOnHost(const HostBlockShape & shape, int pixelBytes, const Extent & outputExtent)
{
  constexpr std::int64_t longest = 125;
  double                 outputs = 1;
  double                 surplus = 1; // pixels that all windows reach for an output, which either algorithm sorts
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (shape.window[axis] > longest)
    {
      return false;
    }
    outputs *= static_cast<double>(shape.tile[axis]);
    const auto extent = static_cast<double>(outputExtent[static_cast<std::size_t>(shape.axes[axis])]);
    surplus *= 1 + static_cast<double>(shape.window[axis] - 1) / extent;
  }
  // What sliding histograms take, which add a column for each pixel of the rim, as the model of thresholds counts.
  const double histograms =
    65 + 7.0 * static_cast<double>(shape.window[2] * shape.window[3]) + (surplus - 1) * (4 + 3.0 * pixelBytes);
  return EstimateHostThresholdNanoseconds(shape, pixelBytes) <= histograms * outputs;
}

double
EstimateHostThresholdNanoseconds(const HostBlockShape & shape, int pixelBytes)
{
  const auto   size = [&](int axis) { return static_cast<double>(shape.window[axis]); };
  const auto   tile = [&](int axis) { return static_cast<double>(shape.tile[axis]); };
  const double pixels = static_cast<double>(shape.CountPixels());
  const double rim = size(2) * size(3);
  const double outputs = tile(0) * tile(1) * tile(2) * tile(3);
  const double axes = 2 + (shape.tile[2] > 1 ? 1 : 0) + (shape.tile[3] > 1 ? 1 : 0);
  const double sorting = pixels * (2.2 + 1.1 * pixelBytes);
  // Vectors that are counted for a column, which has several rows of the rim in one where they are short, and how many
  // columns for an output.
  const double together = std::max(1, 32 >> CountPositionBits(shape.GetRegion(1)));
  const double vectors = size(3) * std::ceil(size(2) / together) * std::ceil(size(1) / 32);
  const double columns = 2 + size(0) / tile(0);
  // On random pixels the count below changes so much from window to window, of which a region has so many pixels for
  // one.
  const double moves = 0.55 * std::sqrt(size(1) * rim) * pixels / (size(0) * size(1) * rim);
  const double searching = 5 + 0.06 * axes * moves;
  return sorting + outputs * (0.8 * vectors * columns + searching);
}

bool
FindHostThresholdShape(const Window &   window,
                       int              pixelBytes,
                       const Extent &   outputExtent,
                       unsigned int     units,
                       HostBlockShape & shape)
{
  const auto estimate = [&](const HostBlockShape & tried) {
    return EstimateHostThresholdNanoseconds(tried, pixelBytes);
  };
  // Windows of a footprint lie in one plane.
  const bool isFootprint = window.footprint != nullptr;
  const auto fits = [&](const HostBlockShape & tried) {
    return IsSmallEnough(tried) && (!isFootprint || (tried.tile[2] == 1 && tried.tile[3] == 1));
  };
  // Values of 8 bits have histograms, but for footprints.
  return (pixelBytes > 1 || isFootprint) &&
         FindHostBlockShape(window, leastTile, mostRegionExtent, fits, estimate, outputExtent, units, shape) &&
         (!isFootprint || ListFootprintRows(*window.footprint, shape.axes));
}

} // namespace cudamedian
