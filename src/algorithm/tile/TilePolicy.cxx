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

/** The tile of an interpreted program along axes 0 and 1, or else another.
 *
 * Windows that are long along one axis share most along it; but the columns of a tile are brought together in vectors,
 * which costs more the more they are. At most 8 are (TileRowCut.h). Measured with AVX-512, one thread, 1024x512 pixels,
 * times of the tiles of ChooseTile() divided by theirs, 16 bits and float: 7x3 1.18 and 1.18, 15x3 1.33 and 1.33,
 * 21x3 1.29 and 1.78, 31x3 1.44 and 2.04, 31x5 1.06 and 1.44; 3x9 1.05 and 1.07, 3x15 1.33 and 1.30, 3x21 1.62
 * and 1.67, 3x31 2.07 and 2.00, 5x21 1.45 and 1.30, 7x31 1.19 and 1.20, 5x15 1.14 and 1.12; 9x5 1.13 and 1.09. */
Extent
ChooseFlatHostTile(std::int64_t across, std::int64_t down, const Extent & other)
{
  const auto tile = [](std::int64_t x, std::int64_t y) { return Extent{ { x, y, 1, 1 } }; };
  return across >= 6 * down                 ? tile(8, 1)
         : down == 3 && across >= 7         ? tile(4, 1)
         : down == 5 && across >= 7         ? tile(4, 4)
         : down >= 4 * across && down >= 21 ? tile(1, 16)
         : across == 3 && down >= 9         ? tile(1, 8)
         : across == 5 && down >= 9         ? tile(2, 8)
                                            : other;
}

/** The same along three axes, 256x128x24 pixels: 5x5x3 1.31 and 1.31, 7x7x3 1.50 and 1.54, 3x5x3 1.30 and 1.20,
 * 7x7x5 1.17 and 1.15, 3x5x5 1.35 and 1.10, 3x3x7 1.28 and 1.01, 5x3x5 1.03 and 1.10. */
Extent
ChooseDeepHostTile(std::int64_t across, std::int64_t down, std::int64_t slices, const Extent & other)
{
  const auto tile = [](std::int64_t x, std::int64_t y, std::int64_t z) { return Extent{ { x, y, z, 1 } }; };
  if (down >= 5 && slices == 3)
  {
    return tile(2, 4, 1);
  }
  if (down == 3)
  {
    return slices >= 5 ? tile(across == 3 ? 1 : 2, 2, 4) : other;
  }
  return across == 3 ? tile(1, 4, 4) : std::max({ across, down, slices }) > 5 ? tile(2, 4, 2) : other;
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
  return axes <= 2 ? largest <= 15
                   : axes == 3 && (largest <= 4 || (largest <= 7 && window.CountPixels() <= largestDeepHostWindow));
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
  const std::int64_t most = pixelBytes == 1   ? (isFlat ? 19 * 19 : 9 * 7 * 3)
                            : pixelBytes == 2 ? (isFlat ? 21 * 21 : 7 * 7 * 5)
                            : pixelBytes == 4 ? (isFlat ? 17 * 17 : 7 * 7 * 5)
                                              : (isFlat ? 11 * 11 : 5 * 5 * 5);
  return IsCoveredByTilePrograms(window) && window.CountPixels() <= most;
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
  if (measured != nullptr)
  {
    return measured->tile;
  }
  // Even sizes have the tile of the next odd ones.
  const auto size = [&](std::size_t axis) { return 2 * window.radius[axis] + 1; };
  const auto other = ChooseTile(window);
  if (window.CountAxes() == 3 && window.radius[3] == 0)
  {
    return ChooseDeepHostTile(size(0), size(1), size(2), other);
  }
  const bool isFlat = window.CountAxes() == 2 && window.radius[0] > 0 && window.radius[1] > 0;
  return isFlat ? ChooseFlatHostTile(size(0), size(1), other) : other;
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
