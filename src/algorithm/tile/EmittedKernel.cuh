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
#ifndef EmittedKernel_cuh
#define EmittedKernel_cuh

#include "EmittedKernel.h"
#include "ByteStripKernel.h"
#include "EarlyStart.h"
#include "LineKernel.h"
#include "StripKernel.h"
#include "TileBlock.h"

namespace cudamedian
{

// A kernel is one function for all architectures. In the code for each of them it is the kernel of the program that was
// emitted for that architecture, or for the next older one, so none is ever empty; an architecture without a program is
// an incomplete type, which does not compile. The host sees no body: what it needs to launch the kernel follows from
// the architecture that the loaded code names.

#ifdef __CUDA_ARCH__
/** The packing of strips in the code that is being compiled: never Quad, since memory is what strips wait for. */
template <typename TPixelBits>
constexpr KeyPacking compiledPacking = GetKeyPacking(static_cast<int>(sizeof(TPixelBits)), __CUDA_ARCH__ / 10);
#else
/** Any: the host compiles no body. */
template <typename TPixelBits>
constexpr KeyPacking compiledPacking = KeyPacking::Single;
#endif

/** The kernel of 3x3 windows in code of a packing: 8-bit pixels in pairs have one of their own. */
template <typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
struct StripKernelOf
{
  using Type = StripKernel<TPixelBits, VMapping, VPacking>;
};
template <KeyMapping VMapping>
struct StripKernelOf<std::uint8_t, VMapping, KeyPacking::Pair>
{
  using Type = ByteStripKernel;
};

/** The architecture whose program code for another one runs: the newest that is no newer. */
template <typename TPrograms>
constexpr int
GetEmittedArchitecture(int architecture)
{
  int newest = 0;
  for (const int emitted : TPrograms::Architectures)
  {
    newest = emitted <= architecture && emitted > newest ? emitted : newest;
  }
  return newest;
}

#ifdef __CUDA_ARCH__
/** That of the code that is being compiled. */
template <typename TPrograms>
constexpr int compiledArchitecture = GetEmittedArchitecture<TPrograms>(__CUDA_ARCH__ / 10);
#endif

/** Threads of a block of the code that is being compiled. */
template <typename TPrograms>
constexpr int
GetCompiledThreads()
{
#ifdef __CUDA_ARCH__
  using Program = typename TPrograms::template Of<compiledArchitecture<TPrograms>>::Type;
  return Program::BlockX * Program::BlockY;
#else
  return 1024; // the most there are
#endif
}

/** Blocks of it that a multiprocessor has to have registers for, or 0. */
template <typename TPrograms>
constexpr int
GetCompiledResidentBlocks()
{
#ifdef __CUDA_ARCH__
  return TPrograms::template Of<compiledArchitecture<TPrograms>>::Type::ResidentBlocks;
#else
  return 0;
#endif
}

/** The kernel of a window and a pixel type.
 * \tparam TPrograms has the window's program for each of TPrograms::Architectures, as TPrograms::Of<…>::Type, and how
 * its keys are packed, as TPrograms::Of<…>::Packing. */
template <typename TPrograms, typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(GetCompiledThreads<TPrograms>(), GetCompiledResidentBlocks<TPrograms>())
  EmittedTileKernel(const __grid_constant__ KernelArguments arguments)
{
#ifdef __CUDA_ARCH__
  AwaitKernelsInFront();
  constexpr int architecture = compiledArchitecture<TPrograms>;
  using Emitted = typename TPrograms::template Of<architecture>;
  using Program = typename Emitted::Type;
  if constexpr (Program::LineBytes > 0)
  {
    LineKernel<Program, TPixelBits, VMapping, Emitted::Packing>::Run(
      arguments, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
  }
  else
  {
    RunTileKernelBlock<ProgramKernel<Program, TPixelBits, VMapping, Emitted::Packing>>(arguments);
  }
#endif
}

/** That of the code that is being compiled. */
template <typename TPixelBits, KeyMapping VMapping>
using CompiledStripKernel = typename StripKernelOf<TPixelBits, VMapping, compiledPacking<TPixelBits>>::Type;

/** The kernel of 3x3 windows. */
template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(CompiledStripKernel<TPixelBits, VMapping>::Threads,
                  CompiledStripKernel<TPixelBits, VMapping>::ResidentBlocks)
  EmittedStripKernel(const __grid_constant__ KernelArguments arguments)
{
#ifdef __CUDA_ARCH__
  AwaitKernelsInFront();
  CompiledStripKernel<TPixelBits, VMapping>::Run(arguments, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
#endif
}

/** The same, but it replaces outliers alone. */
template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(CompiledStripKernel<TPixelBits, VMapping>::Threads,
                  CompiledStripKernel<TPixelBits, VMapping>::ResidentBlocks)
  EmittedOutlierStripKernel(const __grid_constant__ KernelArguments arguments,
                            const __grid_constant__ OutlierDistance distance)
{
#ifdef __CUDA_ARCH__
  AwaitKernelsInFront();
  using Kernel = CompiledStripKernel<TPixelBits, VMapping>;
  Kernel::Run(
    arguments, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, typename Kernel::Outliers(arguments, distance));
#endif
}

/** The table's entry for a program compiled ahead, where the loaded code is of this architecture, or of one up to the
 * next that a program was emitted for. */
template <typename TPrograms, typename TPixelBits, KeyMapping VMapping, int VArchitecture>
EmittedKernel
DescribeEmittedKernel(KeyFormat keyFormat)
{
  using Emitted = typename TPrograms::template Of<VArchitecture>;
  using Program = typename Emitted::Type;
  EmittedKernel emitted;
  emitted.window = Extent{ { Program::RadiusX, Program::RadiusY, Program::RadiusZ, Program::RadiusW } };
  emitted.keyFormat = keyFormat;
  emitted.architecture = VArchitecture;
  emitted.packing = Emitted::Packing;
  emitted.tile = { { Program::TileX, Program::TileY, Program::TileZ, Program::TileW } };
  emitted.operations = Program::Operations;
  if constexpr (Program::LineBytes > 0)
  {
    using Kernel = typename LineKernel<Program, TPixelBits, VMapping, Emitted::Packing>::Kernel;
    emitted.shape.threads = Kernel::Threads;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      emitted.shape.block[axis] = Kernel::GetBlock(axis);
    }
  }
  else
  {
    using Kernel = ProgramKernel<Program, TPixelBits, VMapping, Emitted::Packing>;
    emitted.shape.threads = Kernel::Threads;
    emitted.shape.block[0] = Kernel::BlockWidth;
    emitted.shape.block[1] = Kernel::BlockHeight;
    emitted.shape.block[2] = Program::TileZ;
    emitted.shape.block[3] = Program::TileW;
    emitted.shape.sharedBytes = Kernel::SharedBytes;
    if constexpr (Kernel::MarchAxis > 0)
    {
      emitted.shape.marchAxis = Kernel::MarchAxis;
      emitted.shape.steps = Program::Steps;
      emitted.shape.residentBlocks = Program::ResidentBlocks;
      emitted.shape.stepLength = Kernel::StepLength;
    }
  }
  emitted.function = reinterpret_cast<const void *>(&EmittedTileKernel<TPrograms, TPixelBits, VMapping>);
  return emitted;
}

/** The table's entry for the 3x3 window, likewise. */
template <typename TPixelBits, KeyMapping VMapping, int VArchitecture>
EmittedKernel
DescribeStripKernel(KeyFormat keyFormat)
{
  constexpr auto packing = GetKeyPacking(static_cast<int>(sizeof(TPixelBits)), VArchitecture);
  using Kernel = typename StripKernelOf<TPixelBits, VMapping, packing>::Type;
  EmittedKernel emitted;
  emitted.window = Extent{ { 1, 1, 0, 0 } };
  emitted.keyFormat = keyFormat;
  emitted.architecture = VArchitecture;
  emitted.packing = packing;
  emitted.tile = { { Kernel::Width, Kernel::Rows, 1, 1 } };
  emitted.operations = Kernel::Operations;
  emitted.shape.threads = Kernel::Threads;
  emitted.shape.block[0] = Kernel::BlockWidth;
  emitted.shape.block[1] = Kernel::BlockHeight;
  emitted.shape.block[2] = 1;
  emitted.shape.block[3] = 1;
  emitted.shape.strips = Kernel::Strips;
  emitted.shape.residentBlocks = Kernel::ResidentBlocks;
  emitted.function = reinterpret_cast<const void *>(&EmittedStripKernel<TPixelBits, VMapping>);
  emitted.ofOutliers = reinterpret_cast<const void *>(&EmittedOutlierStripKernel<TPixelBits, VMapping>);
  return emitted;
}

} // namespace cudamedian

#endif
