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
#ifndef KeyRegisters_h
#define KeyRegisters_h

#include "KernelArguments.h"
#include "KeyArithmetic.h"
#include "KeyPacking.h"
#include "KeyPairs.h"
#include "PixelVector.h"

namespace cudamedian
{

/** Registers of keys: how pixels get into them, how they are compared, and how medians get out.
 *
 * `Keys` is a register, `Pixels` the number of keys in it. */
template <typename TPixelBits, KeyPacking VPacking>
class KeyRegisters;

/** What the packed forms share: several pixels to a 32-bit register. */
template <int VPixels>
class PackedRegisters
{
public:
  using Keys = std::uint32_t;
  static constexpr int Pixels = VPixels;

  CUDAMEDIAN_HOST_DEVICE explicit PackedRegisters(const KernelArguments & arguments)
    : m_One(arguments.one)
    , m_MinusOne(arguments.minusOne)
  {}

  /** max(a, b), given min(a, b): the keys of a + b - min do not disturb each other, since the sum of all as one number
   * is exact. */
  CUDAMEDIAN_HOST_DEVICE Keys
  MaxBySum(Keys a, Keys b, Keys min) const
  {
    return AddAndSubtract(a, b, min, m_One, m_MinusOne);
  }

  /** What max(a, b) exceeds a by, given min(a, b): each key of b is no less than the min's, so that none borrows from
   * its neighbour. */
  CUDAMEDIAN_HOST_DEVICE Keys
  GetExcess(Keys b, Keys min) const
  {
    return Subtract(b, min, m_MinusOne);
  }

private:
  std::uint32_t m_One;
  std::uint32_t m_MinusOne;
};

/** Two 16-bit keys. An 8-bit pixel is the high byte of its key, and a neighbour, which decides nothing but ties, the
 * low byte: one instruction makes a register from two pixels. */
template <typename TPixelBits>
class KeyRegisters<TPixelBits, KeyPacking::Pair> : public PackedRegisters<2>
{
public:
  using PackedRegisters<2>::PackedRegisters;

  CUDAMEDIAN_HOST_DEVICE Keys
  Min(Keys a, Keys b) const
  {
    return MinOfPairs(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max(Keys a, Keys b) const
  {
    return MaxOfPairs(a, b);
  }

#ifdef __CUDA_ARCH__
  CUDAMEDIAN_HOST_DEVICE Keys
  Min3(Keys a, Keys b, Keys c) const
  {
    return __vimin3_u16x2(a, b, c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max3(Keys a, Keys b, Keys c) const
  {
    return __vimax3_u16x2(a, b, c);
  }
  /** min(a + excess, c) and max(a + excess, c), where the sum is a key. */
  CUDAMEDIAN_HOST_DEVICE Keys
  MinOfSum(Keys a, Keys excess, Keys c) const
  {
    return __viaddmin_u16x2(a, excess, c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  MaxOfSum(Keys a, Keys excess, Keys c) const
  {
    return __viaddmax_u16x2(a, excess, c);
  }
#else
  Keys
  Min3(Keys a, Keys b, Keys c) const
  {
    return Min(Min(a, b), c);
  }
  Keys
  Max3(Keys a, Keys b, Keys c) const
  {
    return Max(Max(a, b), c);
  }
  Keys
  MinOfSum(Keys a, Keys excess, Keys c) const
  {
    return Min(a + excess, c);
  }
  Keys
  MaxOfSum(Keys a, Keys excess, Keys c) const
  {
    return Max(a + excess, c);
  }
#endif

  /** The keys of neighbouring pixels; pixels[0] become the low halves, pixels[1] the high ones. */
  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, VCount>
                                MakeKeys(const PixelVector<TPixelBits, VCount> (&pixels)[2], TPixelBits signMask)
  {
    constexpr int             perWord = 4 / sizeof(TPixelBits);
    const std::uint32_t       mask = signMask * (sizeof(TPixelBits) == 1 ? 0x01010101U : 0x00010001U);
    PixelVector<Keys, VCount> keys;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      const int           place = i % perWord;
      const std::uint32_t selector = sizeof(TPixelBits) == 2 ? (place == 0 ? 0x5410U : 0x7632U)
                                     : place == 0            ? 0x4501U
                                     : place == 1            ? 0x5410U
                                     : place == 2            ? 0x6723U
                                                             : 0x7632U;
      keys.words[i] = SelectBytes(pixels[0].words[i / perWord] ^ mask, pixels[1].words[i / perWord] ^ mask, selector);
    }
    return keys;
  }

  /** The pixels in the low (0) or high (1) halves. */
  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE void
  GetPixels(const Keys (&keys)[VCount], int half, TPixelBits signMask, PixelVector<TPixelBits, VCount> & pixels)
  {
    if constexpr (sizeof(TPixelBits) == 2 && VCount % 2 == 0)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount / 2; ++i)
      {
        pixels.words[i] =
          SelectBytes(keys[2 * i], keys[2 * i + 1], half == 0 ? 0x5410U : 0x7632U) ^ (signMask * 0x00010001U);
      }
    }
    else if constexpr (sizeof(TPixelBits) == 1 && VCount % 4 == 0)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount / 4; ++i)
      {
        const auto selector = half == 0 ? 0x51U : 0x73U;
        const auto low = SelectBytes(keys[4 * i], keys[4 * i + 1], selector);
        const auto high = SelectBytes(keys[4 * i + 2], keys[4 * i + 3], selector);
        pixels.words[i] = SelectBytes(low, high, 0x5410U) ^ (signMask * 0x01010101U);
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        const std::uint32_t key = half == 0 ? keys[i] & 0xFFFFU : keys[i] >> 16;
        pixels.Set(i, TKey::ToBits(static_cast<TPixelBits>(key >> (sizeof(TPixelBits) == 1 ? 8 : 0)), signMask));
      }
    }
  }
};

/** Two 16-bit keys with a sign: signed pixels need no other order and are their own keys, given the sign mask 0. They
 * have no excess: what a key exceeds another by may have more bits than they. */
template <typename TPixelBits>
class SignedPairRegisters : public KeyRegisters<TPixelBits, KeyPacking::Pair>
{
public:
  using KeyRegisters<TPixelBits, KeyPacking::Pair>::KeyRegisters;
  using Keys = std::uint32_t;

