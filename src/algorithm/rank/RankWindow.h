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
#include "WordBits.h"

/** A sliding window as counters of its pixels. For both backends.
 *
 * Either each rank of a region's pixels has a counter, which is a bit, or each value that 8-bit pixels can have has one
 * of 10 or 16 bits. Counters lie in words of 32 bits. A rank or value is packed into 16 bits as its word's number times
 * the bytes of a row of words, one word to each thread, plus where its counter starts in the word: it orders like the
 * rank, and both places are one instruction away. */
namespace cudamedian
{

/** Counters of a number of bits in a word. */
CUDAMEDIAN_HOST_DEVICE constexpr int
GetCountersOfWord(int counterBits)
{
  return 32 / counterBits;
}

/** A rank as the windows take it. Ranks below those of the second word are wanted in no window, and the first word is
 * one counter of them all. Nor are ranks from those of the last word on: that word takes them all, and is never read.
 *
 * \param rank relative to the first that the first word could have. */
CUDAMEDIAN_HOST_DEVICE std::uint16_t
                       PackRank(int rank, int shift, int words)
{
  const int last = 32 * words - 1;
  const int counted = rank < 32 ? 0 : rank < last ? rank : last;
  return static_cast<std::uint16_t>(counted + (counted >> 5) * ((1 << shift) - 32));
}

/** An 8-bit value as the windows take it. */
template <int VCounterBits>
CUDAMEDIAN_HOST_DEVICE std::uint16_t
                       PackValue(std::uint32_t value, int shift)
{
  constexpr auto      counters = static_cast<std::uint32_t>(GetCountersOfWord(VCounterBits));
  const std::uint32_t word = value / counters;
  return static_cast<std::uint16_t>(word << shift | (value - word * counters) * VCounterBits);
}

/** Four words of a list. */
CUDAMEDIAN_HOST_DEVICE void
LoadFour(const std::uint32_t * list, std::uint32_t (&words)[4])
{
#ifdef __CUDA_ARCH__
  const uint4 four = *reinterpret_cast<const uint4 *>(list);
  words[0] = four.x;
  words[1] = four.y;
  words[2] = four.z;
  words[3] = four.w;
#else
  for (int i = 0; i < 4; ++i)
  {
    words[i] = list[i];
  }
#endif
}

/** The place of a rank so many bytes behind a window's corner. */
CUDAMEDIAN_HOST_DEVICE const std::uint16_t *
                             GetBehind(const std::uint16_t * corner, std::uint32_t bytes)
{
  return reinterpret_cast<const std::uint16_t *>(reinterpret_cast<const char *>(corner) + bytes);
}

/** Whether a rank is the second of two that are loaded at once. */
CUDAMEDIAN_HOST_DEVICE bool
IsSecondOfPair(const std::uint16_t * rank)
{
  return (reinterpret_cast<std::uintptr_t>(rank) >> 1 & 1) != 0;
}

/** Two ranks that are loaded at once. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       LoadPair(const std::uint16_t * ranks)
{
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const std::uint32_t *>(ranks);
#else
  return ranks[0] | static_cast<std::uint32_t>(ranks[1]) << 16;
#endif
}

/** The rows of a window whose pixels are replaced, an odd number in each. Two ranks are loaded at once; one pixel
 * stands alone, at the end of the row that is not aligned. */
struct RankRows
{
  int pairs;
  int odd;    ///< 1 if the first pixel stands alone
  int single; ///< where that which stands alone is, behind the first of the pairs
  int count;  ///< of rows
  int pitch;  ///< from row to row, an even number

  /** \param ranks the first pixel of a row. \param pixels of a row. */
  CUDAMEDIAN_HOST_DEVICE
  RankRows(const std::uint16_t * ranks, int pixels, int rows, int step)
    : pairs(pixels / 2)
    , odd(IsSecondOfPair(ranks) ? 1 : 0)
    , single(odd != 0 ? -1 : pixels - 1)
    , count(rows)
    , pitch(step)
  {}
};

/** One thread's window, which slides over the ranks or values of a region.
 *
 * \tparam VThreads threads of the block, 1, 32 or 64: words of the window lie so many words apart.
 * \tparam VCounterBits 1 for ranks; 10 or 16 for values, where windows have fewer than 2^VCounterBits pixels. */
template <int VThreads, int VCounterBits = 1>
class RankWindow
{
public:
  static_assert(VCounterBits == 1 || VCounterBits == 10 || VCounterBits == 16, "no such counters");
  static constexpr int           Shift = VThreads == 1 ? 5 : VThreads == 32 ? 7 : 8;
  static constexpr std::uint32_t WordMask = 0xFFFFU & ~((1U << Shift) - 1);

