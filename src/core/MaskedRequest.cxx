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
#include "MaskedRequest.h"

#include "Gather.h"
#include "RequestWindow.h"
#include "Slab.h"

#include <cmath>

namespace cudamedian
{
namespace
{

bool
HasTwoMiddleValues(const MedianRequest & request)
{
  const auto window = GetWindow(request);
  return window.IsMedian() && window.CountPixels() % 2 == 0;
}

} // namespace

bool
IsMasked(const MedianRequest & request)
{
  return HasInvalidPixels(request) || (HasDeviations(request) && !AreOutliersToldInPlace(request)) ||
         (request.evenMedian != EvenMedian::Upper && HasTwoMiddleValues(request));
}

bool
HasDeviations(const MedianRequest & request)
{
  return request.outlierRule == OutlierRule::Deviations && std::isfinite(request.outlierThreshold);
}

bool
AreOutliersToldInPlace(const MedianRequest & request)
{
  constexpr std::int64_t mostValues = 127; // that lanes of 8 bits tell apart
  const auto             bytes = PixelBytes(request.pixelType);
  const auto             window = GetWindow(request);
  const auto             width = window.GetExtent()[0];
  const bool isBox = request.footprint == nullptr && request.shorter == Extent{} && request.shift == Extent{};
  const bool isSmall = (width == 3 || width == 5 || width == 7) && window.CountPixels() <= mostValues;
  const bool isAligned = GetInputStride(request) == GetPackedStride(request.inputExtent) &&
                         GetDevicePitch(request.inputExtent[0], bytes) == request.inputExtent[0] &&
                         reinterpret_cast<std::uintptr_t>(request.input) % deviceAlignment == 0;
  return HasDeviations(request) && !HasInvalidPixels(request) && request.deviceMemoryBudget == 0 && isBox && isSmall &&
         window.GetExtent()[3] == 1 && bytes <= 4 && IsReadAsItIs(request) && isAligned;
}

MaskedRanks
GetMaskedRanks(const MedianRequest & request)
{
  const auto  window = GetWindow(request);
  const auto  values = window.CountPixels();
  const auto  wanted = GetWanted(window);
  const bool  hasInvalid = HasInvalidPixels(request);
  MaskedRanks ranks;
  ranks.hasMarks = hasInvalid;
  if (wanted != Wanted::Middle)
  {
    const auto rank = wanted == Wanted::Least ? 0 : values - 1;
    ranks.span = { rank, rank };
    return ranks;
  }
  const bool hasTwo = hasInvalid || HasTwoMiddleValues(request);
  ranks.isMean = request.evenMedian == EvenMedian::Mean && hasTwo;
  ranks.isLower = request.evenMedian == EvenMedian::Lower && hasTwo;
  ranks.hasMarks = hasInvalid || ranks.isMean;
  const auto upper = hasInvalid ? GetRanksOfValid(window, false) : RankSpan{ values / 2, values / 2 };
  const auto lower = hasInvalid ? GetRanksOfValid(window, true) : RankSpan{ (values - 1) / 2, (values - 1) / 2 };
  ranks.span.least = ranks.isMean || ranks.isLower ? lower.least : upper.least;
  ranks.span.greatest = ranks.isLower ? lower.greatest : upper.greatest;
  return ranks;
}

MedianRequest
MakeCopiedRequest(const MedianRequest & request)
{
  static constexpr std::uint8_t aMap = 0;
  const auto                    ranks = GetMaskedRanks(request);
  const auto                    window = GetWindow(request);
  auto                          copied = request;
  // The image is the copy: what algorithms cut off of windows that are wider than an image would be its border.
  copied.inputExtent = window.GetFootprint(request.inputExtent);
  copied.outputOrigin = request.outputOrigin;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    copied.outputOrigin[axis] += window.radius[axis];
  }
  copied.inputStride = {};
  copied.outputStride = GetPackedStride(request.outputExtent);
  copied.border = {};
  copied.shift = {};
  copied.evenMedian = EvenMedian::Upper;
  copied.validity = {};
  copied.outlierRule = OutlierRule::None;
  copied.rank = ranks.span.least;
  copied.greatestRank = ranks.span.greatest;
  copied.rankMap = ranks.span.greatest > ranks.span.least ? &aMap : nullptr;
  return copied;
}

} // namespace cudamedian
