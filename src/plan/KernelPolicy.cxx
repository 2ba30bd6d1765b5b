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
#include "KernelPolicy.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** Values that a thread can keep in 32-bit registers: 255 less addresses, operands on their way and what the compiler's
 * order needs beyond the program's. With 200, no window up to 17x17 has more than 48 bytes in local memory. */
constexpr std::size_t registerValues = 200;

/** The instruction cache of sm_90 holds 128 KiB, 16 bytes an instruction. What is longer is fetched anew by each warp,
 * at 1.14 instructions a clock and SM. Measured with 13x13 in tiles of 4x4 and 16-bit pixels, Gpixel/s: 6,860
 * instructions 65, 7,710 instructions 42, 10,500 instructions 33. */
constexpr double cachedInstructions = 7800;
constexpr double fetchedPerClock = 1.14 * 32;

/** Shared memory that a block of sm_90 and later can have, 227 KiB. */
constexpr int largestSharedBytes = 227 * 1024;

/** Beyond these live values two blocks of four warps are all that an SM holds, and one of eight stages less and waits
 * no longer. Gpixel/s with four and eight warps: 9x9 139 and 146, 11x11 96 and 99, 5x5x5 42 and 51; but 7x7, with fewer
 * values, 232 and 201. */
constexpr std::size_t valuesOfLargeBlocks = 105;

int
CountWindowAxes(const Extent & radius)
{
  return static_cast<int>(std::count_if(radius.begin(), radius.end(), [](auto r) { return r > 0; }));
}

std::size_t
GetRegisterValues(const KernelKind & kind)
{
  return kind.pixelBytes == 8 ? registerValues / 2 : registerValues;
}

/** Sizes of a root tile along an axis: the two largest powers of two below the window, up to 4. With smaller ones
 * neighbouring windows share too little. */
std::vector<std::int64_t>
GetRootSizes(std::int64_t radius)
{
  std::int64_t size = 1;
  while (2 * size <= std::min<std::int64_t>(2 * radius, 4))
  {
    size *= 2;
  }
  return size == 1 ? std::vector<std::int64_t>{ 1 } : std::vector<std::int64_t>{ size / 2, size };
}

/** Root tiles that are worth counting: not more than 16 pixels, and not a program that takes minutes to compile. */
std::vector<Extent>
GetRootTiles(const Extent & radius)
{
  const auto window = Volume({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } });
  std::vector<Extent> roots;
  for (const auto x : GetRootSizes(radius[0]))
    for (const auto y : GetRootSizes(radius[1]))
      for (const auto z : GetRootSizes(radius[2]))
        for (const auto w : GetRootSizes(radius[3]))
        {
          const auto pixels = x * y * z * w;
          if (pixels == 1 || (pixels <= 16 && pixels * window <= 16 * 289))
          {
            roots.push_back({ { x, y, z, w } });
          }
        }
  return roots;
}

/** Completes a policy whose tile is chosen: what follows from the number of live values. */
void
CompletePolicy(const KernelKind & kind, std::size_t liveValues, KernelPolicy & policy)
{
  policy.registers = liveValues > GetRegisterValues(kind) ? GetRegisterValues(kind) : 0;
  policy.blockY = liveValues * static_cast<std::size_t>(kind.GetRegisterBytes() / 4) > valuesOfLargeBlocks ? 8 : 4;
}

/** Takes threads away until a block's footprint and saved values fit in its shared memory. */
void
FitSharedMemory(const Extent & radius, const KernelKind & kind, const TileProgram & program, KernelPolicy & policy)
{
  const auto slots = PlanKernelRegisters(program, LowerProgram(program, policy.lowering), policy, kind).numberOfSlots;
  while (GetKernelShape(radius, policy, kind, slots).sharedBytes > largestSharedBytes)
  {
    if (policy.blockY > 1)
    {
      policy.blockY /= 2;
    }
    else if (policy.tile[0] * policy.blockX > 32)
    {
      policy.blockX /= 2;
    }
    else
    {
      break;
    }
  }
}

/** The policy whose program has the lowest floor, with what staging and cramped registers add.
 *
 * Searched are root tiles, rows of them, both orders of merging, and shares of maxima by sums. */
