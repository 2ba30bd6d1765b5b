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
#ifndef DeviceLimits_h
#define DeviceLimits_h

#include "MedianBackend.h"
#include "Planner.h"

namespace cudamedian
{

/** How many contexts share the budget of a device, at most: those of one that is listed several times. */
std::size_t
CountSharers(const std::vector<int> & devices);

/** What a plan for the request's devices has to keep to: the request's budgets, or a share of what is free. The report
 * says what they are. \throws DeviceError */
PlanLimits
GetDeviceLimits(const MedianRequest & request, const ImageMemory & memory, ExecutionReport & report);

} // namespace cudamedian

#endif
