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
#ifndef ByteHistogramColumns_h
#define ByteHistogramColumns_h

#include "DivideUp.h"
#include "HistogramPolicy.h"
#include "PixelKey.h"
#include "WordBits.h"

namespace cudamedian
{

/** Counts of four bins that follow each other, or sums and differences of such.
 *
 * Additions run over whole registers: counts end up right whatever was carried on the way, as none is negative or too
 * large at the end.
 * \tparam TCounter std::uint16_t: bins 0 and 2 in one register, 1 and 3 in another, windows up to 65,535 pixels.
 * std::uint32_t: any. */
template <typename TCounter>
struct QuadCounts
{
  static constexpr bool Paired = sizeof(TCounter) == 2;
  static constexpr int  Registers = Paired ? 2 : 4;

  std::uint32_t registers[Registers];

  /** From pairs of bins 0 and 2, and of 1 and 3. */
  CUDAMEDIAN_HOST_DEVICE static QuadCounts
  FromPairs(std::uint32_t even, std::uint32_t odd)
  {
    if constexpr (Paired)
    {
      return { { even, odd } };
    }
    else
    {
      return { { even & 0xFFFFU, odd & 0xFFFFU, even >> 16, odd >> 16 } };
    }
  }

  /** Count of a bin. */
  template <int VBin>
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Get() const
  {
    if constexpr (Paired)
    {
      return VBin < 2 ? registers[VBin % 2] & 0xFFFFU : registers[VBin % 2] >> 16;
    }
    else
    {
      return registers[VBin];
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  Add(const QuadCounts & other)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Registers; ++i)
    {
      registers[i] += other.registers[i];
    }
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetSum() const
  {
    return Get<0>() + Get<1>() + Get<2>() + Get<3>();
  }

  /** The bin that holds the pixel of a rank among those of the four. \param rank becomes that within the bin. */
  CUDAMEDIAN_HOST_DEVICE int
  FindBin(std::uint32_t & rank) const
  {
    const std::uint32_t lower = Get<0>() + Get<1>();
    const bool          upper = rank >= lower;
    rank -= upper ? lower : 0;
    const std::uint32_t even = upper ? Get<2>() : Get<0>();
    const bool          odd = rank >= even;
    rank -= odd ? even : 0;
    return (upper ? 2 : 0) + (odd ? 1 : 0);
  }
};

/** Counts that lie side by side in a word.
 *
 * \tparam VBits of a count, 8 or 16. */
template <unsigned int VBits>
struct PackedCounts
{
  static constexpr unsigned int  PerWord = 32 / VBits;
  static constexpr std::uint32_t Most = (1U << VBits) - 1;
  static constexpr std::uint32_t Ones = 0xFFFFFFFFU / Most; ///< 1 in each count

  /** Adds those counts of a word that a mask has a 1 for. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  AddUp(std::uint32_t word, std::uint32_t mask, std::uint32_t sum)
  {
#ifdef __CUDA_ARCH__
    if constexpr (VBits == 8)
    {
      return __dp4a(word, mask, sum);
    }
    else
    {
      // Counts as halves, ones as bytes.
      return __dp2a_lo(word, mask | mask >> 8, sum);
    }
#else
    for (unsigned int i = 0; i < PerWord; ++i)
    {
      sum += (word >> VBits * i & Most) * (mask >> VBits * i & 1);
    }
    return sum;
#endif
  }
};

/** Histograms of columns of pixels: 256 bins each, and the same in 16 groups of 16 bins.
 *
 * The first word of all columns comes first, then the second of all: lanes whose columns are neighbours meet in no bank
 * of shared memory, whatever their bins. One thread alone changes a column.
 *
 * Counts of 10 bits have their lower 8 where those of 8 bits have all. Their upper two lie apart, those of the 16 bins
 * of a group in one word: byte b has those of the b-th bin of each four bins. The groups are counted in 16 bits.
 * \tparam VCountBits of a bin's count: 8, 10 or 16.
 * \tparam TMemory reads and writes words: Load(word), Store(word, value), and AddTo(word, value). */
template <int VCountBits, typename TMemory>
class ByteHistogramColumns
{
private:
  static constexpr bool HasBytes = VCountBits < 16;
  static constexpr bool HasUpperBits = VCountBits > 8 && HasBytes;

  using BinCounts = PackedCounts<HasBytes ? 8 : 16>;
  using GroupCounts = PackedCounts<VCountBits == 8 ? 8 : 16>;

