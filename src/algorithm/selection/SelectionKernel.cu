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
#include "LaunchShape.h"
#include "SelectedPixel.h"
#include "SelectionLaunch.h"

namespace cudamedian
{
namespace
{

constexpr int selectionBlock = 128;

/** Blocks of selection that a multiprocessor runs at once, where the compiler is told. On sm_90 that is as many as it
 * chose when kernels computed the rank: with 32 registers for pixels of 16 bits and 40 for others. Left to itself, it
 * takes 40 and up to 48. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
template <typename TPixelBits>
constexpr int selectionBlocks = sizeof(TPixelBits) == 2 ? 16 : 12;
#else
template <typename TPixelBits>
constexpr int selectionBlocks = 0;
#endif

template <typename TPixelBits, KeyMapping VMapping, bool VHasMap>
__global__ void
__launch_bounds__(selectionBlock, selectionBlocks<TPixelBits>)
  SelectionKernel(const __grid_constant__ KernelArguments arguments, const __grid_constant__ LaunchShape shape)
{
  std::int64_t pixel[Dimension];
  if (shape.GetTile(blockIdx.x, static_cast<int>(threadIdx.x), 0, pixel))
  {
    RunSelectedPixel<TPixelBits, VMapping, VHasMap>(arguments, pixel);
  }
}

} // namespace

cudaError_t
LaunchSelection(const KernelArguments & arguments, KeyFormat keyFormat, cudaStream_t stream)
{
  const int  single[Dimension] = { 1, 1, 1, 1 };
  const auto shape = GetLaunchShape(arguments.outputExtent, single, 1, selectionBlock, 1);
  return DispatchKeys(keyFormat, [&](auto key) {
    using Bits = typename decltype(key)::Bits;
    if (arguments.rankMap != nullptr)
    {
      SelectionKernel<Bits, decltype(key)::mapping, true>
        <<<shape.GetGrid(), selectionBlock, 0, stream>>>(arguments, shape);
    }
    else
    {
      SelectionKernel<Bits, decltype(key)::mapping, false>
        <<<shape.GetGrid(), selectionBlock, 0, stream>>>(arguments, shape);
    }
    return cudaGetLastError();
  });
}

} // namespace cudamedian
