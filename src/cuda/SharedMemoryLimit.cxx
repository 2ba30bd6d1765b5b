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
#include "SharedMemoryLimit.h"

#include <mutex>

namespace cudamedian
{

cudaError_t
AllowSharedMemory(const void * kernel, int bytes)
{
  // What was set is not remembered: the record would outlive a reset of the device, and kernels that are unloaded.
  static std::mutex                 mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  cudaFuncAttributes                attributes;
  const auto                        error = cudaFuncGetAttributes(&attributes, kernel);
  return error != cudaSuccess || attributes.maxDynamicSharedSizeBytes >= bytes
           ? error
           : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

} // namespace cudamedian
