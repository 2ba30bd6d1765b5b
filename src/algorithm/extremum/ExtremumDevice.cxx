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
#include "ExtremumDevice.h"

#include "ExtremumLaunch.h"
#include "ExtremumSteps.h"
#include "LaunchedMethod.h"

namespace cudamedian
{

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
    const ExtremumSteps steps(slab, shapes, sizeof(typename Key::Bits));
    return steps.Run(scratch, scratchBytes, cudaErrorInvalidValue, [&](const ExtremumArguments & arguments) {
      return LaunchExtremumPass<Key>(arguments, stream);
    });
  });
}

std::shared_ptr<const DeviceMethod>
MakeExtremumDeviceMethod(const std::vector<ExtremumShape> & shapes)
{
  return MakeLaunchedMethod(
    KernelMeans::Extremes,
    [shapes](const KernelArguments & slab, const LaunchSetting & given, cudaStream_t stream) {
      return LaunchExtremes(slab, shapes, given.keyFormat, given.scratch, given.scratchBytes, stream);
    },
    // A grid has room for as many blocks, were each of a pixel.
    [](const MedianRequest &) { return std::int64_t{ 1 } << 30; });
}

} // namespace cudamedian
