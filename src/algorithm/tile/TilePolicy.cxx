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

#include "RowTuning.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

int
CountWindowAxes(const Extent & radius)
{
  return static_cast<int>(std::count_if(radius.begin(), radius.end(), [](auto r) { return r > 0; }));
}

constexpr RowTuningRow rowTuning[] = {
#include "RowTuning.inc"
};

constexpr RowTuningRow columnTuning[] = {
#include "ColumnTuning.inc"
};

} // namespace

bool
IsCoveredByTilePrograms(const Extent & radius)
{
  const auto axes = CountWindowAxes(radius);
  const auto largest = *std::max_element(radius.begin(), radius.end());
  return axes <= 2 ? largest <= 15 : axes == 3 && largest <= 4;
}

bool
IsInterpretedOnDevices(const Extent & radius)
{
  const auto axes = CountWindowAxes(radius);
  const auto largest = *std::max_element(radius.begin(), radius.end());
  return axes <= 2 ? largest <= 5 : axes == 3 && largest <= 2;
}

bool
IsTileProgramFastestOnHost(const Extent & radius, int pixelBytes)
{
  std::int64_t pixels = 1;
  for (const auto r : radius)
  {
    pixels *= 2 * std::min<std::int64_t>(r, 1 << 10) + 1;
  }
  // Of 8 bits, those above go through sliding histograms, wider ones through local ranks.
  const std::int64_t most = pixelBytes > 1 ? 4000 / pixelBytes : CountWindowAxes(radius) <= 2 ? 19 * 19 : 5 * 5 * 5;
  return IsCoveredByTilePrograms(radius) && pixels <= most;
}

Extent
ChooseTile(const Extent & radius)
{
  const std::int64_t limit = CountWindowAxes(radius) >= 3 ? 2 : 4;
  Extent             tile;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    tile[axis] = 1;
    while (2 * (2 * tile[axis]) <= 2 * radius[axis] + 2 && 2 * tile[axis] <= limit)
    {
      tile[axis] *= 2;
    }
  }
  return tile;
}

Extent
ChooseHostTile(const Extent & radius)
{
  // The tile is the same for keys of all widths.
  const auto * measured = FindRow(rowTuning, "", GetWindow(radius), 2);
  return measured == nullptr ? ChooseTile(radius) : measured->tile;
}

RowPolicy
GetRowPolicy(const Extent & radius, std::size_t keyBytes)
{
  // Pixels are compared where they are in the image.
  const auto * column = keyBytes <= 2 ? FindRow(columnTuning, "", GetWindow(radius), 1) : nullptr;
  if (column != nullptr)
  {
    return { column->tile, { column->root, column->division }, column->phases };
  }
  const bool isDeep = CountWindowAxes(radius) == 3;
  const auto least = *std::min_element(radius.begin(), radius.begin() + (isDeep ? 3 : 2));
  RowPolicy  policy;
  policy.tile = isDeep && least >= 3 ? Extent{ { 4, 2, 2, 1 } } : ChooseHostTile(radius);
  policy.tiling.root = GetRootTile(radius, policy.tile);
  if (least >= (isDeep ? 2 : 5))
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
GetRootTile(const Extent & radius, const Extent & tile)
{
  Extent root = tile;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    while (root[axis] > 2 * radius[axis] + 1)
    {
      root[axis] /= 2;
    }
  }
  return root;
}

} // namespace cudamedian
