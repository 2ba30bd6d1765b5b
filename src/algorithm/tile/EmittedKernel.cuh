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
#include "StripKernel.h"
#include "TileBlock.h"

namespace cudamedian
{

// A kernel is one function for all architectures. In the code for each of them it is the kernel of that architecture's
// packing, so none is ever empty; a packing whose program was not emitted is an incomplete type, which does not
// compile. The host sees no body: what it needs to launch the kernel follows from the architecture that the loaded code
// names.

#ifdef __CUDA_ARCH__
/** The packing of the code that is being compiled. */
template <typename TPixelBits>
constexpr KeyPacking compiledPacking = GetKeyPacking(static_cast<int>(sizeof(TPixelBits)), __CUDA_ARCH__ / 10);
#else
/** Any: the host compiles no body. */
template <typename TPixelBits>
constexpr KeyPacking compiledPacking = KeyPacking::Single;
#endif

/** The kernel of a program. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
using EmittedTileKernelOf = TileKernel<TProgram, TPixelBits, VMapping, VPacking, TProgram::BlockX, TProgram::BlockY>;

/** Threads of a block of the code that is being compiled. */
template <typename TPrograms, typename TPixelBits>
constexpr int
GetCompiledThreads()
{
#ifdef __CUDA_ARCH__
  using Program = typename TPrograms::template Of<compiledPacking<TPixelBits>>::Type;
  return Program::BlockX * Program::BlockY;
#else
  return 1024; // the most there are
#endif
}

/** The kernel of a window and a pixel type.
 * \tparam TPrograms has the window's program for each packing, as TPrograms::Of<packing>::Type. */
template <typename TPrograms, typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(GetCompiledThreads<TPrograms, TPixelBits>())
  EmittedTileKernel(const __grid_constant__ KernelArguments arguments)
{
#ifdef __CUDA_ARCH__
  constexpr auto packing = compiledPacking<TPixelBits>;
  using Program = typename TPrograms::template Of<packing>::Type;
  RunTileKernelBlock<EmittedTileKernelOf<Program, TPixelBits, VMapping, packing>>(arguments);
#endif
}

/** The kernel of 3x3 windows. */
template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(StripKernel<TPixelBits, VMapping, compiledPacking<TPixelBits>>::Threads,
                  StripKernel<TPixelBits, VMapping, compiledPacking<TPixelBits>>::ResidentBlocks)
  EmittedStripKernel(const __grid_constant__ KernelArguments arguments)
{
#ifdef __CUDA_ARCH__
  StripKernel<TPixelBits, VMapping, compiledPacking<TPixelBits>>::Run(
    arguments, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
#endif
}

/** The table's entry for a program compiled ahead, where the loaded code has this packing. */
template <typename TPrograms, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
EmittedKernel
DescribeEmittedKernel(KeyFormat keyFormat)
{
  using Program = typename TPrograms::template Of<VPacking>::Type;
  using Kernel = EmittedTileKernelOf<Program, TPixelBits, VMapping, VPacking>;
  EmittedKernel emitted;
  emitted.window = Extent{ { Program::RadiusX, Program::RadiusY, Program::RadiusZ, Program::RadiusW } };
  emitted.keyFormat = keyFormat;
  emitted.packing = VPacking;
  emitted.tile = { { Program::TileX, Program::TileY, Program::TileZ, Program::TileW } };
  emitted.operations = Program::Operations;
  emitted.shape.threads = Kernel::Threads;
  emitted.shape.block[0] = Kernel::BlockWidth;
  emitted.shape.block[1] = Kernel::BlockHeight;
  emitted.shape.block[2] = Program::TileZ;
  emitted.shape.block[3] = Program::TileW;
  emitted.shape.sharedBytes = Kernel::SharedBytes;
  emitted.function = reinterpret_cast<const void *>(&EmittedTileKernel<TPrograms, TPixelBits, VMapping>);
  return emitted;
}

/** The table's entry for the 3x3 window, where the loaded code has this packing. */
template <typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
EmittedKernel
DescribeStripKernel(KeyFormat keyFormat)
{
  using Kernel = StripKernel<TPixelBits, VMapping, VPacking>;
  EmittedKernel emitted;
  emitted.window = Extent{ { 1, 1, 0, 0 } };
  emitted.keyFormat = keyFormat;
  emitted.packing = VPacking;
  emitted.tile = { { Kernel::Width, 2, 1, 1 } };
  emitted.operations = Kernel::Operations;
  emitted.shape.threads = Kernel::Threads;
  emitted.shape.block[0] = Kernel::BlockWidth;
  emitted.shape.block[1] = Kernel::Strips;
  emitted.shape.block[2] = 1;
  emitted.shape.block[3] = 1;
  emitted.shape.strips = Kernel::Strips;
  emitted.shape.residentBlocks = Kernel::ResidentBlocks;
  emitted.function = reinterpret_cast<const void *>(&EmittedStripKernel<TPixelBits, VMapping>);
  return emitted;
}

} // namespace cudamedian

#endif
