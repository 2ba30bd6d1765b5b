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

#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "KernelProgram.h"
#include "LinePolicy.h"
#include "PolicySearch.h"
#include "TilePolicy.h"
#include "TunedPolicy.h"

#include <algorithm>
#include <vector>

namespace cudamedian
{
namespace
{

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

/** The policy but for its resident blocks. */
KernelPolicy
ChoosePolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  const auto tuned = FindTunedPolicy(window, kind, traits);
  auto       policy = tuned ? *tuned : SearchPolicy(window, kind, traits);
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
 * | A100 | float | 58.0, 36.0, 27.2, 19.9, 26.0 | 35.3, 34.2, 29.3, 28.1 |
 *
 * Double on an H200, program and ranks: 9x5 30.2 and 20.4, 3x15 35.0 and 29.8, 5x9 30.4 and 29.4, 11x5 23.2 and 19.6,
 * 13x5 and 5x11 alike, 7x7 27.3 and 29.7; 3x3x3 29.7 and 22.2, 3x3x5 18.3 and 19.1, 3x5x3 16.0 and 19.3. */
std::int64_t
GetLargestFastestWindow(const Window & window, int pixelBytes, const DeviceTraits & traits)
{
  if (pixelBytes == 8)
  {
    return window.CountAxes() > 2 || window.HasEvenSize() ? 35 : 45;
  }
  if (traits.blockSharedBytes < GetBlockSharedBytes(86))
  {
    return 125;
  }
  const bool isPair = GetKernelKind(pixelBytes, traits.computeCapability).GetPixels() == 2;
  if (isPair)
  {
    return pixelBytes == 2 && traits.blockSharedBytes >= GetBlockSharedBytes(80) ? largestKernelWindow : 225;
  }
  return traits.pipes.threeInput ? 225 : 169;
}

/** Whether the program of a window along three axes is long for its pixels, so that local ranks are faster.
 *
 * Measured on an H200 at 037dcd3, programs and ranks, Gpixel/s with 8 bits and float: 9x5x3 50 and 34, 26 and 17; 7x7x3
 * 51 and 39, 27 and 20; 3x7x7 46 and 33, 24 and 18; 11x5x3 41 and 33, 20 and 18; 3x11x5 39 and 39, 20 and 21; 5x3x11 36
 * and 42, 22 and 22; 5x5x7 32 and 34, 16 and 20; 5x7x5 28 and 35, 14 and 20; 7x5x5 27 and 27, 14 and 18; 9x7x3 28 and
 * 36, 14 and 21; 13x5x3 33 and 33, 16 and 16; 3x13x5 32 and 40, 16 and 20; and before that 25x3x3 30 and 29, 20 and 15.
 * With 16 bits beyond 255 pixels, before ranks were faster: 7x13x3 14 and 18, 3x5x19 12 and 15, 5x11x5 14 and 17,
 * 3x19x5 16 and 16, 11x5x5 10 and 13; but 19x3x5 15 and 11, as ranks are slower where they walk along rows. */
bool
IsLongInThreeAxes(const Window & window, int pixelBytes)
{
  if (window.CountAxes() < 3 || window.footprint != nullptr)
  {
    return false;
  }
  std::vector<std::int64_t> sizes;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (window.radius[static_cast<std::size_t>(axis)] > 0)
    {
      sizes.push_back(window.GetSize(axis));
    }
  }
  std::sort(sizes.begin(), sizes.end());
  const bool isThin = sizes[0] <= 3;
  const bool isLine = sizes[1] <= 3;
  if (pixelBytes == 2)
  {
    return !isLine && window.CountPixels() > 255 && (!isThin || window.radius[0] < window.GetLargestRadius());
  }
  return window.CountPixels() > (isLine ? 225 : 165);
}

} // namespace

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
    return IsCoveredFootprint(window, largestFootprint);
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
  return window.CountPixels() <= GetLargestFastestWindow(window, pixelBytes, traits) &&
         !IsLongInThreeAxes(window, pixelBytes);
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
