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
#include "BoxTransfer.h"
#include "CurrentDevice.h"
#include "DeviceGather.h"
#include "Gather.h"
#include "RequestCheck.h"
#include "SlabKernel.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cudamedian
{
namespace
{

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
    if (cudaFreeAsync(m_Pointer, m_Stream) != cudaSuccess)
    {
      cudaGetLastError(); // else the next launch would be taken to have failed
    }
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

/** An image as rows: how long they are in the caller's memory, and how long where kernels can read and write them. */
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

/** From the first byte of an image to behind its last. */
std::pair<std::uintptr_t, std::uintptr_t>
GetSpan(const void * image, const MedianRequest & request, const Extent & stride)
{
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto reach = std::max<std::int64_t>(request.inputExtent[axis] - 1, 0) * stride[axis];
    (reach < 0 ? first : last) += reach;
  }
  const auto bytes = static_cast<std::int64_t>(PixelBytes(request.pixelType));
  const auto begin = reinterpret_cast<std::uintptr_t>(image);
  return { begin + static_cast<std::uintptr_t>(first * bytes),
           begin + static_cast<std::uintptr_t>((last + 1) * bytes) };
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
    if (request.outputExtent[axis] != extent || request.outputOrigin[axis] != 0)
    {
      throw RequestError("In device memory the output is as large as the input");
    }
    if (extent > 0 && pixels > largestImage / extent)
    {
      throw RequestError("The image has more than " + std::to_string(largestImage) + " pixels");
    }
    pixels *= extent;
  }
  const auto pixelsOfWindow = GetWindow(request).CountPixels();
  if (HasShrunkBorder(request) || (request.evenMedian != EvenMedian::Upper && pixelsOfWindow % 2 == 0))
  {
    throw RequestError("In device memory windows are not clipped to the image, and a median is the value of rank N/2");
  }
  if (request.validity.HasRules() || request.outlierRule != OutlierRule::None)
  {
    throw RequestError("In device memory all pixels are valid, and all are replaced by their medians");
  }
  if (request.convertRow != nullptr)
  {
    throw RequestError("In device memory the output has the input's pixel type");
  }
  const auto input = GetSpan(request.input, request, GetInputStride(request));
  const auto output = GetSpan(request.output, request, request.outputStride);
  if (pixels != 0 && input.first < output.second && output.first < input.second)
  {
    throw RequestError("The output overlaps the input");
  }
}

/** Whether kernels can read an input where it lies. */
bool
IsReadInPlace(const MedianRequest & request)
{
  return IsReadAsItIs(request) && IsAligned(request.input, GetRows(request));
}

/** Whether results lie in the output as in an image without gaps. */
bool
HasPackedOutput(const MedianRequest & request)
{
  const auto packed = GetPackedStride(request.outputExtent);
  bool       isPacked = IsWrittenInRows(request);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    isPacked = isPacked && (request.outputExtent[axis] <= 1 || request.outputStride[axis] == packed[axis]);
  }
  return isPacked;
}

bool
IsWrittenInPlace(const MedianRequest & request)
{
  return HasPackedOutput(request) && IsAligned(request.output, GetRows(request));
}

/** Those of a plan, where rows have to be copied and the copies count against a budget: they are copied one after the
 * other. Else one slab, the whole image, which is in device memory already. */
std::vector<Slab>
GetSlabs(const MedianRequest & request, const Plan & plan)
{
  if (!(IsReadInPlace(request) && IsWrittenInPlace(request)) && request.deviceMemoryBudget != 0)
  {
    return plan.slabs;
  }
  Slab whole;
  whole.output.extent = request.inputExtent;
  whole.input = GetInputBox(request, whole.output);
  whole.shift = request.shift;
  return { whole };
}

/** Bytes of a buffer that holds the input, or the output, of any of the slabs. The function tells its strides. */
std::size_t
GetLargest(const std::vector<Slab> & slabs, std::size_t pixelBytes, Extent (*getStride)(const Slab &, std::size_t))
{
  std::size_t largest = 0;
  for (const auto & slab : slabs)
  {
    const auto & extent = (getStride == GetDeviceInputStride ? slab.input : slab.output).extent;
    largest = std::max(largest, static_cast<std::size_t>(getStride(slab, pixelBytes)[3] * extent[3]) * pixelBytes);
  }
  return largest;
}