  /** \param bits the words of all threads, zero before; the window has one of each row of VThreads. */
  CUDAMEDIAN_HOST_DEVICE
  RankWindow(std::uint32_t * bits, int thread)
    : m_Bits(reinterpret_cast<char *>(bits))
    , m_Place(static_cast<std::uint32_t>(thread) * 4)
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

  /** Adds the pixels of a box.
   *
   * \param ranks the first one.
   * \param size of the box along the region's axes.
   * \param row \param slice how far each of these is from the next. */
  CUDAMEDIAN_HOST_DEVICE void
  InsertBox(const std::uint16_t * ranks, const int (&size)[3], int row, int slice)
  {
    // Short rows, of which windows along three axes have many, are of a known length.
    switch (size[0])
    {
      case 3:
        return InsertShortRows<3>(ranks, size, row, slice);
      case 5:
        return InsertShortRows<5>(ranks, size, row, slice);
      case 7:
        return InsertShortRows<7>(ranks, size, row, slice);
      case 9:
        return InsertShortRows<9>(ranks, size, row, slice);
      case 11:
        return InsertShortRows<11>(ranks, size, row, slice);
      default:
        for (int z = 0; z < size[2]; ++z, ranks += slice)
        {
          for (int y = 0; y < size[1]; ++y)
          {
            Insert(ranks + y * row, size[0]);
          }
        }
    }
  }

  /** Adds a pixel. On the host it may have any rank. */
  CUDAMEDIAN_HOST_DEVICE void
  InsertOne(std::uint32_t packedRank)
  {
    Count(packedRank, 1);
  }

  /** Adds two pixels. */
  CUDAMEDIAN_HOST_DEVICE void
  InsertBoth(std::uint16_t one, std::uint16_t other)
  {
    Count(one, 1);
    Count(other, 1);
  }

  /** After the first pixels are in: starts looking for the wanted ranks from a word on. */
  CUDAMEDIAN_HOST_DEVICE void
  StartAt(int word)
  {
    // The first word of ranks is one counter, unless one thread's ranks are all there.
    constexpr bool counted = VCounterBits == 1 && VThreads > 1;
    m_Below = counted ? static_cast<int>(GetWord(0)) : 0;
    for (int w = counted ? 1 : 0; w < word; ++w)
    {
      m_Below += CountPixels(GetWord(static_cast<std::uint32_t>(w) << Shift));
    }
    m_Word = static_cast<std::uint32_t>(word) << Shift;
  }

  /** Replaces the pixels of rows by others.
   *
   * \param entering \param leaving the first pair of the first row, which is `rows.odd` behind its first pixel. */
  CUDAMEDIAN_HOST_DEVICE void
  ReplaceRows(const std::uint16_t * entering, const std::uint16_t * leaving, const RankRows & rows)
  {
    // Asked first: the switch below jumps by a table, which costs windows of one row 3 to 6 % (H200, c1c9e61).
    if (rows.count == 1 || rows.pairs < 1 || rows.pairs > 5)
    {
      CUDAMEDIAN_KEEP_LOOP
      for (int row = 0; row < rows.count; ++row, entering += rows.pitch, leaving += rows.pitch)
      {
        ReplaceRow(entering, leaving, rows);
      }
      return;
    }
    // Short rows, of which windows along three axes have many, are of a known length.
    switch (rows.pairs)
    {
      case 1:
        return ReplaceShortRows<1>(entering, leaving, rows);
      case 2:
        return ReplaceShortRows<2>(entering, leaving, rows);
      case 3:
        return ReplaceShortRows<3>(entering, leaving, rows);
      case 4:
        return ReplaceShortRows<4>(entering, leaving, rows);
      default:
        return ReplaceShortRows<5>(entering, leaving, rows);
    }
  }

  /** Replaces pixels by others, whose places from a window's corner are listed: see MakeRankLists().
   *
   * \param count a multiple of 4. */
  CUDAMEDIAN_HOST_DEVICE void
  ReplaceListed(const std::uint16_t * corner, const std::uint32_t * list, int count)
  {
    CUDAMEDIAN_KEEP_LOOP
    for (; count > 0; count -= 4, list += 8)
    {
      std::uint32_t entering[4];
      std::uint32_t leaving[4];
      LoadFour(list, entering);
      LoadFour(list + 4, leaving);
      std::uint32_t in[4];
      std::uint32_t out[4];
      // Loads go before the counting they do not affect, which the compiler cannot know.
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; ++i)
      {
        in[i] = *GetBehind(corner, entering[i]);
        out[i] = *GetBehind(corner, leaving[i]);
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; i += 2)
      {
        EnterBoth(in[i], in[i + 1]);
        LeaveBoth(out[i], out[i + 1]);
      }
    }
  }

