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
#include "LentMemory.h"
#include "MaskedRequest.h"
#include "PlannedRun.h"
#include "RequestCheck.h"
#include "RuledRun.h"
#include "StartChoice.h"
#include "ToldProgress.h"
#include "UploadedBoxes.h"
#include "ValidPixels.h"
#include "itkCudaMedianDevice.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
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

ExecutionReport
RunPart(const MedianRequest & givenRequest);

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
    auto gathered = RunGathered(onHost, RunPart);
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

/** How a request is run some of whose pixels do not count, or whose windows see what only copies have. */
struct CopiesChoice
{
  std::vector<UploadedBox> boxes;  ///< to be uploaded; none: copies are made on the host
  std::string              why;    ///< the backend is what it is; empty where it was asked for, or each copy decides
  ExecutionReport          report; ///< tells the budgets that boxes keep to
};

/** The boxes of a request, each as large as the budgets allow; none where those are less than the smallest boxes take.
 * \param report is told the budgets. \throws DeviceError */
std::vector<UploadedBox>
CutForDevices(const MedianRequest & request, ExecutionReport & report)
{
  // More keeps no device busier.
  constexpr std::size_t mostBytes = std::size_t{ 24 } << 20;
  // What a device takes to filter a box, beside its images.
  constexpr std::size_t timesOnDevice = 8;
  GetDeviceLimits(request, {}, report);
  const auto devices = std::max<std::size_t>(1, request.devices.size());
  const auto units = std::min<std::size_t>(std::max(1U, request.workUnits), mostUploadingThreads * devices);
  // Each thread has two boxes on their way. Of twice as many, half as large, launches take longer: 2.8 for 3.3 Gpixel/s
  // of 16 bits with a mask on an H100, with four threads.
  const auto share = static_cast<std::int64_t>(
    std::min(report.hostMemoryBudget, report.deviceMemoryBudget / timesOnDevice) / (2 * units));
  const auto most = std::min(share, static_cast<std::int64_t>(mostBytes));
  auto       boxes = CutIntoUploads(request, 2 * static_cast<std::int64_t>(units), most);
  if (std::any_of(
        boxes.begin(), boxes.end(), [&](const UploadedBox & box) { return GetStagedBytes(request, box) > share; }))
  {
    boxes.clear();
  }
  return boxes;
}

/** Seconds that the CPU is estimated to take for a request in copies; for ever where it cannot run it. */
double
EstimateCopies(const MedianRequest & request)
{
  try
  {
    const auto & host = GetHostRates();
    const auto   copied = MakeCopiedRequest(request);
    return EstimateCopiedSeconds(request, EstimateCpuSeconds(copied, PlanOnHost(copied), host), host);
  }
  catch (const RequestError &)
  {
    return std::numeric_limits<double>::infinity();
  }
}

/** Seconds that boxes in device memory are estimated to take. */
double
EstimateUploads(const MedianRequest & request, std::size_t boxes)
{
  const auto      copied = MakeCopiedRequest(request);
  ExecutionReport ignored;
  const auto      limits = GetDeviceLimits(copied, {}, ignored);
  return EstimateUploadedSeconds(request,
                                 boxes,
                                 PlanMedian(copied, Backend::Cuda, limits).candidate.seconds,
                                 limits.device,
                                 GetHostRates(),
                                 GetCudaBackend().MeasureCopyBytes(request.devices));
}

/** Cuts a request into boxes, or takes the CPU where the backend is left open and that is estimated to be faster. */
void
ChooseUploads(MedianRequest & request, CopiesChoice & choice)
{
  if (request.backend == Backend::Cuda)
  {
    choice.boxes = CutForDevices(request, choice.report);
    return;
  }
  const double onCpu = EstimateCopies(request);
  if (onCpu <= leastUploadSeconds)
  {
    // No device is asked: to ask takes as long.
    request.backend = Backend::Cpu;
    choice.why = "automatic: the CPU estimated at " + ToMilliseconds(onCpu) + ", less than the calls of CUDA take";
    return;
  }
  choice.boxes = CutForDevices(request, choice.report);
  if (choice.boxes.empty())
  {
    return;
  }
  const double onCuda = EstimateUploads(request, choice.boxes.size());
  choice.why = "automatic: " + DescribeEstimates(request, onCuda, onCpu);
  if (onCuda > onCpu)
  {
    choice.boxes.clear();
    request.backend = Backend::Cpu;
  }
}

