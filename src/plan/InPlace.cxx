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
#include "InPlace.h"

#include "GatheredRun.h"
#include "PixelFormat.h"
#include "RequestWindow.h"
#include "Slab.h"

namespace cudamedian
{
std::string
FindInPlaceObstacle(const MedianRequest & request)
{
  const Extent none{};
  const auto   packed = GetPackedStride(request.inputExtent);
  if (request.backend == Backend::Cpu)
  {
    return "the CPU reads pixels again beside which outputs have been written";
  }
  if (request.output != request.input || request.outputOrigin != none || request.outputExtent != request.inputExtent)
  {
    return "the output is not the whole input";
  }
  if (request.convertRow != nullptr || request.outputStride != packed ||
      (request.inputStride != none && request.inputStride != packed) ||
      (request.outputPixelBytes != 0 && request.outputPixelBytes != PixelBytes(request.pixelType)))
  {
    return "pixels of the input and the output are not the same, or do not follow each other";
  }
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (request.radius[axis] > 0 && HasCopiedBorder(request, axis))
    {
      return "windows see another border than the nearest pixel, or are shifted, and copies hold that";
    }
  }
  return request.rankMap != nullptr || IsGathered(request)
           ? "masks, outliers and middle values are the work of copies, which read pixels again"
           : "";
}

} // namespace cudamedian
