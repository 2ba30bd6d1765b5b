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
#ifndef RankValueSort_h
#define RankValueSort_h

#include "DivideUp.h"
#include "RankQuantiles.h"
#include "RankSort.h"

/** Sorts a region by counting each value of its pixels, or of the numbers that RankQuantiles gives to wide ones. See
 * RankSort.h.
 *
 * Two passes over the pixels and one over 65,536 counters, whatever the pixels are: for regions that are too large for
 * buckets, or as large as pay for the counters. Wide pixels that share a number and are not equal stay in any order:
 * windows that find one of them look at the others (RankThreshold.h). */
namespace cudamedian
{

/** A number whose pixels have ranks on both sides of the first or last that is told apart. */
struct RankEnd
{
  int number; ///< -1: there is none
  int start;  ///< its first rank
  int count;  ///< its pixels
};

/** What a block needs besides for wide pixels, of which it takes a sample. */
template <typename TBits, int VSamples>
struct QuantileStorage
{
  static constexpr int UnorderedWords = 2048;

  union
  {
    TBits         sample[VSamples / 32 * 33];
    std::uint32_t unordered[UnorderedWords]; ///< a bit for each rank, once the pixels are counted
  };
  RankEnd ends[2];
};
template <typename TBits>
struct QuantileStorage<TBits, 0>
{};

/** Shared memory of a block that sorts by values. Counters of 16 bits: the lower half of a word is of one value, the
 * upper half of the one that is 32768 more. Four words are left out behind each 32, so that threads which read vectors
 * of their own 32 find them in different banks. */
template <typename TBits, int VSamples, int VThreads>
struct ValueStorage : QuantileStorage<TBits, VSamples>
{
  static constexpr int Words = 32768;
  static constexpr int Own = Words / VThreads; ///< words of a thread

  union
  {
    std::uint32_t counters[Words / 32 * 36];
    WordVector    vectors[Words / 32 * 9];
  };
  std::uint32_t totals[VThreads / 32];

  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetWord(unsigned int key)
  {
    const auto word = key % Words;
    return word + word / 32 * 4;
  }
  /** 16 for a value in the upper half of its word. */
  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetShift(unsigned int key)
  {
    return key / (Words / 16) & 16U;
  }
};

/** Sorts a region of at most 65,535 pixels: their packed ranks. Equal pixels have ranks in any order. Of wide pixels
 * also which ranks are unordered: where the pixel of one may be less than that of the rank before.
 *
 * \tparam VSamples see RankQuantiles; 0 for pixels of 16 bits. */
template <typename TBits, int VSamples, typename TThreads>
class ValueSort
{
public:
  static constexpr int VThreads = TThreads::Count;
  using Storage = ValueStorage<TBits, VSamples, VThreads>;

  /** \param region number within the launch. \param shared a Storage, with the offsets of the region's rows behind it.
   */
  CUDAMEDIAN_HOST_DEVICE
  ValueSort(const TThreads & threads, const RankArguments & arguments, std::uint32_t region, void * shared)
    : m_Threads(threads)
    , m_Arguments(arguments)
    , m_Region(region)
    , m_Storage(*static_cast<Storage *>(shared))
    , m_Rows(reinterpret_cast<std::int64_t *>(&m_Storage + 1))
    , m_Block(arguments, arguments.firstBlock + region)
  {}

  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    Clear();
    if constexpr (IsWide)
    {
      TakeSample();
    }
    CountValues();
    AddCounters();
    WriteResults();
    if constexpr (IsWide)
    {
      OrderEnds();
      WriteUnordered();
    }
  }

private:
  template <typename T>
  using Value = typename TThreads::template Value<T>;
  static constexpr bool IsWide = VSamples > 0;
  static_assert(IsWide == (sizeof(TBits) > 2), "values of 16 bits count as they are");
  using Quantiles = RankQuantiles<TBits, IsWide ? VSamples : 2 * VThreads, TThreads>;
  static constexpr int Warps = VThreads / 32;
  static constexpr int Own = Storage::Own;
  static_assert(Own % 32 == 0, "whole banks of counters");
  /** Pixels that a thread loads before it needs the first. */
  static constexpr int Loads = 8;