/** Settles how a request is run in copies, and on which backend where that is left open. */
CopiesChoice
ChooseForCopies(MedianRequest & request)
{
  CopiesChoice choice;
  const bool   isOpen = request.backend == Backend::Auto;
  const auto device = request.backend == Backend::Cpu ? DeviceAvailability{} : GetCudaBackend().Query(request.devices);
  if (!device.usable)
  {
    request.backend = isOpen ? Backend::Cpu : request.backend;
    choice.why = isOpen ? "automatic: no usable CUDA device; found: " + device.description : "";
    return choice;
  }
  if (FindUploadObstacle(request).empty())
  {
    ChooseUploads(request, choice);
    if (!choice.boxes.empty() || request.backend == Backend::Cpu)
    {
      return choice;
    }
  }
  // Preparing copies and counting valid pixels is the host's work on either backend, and of small windows nearly all
  // there is. In Gpixel/s of whole calls with 16 threads on the host of an H100, half of all 8-bit pixels masked, the
  // CPU and CUDA reach 2.1 and 0.8 at 3x3, 1.3 and 0.9 at 7x7, 0.75 and 0.69 at 11x11, 0.43 and 0.54 at 31x31.
  constexpr std::int64_t mostOnCpu = 100;
  if (isOpen && request.algorithm == Algorithm::Automatic && HasRules(request) &&
      GetWindow(request).CountPixels() <= mostOnCpu)
  {
    request.backend = Backend::Cpu;
    choice.why = "automatic: of small windows most is the host's work on either backend, and the CPU transfers nothing";
  }
  return choice;
}

/** Runs a checked request in boxes that are uploaded. */
ExecutionReport
RunUploaded(const MedianRequest & request, const CopiesChoice & choice)
{
  auto report = GetCudaBackend().RunUploaded(request, choice.boxes, MakeUploadedRequest, RunMedianOnDevice);
  report.device = GetCudaBackend().Query(request.devices).description;
  report.backendReason = choice.why.empty() ? "asked for" : choice.why;
  report.deviceMemoryBudget = choice.report.deviceMemoryBudget;
  report.hostMemoryBudget = choice.report.hostMemoryBudget;
  return report;
}

/** Runs a checked request in copies, each of which is a request. */
ExecutionReport
RunCopies(MedianRequest request, const std::string & why)
{
  if (request.backend != Backend::Cpu && request.devices.empty() && GetCudaBackend().Query({}).usable)
  {
    // The calling thread's device is meant. Copies may be run by other threads, whose device is the first one.
    const auto current = GetCudaBackend().Resolve({});
    request.devices = current.front() != 0 ? current : request.devices;
  }
  const auto ruled = request.backend == Backend::Cpu ? RunInRuledRows(request) : std::nullopt;
  auto       report = ruled ? *ruled : RunGathered(request, RunPart);
  report.backendReason = why.empty() ? report.backendReason : why;
  return report;
}

/** Runs a checked request in boxes that are uploaded, or in copies. Where the backend is left open, what CUDA fails at
 * the CPU does from the start. */
ExecutionReport
RunUploadedOrCopied(MedianRequest request, ToldProgress & progress)
{
  const bool   isOpen = request.backend == Backend::Auto;
  CopiesChoice choice;
  try
  {
    choice = ChooseForCopies(request);
    if (!choice.boxes.empty())
    {
      return RunUploaded(request, choice);
    }
  }
  catch (const RequestError &)
  {
    // What is asked for is nothing for boxes, as an algorithm without maps of ranks: copies take another one.
    progress.RethrowException();
    progress.StartAgain();
    choice.why.clear();
  }
  catch (const std::exception & error)
  {
    progress.RethrowException();
    if (!isOpen)
    {
      throw;
    }
    progress.StartAgain();
    request.backend = Backend::Cpu;
    choice.why = std::string("automatic: CUDA failed, and the CPU filtered the image from the start: ") + error.what();
  }
  return RunCopies(request, choice.why);
}

/** Runs a checked request some of whose pixels do not count, or whose windows see what only copies have. */
ExecutionReport
RunInCopies(const MedianRequest & request, ToldProgress & progress)
{
  auto report = RunUploadedOrCopied(request, progress);
  report.validity = DescribeValidity(request);
  report.window = GetWindow(request).GetExtent();
  report.footprint = request.footprint != nullptr ? request.footprint->Describe() : "box";
  return report;
}

/** Runs a checked request on the backend that it names. */
ExecutionReport
RunChecked(MedianRequest request)
{
  ToldProgress progress(request.progress);
  if (request.progress)
  {
    request.progress = [&progress](float fraction) { progress.Tell(fraction); };
  }
  try
  {
    if (!IsEmpty(request.outputExtent) && IsGathered(request) && IsGatheredForCuda(request))
    {
      return RunInCopies(request, progress);
    }
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

/** Runs a request that is known to be one: that of a caller, once it is checked, or a part of it. */
ExecutionReport
RunPart(const MedianRequest & givenRequest)
{
  const auto    start = std::chrono::steady_clock::now();
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

} // namespace

void
ReleaseCachedMemory()
{
  ReleaseKeptMemory();
  GetCudaBackend().ReleaseMemory();
}

ExecutionReport
RunMedian(const MedianRequest & request)
{
  ValidateRequest(request);
  return RunPart(request);
}

} // namespace cudamedian