  Keys GetExcess(Keys, Keys) const = delete;

#ifdef __CUDA_ARCH__
  CUDAMEDIAN_HOST_DEVICE Keys
  Min(Keys a, Keys b) const
  {
    return __vmins2(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max(Keys a, Keys b) const
  {
    return __vmaxs2(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Min3(Keys a, Keys b, Keys c) const
  {
    return __vimin3_s16x2(a, b, c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max3(Keys a, Keys b, Keys c) const
  {
    return __vimax3_s16x2(a, b, c);
  }
#else
  Keys
  Min(Keys a, Keys b) const
  {
    using Unsigned = KeyRegisters<TPixelBits, KeyPacking::Pair>;
    return Unsigned::Min(a ^ signs, b ^ signs) ^ signs;
  }
  Keys
  Max(Keys a, Keys b) const
  {
    return a + b - Min(a, b);
  }
  Keys
  Min3(Keys a, Keys b, Keys c) const
  {
    return Min(Min(a, b), c);
  }
  Keys
  Max3(Keys a, Keys b, Keys c) const
  {
    return Max(Max(a, b), c);
  }

private:
  static constexpr Keys signs = 0x80008000U;
#endif
};

/** What makes keys without a sign of those of registers. */
template <typename TRegisters>
constexpr std::uint32_t signsOfKeys = 0;
template <typename TPixelBits>
constexpr std::uint32_t signsOfKeys<SignedPairRegisters<TPixelBits>> = 1U << (8 * sizeof(TPixelBits) - 1);

/** Two 8-bit keys as the bits of two halves: the numbers 0 to 255 are denormal halves in the same order. */
template <typename TPixelBits>
class KeyRegisters<TPixelBits, KeyPacking::HalfPair> : public PackedRegisters<2>
{
  static_assert(sizeof(TPixelBits) == 1, "wider keys are not ordered as halves");

public:
  using PackedRegisters<2>::PackedRegisters;

  CUDAMEDIAN_HOST_DEVICE Keys
  Min(Keys a, Keys b) const
  {
#ifdef __CUDA_ARCH__
    Keys result;
    asm("min.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return MinOfPairs(a, b);
#endif
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max(Keys a, Keys b) const
  {
#ifdef __CUDA_ARCH__
    Keys result;
    asm("max.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return MaxOfPairs(a, b);
#endif
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

  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, VCount>
                                MakeKeys(const PixelVector<TPixelBits, VCount> (&pixels)[2], TPixelBits signMask)
  {
    PixelVector<Keys, VCount> keys;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      const auto place = static_cast<std::uint32_t>(i % 4);
      keys.words[i] = (SelectBytes(pixels[0].words[i / 4], pixels[1].words[i / 4], (0x0400U | 0x0101U * place)) ^
                       (signMask * 0x00010001U)) &
                      0x00FF00FFU;
    }
    return keys;
  }

  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE void
  GetPixels(const Keys (&keys)[VCount], int half, TPixelBits signMask, PixelVector<TPixelBits, VCount> & pixels)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      pixels.Set(i, TKey::ToBits(static_cast<TPixelBits>(keys[i] >> (16 * half)), signMask));
    }
  }
};

/** One key of 32 bits, or of 64 for 64-bit pixels. */
template <typename TPixelBits>
class KeyRegisters<TPixelBits, KeyPacking::Single>
{
public:
  using Keys = decltype(sizeof(TPixelBits) == 8 ? TPixelBits{} : std::uint32_t{});
  static constexpr int Pixels = 1;

  CUDAMEDIAN_HOST_DEVICE explicit KeyRegisters(const KernelArguments & arguments)
    : m_One(arguments.one)
    , m_MinusOne(arguments.minusOne)
  {}

  CUDAMEDIAN_HOST_DEVICE Keys
  Min(Keys a, Keys b) const
  {
    return a < b ? a : b;
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max(Keys a, Keys b) const
  {
    return a < b ? b : a;
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Min3(Keys a, Keys b, Keys c) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(Keys) == 4)
    {
      return __vimin3_u32(a, b, c);
    }
#endif
    return Min(Min(a, b), c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  Max3(Keys a, Keys b, Keys c) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(Keys) == 4)
    {
      return __vimax3_u32(a, b, c);
    }
#endif
    return Max(Max(a, b), c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  MaxBySum(Keys a, Keys b, Keys min) const
  {
    if constexpr (sizeof(Keys) == 4)
    {
      return AddAndSubtract(a, b, min, m_One, m_MinusOne);
    }
    return Max(a, b);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  GetExcess(Keys b, Keys min) const
  {
    if constexpr (sizeof(Keys) == 4)
    {
      return Subtract(b, min, m_MinusOne);
    }
    return b - min;
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  MinOfSum(Keys a, Keys excess, Keys c) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(Keys) == 4)
    {
      return __viaddmin_u32(a, excess, c);
    }
#endif
    return Min(a + excess, c);
  }
  CUDAMEDIAN_HOST_DEVICE Keys
  MaxOfSum(Keys a, Keys excess, Keys c) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(Keys) == 4)
    {
      return __viaddmax_u32(a, excess, c);
    }
#endif
    return Max(a + excess, c);
  }

  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, VCount>
                                MakeKeys(const PixelVector<TPixelBits, VCount> (&pixels)[1], TPixelBits signMask)
  {
    PixelVector<Keys, VCount> keys;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      keys.Set(i, TKey::FromBits(pixels[0].Get(i), signMask));
    }
    return keys;
  }

  template <typename TKey, int VCount>
  static CUDAMEDIAN_HOST_DEVICE void
  GetPixels(const Keys (&keys)[VCount], int, TPixelBits signMask, PixelVector<TPixelBits, VCount> & pixels)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      pixels.Set(i, TKey::ToBits(static_cast<TPixelBits>(keys[i]), signMask));
    }
  }

private:
  std::uint32_t m_One;
  std::uint32_t m_MinusOne;
};

/** All pixels. */
struct AnyPixel
{
  CUDAMEDIAN_HOST_DEVICE bool
  operator()(std::uint64_t) const
  {
    return true;
  }
};

/** Writes neighbouring pixels from `output` on; those outside skip … columns-1 are left out, and those that are not
 * wanted. `isWhole` says that none is. */
template <typename TPixelBits, int VCount, typename TIsWanted = AnyPixel>
CUDAMEDIAN_HOST_DEVICE void
StorePixels(const PixelVector<TPixelBits, VCount> & pixels,
            bool                                    isWhole,
            std::int32_t                            skip,
            std::int32_t                            columns,
            TPixelBits *                            output,
            const TIsWanted &                       isWanted = {})
{
  if (isWhole)
  {
    pixels.StoreOnce(output);
    return;
  }
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VCount; ++i)
  {
    if (i >= skip && i < columns && isWanted(pixels.Get(i)))
    {
      output[i] = pixels.Get(i);
    }
  }
}

} // namespace cudamedian

#endif
