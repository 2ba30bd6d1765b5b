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

#include "Gather.h"
#include "RequestWindow.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

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

std::string
DescribeBorder(const MedianRequest & request)
{
  std::string  text;
  bool         isOne = true;
  const char * first = nullptr;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (request.radius[axis] > 0)
    {
      const char * name = ToString(request.border[axis]);
      first = first == nullptr ? name : first;
      isOne = isOne && name == first;
      text += (text.empty() ? "" : ", ") + std::string(name);
    }
  }
  return isOne ? (first == nullptr ? ToString(Border::ZeroFluxNeumann) : first) : text;
}

namespace
{

/** Whether a rank is one that windows of fewer pixels have too. */
bool
IsRankOfClipped(const Window & window)
{
  return window.IsMedian() || window.rank == 0 || window.rank == window.CountPixels() - 1;
}

void
CheckBorders(const MedianRequest & request)
{
  const auto window = GetWindow(request);
  bool       isShrunk = false;
  for (const auto border : request.border)
  {
    isShrunk = isShrunk || border == Border::Shrink;
  }
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto number = std::to_string(axis);
    const auto shorter = request.shorter[axis];
    const auto shift = request.shift[axis];
    if (shift < shorter - request.radius[axis] || shift > request.radius[axis])
    {
      throw RequestError("Along axis " + number + " the window is shifted by " + std::to_string(shift) +
                         " pixels; it may be from " + std::to_string(shorter - request.radius[axis]) + " to " +
                         std::to_string(request.radius[axis]) + ", so that it has its output in it");
    }
    if (isShrunk && request.radius[axis] > 0 && request.border[axis] != Border::Shrink)
    {
      throw RequestError("Along axis " + number + " the border is " + ToString(request.border[axis]) +
                         " and along another it is shrink: windows are clipped along all axes or along none");
    }
  }
  if (isShrunk && !IsRankOfClipped(window))
  {
    throw RequestError("The rank is " + std::to_string(window.rank) + " of " + std::to_string(window.CountPixels()) +
                       "; windows that are clipped to the image have fewer pixels, and a median, a least and a "
                       "greatest value alone");
  }
  if (request.evenMedian == EvenMedian::Mean && !window.IsMedian())
  {
    throw RequestError("The rank is " + std::to_string(window.rank) +
                       "; the mean of the two middle values is a median, and has no rank");
  }
  if (request.evenMedian == EvenMedian::Lower && request.rank >= 0)
  {
    throw RequestError("The rank is " + std::to_string(window.rank) +
                       "; the lower one of the two middle values is a median, and has no rank");
  }
}

void
CheckFootprint(const MedianRequest & request)
{
  if (request.footprint == nullptr)
  {
    return;
  }
  const Extent none{};
  if (request.radius != request.footprint->GetRadius())
  {
    throw RequestError("The radius is " + Describe(request.radius) + "; it has to be that of the footprint, " +
                       Describe(request.footprint->GetRadius()));
  }
  if (request.shorter != none || request.shift != none)
  {
    throw RequestError("A footprint says itself where its pixels lie; the window is to be shorter by " +
                       Describe(request.shorter) + " pixels and shifted by " + Describe(request.shift));
  }
}

/** The greatest rank of a map, counted from its least one, or one that is greater than allowed. Those below 0 are
 * great ones without a sign. */
template <typename TRank>
std::int64_t
FindGreatestRank(const MedianRequest & request, std::int64_t allowed)
{
  // A run of so many at once takes vectors, and ends soon where one is wrong.
  constexpr std::int64_t run = 4096;
  const auto *           ranks = static_cast<const TRank *>(request.rankMap);
  const auto             count = Volume(request.outputExtent);
  TRank                  greatest = 0;
  for (std::int64_t first = 0; first < count && greatest <= allowed; first += run)
  {
    const auto end = std::min(first + run, count);
    for (auto i = first; i < end; ++i)
    {
      greatest = std::max(greatest, ranks[i]);
    }
  }
  return greatest;
}

