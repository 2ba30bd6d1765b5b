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
// The vector median's kernels of devices that are threads of the host: the kernel's own body, output by output.
#include "HostRuntime.h"
#include "PixelFormat.h"
#include "VectorLaunch.h"

#include <functional>

namespace cudamedian
{
namespace
{

void
Filter(const VectorArguments & arguments, PixelType type, VectorNorm norm)
{
  const auto * extent = arguments.outputExtent;
  DispatchKeys(GetKeyFormat(type), [&](auto key) {
    CallWithDistance(key, norm, [&](auto distance) {
      std::int64_t pixel[Dimension];
      for (pixel[3] = 0; pixel[3] < extent[3]; ++pixel[3])
        for (pixel[2] = 0; pixel[2] < extent[2]; ++pixel[2])
          for (pixel[1] = 0; pixel[1] < extent[1]; ++pixel[1])
            for (pixel[0] = 0; pixel[0] < extent[0]; ++pixel[0])
            {
              RunVectorPixel<decltype(distance)>(arguments, pixel);
            }
    });
  });
  const auto pixels = static_cast<std::size_t>(extent[0] * extent[1] * extent[2] * extent[3]);
  hostruntime::MarkInitialized(arguments.output,
                               pixels * static_cast<std::size_t>(arguments.components) * PixelBytes(type));
}

} // namespace

cudaError_t
LaunchVectorMedian(const VectorArguments & arguments, PixelType type, VectorNorm norm, cudaStream_t stream)
{
  std::function<void()> work = [arguments, type, norm] { Filter(arguments, type, norm); };
  void *                pointers[] = { &work };
  static_cast<void>(cudaLaunchKernel(nullptr, dim3(), dim3(), pointers, 0, stream));
  return cudaGetLastError();
}

} // namespace cudamedian
