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
#include "StartChoice.h"

#include "BackendEstimate.h"
#include "Planner.h"

namespace cudamedian
{

std::optional<StartChoice>
ChooseBeforeStart(const MedianRequest & request, const MedianBackend & cuda, const HostTraits & (*getHost)())
{
  if (request.backend != Backend::Auto)
  {
    return std::nullopt;
  }
  StartChoice choice;
  choice.startSeconds = cuda.GetStartSeconds();
  if (choice.startSeconds <= 0)
  {
    return std::nullopt;
  }
  if (Volume(request.outputExtent) == 0)
  {
    choice.reason = "automatic";
    return choice;
  }
  try
  {
    const auto & host = getHost();
    choice.leastSeconds = EstimateLeastCudaSeconds(request, host);
    choice.cpuSeconds = EstimateCpuSeconds(request, PlanOnHost(request), host);
  }
  catch (const RequestError &)
  {
    return std::nullopt; // told by whoever runs it
  }
  const double cudaSeconds = choice.startSeconds + choice.leastSeconds;
  choice.reason = "automatic: the start of CUDA, " + ToMilliseconds(choice.startSeconds) +
                  ", counted: " + DescribeEstimates(request, cudaSeconds, choice.cpuSeconds);
  return choice.cpuSeconds <= cudaSeconds ? std::optional<StartChoice>(choice) : std::nullopt;
}

void
TellStartChoice(const StartChoice &   choice,
                const MedianRequest & request,
                const MedianBackend & cuda,
                ExecutionReport &     report)
{
  report.backendReason = choice.reason;
  if (choice.cpuSeconds > 0)
  {
    report.estimatedCpuSeconds = choice.cpuSeconds;
    report.estimatedCudaSeconds = choice.startSeconds + choice.leastSeconds;
    cuda.AddLostSeconds(report.totalSeconds - choice.leastSeconds, request.devices);
  }
}

} // namespace cudamedian
