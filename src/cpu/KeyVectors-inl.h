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
// Included once per instruction set (Google Highway).
#if defined(KeyVectors_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef KeyVectors_inl_h
#    undef KeyVectors_inl_h
#  else
#    define KeyVectors_inl_h
#  endif

#  include "KeyLines.h"
#  include "PixelKey.h"

#  include "hwy/highway.h"

#  include <cstddef>
#  include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

/** Vectors of keys, at most as long as the blocks of lines: some of SVE are longer. */
template <typename TKey>
using KeyTag = hn::CappedTag<TKey, lineBlockBytes / sizeof(TKey)>;

/** PixelKey.h in vectors, with the mask of KeyLines.h. Members are no vectors, since those of SVE have no size. */
template <typename TKey, KeyMapping VMapping>
class KeyVectors
{
public:
  using Descriptor = KeyTag<TKey>;
  using Vector = hn::Vec<Descriptor>;

  explicit HWY_INLINE
  KeyVectors(std::uint64_t keyMask)
    : m_Mask(static_cast<TKey>(keyMask))
    , m_FlippedLowest(static_cast<TKey>(PixelKey<TKey, VMapping>::ToBits(0, 0) ^ (static_cast<TKey>(~TKey{ 0 }) >> 1)))
  {}

  HWY_INLINE Vector
  ToKeys(Vector bits) const
  {
    if constexpr (VMapping == KeyMapping::Integer)
    {
      return hn::Xor(bits, hn::Set(Descriptor(), m_Mask));
    }
    else
    {
      const auto keys = hn::Sub(FlipNegative(bits), hn::Set(Descriptor(), m_FlippedLowest));
      return hn::Xor(keys, hn::Set(Descriptor(), m_Mask));
    }
  }

  HWY_INLINE Vector
  ToBits(Vector keys) const
  {
    if constexpr (VMapping == KeyMapping::Integer)
    {
      return hn::Xor(keys, hn::Set(Descriptor(), m_Mask));
    }
    else
    {
      const auto ordered = hn::Xor(keys, hn::Set(Descriptor(), m_Mask));
      return FlipNegative(hn::Add(ordered, hn::Set(Descriptor(), m_FlippedLowest)));
    }
  }

private:
  static HWY_INLINE Vector
  FlipNegative(Vector bits)
  {
    const hn::RebindToSigned<Descriptor> asSigned;
    const auto negative = hn::BitCast(Descriptor(), hn::BroadcastSignBit(hn::BitCast(asSigned, bits)));
    return hn::Xor(bits, hn::ShiftRight<1>(negative));
  }

  TKey m_Mask;
  TKey m_FlippedLowest; ///< the lowest key's bits, which are those of -infinity, after FlipNegative()
};

/** Four vectors of pixels of a row, and four vectors of lines, each of which has every fourth pixel. */
template <typename TKey>
class FourColumns
{
public:
  using Descriptor = KeyTag<TKey>;
  using Vector = hn::Vec<Descriptor>;

#  if HWY_TARGET <= HWY_AVX3
  // Highway's own functions take twice as many shuffles. Here the bytes of a column meet in a double word of each
  // block, and then double words change places between vectors.
  static HWY_INLINE void
  Load(const TKey * pixels, Vector & line0, Vector & line1, Vector & line2, Vector & line3)
  {
    if constexpr (sizeof(TKey) == 8)
    {
      return hn::LoadInterleaved4(Descriptor(), pixels, line0, line1, line2, line3);
    }
    constexpr std::size_t n = 64 / sizeof(TKey);
    const auto            p0 = Gather(_mm512_loadu_si512(pixels));
    const auto            p1 = Gather(_mm512_loadu_si512(pixels + n));
    const auto            p2 = Gather(_mm512_loadu_si512(pixels + 2 * n));
    const auto            p3 = Gather(_mm512_loadu_si512(pixels + 3 * n));
    const auto            even = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const auto            odd = _mm512_add_epi32(even, _mm512_set1_epi32(2));
    const auto            a = _mm512_permutex2var_epi32(p0, even, p1);
    const auto            b = _mm512_permutex2var_epi32(p2, even, p3);
    const auto            c = _mm512_permutex2var_epi32(p0, odd, p1);
    const auto            d = _mm512_permutex2var_epi32(p2, odd, p3);
    line0 = Vector{ _mm512_shuffle_i64x2(a, b, 0x44) };
    line1 = Vector{ _mm512_shuffle_i64x2(a, b, 0xee) };
    line2 = Vector{ _mm512_shuffle_i64x2(c, d, 0x44) };
    line3 = Vector{ _mm512_shuffle_i64x2(c, d, 0xee) };
  }

