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

#include "KernelLaunch.h"
#include "StripKernel.h"
#include "TileKernel.h"

namespace cudamedian
{

#ifdef __CUDA_ARCH__
/** Kernels are empty on architectures that another packing is chosen for (GetKernelKind). */
template <KeyPacking VPacking, int VPixelBytes>
constexpr bool isChosenForArchitecture = VPixelBytes >= 4 || (VPacking == KeyPacking::Pair) == (__CUDA_ARCH__ >= 900);
#endif

template <typename TKernel, KeyPacking VPacking, int VPixelBytes>
__global__ void
__launch_bounds__(TKernel::Threads) EmittedTileKernel(const __grid_constant__ KernelArguments arguments)
{
#ifdef __CUDA_ARCH__
  if constexpr (isChosenForArchitecture<VPacking, VPixelBytes>)
  {
    RunTileKernelBlock<TKernel>(arguments);
  }
#endif
}

template <typename TKernel, KeyPacking VPacking, int VPixelBytes>
__global__ void
__launch_bounds__(TKernel::Threads, TKernel::ResidentBlocks)
  EmittedStripKernel(const __grid_constant__ KernelArguments arguments)
{
#ifdef __CUDA_ARCH__
  if constexpr (isChosenForArchitecture<VPacking, VPixelBytes>)
  {
    TKernel::Run(arguments, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
  }
#endif
}

/** The table's entry for a program compiled ahead. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
EmittedKernel
DescribeEmittedKernel(KernelVariant variant)
{
  using Kernel = TileKernel<TProgram, TPixelBits, VMapping, VPacking, TProgram::BlockX, TProgram::BlockY>;
  EmittedKernel emitted;
  emitted.radius = { { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } };
  emitted.variant = variant;
  emitted.packing = VPacking;
  emitted.tile = { { TProgram::TileX, TProgram::TileY, TProgram::TileZ, TProgram::TileW } };
  emitted.operations = TProgram::Operations;
  emitted.shape.threads = Kernel::Threads;
  emitted.shape.block[0] = Kernel::BlockWidth;
  emitted.shape.block[1] = Kernel::BlockHeight;
  emitted.shape.block[2] = TProgram::TileZ;
  emitted.shape.block[3] = TProgram::TileW;
  emitted.shape.sharedBytes = Kernel::SharedBytes;
  emitted.function =
    reinterpret_cast<const void *>(&EmittedTileKernel<Kernel, VPacking, static_cast<int>(sizeof(TPixelBits))>);
  return emitted;
}

/** The table's entry for the 3x3 window. */
template <typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
EmittedKernel
DescribeStripKernel(KernelVariant variant)
{
  using Kernel = StripKernel<TPixelBits, VMapping, VPacking>;
  EmittedKernel emitted;
  emitted.radius = { { 1, 1, 0, 0 } };
  emitted.variant = variant;
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
  emitted.function =
    reinterpret_cast<const void *>(&EmittedStripKernel<Kernel, VPacking, static_cast<int>(sizeof(TPixelBits))>);
  return emitted;
}

} // namespace cudamedian

#endif
