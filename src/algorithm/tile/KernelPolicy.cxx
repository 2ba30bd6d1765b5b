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

#include "DivideUp.h"
#include "KernelProgram.h"
#include "LinePolicy.h"
#include "TilePolicy.h"
#include "TileTuning.h"

#include <algorithm>

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
          if (pixels == 1 || (pixels <= 16 && pixels * window.CountPixels() <= 16 * 289))
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

/** Takes threads away until a block's footprint, shared and saved values fit in its shared memory. */
void
FitSharedMemory(const Window & window, const KernelKind & kind, KernelPolicy & policy, const DeviceTraits & traits)
{
  const auto program = BuildKernelProgram(window, policy, kind);
  while (GetKernelShape(window, policy, kind, program).sharedBytes > traits.blockSharedBytes)
  {
    if (policy.blockY > 1)
    {
      policy.blockY /= 2;
    }
    else if (policy.blockX > 4)
    {
      policy.blockX /= 2;
    }
    else
    {
      break;
    }
  }
}

/** Instructions of a program of several ranks that are as bad as twice the clocks: such kernels are compiled at first
 * use alone, which takes 1.2 ms for each. Reasoned. */
constexpr double longRanksProgram = 10000;

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
  CompletePolicy(kind, counted.cost.liveValues, policy);

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
  // Every staged key costs about as much as four comparisons.
  const double width = policy.blockX * static_cast<int>(policy.tile[0]);
  double       staged = width + 2 * static_cast<double>(window.radius[0]);
  double       outputs = width;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const auto size = static_cast<double>(policy.tile[axis]) * (axis == 1 ? policy.blockY : 1);
    staged *= size + 2 * static_cast<double>(window.radius[axis]);
    outputs *= size;
  }
  clocks += 4.0 / 62 * staged / outputs;
  if (window.ranks > 1)
  {
    clocks *= 1 + counted.code / longRanksProgram;
  }

  // Warps that an SM holds, by its registers and its shared memory.
  const auto   layout = LayOut(phases, kind);
  const auto   live = static_cast<double>(counted.cost.liveValues);
  const auto   values = static_cast<double>(GetRegisterValues(kind));
  const double threads = policy.blockX * policy.blockY;
  const double positions = policy.blockX + layout.lastPosition - layout.firstPosition;
  const auto   sharedKeys = static_cast<double>(layout.numberOfVectors) * layout.keys * positions / policy.blockX +
                          std::max(0.0, live - values) + staged / threads;
  const auto byRegisters = traits.registers / 32 / (std::min(live, values) * keyBytes / 4 + 30);
  const auto byShared = traits.blockSharedBytes / (32 * sharedKeys * keyBytes);
  const auto warps = std::min({ byRegisters, byShared, static_cast<double>(traits.warps) });
  // As measured: 16 warps and more hide each other's latencies, 8 reach five sixths, 4 reach 0.6.
  return clocks * std::max(1.0, 0.8 * (warps + 4) / warps);
}

/** Instructions of a footprint's program at most, where a smaller tile has fewer: what takes a compiler some three
 * seconds. */
constexpr std::size_t longestFootprintProgram = 3200;

/** The policy with the lowest score. Searched are root tiles, rows of them, orders of merging, phases, and shares of
 * maxima by sums. */
