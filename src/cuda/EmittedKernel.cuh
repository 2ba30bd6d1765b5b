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

#include "KernelBodies.h"
#include "KernelLaunch.h"

namespace cudamedian
{

/** Threads of a block along axes 0 and 1: a warp along a row, four rows that share most of their footprint in L1. */
constexpr int emittedBlockX = 32;
constexpr int emittedBlockY = 4;
constexpr int emittedBlock = emittedBlockX * emittedBlockY;

template <typename TProgram, typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(emittedBlock)
  EmittedTileKernel(const __grid_constant__ KernelArguments arguments, const __grid_constant__ LaunchShape shape)
{
  std::int64_t tile[Dimension];
  if (shape.GetTile(blockIdx.x, static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y), tile))
  {
    RunEmittedTile<TProgram, TPixelBits, VMapping>(arguments, tile);
  }
}

/** Launches one thread per tile (per pair of tiles for packed keys). */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping>
cudaError_t
LaunchEmittedTiles(const KernelArguments & arguments, cudaStream_t stream)
{
  const int  tile[Dimension] = { TProgram::TileX, TProgram::TileY, TProgram::TileZ, TProgram::TileW };
  const auto shape =
    GetLaunchShape(arguments.outputExtent, tile, KeyRegister<TPixelBits>::Pixels, emittedBlockX, emittedBlockY);
  if (shape.GetNumberOfBlocks() > 0x7FFFFFFF)
  {
    return cudaErrorInvalidConfiguration;
  }
  EmittedTileKernel<TProgram, TPixelBits, VMapping>
    <<<static_cast<unsigned int>(shape.GetNumberOfBlocks()), dim3(emittedBlockX, emittedBlockY), 0, stream>>>(arguments,
                                                                                                              shape);
  return cudaGetLastError();
}

} // namespace cudamedian

#endif
