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
#include "ImageLaunch.h"

#include "BoxTransfer.h"
#include "CudaError.h"
#include "Gather.h"
#include "HalfFloat.h"
#include "MaskedRequest.h"
#include "OutlierLaunch.h"
#include "PixelBits.h"
#include "SlabCopy.h"
#include "StreamBuffer.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

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
  return rows.bytes == rows.pitch && IsAlignedForKernels(pointer);
}

/** Whether kernels can read an input where it lies. */
bool
IsReadInPlace(const MedianRequest & request)
{
  return IsReadAsItIs(request) && HasReadableRows(request);
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

/** Whether kernels can write rows where they belong, whatever the results are. */
bool
HasWritableRows(const MedianRequest & request)
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

} // namespace

ImageLaunch::ImageLaunch(const MedianRequest & request, const Plan & plan)
  : m_Slabs(GetSlabs(request, plan))
  , m_CopiesInput(m_Slabs.size() > 1 || !IsReadInPlace(request))
  , m_CopiesOutput(m_Slabs.size() > 1 || !IsWrittenInPlace(request))
  , m_InputBytes(m_CopiesInput ? GetLargest(m_Slabs, PixelBytes(request.pixelType), GetDeviceInputStride) : 0)
  , m_OutputBytes(m_CopiesOutput ? GetLargest(m_Slabs, PixelBytes(request.pixelType), GetDeviceOutputStride) : 0)
  , m_ScratchBytes(plan.candidate.scratchBytes)
{}

std::string
ImageLaunch::DescribeCopies(const MedianRequest & request) const
{
  const bool isWhereItLies = !m_CopiesInput && (!m_CopiesOutput || request.outlierRule != OutlierRule::None);
  return m_TellsOutliers         ? "filtered where it lies, and outliers told as medians are written"
         : !m_WhyLater.empty()   ? "filtered where it lies, and outliers told afterwards: " + m_WhyLater
         : isWhereItLies         ? "filtered where it lies"
         : IsReadAsItIs(request) ? "copied on the device to rows that start at multiples of 16 bytes"
                                 : "copied on the device with its border";
}

void
ImageLaunch::SetKernel(const MedianRequest & request, SlabKernel && kernel)
{
  m_Kernel.emplace(std::move(kernel));
  PrepareOutliers(request);
  m_Launches.clear();
  for (const auto & slab : m_Slabs)
  {
    m_Launches.push_back(m_Kernel->Cut(slab));
  }
}

/** Has the kernels tell outliers by a distance as they write, where they read and write the images themselves. */
void
ImageLaunch::PrepareOutliers(const MedianRequest & request)
{
  if (request.outlierRule == OutlierRule::None || HasDeviations(request) || IsHalfFloat(request.pixelType) ||
      m_CopiesInput || !HasWritableRows(request))
  {
    return;
  }
  auto prepared = m_Kernel->PrepareOutliers(request.compilation == Compilation::Wait);
  m_IsAwaited = prepared.isAwaited;
  m_WhyLater = std::move(prepared.missing);
  m_TellsOutliers = m_WhyLater.empty();
  if (m_TellsOutliers)
  {
    m_CopiesOutput = false;
    m_OutputBytes = 0;
  }
}

