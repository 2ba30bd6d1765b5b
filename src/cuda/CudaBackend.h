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
#ifndef CudaBackend_h
#define CudaBackend_h

#include "BackendEstimate.h"

namespace cudamedian
{

/** Whether all of these devices, or the current one where none is listed, can be used; and their names, or what was
 * found instead. Never throws. Here and below no device is touched that is not listed: nothing is asked of it, and no
 * context is made on it. */
DeviceAvailability
QueryCudaDevices(const std::vector<int> & devices);

/** Free memory of the devices, or of the current one where none is listed, in bytes: the least of one.
 * \throws DeviceError when CUDA does not answer. */
std::size_t
GetFreeDeviceMemory(const std::vector<int> & devices);

/** Which images of a request lie in pinned memory, which is known to CUDA, so that the bus reads and writes it where it
 * lies. \throws DeviceError when CUDA does not answer. */
ImageMemory
FindImageMemory(const MedianRequest & request);

/** What the devices, or the current one where none is listed, get through together. The bus is timed once for each
 * device and process, in some ten milliseconds; kernels are taken to be as fast as those of an H200, by multiprocessors
 * and clock. \throws DeviceError when a CUDA call fails. */
DeviceRates
GetDeviceRates(const std::vector<int> & devices);

/** Runs a plan on the request's devices, slab by slab: upload, kernel and download of different slabs at once.
 *
 * When memory is short, with smaller slabs than planned, and without pinned memory with ordinary memory in its place.
 * Progress is reported, and may stop the run, between slabs. Each of several devices has a thread and a context of its
 * own and is dealt runs of slabs as it gets through them; when one fails on the way, the others take over. Fills in the
 * report's algorithm, memory and times.
 *
 * \throws DeviceError when a CUDA call fails, of several devices on all of them; the text names the call and CUDA's
 * error. */
void
RunOnCuda(const MedianRequest & request, const Plan & plan, ExecutionReport & report);

} // namespace cudamedian

#endif
