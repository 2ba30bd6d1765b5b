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

#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ExtremumRows.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

template <bool VMax, typename TVector>
HWY_INLINE TVector
TakeOne(TVector a, TVector b)
{
  return VMax ? hn::Max(a, b) : hn::Min(a, b);
}

template <typename TKey, bool VMax, int VNumber>
HWY_INLINE void
TakeRows(TKey * target, const void * const * rows, std::size_t count)
{
  const hn::ScalableTag<TKey>  d;
  const hn::CappedTag<TKey, 1> one;
  const std::size_t            n = hn::Lanes(d);
  const TKey *                 keys[VNumber];
  for (int row = 0; row < VNumber; ++row)
  {
    keys[row] = static_cast<const TKey *>(rows[row]);
  }
  std::size_t i = 0;
  for (; i + n <= count; i += n)
  {
    auto extreme = hn::LoadU(d, keys[0] + i);
    for (int row = 1; row < VNumber; ++row)
    {
      extreme = TakeOne<VMax>(extreme, hn::LoadU(d, keys[row] + i));
    }
    hn::StoreU(extreme, d, target + i);
  }
  for (; i < count; ++i)
  {
    auto extreme = hn::LoadU(one, keys[0] + i);
    for (int row = 1; row < VNumber; ++row)
    {
      extreme = TakeOne<VMax>(extreme, hn::LoadU(one, keys[row] + i));
    }
    hn::StoreU(extreme, one, target + i);
  }
}

template <typename TKey, bool VMax>
HWY_INLINE void
TakeNumber(void * target, const void * const * rows, int number, std::size_t count)
{
  auto * keys = static_cast<TKey *>(target);
  switch (number)
  {
    case 1:
      return TakeRows<TKey, VMax, 1>(keys, rows, count);
    case 2:
      return TakeRows<TKey, VMax, 2>(keys, rows, count);
    case 3:
      return TakeRows<TKey, VMax, 3>(keys, rows, count);
    case 4:
      return TakeRows<TKey, VMax, 4>(keys, rows, count);
    case mostExtremumRows:
      return TakeRows<TKey, VMax, mostExtremumRows>(keys, rows, count);
    default:
      ThrowUnknown("number of rows", static_cast<std::size_t>(number));
  }
}

template <typename TKey>
HWY_INLINE void
TakeEither(void * target, const void * const * rows, int number, std::size_t count, bool isMax)
{
  isMax ? TakeNumber<TKey, true>(target, rows, number, count) : TakeNumber<TKey, false>(target, rows, number, count);
}

void
TakeExtremesHere(void *               target,
                 const void * const * rows,
                 int                  number,
                 std::size_t          count,
                 std::size_t          keyBytes,
                 bool                 isMax,
                 bool                 isSigned)
{
  DispatchBytes(keyBytes, [=](auto key) HWY_ATTR {
    using Key = decltype(key);
    isSigned ? TakeEither<std::make_signed_t<Key>>(target, rows, number, count, isMax)
             : TakeEither<Key>(target, rows, number, count, isMax);
  });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cudamedian
{

HWY_EXPORT(TakeExtremesHere);

void
TakeExtremes(void *               target,
             const void * const * rows,
             int                  number,
             std::size_t          count,
             std::size_t          keyBytes,
             bool                 isMax,
             bool                 isSigned)
{
  HWY_DYNAMIC_DISPATCH(TakeExtremesHere)(target, rows, number, count, keyBytes, isMax, isSigned);
}

} // namespace cudamedian

#endif
