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
#ifndef BFloatRegisters_h
#define BFloatRegisters_h

#include "KeyRegisters.h"

namespace cudamedian
{

/** The order of bfloat16, two numbers to a 32-bit register.
 *
 * 65,282 of the 65,536 patterns are numbers, of which minus infinity is the least and -0 is below +0; the rest are NaN.
 * A pattern's place is its position in that order, from 127 for minus infinity to 65408 for infinity. The places below
 * and above are those of NaN. */
namespace bfloat
{

constexpr std::uint32_t signs = 0x80008000U;
constexpr std::uint32_t firstPlaces = 0x007F007FU;
constexpr std::uint32_t infinities = 0x7F807F80U;

/** All bits of a half as its sign is. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       SpreadSigns(std::uint32_t halves)
{
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(result) : "r"(halves));
  return result;
#else
  return (halves >> 15 & 0x00010001U) * 0xFFFFU;
#endif
}

CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetNumbers(std::uint32_t places)
{
#ifdef __CUDA_ARCH__
  // One instruction, of which the compiler would make two.
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0x4B;" : "=r"(result) : "r"(places), "r"(SpreadSigns(places)), "r"(signs));
  return result;
#else
  return places ^ (~SpreadSigns(places) | signs);
#endif
}

CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetPlaces(std::uint32_t numbers)
{
  return numbers ^ (SpreadSigns(numbers) | signs);
}

#ifndef __CUDA_ARCH__
/** What the instructions make of one half: NaN gives way to a number, or stays where `isNaNKept`. */
inline std::uint32_t
SelectNumber(std::uint32_t a, std::uint32_t b, bool isMax, bool isNaNKept)
{
  constexpr std::uint32_t canonicalNaN = 0x7FFF;
  const bool              isNaN[] = { (a & 0x7FFFU) > 0x7F80U, (b & 0x7FFFU) > 0x7F80U };
  if (isNaN[0] || isNaN[1])
  {
    return isNaNKept || (isNaN[0] && isNaN[1]) ? canonicalNaN : isNaN[0] ? b : a;
  }
  return ((GetPlaces(a) & 0xFFFFU) < (GetPlaces(b) & 0xFFFFU)) == isMax ? b : a;
}

inline std::uint32_t
SelectNumbers(std::uint32_t a, std::uint32_t b, bool isMax, bool isNaNKept)
{
  return SelectNumber(a & 0xFFFFU, b & 0xFFFFU, isMax, isNaNKept) | SelectNumber(a >> 16, b >> 16, isMax, isNaNKept)
                                                                      << 16;
}
#endif

/** The lesser numbers. NaN gives way to a number. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       Min(std::uint32_t a, std::uint32_t b)
{
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("min.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#else
  return SelectNumbers(a, b, false, false);
#endif
}

/** The greater numbers. NaN gives way to a number. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       Max(std::uint32_t a, std::uint32_t b)
{
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#else
  return SelectNumbers(a, b, true, false);
#endif
}

/** NaN where there was one, the greater numbers elsewhere. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       KeepNaN(std::uint32_t a, std::uint32_t b)
{
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#else
  return SelectNumbers(a, b, true, true);
#endif
}

/** The lesser magnitudes, with the signs of `a`. NaN in `a` gives way to the magnitude of `b`. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       LimitMagnitudes(std::uint32_t a, std::uint32_t positive)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
  std::uint32_t result;
  asm("min.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(positive));
  return result;
#else
  return Min(a & ~signs, positive) | (a & signs);
#endif
}

/** The greater magnitudes; the signs are any. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetGreaterMagnitudes(std::uint32_t a, std::uint32_t b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
  std::uint32_t result;
  asm("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
#else
  return Max(a & ~signs, b & ~signs);
#endif
}

CUDAMEDIAN_HOST_DEVICE bool
HasNaN(std::uint32_t numbers)
{
  return (numbers & 0x7FFFU) > 0x7F80U || (numbers >> 16 & 0x7FFFU) > 0x7F80U;
}

} // namespace bfloat

/** Which 16-bit keys have a number of bfloat16 each. There are 254 keys more than numbers: the highest go without, the
 * lowest, or half of both. */
struct NumberedKeys
{
  using Pairs = KeyRegisters<std::uint16_t, KeyPacking::Pair>;
  static constexpr std::uint32_t highestOfLow = 65281;
  static constexpr std::uint32_t lowestOfHigh = 254;

  /** Keys 127 to 65408 have a number, and all others the nearest one. A signed pixel is nearly the pattern of its
   * number, so that this costs least. Few have their medians at either limit; unsigned pixels often have, at 0. */
  bool isMiddle{ false };
  bool isHigh{ false }; ///< keys 254 to 65535 have a number, else 0 to 65281
  /** There are keys without: they have got the number of the nearest key that has one. Rank selection goes with
   * clamping, so a median is right unless it is that key. */
  bool isClamped{ false };
  /** Keys were numbered the other way before, and those medians were not all right. */
  bool isSecond{ false };

