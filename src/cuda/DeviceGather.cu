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
#include "DeviceGather.h"

#include "DivideUp.h"
#include "HalfFloat.h"
#include "LaunchShape.h"
#include "PixelFormat.h"

#include <algorithm>
#include <cstring>

namespace cudamedian
{
namespace
{

constexpr unsigned int threadsOfRow = 64;
constexpr unsigned int rowsOfBlock = 4;

/** What the kernels are told: std::array has no functions on the device. */
struct BoxArguments
{
  const void *  source;
  void *        target;
  std::int64_t  origin[Dimension];
  std::int64_t  extent[Dimension];
  std::int64_t  sourceStride[Dimension];
  std::int64_t  targetStride[Dimension];
  std::int64_t  imageExtent[Dimension];
  Border        border[Dimension];
  std::uint64_t constant;
  PixelType     pixelType;
};

template <typename TPixel>
__global__ void
GatherKernel(BoxArguments box)
{
  const auto   rows = box.extent[1] * box.extent[2] * box.extent[3];
  const auto * source = static_cast<const TPixel *>(box.source);
  for (std::int64_t row = std::int64_t{ blockIdx.y } * blockDim.y + threadIdx.y; row < rows;
       row += std::int64_t{ gridDim.y } * blockDim.y)
  {
    std::int64_t rest = row;
    std::int64_t offset = 0;
    auto *       target = static_cast<TPixel *>(box.target);
    bool         isBeyond = false;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto place = rest % box.extent[axis];
      rest /= box.extent[axis];
      const auto pixel = MapBorder(box.border[axis], box.origin[axis] + place, box.imageExtent[axis]);
      isBeyond = isBeyond || pixel == noPixel;
      offset += pixel * box.sourceStride[axis];
      target += place * box.targetStride[axis];
    }
    for (std::int64_t x = std::int64_t{ blockIdx.x } * blockDim.x + threadIdx.x; x < box.extent[0];
         x += std::int64_t{ gridDim.x } * blockDim.x)
    {
      const auto pixel = MapBorder(box.border[0], box.origin[0] + x, box.imageExtent[0]);
      auto       value = static_cast<TPixel>(box.constant);
      if (!isBeyond && pixel != noPixel)
      {
        value = source[offset + pixel * box.sourceStride[0]];
      }
      if constexpr (sizeof(TPixel) == 2)
      {
        value = IsHalfFloat(box.pixelType) ? EncodeHalfFloat(box.pixelType, value) : value;
      }
      target[x * box.targetStride[0]] = value;
    }
  }
}

template <typename TPixel>
__global__ void
ScatterKernel(BoxArguments box)
{
  const auto rows = box.extent[1] * box.extent[2] * box.extent[3];
  for (std::int64_t row = std::int64_t{ blockIdx.y } * blockDim.y + threadIdx.y; row < rows;
       row += std::int64_t{ gridDim.y } * blockDim.y)
  {
    std::int64_t rest = row;
    auto *       target = static_cast<TPixel *>(box.target);
    const auto * source = static_cast<const TPixel *>(box.source);
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto place = rest % box.extent[axis];
      rest /= box.extent[axis];
      source += place * box.sourceStride[axis];
      target += (box.origin[axis] + place) * box.targetStride[axis];
    }
    for (std::int64_t x = std::int64_t{ blockIdx.x } * blockDim.x + threadIdx.x; x < box.extent[0];
         x += std::int64_t{ gridDim.x } * blockDim.x)
    {
      auto value = source[x * box.sourceStride[0]];
      if constexpr (sizeof(TPixel) == 2)
      {
        value = IsHalfFloat(box.pixelType) ? DecodeHalfFloat(box.pixelType, value) : value;
      }
      target[(box.origin[0] + x) * box.targetStride[0]] = value;
    }
  }
}

BoxArguments
GetArguments(const DeviceBox & box)
{
  BoxArguments arguments{};
  arguments.source = box.source;
  arguments.target = box.target;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.origin[axis] = box.origin[axis];
    arguments.extent[axis] = box.extent[axis];
    arguments.sourceStride[axis] = box.sourceStride[axis];
    arguments.targetStride[axis] = box.targetStride[axis];
    arguments.imageExtent[axis] = box.imageExtent[axis];
    arguments.border[axis] = box.border[axis];
  }
  std::memcpy(&arguments.constant, box.borderValue.data(), sizeof(arguments.constant));
  arguments.pixelType = box.pixelType;
  return arguments;
}

/** Calls launch(bits, blocks, threads, arguments), which launches the kernel of pixels that such bits hold. */
template <typename TLaunch>
cudaError_t
LaunchForBits(const DeviceBox & box, const TLaunch & launch)
{
  const auto rows = box.extent[1] * box.extent[2] * box.extent[3];
  const dim3 threads(threadsOfRow, rowsOfBlock);
  const dim3 blocks(
    static_cast<unsigned int>(std::min(DivideUp<std::int64_t>(box.extent[0], threadsOfRow), largestGrid)),
    static_cast<unsigned int>(std::min(DivideUp<std::int64_t>(rows, rowsOfBlock), largestGrid)));
  cudaGetLastError(); // an error that another's call left behind is none of this launch
  DispatchBits(GetKeyFormat(box.pixelType), [&](auto bits) { launch(bits, blocks, threads, GetArguments(box)); });
  return cudaGetLastError();
}

} // namespace

cudaError_t
LaunchGather(const DeviceBox & box, cudaStream_t stream)
{
  return LaunchForBits(box, [stream](auto bits, dim3 blocks, dim3 threads, const BoxArguments & arguments) {
    GatherKernel<decltype(bits)><<<blocks, threads, 0, stream>>>(arguments);
  });
}

cudaError_t
LaunchScatter(const DeviceBox & box, cudaStream_t stream)
{
  return LaunchForBits(box, [stream](auto bits, dim3 blocks, dim3 threads, const BoxArguments & arguments) {
    ScatterKernel<decltype(bits)><<<blocks, threads, 0, stream>>>(arguments);
  });
}

} // namespace cudamedian
