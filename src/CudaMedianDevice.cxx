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
#include "itkCudaMedianDevice.h"

#include "DeviceImage.h"
#include "HalfFloat.h"
#include "MaskedRequest.h"
#include "PlannedRun.h"
#include "RequestCheck.h"
#include "RequestWindow.h"
#include "ValidPixels.h"

#include <chrono>

namespace cudamedian
{
std::string
FindDeviceObstacle(const MedianRequest & request)
{
  if (request.outputExtent != request.inputExtent || request.outputOrigin != Extent{})
  {
    return "In device memory the output is as large as the input";
  }
  if (request.outlierRule == OutlierRule::Deviations && PixelBytes(request.pixelType) == 8)
  {
    return "In device memory outliers of 64-bit pixels are told by their distance from the median, and not by "
           "deviations";
  }
  if (IsHalfFloat(request.pixelType) && GetMaskedRanks(request).isMean)
  {
    return "In device memory half floats have no mean of two middle values; take the upper or the lower one";
  }
  if (request.rankMap != nullptr)
  {
    return "In device memory all outputs have the same rank";
  }
  return request.convertRow != nullptr ? "In device memory the output has the input's pixel type" : "";
}

namespace
{

/** Plans the request and runs it. */
void
RunAnew(const MedianRequest & request, void * stream, ExecutionReport & report)
{
  const auto verdictChanges = CountVerdictChanges();
  const auto device = FindImageDevice(request);
  report.backend = ToString(Backend::Cuda);
  report.backendReason = "the image is in device memory";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    report.window[axis] = GetWindow(request).GetSize(axis);
  }
  report.border = DescribeBorder(request);
  report.validity = DescribeValidity(request);
  report.footprint = request.footprint != nullptr ? request.footprint->Describe() : report.footprint;
  if (device < 0)
  {
    report.algorithm = "none";
    report.algorithmReason = "the request is empty";
    return;
  }
  // What kernels may take beside the images when the request names no budget.
  constexpr std::size_t defaultBudget = std::size_t{ 1 } << 30;
  const auto &          backend = GetCudaBackend();
  PlanLimits            limits;
  limits.budget = request.deviceMemoryBudget != 0 ? request.deviceMemoryBudget : defaultBudget;
  limits.devices = { device };
  limits.device = backend.GetTraits(limits.devices);
  report.device = "CUDA device " + std::to_string(device);
  auto planned = IsMasked(request) ? MakeCopiedRequest(request) : request;
  planned.outlierRule = OutlierRule::None;
  RunPlanned(backend,
             StartOnDeviceImage(request, planned, device, stream, verdictChanges),
             planned,
             PlanMedian(planned, Backend::Cuda, limits),
             limits,
             report);
}

} // namespace

ExecutionReport
RunMedianOnDevice(const MedianRequest & request, void * stream)
{
  const auto      start = std::chrono::steady_clock::now();
  ExecutionReport report;
  if (!RunKeptCall(request, stream, &report))
  {
    RunAnew(request, stream, report);
  }
  report.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

void
RunMedianOnDeviceQuietly(const MedianRequest & request, void * stream)
{
  if (!RunKeptCall(request, stream, nullptr))
  {
    ExecutionReport report;
    RunAnew(request, stream, report);
  }
}

} // namespace cudamedian
