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
#ifndef CudaMedianTestPlans_h
#define CudaMedianTestPlans_h

#include "DeviceProfiles.h"
#include "Planner.h"

namespace cudamediantest
{

/** Plans a request for an H200, which need not be at hand, or for the CPU. */
inline cudamedian::Plan
PlanOnH200(const cudamedian::MedianRequest & request,
           cudamedian::Backend               backend,
           std::size_t                       budget,
           const cudamedian::Staging &       staging = {})
{
  cudamedian::PlanLimits limits;
  limits.budget = budget;
  limits.staging = staging;
  limits.device = cudamedian::GetH200Traits();
  return PlanMedian(request, backend, limits);
}

} // namespace cudamediantest

#endif
