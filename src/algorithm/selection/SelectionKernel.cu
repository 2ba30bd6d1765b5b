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

template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(selectionBlock)
  SelectionKernel(const __grid_constant__ KernelArguments arguments, const __grid_constant__ LaunchShape shape)
{
  std::int64_t pixel[Dimension];
  if (shape.GetTile(blockIdx.x, static_cast<int>(threadIdx.x), 0, pixel))
  {
    RunSelectedPixel<TPixelBits, VMapping>(arguments, pixel);
  }
}

} // namespace

cudaError_t
LaunchSelection(const KernelArguments & arguments, KeyFormat keyFormat, cudaStream_t stream)
{
  const int  single[Dimension] = { 1, 1, 1, 1 };
  const auto shape = GetLaunchShape(arguments.outputExtent, single, 1, selectionBlock, 1);
  return DispatchKeys(keyFormat, [&](auto key) {
    SelectionKernel<typename decltype(key)::Bits, decltype(key)::mapping>
      <<<shape.GetGrid(), selectionBlock, 0, stream>>>(arguments, shape);
    return cudaGetLastError();
  });
}

} // namespace cudamedian
