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
#include "LinePolicy.h"

#include "KernelProgram.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** The axis along which the window lies. */
std::size_t
GetAxis(const Window & window)
{
  std::size_t axis = 0;
  while (window.radius[axis] == 0)
  {
    ++axis;
  }
  return axis;
}

/** Bytes of a row that a thread moves at once along rows. */
constexpr int rowBytes = 16;

/** The same across rows. Measured on an H100 in parts of what a copy reaches, 8-bit pixels across rows, a first version
 * with 8 and 16 bytes: 1x9 0.88 and 0.84, 1x15 0.73 and 0.67. Of longer windows of such pixels registers do not hold
 * what 8 bytes take: on an H200 1x49 has 577 Gpixel/s with 4 bytes and 436 with 8, 1x31 838 and 721. */
int
GetColumnBytes(std::int64_t size, const KernelKind & kind)
{
  return kind.pixelBytes == 1 && size > 23 ? 4 : 8;
}

/** Outputs of a tile along rows, at least. */
constexpr std::int64_t shortestTile = 8;

/** Outputs of a tile across rows: of longer windows more outputs share more. Measured on an H200, Gpixel/s in tiles of
 * 8, 16 and 32: 16 bits 1x15 941, 943, 916, 1x31 597, 740, 661, 1x49 389, 537, 514, 1x63 278, 404, 432, 1x1x63 230,
 * 382, 476; 8 bits 1x15 1190, 1250, 987, 1x49 346, 436, 271; double 1x25 94, 115, 112, 1x31 75, 95, 101. */
std::int64_t
GetTileAcrossRows(std::int64_t size, const KernelKind & kind)
{
  const std::int64_t longest = kind.pixelBytes == 8 ? 29 : 55;
  return size < 15 ? 8 : size <= longest ? 16 : 32;
}

/** Sizes from which a tile along rows has twice as many outputs, which share more. Measured likewise: 8 bits 15x1 0.84
 * for 0.72, 21x1 0.72 for 0.63; 16 bits 15x1 0.98 for 0.98, 21x1 0.92 for 0.89; float 21x1 0.93 for 0.88. */
std::int64_t
GetSizeOfLongTiles(const KernelKind & kind)
{
  return kind.pixelBytes == 1 ? 9 : 17;
}

/** Warps of a block that lie one behind the other along axes 2 and 3, where what two of them read lies far apart.
 * Measured likewise at 1x1x15, with 4 and 8: 8 bits 0.84 and 0.76, 16 bits 0.84 and 0.89, float 0.81 and 0.89. */
int
CountWarps(const KernelKind & kind, std::size_t axis)
{
  return axis > 1 && kind.pixelBytes > 1 ? 8 : 4;
}

/** Share of the maxima whose minimum exists too that multiply-add finds. Measured likewise: 8 bits 1x15 0.75, 0.82,
 * 0.79, 0.82 with 40, 60, 80, 100 %, 1x21 0.61, 0.68, 0.67, 0.64. */
constexpr int sumPercent = 60;

} // namespace

KernelPolicy
GetLinePolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto axis = GetAxis(window);
  auto       lineKind = kind;
  lineKind.packing = GetLinePacking(kind.packing);

  KernelPolicy policy;
  policy.tile = policy.tiling.root = { { 1, 1, 1, 1 } };
  policy.blockX = 32;
  policy.blockY = CountWarps(kind, axis);
  const auto size = window.GetSize(static_cast<int>(axis));
  policy.lineBytes = axis == 0 ? rowBytes : GetColumnBytes(size, kind);
  policy.tile[axis] = GetTileAcrossRows(size, kind);
  if (axis == 0)
  {
    const bool isLong = size >= GetSizeOfLongTiles(kind);
    policy.tile[0] = (isLong ? 2 : 1) * std::max<std::int64_t>(shortestTile, policy.lineBytes / kind.pixelBytes);
  }
  policy.lowering.threeInput = HasThreeInputs(lineKind, traits);
  policy.lowering.sumPercent = kind.pixelBytes == 8 ? 0 : std::min(sumPercent, traits.pipes.mostSumPercent);

  auto   best = policy;
  double fewest = 0;
  for (std::int64_t root = 1; root <= std::min(policy.tile[axis], size - 1); root *= 2)
  {
    for (const auto division : { Division::Halves, Division::PowerFirst, Division::PowerLast })
    {
      policy.tiling.root[axis] = root;
      policy.tiling.division = division;
      const auto count = CountPhases(BuildKernelPhases(window, policy), policy.lowering, policy.blockX).cost.minMax;
      if (fewest == 0 || count < fewest)
      {
        best = policy;
        fewest = count;
      }
    }
  }
  return best;
}

KernelShape
GetLineShape(const Window & window, const KernelPolicy & policy, const KernelKind & kind)
{
  const auto  axis = GetAxis(window);
  const auto  tile = static_cast<int>(policy.tile[axis]);
  KernelShape shape;
  shape.threads = policy.blockX * policy.blockY;
  std::fill(std::begin(shape.block), std::end(shape.block), 1);
  if (axis == 0)
  {
    shape.block[0] = policy.blockX * tile;
    shape.block[1] = policy.blockY * (GetLinePacking(kind.packing) == KeyPacking::Single ? 1 : 2);
  }
  else
  {
    shape.block[0] = policy.blockX * policy.lineBytes / kind.pixelBytes;
    shape.block[axis] = policy.blockY * tile;
  }
  return shape;
}

} // namespace cudamedian
