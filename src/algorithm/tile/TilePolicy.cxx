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
#include "TilePolicy.h"

#include "FootprintTiling.h"
#include "RowTuning.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

constexpr RowTuningRow rowTuning[] = {
#include "RowTuning.inc"
};

constexpr RowTuningRow columnTuning[] = {
#include "ColumnTuning.inc"
};

/** The policy for a footprint's window: what was counted, with values that the registers of AVX-512 all but hold. Lines
 * of one column are rows of the image, as in ColumnTuning.inc. Of many values no tile's are held by registers: then the
 * program goes in chunks, as a box's, and the fewest operations count. */
RowPolicy
GetFootprintPolicy(const Window & window, std::size_t keyBytes)
{
  constexpr std::int64_t fewValues = 40;
  constexpr std::size_t  anyValues = 1000;
  if (window.CountPixels() > fewValues)
  {
    const auto tiling = FindFootprintTiling(window, ListFootprintTiles(window, false), anyValues);
    return { tiling.tile, tiling.options, {}, 300 };
  }
  const bool isOneColumn = keyBytes <= 2 && window.IsMedian();
  const auto tiling = FindFootprintTiling(window, ListFootprintTiles(window, isOneColumn), isOneColumn ? 44 : 96);
  RowPolicy  policy;
  policy.tile = tiling.tile;
  policy.tiling = tiling.options;
  return policy;
}

} // namespace

bool
IsCoveredFootprint(const Window & window, std::int64_t mostValues)
{
  const auto axes = window.CountAxes();
  return window.footprint != nullptr && window.footprintValues <= mostValues && axes <= 3 &&
         window.GetLargestRadius() <= (axes <= 2 ? 15 : 5);
}

bool
IsCoveredByTilePrograms(const Window & window)
{
  if (window.footprint != nullptr)
  {
    return IsCoveredFootprint(window, largestHostFootprint);
  }
  const auto axes = window.CountAxes();
  const auto largest = window.GetLargestRadius();
  return axes <= 2 ? largest <= 15 : axes == 3 && largest <= 4;
}

bool
IsInterpretedOnDevices(const Window & window)
{
  if (window.footprint != nullptr)
  {
    return IsCoveredFootprint(window, largestFootprint);
  }
  const auto axes = window.CountAxes();
  const auto largest = window.GetLargestRadius();
  return axes <= 2 ? largest <= 5 : axes == 3 && largest <= 2;
}

bool
IsTileProgramFastestOnHost(const Window & window, int pixelBytes)
{
  if (window.footprint != nullptr)
  {
    return IsCoveredFootprint(window, largestHostFootprint); // beside selection
  }
  // Those above keep thresholds, or go through sliding histograms with 8 bits (HostRatios.inc).
  const bool         isFlat = window.CountAxes() <= 2;
  const std::int64_t most = pixelBytes == 1   ? (isFlat ? 19 * 19 : 5 * 5 * 5)
                            : pixelBytes == 2 ? (isFlat ? 21 * 21 : 7 * 7 * 7)
                            : pixelBytes == 4 ? (isFlat ? 17 * 17 : 7 * 7 * 5)
                                              : (isFlat ? 11 * 11 : 5 * 5 * 5);
  return IsCoveredByTilePrograms(window) && window.CountPixels() <= most &&
         (isFlat || pixelBytes == 1 || window.GetLargestRadius() <= 3);
}

Extent
ChooseTile(const Window & window)
{
  const std::int64_t limit = window.CountAxes() >= 3 ? 2 : 4;
  Extent             tile;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    tile[axis] = 1;
    // An even size has the tile of the next odd one.
    const auto odd = 2 * window.radius[static_cast<std::size_t>(axis)] + 1;
    while (2 * (2 * tile[axis]) <= odd + 1 && 2 * tile[axis] <= limit)
    {
      tile[axis] *= 2;
    }
  }
  return tile;
}

Extent
ChooseHostTile(const Window & window)
{
  // The tile is the same for keys of all widths.
  const auto * measured = FindRow(rowTuning, "", window.GetExtent(), 2);
  return measured == nullptr ? ChooseTile(window) : measured->tile;
}

RowPolicy
GetRowPolicy(const Window & window, std::size_t keyBytes)
{
  if (window.footprint != nullptr)
  {
    return GetFootprintPolicy(window, keyBytes);
  }
  // Pixels are compared where they are in the image, in tiles that were measured with medians of odd sizes. Other ranks
  // of larger windows share a program with the rank as far from the other end, which takes keys (RowPrograms.h).
  Extent odd;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    odd[axis] = 2 * window.radius[axis] + 1;
  }
  const bool isShort = window.CountPixels() <= 9;
  const bool isMiddle =
    window.ranks > 1 || (2 * window.rank + 2 >= window.CountPixels() && 2 * window.rank <= window.CountPixels());
  const auto * column = keyBytes <= 2 && (isShort || isMiddle) ? FindRow(columnTuning, "", odd, 1) : nullptr;
  if (column != nullptr)
  {
    return { column->tile, { column->root, column->division, window.ranks }, column->phases };
  }
  const bool isDeep = window.CountAxes() == 3;
  const auto least = *std::min_element(window.radius.begin(), window.radius.begin() + (isDeep ? 3 : 2));
  RowPolicy  policy;
  policy.tile = isDeep && least >= 3 ? Extent{ { 4, 2, 2, 1 } } : ChooseHostTile(window);
  policy.tiling.root = GetRootTile(window, policy.tile);
  policy.tiling.ranks = window.ranks;
  const bool isLong = least >= (isDeep ? 2 : 5);
  if (isLong || window.HasEvenSize() || !window.IsMedian())
  {
    policy.chunkOperations = 300;
  }
  if (least >= (isDeep ? 2 : 6))
  {
    policy.tiling.division = Division::PowerFirst;
    policy.phases.sharedPhases = 1;
    policy.phases.firstColumn = 1;
  }
  return policy;
}

Extent
GetRootTile(const Window & window, const Extent & tile)
{
  Extent root = tile;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    while (root[axis] > window.GetSize(axis))
    {
      root[axis] /= 2;
    }
  }
  return root;
}

} // namespace cudamedian
