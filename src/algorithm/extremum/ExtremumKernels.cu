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
#include "ExtremumLaunch.h"
#include "ExtremumSteps.h"
#include "SharedMemoryLimit.h"

namespace cudamedian
{
namespace
{

/** The threads of a block on the device. */
struct DeviceThreads
{
  template <typename TFunction>
  __device__ __forceinline__ void
  ForEachThread(const TFunction & function) const
  {
    function(static_cast<int>(threadIdx.x));
  }
  __device__ __forceinline__ void
  Synchronize() const
  {
    __syncthreads();
  }
};

template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(extremumThreads, extremumBlocks) ExtremumKernel(const __grid_constant__ ExtremumArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  using Block = ExtremumBlock<TPixelBits, VMapping>;
  const Block block(arguments, blockIdx.x, reinterpret_cast<typename Block::Word *>(shared));
  RunExtremumBlock(DeviceThreads{}, block);
}

} // namespace

cudaError_t
LaunchExtremes(const KernelArguments &            slab,
               const std::vector<ExtremumShape> & shapes,
               KeyFormat                          keyFormat,
               void *                             scratch,
               std::size_t                        scratchBytes,
               cudaStream_t                       stream)
{
  return DispatchKeys(keyFormat, [&](auto key) {
    using Key = decltype(key);
    const auto          kernel = ExtremumKernel<typename Key::Bits, Key::mapping>;
    const ExtremumSteps steps(slab, shapes, sizeof(typename Key::Bits));
    return steps.Run(scratch, scratchBytes, cudaErrorInvalidValue, [&](const ExtremumArguments & arguments) {
      const auto blocks =
        Volume({ { arguments.blocks[0], arguments.blocks[1], arguments.blocks[2], arguments.blocks[3] } });
      const auto sharedBytes = arguments.shape.sharedBytes;
      const auto error = AllowSharedMemory(reinterpret_cast<const void *>(kernel), sharedBytes);
      if (error != cudaSuccess)
      {
        return error;
      }
      kernel<<<static_cast<unsigned int>(blocks), extremumThreads, static_cast<std::size_t>(sharedBytes), stream>>>(
        arguments);
      return cudaGetLastError();
    });
  });
}

} // namespace cudamedian