/** What is copied. Slabs are copied on both sides, a whole image on the side that needs it. */
struct Copies
{
  Copies(const MedianRequest & request, const std::vector<Slab> & slabs)
    : ofInput(slabs.size() > 1 || !IsReadInPlace(request)), ofOutput(slabs.size() > 1 || !IsWrittenInPlace(request)),
      inputBytes(ofInput ? GetLargest(slabs, PixelBytes(request.pixelType), GetDeviceInputStride) : 0),
      outputBytes(ofOutput ? GetLargest(slabs, PixelBytes(request.pixelType), GetDeviceOutputStride) : 0)
  {}

  bool        ofInput;
  bool        ofOutput;
  std::size_t inputBytes;
  std::size_t outputBytes;
};

void
ReserveKernelMemory(const MedianRequest & request,
                    const Candidate &     candidate,
                    const Copies &        copies,
                    DeviceContext &       context)
{
  const auto kernels = candidate.programBytes + candidate.scratchBytes;
  const auto needed = kernels + copies.inputBytes + copies.outputBytes;
  if (request.deviceMemoryBudget != 0 && context.GetDeviceBytes() + needed > request.deviceMemoryBudget)
  {
    // An earlier request left too much for this budget.
    CheckCuda(context.ReleaseBuffers(), "cudaFree");
  }
  if (!context.program.Reserve(candidate.programBytes) ||
      !context.ReservePixels(context.scratch, candidate.scratchBytes))
  {
    throw DeviceError("Allocating the " + std::to_string(kernels) +
                      " bytes of device memory that the window's kernel needs failed");
  }
}

/** Copies a box between two strided images on the device; strides are in pixels. */
void
CopyBox(char *         to,
        const Extent & toStride,
        const char *   from,
        const Extent & fromStride,
        Extent         extent,
        std::size_t    pixelBytes,
        cudaStream_t   stream)
{
  // Slices that follow each other without gaps are one.
  for (int axis = 2; axis < Dimension && extent[axis] > 1 && toStride[axis] == toStride[1] * extent[1] &&
                     fromStride[axis] == fromStride[1] * extent[1];
       ++axis)
  {
    extent[1] *= extent[axis];
    extent[axis] = 1;
  }
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  for (std::int64_t w = 0; w < extent[3]; ++w)
  {
    for (std::int64_t z = 0; z < extent[2]; ++z)
    {
      TransferRows(to + (w * toStride[3] + z * toStride[2]) * bytes,
                   toStride[1] * bytes,
                   from + (w * fromStride[3] + z * fromStride[2]) * bytes,
                   fromStride[1] * bytes,
                   extent[0] * bytes,
                   extent[1],
                   cudaMemcpyDeviceToDevice,
                   stream);
    }
  }
}

/** Writes zeros behind the rows of a slab's input. Kernels load whole vectors there, and must not load memory that
 * nobody has written. */
void
ClearPadding(char * input, const Slab & slab, std::size_t pixelBytes, cudaStream_t stream)
{
  const auto stride = GetDeviceInputStride(slab, pixelBytes);
  const auto bytes = static_cast<std::size_t>(slab.input.extent[0]) * pixelBytes;
  const auto pitch = static_cast<std::size_t>(stride[1]) * pixelBytes;
  const auto rows = static_cast<std::size_t>(stride[3] * slab.input.extent[3] / stride[1]);
  if (pitch > bytes && pitch <= static_cast<std::size_t>(largestPitch))
  {
    CheckCuda(cudaMemset2DAsync(input + bytes, pitch, 0, pitch - bytes, rows, stream), "cudaMemset2DAsync");
  }
}

