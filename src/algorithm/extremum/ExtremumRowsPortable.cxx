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
#include "ExtremumRows.h"

#include "PixelFormat.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace cudamedian
{
namespace
{

/** What values of a row are compared as. */
template <typename TKey, KeyMapping VMapping>
void
TakeKeys(void * target, const void * const * rows, int number, std::size_t count, const ExtremumRowStep & step)
{
  using PixelKeys = PixelKey<TKey, VMapping>;
  const auto mask = static_cast<TKey>(step.order == ExtremumOrder::Signed ? TKey{ 1 } << (8 * sizeof(TKey) - 1) : 0);
  const bool isSigned = step.order == ExtremumOrder::Signed;
  const auto get = [&](int row, std::size_t i) {
    const TKey value = static_cast<const TKey *>(rows[row])[i];
    return step.readsPixels || isSigned ? PixelKeys::FromBits(value, mask) : value;
  };
  for (std::size_t i = 0; i < count; ++i)
  {
    TKey extreme = get(0, i);
    for (int row = 1; row < number; ++row)
    {
      extreme = step.isMax ? std::max(extreme, get(row, i)) : std::min(extreme, get(row, i));
    }
    static_cast<TKey *>(target)[i] = step.writesPixels || isSigned ? PixelKeys::ToBits(extreme, mask) : extreme;
  }
}

} // namespace

void
TakeExtremes(void * target, const void * const * rows, int number, std::size_t count, const ExtremumRowStep & step)
{
  DispatchBytes(step.keyBytes, [&](auto key) {
    using Key = decltype(key);
    if constexpr (sizeof(Key) >= 4)
    {
      if (step.order == ExtremumOrder::Float)
      {
        TakeKeys<Key, KeyMapping::Float>(target, rows, number, count, step);
        return;
      }
    }
    TakeKeys<Key, KeyMapping::Integer>(target, rows, number, count, step);
  });
}

} // namespace cudamedian
