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
#ifndef RankBucketSort_h
#define RankBucketSort_h

#include "RankSort.h"

/** Sorts a region by buckets, as many as pixels, that divide the range of keys evenly. See RankSort.h. */
namespace cudamedian
{

/** What a block that sorts by buckets keeps. */
template <int VKeyBits, int VThreads, int VItems>
struct BucketStorage
{
  static constexpr unsigned int
  GetBuckets()
  {
    unsigned int buckets = 1;
    while (buckets < VThreads * VItems)
    {
      buckets *= 2;
    }
    return buckets;
  }
  static constexpr unsigned int Buckets = GetBuckets();
  static constexpr int          Warps = VThreads / 32;
  /** Keys that a bucket may have at most where they are compared with each other. */
  static constexpr int Longest = 16;

  /** A key; one of 16 bits has its pixel's number below it. */
  using Element = std::conditional_t<VKeyBits == 16, std::uint32_t, SortedBits<VKeyBits>>;

  /** How many keys a bucket has, later where it starts, at last the ranks. The lower half of a word is of one bucket,
   * the upper half of the one that is half as many buckets further on. */
  union
  {
    std::uint32_t counters[Buckets / 2];
    WordVector    vectors[Buckets / 8];
    std::uint16_t ranks[Buckets];
  };
  Element              sorted[Longest + VThreads * VItems + Longest]; ///< keys, with some that are below and above all
  std::uint16_t        numbers[VKeyBits == 16 ? 1 : VThreads * VItems]; ///< of their pixels
  SortedBits<VKeyBits> lowest[Warps];
  SortedBits<VKeyBits> highest[Warps];
  std::uint32_t        totals[Warps];
  int                  longest[Warps];

  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetWord(unsigned int bucket)
  {
    return bucket % (Buckets / 2);
  }
  /** 16 for a bucket in the upper half of its word. */
  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetShift(unsigned int bucket)
  {
    return bucket / (Buckets / 32) & 16U;
  }
};

/** Sorts a region by buckets: its pixels' packed ranks, and its pixels in order. Equal keys have ranks in any order. */
template <int VKeyBits, int VItems, typename TThreads>
class BucketSort
{
public:
  static constexpr int VThreads = TThreads::Count;
  using Storage = BucketStorage<VKeyBits, VThreads, VItems>;

  /** \param region number within the launch. \param shared what a Storage takes, or the offsets of the region's rows
   * and columns, whichever is more. */
  CUDAMEDIAN_HOST_DEVICE
  BucketSort(const TThreads & threads, const RankArguments & arguments, std::uint32_t region, void * shared)
    : m_Threads(threads)
    , m_Arguments(arguments)
    , m_Region(region)
    , m_Storage(*static_cast<Storage *>(shared))
  {}

  /** Lists the region and leaves it if it has more keys in a bucket than are worth comparing. */
  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    LoadKeys<Bits, VItems>(
      m_Threads, m_Arguments, m_Region, &m_Storage, [](int thread) { return thread; }, VThreads, m_Keys);
    FindRange();
    CountKeys();
    AddCounters();
    FindStarts();
    const int longest = m_Threads.GetCommon(m_Longest);
    if (longest > Storage::Longest)
    {
      m_Threads.ForEachThread([&](int thread) {
        if (thread == 0)
        {
          m_Arguments.left[1 + TThreads::AddTo(m_Arguments.left, 1U)] = m_Region;
        }
      });
      return;
    }
    WriteStarts();
    FillBuckets();
    CompareKeys(longest);
    WriteResults();
  }

private:
  using Bits = SortedBits<VKeyBits>;
  using Element = typename Storage::Element;
  template <typename T>
  using Value = typename TThreads::template Value<T>;

  /** Words of counters that a thread adds up. */
  static constexpr int Own = static_cast<int>(Storage::Buckets / 2 / VThreads);
  static_assert(Own % 4 == 0, "whole vectors of counters");

  template <typename T>
  CUDAMEDIAN_HOST_DEVICE static T
  GetLower(T a, T b)
  {
    return b < a ? b : a;
  }
  template <typename T>
  CUDAMEDIAN_HOST_DEVICE static T
  GetHigher(T a, T b)
  {
    return a < b ? b : a;
  }

  CUDAMEDIAN_HOST_DEVICE unsigned int
  FindBucket(int thread, int item) const
  {
    return static_cast<unsigned int>(static_cast<Bits>(m_Keys[thread][item] - m_Lowest[thread]) >> m_Shift[thread]);
  }