  CUDAMEDIAN_HOST_DEVICE void
  Clear()
  {
    m_Threads.ForEachThread([&](int thread) {
      for (int i = thread; i < Storage::Words / 32 * 9; i += VThreads)
      {
        m_Storage.vectors[i] = WordVector{ 0, 0, 0, 0 };
      }
      for (int i = thread; i < m_Arguments.GetRows(); i += VThreads)
      {
        m_Rows[i] = GetRowOffset(m_Arguments, m_Block, i);
      }
    });
    m_Threads.Synchronize();
  }

  /** \param reciprocal of 2^32, rounded up; 0 for a divisor of 1. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetQuotient(int number, int divisor, std::uint32_t reciprocal)
  {
    return divisor == 1
             ? number
             : static_cast<int>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)) * reciprocal >> 32);
  }

  CUDAMEDIAN_HOST_DEVICE TBits
  GetKey(TBits pixel) const
  {
    return CallWithMapping<TBits>(m_Arguments.keyFormat, [&](auto mapping) {
      return mapping.FromBits(pixel, static_cast<TBits>(m_Arguments.slab.signMask));
    });
  }

  CUDAMEDIAN_HOST_DEVICE void
  TakeSample()
  {
    const RegionAxis columns(m_Arguments, m_Block, 0);
    Quantiles(m_Storage.sample).TakeSample(m_Threads, m_Arguments.shape.pixels, [&](int number) {
      return LoadKey(columns, number);
    });
  }

  /** The key of one of the region's pixels. */
  CUDAMEDIAN_HOST_DEVICE TBits
  LoadKey(const RegionAxis & columns, int number) const
  {
    const int width = m_Arguments.shape.region[0];
    const int row = number / width;
    return GetKey(
      static_cast<const TBits *>(m_Arguments.slab.input)[m_Rows[row] + columns.GetOffset(number - row * width)]);
  }

