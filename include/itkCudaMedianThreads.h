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
#ifndef itkCudaMedianThreads_h
#define itkCudaMedianThreads_h

#include "CudaMedianExport.h"

#include <cstddef>
#include <functional>

namespace cudamedian
{

/** Runs body(0) in the thread that calls it, and body(1) to body(count-1) beside it, in threads that are kept for the
 * next call: a MedianRequest::parallelFor for whoever has no threads. Returns when all are done, also when body(0)
 * throws; the others must not throw. A second call at the same time has threads of its own, and so has a forked
 * process. Where the system has no thread for a body, it runs in one of those that are there.
 *
 * To start a thread takes some ten microseconds, and on a virtual machine ten times as many: as long as a small image.
 */
CudaMedian_EXPORT void
RunInKeptThreads(std::size_t count, const std::function<void(std::size_t)> & body);

} // namespace cudamedian

#endif
