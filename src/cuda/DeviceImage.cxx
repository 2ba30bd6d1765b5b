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
#include "DeviceImage.h"

#include "BorrowedContext.h"
#include "CurrentDevice.h"
#include "DevicePool.h"
#include "Gather.h"
#include "KeptCalls.h"
#include "MaskedLaunch.h"
#include "RequestCheck.h"
#include "RequestWindow.h"
#include "itkCudaMedianDevice.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

namespace cudamedian
{
namespace
{

/** Asks for the device that a buffer lies on, -1 where it does not lie on one. \returns CUDA's error. */
cudaError_t
AskForDevice(const void * pointer, int & device)
{
  cudaPointerAttributes attributes{};
  const auto            error = cudaPointerGetAttributes(&attributes, pointer);
  const auto            type = attributes.type;
  device = type == cudaMemoryTypeDevice || type == cudaMemoryTypeManaged ? attributes.device : -1;
  return error;
}

/** The device that a buffer lies on. \throws RequestError when it does not lie on one. */
int
FindDevice(const void * pointer, const char * name)
{
  int device = -1;
  CheckCuda(AskForDevice(pointer, device), "cudaPointerGetAttributes");
  if (device < 0)
  {
    throw RequestError(std::string("The ") + name + " does not lie in device memory");
  }
  return device;
}

/** From the first byte of an image of a request's size to behind its last. */
std::pair<std::uintptr_t, std::uintptr_t>
GetSpan(const void * image, const MedianRequest & request, const Extent & stride, std::size_t pixelBytes)
{
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto reach = std::max<std::int64_t>(request.inputExtent[axis] - 1, 0) * stride[axis];
    (reach < 0 ? first : last) += reach;
  }
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(image);
  return { begin + static_cast<std::uintptr_t>(first * bytes),
           begin + static_cast<std::uintptr_t>((last + 1) * bytes) };
}

bool
DoesOutputOverlapInput(const MedianRequest & request)
{
  const auto bytes = PixelBytes(request.pixelType);
  const auto input = GetSpan(request.input, request, GetInputStride(request), bytes);
  const auto output = GetSpan(request.output, request, request.outputStride, bytes);
  return input.first < output.second && output.first < input.second;
}

bool
DoesOutputOverlapMask(const MedianRequest & request)
{
  const auto mask = GetSpan(request.validity.mask, request, GetMaskStride(request), request.validity.maskPixelBytes);
  const auto output = GetSpan(request.output, request, request.outputStride, PixelBytes(request.pixelType));
  return mask.first < output.second && output.first < mask.second;
}

void
ValidateDeviceRequest(const MedianRequest & request)
{
  ValidateRequest(request);
  constexpr std::int64_t largestExtent = std::int64_t{ 1 } << 30;
  constexpr std::int64_t largestImage = std::int64_t{ 1 } << 59;
  std::int64_t           pixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto extent = request.inputExtent[axis];
    if (extent < 0 || extent > largestExtent)
    {
      throw RequestError("The image has " + std::to_string(extent) + " pixels along axis " + std::to_string(axis) +
                         "; the limit is " + std::to_string(largestExtent));
    }
    if (request.radius[axis] < 0 || request.radius[axis] > largestExtent)
    {
      throw RequestError("The radius along axis " + std::to_string(axis) + " is " +
                         std::to_string(request.radius[axis]) + "; it may be from 0 to " +
                         std::to_string(largestExtent));
    }
    if (extent > 0 && pixels > largestImage / extent)
    {
      throw RequestError("The image has more than " + std::to_string(largestImage) + " pixels");
    }
    pixels *= extent;
  }
  const auto obstacle = FindDeviceObstacle(request);
  if (!obstacle.empty())
  {
    throw RequestError(obstacle);
  }
  if (pixels != 0 && DoesOutputOverlapInput(request))
  {
    throw RequestError("The output overlaps the input");
  }
  if (pixels != 0 && request.validity.mask != nullptr && DoesOutputOverlapMask(request))
  {
    throw RequestError("The output overlaps the mask");
  }
}

void
ReserveKernelMemory(const MedianRequest & request,
                    const Candidate &     candidate,
                    std::size_t           launchBytes,
                    DeviceContext &       context)
{
  const auto needed = candidate.programBytes + launchBytes;
  if (request.deviceMemoryBudget != 0 && context.GetDeviceBytes() + needed > request.deviceMemoryBudget)
  {
    // An earlier request left too much for this budget.
    CheckCuda(context.ReleaseBuffers(), "cudaFree");
    ReleaseDevicePools();
  }
  if (!context.program.Reserve(candidate.programBytes))
  {
    throw DeviceError("Allocating the " + std::to_string(candidate.programBytes) +
                      " bytes of device memory that the window's kernel needs failed");
  }
}

/** A run on an image in device memory, in the order of a stream's work.
 * \tparam TLaunch ImageLaunch, or MaskedLaunch for masked requests. */
template <typename TLaunch>
class DeviceImageRun : public BackendRun
{
public:
  DeviceImageRun(const MedianRequest & request,
                 const MedianRequest & planned,
                 int                   device,
                 cudaStream_t          stream,
                 std::uint64_t         verdictChanges)
    : m_Request(request)
    , m_Planned(planned)
    , m_Stream(stream)
    , m_VerdictChanges(verdictChanges)
    , m_Scope(device)
    , m_Context(device, false)
  {}