  /** Calls visit(item, number, inside) for the thread's pixels of the region, by all threads of a warp at once, with
   * what load(row, x, number) returns for each.
   *
   * A warp takes pieces of rows, 32 pixels each, in an order that goes to and fro: ranks of equal pixels come to lie
   * all over the region, so that a window that slides over them has as many of the lower as before. */
  template <typename TItem, typename TLoad, typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachPixel(int thread, const TLoad & load, const TVisit & visit) const
  {
    const int width = m_Arguments.shape.region[0];
    const int rows = m_Arguments.GetRows();
    const int pieces = DivideUp(width, 32) * rows;
    const int stride = (pieces % 1009 != 0 ? 1009 : 1013) % pieces;
    const int step = stride * Warps % pieces;
    int       place = thread / 32 * stride % pieces;
    // Divides numbers of 16 bits.
    const auto reciprocal = 0xFFFFFFFFU / static_cast<std::uint32_t>(rows) + 1;
    CUDAMEDIAN_KEEP_LOOP
    for (int first = thread / 32; first < pieces; first += Loads * Warps)
    {
      TItem items[Loads];
      int   numbers[Loads];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loads; ++i)
      {
        const int piece = first + i * Warps;
        const int column = GetQuotient(place, rows, reciprocal);
        const int row = place - column * rows;
        const int x = 32 * column + thread % 32;
        numbers[i] = piece < pieces && x < width ? row * width + x : -1;
        items[i] = load(row, x, numbers[i]);
        place += step;
        place -= place >= pieces ? pieces : 0;
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loads; ++i)
      {
        visit(items[i], numbers[i], numbers[i] >= 0);
      }
    }
  }

  /** Visits the thread's pixels themselves. */
  template <typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachKey(int thread, const TVisit & visit) const
  {
    const auto *     input = static_cast<const TBits *>(m_Arguments.slab.input);
    const RegionAxis columns(m_Arguments, m_Block, 0);
    ForEachPixel<TBits>(
      thread,
      [&](int row, int x, int) { return input[m_Rows[row] + columns.GetOffset(x)]; },
      [&](TBits pixel, int number, bool inside) { visit(GetKey(pixel), number, inside); });
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Count(unsigned int value, bool inside) const
  {
    return TThreads::AddAlike(m_Storage.counters + Storage::GetWord(value), 1U << Storage::GetShift(value), inside);
  }

  /** Wide pixels leave their numbers where their ranks will be. */
  CUDAMEDIAN_HOST_DEVICE void
  CountValues()
  {
    auto * values = GetRanks();
    m_Threads.ForEachThread([&](int thread) {
      ForEachKey(thread, [&](TBits key, int number, bool inside) {
        if constexpr (IsWide)
        {
          const auto value = Quantiles(m_Storage.sample).GetNumber(key);
          Count(value, inside);
          if (inside)
          {
            values[number] = static_cast<std::uint16_t>(value);
          }
        }
        else
        {
          Count(key, inside);
        }
      });
    });
    m_Threads.Synchronize();
  }

  /** Makes each counter the first rank of its value. */
  CUDAMEDIAN_HOST_DEVICE void
  AddCounters()
  {
    m_Threads.ForEachThread([&](int thread) {
      if constexpr (IsWide)
      {
        // The sample has served.
        for (int i = thread; i < Storage::UnorderedWords; i += VThreads)
        {
          m_Storage.unordered[i] = 0;
        }
        if (thread < 2)
        {
          m_Storage.ends[thread] = RankEnd{ -1, 0, 0 };
        }
      }
      std::uint32_t total = 0;
      ForEachVector(thread, [&](WordVector & four) { total += four.x + four.y + four.z + four.w; });
      m_Total[thread] = total;
    });
    Value<std::uint32_t> end = m_Total;
    CUDAMEDIAN_UNROLL
    for (int distance = 1; distance < 32; distance *= 2)
    {
      const auto before = m_Threads.GetBefore(end, distance);
      m_Threads.ForEachThread([&](int thread) { end[thread] += thread % 32 >= distance ? before[thread] : 0; });
    }
    m_Threads.ForEachThread([&](int thread) {
      if (thread % 32 == 31)
      {
        m_Storage.totals[thread / 32] = end[thread];
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      std::uint32_t start = end[thread] - m_Total[thread];
      std::uint32_t all = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Warps; ++i)
      {
        start += i < thread / 32 ? m_Storage.totals[i] : 0;
        all += m_Storage.totals[i];
      }
      // Values of upper halves come behind all of lower ones.
      start += all << 16;
      int        word = thread * Own;
      const auto add = [&](WordVector & four) {
        const WordVector counts = four;
        four.x = start;
        four.y = four.x + counts.x;
        four.z = four.y + counts.y;
        four.w = four.z + counts.z;
        start = four.w + counts.w;
        if constexpr (IsWide)
        {
          MarkBoth(word, four.x, counts.x);
          MarkBoth(word + 1, four.y, counts.y);
          MarkBoth(word + 2, four.z, counts.z);
          MarkBoth(word + 3, four.w, counts.w);
          word += 4;
        }
      };
      if constexpr (IsWide)
      {
        CUDAMEDIAN_KEEP_LOOP
        for (int i = 0; i < Own / 4; ++i)
        {
          add(GetVector(thread, i));
        }
      }
      else
      {
        ForEachVector(thread, add);
      }
    });
    m_Threads.Synchronize();
  }

  /** Marks the ranks of both values that a word of counters has. */
  CUDAMEDIAN_HOST_DEVICE void
  MarkBoth(int word, std::uint32_t starts, std::uint32_t counts) const
  {
    // Values of both halves are of equal pixels, or neither.
    if ((counts & 0xFFFEFFFEU) != 0 && !Quantiles::IsOfEqualPixels(static_cast<unsigned int>(word)))
    {
      MarkUnordered(word, starts & 0xFFFFU, counts & 0xFFFFU);
      MarkUnordered(word + Storage::Words, starts >> 16, counts >> 16);
    }
  }

  /** Marks all ranks of a number but the first. Those on both sides of an end, where there are no marks, are ordered
   * afterwards, as far as there is room for them. */
  CUDAMEDIAN_HOST_DEVICE void
  MarkUnordered(int number, std::uint32_t start, std::uint32_t count) const
  {
    if (count < 2)
    {
      return;
    }
    const int  first = static_cast<int>(start) - m_Arguments.shape.firstRank;
    const int  behind = first + static_cast<int>(count);
    const int  last = 32 * m_Arguments.shape.words - 1;
    const bool isLower = first < 32 && behind > 32;
    if ((isLower || (first < last && behind > last)) && static_cast<int>(count) <= m_Arguments.GetUnorderedWords())
    {
      m_Storage.ends[isLower ? 0 : 1] = RankEnd{ number, static_cast<int>(start), static_cast<int>(count) };
      return;
    }
    auto       word = (start + 1) / 32;
    const auto shift = (start + 1) % 32;
    if (count <= 32)
    {
      const auto ones = std::uint64_t{ 0xFFFFFFFFU >> (33 - count) } << shift;
      TThreads::AddTo(m_Storage.unordered + word, static_cast<std::uint32_t>(ones));
      if (ones >> 32 != 0)
      {
        TThreads::AddTo(m_Storage.unordered + word + 1, static_cast<std::uint32_t>(ones >> 32));
      }
      return;
    }
    auto ones = 0xFFFFFFFFU << shift;
    for (; word < (start + count) / 32; ++word, ones = 0xFFFFFFFFU)
    {
      TThreads::AddTo(m_Storage.unordered + word, ones);
    }
    ones &= (1U << (start + count) % 32) - 1;
    if (ones != 0)
    {
      TThreads::AddTo(m_Storage.unordered + word, ones);
    }
  }

  template <typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachVector(int thread, const TVisit & visit) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Own / 4; ++i)
    {
      visit(GetVector(thread, i));
    }
  }

  CUDAMEDIAN_HOST_DEVICE WordVector &
  GetVector(int thread, int i) const
  {
    return m_Storage.vectors[thread * (Own / 32 * 9) + i / 8 * 9 + i % 8];
  }

  CUDAMEDIAN_HOST_DEVICE std::uint16_t *
                         GetRanks() const
  {
    return m_Arguments.ranks + static_cast<std::size_t>(m_Region) * m_Arguments.GetPaddedPixels();
  }

  CUDAMEDIAN_HOST_DEVICE void
  WriteResults()
  {
    auto * ranks = GetRanks();
    if constexpr (IsWide)
    {
      WriteNumbered();
    }
    else
    {
      m_Threads.ForEachThread([&](int thread) {
        ForEachKey(thread, [&](TBits key, int number, bool inside) {
          const int rank = FindRank(key, inside);
          if (inside)
          {
            ranks[number] = Pack(rank);
          }
        });
      });
    }
  }

  /** The rank of a pixel with a value. */
  CUDAMEDIAN_HOST_DEVICE int
  FindRank(unsigned int value, bool inside) const
  {
    return static_cast<int>(Count(value, inside) >> Storage::GetShift(value) & 0xFFFFU);
  }

  CUDAMEDIAN_HOST_DEVICE std::uint16_t
                         Pack(int rank) const
  {
    const auto & shape = m_Arguments.shape;
    return PackRank(rank - shape.firstRank, shape.rankShift, shape.words);
  }

  /** The same for the numbers of wide pixels, eight at a time, in an order that goes to and fro as well. */
  CUDAMEDIAN_HOST_DEVICE void
  WriteNumbered()
  {
    const int    pixels = m_Arguments.shape.pixels;
    const int    vectors = DivideUp(pixels, 8);
    const int    stride = vectors % 1009 != 0 ? 1009 : 1013;
    const int    step = stride * VThreads % vectors;
    const auto   ends = m_Storage.ends;
    const int    lower = ends[0].number;
    const int    upper = ends[1].number;
    auto * const ranks = GetRanks();
    m_Threads.ForEachThread([&](int thread) {
      int vector = stride * thread % vectors;
      CUDAMEDIAN_KEEP_LOOP
      for (int first = thread / 32 * 32; first < vectors; first += VThreads)
      {
        const bool          inside = first + thread % 32 < vectors;
        const auto          loaded = TThreads::LoadVector(ranks + 8 * vector);
        const std::uint32_t values[] = { loaded.x, loaded.y, loaded.z, loaded.w };
        std::uint32_t       packed[4];
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < 8; ++i)
        {
          const int  number = 8 * vector + i;
          const auto value = static_cast<int>(values[i / 2] >> i % 2 * 16 & 0xFFFFU);
          const bool counts = inside && number < pixels;
          const int  rank = FindRank(static_cast<unsigned int>(value), counts);
          packed[i / 2] = i % 2 == 0 ? Pack(rank) : packed[i / 2] | std::uint32_t{ Pack(rank) } << 16;
          if (counts && (value == lower || value == upper))
          {
            const int end = value == lower ? 0 : 1;
            GetEnd(end)[rank - ends[end].start] = static_cast<std::uint16_t>(number);
          }
        }
        if (inside)
        {
          TThreads::StoreVector(ranks + 8 * vector, WordVector{ packed[0], packed[1], packed[2], packed[3] });
        }
        vector += step;
        vector -= vector >= vectors ? vectors : 0;
      }
    });
  }

  /** Where the marks of the ranks will be. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                         GetMarks() const
  {
    return m_Arguments.unordered + static_cast<std::size_t>(m_Region) * m_Arguments.GetUnorderedWords();
  }

  /** Which pixels have the number of an end: until there are marks. */
  CUDAMEDIAN_HOST_DEVICE std::uint16_t *
                         GetEnd(int end) const
  {
    return reinterpret_cast<std::uint16_t *>(GetMarks()) + end * m_Arguments.GetUnorderedWords();
  }

  /** Orders the pixels of the ends by comparing each with all. */
  CUDAMEDIAN_HOST_DEVICE void
  OrderEnds()
  {
    auto * ranks = GetRanks();
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      const RegionAxis columns(m_Arguments, m_Block, 0);
      for (int end = 0; end < 2; ++end)
      {
        const auto   found = m_Storage.ends[end];
        const auto * numbers = GetEnd(end);
        for (int i = thread; i < found.count; i += VThreads)
        {
          const auto key = LoadKey(columns, numbers[i]);
          int        rank = found.start;
          for (int other = 0; other < found.count; ++other)
          {
            const auto otherKey = LoadKey(columns, numbers[other]);
            rank += otherKey < key || (otherKey == key && other < i) ? 1 : 0;
          }
          ranks[numbers[i]] = Pack(rank);
        }
      }
    });
    m_Threads.Synchronize();
  }

  /** The marks of the ranks that are told apart. */
  CUDAMEDIAN_HOST_DEVICE void
  WriteUnordered()
  {
    const auto & shape = m_Arguments.shape;
    auto *       words = GetMarks();
    const int    first = shape.firstRank / 32;
    m_Threads.ForEachThread([&](int thread) {
      for (int i = thread; i < shape.words; i += VThreads)
      {
        words[i] = first + i >= 0 && first + i < Storage::UnorderedWords ? m_Storage.unordered[first + i] : 0;
      }
    });
  }

  const TThreads &      m_Threads;
  const RankArguments & m_Arguments;
  std::uint32_t         m_Region;
  Storage &             m_Storage;
  std::int64_t *        m_Rows;
  RankBlock             m_Block;
  Value<std::uint32_t>  m_Total;
};

} // namespace cudamedian

#endif
