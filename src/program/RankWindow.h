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
#ifndef RankWindow_h
#define RankWindow_h

#include "PixelKey.h"

/** A sliding window as a set of bits, one for each rank of a region's pixels. For both backends.
 *
 * A rank is packed into 16 bits as its word's number times the bytes of a row of words, one word to each thread, plus
 * its bit in the word: it orders like the rank, and the word's place is one instruction away. */
namespace cudamedian
{

/** The rank as the windows take it. */
CUDAMEDIAN_HOST_DEVICE std::uint16_t
                       PackRank(int rank, int shift)
{
  return static_cast<std::uint16_t>((rank >> 5) << shift | (rank & 31));
}

/** One thread's window, which slides over the ranks of a region.
 *
 * \tparam VThreads threads of the block, 1, 32 or 64: words of the window lie so many words apart. */
template <int VThreads>
class RankWindow
{
public:
  static constexpr int           Shift = VThreads == 1 ? 5 : VThreads == 32 ? 7 : 8;
  static constexpr std::uint32_t WordMask = 0xFFFFU & ~((1U << Shift) - 1);

  /** \param bits the words of all threads, zero before; the window has one of each row of VThreads. */
  CUDAMEDIAN_HOST_DEVICE
  RankWindow(std::uint32_t * bits, int thread)
    : m_Bits(reinterpret_cast<char *>(bits)), m_Place(static_cast<std::uint32_t>(thread) * 4)
  {}

  /** Adds `count` pixels from `ranks` on. */
  CUDAMEDIAN_HOST_DEVICE void
  Insert(const std::uint16_t * ranks, int count)
  {
    CUDAMEDIAN_KEEP_LOOP
    for (; count >= 8; count -= 8, ranks += 8)
    {
      InsertSome<8>(ranks);
    }
    if ((count & 4) != 0)
    {
      InsertSome<4>(ranks);
      ranks += 4;
    }
    if ((count & 2) != 0)
    {
      InsertSome<2>(ranks);
      ranks += 2;
    }
    if ((count & 1) != 0)
    {
      InsertSome<1>(ranks);
    }
  }

  /** After the first pixels are in: starts looking for medians from a word on. */
  CUDAMEDIAN_HOST_DEVICE void
  StartAt(int word)
  {
    m_Below = 0;
    for (int w = 0; w < word; ++w)
    {
      m_Below += CountBits(GetWord(static_cast<std::uint32_t>(w) << Shift));
    }
    m_Word = static_cast<std::uint32_t>(word) << Shift;
  }

  /** Replaces `count` pixels, an odd number, by others. Both rows have the same parity of their addresses. */
  CUDAMEDIAN_HOST_DEVICE void
  Replace(const std::uint16_t * entering, const std::uint16_t * leaving, int count)
  {
    // Two ranks are loaded at once; of the odd number one stands alone, at the end that is not aligned. Loads go before
    // the flips they do not depend on, which the compiler cannot know.
    const int  odd = static_cast<int>(reinterpret_cast<std::uintptr_t>(entering) >> 1 & 1);
    const int  single = odd != 0 ? 0 : count - 1;
    const auto in = static_cast<std::uint32_t>(entering[single]);
    const auto out = static_cast<std::uint32_t>(leaving[single]);
    entering += odd;
    leaving += odd;
    int pairs = count / 2;
    CUDAMEDIAN_KEEP_LOOP
    for (; pairs >= 8; pairs -= 8, entering += 16, leaving += 16)
    {
      ReplacePairs<8>(entering, leaving);
    }
    if ((pairs & 4) != 0)
    {
      ReplacePairs<4>(entering, leaving);
      entering += 8;
      leaving += 8;
    }
    if ((pairs & 2) != 0)
    {
      ReplacePairs<2>(entering, leaving);
      entering += 4;
      leaving += 4;
    }
    if ((pairs & 1) != 0)
    {
      ReplacePairs<1>(entering, leaving);
    }
    Enter(in);
    Leave(out);
  }