  /** The numbers of keys below 65282; others get NaN, and above them in the register is a key that is off by one. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                NumberLow(std::uint32_t keys)
  {
    return bfloat::GetNumbers(keys + bfloat::firstPlaces);
  }

  /** Numbers what NumberLow() numbered as it should be, clamped. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Clamp(std::uint32_t numbers) const
  {
    // Adding lost nothing, since what one half carried the other half got. Now the halves are added each by itself.
    const std::uint32_t keys = bfloat::GetPlaces(numbers) - bfloat::firstPlaces;
    const std::uint32_t added = isHigh ? 0xFF81FF81U : bfloat::firstPlaces;
    const std::uint32_t places =
      ((keys & ~bfloat::signs) + (added & ~bfloat::signs)) ^ ((keys ^ added) & bfloat::signs);
    const std::uint32_t unclamped = bfloat::GetNumbers(places);
    return isHigh ? bfloat::Max(unclamped, bfloat::signs | bfloat::infinities)
                  : bfloat::Min(unclamped, bfloat::infinities);
  }

  /** Does so with a thread's share of the staged keys. \pre all threads have staged. */
  template <unsigned int VThreads, unsigned int VCount>
  CUDAMEDIAN_HOST_DEVICE void
  ClampShare(unsigned int thread, std::uint32_t * staged) const
  {
    constexpr unsigned int atOnce = 4;
    static_assert(VCount % atOnce == 0, "whole vectors are clamped");
    CUDAMEDIAN_KEEP_LOOP
    for (unsigned int index = atOnce * thread; index < VCount; index += atOnce * VThreads)
    {
      PixelVector<std::uint32_t, atOnce> numbers;
      numbers.Load(staged + index);
      CUDAMEDIAN_UNROLL
      for (unsigned int i = 0; i < atOnce; ++i)
      {
        numbers.words[i] = Clamp(numbers.words[i]);
      }
      numbers.Store(staged + index);
    }
  }

  /** The patterns of the numbers of signed pixels, or the signed pixels that have these: of negative ones all bits but
   * the sign are inverted. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                InvertNegative(std::uint32_t halves)
  {
    return halves ^ (bfloat::SpreadSigns(halves) & ~bfloat::signs);
  }

  /** The numbers of two signed pixels with isMiddle. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                NumberMiddle(std::uint32_t pixels)
  {
    return bfloat::LimitMagnitudes(InvertNegative(pixels), bfloat::infinities);
  }

  /** Those of neighbouring ones; pixels[0] become the low halves, pixels[1] the high ones. */
  template <int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<std::uint32_t, VCount>
                                NumberMiddle(const PixelVector<std::uint16_t, VCount> (&pixels)[2])
  {
    auto numbers = Pairs::MakeKeys<void>(pixels, 0);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      numbers.words[i] = NumberMiddle(numbers.words[i]);
    }
    return numbers;
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetKeys(std::uint32_t numbers) const
  {
    return bfloat::GetPlaces(numbers) + (isHigh ? bfloat::firstPlaces : 0U - bfloat::firstPlaces);
  }

  /** The pixels whose numbers are in the low (0) or high (1) halves. */
  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE PixelVector<std::uint16_t, VCount>
                         MakePixels(const std::uint32_t (&numbers)[VCount], int half, std::uint16_t signMask) const
  {
    const std::uint32_t                mask = signMask * 0x00010001U;
    PixelVector<std::uint16_t, VCount> pixels{};
    Pairs::GetPixels<PixelKey<std::uint16_t, KeyMapping::Integer>>(numbers, half, 0, pixels);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < (VCount + 1) / 2; ++i)
    {
      pixels.words[i] = isMiddle ? InvertNegative(pixels.words[i]) : GetKeys(pixels.words[i]) ^ mask;
    }
    return pixels;
  }

  /** Whether medians may be what keys are clamped to. */
  CUDAMEDIAN_HOST_DEVICE bool
  HasLimit() const
  {
    return isMiddle || isClamped;
  }
  /** The numbers that are nearer to what keys are clamped to: the greater magnitudes, the greater numbers, or with high
   * keys, for which these have the other sign, the lesser ones. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetMoreExtreme(std::uint32_t extreme, std::uint32_t numbers) const
  {
    return isMiddle ? bfloat::GetGreaterMagnitudes(extreme, numbers)
                    : bfloat::Max(extreme, isHigh ? numbers ^ bfloat::signs : numbers);
  }
  static CUDAMEDIAN_HOST_DEVICE bool
  IsAtLimit(std::uint32_t extreme)
  {
    const std::uint32_t magnitudes = extreme & ~bfloat::signs;
    return (magnitudes & 0xFFFFU) == (bfloat::infinities & 0xFFFFU) || magnitudes >> 16 == bfloat::infinities >> 16;
  }

  /** Whether a median is written: all are the first time, and those that were not right the second time. They are the
   * keys that the other ones were clamped to, and beyond. */
  CUDAMEDIAN_HOST_DEVICE bool
  IsWanted(std::uint32_t key) const
  {
    const std::uint32_t least = isSecond && isHigh ? highestOfLow : 0U;
    const std::uint32_t others = isSecond ? lowestOfHigh : 0xFFFFU;
    return key - least <= others;
  }
};

/** Two 16-bit keys as numbers of bfloat16: see NumberedKeys. */
template <>
class KeyRegisters<std::uint16_t, KeyPacking::BFloatPair> : public PackedRegisters<2>
{
public:
  using PackedRegisters<2>::PackedRegisters;

  CUDAMEDIAN_HOST_DEVICE Keys
  Min(Keys a, Keys b) const
  {
    return bfloat::Min(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max(Keys a, Keys b) const
  {
    return bfloat::Max(a, b);
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

  /** Numbers the low keys. */
  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, VCount>
                                MakeKeys(const PixelVector<std::uint16_t, VCount> (&pixels)[2], std::uint16_t signMask)
  {
    auto keys = NumberedKeys::Pairs::MakeKeys<TKey>(pixels, signMask);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      keys.words[i] = NumberedKeys::NumberLow(keys.words[i]);
    }
    return keys;
  }
};

} // namespace cudamedian

#endif
