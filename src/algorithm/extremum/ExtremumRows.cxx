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

/** Minus infinity, with its magnitude flipped. */
template <typename TKey>
constexpr TKey lowestOfFloat = static_cast<TKey>(sizeof(TKey) == 4 ? 0x807FFFFFU : 0x800FFFFFFFFFFFFFU);

/** How a type is compared. */
template <typename TKey, bool VMax, bool VReadsFloat = false, bool VWritesFloat = false>
struct Comparison
{
  using Key = TKey;

  template <typename TVector>
  static HWY_INLINE TVector
  TakeOne(TVector a, TVector b)
  {
    return VMax ? hn::Max(a, b) : hn::Min(a, b);
  }

  /** PixelKey.h: sign and magnitude become two's complement, from minus infinity on. */
  template <typename TVector>
  static HWY_INLINE TVector
  FlipNegative(TVector bits)
  {
    const hn::DFromV<TVector>             d;
    const hn::RebindToSigned<decltype(d)> signedD;
    const auto                            signs = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(signedD, bits)));
    return hn::Xor(bits, hn::And(signs, hn::Set(d, static_cast<TKey>(static_cast<TKey>(~TKey{ 0 }) >> 1))));
  }

  template <typename TDescriptor>
  static HWY_INLINE hn::Vec<TDescriptor>
                    Load(TDescriptor d, const TKey * from)
  {
    const auto bits = hn::LoadU(d, from);
    if constexpr (VReadsFloat)
    {
      return hn::Sub(FlipNegative(bits), hn::Set(d, lowestOfFloat<TKey>));
    }
    else
    {
      return bits;
    }
  }

  template <typename TDescriptor>
  static HWY_INLINE void
  Store(hn::Vec<TDescriptor> keys, TDescriptor d, TKey * to)
  {
    if constexpr (VWritesFloat)
    {
      hn::StoreU(FlipNegative(hn::Add(keys, hn::Set(d, lowestOfFloat<TKey>))), d, to);
    }
    else
    {
      hn::StoreU(keys, d, to);
    }
  }
};

template <typename TComparison, int VNumber>
HWY_INLINE void
TakeRows(void * target, const void * const * rows, std::size_t count)
{
  using Key = typename TComparison::Key;
  const hn::ScalableTag<Key>  d;
  const hn::CappedTag<Key, 1> one;
  const std::size_t           n = hn::Lanes(d);
  auto * const                to = static_cast<Key *>(target);
  const Key *                 keys[VNumber];
  for (int row = 0; row < VNumber; ++row)
  {
    keys[row] = static_cast<const Key *>(rows[row]);
  }
  const auto take = [&](auto tag, std::size_t i) HWY_ATTR {
    auto extreme = TComparison::Load(tag, keys[0] + i);
    for (int row = 1; row < VNumber; ++row)
    {
      extreme = TComparison::TakeOne(extreme, TComparison::Load(tag, keys[row] + i));
    }
    TComparison::Store(extreme, tag, to + i);
  };
  std::size_t i = 0;
  for (; i + n <= count; i += n)
  {
    take(d, i);
  }
  for (; i < count; ++i)
  {
    take(one, i);
  }
}

template <typename TComparison>
HWY_INLINE void
TakeNumber(void * target, const void * const * rows, int number, std::size_t count)
{
  switch (number)
  {
    case 1:
      return TakeRows<TComparison, 1>(target, rows, count);
    case 2:
      return TakeRows<TComparison, 2>(target, rows, count);
    case 3:
      return TakeRows<TComparison, 3>(target, rows, count);
    case 4:
      return TakeRows<TComparison, 4>(target, rows, count);
    case mostExtremumRows:
      return TakeRows<TComparison, mostExtremumRows>(target, rows, count);
    default:
      ThrowUnknown("number of rows", static_cast<std::size_t>(number));
  }
}

template <typename TKey, bool VMax>
HWY_INLINE void
TakeInOrder(void * target, const void * const * rows, int number, std::size_t count, const ExtremumRowStep & step)
{
  if (step.order == ExtremumOrder::Signed)
  {
    return TakeNumber<Comparison<std::make_signed_t<TKey>, VMax>>(target, rows, number, count);
  }
  if constexpr (sizeof(TKey) >= 4)
  {
    if (step.readsPixels)
    {
      return step.writesPixels ? TakeNumber<Comparison<TKey, VMax, true, true>>(target, rows, number, count)
                               : TakeNumber<Comparison<TKey, VMax, true, false>>(target, rows, number, count);
    }
    if (step.writesPixels)
    {
      return TakeNumber<Comparison<TKey, VMax, false, true>>(target, rows, number, count);
    }
  }
  TakeNumber<Comparison<TKey, VMax>>(target, rows, number, count);
}

void
TakeExtremesHere(void * target, const void * const * rows, int number, std::size_t count, const ExtremumRowStep & step)
{
  DispatchBytes(step.keyBytes, [&](auto key) HWY_ATTR {
    using Key = decltype(key);
    step.isMax ? TakeInOrder<Key, true>(target, rows, number, count, step)
               : TakeInOrder<Key, false>(target, rows, number, count, step);
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
TakeExtremes(void * target, const void * const * rows, int number, std::size_t count, const ExtremumRowStep & step)
{
  HWY_DYNAMIC_DISPATCH(TakeExtremesHere)(target, rows, number, count, step);
}

} // namespace cudamedian

#endif
