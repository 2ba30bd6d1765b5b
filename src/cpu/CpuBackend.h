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
#ifndef CpuBackend_h
#define CpuBackend_h

#include "Planner.h"

namespace cudamedian
{

/** Runs a plan on the host, rows of tiles dealt to the request's work units as they become free.
 *
 * Tile programs run lane by lane along axis 0 on keys of the pixel's own width; larger windows slide over the ranks of
 * a block, or are selected pixel by pixel. Progress is reported, and may stop the run, between rows of the calling
 * thread. Scratch memory per work unit: the footprint's rows and the program's slots for one segment of a row, about 1
 * MiB at most unless a single segment of the footprint's rows takes more.
 *
 * Fills in the report's device, work units and times. Makes no CUDA call. */
void
RunOnCpu(const MedianRequest & request, const Plan & plan, ExecutionReport & report);

} // namespace cudamedian

#endif
