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
#ifndef ColumnKeys_h
#define ColumnKeys_h

#include "KeyRegisters.h"

namespace cudamedian
{

/** Neighbouring pixels of a row as registers of keys whose lanes are columns: what memory holds is nearly that already.
 *
 * Two 16-bit pixels of a word are a register. Of four 8-bit pixels, those at odd places are one: each is the high byte
 * of its key, and its neighbour in the low byte decides nothing but ties. Those at even places are another, moved up.
 */
template <typename TPixelBits, KeyPacking VPacking, int VColumns>
class ColumnKeys
{
public:
  using Registers = KeyRegisters<TPixelBits, VPacking>;
  using Keys = typename Registers::Keys;
  using Pixels = PixelVector<TPixelBits, VColumns>;
  /** Registers of a row. */
  static constexpr int Count = VColumns / Registers::Pixels;
  static_assert(VColumns % Registers::Pixels == 0 && Pixels::Bytes >= 4, "whole words");

  template <typename TKey>
  static CUDAMEDIAN_HOST_DEVICE void
  MakeKeys(const Pixels & pixels, TPixelBits signMask, Keys (&keys)[Count])
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      if constexpr (VPacking == KeyPacking::Single)
      {
        keys[i] = TKey::FromBits(pixels.Get(i), signMask);
      }
      else if constexpr (sizeof(TPixelBits) == 2)
      {
        keys[i] = pixels.words[i] ^ SpreadMask(signMask);
      }
      else
      {
        const std::uint32_t word = pixels.words[i / 2] ^ SpreadMask(signMask);
        keys[i] = VPacking == KeyPacking::HalfPair ? word >> (i % 2 * 8) & 0x00FF00FFU : i % 2 == 0 ? word << 8 : word;
      }
    }
  }

  template <typename TKey>
  static CUDAMEDIAN_HOST_DEVICE void
  GetPixels(const Keys (&keys)[Count], TPixelBits signMask, Pixels & pixels)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      if constexpr (VPacking == KeyPacking::Single)
      {
        pixels.Set(i, TKey::ToBits(static_cast<TPixelBits>(keys[i]), signMask));
      }
      else if constexpr (sizeof(TPixelBits) == 2)
      {
        pixels.words[i] = keys[i] ^ SpreadMask(signMask);
      }
      else if (i % 2 == 1)
      {
        constexpr std::uint32_t selector = VPacking == KeyPacking::HalfPair ? 0x6240U : 0x7351U;
        pixels.words[i / 2] = SelectBytes(keys[i - 1], keys[i], selector) ^ SpreadMask(signMask);
      }
    }
  }

private:
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                SpreadMask(TPixelBits signMask)
  {
    return static_cast<std::uint32_t>(signMask) * (sizeof(TPixelBits) == 1 ? 0x01010101U : 0x00010001U);
  }
};

} // namespace cudamedian

#endif
