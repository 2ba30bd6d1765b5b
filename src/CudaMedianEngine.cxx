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
#include "itkCudaMedianEngine.h"

#include "BackendEstimate.h"
#include "DeviceLimits.h"
#include "GatheredRun.h"
#include "HostRates.h"
#include "PlannedRun.h"
#include "RequestCheck.h"
#include "StartChoice.h"
#include "ToldProgress.h"
#include "ValidPixels.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace cudamedian
{
namespace
{

bool
IsEmpty(const Extent & extent)
{
  return std::find(extent.begin(), extent.end(), 0) != extent.end();
}

/** A report that says no more than which window, and why which backend. */
ExecutionReport
StartReport(const MedianRequest & request, const std::string & backendReason)
{
  ExecutionReport report;
  report.backendReason = backendReason;
  report.window = GetWindow(request).GetExtent();
  report.footprint = request.footprint != nullptr ? request.footprint->Describe() : report.footprint;
  return report;
}

/** The report of a request for no pixels. */
ExecutionReport
RunNothing(const MedianRequest & request, Backend backend, ExecutionReport report)
{
  report.backend = ToString(backend);
  report.algorithm = "none";
  report.algorithmReason = "the request is empty";
  if (request.progress)
  {
    request.progress(1.0F);
  }
  return report;
}

/** A request with as many work units as it takes the least time with on the CPU, where it may have fewer, and its plan.
 * \throws RequestError where the CPU cannot run it. */
struct HostWork
{
  explicit HostWork(const MedianRequest & given)
    : request(given)
    , plan(PlanOnHost(given))
  {
    // Requests that are run in copies share units out themselves.
    if (given.mayUseFewerUnits && given.workUnits > 1 && !IsGathered(given))
    {
      request.workUnits = ChooseWorkUnits(given, plan);
      plan = request.workUnits != given.workUnits ? PlanOnHost(request) : plan;
    }
  }

  MedianRequest request;
  Plan          plan;
};

ExecutionReport
RunOnHost(const HostWork & work, ExecutionReport report)
{
  const auto & request = work.request;
  report.deviceMemoryBudget = 0;
  report.hostMemoryBudget = 0;
  if (IsGathered(request))
  {
    auto onHost = request;
    onHost.backend = Backend::Cpu;
    auto gathered = RunGathered(onHost, RunMedian);
    gathered.backendReason = report.backendReason;
    gathered.compiling = report.compiling;
    gathered.estimatedCudaSeconds = report.estimatedCudaSeconds;
    gathered.estimatedCpuSeconds = report.estimatedCpuSeconds;
    return gathered;
  }
  RunPlanned(GetCpuBackend(), request, work.plan, {}, report);
  return report;
}

ExecutionReport
RunOnCpuOnly(const MedianRequest & request)
{
  auto report = StartReport(request, "asked for");
  return IsEmpty(request.outputExtent) ? RunNothing(request, Backend::Cpu, report)
                                       : RunOnHost(HostWork(request), report);
}

ExecutionReport
RunOnCudaOnly(const MedianRequest & request)
{
  auto       report = StartReport(request, "asked for");
  const auto device = GetCudaBackend().Query(request.devices);
  if (!device.usable)
  {
    throw DeviceError("The CUDA backend was asked for, which needs an NVIDIA driver and a GPU that this build "
                      "has kernels for; found: " +
                      device.description);
  }
  report.device = device.description;
  if (IsEmpty(request.outputExtent))
  {
    return RunNothing(request, Backend::Cuda, report);
  }
  const auto limits = GetDeviceLimits(request, GetCudaBackend().FindImageMemory(request), report);
  RunPlanned(GetCudaBackend(), request, PlanMedian(request, Backend::Cuda, limits), limits, report);
  return report;
}

/** Whether a request is estimated to be done by CUDA first; the report says why. */
bool
IsCudaFaster(const MedianRequest & request,
             const Plan &          cudaPlan,
             const HostWork &      onHost,
             const ImageMemory &   memory,
             ExecutionReport &     report)
{
  const auto & host = GetHostRates();
  report.estimatedCudaSeconds =
    EstimateCudaSeconds(request, cudaPlan, memory, host, GetCudaBackend().MeasureCopyBytes(request.devices));
  report.estimatedCpuSeconds = EstimateCpuSeconds(onHost.request, onHost.plan, host);
  report.backendReason =
    "automatic: " + DescribeEstimates(onHost.request, report.estimatedCudaSeconds, report.estimatedCpuSeconds);
  return report.estimatedCudaSeconds <= report.estimatedCpuSeconds;
}

/** Has a kernel compiled that CUDA would be faster with than the CPU. */
void
CompileForCuda(const MedianRequest & request, Plan plan, const ImageMemory & memory, ExecutionReport & report)
{
  if (plan.awaited)
  {
    plan.candidate.seconds = plan.awaited->seconds;
    const auto seconds =
      EstimateCudaSeconds(request, plan, memory, GetHostRates(), GetCudaBackend().MeasureCopyBytes(request.devices));
    if (seconds <= report.estimatedCpuSeconds)
    {
      CompileAwaited(plan, report);
      report.backendReason += ", until a faster kernel is compiled";
    }
  }
}

/** Runs a request on the CPU, or on CUDA where that can be used and is estimated to be faster, or the CPU cannot run
 * it. What CUDA fails at the CPU does from the start, which nothing stands against: the input is as it was. */
ExecutionReport
RunOnEither(const MedianRequest & request, ToldProgress & progress)
{
  const auto device = GetCudaBackend().Query(request.devices);
  auto       report = StartReport(
    request, device.usable ? "automatic" : "automatic: no usable CUDA device; found: " + device.description);
  if (IsEmpty(request.outputExtent))
  {
    report.device = device.usable ? device.description : "";
    return RunNothing(request, device.usable ? Backend::Auto : Backend::Cpu, report);
  }
  std::optional<HostWork> onHost;
  std::string             cpuProblem;
  try
  {
    onHost.emplace(request);
  }
  catch (const RequestError & error)
  {
    cpuProblem = error.what();
  }
  if (!device.usable && !onHost)
  {
    throw RequestError(cpuProblem + "; and no usable CUDA device; found: " + device.description);
  }
  if (!device.usable)
  {
    return RunOnHost(*onHost, report);
  }
  try
  {
    report.device = device.description;
    const auto memory = GetCudaBackend().FindImageMemory(request);
    const auto limits = GetDeviceLimits(request, memory, report);
    const auto cudaPlan = PlanMedian(request, Backend::Cuda, limits);
    if (!onHost)
    {
      report.backendReason = "automatic: the CPU cannot run this: " + cpuProblem;
    }
    if (!onHost || IsCudaFaster(request, cudaPlan, *onHost, memory, report))
    {
      RunPlanned(GetCudaBackend(), request, cudaPlan, limits, report);
      return report;
    }
    CompileForCuda(request, cudaPlan, memory, report);
  }
  catch (const RequestError & error)
  {
    progress.RethrowException();
    if (!onHost)
    {
      throw RequestError(std::string("On CUDA: ") + error.what() + "; on the CPU: " + cpuProblem);
    }
    report = StartReport(request, std::string("automatic: CUDA cannot run this: ") + error.what());
  }
  catch (const std::exception & error)
  {
    progress.RethrowException();
    if (!onHost)
    {
      throw;
    }
    report = StartReport(
      request, std::string("automatic: CUDA failed, and the CPU filtered the image from the start: ") + error.what());
  }
  progress.StartAgain();
  return RunOnHost(*onHost, report);
}

/** Settles the backend of a request that is run in copies, where it is left open. \returns why; empty where it was
 * asked for, or each copy decides. */
std::string
ChooseForCopies(MedianRequest & request)
{
  if (request.backend != Backend::Auto)
  {
    return "";
  }
  const auto device = GetCudaBackend().Query(request.devices);
  if (!device.usable)
  {
    request.backend = Backend::Cpu;
    return "automatic: no usable CUDA device; found: " + device.description;
  }
  // Preparing copies and counting valid pixels is the host's work on either backend, and of small windows nearly all
  // there is. In Gpixel/s of whole calls with 16 threads on the host of an H100, half of all 8-bit pixels masked, the
  // CPU and CUDA reach 2.1 and 0.8 at 3x3, 1.3 and 0.9 at 7x7, 0.75 and 0.69 at 11x11, 0.43 and 0.54 at 31x31.
  constexpr std::int64_t mostOnCpu = 100;
  if (request.algorithm == Algorithm::Automatic && HasRules(request) && GetWindow(request).CountPixels() <= mostOnCpu)
  {
    request.backend = Backend::Cpu;
    return "automatic: of small windows most is the host's work on either backend, and the CPU transfers nothing";
  }
  return "";
}

/** Runs a checked request in copies, each of which is a request. */
ExecutionReport
RunInCopies(MedianRequest request)
{
  const auto why = ChooseForCopies(request);
  if (request.backend != Backend::Cpu && request.devices.empty() && GetCudaBackend().Query({}).usable)
  {
    // The calling thread's device is meant. Copies may be run by other threads, whose device is the first one.
    const auto current = GetCudaBackend().Resolve({});
    request.devices = current.front() != 0 ? current : request.devices;
  }
  auto report = RunGathered(request, RunMedian);
  report.backendReason = why.empty() ? report.backendReason : why;
  report.validity = DescribeValidity(request);
  report.window = GetWindow(request).GetExtent();
  report.footprint = request.footprint != nullptr ? request.footprint->Describe() : "box";
  return report;
}

/** Runs a checked request on the backend that it names. */
ExecutionReport
RunChecked(MedianRequest request)
{
  if (!IsEmpty(request.outputExtent) && IsGathered(request) && IsGatheredForCuda(request))
  {
    return RunInCopies(request);
  }
  ToldProgress progress(request.progress);
  if (request.progress)
  {
    request.progress = [&progress](float fraction) { progress.Tell(fraction); };
  }
  try
  {
    return request.backend == Backend::Cpu    ? RunOnCpuOnly(request)
           : request.backend == Backend::Cuda ? RunOnCudaOnly(request)
                                              : RunOnEither(request, progress);
  }
  catch (...)
  {
    progress.RethrowException();
    throw;
  }
}

} // namespace

ExecutionReport
RunMedian(const MedianRequest & givenRequest)
{
  const auto start = std::chrono::steady_clock::now();
  ValidateRequest(givenRequest);
  MedianRequest request = givenRequest;
  if (request.outputPixelBytes == 0)
  {
    request.outputPixelBytes = PixelBytes(request.pixelType);
  }
  const auto choice = ChooseBeforeStart(request, GetCudaBackend(), GetHostRates);
  request.backend = choice ? Backend::Cpu : request.backend;
  auto report = RunChecked(request);
  report.border = DescribeBorder(request);
  report.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (choice)
  {
    TellStartChoice(*choice, request, GetCudaBackend(), report);
  }
  return report;
}

} // namespace cudamedian
