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
#include "PolicySearch.h"

#include "KernelProgram.h"

#include <algorithm>
#include <cmath>

namespace cudamedian
{
namespace
{

/** Values that a thread can keep in 32-bit registers: 255 less addresses, operands on their way and what the compiler's
 * order needs beyond the program's. With 200, no window up to 17x17 has more than 48 bytes in local memory. */
constexpr std::size_t registerValues = 200;

/** Code that the instruction cache does not hold (PipeTraits) is fetched anew by each warp, at 1.14 instructions a
 * clock and SM. Measured on an H200, befe859, with 13x13 in tiles of 4x4 and 16-bit pixels, Gpixel/s: 6,860
 * instructions 65, 7,710 instructions 42, 10,500 instructions 33. */
constexpr double fetchedPerClock = 1.14 * 32;

/** Beyond these live values two blocks of four warps are all that an SM holds, and one of eight stages less and waits
 * no longer. Measured on an H200, befe859, Gpixel/s with four and eight warps: 9x9 139 and 146, 11x11 96 and 99, 5x5x5
 * 42 and 51; but 7x7, with fewer values, 232 and 201. */
constexpr std::size_t valuesOfLargeBlocks = 105;

/** Phases that are tried: sorted columns, pairs of them, or whatever there is, in one shared phase or two. A third one
 * gains less than its room and its barrier cost. */
constexpr PhaseOptions triedPhases[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 1, 0, 2 }, { 1, 0, 0 }, { 2, 0, 2 }, { 2, 0, 0 } };

/** Values that a thread of a kernel can keep in registers. */
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
GetRootTiles(const Window & window)
{
  const auto &        radius = window.radius;
  std::vector<Extent> roots;
  for (const auto x : GetRootSizes(radius[0]))
    for (const auto y : GetRootSizes(radius[1]))
      for (const auto z : GetRootSizes(radius[2]))
        for (const auto w : GetRootSizes(radius[3]))
        {
          const auto pixels = x * y * z * w;
          if (pixels == 1 || (pixels <= 16 && pixels * window.CountPixels() <= 16 * largestKernelWindow))
          {
            roots.push_back({ { x, y, z, w } });
          }
        }
  return roots;
}

/** Rows of a block's threads, by the number of live values. */
int
GetBlockRows(const KernelKind & kind, std::size_t liveValues)
{
  return liveValues * static_cast<std::size_t>(kind.GetRegisterBytes() / 4) > valuesOfLargeBlocks ? 8 : 4;
}

/** Outputs along axis 0 of a block that is as narrow as is worth it. */
constexpr std::int64_t narrowBlock = 32;

/** Whether the footprint of the smallest block worth running fits in a block's shared memory. */
bool
FitsNarrowBlock(const Window & window, const KernelKind & kind, const Extent & tile, const DeviceTraits & traits)
{
  std::int64_t keys = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto outputs = axis == 0 ? std::max(narrowBlock, tile[0]) : tile[axis];
    keys *= outputs + window.GetSize(axis) - 1;
  }
  return keys * kind.GetRegisterBytes() <= traits.blockSharedBytes;
}

/** Instructions of a program of several ranks that are as bad as twice the clocks: such kernels are compiled at first
 * use alone, which takes 1.2 ms for each. Reasoned. */
constexpr double longRanksProgram = 10000;

/** Keys that a block stages for each of its outputs. */
double
CountStagedKeys(const Window & window, const KernelPolicy & policy)
{
  const double width = policy.blockX * static_cast<int>(policy.tile[0]);
  double       staged = (width + 2 * static_cast<double>(window.radius[0])) / width;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const auto size = static_cast<double>(policy.tile[axis]) * (axis == 1 ? policy.blockY : 1);
    staged *= (size + 2 * static_cast<double>(window.radius[axis])) / size;
  }
  return staged;
}

/** How many times the clocks of its instructions a kernel takes, by the warps that an SM holds. As measured: 16 warps
 * and more hide each other's latencies, and 8 reach five sixths. With fewer each scheduler waits for its one or two: of
 * 200 random windows on an H200, ac38186, 16-bit pixels, programs that the instruction cache holds reached 0.5 to 0.7
 * of their floor with 8 warps and 0.33 with 4. */
double
GetWaiting(double warps)
{
  constexpr double few = 8;
  const auto       waiting = [](double count) { return std::max(1.0, 0.8 * (count + 4) / count); };
  return warps < few ? waiting(few) * few / warps : waiting(warps);
}

/** Clocks of an SM that a pixel takes by the cost model: the program's floor, with what staging, sharing, cramped
 * registers and code beyond the instruction cache add. */
