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
#include "CudaBackend.h"

namespace cudamedian
{

DeviceAvailability
QueryCudaDevice()
{
  return { false, "this build of CudaMedian has no CUDA backend (no CUDA compiler when it was configured)" };
}

DeviceAvailability
QueryCudaDevices(const std::vector<int> &)
{
  return QueryCudaDevice();
}

std::size_t
GetFreeDeviceMemory(const std::vector<int> &)
{
  throw DeviceError(QueryCudaDevice().description);
}

ImageMemory
FindImageMemory(const MedianRequest &)
{
  return {};
}

DeviceRates
GetDeviceRates(const std::vector<int> &)
{
  throw DeviceError(QueryCudaDevice().description);
}

void
ReleaseCachedMemory()
{}

void *
AllocatePinnedMemory(std::size_t)
{
  return nullptr;
}

void
FreePinnedMemory(void *)
{}

void
RunOnCuda(const MedianRequest &, const Plan &, ExecutionReport &)
{
  throw DeviceError(QueryCudaDevice().description);
}

} // namespace cudamedian
