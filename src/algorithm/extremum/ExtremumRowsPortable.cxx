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

template <typename TKey>
void
TakeKeys(void * target, const void * const * rows, int number, std::size_t count, bool isMax)
{
  auto * keys = static_cast<TKey *>(target);
  for (std::size_t i = 0; i < count; ++i)
  {
    TKey extreme = static_cast<const TKey *>(rows[0])[i];
    for (int row = 1; row < number; ++row)
    {
      const TKey key = static_cast<const TKey *>(rows[row])[i];
      extreme = isMax ? std::max(extreme, key) : std::min(extreme, key);
    }
    keys[i] = extreme;
  }
}

} // namespace

void
TakeExtremes(void *               target,
             const void * const * rows,
             int                  number,
             std::size_t          count,
             std::size_t          keyBytes,
             bool                 isMax,
             bool                 isSigned)
{
  DispatchBytes(keyBytes, [=](auto key) {
    using Key = decltype(key);
    isSigned ? TakeKeys<std::make_signed_t<Key>>(target, rows, number, count, isMax)
             : TakeKeys<Key>(target, rows, number, count, isMax);
  });
}

} // namespace cudamedian
