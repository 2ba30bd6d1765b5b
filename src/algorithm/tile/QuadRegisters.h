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
#ifndef QuadRegisters_h
#define QuadRegisters_h

#include "KeyRegisters.h"

namespace cudamedian
{

/** Comparisons of the four bytes of two words. */
namespace bytes
{

#ifndef __CUDA_ARCH__
inline std::uint32_t
Select(std::uint32_t a, std::uint32_t b, bool isMax)
{
  std::uint32_t result = 0;
  for (int shift = 0; shift < 32; shift += 8)
  {
    const std::uint32_t x = a >> shift & 0xFFU;
    const std::uint32_t y = b >> shift & 0xFFU;
    result |= ((x < y) == isMax ? y : x) << shift;
  }
  return result;
}
#endif

// Only code for the family of sm_120 has the instructions (see GetKeyPacking()). Elsewhere they are emulated, so that a
// kernel of quads is right wherever it is compiled.
#if (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) || defined(__CUDA_ARCH_SPECIFIC__)) && __CUDA_ARCH__ / 100 == 12
#  define CUDAMEDIAN_HAS_QUADS (100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__ >= 1302)
#else
#  define CUDAMEDIAN_HAS_QUADS 0
#endif

CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       Min(std::uint32_t a, std::uint32_t b)
{
#if CUDAMEDIAN_HAS_QUADS
  std::uint32_t result;
  asm("min.u8x4 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#elif defined(__CUDA_ARCH__)
  return __vminu4(a, b);
#else
  return Select(a, b, false);
#endif
}

CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       Max(std::uint32_t a, std::uint32_t b)
{
#if CUDAMEDIAN_HAS_QUADS
  std::uint32_t result;
  asm("max.u8x4 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#elif defined(__CUDA_ARCH__)
  return __vmaxu4(a, b);
#else
  return Select(a, b, true);
#endif
}

#undef CUDAMEDIAN_HAS_QUADS

} // namespace bytes

/** Four 8-bit keys. */
template <>
class KeyRegisters<std::uint8_t, KeyPacking::Quad> : public PackedRegisters<4>
{
public:
  using PackedRegisters<4>::PackedRegisters;

  CUDAMEDIAN_HOST_DEVICE Keys
  Min(Keys a, Keys b) const
  {
    return bytes::Min(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max(Keys a, Keys b) const
  {
    return bytes::Max(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Min3(Keys a, Keys b, Keys c) const
  {
    return Min(Min(a, b), c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max3(Keys a, Keys b, Keys c) const
  {
    return Max(Max(a, b), c);
  }

  /** The keys of neighbouring pixels; pixels[0] become the lowest bytes, pixels[3] the highest ones. */
  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, VCount>
  MakeKeys(const PixelVector<std::uint8_t, VCount> (&pixels)[Pixels], std::uint8_t signMask)
  {
    static_assert(VCount % 4 == 0, "whole words are transposed");
    PixelVector<Keys, VCount> keys;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount / 4; ++i)
    {
      const Keys words[] = { pixels[0].words[i], pixels[1].words[i], pixels[2].words[i], pixels[3].words[i] };
      CUDAMEDIAN_UNROLL
      for (int byte = 0; byte < 4; ++byte)
      {
        keys.words[4 * i + byte] = GetColumn(words, byte) ^ (signMask * 0x01010101U);
      }
    }
    return keys;
  }

  /** The pixels in the bytes of a number, from the lowest. */
  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE void
  GetPixels(const Keys (&keys)[VCount], int byte, std::uint8_t signMask, PixelVector<std::uint8_t, VCount> & pixels)
  {
    if constexpr (VCount % 4 == 0)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount / 4; ++i)
      {
        const Keys words[] = { keys[4 * i], keys[4 * i + 1], keys[4 * i + 2], keys[4 * i + 3] };
        pixels.words[i] = GetColumn(words, byte) ^ (signMask * 0x01010101U);
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        pixels.Set(i, TKey::ToBits(static_cast<std::uint8_t>(keys[i] >> (8 * byte)), signMask));
      }
    }
  }

private:
  /** A byte of each of four words. Two columns have their first step in common, which the compiler finds: all four take
   * eight instructions. */
  static CUDAMEDIAN_HOST_DEVICE Keys
  GetColumn(const Keys (&words)[4], int byte)
  {
    const auto two = byte < 2 ? 0x5140U : 0x7362U;
    const auto first = SelectBytes(words[0], words[1], two);
    const auto second = SelectBytes(words[2], words[3], two);
    return SelectBytes(first, second, byte % 2 == 0 ? 0x5410U : 0x7632U);
  }
};

} // namespace cudamedian

#endif