KernelPolicy
SearchPolicy(const Extent & radius, const KernelKind & kind)
{
  KernelPolicy best;
  double       bestScore = 0;
  for (const auto & root : GetRootTiles(radius))
  {
    for (std::int64_t tileX = std::max<std::int64_t>(root[0], 2); tileX <= 8; tileX *= 2)
    {
      for (const auto division : { Division::Halves, Division::PowerFirst })
      {
        KernelPolicy policy;
        policy.tiling = { root, division };
        policy.tile = root;
        policy.tile[0] = tileX;
        const auto program = BuildKernelProgram(radius, policy);
        for (const int sumPercent : { 60, 30, 0 })
        {
          policy.lowering.threeInput = kind.pixelBytes != 8 && kind.packing != KeyPacking::HalfPair;
          policy.lowering.sumPercent = kind.pixelBytes == 8 ? 0 : sumPercent;
          const auto cost = CountProgram(program, LowerProgram(program, policy.lowering));
          CompletePolicy(kind, cost.liveValues, policy);

          // Comparing and choosing 64 bits takes three instructions.
          const auto each = kind.pixelBytes == 8 ? 3.0 : 1.0;
          const auto instructions = each * cost.minMax + cost.multiplyAdd;
          auto       clocks = each * cost.clocks;
          if (instructions * static_cast<double>(Volume(policy.tile)) > cachedInstructions)
          {
            clocks = std::max(clocks, instructions / fetchedPerClock);
          }
          const auto crowding = static_cast<double>(cost.liveValues) / static_cast<double>(GetRegisterValues(kind));
          clocks *= 0.9 + 0.2 * crowding;
          // Every staged key costs about as much as four comparisons.
          const auto shape = GetKernelShape(radius, policy, kind, 0);
          const auto outputs = shape.block[0] * shape.block[1] * shape.block[2] * shape.block[3] / kind.GetPixels();
          clocks += 4.0 / 62 * shape.sharedBytes / kind.GetRegisterBytes() / outputs;
          if (bestScore == 0 || clocks < bestScore)
          {
            best = policy;
            bestScore = clocks;
          }
        }
      }
    }
  }
  FitSharedMemory(radius, kind, BuildKernelProgram(radius, best), best);
  return best;
}

/** A policy that was measured against others: CudaMedianKernelBenchmark --tune. */
struct MeasuredPolicy
{
  Extent window;
  int    keys; ///< in a register: 2 for the packed kinds, 1 for 32 bits
  Extent tile;
  Extent root;
  int    sumPercent;
  int    blockY;
};

/** Behind each, its Gpixel/s on an H200, 16-bit or 32-bit pixels, and in brackets those of the best other. */
constexpr MeasuredPolicy measuredPolicies[] = {
  // 674 (4x2 of 2x2, 60 %, 8 rows of threads: 685, but slower with 8-bit pixels) and 382 (4x2, 8 rows: 384)
  { { { 3, 3, 1, 1 } }, 2, { { 8, 2, 1, 1 } }, { { 2, 2, 1, 1 } }, 0, 4 },
  { { { 3, 3, 1, 1 } }, 1, { { 8, 2, 1, 1 } }, { { 2, 2, 1, 1 } }, 0, 4 },
  // 467 (4x4 of 2x2, 60 %: 458) and 244
  { { { 5, 5, 1, 1 } }, 2, { { 8, 2, 1, 1 } }, { { 2, 2, 1, 1 } }, 80, 4 },
  { { { 5, 5, 1, 1 } }, 1, { { 8, 2, 1, 1 } }, { { 2, 2, 1, 1 } }, 80, 4 },
  // 243 (8x2 of 4x2, 80 %: 232) and 122 (8x4 of 4x4, 60 %: 100)
  { { { 7, 7, 1, 1 } }, 2, { { 4, 4, 1, 1 } }, { { 4, 4, 1, 1 } }, 80, 4 },
  { { { 7, 7, 1, 1 } }, 1, { { 4, 4, 1, 1 } }, { { 4, 4, 1, 1 } }, 80, 4 },
  // 146 (4x4 of 4x4, 60 %: 141) and 73 (8x2 of 4x2, 60 %: 61)
  { { { 9, 9, 1, 1 } }, 2, { { 4, 2, 1, 1 } }, { { 4, 2, 1, 1 } }, 60, 8 },
  { { { 9, 9, 1, 1 } }, 1, { { 4, 2, 1, 1 } }, { { 4, 2, 1, 1 } }, 60, 8 },
  // 102 (8x2 of 4x2, 60 %: 87) and 52 (4 rows of threads: 49)
  { { { 11, 11, 1, 1 } }, 2, { { 4, 4, 1, 1 } }, { { 4, 4, 1, 1 } }, 60, 8 },
  { { { 11, 11, 1, 1 } }, 1, { { 4, 4, 1, 1 } }, { { 4, 4, 1, 1 } }, 60, 8 },
  // 65 (2x4 of 2x4, 60 %: 58; 30 % makes the program too long for the instruction cache: 42)
  { { { 13, 13, 1, 1 } }, 2, { { 4, 4, 1, 1 } }, { { 4, 4, 1, 1 } }, 0, 8 },
  // 276 (4x2x2 of 2x2x2, 40 %: 266) and 141 (2x2x2, 8 rows of threads: 110)
  { { { 3, 3, 3, 1 } }, 2, { { 2, 2, 2, 1 } }, { { 2, 2, 2, 1 } }, 60, 8 },
  { { { 3, 3, 3, 1 } }, 1, { { 4, 2, 2, 1 } }, { { 2, 2, 2, 1 } }, 60, 4 },
  // 51 (2x2x1 of 2x2x1, 60 %: 38) and 26
  { { { 5, 5, 5, 1 } }, 2, { { 2, 2, 2, 1 } }, { { 2, 2, 2, 1 } }, 50, 8 },
  { { { 5, 5, 5, 1 } }, 1, { { 2, 2, 2, 1 } }, { { 2, 2, 2, 1 } }, 50, 8 },
};

} // namespace