/** Launches the kernel for each slab, on copies of what it cannot read or write where it lies. */
void
Launch(const MedianRequest &     request,
       const std::vector<Slab> & slabs,
       const Copies &            copies,
       const SlabKernel &        kernel,
       cudaStream_t              stream)
{
  const auto pixelBytes = PixelBytes(request.pixelType);
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  const auto stride = GetPackedStride(request.inputExtent);

  std::optional<StreamBuffer> input;
  std::optional<StreamBuffer> output;
  if (copies.ofInput)
  {
    input.emplace(copies.inputBytes, stream);
  }
  if (copies.ofOutput)
  {
    output.emplace(copies.outputBytes, stream);
  }
  for (const auto & slab : slabs)
  {
    if (copies.ofInput && !IsReadAsItIs(request))
    {
      CheckCuda(LaunchGather({ request.input,
                               input->Get(),
                               slab.input.origin,
                               slab.input.extent,
                               GetInputStride(request),
                               GetDeviceInputStride(slab, pixelBytes),
                               request.inputExtent,
                               request.border,
                               request.borderValue,
                               request.pixelType },
                             stream),
                "copying the image with its border");
      ClearPadding(static_cast<char *>(input->Get()), slab, pixelBytes, stream);
    }
    else if (copies.ofInput)
    {
      CopyBox(static_cast<char *>(input->Get()),
              GetDeviceInputStride(slab, pixelBytes),
              static_cast<const char *>(request.input) + GetOffset(slab.input.origin, stride) * bytes,
              stride,
              slab.input.extent,
              pixelBytes,
              stream);
      ClearPadding(static_cast<char *>(input->Get()), slab, pixelBytes, stream);
    }
    CheckCuda(
      kernel.Launch(
        slab, copies.ofInput ? input->Get() : request.input, copies.ofOutput ? output->Get() : request.output, stream),
      "launching the kernel");
    if (copies.ofOutput && !HasPackedOutput(request))
    {
      CheckCuda(LaunchScatter({ static_cast<const char *>(output->Get()) + GetOutputLead(slab, pixelBytes) * bytes,
                                request.output,
                                slab.output.origin,
                                slab.output.extent,
                                GetDeviceOutputStride(slab, pixelBytes),
                                request.outputStride,
                                request.outputExtent,
                                {},
                                {},
                                request.pixelType },
                              stream),
                "copying results to their places");
    }
    else if (copies.ofOutput)
    {
      CopyBox(static_cast<char *>(request.output) + GetOffset(slab.output.origin, stride) * bytes,
              stride,
              static_cast<const char *>(output->Get()) + GetOutputLead(slab, pixelBytes) * bytes,
              GetDeviceOutputStride(slab, pixelBytes),
              slab.output.extent,
              pixelBytes,
              stream);
    }
  }
}

/** A run on an image in device memory, in the order of a stream's work. */
class DeviceImageRun : public BackendRun
{
public:
  DeviceImageRun(const MedianRequest & request, int device, cudaStream_t stream)
    : m_Request(request), m_Stream(stream), m_Scope(device), m_Context(device)
  {}

  Obstacle
  Reserve(const Plan & plan, bool, bool withoutProof) override
  {
    m_Kernel.reset();
    m_Slabs = GetSlabs(m_Request, plan);
    m_Copies.emplace(m_Request, m_Slabs);
    ReserveKernelMemory(m_Request, plan.candidate, *m_Copies, *m_Context);
    return PrepareKernel(m_Request, plan.candidate, withoutProof, *m_Context, m_Kernel, m_Origin);
  }

  void
  Execute(const Plan &, ExecutionReport & report) override
  {
    report.numberOfSlabs = m_Slabs.size();
    report.algorithmReason += m_Origin;
    report.slabReason =
      m_Copies->ofInput || m_Copies->ofOutput
        ? (IsReadAsItIs(m_Request) ? "copied on the device to rows that start at multiples of 16 bytes"
                                   : "copied on the device with its border")
        : "filtered where it lies";
    m_Kernel->GetLauncher().Describe(report);
    report.deviceBytes = m_Context->GetDeviceBytes() + m_Copies->inputBytes + m_Copies->outputBytes;
    try
    {
      Launch(m_Request, m_Slabs, *m_Copies, *m_Kernel, m_Stream);
    }
    catch (...)
    {
      // Kernels that were launched work in the context's memory, which the next call takes over.
      cudaStreamSynchronize(m_Stream);
      cudaGetLastError();
      throw;
    }
    if (m_Kernel->UsesContextMemory())
    {
      // The next call takes over the context's memory, and may work in another stream.
      CheckCuda(cudaStreamSynchronize(m_Stream), "cudaStreamSynchronize");
    }
  }

private:
  const MedianRequest &     m_Request;
  cudaStream_t              m_Stream;
  DeviceScope               m_Scope;
  BorrowedContext           m_Context;
  std::vector<Slab>         m_Slabs;
  std::optional<Copies>     m_Copies;
  std::optional<SlabKernel> m_Kernel;
  std::string               m_Origin;
};

} // namespace

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
  return device;
}

std::unique_ptr<BackendRun>
StartOnDeviceImage(const MedianRequest & request, int device, void * stream)
{
  return std::make_unique<DeviceImageRun>(request, device, static_cast<cudaStream_t>(stream));
}

} // namespace cudamedian
