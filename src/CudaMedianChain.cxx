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
#include "itkCudaMedianChain.h"

#include "BackendEstimate.h"
#include "ChainPlan.h"
#include "DeviceLimits.h"
#include "Gather.h"
#include "HostRates.h"
#include "PlannedRun.h"
#include "RequestCheck.h"
#include "SlabRun.h"
#include "StartChoice.h"
#include "itkCudaMedianDevice.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace cudamedian
{
namespace
{

/** Why a chain is not run. */
class ChainObstacle : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** What a step lacks of one in device memory, of slabs of an image; empty where it lacks nothing. */
std::string
FindStepObstacle(const MedianRequest & step)
{
  auto whole = step;
  whole.outputOrigin = {};
  whole.outputExtent = step.inputExtent;
  whole.convertRow = nullptr;
  if (step.pixelType == PixelType::Float16 || step.pixelType == PixelType::BFloat16)
  {
    return "pixels of 16-bit floating point are compared in another form, which the host makes";
  }
  // A step runs by itself on each slab, whose ends are not the image's, and which a mask does not know.
  if (HasShrunkBorder(step))
  {
    return "In a chain windows are not clipped";
  }
  if (step.validity.HasRules())
  {
    return "In a chain all pixels are valid";
  }
  if (step.outlierRule != OutlierRule::None)
  {
    return "In a chain all pixels are replaced by their median";
  }
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (step.border[axis] == Border::Wrap && step.radius[axis] > 0)
    {
      return "windows that wrap around see the far side of the image, which slabs do not have";
    }
  }
  return FindDeviceObstacle(whole);
}

/** Whether each step by itself would go to the CPU because CUDA has not started. \returns why; else empty. */
std::string
FindStartReason(const MedianRequest & images, const std::vector<MedianRequest> & steps)
{
  std::string reason;
  for (const auto & step : steps)
  {
    auto alone = MakeStepAlone(images, step);
    alone.backend = images.backend;
    const auto choice = ChooseBeforeStart(alone, GetCudaBackend(), GetHostRates);
    if (!choice)
    {
      return "";
    }
    reason = reason.empty() ? choice->reason : reason;
  }
  return reason;
}

/** Seconds that a step takes on the CPU; without end where that cannot run it. */
double
EstimateOnCpu(const MedianRequest & step)
{
  try
  {
    return EstimateCpuSeconds(step, PlanOnHost(step), GetHostRates());
  }
  catch (const RequestError &)
  {
    return std::numeric_limits<double>::infinity();
  }
}

/** Seconds that steps take one after the other, each on the backend that is faster. */
double
EstimateOneByOne(const MedianRequest &              images,
                 const std::vector<MedianRequest> & steps,
                 const ImageMemory &                memory,
                 const PlanLimits &                 limits,
                 double                             copyBytes)
{
  double seconds = 0;
  for (const auto & step : steps)
  {
    const auto  alone = MakeStepAlone(images, step);
    ImageMemory own; // what is between steps lies in ordinary memory
    own.pinnedInput = memory.pinnedInput && &step == &steps.front();
    own.pinnedOutput = memory.pinnedOutput && &step == &steps.back();
    const auto plan = PlanMedian(alone, Backend::Cuda, limits);
    const auto onCuda = EstimateCudaSeconds(alone, plan, own, GetHostRates(), copyBytes);
    seconds += std::min(onCuda, EstimateOnCpu(alone));
  }
  return seconds;
}

/** Throws where the chain is left to the steps, because they are estimated to be faster. */
void
CheckEstimate(const MedianRequest &              images,
              const std::vector<MedianRequest> & steps,
              const Plan &                       plan,
              const ImageMemory &                memory,
              const PlanLimits &                 limits,
              ExecutionReport &                  report)
{
  const auto copyBytes = GetCudaBackend().MeasureCopyBytes(images.devices);
  const auto chained = EstimateCudaSeconds(images, plan, memory, GetHostRates(), copyBytes);
  const auto oneByOne = EstimateOneByOne(images, steps, memory, limits, copyBytes);
  const auto text = "in a chain on CUDA estimated at " + ToMilliseconds(chained) + ", one after the other at " +
                    ToMilliseconds(oneByOne);
  if (chained > oneByOne)
  {
    throw ChainObstacle("automatic: " + text);
  }
  report.backendReason = "automatic: " + text;
  report.estimatedCudaSeconds = chained;
}

/** Completes the report of a chain by those of its steps. */
void
DescribeChain(const MedianRequest & images, ChainReport & report)
{
  auto & whole = report.whole;
  whole.algorithm.clear();
  whole.algorithmReason = "what is between the steps stays in device memory";
  std::size_t bytes = 0;
  for (const auto & step : report.steps)
  {
    whole.algorithm += (whole.algorithm.empty() ? "" : ", then ") + step.algorithm;
    bytes = std::max(bytes, step.deviceBytes);
    whole.compiling += (whole.compiling.empty() || step.compiling.empty() ? "" : ", ") + step.compiling;
  }
  whole.deviceBytes += bytes * CountSharers(images.devices);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    whole.window[axis] = 2 * images.radius[axis] + 1;
  }
  whole.footprint = "of each step";
  whole.border = "of each step";
}