  static HWY_INLINE void
  Store(Vector line0, Vector line1, Vector line2, Vector line3, TKey * pixels)
  {
    if constexpr (sizeof(TKey) == 8)
    {
      return hn::StoreInterleaved4(line0, line1, line2, line3, Descriptor(), pixels);
    }
    constexpr std::size_t n = 64 / sizeof(TKey);
    const auto            low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const auto            high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    const auto            lowPairs = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const auto            highPairs = _mm512_add_epi64(lowPairs, _mm512_set1_epi64(4));
    const auto            a = _mm512_permutex2var_epi32(line0.raw, low, line1.raw);
    const auto            b = _mm512_permutex2var_epi32(line2.raw, low, line3.raw);
    const auto            c = _mm512_permutex2var_epi32(line0.raw, high, line1.raw);
    const auto            d = _mm512_permutex2var_epi32(line2.raw, high, line3.raw);
    _mm512_storeu_si512(pixels, Scatter(_mm512_permutex2var_epi64(a, lowPairs, b)));
    _mm512_storeu_si512(pixels + n, Scatter(_mm512_permutex2var_epi64(a, highPairs, b)));
    _mm512_storeu_si512(pixels + 2 * n, Scatter(_mm512_permutex2var_epi64(c, lowPairs, d)));
    _mm512_storeu_si512(pixels + 3 * n, Scatter(_mm512_permutex2var_epi64(c, highPairs, d)));
  }

private:
  /** Brings the keys of a column together in each block of 16 bytes, a double word for each column. */
  static HWY_INLINE __m512i
  Gather(__m512i blocks)
  {
    if constexpr (sizeof(TKey) == 1)
    {
      return Order(blocks, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    }
    else if constexpr (sizeof(TKey) == 2)
    {
      return Order(blocks, _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    }
    return blocks;
  }

  /** The other way round. */
  static HWY_INLINE __m512i
  Scatter(__m512i blocks)
  {
    if constexpr (sizeof(TKey) == 2)
    {
      return Order(blocks, _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    }
    return Gather(blocks);
  }

  static HWY_INLINE __m512i
  Order(__m512i blocks, __m128i order)
  {
    return _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order));
  }
#  else
  static HWY_INLINE void
  Load(const TKey * pixels, Vector & line0, Vector & line1, Vector & line2, Vector & line3)
  {
    hn::LoadInterleaved4(Descriptor(), pixels, line0, line1, line2, line3);
  }
  static HWY_INLINE void
  Store(Vector line0, Vector line1, Vector line2, Vector line3, TKey * pixels)
  {
    hn::StoreInterleaved4(line0, line1, line2, line3, Descriptor(), pixels);
  }
#  endif
};

/** Writes vectors of neighbouring columns as pixels. */
template <typename TKey>
HWY_INLINE void
StoreColumns(TKey * pixels, hn::Vec<KeyTag<TKey>> column)
{
  hn::StoreU(column, KeyTag<TKey>(), pixels);
}
template <typename TKey>
HWY_INLINE void
StoreColumns(TKey * pixels, hn::Vec<KeyTag<TKey>> a, hn::Vec<KeyTag<TKey>> b)
{
  hn::StoreInterleaved2(a, b, KeyTag<TKey>(), pixels);
}
template <typename TKey>
HWY_INLINE void
StoreColumns(TKey *                pixels,
             hn::Vec<KeyTag<TKey>> a,
             hn::Vec<KeyTag<TKey>> b,
             hn::Vec<KeyTag<TKey>> c,
             hn::Vec<KeyTag<TKey>> d)
{
  FourColumns<TKey>::Store(a, b, c, d, pixels);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#endif
