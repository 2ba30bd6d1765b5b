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
// The kernel of slabs, on the host: the CPU's median of what lies in a slab's input buffer.

#include "HostRuntime.h"
#include "KernelLaunch.h"
#include "SlabKernel.h"

#include <cstring>
#include <functional>
#include <vector>

namespace cudamedian
{

cudaError_t
CheckKernelImage()
{
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, nullptr);
}

SlabKernel::SlabKernel(const MedianRequest & request,
                       const Plan &          plan,
                       DeviceContext &       context,
                       ExecutionReport &     report)
  : m_Request(request), m_Plan(plan), m_Context(context), m_Report(report),
    m_KeyFormat(GetKeyFormat(request.pixelType)), m_PixelBytes(PixelBytes(request.pixelType))
{}

namespace
{

void
FilterSlab(PixelType type, const Extent & radius, const Slab & slab, const void * input, void * output)
{
  const auto        bytes = PixelBytes(type);
  const auto        inputStride = GetDeviceInputStride(slab, bytes);
  const auto        outputStride = GetDeviceOutputStride(slab, bytes);
  const auto &      extent = slab.input.extent;
  std::vector<char> packed(static_cast<std::size_t>(Volume(extent)) * bytes);
  const auto        row = static_cast<std::size_t>(extent[0]) * bytes;
  for (std::size_t number = 0; number * row < packed.size(); ++number)
  {
    // Pitched rows follow each other without gaps between slices.
    std::memcpy(packed.data() + number * row,
                static_cast<const char *>(input) + number * static_cast<std::size_t>(inputStride[1]) * bytes,
                row);
  }
  MedianRequest request;
  request.pixelType = type;
  request.input = packed.data();
  request.inputExtent = extent;
  request.radius = radius;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    request.outputOrigin[axis] = slab.output.origin[axis] - slab.input.origin[axis];
  }
  request.outputExtent = slab.output.extent;
  request.outputStride = outputStride;
  request.output = static_cast<char *>(output) + static_cast<std::size_t>(GetOutputLead(slab, bytes)) * bytes;
  request.backend = Backend::Cpu;
  RunMedian(request);
  const auto & filtered = slab.output.extent;
  const auto   width = static_cast<std::size_t>(filtered[0]) * bytes;
  for (std::int64_t number = 0; number < Volume(filtered) / filtered[0]; ++number)
  {
    hostruntime::MarkInitialized(
      static_cast<const char *>(request.output) + static_cast<std::size_t>(number * outputStride[1]) * bytes, width);
  }
}

} // namespace

/** Checked like the kernels that nvcc compiles: the launch says nothing, and the last error is asked. */
cudaError_t
SlabKernel::Launch(const Slab & slab, const void * input, void * output, cudaStream_t stream) const
{
  std::function<void()> work = [type = m_Request.pixelType, radius = m_Request.radius, slab, input, output] {
    FilterSlab(type, radius, slab, input, output);
  };
  void * arguments[] = { &work };
  static_cast<void>(cudaLaunchKernel(nullptr, dim3(), dim3(), arguments, 0, stream));
  return cudaGetLastError();
}

} // namespace cudamedian