const char *
ToString(KeyPacking packing)
{
  return packing == KeyPacking::Pair ? "Pair" : packing == KeyPacking::HalfPair ? "HalfPair" : "Single";
}

KernelKind
GetKernelKind(int pixelBytes, int computeCapability)
{
  KernelKind kind;
  kind.pixelBytes = pixelBytes;
  if (pixelBytes <= 2 && computeCapability >= 90)
  {
    kind.packing = KeyPacking::Pair;
  }
  else if (pixelBytes == 1 && computeCapability >= 80)
  {
    kind.packing = KeyPacking::HalfPair;
  }
  return kind;
}

bool
IsCoveredByKernels(const Extent & radius)
{
  return *std::max_element(radius.begin(), radius.end()) <= largestKernelRadius && CountWindowAxes(radius) <= 3 &&
         Volume({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } }) <=
           largestKernelWindow;
}

KernelPolicy
GetKernelPolicy(const Extent & radius, const KernelKind & kind)
{
  const Extent window{ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } };
  const auto   measured =
    std::find_if(std::begin(measuredPolicies), std::end(measuredPolicies), [&](const auto & candidate) {
      return candidate.window == window && candidate.keys == kind.GetPixels();
    });
  if (kind.pixelBytes == 8 || measured == std::end(measuredPolicies))
  {
    return SearchPolicy(radius, kind);
  }
  KernelPolicy policy;
  policy.tile = measured->tile;
  policy.tiling = { measured->root, Division::Halves };
  policy.lowering.threeInput = kind.packing != KeyPacking::HalfPair;
  policy.lowering.sumPercent = measured->sumPercent;
  const auto program = BuildKernelProgram(radius, policy);
  CompletePolicy(kind, CountProgram(program, LowerProgram(program, policy.lowering)).liveValues, policy);
  policy.blockY = measured->blockY;
  FitSharedMemory(radius, kind, program, policy);
  return policy;
}

TileProgram
BuildKernelProgram(const Extent & radius, const KernelPolicy & policy)
{
  return BuildHierarchicalTilingProgram(radius, policy.tile, policy.tiling);
}

int
GetLoadKeys(const Extent & tile, const KernelKind & kind)
{
  int keys = 1;
  while (2 * keys * kind.GetRegisterBytes() <= 16 && tile[0] % (2 * keys) == 0)
  {
    keys *= 2;
  }
  return keys;
}

FootprintVector
GetFootprintVector(const TileProgram & program, TileProgram::Value input, int loadKeys)
{
  const auto width = static_cast<std::size_t>(program.GetFootprint()[0]);
  const auto shift = (loadKeys - static_cast<int>(program.GetRadius()[0] % loadKeys)) % loadKeys;
  const auto column = static_cast<int>(input % width) + shift;
  return { input / width, column / loadKeys * loadKeys - shift, column % loadKeys };
}

RegisterPlan
PlanKernelRegisters(const TileProgram &    program,
                    const LoweredProgram & lowered,
                    const KernelPolicy &   policy,
                    const KernelKind &     kind)
{
  const auto loadKeys = GetLoadKeys(program.GetTile(), kind);
  const auto width = static_cast<std::size_t>(program.GetFootprint()[0]);
  return PlanRegisters(program, lowered, policy.registers, [&](TileProgram::Value input) {
    const auto vector = GetFootprintVector(program, input, loadKeys);
    return vector.line * (width + 8) + static_cast<std::size_t>(vector.column + loadKeys);
  });
}

KernelShape
GetKernelShape(const Extent & radius, const KernelPolicy & policy, const KernelKind & kind, std::size_t savedValues)
{
  const auto  stagePixels = kind.pixelBytes == 1 ? 8 : 16 / kind.pixelBytes;
  const auto  halo = (static_cast<int>(radius[0]) + stagePixels - 1) / stagePixels * stagePixels;
  KernelShape shape;
  shape.threads = policy.blockX * policy.blockY;
  shape.block[0] = policy.blockX * static_cast<int>(policy.tile[0]);
  shape.block[1] = policy.blockY * static_cast<int>(policy.tile[1]) * kind.GetPixels();
  shape.block[2] = static_cast<int>(policy.tile[2]);
  shape.block[3] = static_cast<int>(policy.tile[3]);
  const auto rows = shape.block[1] / kind.GetPixels() + 2 * static_cast<int>(radius[1]);
  shape.sharedBytes = (shape.block[0] + 2 * halo) * rows * (shape.block[2] + 2 * static_cast<int>(radius[2])) *
                        (shape.block[3] + 2 * static_cast<int>(radius[3])) * kind.GetRegisterBytes() +
                      static_cast<int>(savedValues) * shape.threads * kind.GetRegisterBytes();
  return shape;
}

} // namespace cudamedian