KernelPolicy
SearchPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  KernelPolicy best;
  double       bestScore = 0;
  for (const auto & root : GetRootTiles(window))
  {
    for (std::int64_t tileX = std::max<std::int64_t>(root[0], 2); tileX <= 8; tileX *= 2)
    {
      // What pieces of a footprint have in common lies in any direction (SharedPieces.h).
      for (const auto division :
           { Division::Halves, window.footprint != nullptr ? Division::PowerLast : Division::PowerFirst })
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
  FitSharedMemory(window, kind, best, traits);
  return best;
}

constexpr TileTuningRow tuningRows[] = {
#include "TileTuning.inc"
};

/** A row of TileTuning.inc, and whether it was measured on this device, or on one with such pipes and as much shared
 * memory. */
struct FoundRow
{
  const TileTuningRow * row{ nullptr };
  bool                  isAlike{ false };
};

/** The row of a window: the device's own, else the last of a device like it, else the first of any device. */
FoundRow
FindTuningRow(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  // Keys that have a register each are filtered alike, whatever pixels they come from.
  const int pixelBytes = kind.GetPixels() > 1 ? 2 : 4;
  FoundRow  found;
  for (const auto & row : tuningRows)
  {
    if (row.window != window.GetExtent() || row.pixelBytes != pixelBytes)
    {
      continue;
    }
    if (row.device == traits.name)
    {
      return { &row, true };
    }
    const auto * const profile = FindDeviceProfile(row.device);
    const auto         measured = profile == nullptr ? DeviceTraits() : GetTraits(*profile);
    const bool         isAlike = measured.pipes.mostSumPercent == traits.pipes.mostSumPercent &&
                         measured.pipes.threeInput == traits.pipes.threeInput &&
                         measured.blockSharedBytes == traits.blockSharedBytes;
    if (found.row == nullptr || isAlike)
    {
      found = { &row, isAlike };
    }
  }
  return found;
}

/** Blocks that the compiler has to leave registers for. A block of numbered keys may run twice, for which the compiler
 * gives 5x5 92 registers and 3x3x3 97, so that 20 and 16 warps find room. Where the program's values are fewer, a block
 * is held to the registers that 24 warps have: 80, as many as the single form takes. Counted in the code of nvcc 13.0
 * for sm_89, one value of 5x5 then goes through local memory, and none of 3x3x3. */
int
CountResidentBlocks(const KernelPolicy & policy,
                    const Window &       window,
                    const KernelKind &   kind,
                    const DeviceTraits & traits)
{
  constexpr int others = 11; // registers of addresses, factors and operands on their way: those of 3x3x3
  constexpr int warps = 24;
  const auto    program = BuildKernelProgram(window, policy, kind);
  const auto    counted = CountPhases(program.phases, policy.lowering, policy.blockX);
  const auto    shape = GetKernelShape(window, policy, kind, program);
  const auto    registers = RoundUp(static_cast<int>(counted.cost.liveValues) + others, 8);
  const int     blocks = std::min({ traits.registers / (registers * shape.threads),
                                    traits.CountBlocks(shape.sharedBytes, shape.threads),
                                    warps * 32 / shape.threads });
  return blocks > 1 ? blocks : 0;
}

/** The policy of a row. */
KernelPolicy
MakePolicy(const FoundRow & found, const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto & row = *found.row;
  KernelPolicy policy;
  policy.tile = row.tile;
  policy.tiling = { row.root, row.division, window.ranks };
  policy.phases = row.phases;
  policy.lowering.threeInput = HasThreeInputs(kind, traits);
  policy.lowering.sumPercent = row.sumPercent;
  // Where three operands are two instructions, so are a sum and a comparison. Rows are of medians: a program of several
  // ranks has more values at a time.
  const bool isMeasured = found.isAlike && policy.lowering.threeInput && window.ranks == 1;
  policy.lowering.excessPercent = isMeasured ? row.excessPercent : 0;
  const auto counted = CountPhases(BuildKernelPhases(window, policy), policy.lowering, policy.blockX);
  CompletePolicy(kind, counted.cost.liveValues, policy);
  policy.blockX = row.blockX;
  policy.blockY = row.blockY;
  if (isMeasured)
  {
    policy.residentBlocks = row.residentBlocks;
    policy.steps = row.steps;
  }
  return policy;
}

/** Whether what was measured elsewhere suits a device: its block fits as it is, its code fits in the instruction cache,
 * and there is a pipe for sums. So measured on an H200 with code for sm_89, 198734e, Gpixel/s with the row's policy and
 * the model's, 16-bit pixels: 5x5 300 and 254, 7x7 182 and 154, 3x3x3 165 and 135. */
bool
SuitsDevice(const KernelPolicy & policy, const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto program = BuildKernelProgram(window, policy, kind);
  return traits.pipes.mostSumPercent > 0 &&
         GetKernelShape(window, policy, kind, program).sharedBytes <= traits.blockSharedBytes &&
         CountPhases(program.phases, policy.lowering, policy.blockX).code <= traits.pipes.cachedInstructions;
}

/** The policy but for its resident blocks. */
KernelPolicy
ChoosePolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto found = FindTuningRow(window, kind, traits);
  if (!window.IsMedian() || window.footprint != nullptr || kind.pixelBytes == 8 || found.row == nullptr)
  {
    return SearchPolicy(window, kind, traits);
  }
  auto policy = MakePolicy(found, window, kind, traits);
  if (!found.isAlike && !SuitsDevice(policy, window, kind, traits))
  {
    return SearchPolicy(window, kind, traits);
  }
  FitSharedMemory(window, kind, policy, traits);
  return policy;
}

/** Pixels of the largest window whose program is faster than local ranks.
 *
 * On an H200, by its rates: ranks are faster at 17x17 with 8 and 32 bits and at 7x7 with 64, programs at 15x15, 17x17
 * with 16 and 5x5. The others by rates of an H200 that was taken for them, 7eac1b7, in Gpixel/s:
 *
 * | taken for | pixels | program: 11x11, 13x13, 15x15, 17x17, 5x5x5 | ranks: 11x11, 13x13, 15x15, 17x17 |
 * | T4 | int16 | 36.0, not run, 15.5, not run, 21.2 | 39.3, 36.9, 33.7, 29.7 |
 * | T4 | float | 35.5, not run, 15.4, not run, 20.3 | 35.0, 33.1, 30.4, 28.1 |
 * | RTX 4090 | int16 | 90.7, 58.1, 47.1, 17.1, 33.5 | 39.8, 37.9, 35.2, 30.4 |
 * | RTX 4090 | float | 52.1, 35.7, 27.6, 13.4, 23.7 | 35.2, 33.6, 31.4, 28.6 |
 * | A100 | int16 | 74.4, 45.2, 46.9, 36.4, 39.9 | 39.9, 38.4, 35.2, 31.9 |
 * | A100 | float | 58.0, 36.0, 27.2, 19.9, 26.0 | 35.3, 34.2, 29.3, 28.1 | */
