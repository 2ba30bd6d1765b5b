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
#ifndef ChainPlan_h
#define ChainPlan_h

#include "Planner.h"

#include <vector>

namespace cudamedian
{

/** A request for the images of a chain, whose window is a box that reaches as far as all of its steps' windows
 * together. It is never filtered: slabs are cut for it. Budgets are the least of the steps. */
MedianRequest
MakeChainRequest(const std::vector<MedianRequest> & steps);

/** Plans the run of a chain on devices: slabs that have the halo of all steps, and room for what is between them. The
 * candidate stands for all steps; what runs each is planned for each slab.
 *
 * \param images what MakeChainRequest() returned.
 * \throws RequestError, DeviceError as PlanMedian(); RequestError also where slabs would be little more than halo. */
Plan
PlanChain(const MedianRequest & images, const std::vector<MedianRequest> & steps, const PlanLimits & limits);

/** A step of a chain as a request of its own, for the outputs of the chain. */
MedianRequest
MakeStepAlone(const MedianRequest & images, const MedianRequest & step);

} // namespace cudamedian

#endif
