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
#ifndef LaneBins_h
#define LaneBins_h

#include "PixelKey.h"

#ifndef __CUDA_ARCH__
#  include <cstring>
#endif

namespace cudamedian
{

/** Reads words that lie one behind the other; in kernels 8 or 16 bytes at a time, at multiples of which they start. */
template <int VWords>
CUDAMEDIAN_HOST_DEVICE void
LoadWords(const void * source, std::uint32_t * words)
{
#ifdef __CUDA_ARCH__
  if constexpr (VWords == 2)
  {
    const uint2 loaded = *static_cast<const uint2 *>(source);
    words[0] = loaded.x;
    words[1] = loaded.y;
  }
  else
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VWords / 4; ++i)
    {
      const uint4 loaded = static_cast<const uint4 *>(source)[i];
      words[4 * i] = loaded.x;
      words[4 * i + 1] = loaded.y;
      words[4 * i + 2] = loaded.z;
      words[4 * i + 3] = loaded.w;
    }
  }
#else
  std::memcpy(words, source, sizeof(std::uint32_t) * VWords);
#endif
}

/** Writes words as LoadWords() reads them, four or eight. */
template <int VWords>
CUDAMEDIAN_HOST_DEVICE void
StoreWords(const std::uint32_t * words, void * destination)
{
#ifdef __CUDA_ARCH__
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VWords / 4; ++i)
  {
    static_cast<uint4 *>(destination)[i] =
      make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  }
#else
  std::memcpy(destination, words, sizeof(std::uint32_t) * VWords);
#endif
}

/** Bytes 0 and 1 of a word, or 2 and 3, as two halves. */
template <bool VUpper>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       WidenBytes(std::uint32_t word)
{
#ifdef __CUDA_ARCH__
  return __byte_perm(word, 0, VUpper ? 0x4342 : 0x4140);
#else
  word = VUpper ? word >> 16 : word & 0xFFFFU;
  return (word & 0xFFU) | (word & 0xFF00U) << 8;
#endif
}

/** The eight bins of a window's histogram that one lane of a warp keeps in registers, in the order of their counts.
 *
 * Additions run over whole registers: counts end up right whatever was carried on the way, as none is negative or too
 * large at the end.
 * \tparam TCounter std::uint16_t: pairs of counts to a register, windows up to 65,535 pixels. std::uint32_t: any. */
template <typename TCounter>
class LaneBins
{
public:
  static constexpr bool Paired = sizeof(TCounter) == 2;
  static constexpr int  Registers = Paired ? 4 : 8;

  /** Eight counts of a histogram of bytes, halves or words. */
  template <typename TCount>
  CUDAMEDIAN_HOST_DEVICE static LaneBins
  Load(const TCount * counts)
  {
    static_assert(sizeof(TCount) <= sizeof(TCounter), "counts fit");
    LaneBins bins;
    if constexpr (sizeof(TCount) == sizeof(TCounter))
    {
      LoadWords<Registers>(counts, bins.m_Registers);
      return bins;
    }
    else
    {
      std::uint32_t pairs[4];
      if constexpr (sizeof(TCount) == 1)
      {
        std::uint32_t words[2];
        LoadWords<2>(counts, words);
        pairs[0] = WidenBytes<false>(words[0]);
        pairs[1] = WidenBytes<true>(words[0]);
        pairs[2] = WidenBytes<false>(words[1]);
        pairs[3] = WidenBytes<true>(words[1]);
      }
      else
      {
        LoadWords<4>(counts, pairs);
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; ++i)
      {
        if constexpr (Paired)
        {
          bins.m_Registers[i] = pairs[i];
        }
        else
        {
          bins.m_Registers[2 * i] = pairs[i] & 0xFFFFU;
          bins.m_Registers[2 * i + 1] = pairs[i] >> 16;
        }
      }
      return bins;
    }
  }

  /** Writes the eight counts. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(TCounter * counts) const
  {
    StoreWords<Registers>(m_Registers, counts);
  }

  CUDAMEDIAN_HOST_DEVICE void
  Add(const LaneBins & entering)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Registers; ++i)
    {
      m_Registers[i] += entering.m_Registers[i];
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  Replace(const LaneBins & entering, const LaneBins & leaving)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Registers; ++i)
    {
      m_Registers[i] += entering.m_Registers[i] - leaving.m_Registers[i];
    }
  }

  /** Pixels in the eight bins. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetSum() const
  {
    return SumRegisters<0, Registers>();
  }

  /** The bin that holds the pixel of a rank among those of the eight bins. \param rank becomes that within the bin. */
  CUDAMEDIAN_HOST_DEVICE int
  FindBin(std::uint32_t & rank) const
  {
    // Halves: four bins, then two, then one.
    constexpr int half = Registers / 2;
    int           bin = 0;
    std::uint32_t four[half];
    const bool    upper = Skip(SumRegisters<0, half>(), 4, rank, bin);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < half; ++i)
    {
      four[i] = upper ? m_Registers[half + i] : m_Registers[i];
    }
    if constexpr (Paired)
    {
      const std::uint32_t two = Skip(SumPair(four[0]), 2, rank, bin) ? four[1] : four[0];
      Skip(two & 0xFFFFU, 1, rank, bin);
    }
    else
    {
      const std::uint32_t one = Skip(four[0] + four[1], 2, rank, bin) ? four[2] : four[0];
      Skip(one, 1, rank, bin);
    }
    return bin;
  }

private:
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  SumPair(std::uint32_t pair)
  {
    return (pair & 0xFFFFU) + (pair >> 16);
  }

  template <int VFirst, int VEnd>
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         SumRegisters() const
  {
    std::uint32_t sum = m_Registers[VFirst];
    CUDAMEDIAN_UNROLL
    for (int i = VFirst + 1; i < VEnd; ++i)
    {
      sum += m_Registers[i];
    }
    return Paired ? SumPair(sum) : sum;
  }

  /** Goes on behind `count` pixels in so many bins, if the rank lies there. */
  CUDAMEDIAN_HOST_DEVICE static bool
  Skip(std::uint32_t count, int bins, std::uint32_t & rank, int & bin)
  {
    const bool skip = rank >= count;
    rank -= skip ? count : 0;
    bin += skip ? bins : 0;
    return skip;
  }

  std::uint32_t m_Registers[Registers];
};

} // namespace cudamedian

#endif
