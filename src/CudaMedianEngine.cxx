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
#include "CpuBackend.h"
#include "CudaBackend.h"
#include "HostRates.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>

namespace cudamedian
{
namespace
{

/** Share of the free device memory that an automatic budget allows: the rest is left to displays and to others. */
constexpr double automaticBudgetShare = 0.8;

std::string
Describe(const Extent & extent)
{
  std::string text = "(";
  for (const auto value : extent)
  {
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  }
  return text + ")";
}

bool
IsEmpty(const Extent & extent)
{
  return std::find(extent.begin(), extent.end(), 0) != extent.end();
}

void
Validate(const MedianRequest & request)
{
  std::int64_t windowPixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto size = request.inputExtent[axis];
    if (size < 0 || request.outputExtent[axis] < 0 || request.outputOrigin[axis] < 0 ||
        request.outputOrigin[axis] + request.outputExtent[axis] > size)
    {
      throw RequestError("The requested box at " + Describe(request.outputOrigin) + " of size " +
                         Describe(request.outputExtent) + " is not inside an input of size " +
                         Describe(request.inputExtent));
    }
    constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
    const auto     radius = request.radius[axis];
    if (radius < 0 || radius > most || windowPixels > most / (2 * radius + 1))
    {
      throw RequestError("A window of radius " + Describe(request.radius) +
                         " is not possible: radii start at 0 and a window holds at most " + std::to_string(most) +
                         " pixels");
    }
    windowPixels *= 2 * radius + 1;
  }
  if (!IsEmpty(request.outputExtent) && (request.input == nullptr || request.output == nullptr))
  {
    throw RequestError("The input or the output buffer is null");
  }
  if (request.outputStride[0] != 1)
  {
    throw RequestError("The output's stride along axis 0 is " + std::to_string(request.outputStride[0]) +
                       " but must be 1");
  }
}

/** How many contexts share the budget of a device, at most. */
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

/** The backend that was asked for or is the only one, or `Auto` where there is a choice. */
Backend
FindBackend(const MedianRequest & request, ExecutionReport & report)
{
  if (request.backend == Backend::Cpu)
  {
    report.backendReason = "asked for";
    return Backend::Cpu;
  }
  const auto device = QueryCudaDevices(request.devices);
  report.device = device.usable ? device.description : "";
  if (request.backend == Backend::Cuda)
  {
    if (!device.usable)
    {
      throw DeviceError("The CUDA backend was asked for, which needs an NVIDIA driver and a GPU that this build "
                        "has kernels for; found: " +
                        device.description);
    }
    report.backendReason = "asked for";
    return Backend::Cuda;
  }
  if (!device.usable)
  {
    report.backendReason = "automatic: no usable CUDA device; found: " + device.description;
    return Backend::Cpu;
  }
  report.backendReason = "automatic";
  return Backend::Auto;
}

Plan
PlanForCuda(const MedianRequest & request, ExecutionReport & report)
{
  report.deviceMemoryBudget = request.deviceMemoryBudget;
  if (report.deviceMemoryBudget == 0)
  {
    report.deviceMemoryBudget =
      static_cast<std::size_t>(automaticBudgetShare * static_cast<double>(GetFreeDeviceMemory(request.devices)));
  }
  return PlanMedian(request, Backend::Cuda, report.deviceMemoryBudget / CountSharers(request.devices));
}

std::string
ToMilliseconds(double seconds)
{
  std::ostringstream text;
  text.precision(3);
  text << seconds * 1e3 << " ms";
  return text.str();
}

/** The plan of the backend that is estimated to be done first. */
Plan
PlanForFastest(const MedianRequest & request, ExecutionReport & report)
{
  const auto          cudaPlan = PlanForCuda(request, report);
  std::optional<Plan> cpuPlan;
  try
  {
    cpuPlan = PlanMedian(request, Backend::Cpu, 0);
  }
  catch (const RequestError & error)
  {
    report.backendReason = std::string("automatic: the CPU cannot run this: ") + error.what();
    return cudaPlan;
  }
  const auto &      host = GetHostRates();
  const ImageMemory memory{ IsPinnedMemory(request.input),
                            request.convertRow == nullptr && IsPinnedMemory(request.output) };
  report.estimatedCudaSeconds = EstimateCudaSeconds(request, cudaPlan, memory, host, GetDeviceRates(request.devices));
  report.estimatedCpuSeconds = EstimateCpuSeconds(request, *cpuPlan, host);
  report.backendReason = "automatic: CUDA estimated at " + ToMilliseconds(report.estimatedCudaSeconds) +
                         ", the CPU with " + std::to_string(std::max(1U, request.workUnits)) + " threads at " +
                         ToMilliseconds(report.estimatedCpuSeconds);
  return report.estimatedCudaSeconds <= report.estimatedCpuSeconds ? cudaPlan : *cpuPlan;
}

Plan
PlanForBackend(const MedianRequest & request, Backend backend, ExecutionReport & report)
{
  switch (backend)
  {
    case Backend::Cuda:
      return PlanForCuda(request, report);
    case Backend::Cpu:
      return PlanMedian(request, Backend::Cpu, 0);
    default:
      return PlanForFastest(request, report);
  }
}

} // namespace