  Obstacle
  Reserve(const Plan & plan, bool, bool withoutProof) override
  {
    ++m_Reservations;
    m_Launch.emplace(m_Request, plan);
    ReserveKernelMemory(m_Request, plan.candidate, m_Launch->GetLaunchBytes(), *m_Context);
    std::optional<SlabKernel> kernel;
    auto obstacle = PrepareKernel(m_Planned, plan.candidate, withoutProof, *m_Context, kernel, m_Origin);
    if (kernel)
    {
      m_Launch->SetKernel(m_Request, std::move(*kernel));
    }
    return obstacle;
  }

  void
  Execute(const Plan & plan, ExecutionReport & report) override
  {
    const auto & kernel = m_Launch->GetKernel();
    report.numberOfSlabs = m_Launch->CountSlabs();
    report.algorithmReason += m_Origin;
    report.slabReason = m_Launch->DescribeCopies(m_Request);
    kernel.GetLauncher().Describe(report);
    report.deviceBytes = m_Context->GetDeviceBytes() + m_Launch->GetLaunchBytes();
    try
    {
      m_Launch->Launch(m_Request, m_Stream);
    }
    catch (...)
    {
      // Kernels that were launched work in the context's memory, which the next call takes over.
      cudaStreamSynchronize(m_Stream);
      cudaGetLastError();
      throw;
    }
    if (kernel.UsesContextMemory())
    {
      // The next call takes over the context's memory, and may work in another stream.
      CheckCuda(cudaStreamSynchronize(m_Stream), "cudaStreamSynchronize");
    }
    if constexpr (std::is_same_v<TLaunch, ImageLaunch>)
    {
      if (!plan.awaited && !m_Launch->IsAwaited())
      {
        Keep(report); // else later calls would never take the faster kernel
      }
    }
  }

private:
  /** Keeps the call for those like it, if they need nothing of the context and nothing was in its way. */
  void
  Keep(const ExecutionReport & report)
  {
    const auto & kernel = m_Launch->GetKernel();
    const auto   cudaContext = FindCudaContext();
    if (m_Reservations != 1 || !kernel.GetLauncher().IsIndependent() || !HasKey(m_Request) || cudaContext == 0)
    {
      return;
    }
    auto kept = std::make_shared<KeptCall>(
      KeptCall{ m_Context->GetDevice(), cudaContext, m_VerdictChanges, std::move(*m_Launch), report });
    kept->report.deviceBytes = kept->launch.GetLaunchBytes();
    KeepCall(CallKey(m_Request), std::move(kept));
  }

  const MedianRequest &  m_Request;
  const MedianRequest &  m_Planned;
  cudaStream_t           m_Stream;
  std::uint64_t          m_VerdictChanges;
  DeviceScope            m_Scope;
  BorrowedContext        m_Context;
  std::optional<TLaunch> m_Launch;
  std::string            m_Origin;
  int                    m_Reservations{ 0 };
};

/** The device that both images lie on, or -1. */
int
FindDeviceOfBoth(const MedianRequest & request)
{
  int device = -1;
  int ofOutput = -1;
  if (AskForDevice(request.input, device) != cudaSuccess || AskForDevice(request.output, ofOutput) != cudaSuccess)
  {
    cudaGetLastError();
    return -1;
  }
  return device == ofOutput ? device : -1;
}

} // namespace

bool
RunKeptCall(const MedianRequest & request, void * stream, ExecutionReport * report)
{
  if (!HasKey(request))
  {
    return false;
  }
  const auto calls = FindKeptCalls(CallKey(request));
  const int  device = calls && !DoesOutputOverlapInput(request) ? FindDeviceOfBoth(request) : -1;
  if (device < 0)
  {
    return false;
  }
  const DeviceScope scope(device);
  const auto        cudaContext = FindCudaContext();
  const auto        verdictChanges = CountVerdictChanges();
  for (const auto & call : *calls)
  {
    if (call->device != device || call->cudaContext != cudaContext || call->verdictChanges != verdictChanges)
    {
      continue;
    }
    try
    {
      call->launch.Launch(request, static_cast<cudaStream_t>(stream));
    }
    catch (const DeviceError &)
    {
      // The call as if it were the first one finds out what is wrong.
      cudaGetLastError();
      return false;
    }
    if (report != nullptr)
    {
      *report = call->report;
    }
    return true;
  }
  return false;
}

int
FindImageDevice(const MedianRequest & request)
{
  ValidateDeviceRequest(request);
  if (Volume(request.inputExtent) == 0)
  {
    return -1;
  }
  const auto device = FindDevice(request.input, "input");
  if (FindDevice(request.output, "output") != device)
  {
    throw RequestError("The input and the output lie on different devices");
  }
  if (request.validity.mask != nullptr && FindDevice(request.validity.mask, "mask") != device)
  {
    throw RequestError("The input and the mask lie on different devices");
  }
  return device;
}

std::unique_ptr<BackendRun>
StartOnDeviceImage(const MedianRequest & request,
                   const MedianRequest & planned,
                   int                   device,
                   void *                stream,
                   std::uint64_t         verdictChanges)
{
  auto * const inStream = static_cast<cudaStream_t>(stream);
  if (IsMasked(request))
  {
    return std::make_unique<DeviceImageRun<MaskedLaunch>>(request, planned, device, inStream, verdictChanges);
  }
  return std::make_unique<DeviceImageRun<ImageLaunch>>(request, planned, device, inStream, verdictChanges);
}

} // namespace cudamedian
