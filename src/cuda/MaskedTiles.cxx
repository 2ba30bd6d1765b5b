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
#include "MaskedTiles.h"

#include "Gather.h"
#include "HalfFloat.h"
#include "MaskedRequest.h"
#include "PixelBits.h"
#include "PixelFormat.h"
#include "RequestWindow.h"

#include <algorithm>

namespace cudamedian
{

bool
AreReadByTiles(const MedianRequest & request)
{
  const auto window = GetWindow(request);
  const auto ranks = GetMaskedRanks(request);
  const auto bytes = PixelBytes(request.pixelType);
  if (!HasInvalidPixels(request) || !ranks.HasTurns() || ranks.isMean || request.outlierRule != OutlierRule::None ||
      window.footprint != nullptr || window.HasEvenSize() || request.shift != Extent{} || bytes > 4 ||
      IsHalfFloat(request.pixelType) || CountLines(window, 0) != CountLines(window, GetFilledAxis(window)))
  {
    return false;
  }
  const auto border = request.border[0];
  for (int axis = 0; axis < Dimension; ++axis)
  {
    // Along an axis that windows do not extend along nothing is beyond the image.
    if (request.border[axis] != border && request.radius[axis] > 0)
    {
      return false;
    }
  }
  if (border != Border::ZeroFluxNeumann && border != Border::Shrink)
  {
    return false;
  }
  const auto & rules = request.validity;
  if (rules.mask == nullptr)
  {
    return true;
  }
  // Kernels load the mask of as many pixels at once as they load pixels.
  const std::int64_t atOnce = bytes == 4 ? 4 : 8;
  const auto         stride = GetMaskStride(request);
  bool               isAligned = rules.maskPixelBytes == 1 && stride[0] == 1 &&
                   reinterpret_cast<std::uintptr_t>(rules.mask) % static_cast<std::uintptr_t>(atOnce) == 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    isAligned = isAligned && (request.inputExtent[axis] == 1 || stride[axis] % atOnce == 0);
  }
  return isAligned;
}

MaskRules
MakeMaskRules(const MedianRequest & request)
{
  const auto & validity = request.validity;
  const auto   window = GetWindow(request);
  const auto   ranks = GetMaskedRanks(request);
  const auto   bytes = PixelBytes(request.pixelType);
  const auto   stride = GetMaskStride(request);
  const auto   getBits = [bytes](const auto & value) { return static_cast<std::uint32_t>(GetPixelBits(value, bytes)); };
  const std::int64_t added =
    window.CountPixels() - (ranks.isLower ? 1 : 0) - CountLines(window, 0) - 2 * ranks.span.least;
  MaskRules rules{};
  rules.mask = validity.mask;
  std::copy(stride.begin(), stride.end(), rules.maskPitch);
  rules.ignored = getBits(validity.ignoredValue);
  rules.infinity = static_cast<std::uint32_t>(GetInfinity(request.pixelType));
  rules.magnitudes = rules.infinity != 0 ? (1U << (8 * bytes - 1)) - 1 : 0U;
  rules.emptyValue = getBits(validity.emptyValue);
  rules.invalidValue = getBits(validity.invalidValue);
  rules.added = static_cast<std::int32_t>(added);
  rules.isLower = ranks.isLower;
  rules.hasIgnored = validity.hasIgnoredValue;
  rules.omitsNaN = validity.omitsNaN;
  rules.isClipped = request.border[0] == Border::Shrink;
  rules.emptyIsInput = validity.emptyWindow == EmptyWindow::Input;
  rules.writesInvalid = validity.invalidOutput != InvalidOutput::Computed;
  rules.invalidIsInput = validity.invalidOutput == InvalidOutput::Copied;
  return rules;
}

} // namespace cudamedian
