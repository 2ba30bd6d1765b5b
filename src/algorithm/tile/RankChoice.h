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
#ifndef RankChoice_h
#define RankChoice_h

#include "KeyRegisters.h"

namespace cudamedian
{

/** Four bytes that have the highest bits of bytes of two words, which are named as for SelectBytes(), all over. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       RepeatSigns(std::uint32_t a, std::uint32_t b, std::uint32_t selector)
{
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector | 0x8888U));
  return result;
#else
  return (SelectBytes(a, b, selector) >> 7 & 0x01010101U) * 0xFFU;
#endif
}

/** The ranks that are wanted of a row of a tile's outputs, counted from the least that its program finds: a byte for
 * each pixel in the row's registers of keys.
 *
 * Of the values of an output the wanted one is chosen in rounds: in round n, of each two neighbours that are left, the
 * one that bit n of the rank names. R values take R-1 selections, each one instruction of logic, and as many masks as
 * the ranks have bits. */
template <typename TRegisters, int VCount>
class RankChoice
{
public:
  using Keys = typename TRegisters::Keys;
  static constexpr int Parts = TRegisters::Pixels;
  static_assert(Parts <= 2, "masks are made of one register or two");

  /** Sets the ranks of the pixels that one part of the registers has. */
  CUDAMEDIAN_HOST_DEVICE void
  Set(int part, const PixelVector<std::uint8_t, VCount> & ranks)
  {
    m_Ranks[part] = ranks;
  }

  /** Of the values of an output, `less` where a bit of its rank is 0, `greater` where it is 1. */
  CUDAMEDIAN_HOST_DEVICE Keys
  Choose(Keys less, Keys greater, int output, int bit) const
  {
    const auto mask = GetMask(output, bit);
    return (greater & mask) | (less & ~mask);
  }

private:
  /** All bits of the keys whose rank has a bit. */
  CUDAMEDIAN_HOST_DEVICE Keys
  GetMask(int output, int bit) const
  {
    const int           word = output / 4;
    const auto          byte = static_cast<std::uint32_t>(output % 4);
    const std::uint32_t first = m_Ranks[0].words[word] << (7 - bit);
    if constexpr (Parts == 2)
    {
      return RepeatSigns(first, m_Ranks[1].words[word] << (7 - bit), 0x4400U + 0x1111U * byte);
    }
    else
    {
      const auto mask = RepeatSigns(first, first, 0x1111U * byte);
      return sizeof(Keys) == 8 ? static_cast<Keys>(mask) << (4 * sizeof(Keys)) | mask : static_cast<Keys>(mask);
    }
  }

  PixelVector<std::uint8_t, VCount> m_Ranks[Parts];
};

} // namespace cudamedian

#endif
