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
#include "SlabCopy.h"

#include "Gather.h"
#include "PixelBits.h"

#include <algorithm>

namespace cudamedian
{

void
CopyExtent(const Extent & extent, std::int64_t (&target)[Dimension])
{
  std::copy(extent.begin(), extent.end(), target);
}

FillArguments
MakeFillArguments(const MedianRequest & request, const Slab & slab, void * copy)
{
  const auto    bytes = PixelBytes(request.pixelType);
  FillArguments arguments{};
  arguments.image = request.input;
  CopyExtent(GetInputStride(request), arguments.imageStride);
  CopyExtent(request.inputExtent, arguments.imageExtent);
  std::copy(request.border.begin(), request.border.end(), arguments.border);
  CopyExtent(slab.input.origin, arguments.origin);
  arguments.copy = copy;
  CopyExtent(GetDeviceInputStride(slab, bytes), arguments.stride);
  CopyExtent(slab.input.extent, arguments.extent);
  arguments.constant = GetPixelBits(request.borderValue, bytes);
  arguments.pixelType = request.pixelType;
  return arguments;
}

FinishArguments
MakeFinishArguments(const MedianRequest & request, const Slab & slab, void * results)
{
  const auto bytes = PixelBytes(request.pixelType);
  const auto inputStride = GetInputStride(request);
  const auto getOffset = [&](const Extent & stride) {
    return GetOffset(slab.output.origin, stride) * static_cast<std::int64_t>(bytes);
  };
  FinishArguments arguments{};
  arguments.results = results;
  CopyExtent(GetDeviceOutputStride(slab, bytes), arguments.resultStride);
  CopyExtent(slab.output.extent, arguments.extent);
  arguments.input = static_cast<const char *>(request.input) + getOffset(inputStride);
  CopyExtent(inputStride, arguments.inputStride);
  arguments.output = static_cast<char *>(request.output) + getOffset(request.outputStride);
  CopyExtent(request.outputStride, arguments.outputStride);
  arguments.keepsNear = request.outlierRule != OutlierRule::None;
  arguments.farthest = arguments.keepsNear ? GetFarthest(request.pixelType, request.outlierThreshold) : 0;
  arguments.pixelType = request.pixelType;
  return arguments;
}

} // namespace cudamedian