  /** The range of a warp's keys. Where a thread has no pixel it has read some other. */
  CUDAMEDIAN_HOST_DEVICE void
  FindRangeOfWarp(Value<Bits> & highest)
  {
    m_Threads.ForEachThread([&](int thread) {
      m_Lowest[thread] = m_Keys[thread][0];
      highest[thread] = m_Keys[thread][0];
      CUDAMEDIAN_UNROLL
      for (int i = 1; i < VItems; ++i)
      {
        m_Lowest[thread] = GetLower(m_Lowest[thread], m_Keys[thread][i]);
        highest[thread] = GetHigher(highest[thread], m_Keys[thread][i]);
      }
    });
    CUDAMEDIAN_UNROLL
    for (int distance = 16; distance > 0; distance /= 2)
    {
      const auto lowestAcross = m_Threads.GetAcross(m_Lowest, distance);
      const auto highestAcross = m_Threads.GetAcross(highest, distance);
      m_Threads.ForEachThread([&](int thread) {
        m_Lowest[thread] = GetLower(m_Lowest[thread], lowestAcross[thread]);
        highest[thread] = GetHigher(highest[thread], highestAcross[thread]);
      });
    }
  }

  /** How buckets divide the range of keys. Empties their counters, and puts keys around the place for the sorted. */
  CUDAMEDIAN_HOST_DEVICE void
  FindRange()
  {
    Value<Bits> highest;
    FindRangeOfWarp(highest);
    m_Threads.ForEachThread([&](int thread) {
      if (thread % 32 == 0)
      {
        m_Storage.lowest[thread / 32] = m_Lowest[thread];
        m_Storage.highest[thread / 32] = highest[thread];
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Own / 4; ++i)
      {
        m_Storage.vectors[i * VThreads + thread] = WordVector{ 0, 0, 0, 0 };
      }
      if (thread < Storage::Longest)
      {
        m_Storage.sorted[thread] = 0;
        m_Storage.sorted[Storage::Longest + m_Arguments.shape.pixels + thread] = static_cast<Element>(~Element{ 0 });
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Storage::Warps; ++i)
      {
        m_Lowest[thread] = GetLower(m_Lowest[thread], m_Storage.lowest[i]);
        highest[thread] = GetHigher(highest[thread], m_Storage.highest[i]);
      }
      const auto range = static_cast<unsigned long long>(highest[thread] - m_Lowest[thread]) / Storage::Buckets;
      m_Shift[thread] = 64 - TThreads::CountLeadingZeros(range);
    });
  }

