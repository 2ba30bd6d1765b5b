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

#include "SlabKernel.h"

#include <chrono>

namespace cudamedian
{
namespace
{

/** What local ranks may take when the request names no budget. */
constexpr std::size_t defaultBudget = std::size_t{ 1 } << 30;

/** Device memory that is taken and given back in the order of a stream's work. */
class StreamBuffer
{
public:
  StreamBuffer(std::size_t bytes, cudaStream_t stream) : m_Stream(stream)
  {
    CheckCuda(cudaMallocAsync(&m_Pointer, bytes, stream), "cudaMallocAsync");
  }
  ~StreamBuffer()
  {
    cudaFreeAsync(m_Pointer, m_Stream);
  }
  StreamBuffer(const StreamBuffer &) = delete;
  StreamBuffer &
  operator=(const StreamBuffer &) = delete;

  void *
  Get() const
  {
    return m_Pointer;
  }

private:
  void *       m_Pointer{ nullptr };
  cudaStream_t m_Stream;
};

/** An image as rows: how long they are where the caller has them, and where kernels can read and write them. */
struct Rows
{
  std::size_t bytes;
  std::size_t pitch;
  std::size_t count;
};

Rows
GetRows(const MedianRequest & request)
{
  const auto   pixelBytes = PixelBytes(request.pixelType);
  const auto & extent = request.inputExtent;
  return { static_cast<std::size_t>(extent[0]) * pixelBytes,
           static_cast<std::size_t>(GetDevicePitch(extent[0], pixelBytes)) * pixelBytes,
           static_cast<std::size_t>(extent[1] * extent[2] * extent[3]) };
}

bool
IsAligned(const void * pointer, const Rows & rows)
{
  return rows.bytes == rows.pitch && reinterpret_cast<std::uintptr_t>(pointer) % deviceAlignment == 0;
}

/** The device that a buffer lies on. \throws RequestError when it does not lie on one. */
int
FindDevice(const void * pointer, const char * name)
{
  cudaPointerAttributes attributes{};
  CheckCuda(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged)
  {
    throw RequestError(std::string("The ") + name + " does not lie in device memory");
  }
  return attributes.device;
}

void
ValidateDeviceRequest(const MedianRequest & request)
{
  constexpr std::int64_t largestExtent = std::int64_t{ 1 } << 30;
  std::int64_t           stride = 1;
  std::int64_t           axes = 0;
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
    if (request.outputExtent[axis] != extent || request.outputOrigin[axis] != 0)
    {
      throw RequestError("In device memory the output is as large as the input");
    }
    if (extent > 1 && request.outputStride[axis] != stride)
    {
      throw RequestError("The output's stride along axis " + std::to_string(axis) + " is " +
                         std::to_string(request.outputStride[axis]) + "; in device memory it must be " +
                         std::to_string(stride));
    }
    stride *= extent;
    axes += request.radius[axis] > 0 ? 1 : 0;
  }
  if (axes > 3)
  {
    throw RequestError("4 axes have a radius above 0; the limit is 3");
  }
  if (request.convertRow != nullptr)
  {
    throw RequestError("In device memory the output has the input's pixel type");
  }
  const auto bytes = static_cast<std::uintptr_t>(stride) * PixelBytes(request.pixelType);
  const auto input = reinterpret_cast<std::uintptr_t>(request.input);
  const auto output = reinterpret_cast<std::uintptr_t>(request.output);
  if (bytes != 0 && input < output + bytes && output < input + bytes)
  {
    throw RequestError("The output overlaps the input");
  }
}

/** The plan of the whole image as one slab, as it is in device memory already. */
Plan
PlanDeviceImage(const MedianRequest & request)
{
  auto plan =
    PlanMedian(request, Backend::Cuda, request.deviceMemoryBudget != 0 ? request.deviceMemoryBudget : defaultBudget);
  Slab whole;
  whole.input.extent = request.inputExtent;
  whole.output.extent = request.inputExtent;
  plan.slabs.assign(1, whole);
  plan.slabsInFlight = 1;
  return plan;
}

void
ReserveKernelMemory(const Plan & plan, DeviceContext & context)
{
  if (!context.program.Reserve(plan.deviceProgramBytes) || !context.scratch.Reserve(plan.deviceScratchBytes))
  {
    throw DeviceError("Allocating the " + std::to_string(plan.deviceProgramBytes + plan.deviceScratchBytes) +
                      " bytes of device memory that the window's kernel needs failed");
  }
}

void
CopyRows(void *       to,
         std::size_t  toPitch,
         const void * from,
         std::size_t  fromPitch,
         const Rows & rows,
         cudaStream_t stream)
{
  CheckCuda(cudaMemcpy2DAsync(to, toPitch, from, fromPitch, rows.bytes, rows.count, cudaMemcpyDeviceToDevice, stream),
            "cudaMemcpy2DAsync");
}

/** Launches the kernel, on copies of what it cannot read or write where it lies. */
void
Launch(const MedianRequest & request, const Slab & slab, const SlabKernel & kernel, cudaStream_t stream)
{
  const auto                  rows = GetRows(request);
  const auto                  pitched = rows.pitch * rows.count;
  std::optional<StreamBuffer> inputCopy;
  std::optional<StreamBuffer> outputCopy;
  if (!IsAligned(request.input, rows))
  {
    inputCopy.emplace(pitched, stream);
    CopyRows(inputCopy->Get(), rows.pitch, request.input, rows.bytes, rows, stream);
  }
  if (!IsAligned(request.output, rows))
  {
    outputCopy.emplace(pitched, stream);
  }
  CheckCuda(
    kernel.Launch(
      slab, inputCopy ? inputCopy->Get() : request.input, outputCopy ? outputCopy->Get() : request.output, stream),
    "launching the kernel");
  if (outputCopy)
  {
    CopyRows(request.output, rows.bytes, outputCopy->Get(), rows.pitch, rows, stream);
  }
}

} // namespace

ExecutionReport
RunMedianOnDevice(const MedianRequest & request, void * streamHandle)
{
  const auto start = std::chrono::steady_clock::now();
  ValidateDeviceRequest(request);
  ExecutionReport report;
  report.backend = ToString(Backend::Cuda);
  report.backendReason = "the image is in device memory";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    report.window[axis] = 2 * request.radius[axis] + 1;
    if (request.inputExtent[axis] == 0)
    {
      report.algorithm = "none";
      report.algorithmReason = "the request is empty";
      return report;
    }
  }
  const auto device = FindDevice(request.input, "input");
  if (FindDevice(request.output, "output") != device)
  {
    throw RequestError("The input and the output lie on different devices");
  }
  const DeviceScope scope(device);
  report.device = "CUDA device " + std::to_string(device);
  auto * const stream = static_cast<cudaStream_t>(streamHandle);

  const auto            plan = PlanDeviceImage(request);
  const BorrowedContext context(device);
  ReserveKernelMemory(plan, *context);
  DescribePlan(plan, report);
  report.slabReason = IsAligned(request.input, GetRows(request)) && IsAligned(request.output, GetRows(request))
                        ? "filtered where it lies"
                        : "copied on the device to rows that start at multiples of 16 bytes";
  const SlabKernel kernel(request, plan, *context, report);
  report.deviceBytes = context->GetDeviceBytes();
  Launch(request, plan.slabs.front(), kernel, stream);
  if (kernel.UsesContextMemory())
  {
    // The next call takes over the context's memory, and may work in another stream.
    CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  report.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

} // namespace cudamedian
