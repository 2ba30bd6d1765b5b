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
#ifndef PlannedRun_h
#define PlannedRun_h

#include "MedianBackend.h"
#include "Planner.h"

#include <functional>

namespace cudamedian
{

/** Plans anew within limits. \throws RequestError, DeviceError as PlanMedian(). */
using Planning = std::function<Plan(const PlanLimits & limits)>;

/** Runs a plan on a backend. Where memory is short, or a kernel cannot be had or fails its proof, the planner is asked
 * again, and the report says what was in the way.
 *
 * \param planning makes the plans after the first.
 * \param limits those that the plan was made with.
 * \param report what is known so far; the plan and the run complete it.
 * \throws RequestError, DeviceError where no plan is left. */
void
RunPlanned(const MedianBackend &       backend,
           std::unique_ptr<BackendRun> run,
           const MedianRequest &       request,
           const Planning &            planning,
           Plan                        plan,
           PlanLimits                  limits,
           ExecutionReport &           report);

/** The same, where the request is planned alone. */
void
RunPlanned(const MedianBackend &       backend,
           std::unique_ptr<BackendRun> run,
           const MedianRequest &       request,
           Plan                        plan,
           PlanLimits                  limits,
           ExecutionReport &           report);

/** The same, where the backend starts the run. */
void
RunPlanned(const MedianBackend & backend,
           const MedianRequest & request,
           const Plan &          plan,
           const PlanLimits &    limits,
           ExecutionReport &     report);

/** Has the faster kernel that a plan does without compiled in the background; the report says so. */
void
CompileAwaited(const Plan & plan, ExecutionReport & report);

/** Filters a small image with a kind of kernel on a device, and compares with the host. \returns "" if the result is
 * the host's, else what was wrong. \throws NoMemoryForProof, and DeviceError when the device is lost. */
std::string
TryOutKernel(const MedianBackend & backend, const KernelSubject & subject);

/** There is no memory for a proof, which says nothing about the kernel. */
class NoMemoryForProof : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

} // namespace cudamedian

#endif