  /** The rank that `below` pixels of the window are below. */
  CUDAMEDIAN_HOST_DEVICE int
  FindRank(int below)
  {
    std::uint32_t word = GetWord(m_Word);
    while (m_Below > below)
    {
      m_Word -= 1U << Shift;
      word = GetWord(m_Word);
      m_Below -= CountBits(word);
    }
    int count = CountBits(word);
    while (m_Below + count <= below)
    {
      m_Below += count;
      m_Word += 1U << Shift;
      word = GetWord(m_Word);
      count = CountBits(word);
    }
    int left = below - m_Below;
    int position = 0;
    CUDAMEDIAN_UNROLL
    for (int width = 16; width > 0; width /= 2)
    {
      const int lower = CountBits(word & ((1U << width) - 1));
      const int step = left >= lower ? width : 0;
      left -= step != 0 ? lower : 0;
      position += step;
      word >>= step;
    }
    return static_cast<int>(m_Word >> (Shift - 5)) + position;
  }

private:
  CUDAMEDIAN_HOST_DEVICE std::uint32_t &
                         GetWord(std::uint32_t packedRank) const
  {
    // One thread's words lie one behind the other, and its packed ranks are the ranks.
    return VThreads == 1 ? reinterpret_cast<std::uint32_t *>(m_Bits)[packedRank >> 5]
                         : *reinterpret_cast<std::uint32_t *>(m_Bits + ((packedRank & WordMask) | m_Place));
  }

  CUDAMEDIAN_HOST_DEVICE static int
  CountBits(std::uint32_t word)
  {
#ifdef __CUDA_ARCH__
    return __popc(word);
#else
    // Compilers for plain x86-64 call a function for __builtin_popcount.
    word -= word >> 1 & 0x55555555U;
    word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
    return static_cast<int>(((word + (word >> 4)) & 0x0F0F0F0FU) * 0x01010101U >> 24);
#endif
  }

  CUDAMEDIAN_HOST_DEVICE void
  Flip(std::uint32_t packedRank) const
  {
#ifdef __CUDA_ARCH__
    // One instruction that nothing waits for. The shift takes the lowest five bits of the rank by itself.
    std::uint32_t bit;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(bit) : "r"(0U), "r"(1U), "r"(packedRank));
    atomicXor(&GetWord(packedRank), bit);
#else
    GetWord(packedRank) ^= 1U << (packedRank & 31);
#endif
  }

  /** 1 for a rank below the current word, else 0. */
  CUDAMEDIAN_HOST_DEVICE int
  IsBelow(std::uint32_t packedRank) const
  {
    return static_cast<int>((packedRank - m_Word) >> 31);
  }

  CUDAMEDIAN_HOST_DEVICE void
  Enter(std::uint32_t packedRank)
  {
    Flip(packedRank);
    m_Below += IsBelow(packedRank);
  }
  CUDAMEDIAN_HOST_DEVICE void
  Leave(std::uint32_t packedRank)
  {
    Flip(packedRank);
    m_Below -= IsBelow(packedRank);
  }

  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE void
  InsertSome(const std::uint16_t * ranks) const
  {
    std::uint32_t packed[VCount];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      packed[i] = ranks[i];
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      Flip(packed[i]);
    }
  }

  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  LoadPair(const std::uint16_t * ranks)
  {
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<const std::uint32_t *>(ranks);
#else
    return ranks[0] | static_cast<std::uint32_t>(ranks[1]) << 16;
#endif
  }

  template <int VPairs>
  CUDAMEDIAN_HOST_DEVICE void
  ReplacePairs(const std::uint16_t * entering, const std::uint16_t * leaving)
  {
    std::uint32_t in[VPairs];
    std::uint32_t out[VPairs];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VPairs; ++i)
    {
      in[i] = LoadPair(entering + 2 * i);
      out[i] = LoadPair(leaving + 2 * i);
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VPairs; ++i)
    {
      Enter(in[i] & 0xFFFFU);
      Enter(in[i] >> 16);
      Leave(out[i] & 0xFFFFU);
      Leave(out[i] >> 16);
    }
  }

  char *        m_Bits;
  std::uint32_t m_Place;
  std::uint32_t m_Word{ 0 };  ///< packed rank of the first bit of a word
  int           m_Below{ 0 }; ///< pixels of the window of lower rank
};

} // namespace cudamedian

#endif
