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
#ifndef DevicePool_h
#define DevicePool_h

#include <cuda_runtime_api.h>

#include <cstddef>

namespace cudamedian
{

/** Takes memory of the current device in the order of a stream's work, to be given back by cudaFreeAsync().
 *
 * It is that of a pool that this library has on each device, which keeps some of what it has been given back. The
 * device's default pool gives all of it back to the driver whenever somebody waits for a stream, and then maps it page
 * by page at the next call, which may take longer than a kernel does. It is not changed, since it is everybody's. Where
 * the driver cannot tell of a reset, memory comes from the default pool. \throws CudaError */
void *
AllocateFromPool(std::size_t bytes, cudaStream_t stream);

/** Ends the pools, so that what they keep goes back to the driver; what a call under way uses stays until it is given
 * back. Does nothing in a process that was forked after CUDA was started. */
void
ReleaseDevicePools();

} // namespace cudamedian

#endif
