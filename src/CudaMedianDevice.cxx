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
#include "PlannedRun.h"
#include "RequestWindow.h"

#include <chrono>

namespace cudamedian
{

ExecutionReport
RunMedianOnDevice(const MedianRequest & request, void * stream)
{
  const auto      start = std::chrono::steady_clock::now();
  const auto      device = FindImageDevice(request);
  ExecutionReport report;
  report.backend = ToString(Backend::Cuda);
  report.backendReason = "the image is in device memory";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    report.window[axis] = GetWindow(request).GetSize(axis);
  }
  if (device < 0)
  {
    report.algorithm = "none";
    report.algorithmReason = "the request is empty";
    return report;
  }
  // What kernels may take beside the images when the request names no budget.
  constexpr std::size_t defaultBudget = std::size_t{ 1 } << 30;
  const auto &          backend = GetCudaBackend();
  PlanLimits            limits;
  limits.budget = request.deviceMemoryBudget != 0 ? request.deviceMemoryBudget : defaultBudget;
  limits.devices = { device };
  limits.device = backend.GetTraits(limits.devices);
  report.device = "CUDA device " + std::to_string(device);
  RunPlanned(backend,
             StartOnDeviceImage(request, device, stream),
             request,
             PlanMedian(request, Backend::Cuda, limits),
             limits,
             report);
  report.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace cudamedian
