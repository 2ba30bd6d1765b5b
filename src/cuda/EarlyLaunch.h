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
#ifndef EarlyLaunch_h
#define EarlyLaunch_h

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** Whether the code that the driver loaded for a kernel waits for those in front of it by itself (EarlyStart.h), if its
 * source does: code of older architectures cannot. Holds as long as the device's CUDA context. \returns CUDA's error.
 */
cudaError_t
AwaitsKernelsInFront(const void * kernel, bool & awaits);

/** Launches a kernel. \param isEarly whether it waits by itself for those in front of it, so that the device may start
 * it before these have ended: AwaitsKernelsInFront() said so. Streams that are being captured take it as any other
 * kernel, since not all that reads a graph knows such edges. */
cudaError_t
LaunchKernel(const void * kernel,
             dim3         grid,
             dim3         threads,
             void **      parameters,
             int          sharedBytes,
             bool         isEarly,
             cudaStream_t stream);

} // namespace cudamedian

#endif
