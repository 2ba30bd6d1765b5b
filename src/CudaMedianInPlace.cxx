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
#include "BackendEstimate.h"
#include "DeviceLimits.h"
#include "HostRates.h"
#include "InPlace.h"
#include "PlannedRun.h"
#include "RequestCheck.h"
#include "RequestWindow.h"
#include "SlabRun.h"
#include "StartChoice.h"
#include "ToldProgress.h"
#include "itkCudaMedianInPlace.h"

#include <chrono>
#include <memory>
#include <utility>

namespace cudamedian
{
namespace
{

/** Why nothing is filtered in place. */
class InPlaceObstacle : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

void
ThrowUnlessEmpty(const std::string & obstacle)
{
  if (!obstacle.empty())
  {
    throw InPlaceObstacle(obstacle);
  }
}

/** A run that says whether it has begun to write. */
class WatchedRun : public BackendRun
{
public:
  WatchedRun(std::unique_ptr<BackendRun> run, bool & hasBegun)
    : m_Run(std::move(run))
    , m_HasBegun(hasBegun)
  {}

  Obstacle
  Reserve(const Plan & plan, bool ordinaryStaging, bool withoutProof) override
  {
    return m_Run->Reserve(plan, ordinaryStaging, withoutProof);
  }

  void
  Execute(const Plan & plan, ExecutionReport & report) override
  {
    m_HasBegun = true;
    m_Run->Execute(plan, report);
  }

private:
  std::unique_ptr<BackendRun> m_Run;
  bool &                      m_HasBegun;
};

/** Throws where the CPU is estimated to be faster, which needs memory for the output. */
void
CheckEstimate(const MedianRequest & request, const Plan & plan, const ImageMemory & memory, ExecutionReport & report)
{
  const auto cuda =
    EstimateCudaSeconds(request, plan, memory, GetHostRates(), GetCudaBackend().MeasureCopyBytes(request.devices));
  double cpu = 0;
  try
  {
    cpu = EstimateCpuSeconds(request, PlanOnHost(request), GetHostRates());
  }
  catch (const RequestError & error)
  {
    report.backendReason = std::string("automatic: the CPU cannot run this: ") + error.what();
    return;
  }
  report.backendReason = "automatic: " + DescribeEstimates(request, cuda, cpu);
  report.estimatedCudaSeconds = cuda;
  report.estimatedCpuSeconds = cpu;
  ThrowUnlessEmpty(cuda <= cpu ? "" : report.backendReason);
}

/** Runs a request in place. \throws InPlaceObstacle, RequestError, DeviceError; and what the progress throws. */
void
Run(const MedianRequest & request, bool & hasBegun, ExecutionReport & report)
{
  const auto & backend = GetCudaBackend();
  const auto   device = backend.Query(request.devices);
  ThrowUnlessEmpty(device.usable ? "" : "no usable CUDA device; found: " + device.description);
  ThrowUnlessEmpty(backend.Resolve(request.devices).size() == 1 ? "" : "several devices take slabs in any order");
  report.device = device.description;
  const auto memory = backend.FindImageMemory(request);
  const auto limits = GetDeviceLimits(request, memory, report);
  const auto planning = [&request](const PlanLimits & given) {
    auto plan = PlanMedian(request, Backend::Cuda, given);
    ThrowUnlessEmpty(FindOverwrittenInput(request, plan));
    return plan;
  };
  const auto plan = planning(limits);
  if (request.backend == Backend::Auto)
  {
    CheckEstimate(request, plan, memory, report);
  }
  auto run = std::make_unique<WatchedRun>(backend.Start(request, plan.slabs.size()), hasBegun);
  RunPlanned(backend, std::move(run), request, planning, plan, limits, report);
}

} // namespace

InPlaceReport
RunMedianInPlace(const MedianRequest & givenRequest)
{
  const auto    start = std::chrono::steady_clock::now();
  auto          request = givenRequest;
  InPlaceReport report;
  auto &        whole = report.whole;
  whole.backendReason = "asked for";
  whole.window = GetWindow(request).GetExtent();
  whole.footprint = request.footprint != nullptr ? request.footprint->Describe() : whole.footprint;
  ToldProgress progress(request.progress);
  request.progress = [&progress](float fraction) { progress.Tell(fraction); };
  bool hasBegun = false;
  try
  {
    ValidateRequest(request);
    ThrowUnlessEmpty(FindInPlaceObstacle(request));
    ThrowUnlessEmpty(Volume(request.outputExtent) > 0 ? "" : "the request is empty");
    request.outputPixelBytes = PixelBytes(request.pixelType);
    const auto choice = ChooseBeforeStart(request, GetCudaBackend(), GetHostRates);
    ThrowUnlessEmpty(choice ? choice->reason : "");
    Run(request, hasBegun, whole);
    whole.border = DescribeBorder(request);
  }
  catch (const std::exception & error)
  {
    progress.RethrowException();
    if (hasBegun)
    {
      throw DeviceError(std::string("The image was filtered in its own memory, and is lost: ") + error.what());
    }
    report.whyNot = error.what();
  }
  whole.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace cudamedian
