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
#include "MaskRows.h"

#include <vector>

namespace cudamedian
{
namespace
{

/** The bounds of all distances of a type, as spans of values near to 0. */
template <typename T>
std::vector<T>
FindBounds(const DeviationBound & bound, const QuickBound & quick)
{
  std::vector<T> distances(std::size_t{ 1 } << (8 * sizeof(T)));
  for (std::size_t i = 0; i < distances.size(); ++i)
  {
    distances[i] = static_cast<T>(i);
  }
  const std::vector<T> medians(distances.size());
  std::vector<T>       firsts(distances.size());
  std::vector<T>       spans(distances.size());
  GetMaskRows().findNear(
    GetValueKind<T>(), distances.data(), medians.data(), bound, quick, distances.size(), firsts.data(), spans.data());
  return spans;
}

/** Finds a product and a sum. What is taken off the quotient keeps whole ones below, which no distance exceeds. */
template <typename T>
QuickBound
TryOffsets(const DeviationBound & bound)
{
  const auto exact = FindBounds<T>(bound, {});
  const auto last = static_cast<double>(exact.size() - 1);
  const auto inverse = 1 / bound.GetTimes();
  QuickBound quick;
  for (const double offset : { 0x1p-3, 0x1p-5, 0x1p-7, 0x1p-9, 0x1p-11 })
  {
    quick.factor = static_cast<float>(inverse);
    quick.offset = static_cast<float>(-offset);
    // What integers have no room for is not asked.
    quick.isOfFloats = inverse * last < 2 * last;
    quick.isOfFloats = quick.isOfFloats && FindBounds<T>(bound, quick) == exact;
    if (quick.isOfFloats)
    {
      break;
    }
  }
  for (int i = 0; sizeof(T) == 1 && inverse <= 1 && !quick.isOfIntegers && i < 3; ++i)
  {
    // Of a multiplier that is rounded up a sum is less than it is of one that is rounded down.
    const auto multiplier = static_cast<int>(256 * inverse) + (i == 2 ? 1 : 0);
    quick.multiplier = static_cast<std::uint16_t>(multiplier);
    quick.addend = static_cast<std::uint16_t>(i == 1 ? multiplier / 2 : 0);
    quick.isOfIntegers = true;
    quick.isOfIntegers = FindBounds<T>(bound, quick) == exact;
  }
  return quick;
}

} // namespace

QuickBound
FindQuickBound(const DeviationBound & bound, std::size_t bytes)
{
  return bytes == 1 ? TryOffsets<std::uint8_t>(bound) : bytes == 2 ? TryOffsets<std::uint16_t>(bound) : QuickBound{};
}

} // namespace cudamedian
