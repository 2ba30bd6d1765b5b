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
#include "TunedPolicy.h"

#include "DeviceProfiles.h"
#include "KernelProgram.h"
#include "PolicySearch.h"
#include "TileTuning.h"

namespace cudamedian
{
namespace
{

constexpr TileTuningRow tuningRows[] = {
#include "TileTuning.inc"
};

/** Those of programs that find all ranks that masks make occur, in kernels that read masks. */
constexpr TileTuningRow maskedRows[] = {
#include "MaskedTuning.inc"
};

/** A row of TileTuning.inc, and whether it was measured on this device, or on one with such pipes and as much shared
 * memory. */
struct FoundRow
{
  const TileTuningRow * row{ nullptr };
  bool                  isAlike{ false };
};

/** The row of a window: the device's own, else the last of a device like it, else the first of any device. An even
 * window has that of the next odd one, unless that has a kernel of its own. */
FoundRow
FindTuningRow(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  // Keys that have a register each are filtered alike, whatever pixels they come from.
  const int    pixelBytes = kind.GetPixels() > 1 ? 2 : 4;
  const Window odd(window.radius);
  FoundRow     found;
  if (window.HasEvenSize() && IsFilteredInStrips(odd))
  {
    return found;
  }
  const auto look = [&](const TileTuningRow & row) {
    if (row.window != odd.GetExtent() || row.pixelBytes != pixelBytes)
    {
      return false;
    }
    if (row.device == traits.name)
    {
      found = { &row, true };
      return true;
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
    return false;
  };
  if (window.ranks > 1)
  {
    static_cast<void>(std::any_of(std::begin(maskedRows), std::end(maskedRows), look));
  }
  else
  {
    static_cast<void>(std::any_of(std::begin(tuningRows), std::end(tuningRows), look));
  }
  return found;
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
  // Where three operands are two instructions, so are a sum and a comparison.
  const bool isMeasured = found.isAlike && policy.lowering.threeInput;
  policy.lowering.excessPercent = isMeasured ? row.excessPercent : 0;
  const auto counted = CountPhases(BuildKernelPhases(window, policy), policy.lowering, policy.blockX);
  policy.registers = GetRegisterLimit(kind, counted.cost.liveValues);
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

/** Whether a row's program is no longer for an even window than for the next odd one, which the row was measured with.
 * Then it has no more values either, and is no slower. The search, whose model knows less of phases than rows do, had
 * 6x6, 8x8 and 10x10 at 0.87 to 0.90 of 7x7, 9x9 and 11x11 (benchmark/README.md). */
bool
IsShorterThanOdd(const KernelPolicy & policy,
                 const FoundRow &     found,
                 const Window &       window,
                 const KernelKind &   kind,
                 const DeviceTraits & traits)
{
  const Window odd(window.radius);
  const auto   measured = MakePolicy(found, odd, kind, traits);
  const auto   countClocks = [](const Window & of, const KernelPolicy & by) {
    return CountPhases(BuildKernelPhases(of, by), by.lowering, by.blockX).cost.clocks;
  };
  return countClocks(window, policy) <= countClocks(odd, measured);
}

} // namespace

std::string
DescribeTuning(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto found = FindTuningRow(window, kind, traits);
  return found.row == nullptr ? "" : ToRow(*found.row) + (found.isAlike ? " of a device like this" : "");
}

std::optional<KernelPolicy>
FindTunedPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto found = FindTuningRow(window, kind, traits);
  // Programs of more ranks than masks make have more values at a time.
  const bool isWanted = window.ranks == 1 ? window.IsMedian() : 2 * window.ranks <= window.CountPixels() + 1;
  if (!isWanted || (window.ranks > 1 && window.HasEvenSize()) || window.footprint != nullptr || kind.pixelBytes == 8 ||
      found.row == nullptr)
  {
    return std::nullopt;
  }
  const auto policy = MakePolicy(found, window, kind, traits);
  if ((!found.isAlike && !SuitsDevice(policy, window, kind, traits)) ||
      (window.HasEvenSize() && !IsShorterThanOdd(policy, found, window, kind, traits)))
  {
    return std::nullopt;
  }
  return policy;
}

} // namespace cudamedian
