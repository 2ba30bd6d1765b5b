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
#include "CudaError.h"

namespace cudamedian
{

void
CheckCuda(cudaError_t error, const char * call)
{
  if (error == cudaSuccess)
  {
    return;
  }
  cudaGetLastError();
  std::string text = std::string(call) + " failed: " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error);
  if (cudaDeviceSynchronize() == error && error != cudaErrorMemoryAllocation && error != cudaErrorInvalidValue)
  {
    text += ". The error stays: this process has to be started again before it can use the device";
  }
  cudaGetLastError();
  throw CudaError(error, text);
}

bool
IsLostHandle(cudaError_t error)
{
  return error == cudaErrorInvalidResourceHandle || error == cudaErrorContextIsDestroyed;
}

} // namespace cudamedian
