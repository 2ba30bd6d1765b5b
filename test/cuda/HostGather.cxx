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
// Copies between images in device memory and the rows of kernels, on devices that are threads of the host.
#include "DeviceGather.h"
#include "HostRuntime.h"

#include <functional>
#include <vector>

namespace cudamedian
{
namespace
{

cudaError_t
Launch(std::function<void()> work, cudaStream_t stream)
{
  void * pointers[] = { &work };
  static_cast<void>(cudaLaunchKernel(nullptr, dim3(), dim3(), pointers, 0, stream));
  return cudaGetLastError();
}

/** Calls a function with each row's first position and what lies before it in memory, in bytes. */
template <typename TCall>
void
ForEachRow(const DeviceBox & box, const Extent & stride, const TCall & call)
{
  const auto rows = box.extent[1] * box.extent[2] * box.extent[3];
  for (std::int64_t row = 0; row < rows; ++row)
  {
    const auto   position = GetRowOfBox({ box.origin, box.extent }, row);
    std::int64_t offset = 0;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      offset += (position[axis] - box.origin[axis]) * stride[axis];
    }
    call(position, offset * static_cast<std::int64_t>(PixelBytes(box.pixelType)));
  }
}

MedianRequest
MakeRequest(const DeviceBox & box)
{
  MedianRequest request;
  request.pixelType = box.pixelType;
  request.inputExtent = box.imageExtent;
  request.inputStride = box.sourceStride;
  request.border = box.border;
  request.borderValue = box.borderValue;
  request.outputExtent = box.imageExtent;
  request.outputStride = box.targetStride;
  request.outputPixelBytes = PixelBytes(box.pixelType);
  return request;
}

} // namespace

cudaError_t
LaunchGather(const DeviceBox & box, cudaStream_t stream)
{
  return Launch(
    [box] {
      auto request = MakeRequest(box);
      request.input = box.source;
      const Gatherer gatherer(request);
      ForEachRow(box, box.targetStride, [&](const Extent & position, std::int64_t offset) {
        auto * const target = static_cast<char *>(box.target) + offset;
        gatherer.GatherRow(position, box.extent[0], target);
        hostruntime::MarkInitialized(target, static_cast<std::size_t>(box.extent[0]) * PixelBytes(box.pixelType));
      });
    },
    stream);
}

cudaError_t
LaunchScatter(const DeviceBox & box, cudaStream_t stream)
{
  return Launch(
    [box] {
      auto request = MakeRequest(box);
      request.output = box.target;
      const Gatherer    gatherer(request);
      std::vector<char> scratch;
      ForEachRow(box, box.sourceStride, [&](const Extent & position, std::int64_t offset) {
        gatherer.ScatterRow(position, box.extent[0], static_cast<const char *>(box.source) + offset, scratch);
      });
    },
    stream);
}

} // namespace cudamedian
