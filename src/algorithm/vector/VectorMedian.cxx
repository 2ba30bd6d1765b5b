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
#include "itkCudaMedianVectorMedian.h"

#include "MedianBackend.h"
#include "RequestCheck.h"
#include "ToldProgress.h"
#include "VectorDevice.h"
#include "VectorHost.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace cudamedian
{
namespace
{

bool
IsEmpty(const VectorMedianRequest & request)
{
  return std::find(request.outputExtent.begin(), request.outputExtent.end(), 0) != request.outputExtent.end();
}

void
ValidateWindow(const VectorMedianRequest & request)
{
  std::int64_t pixels = 1;
  for (const auto radius : request.radius)
  {
    // The radius is looked at first, so that nothing overflows.
    if (radius < 0 || radius >= mostVectorWindowPixels || (pixels *= 2 * radius + 1) > mostVectorWindowPixels)
    {
      throw RequestError("A window of radius " + Describe(request.radius) +
                         " is not possible for the vector median: radii start at 0 and a window holds at most " +
                         std::to_string(mostVectorWindowPixels) + " pixels");
    }
  }
}

void
ValidateRequest(const VectorMedianRequest & request)
{
  if (request.components < fewestVectorComponents || request.components > mostVectorComponents)
  {
    throw RequestError("Pixels of " + std::to_string(request.components) +
                       " components are not possible for the vector median: it takes " +
                       std::to_string(fewestVectorComponents) + " to " + std::to_string(mostVectorComponents));
  }
  ValidateWindow(request);
  // What is left is the same as for other medians.
  MedianRequest other;
  other.pixelType = request.componentType;
  other.input = request.input;
  other.inputExtent = request.inputExtent;
  other.outputOrigin = request.outputOrigin;
  other.outputExtent = request.outputExtent;
  other.output = request.output;
  other.outputStride = request.outputStride;
  ValidateRequest(other);
}

void
RunOnHost(const VectorMedianRequest & request, ExecutionReport & report)
{
  const auto start = std::chrono::steady_clock::now();
  report.backend = ToString(Backend::Cpu);
  report.device = "host";
  report.deviceMemoryBudget = 0;
  report.numberOfSlabs = 1;
  report.workUnits = std::max(1U, request.workUnits);
  RunVectorMedianOnHost(request, report);
  report.kernelSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void
RunOnDevices(const VectorMedianRequest & request, const std::string & device, ExecutionReport & report)
{
  const auto start = std::chrono::steady_clock::now();
  report.backend = ToString(Backend::Cuda);
  report.device = device;
  RunVectorMedianOnDevices(request, report);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.transferSeconds = std::max(0.0, seconds - report.kernelSeconds);
}

/** Runs a request on CUDA, or on the CPU where CUDA cannot and need not. */
void
RunWhereItCan(const VectorMedianRequest & request, ToldProgress & progress, ExecutionReport & report)
{
  const bool isAutomatic = request.backend == Backend::Auto;
  const auto device = GetCudaBackend().Query(request.devices);
  const auto startReport = report;
  if (!device.usable && !isAutomatic)
  {
    throw DeviceError("The CUDA backend was asked for, which needs an NVIDIA driver and a GPU that this build "
                      "has kernels for; found: " +
                      device.description);
  }
  std::string reason = "automatic: no usable CUDA device; found: " + device.description;
  if (device.usable)
  {
    try
    {
      report.backendReason = isAutomatic ? "automatic" : "asked for";
      RunOnDevices(request, device.description, report);
      return;
    }
    catch (const std::exception & error)
    {
      progress.RethrowException();
      if (!isAutomatic)
      {
        throw;
      }
      reason = std::string("automatic: CUDA failed, and the CPU filtered the image from the start: ") + error.what();
    }
  }
  report = startReport;
  report.backendReason = reason;
  progress.StartAgain();
  RunOnHost(request, report);
}

} // namespace

const char *
ToString(VectorNorm norm)
{
  return norm == VectorNorm::L1 ? "L1" : "L2";
}

ExecutionReport
RunVectorMedian(const VectorMedianRequest & givenRequest)
{
  const auto start = std::chrono::steady_clock::now();
  ValidateRequest(givenRequest);
  VectorMedianRequest request = givenRequest;
  ToldProgress        progress(givenRequest.progress);
  if (givenRequest.progress)
  {
    request.progress = [&progress](float fraction) { progress.Tell(fraction); };
  }
  ExecutionReport report;
  report.algorithmReason = std::string("the norm is ") + ToString(request.norm);
  report.backendReason = "asked for";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    report.window[axis] = 2 * request.radius[axis] + 1;
  }
  if (IsEmpty(request))
  {
    report.backend = ToString(request.backend);
    report.algorithm = "none";
    report.algorithmReason = "the request is empty";
    progress.Tell(1.0F);
  }
  else if (request.backend == Backend::Cpu)
  {
    RunOnHost(request, report);
  }
  else
  {
    RunWhereItCan(request, progress, report);
  }
  report.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace cudamedian