  static constexpr unsigned int groupBins = histogramBins / histogramGroups;
  static constexpr unsigned int groupQuads = groupBins / 4;
  static constexpr unsigned int QuadWords = HasBytes ? 1 : 2;
  static constexpr int          FirstUpperWord = histogramBins / static_cast<int>(BinCounts::PerWord);
  static constexpr int          FirstGroupWord = FirstUpperWord + (HasUpperBits ? histogramGroups : 0);
  static constexpr int          GroupWords = histogramGroups / static_cast<int>(GroupCounts::PerWord);

public:
  static constexpr int Words = GetByteHistogramWords(VCountBits);
  static_assert(Words == FirstGroupWord + GroupWords, "The policy counts on as many words.");

  CUDAMEDIAN_HOST_DEVICE
  ByteHistogramColumns(void * memory, int columns)
    : m_Words(static_cast<std::uint32_t *>(memory))
    , m_Stride(RoundUp(columns, 32))
  {}

  /** Sets all counts of a column to 0. */
  CUDAMEDIAN_HOST_DEVICE void
  Clear(int column) const
  {
    for (int i = 0; i < Words; ++i)
    {
      TMemory::Store(GetPlace(i, column), 0);
    }
  }

  /** Counts a pixel in, or out with -1. */
  CUDAMEDIAN_HOST_DEVICE void
  Change(int column, unsigned int bin, int change) const
  {
    if constexpr (HasUpperBits)
    {
      ChangeParts(column, bin, change);
    }
    else
    {
      // No count of a word carries into the next in the end, as none is negative or too large then.
      const auto changed = static_cast<std::uint32_t>(change);
      TMemory::AddTo(GetPlace(GetWord(bin), column), ShiftLeft(changed, GetShift(bin)));
    }
    const unsigned int group = bin / groupBins;
    TMemory::AddTo(GetPlace(GetGroupWord(group), column),
                   ShiftLeft(static_cast<std::uint32_t>(change), GetGroupShift(group)));
  }

  /** Counts of bins 4 quad to 4 quad + 3. */
  template <typename TCounter>
  CUDAMEDIAN_HOST_DEVICE QuadCounts<TCounter>
                         GetQuad(int column, int quad) const
  {
    if constexpr (HasBytes)
    {
      const std::uint32_t word = Load(quad, column);
      std::uint32_t       even = word & 0xFF00FFU;
      std::uint32_t       odd = word >> 8 & 0xFF00FFU;
      if constexpr (HasUpperBits)
      {
        const auto upper = LoadUpperBits(column, static_cast<unsigned int>(quad));
        even |= upper << 8 & 0x3000300U;
        odd |= upper & 0x3000300U;
      }
      return QuadCounts<TCounter>::FromPairs(even, odd);
    }
    else
    {
      return QuadCounts<TCounter>::FromPairs(Load(2 * quad, column), Load(2 * quad + 1, column));
    }
  }

  /** Pixels in groups 4 quad to 4 quad + 3. */
  template <typename TCounter>
  CUDAMEDIAN_HOST_DEVICE QuadCounts<TCounter>
                         GetGroups(int column, int quad) const
  {
    if constexpr (GroupCounts::PerWord == 4)
    {
      const std::uint32_t word = Load(FirstGroupWord + quad, column);
      return QuadCounts<TCounter>::FromPairs(word & 0xFF00FFU, word >> 8 & 0xFF00FFU);
    }
    else
    {
      const std::uint32_t lower = Load(FirstGroupWord + 2 * quad, column);
      const std::uint32_t upper = Load(FirstGroupWord + 2 * quad + 1, column);
      return QuadCounts<TCounter>::FromPairs((lower & 0xFFFFU) | upper << 16, lower >> 16 | (upper & 0xFFFF0000U));
    }
  }

  /** Pixels in bins 16 group to 16 group + 15, four each. */
  template <typename TCounter>
  CUDAMEDIAN_HOST_DEVICE QuadCounts<TCounter>
                         GetQuadSums(int column, int group) const
  {
    std::uint32_t sums[groupQuads];
    CUDAMEDIAN_UNROLL
    for (unsigned int i = 0; i < groupQuads; ++i)
    {
      const auto quad = static_cast<unsigned int>(group) * groupQuads + i;
      sums[i] = HasUpperBits ? BinCounts::AddUp(LoadUpperBits(column, quad) & 0x3030303U, BinCounts::Ones, 0) << 8 : 0;
      CUDAMEDIAN_UNROLL
      for (unsigned int j = 0; j < QuadWords; ++j)
      {
        sums[i] = BinCounts::AddUp(Load(static_cast<int>(quad * QuadWords + j), column), BinCounts::Ones, sums[i]);
      }
    }
    return QuadCounts<TCounter>::FromPairs(sums[0] | sums[2] << 16, sums[1] | sums[3] << 16);
  }