  /** Replaces one pixel by another. On the host they may have any ranks. */
  CUDAMEDIAN_HOST_DEVICE void
  ReplaceOne(std::uint32_t entering, std::uint32_t leaving)
  {
    Count(entering, 1);
    Count(leaving, ~0U);
    ChangeBelow(entering, leaving);
  }

  /** The rank or value that `below` pixels of the window are below. */
  CUDAMEDIAN_HOST_DEVICE int
  FindRank(int below)
  {
    TakeChanges();
    std::uint32_t word = GetWord(m_Word);
    while (m_Below > below)
    {
      m_Word -= 1U << Shift;
      word = GetWord(m_Word);
      m_Below -= CountPixels(word);
    }
    int count = CountPixels(word);
    while (m_Below + count <= below)
    {
      m_Below += count;
      m_Word += 1U << Shift;
      word = GetWord(m_Word);
      count = CountPixels(word);
    }
    return static_cast<int>(m_Word >> Shift) * GetCountersOfWord(VCounterBits) + FindInWord(word, below - m_Below);
  }

private:
  CUDAMEDIAN_HOST_DEVICE std::uint32_t &
                         GetWord(std::uint32_t packedRank) const
  {
    // One thread's words lie one behind the other, and its packed ranks are the ranks.
    return VThreads == 1 ? reinterpret_cast<std::uint32_t *>(m_Bits)[packedRank >> 5]
                         : *reinterpret_cast<std::uint32_t *>(m_Bits + ((packedRank & WordMask) | m_Place));
  }

  /** The sum of a word's counters. */
  CUDAMEDIAN_HOST_DEVICE static int
  CountPixels(std::uint32_t word)
  {
    if constexpr (VCounterBits == 1)
    {
      return CountBits(word);
    }
    else if constexpr (VCounterBits == 10)
    {
      // All three come to lie on top of each other; what is below them does not reach so far.
      return static_cast<int>(word * 0x00401004U >> 22);
    }
    else
    {
      return static_cast<int>((word & 0xFFFFU) + (word >> 16));
    }
  }

  /** The counter of a word that `left` pixels of the word are below. */
  CUDAMEDIAN_HOST_DEVICE static int
  FindInWord(std::uint32_t word, int left)
  {
    int position = 0;
    if constexpr (VCounterBits == 1)
    {
      position = FindBit<32>(word, left);
    }
    else
    {
      int lower = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i + 1 < GetCountersOfWord(VCounterBits); ++i)
      {
        lower += static_cast<int>(word >> (i * VCounterBits) & ((1U << VCounterBits) - 1));
        position += left >= lower ? 1 : 0;
      }
    }
    return position;
  }

  /** Adds a number of pixels, 1 or -1, to a counter. On a device only the lower half of `packedRank` counts. */
  CUDAMEDIAN_HOST_DEVICE void
  Count(std::uint32_t packedRank, std::uint32_t pixels) const
  {
#ifdef __CUDA_ARCH__
    // One instruction that nothing waits for. The shift takes the lowest five bits of the rank by itself.
    std::uint32_t shifted;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(shifted) : "r"(0U), "r"(pixels), "r"(packedRank));
    atomicAdd(&GetWord(packedRank), shifted);
#else
    GetWord(packedRank) += pixels << (packedRank & 31);
#endif
  }

  /** 1 for a rank below the current word, else 0. */
  CUDAMEDIAN_HOST_DEVICE int
  IsBelow(std::uint32_t packedRank) const
  {
    return static_cast<int>((packedRank - m_Word) >> 31);
  }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // Two pixels are compared by one instruction. Their packed ranks, of 15 bits without those that would be infinite or
  // no numbers, are numbers of 16 bits that compare as they do. It gives -1 in either half, which is summed up for both
  // halves together: the lower half of the sum is the number of its pixels, negated, and the upper half has a carry for
  // each of them. The sum starts with so much in the lower half that this never becomes negative: no step replaces more
  // than half of a region of 16,384 pixels.
  static constexpr std::uint32_t NoChanges = 0x2000U - (0x4000U << 16);

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         CompareBoth(std::uint32_t pair) const
  {
    std::uint32_t below;
    asm("set.lt.u32.bf16x2 %0, %1, %2;" : "=r"(below) : "r"(pair), "r"(m_Word * 0x10001U));
    return below;
  }
  CUDAMEDIAN_HOST_DEVICE void
  EnterPair(std::uint32_t pair)
  {
    Count(pair, 1);
    Count(pair >> 16, 1);
    m_Changes += CompareBoth(pair);
  }
  CUDAMEDIAN_HOST_DEVICE void
  LeavePair(std::uint32_t pair)
  {
    Count(pair, ~0U);
    Count(pair >> 16, ~0U);
    m_Changes -= CompareBoth(pair);
  }
  /** One pixel for another. Both have nothing in their upper halves, which so cancel each other out. */
  CUDAMEDIAN_HOST_DEVICE void
  ChangeBelow(std::uint32_t entering, std::uint32_t leaving)
  {
    m_Changes += CompareBoth(entering) - CompareBoth(leaving);
  }
  CUDAMEDIAN_HOST_DEVICE void
  EnterBoth(std::uint32_t one, std::uint32_t other)
  {
    Count(one, 1);
    Count(other, 1);
    m_Changes += CompareBoth(one | other << 16);
  }
  CUDAMEDIAN_HOST_DEVICE void
  LeaveBoth(std::uint32_t one, std::uint32_t other)
  {
    Count(one, ~0U);
    Count(other, ~0U);
    m_Changes -= CompareBoth(one | other << 16);
  }
  /** Brings the number of pixels below the current word up to date. */
  CUDAMEDIAN_HOST_DEVICE void
  TakeChanges()
  {
    // Twice the lower half and the upper one, negated: nothing for what the sum starts with.
    m_Below = __dp2a_lo(static_cast<int>(m_Changes), 0xFFFE, m_Below);
    m_Changes = NoChanges;
  }