/** Runs a chain. \throws RequestError, DeviceError, ChainObstacle. */
void
Run(MedianRequest images, std::vector<MedianRequest> steps, ChainReport & report)
{
  report.whole.backendReason = "asked for";
  if (const auto reason = FindStartReason(images, steps); !reason.empty())
  {
    throw ChainObstacle(reason);
  }
  const auto device = GetCudaBackend().Query(images.devices);
  if (!device.usable)
  {
    throw ChainObstacle("no usable CUDA device; found: " + device.description);
  }
  report.whole.device = device.description;
  const auto memory = GetCudaBackend().FindImageMemory(images);
  auto       limits = GetDeviceLimits(images, memory, report.whole);
  // The other half is for what kernels take beside the images.
  limits.budget /= 2;
  for (auto & step : steps)
  {
    step.deviceMemoryBudget = images.deviceMemoryBudget == 0 ? 0 : limits.budget;
  }
  const auto planning = [&](const PlanLimits & given) { return PlanChain(images, steps, given); };
  const auto plan = planning(limits);
  if (images.backend == Backend::Auto)
  {
    CheckEstimate(images, steps, plan, memory, limits, report.whole);
  }
  auto run = StartChainRun(images, steps, plan.slabs.size(), report.steps);
  RunPlanned(GetCudaBackend(), std::move(run), images, planning, plan, limits, report.whole);
  DescribeChain(images, report);
}

} // namespace

std::string
FindChainObstacle(const std::vector<MedianRequest> & steps)
{
  if (steps.size() < 2)
  {
    return "a chain has two steps or more, and there " + std::string(steps.empty() ? "is none" : "is one");
  }
  for (const auto & step : steps)
  {
    const auto number = "step " + std::to_string(&step - steps.data());
    if (step.pixelType != steps.front().pixelType || step.devices != steps.front().devices)
    {
      return number + " has other pixels than the first, or other devices";
    }
    if (step.backend == Backend::Cpu)
    {
      return number + " is to run on the CPU";
    }
    const auto obstacle = FindStepObstacle(step);
    if (!obstacle.empty())
    {
      return number + ": " + obstacle;
    }
  }
  return "";
}

ChainReport
RunMedianChain(const std::vector<MedianRequest> & steps)
{
  const auto  start = std::chrono::steady_clock::now();
  ChainReport report;
  report.whyNot = FindChainObstacle(steps);
  if (!report.whyNot.empty())
  {
    return report;
  }
  auto images = MakeChainRequest(steps);
  if (Volume(images.outputExtent) == 0)
  {
    report.whyNot = "the request is empty";
    return report;
  }
  images.outputPixelBytes = images.outputPixelBytes == 0 ? PixelBytes(images.pixelType) : images.outputPixelBytes;
  std::exception_ptr ofProgress;
  if (const auto tell = images.progress)
  {
    images.progress = [&ofProgress, tell](float fraction) {
      try
      {
        tell(fraction);
      }
      catch (...)
      {
        ofProgress = std::current_exception();
        throw;
      }
    };
  }
  try
  {
    for (const auto & step : steps)
    {
      ValidateRequest(MakeStepAlone(images, step));
    }
    Run(images, steps, report);
  }
  catch (const std::exception & error)
  {
    if (ofProgress)
    {
      std::rethrow_exception(ofProgress);
    }
    report.whyNot = error.what();
    report.steps.clear();
  }
  report.whole.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace cudamedian
