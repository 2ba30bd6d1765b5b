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
#ifndef GatheredRun_h
#define GatheredRun_h

#include "itkCudaMedianEngine.h"

#include <functional>

namespace cudamedian
{

/** Whether a request has to be taken apart: its image does not lie as algorithms read it, some window sees a border
 * other than zero-flux Neumann, or its medians are means of two values. */
bool
IsGathered(const MedianRequest & request);

/** Whether that holds of CUDA too, whose slabs are copied anyway, with their border. */
bool
IsGatheredForCuda(const MedianRequest & request);

/** Runs a request that has to be taken apart. Outputs whose windows lie inside the image are one request. The others
 * are requests on copies of the image with its border, in boxes of some megabytes; what a copy has beside its outputs
 * is as wide as windows reach. On devices windows that are clipped are requests for parts of the outputs, where each
 * part has a single fill (FindSingleFill()).
 *
 * \param run runs a request that needs none of that.
 * \returns the report of the largest part; times, slabs and scratch memory are of all. */
ExecutionReport
RunGathered(const MedianRequest & request, const std::function<ExecutionReport(const MedianRequest &)> & run);

} // namespace cudamedian

#endif