#else
  CUDAMEDIAN_HOST_DEVICE void
  Enter(std::uint32_t packedRank)
  {
    Count(packedRank, 1);
    m_Below += IsBelow(packedRank);
  }
  CUDAMEDIAN_HOST_DEVICE void
  Leave(std::uint32_t packedRank)
  {
    Count(packedRank, ~0U);
    m_Below -= IsBelow(packedRank);
  }
  CUDAMEDIAN_HOST_DEVICE void
  EnterPair(std::uint32_t pair)
  {
    Enter(pair & 0xFFFFU);
    Enter(pair >> 16);
  }
  CUDAMEDIAN_HOST_DEVICE void
  LeavePair(std::uint32_t pair)
  {
    Leave(pair & 0xFFFFU);
    Leave(pair >> 16);
  }
  CUDAMEDIAN_HOST_DEVICE void
  ChangeBelow(std::uint32_t entering, std::uint32_t leaving)
  {
    m_Below += IsBelow(entering) - IsBelow(leaving);
  }
  CUDAMEDIAN_HOST_DEVICE void
  EnterBoth(std::uint32_t one, std::uint32_t other)
  {
    Enter(one);
    Enter(other);
  }
  CUDAMEDIAN_HOST_DEVICE void
  LeaveBoth(std::uint32_t one, std::uint32_t other)
  {
    Leave(one);
    Leave(other);
  }
  CUDAMEDIAN_HOST_DEVICE void
  TakeChanges()
  {}
#endif

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
      Count(packed[i], 1);
    }
  }

  /** A box whose rows have VCount pixels. */
  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE void
  InsertShortRows(const std::uint16_t * ranks, const int (&size)[3], int row, int slice) const
  {
    for (int z = 0; z < size[2]; ++z, ranks += slice)
    {
      CUDAMEDIAN_KEEP_LOOP
      for (int y = 0; y < size[1]; ++y)
      {
        InsertSome<VCount>(ranks + y * row);
      }
    }
  }

  /** A row of any number of pairs, and the pixel that stands alone. */
  CUDAMEDIAN_HOST_DEVICE void
  ReplaceRow(const std::uint16_t * entering, const std::uint16_t * leaving, const RankRows & rows)
  {
    // Loads go before the counting they do not affect, which the compiler cannot know.
    const std::uint32_t in = entering[rows.single];
    const std::uint32_t out = leaving[rows.single];
    int                 pairs = rows.pairs;
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
    ReplaceOne(in, out);
  }

  /** Rows of VPairs pairs, and the pixel that stands alone. */
  template <int VPairs>
  CUDAMEDIAN_HOST_DEVICE void
  ReplaceShortRows(const std::uint16_t * entering, const std::uint16_t * leaving, const RankRows & rows)
  {
    CUDAMEDIAN_KEEP_LOOP
    for (int row = 0; row < rows.count; ++row, entering += rows.pitch, leaving += rows.pitch)
    {
      const std::uint32_t in = entering[rows.single];
      const std::uint32_t out = leaving[rows.single];
      ReplacePairs<VPairs>(entering, leaving);
      ReplaceOne(in, out);
    }
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
      EnterPair(in[i]);
      LeavePair(out[i]);
    }
  }

  char *        m_Bits;
  std::uint32_t m_Place;
  std::uint32_t m_Word{ 0 };  ///< packed rank of the first bit of a word
  int           m_Below{ 0 }; ///< pixels of the window of lower rank
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  std::uint32_t m_Changes{ NoChanges }; ///< of m_Below since the last median: see CompareBoth()
#endif
};

} // namespace cudamedian

#endif