void
ImageLaunch::Launch(const MedianRequest & request, cudaStream_t stream) const
{
  if (m_TellsOutliers)
  {
    const OutlierDistance distance{ GetFarthest(request.pixelType, request.outlierThreshold) };
    return CheckCuda(m_Kernel->LaunchOutliers(m_Launches.front(), request.input, request.output, distance, stream),
                     "launching the kernel");
  }
  std::optional<StreamBuffer> input;
  std::optional<StreamBuffer> output;
  std::optional<StreamBuffer> scratch;
  std::optional<StreamBuffer> bounds;
  if (m_ScratchBytes > 0)
  {
    scratch.emplace(m_ScratchBytes, stream);
  }
  if (HasDeviations(request) && CountBoundBytes(request.pixelType) > 0)
  {
    bounds.emplace(CountBoundBytes(request.pixelType), stream);
  }
  if (m_CopiesInput)
  {
    input.emplace(m_InputBytes, stream);
  }
  if (m_CopiesOutput)
  {
    output.emplace(m_OutputBytes, stream);
  }
  for (std::size_t i = 0; i < m_Slabs.size(); ++i)
  {
    if (m_CopiesInput)
    {
      CopyInput(request, m_Slabs[i], static_cast<char *>(input->Get()), stream);
    }
    CheckCuda(m_Kernel->Launch(m_Launches[i],
                               m_CopiesInput ? input->Get() : request.input,
                               m_CopiesOutput ? output->Get() : request.output,
                               nullptr,
                               scratch ? scratch->Get() : nullptr,
                               stream),
              "launching the kernel");
    if (HasDeviations(request))
    {
      LaunchInliers(request, m_Slabs[i], output->Get(), bounds ? bounds->Get() : nullptr, stream);
    }
    else if (m_CopiesOutput)
    {
      CopyOutput(request, m_Slabs[i], static_cast<const char *>(output->Get()), stream);
    }
  }
}

void
ImageLaunch::CopyInput(const MedianRequest & request, const Slab & slab, char * copy, cudaStream_t stream) const
{
  const auto pixelBytes = PixelBytes(request.pixelType);
  if (!IsReadAsItIs(request))
  {
    CheckCuda(LaunchFilling(MakeFillArguments(request, slab, copy), stream), "copying the image with its border");
    return;
  }
  const auto stride = GetPackedStride(request.inputExtent);
  CopyBox(copy,
          GetDeviceInputStride(slab, pixelBytes),
          static_cast<const char *>(request.input) +
            GetOffset(slab.input.origin, stride) * static_cast<std::int64_t>(pixelBytes),
          stride,
          slab.input.extent,
          pixelBytes,
          stream);
  ClearPadding(copy, slab, pixelBytes, stream);
}

void
ImageLaunch::CopyOutput(const MedianRequest & request, const Slab & slab, const char * copy, cudaStream_t stream) const
{
  const auto   pixelBytes = PixelBytes(request.pixelType);
  const auto   bytes = static_cast<std::int64_t>(pixelBytes);
  const auto * results = copy + GetOutputLead(slab, pixelBytes) * bytes;
  if (!HasPackedOutput(request) || request.outlierRule != OutlierRule::None)
  {
    CheckCuda(LaunchFinish(MakeFinishArguments(request, slab, const_cast<char *>(results)), stream),
              "copying results to their places");
    return;
  }
  const auto stride = GetPackedStride(request.inputExtent);
  CopyBox(static_cast<char *>(request.output) + GetOffset(slab.output.origin, stride) * bytes,
          stride,
          results,
          GetDeviceOutputStride(slab, pixelBytes),
          slab.output.extent,
          pixelBytes,
          stream);
}

void
ImageLaunch::LaunchInliers(const MedianRequest & request,
                           const Slab &          slab,
                           void *                copy,
                           void *                bounds,
                           cudaStream_t          stream) const
{
  const auto bytes = static_cast<std::int64_t>(PixelBytes(request.pixelType));
  auto *     results = static_cast<char *>(copy) + GetOutputLead(slab, PixelBytes(request.pixelType)) * bytes;
  auto       arguments = MakeOutlierArguments(request, MakeFinishArguments(request, slab, results));
  arguments.pixels = request.input;
  CopyExtent(GetInputStride(request), arguments.stride);
  arguments.isImage = true;
  LaunchOutliers(arguments, bounds, stream);
}

bool
IsAlignedForKernels(const void * pointer)
{
  return reinterpret_cast<std::uintptr_t>(pointer) % deviceAlignment == 0;
}

bool
HasReadableRows(const MedianRequest & request)
{
  return GetInputStride(request) == GetPackedStride(request.inputExtent) && IsAligned(request.input, GetRows(request));
}

bool
IsWrittenInPlace(const MedianRequest & request)
{
  return request.outlierRule == OutlierRule::None && HasWritableRows(request);
}

} // namespace cudamedian