std::size_t
PixelBytes(PixelType type)
{
  switch (type)
  {
    case PixelType::Int8:
    case PixelType::UInt8:
      return 1;
    case PixelType::Int16:
    case PixelType::UInt16:
      return 2;
    case PixelType::Int32:
    case PixelType::UInt32:
    case PixelType::Float32:
      return 4;
    default:
      return 8;
  }
}

const char *
ToString(Backend backend)
{
  switch (backend)
  {
    case Backend::Cuda:
      return "CUDA";
    case Backend::Cpu:
      return "CPU";
    default:
      return "Auto";
  }
}

const char *
ToString(Algorithm algorithm)
{
  switch (algorithm)
  {
    case Algorithm::TileProgram:
      return "tile program";
    case Algorithm::LocalRank:
      return "local ranks";
    case Algorithm::SlidingHistogram:
      return "sliding histograms";
    case Algorithm::Selection:
      return "selection";
    case Algorithm::MergeTiling:
      return "merge tiling";
    default:
      return "automatic";
  }
}

const char *
ToString(PixelType type)
{
  constexpr const char * names[] = { "int8",   "uint8", "int16",  "uint16",  "int32",
                                     "uint32", "int64", "uint64", "float32", "float64" };
  return names[static_cast<std::size_t>(type)];
}

void
ExecutionReport::Print(std::ostream & os, const std::string & indent) const
{
  os << indent << "Backend: " << backend << " (" << backendReason << ")\n"
     << indent << "Device: " << device << "\n"
     << indent << "Algorithm: " << algorithm << " (" << algorithmReason << ")\n"
     << indent << "Window: " << Describe(window) << "\n"
     << indent << "Tile: " << Describe(tile) << " (" << tileReason << ")\n"
     << indent << "Operations: " << operations << "\n"
     << indent << "Slabs: " << numberOfSlabs << " (" << slabReason << ")\n"
     << indent << "Device memory budget: " << deviceMemoryBudget << " bytes\n"
     << indent << "Device memory used: " << deviceBytes << " bytes\n"
     << indent << "Work units: " << workUnits << "\n"
     << indent << "Host scratch memory: " << hostScratchBytes << " bytes\n"
     << indent << "Transfer time: " << transferSeconds << " s\n"
     << indent << "Kernel time: " << kernelSeconds << " s\n"
     << indent << "Total time: " << totalSeconds << " s\n";
  if (estimatedCudaSeconds > 0)
  {
    os << indent << "Estimated time on CUDA: " << estimatedCudaSeconds << " s\n"
       << indent << "Estimated time on the CPU: " << estimatedCpuSeconds << " s\n";
  }
}

ExecutionReport
RunMedian(const MedianRequest & givenRequest)
{
  const auto start = std::chrono::steady_clock::now();
  Validate(givenRequest);
  MedianRequest request = givenRequest;
  if (request.outputPixelBytes == 0)
  {
    request.outputPixelBytes = PixelBytes(request.pixelType);
  }

  ExecutionReport report;
  const auto      backend = FindBackend(request, report);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    report.window[axis] = 2 * request.radius[axis] + 1;
  }
  if (IsEmpty(request.outputExtent))
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

  const auto plan = PlanForBackend(request, backend, report);
  const bool cuda = plan.backend == Backend::Cuda;
  DescribePlan(plan, report);
  report.deviceMemoryBudget = cuda ? report.deviceMemoryBudget : 0;
  if (cuda)
  {
    RunOnCuda(request, plan, report);
  }
  else
  {
    RunOnCpu(request, plan, report);
  }
  report.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace cudamedian
