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
#ifndef KernelPolicy_h
#define KernelPolicy_h

#include "HierarchicalTiling.h"
#include "KeyPacking.h"
#include "ProgramLowering.h"
#include "ProgramPhases.h"
#include "Traits.h"
#include "Window.h"

namespace cudamedian
{

/** "Pair", "Quad", "HalfPair", "BFloatPair" or "Single". */
const char *
ToString(KeyPacking packing);

/** The kinds of kernels that differ in speed: by the bytes a pixel has and by how keys lie in registers. */
struct KernelKind
{
  int        pixelBytes{ 4 };
  KeyPacking packing{ KeyPacking::Single };

  /** Bytes of a register of keys. */
  int
  GetRegisterBytes() const
  {
    return pixelBytes == 8 ? 8 : 4;
  }
  /** Pixels in a register of keys. */
  int
  GetPixels() const
  {
    return packing == KeyPacking::Single ? 1 : packing == KeyPacking::Quad ? 4 : 2;
  }
};

/** The kind for a pixel width in code compiled for an architecture (major * 10 + minor), or for its family: see
 * GetKeyPacking(). */
KernelKind
GetKernelKind(int pixelBytes, int architecture, bool isForFamily = false);

/** What is chosen for a kernel that runs a tile program. */
struct KernelPolicy
{
  Extent          tile; ///< outputs of one thread (as many times more as keys are packed)
  TilingOptions   tiling;
  PhaseOptions    phases;
  LoweringOptions lowering;
  int             blockX{ 32 }; ///< threads along axis 0
  int             blockY{ 4 };  ///< threads along axis 1
  /** Values that a thread keeps in registers, 0 for no limit; the rest is saved in shared memory (RegisterPlan.h). */
  std::size_t registers{ 0 };
  /** Blocks that a multiprocessor has to have registers for, 0 where that is left to the compiler. */
  int residentBlocks{ 0 };
  /** Bytes of a row that a thread moves at once where the window lies along one axis (LineKernel.h); 0 for blocks that
   * stage their footprint. */
  int lineBytes{ 0 };
  /** Steps that a block goes along an axis (MarchingKernel.h), or 0 for a block of one place. */
  int steps{ 0 };
};

/** The axis that blocks go along in steps where they do: the last one that a window extends along, but no row. */
int
GetMarchAxis(const Window & window);

/** The largest radius and the largest number of window pixels that kernels run as tile programs: 63x1, 35x5 and 17x17.
 * Beyond, a thread's values are several times its registers, programs do not fit in the instruction cache, and local
 * ranks are faster (TileRates.inc and RankRates.inc). Long windows have no more values than others of as many pixels:
 * 47x3, 3x51 and 35x5, whose programs were held to a radius of 15, ran at 0.35 to 0.49 of larger windows as local ranks
 * (H200, ac38186). */
constexpr std::int64_t largestKernelRadius = 31;
constexpr std::int64_t largestKernelWindow = 289;

/** Ranks at most that a kernel finds for each output, which takes its own by a map. */
constexpr std::int64_t mostKernelRanks = 32;

/** What the host needs to know to launch a kernel. */
struct KernelShape
{
  int threads{ 0 };
  int block[Dimension]{ 0, 0, 0, 0 }; ///< outputs of a block along each axis
  int sharedBytes{ 0 };               ///< shared memory of a block
  /** For kernels whose blocks are as high as the launch says: strips one below the other in a block, `block[1]` being
   * the height when each has one row. Otherwise 0. */
  int strips{ 0 };
  /** Blocks that a multiprocessor runs at once, for such kernels and those below. */
  int residentBlocks{ 0 };
  /** For kernels whose blocks go along an axis in steps: the axis, the steps, and what a step is long. `block` has one
   * step. Otherwise 0. */
  int marchAxis{ 0 };
  int steps{ 0 };
  int stepLength{ 0 };
};

/** Whether min and max of three keys are one instruction. Four keys have none, nor have pairs that are compared as
 * floating-point numbers. */
bool
HasThreeInputs(const KernelKind & kind, const DeviceTraits & traits);

/** Whether kernels run a window as a tile program in registers. */
bool
IsCoveredByKernels(const Window & window);

/** Whether a window's program is faster than local ranks, by measurement (TileRates.inc and RankRates.inc): on an H200
 * up to 17x17 with 16 bits, 15x15 with 8 and 32, 9x5 and 3x3x3 with 64. Windows along three axes have bounds of their
 * own: KernelPolicy.cxx has the rates. */
bool
IsTileProgramFastestOnDevice(const Window & window, int pixelBytes, const DeviceTraits & traits);

/** Whether a window has a kernel of its own (StripKernel.h), as the median of 3x3 has, which no program is emitted for
 * when it is compiled ahead. */
bool
IsFilteredInStrips(const Window & window);

/** Whether a window lies along one axis, and threads keep all inputs of a tile in registers (LineKernel.h). */
bool
IsFilteredInLines(const Window & window);

/** The policy for a window: a row of TileTuning.inc, of the device or another that it suits, or the best by a model
 * of what the device does. Its blocks fit in a block's shared memory. \pre IsCoveredByKernels(window) */
KernelPolicy
GetKernelPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits);

} // namespace cudamedian

#endif
