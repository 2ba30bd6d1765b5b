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
#ifndef LaunchedMethod_h
#define LaunchedMethod_h

#include "DeviceMethod.h"
#include "PixelFormat.h"

#include <functional>

namespace cudamedian
{

/** What a launch is told besides the slab. */
struct LaunchSetting
{
  KeyFormat      keyFormat;
  void *         scratch; ///< the candidate's scratch memory on the device
  std::size_t    scratchBytes;
  MergeStreams & mergeStreams;
};

/** Launches an algorithm's kernels for a slab. Asynchronous on the stream. \returns CUDA's error. */
using LaunchFunction = std::function<cudaError_t(const KernelArguments &, const LaunchSetting &, cudaStream_t)>;

/** What SlabLauncher::GetLargestLaunch() returns for a request. */
using LargestLaunchFunction = std::function<std::int64_t(const MedianRequest &)>;

/** Makes the device method of an algorithm whose kernels are in the library. They need no preparation but their scratch
 * memory.
 * \param getLargestLaunch empty where the kernels keep their own launches short. */
std::shared_ptr<const DeviceMethod>
MakeLaunchedMethod(KernelMeans means, LaunchFunction launch, LargestLaunchFunction getLargestLaunch = {});

} // namespace cudamedian

#endif