std::int64_t
GetLargestFastestWindow(int pixelBytes, const DeviceTraits & traits)
{
  if (pixelBytes == 8)
  {
    return 35;
  }
  if (traits.blockSharedBytes < 99 << 10)
  {
    return 125;
  }
  const bool isPair = GetKernelKind(pixelBytes, traits.computeCapability).GetPixels() == 2;
  if (isPair)
  {
    return pixelBytes == 2 && traits.blockSharedBytes >= 163 << 10 ? largestKernelWindow : 225;
  }
  return traits.pipes.threeInput ? 225 : 169;
}

/** Whether the program of a window along three axes is long for its pixels, so that local ranks are faster.
 *
 * Measured on an H100 with 16-bit pixels, program and ranks, Gpixel/s: 9x5x3 51 and 17, 9x7x3 28 and 15, 13x5x3 26 and
 * 16, 9x9x3 23 and 18, 7x5x5 20 and 15, 11x7x3 16 and 15; but 15x5x3 10 and 16, 17x5x3 9.4 and 14.7. Reasoned for
 * others: programs reach 0.72 of what their pipes allow, and less where code is fetched anew (fetchedPerClock), which
 * makes 9x5x5 15 and 7x7x5 13 with 16 bits, half with 32. */
bool
IsLongInThreeAxes(const Window & window, const KernelKind & kind)
{
  if (window.CountAxes() < 3 || window.footprint != nullptr)
  {
    return false;
  }
  std::int64_t shortest = window.CountPixels();
  std::int64_t longest = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto size = window.GetSize(axis);
    shortest = window.radius[static_cast<std::size_t>(axis)] > 0 ? std::min(shortest, size) : shortest;
    longest = std::max(longest, size);
  }
  const bool         isThin = shortest <= 3;
  const std::int64_t most = kind.GetPixels() > 1 ? (isThin ? 243 : 189) : (isThin ? 189 : 147);
  return window.CountPixels() > most || (longest >= 15 && window.CountPixels() > 195);
}

} // namespace

std::string
DescribeTuning(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto found = FindTuningRow(window, kind, traits);
  return found.row == nullptr ? "" : ToRow(*found.row) + (found.isAlike ? " of a device like this" : "");
}

const char *
ToString(KeyPacking packing)
{
  return packing == KeyPacking::Pair         ? "Pair"
         : packing == KeyPacking::Quad       ? "Quad"
         : packing == KeyPacking::HalfPair   ? "HalfPair"
         : packing == KeyPacking::BFloatPair ? "BFloatPair"
                                             : "Single";
}

KernelKind
GetKernelKind(int pixelBytes, int architecture, bool isForFamily)
{
  KernelKind kind;
  kind.pixelBytes = pixelBytes;
  kind.packing = GetKeyPacking(pixelBytes, architecture, isForFamily);
  return kind;
}

bool
HasThreeInputs(const KernelKind & kind, const DeviceTraits & traits)
{
  return traits.pipes.threeInput && kind.pixelBytes != 8 && kind.packing != KeyPacking::Quad &&
         kind.packing != KeyPacking::HalfPair && kind.packing != KeyPacking::BFloatPair;
}

bool
IsCoveredByKernels(const Window & window)
{
  if (window.footprint != nullptr)
  {
    return IsCoveredFootprint(window);
  }
  return window.GetLargestRadius() <= largestKernelRadius && window.CountAxes() <= 3 &&
         window.CountPixels() <= largestKernelWindow;
}

bool
IsTileProgramFastestOnDevice(const Window & window, int pixelBytes, const DeviceTraits & traits)
{
  if (!IsCoveredByKernels(window))
  {
    return false;
  }
  return window.CountPixels() <= GetLargestFastestWindow(pixelBytes, traits) &&
         !IsLongInThreeAxes(window, GetKernelKind(pixelBytes, traits.computeCapability));
}

int
GetMarchAxis(const Window & window)
{
  return window.radius[2] > 0 ? 2 : 1;
}

bool
IsFilteredInStrips(const Window & window)
{
  return window == Window(Extent{ { 1, 1, 0, 0 } });
}

bool
IsFilteredInLines(const Window & window)
{
  return window.footprint == nullptr && window.ranks == 1 && window.CountAxes() == 1 && IsCoveredByKernels(window);
}

KernelPolicy
GetKernelPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  if (IsFilteredInLines(window))
  {
    return GetLinePolicy(window, kind, traits);
  }
  auto policy = ChoosePolicy(window, kind, traits);
  if (kind.packing == KeyPacking::BFloatPair)
  {
    policy.residentBlocks = CountResidentBlocks(policy, window, kind, traits);
  }
  return policy;
}

} // namespace cudamedian
