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
#include "RequestCheck.h"

#include "RequestWindow.h"

#include <algorithm>
#include <limits>

namespace cudamedian
{

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

void
ValidateRequest(const MedianRequest & request)
{
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (request.shorter[axis] < 0 || request.shorter[axis] > 1 ||
        (request.shorter[axis] == 1 && request.radius[axis] < 1))
    {
      throw RequestError("A window of radius " + Describe(request.radius) + " cannot have " +
                         Describe(request.shorter) +
                         " pixels fewer behind its output: it is 0 or 1, and 0 where the radius is 0");
    }
  }
  const auto window = GetWindow(request);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto size = request.inputExtent[axis];
    const auto origin = request.outputOrigin[axis];
    if (size < 0 || request.outputExtent[axis] < 0 || origin < 0 || origin > size ||
        request.outputExtent[axis] > size - origin)
    {
      throw RequestError("The requested box at " + Describe(request.outputOrigin) + " of size " +
                         Describe(request.outputExtent) + " is not inside an input of size " +
                         Describe(request.inputExtent));
    }
    if (request.radius[axis] < 0 || window.CountPixels() > most)
    {
      throw RequestError("A window of radius " + Describe(request.radius) +
                         " is not possible: radii start at 0 and a window holds at most " + std::to_string(most) +
                         " pixels");
    }
  }
  if (request.rank < -1 || request.rank >= window.CountPixels())
  {
    throw RequestError("The rank is " + std::to_string(request.rank) + "; in a window of " +
                       std::to_string(window.CountPixels()) + " pixels it may be from 0 to " +
                       std::to_string(window.CountPixels() - 1) + ", or -1 for the median");
  }
  const auto & extent = request.outputExtent;
  const bool   isEmpty = std::find(extent.begin(), extent.end(), 0) != extent.end();
  if (!isEmpty && (request.input == nullptr || request.output == nullptr))
  {
    throw RequestError("The input or the output buffer is null");
  }
  const auto isDefault = [](const Extent & extent) { return extent == Extent{ { 0, 0, 0, 0 } }; };
  const bool hasBorder = request.border != decltype(request.border){};
  if (!isDefault(request.inputStride) || !isDefault(request.shift) || hasBorder ||
      request.evenMedian != EvenMedian::Upper)
  {
    throw RequestError("Strides of the input, shifts and borders are refused");
  }
  if (request.outputStride[0] != 1)
  {
    throw RequestError("The output's stride along axis 0 is " + std::to_string(request.outputStride[0]) +
                       " but must be 1");
  }
}

} // namespace cudamedian