double
Score(const Window &        window,
      const KernelKind &    kind,
      const ProgramPhases & phases,
      const PhasesCost &    counted,
      KernelPolicy &        policy,
      const DeviceTraits &  traits)
{
  policy.registers = GetRegisterLimit(kind, counted.cost.liveValues);
  policy.blockY = GetBlockRows(kind, counted.cost.liveValues);

  // Comparing and choosing 64 bits takes three instructions.
  const auto each = kind.pixelBytes == 8 ? 3.0 : 1.0;
  auto       clocks = each * counted.cost.clocks;
  if (each * counted.code > traits.pipes.cachedInstructions)
  {
    clocks = std::max(clocks, (each * counted.cost.minMax + counted.cost.multiplyAdd) / fetchedPerClock);
  }
  // Four values come with one instruction, and the banks bring 32 a clock.
  const auto keyBytes = kind.GetRegisterBytes();
  clocks += 0.4 / 62 * counted.sharedMemory * keyBytes / 4;
  // Keys in shared memory for each thread: what phases share, values that registers do not hold, and the staged
  // footprint.
  const auto   layout = LayOut(phases, kind);
  const auto   live = static_cast<double>(counted.cost.liveValues);
  const auto   values = static_cast<double>(GetRegisterValues(kind));
  const double positions = policy.blockX + layout.lastPosition - layout.firstPosition;
  const auto   kept = static_cast<double>(layout.numberOfVectors) * layout.keys * positions / policy.blockX +
                    std::max(0.0, live - values);
  const auto countKeys = [&] {
    return kept + CountStagedKeys(window, policy) * static_cast<double>(Volume(policy.tile));
  };
  // The rows that a block can have (FitSharedMemory() in KernelPolicy.cxx).
  while (policy.blockY > 1 && countKeys() * keyBytes * policy.blockX * policy.blockY > traits.blockSharedBytes)
  {
    policy.blockY /= 2;
  }
  // Every staged key costs about as much as four comparisons.
  clocks += 4.0 / 62 * CountStagedKeys(window, policy);
  if (window.ranks > 1)
  {
    clocks *= 1 + counted.code / longRanksProgram;
  }

  // Warps of whole blocks that an SM holds, by its registers and its shared memory.
  const auto byRegisters = traits.registers / 32 / (std::min(live, values) * keyBytes / 4 + 30);
  const auto byShared = traits.blockSharedBytes / (32 * countKeys() * keyBytes);
  const auto fitting = std::min({ byRegisters, byShared, static_cast<double>(traits.warps) });
  const auto blockWarps = policy.blockX * policy.blockY / 32.0;
  return clocks * GetWaiting(blockWarps * std::max(1.0, std::floor(fitting / blockWarps)));
}

/** Orders of merging that are tried. What pieces of a footprint have in common lies in any direction (SharedPieces.h).
 * Of even windows 14x14 takes 5.4 clocks with powers of two last, for 5.8. */
std::vector<Division>
ListDivisions(const Window & window)
{
  return window.footprint != nullptr ? std::vector<Division>{ Division::Halves, Division::PowerLast }
         : window.HasEvenSize() ? std::vector<Division>{ Division::Halves, Division::PowerFirst, Division::PowerLast }
                                : std::vector<Division>{ Division::Halves, Division::PowerFirst };
}

/** Instructions of a footprint's program at most, where a smaller tile has fewer: what takes a compiler some three
 * seconds. */
constexpr std::size_t longestFootprintProgram = 3200;

} // namespace

std::size_t
GetRegisterLimit(const KernelKind & kind, std::size_t liveValues)
{
  const auto values = GetRegisterValues(kind);
  return liveValues > values ? values : 0;
}

KernelPolicy
SearchPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  KernelPolicy best;
  double       bestScore = 0;
  for (const auto & root : GetRootTiles(window))
  {
    for (std::int64_t tileX = std::max<std::int64_t>(root[0], 2); tileX <= 8; tileX *= 2)
    {
      for (const auto division : ListDivisions(window))
      {
        KernelPolicy policy;
        policy.tiling = { root, division, window.ranks };
        policy.tile = root;
        policy.tile[0] = tileX;
        // The smallest tile stays, whatever it takes.
        if (bestScore != 0 && !FitsNarrowBlock(window, kind, policy.tile, traits))
        {
          continue;
        }
        policy.lowering.threeInput = HasThreeInputs(kind, traits);
        const auto program = BuildHierarchicalTilingProgram(window, policy.tile, policy.tiling);
        // Three operands to an instruction and phases make a program shorter, but not by half.
        if (bestScore != 0 &&
            static_cast<double>(program.GetInstructions().size()) > 2 * traits.pipes.cachedInstructions)
        {
          continue;
        }
        // Nearly all kernels of footprints are compiled at first use.
        if (bestScore != 0 && window.footprint != nullptr && program.GetInstructions().size() > longestFootprintProgram)
        {
          continue;
        }
        for (const auto & phaseOptions : triedPhases)
        {
          if (phaseOptions.sharedPhases > 0 && window.footprint != nullptr)
          {
            break; // pieces of a footprint are not the same from tile to tile
          }
          policy.phases = phaseOptions;
          if (policy.phases.sharedPhases > 0 && tileX > root[0])
          {
            break; // what a row of root tiles shares by itself, phases share better
          }
          const auto phases = CutIntoPhases(program, policy.phases);
          if (phases.phases.size() <= static_cast<std::size_t>(policy.phases.sharedPhases))
          {
            continue; // nothing to share
          }
          // Counted once: a maximum by sum takes two instructions on one pipe for one on the other.
          const int mostSums = kind.pixelBytes == 8 ? 0 : traits.pipes.mostSumPercent;
          policy.lowering.sumPercent = mostSums;
          const auto counted = CountPhases(phases, policy.lowering, policy.blockX);
          for (const int sumPercent : { mostSums, mostSums / 2, 0 })
          {
            auto       cost = counted;
            const auto fewer = counted.cost.multiplyAdd * (mostSums - sumPercent) / std::max(1, mostSums);
            cost.cost.multiplyAdd -= fewer;
            cost.cost.minMax += fewer / 2;
            cost.cost.clocks = GetFloorClocks(cost.cost);
            cost.code -= fewer / 2 * static_cast<double>(Volume(policy.tile));
            policy.lowering.sumPercent = sumPercent;
            const auto score = Score(window, kind, phases, cost, policy, traits);
            if (bestScore == 0 || score < bestScore)
            {
              best = policy;
              bestScore = score;
            }
          }
        }
      }
    }
  }
  return best;
}

} // namespace cudamedian
