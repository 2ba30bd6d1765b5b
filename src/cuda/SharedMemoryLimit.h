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
#ifndef SharedMemoryLimit_h
#define SharedMemoryLimit_h

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** Lets a block of a kernel have at least so many bytes of dynamic shared memory on the current device.
 *
 * A kernel has one limit on a device, whichever thread launches it. Here the limit only rises: no thread lowers it
 * between another thread's call and that one's launch. Thread-safe. \returns CUDA's error. */
cudaError_t
AllowSharedMemory(const void * kernel, int bytes);

} // namespace cudamedian

#endif
