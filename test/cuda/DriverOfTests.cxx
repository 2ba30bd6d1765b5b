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
// A driver with two devices that is as far as the environment says, for CudaMedianDriverGTest.cxx.

#include <cstdlib>
#include <cstring>

extern "C" int
cuDevicePrimaryCtxGetState(int device, unsigned int * flags, int * isActive)
{
  const char * const state = std::getenv("CUDAMEDIAN_DRIVER_OF_TESTS");
  if (state == nullptr || std::strcmp(state, "asleep") == 0)
  {
    return 3; // CUDA_ERROR_NOT_INITIALIZED
  }
  if (device > 1)
  {
    return 101; // CUDA_ERROR_INVALID_DEVICE
  }
  *flags = 0;
  *isActive = device == 1 && std::strcmp(state, "used") == 0 ? 1 : 0;
  return 0;
}