void
CheckRankMap(const MedianRequest & request)
{
  if (request.rankMap == nullptr)
  {
    return;
  }
  const auto pixels = GetWindow(request).CountPixels();
  const auto least = request.rank;
  const auto greatest = request.greatestRank;
  if (least < 0 || greatest < least || greatest >= pixels)
  {
    throw RequestError("Ranks of a map go from " + std::to_string(least) + " to " + std::to_string(greatest) +
                       "; in a window of " + std::to_string(pixels) + " pixels they may be from 0 to " +
                       std::to_string(pixels - 1));
  }
  const auto wrong = GetRankBytes(request) == 1 ? FindGreatestRank<std::uint8_t>(request, greatest - least)
                                                : FindGreatestRank<std::uint32_t>(request, greatest - least);
  if (wrong > greatest - least)
  {
    throw RequestError("A map of ranks from " + std::to_string(least) + " to " + std::to_string(greatest) + " holds " +
                       std::to_string(least + wrong));
  }
  if (!IsPlain(request) || GetInterior(request).extent != request.outputExtent)
  {
    throw RequestError("A map of ranks needs rows of pixels without gaps, and windows that see no border but the "
                       "nearest pixel");
  }
}

/** Of valid pixels, whose number differs from window to window, there are a median, a least and a greatest one. */
void
CheckRules(const MedianRequest & request)
{
  const auto   window = GetWindow(request);
  const auto & validity = request.validity;
  const auto   bytes = validity.maskPixelBytes;
  if (validity.mask != nullptr && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
  {
    throw RequestError("Pixels of the mask have " + std::to_string(bytes) + " bytes; they may have 1, 2, 4 or 8");
  }
  if (validity.HasRules() && !IsRankOfClipped(window))
  {
    throw RequestError("The rank is " + std::to_string(window.rank) + " of " + std::to_string(window.CountPixels()) +
                       "; windows some of whose pixels are not valid have a median, a least and a greatest value "
                       "alone");
  }
  if (validity.HasRules() && request.rankMap != nullptr)
  {
    throw RequestError("A map of ranks does not know which pixels are valid; it may not be given with such rules");
  }
  if (request.outlierRule == OutlierRule::None)
  {
    return;
  }
  if (!(request.outlierThreshold >= 0))
  {
    throw RequestError("The threshold of outliers is " + std::to_string(request.outlierThreshold) + "; it starts at 0");
  }
  if (!window.IsMedian() || request.rankMap != nullptr)
  {
    throw RequestError("The rank is " + std::to_string(window.rank) + " of " + std::to_string(window.CountPixels()) +
                       "; outliers are told by their distance from the median");
  }
}

/** Each pixel of the output has a place of its own where strides along axes are at least as long as all that lies
 * between along the axes of shorter strides. */
void
CheckOutputStride(const MedianRequest & request)
{
  std::array<std::pair<std::int64_t, std::int64_t>, Dimension> axes; // stride and extent
  for (int axis = 0; axis < Dimension; ++axis)
  {
    axes[axis] = { std::abs(request.outputStride[axis]), request.outputExtent[axis] };
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1;
  for (const auto & [stride, extent] : axes)
  {
    if (extent > 1 && stride < span)
    {
      throw RequestError("Pixels of the output share places in memory: its strides are " +
                         Describe(request.outputStride) + ", its size is " + Describe(request.outputExtent));
    }
    span += extent > 1 ? stride * (extent - 1) : 0;
  }
}

} // namespace

void
ValidateRequest(const MedianRequest & request)
{
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (request.shorter[axis] < 0 || request.shorter[axis] > 1 ||
        (request.shorter[axis] == 1 && request.radius[axis] < 1))
    {
      throw RequestError("Along axis " + std::to_string(axis) + " the window is to be " +
                         std::to_string(request.shorter[axis]) +
                         " pixels shorter; it may be 0, or 1 where the radius is not 0");
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
  CheckFootprint(request);
  CheckBorders(request);
  CheckRules(request);
  if (!isEmpty)
  {
    CheckOutputStride(request);
    CheckRankMap(request);
  }
}

} // namespace cudamedian
