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
#ifndef BackendEstimate_h
#define BackendEstimate_h

#include "MedianBackend.h"

/** How long the backends would take: what Backend::Auto decides by. */
namespace cudamedian
{

/** Seconds that the CPU backend takes for a plan with the request's work units, or as many as there are cores. */
double
EstimateCpuSeconds(const MedianRequest & request, const Plan & plan, const HostTraits & host);

/** Of a request's work units, how many the CPU backend does a plan with in the least time: of a small image fewer than
 * all, since each thread has to be woken. Knows nothing of the machine but that, and so measures nothing. */
unsigned
ChooseWorkUnits(const MedianRequest & request, const Plan & plan);

/** Seconds that the CUDA backend takes for a plan: copies between the image and pinned memory, transfers and kernels,
 * which overlap as far as there are slabs, and what calls cost. Neither the start of CUDA nor the compilation of a
 * kernel at first use counts: they happen once in a process. \param copyBytes bytes a second over the buses of all
 * devices together, in either direction. */
double
EstimateCudaSeconds(const MedianRequest & request,
                    const Plan &          plan,
                    const ImageMemory &   memory,
                    const HostTraits &    host,
                    double                copyBytes);

/** Seconds that the CUDA backend takes for a request at least, on whatever devices: its calls, and the longest of the
 * copies, the upload and the download. Asks no device. */
double
EstimateLeastCudaSeconds(const MedianRequest & request, const HostTraits & host);

/** "0.25 ms", in three digits. */
std::string
ToMilliseconds(double seconds);

/** "CUDA estimated at 0.25 ms, the CPU with 4 threads at 0.5 ms" */
std::string
DescribeEstimates(const MedianRequest & request, double cudaSeconds, double cpuSeconds);

} // namespace cudamedian

#endif
