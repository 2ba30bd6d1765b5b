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
#include "DivideUp.h"
#include "PixelFormat.h"
#include "VectorLaunch.h"
#include "VectorTile.h"

namespace cudamedian
{
namespace
{

constexpr int pixelBlock = 128;

/** A thread for each output. */
template <typename TDistance>
__global__ void
__launch_bounds__(pixelBlock) VectorPixelKernel(const __grid_constant__ VectorArguments arguments, std::int64_t outputs)
{
  std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * pixelBlock + threadIdx.x;
  if (number >= outputs)
  {
    return;
  }
  std::int64_t pixel[Dimension];
  for (int axis = 0; axis < Dimension; ++axis)
  {
    pixel[axis] = number % arguments.outputExtent[axis];
    number /= arguments.outputExtent[axis];
  }
  RunVectorPixel<TDistance>(arguments, pixel);
}

/** Blocks that a multiprocessor is to run at once: the sums of L2 have twice the registers. */
template <VectorNorm VNorm>
constexpr int tileBlocks = VNorm == VectorNorm::L1 ? 2 : 1;

template <VectorNorm VNorm, int VRadius, int VComponents>
__global__ void
__launch_bounds__(VectorTile<VNorm, VRadius>::threads, tileBlocks<VNorm>)
  VectorTileKernel(const __grid_constant__ VectorArguments arguments)
{
  using Tile = VectorTile<VNorm, VRadius>;
  __shared__ typename Tile::Shared shared;
  const int                        thread = static_cast<int>(threadIdx.x);
  const auto                       place = Tile::GetPlace(arguments, blockIdx.x);
  typename Tile::State             state;
  Tile::template Stage<VComponents>(arguments, place, thread, shared);
  __syncthreads();
  Tile::Start(state);
  Tile::FindKeys(thread, shared, state);
  CUDAMEDIAN_UNROLL
  for (int column = 0; column < Tile::width; ++column)
  {
    Tile::TellKeys(thread, column, state, shared);
    __syncthreads();
    Tile::HearKeys(thread, column, shared, state);
  }
  Tile::template Write<VComponents>(arguments, place, thread, shared, state);
}

/** The number of blocks as CUDA takes it. */
bool
FitsGrid(std::int64_t blocks)
{
  return blocks <= 0x7FFFFFFF;
}

template <VectorNorm VNorm, int VRadius, int VComponents>
cudaError_t
LaunchTiles(const VectorArguments & arguments, cudaStream_t stream)
{
  using Tile = VectorTile<VNorm, VRadius>;
  const auto blocks = Tile::CountBlocks(arguments);
  if (!FitsGrid(blocks))
  {
    return cudaErrorInvalidConfiguration;
  }
  VectorTileKernel<VNorm, VRadius, VComponents>
    <<<static_cast<unsigned int>(blocks), Tile::threads, 0, stream>>>(arguments);
  return cudaGetLastError();
}

template <VectorNorm VNorm, int VRadius>
cudaError_t
LaunchTiles(const VectorArguments & arguments, cudaStream_t stream)
{
  return arguments.components == 2   ? LaunchTiles<VNorm, VRadius, 2>(arguments, stream)
         : arguments.components == 3 ? LaunchTiles<VNorm, VRadius, 3>(arguments, stream)
                                     : LaunchTiles<VNorm, VRadius, 4>(arguments, stream);
}

} // namespace

cudaError_t
LaunchVectorMedian(const VectorArguments & arguments, PixelType type, VectorNorm norm, cudaStream_t stream)
{
  const auto format = GetKeyFormat(type);
  const int  radius = GetVectorTileRadius(arguments, GetPixelBytes(format));
  if (radius != 0)
  {
    return norm == VectorNorm::L1 ? (radius == 1 ? LaunchTiles<VectorNorm::L1, 1>(arguments, stream)
                                                 : LaunchTiles<VectorNorm::L1, 2>(arguments, stream))
                                  : (radius == 1 ? LaunchTiles<VectorNorm::L2, 1>(arguments, stream)
                                                 : LaunchTiles<VectorNorm::L2, 2>(arguments, stream));
  }
  std::int64_t outputs = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    outputs *= arguments.outputExtent[axis];
  }
  const auto blocks = DivideUp(outputs, pixelBlock);
  if (!FitsGrid(blocks))
  {
    return cudaErrorInvalidConfiguration;
  }
  return DispatchKeys(format, [&](auto key) {
    return CallWithDistance(key, norm, [&](auto distance) {
      VectorPixelKernel<decltype(distance)>
        <<<static_cast<unsigned int>(blocks), pixelBlock, 0, stream>>>(arguments, outputs);
      return cudaGetLastError();
    });
  });
}

} // namespace cudamedian