  /** A bucket's keys come in no particular order. */
  CUDAMEDIAN_HOST_DEVICE void
  CountKeys()
  {
    m_Threads.ForEachThread([&](int thread) {
      auto & slots = m_Slots[thread];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto bucket = FindBucket(thread, i);
        const auto half = Storage::GetShift(bucket);
        slots[i] = 0;
        if (thread + i * VThreads < m_Arguments.shape.pixels)
        {
          slots[i] = TThreads::AddTo(m_Storage.counters + Storage::GetWord(bucket), 1U << half);
        }
        slots[i] = slots[i] >> half & 0xFFFFU;
      }
    });
    m_Threads.Synchronize();
  }

  /** Adds up a thread's counters, and finds its longest bucket: nothing is to be compared where a bucket is one value.
   */
  CUDAMEDIAN_HOST_DEVICE void
  AddCounters()
  {
    m_Threads.ForEachThread([&](int thread) {
      auto &        words = m_Words[thread];
      std::uint32_t total = 0;
      std::uint32_t most = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Own / 4; ++i)
      {
        const auto four = m_Storage.vectors[thread * (Own / 4) + i];
        words[4 * i] = four.x;
        words[4 * i + 1] = four.y;
        words[4 * i + 2] = four.z;
        words[4 * i + 3] = four.w;
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Own; ++i)
      {
        most = TThreads::GetHigherHalves(most, words[i]);
        const auto before = total;
        total += words[i];
        words[i] = before;
      }
      m_Total[thread] = total;
      m_Longest[thread] = m_Shift[thread] == 0 ? 1 : static_cast<int>(GetHigher(most & 0xFFFFU, most >> 16));
    });
  }

  /** Where the buckets of a thread's counters start, and how many keys the longest of all has. */
  CUDAMEDIAN_HOST_DEVICE void
  FindStarts()
  {
    Value<std::uint32_t> end = m_Total;
    CUDAMEDIAN_UNROLL
    for (int distance = 1; distance < 32; distance *= 2)
    {
      const auto before = m_Threads.GetBefore(end, distance);
      const auto longestAcross = m_Threads.GetAcross(m_Longest, distance);
      m_Threads.ForEachThread([&](int thread) {
        end[thread] += thread % 32 >= distance ? before[thread] : 0;
        m_Longest[thread] = GetHigher(m_Longest[thread], longestAcross[thread]);
      });
    }
    m_Threads.ForEachThread([&](int thread) {
      if (thread % 32 == 31)
      {
        m_Storage.totals[thread / 32] = end[thread];
        m_Storage.longest[thread / 32] = m_Longest[thread];
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      std::uint32_t start = end[thread] - m_Total[thread];
      std::uint32_t all = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Storage::Warps; ++i)
      {
        m_Longest[thread] = GetHigher(m_Longest[thread], m_Storage.longest[i]);
        start += i < thread / 32 ? m_Storage.totals[i] : 0;
        all += m_Storage.totals[i];
      }
      m_Start[thread] = start + (all << 16);
    });
  }

  CUDAMEDIAN_HOST_DEVICE void
  WriteStarts()
  {
    m_Threads.ForEachThread([&](int thread) {
      const auto & words = m_Words[thread];
      const auto   start = m_Start[thread];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Own / 4; ++i)
      {
        m_Storage.vectors[thread * (Own / 4) + i] = WordVector{
          start + words[4 * i], start + words[4 * i + 1], start + words[4 * i + 2], start + words[4 * i + 3]
        };
      }
    });
    m_Threads.Synchronize();
  }

  CUDAMEDIAN_HOST_DEVICE void
  FillBuckets()
  {
    m_Threads.ForEachThread([&](int thread) {
      Element * const sorted = m_Storage.sorted + Storage::Longest;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const int  number = thread + i * VThreads;
        const auto bucket = FindBucket(thread, i);
        const auto start = m_Storage.counters[Storage::GetWord(bucket)] >> Storage::GetShift(bucket) & 0xFFFFU;
        const auto place = start + m_Slots[thread][i];
        if (number < m_Arguments.shape.pixels)
        {
          if constexpr (VKeyBits == 16)
          {
            sorted[place] = static_cast<Element>(m_Keys[thread][i]) << 16 | static_cast<Element>(number);
          }
          else
          {
            sorted[place] = m_Keys[thread][i];
            m_Storage.numbers[place] = static_cast<std::uint16_t>(number);
          }
        }
      }
    });
    m_Threads.Synchronize();
  }

  /** Keys in the wrong order are of the same bucket, and less far apart than it is long. */
  CUDAMEDIAN_HOST_DEVICE void
  CompareKeys(int longest)
  {
    m_Threads.ForEachThread([&](int thread) {
      const Element * const sorted = m_Storage.sorted + Storage::Longest;
      auto &                elements = m_Elements[thread];
      auto &                ranks = m_Ranks[thread];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        ranks[i] = thread + i * VThreads;
        elements[i] = sorted[thread + i * VThreads];
      }
      const Element * before = sorted + thread;
      const Element * behind = before;
      CUDAMEDIAN_KEEP_LOOP
      for (int distance = 1; distance < longest; ++distance)
      {
        --before;
        ++behind;
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < VItems; ++i)
        {
          TThreads::CountIfLess(ranks[i], behind[i * VThreads], elements[i], 1);
          TThreads::CountIfLess(ranks[i], elements[i], before[i * VThreads], -1);
        }
      }
    });
  }

  CUDAMEDIAN_HOST_DEVICE void
  WriteResults()
  {
    const auto & shape = m_Arguments.shape;
    const auto   first = static_cast<std::size_t>(m_Region) * m_Arguments.GetPaddedPixels();
    m_Threads.ForEachThread([&](int thread) {
      const auto & elements = m_Elements[thread];
      const auto & ranks = m_Ranks[thread];
      CallWithMapping<Bits>(m_Arguments.keyFormat, [&](auto mapping) {
        // Its address is not to be found for each pixel anew.
        auto * pixels = static_cast<Bits *>(m_Arguments.sorted) + first;
        TThreads::KeepAddress(pixels);
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < VItems; ++i)
        {
          const int place = thread + i * VThreads;
          if (place < shape.pixels)
          {
            const auto number =
              VKeyBits == 16 ? static_cast<unsigned int>(elements[i] & 0xFFFFU) : m_Storage.numbers[place];
            m_Storage.ranks[number] = PackRank(ranks[i] - shape.firstRank, shape.rankShift, shape.words);
            pixels[static_cast<unsigned int>(ranks[i])] =
              mapping.ToBits(static_cast<Bits>(elements[i] >> (VKeyBits == 16 ? 16 : 0)),
                             static_cast<Bits>(m_Arguments.slab.signMask));
          }
        }
      });
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      std::uint16_t * results = m_Arguments.ranks + first;
      const int       vectors = m_Arguments.GetPaddedPixels() / 8;
      for (int i = thread; i < vectors; i += VThreads)
      {
        TThreads::StoreVector(results + 8 * i, m_Storage.vectors[i]);
      }
    });
  }

  const TThreads &            m_Threads;
  const RankArguments &       m_Arguments;
  std::uint32_t               m_Region;
  Storage &                   m_Storage;
  Value<Bits[VItems]>         m_Keys;
  Value<Bits>                 m_Lowest;
  Value<int>                  m_Shift; ///< of a key above the lowest to its bucket
  Value<unsigned int[VItems]> m_Slots; ///< of the keys in their buckets
  Value<std::uint32_t[Own]>   m_Words; ///< sums of the thread's counters before each
  Value<std::uint32_t>        m_Total;
  Value<std::uint32_t>        m_Start;
  Value<int>                  m_Longest;
  Value<Element[VItems]>      m_Elements;
  Value<int[VItems]>          m_Ranks;
};

} // namespace cudamedian

#endif