  /** Pixels in bins 16 group to 16 group + 15. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetGroup(int column, unsigned int group) const
  {
    return Load(GetGroupWord(group), column) >> GetGroupShift(group) & GroupCounts::Most;
  }

  /** What CountBelow() adds up: the bins below 4 quad. */
  class Below
  {
  public:
    CUDAMEDIAN_HOST_DEVICE explicit Below(unsigned int quad)
      : m_Group(static_cast<int>(quad / groupQuads))
      , m_Words(static_cast<int>(quad % groupQuads * QuadWords))
      , m_UpperBits(BinCounts::Ones * ((1U << 2 * (quad % groupQuads)) - 1))
    {
      constexpr auto counts = static_cast<int>(GroupCounts::PerWord);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < GroupWords; ++i)
      {
        const int left = m_Group - i * counts;
        const int count = left < 0 ? 0 : left < counts ? left : counts;
        m_Masks[i] = count == 0 ? 0 : GroupCounts::Ones >> 32 / counts * (counts - count);
      }
    }

  private:
    friend class ByteHistogramColumns;

    std::uint32_t m_Masks[GroupWords]; ///< 1 for each group that is below
    int           m_Group;             ///< that is below in part
    int           m_Words;             ///< words of it that are
    std::uint32_t m_UpperBits;         ///< of its word of upper bits, those that are
  };

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         CountBelow(int column, const Below & bins) const
  {
    std::uint32_t sum = 0;
    if constexpr (HasUpperBits)
    {
      const auto upper = Load(FirstUpperWord + bins.m_Group, column) & bins.m_UpperBits;
      sum = static_cast<std::uint32_t>(CountBits(upper) + CountBits(upper & 0xAAAAAAAAU)) << 8;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < GroupWords; ++i)
    {
      sum = GroupCounts::AddUp(Load(FirstGroupWord + i, column), bins.m_Masks[i], sum);
    }
    const int first = bins.m_Group * static_cast<int>(groupQuads * QuadWords);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < static_cast<int>((groupQuads - 1) * QuadWords); ++i)
    {
      if (i < bins.m_Words)
      {
        sum = BinCounts::AddUp(Load(first + i, column), BinCounts::Ones, sum);
      }
    }
    return sum;
  }

private:
  /** Counts a pixel of a bin in or out, whose count's upper bits lie apart. */
  CUDAMEDIAN_HOST_DEVICE void
  ChangeParts(int column, unsigned int bin, int change) const
  {
    const auto          changed = static_cast<std::uint32_t>(change);
    std::uint32_t *     place = GetPlace(GetWord(bin), column);
    const std::uint32_t own = ShiftLeft(BinCounts::Most, GetShift(bin));
    const std::uint32_t before = TMemory::Load(place);
    const std::uint32_t after = before + ShiftLeft(changed, GetShift(bin));
    TMemory::Store(place, (after & own) | (before & ~own));
    if (((change > 0 ? after : before) & own) == 0)
    {
      TMemory::AddTo(GetPlace(FirstUpperWord + static_cast<int>(bin / groupBins), column),
                     ShiftLeft(changed, GetShift(bin) + bin / 4 % groupQuads * 2));
    }
  }

  /** The upper bits of four bins' counts, of each in the lowest two bits of a byte; other bits are of other bins. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         LoadUpperBits(int column, unsigned int quad) const
  {
    return Load(FirstUpperWord + static_cast<int>(quad / groupQuads), column) >> quad % groupQuads * 2;
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                         GetPlace(int word, int column) const
  {
    return m_Words + word * m_Stride + column;
  }

  /** Shifts by a number of bits, modulo 32. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  ShiftLeft(std::uint32_t value, unsigned int bits)
  {
#ifdef __CUDA_ARCH__
    return __funnelshift_l(0, value, bits);
#else
    return value << bits % 32;
#endif
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Load(int word, int column) const
  {
    return TMemory::Load(GetPlace(word, column));
  }

  CUDAMEDIAN_HOST_DEVICE static int
  GetWord(unsigned int bin)
  {
    // Of four bins 0 and 2 share a word with halves, and 1 and 3 the next.
    return static_cast<int>(HasBytes ? bin / 4 : bin / 4 * 2 + bin % 2);
  }

  /** By how many bits a bin's count is shifted in its word, modulo 32. */
  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetShift(unsigned int bin)
  {
    return HasBytes ? bin * 8 : bin / 2 * 16;
  }

  CUDAMEDIAN_HOST_DEVICE static int
  GetGroupWord(unsigned int group)
  {
    return FirstGroupWord + static_cast<int>(group / GroupCounts::PerWord);
  }

  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetGroupShift(unsigned int group)
  {
    return group % GroupCounts::PerWord * (32 / GroupCounts::PerWord);
  }

  std::uint32_t * m_Words;
  int             m_Stride;
};

} // namespace cudamedian

#endif
