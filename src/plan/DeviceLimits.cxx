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
#include "DeviceLimits.h"

#include "HostMemory.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** Share of the free device memory that an automatic budget allows: the rest is left to displays and to others. */
constexpr double automaticBudgetShare = 0.8;

} // namespace

std::size_t
CountSharers(const std::vector<int> & devices)
{
  std::ptrdiff_t most = 1;
  for (const int device : devices)
  {
    most = std::max(most, std::count(devices.begin(), devices.end(), device));
  }
  return static_cast<std::size_t>(most);
}

PlanLimits
GetDeviceLimits(const MedianRequest & request, const ImageMemory & memory, ExecutionReport & report)
{
  const auto & backend = GetCudaBackend();
  report.deviceMemoryBudget = request.deviceMemoryBudget;
  if (report.deviceMemoryBudget == 0)
  {
    report.deviceMemoryBudget =
      static_cast<std::size_t>(automaticBudgetShare * static_cast<double>(backend.GetFreeMemory(request.devices)));
  }
  report.hostMemoryBudget =
    request.hostMemoryBudget != 0 ? request.hostMemoryBudget : GetAutomaticHostBudget(GetHostMemoryBytes());
  PlanLimits limits;
  limits.budget = report.deviceMemoryBudget / CountSharers(request.devices);
  limits.staging.input = !memory.pinnedInput;
  limits.staging.output = !memory.pinnedOutput;
  limits.staging.budget = report.hostMemoryBudget / std::max<std::size_t>(1, request.devices.size());
  limits.device = backend.GetTraits(request.devices);
  limits.devices = backend.Resolve(request.devices);
  return limits;
}

} // namespace cudamedian
