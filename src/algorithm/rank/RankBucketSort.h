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

/** Sorts a region by buckets, as many as pixels at least, that divide the range of keys evenly, or as densely as keys
 * lie. See RankSort.h. */
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
  /** Keys that a bucket may have at most where all keys are compared with those around them. */
  static constexpr int Longest = 13;
  /** The same where those of a bucket are compared with each other alone. */
  static constexpr int LongestMixed = 64;
  /** Set in the upper half of a bucket's counter, or the lower one, if its keys are not all equal. */
  static constexpr std::uint32_t Mixed = 0x8000U;

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

/** Sorts a region by buckets: its pixels' packed ranks, and its pixels in order. Equal keys have ranks in any order.
 *
 * Buckets divide the range of keys evenly at first. Where some have many keys, as those of most scans do, each bucket
 * is divided evenly into as many as it has keys. What is left in a bucket then is mostly of one value, and need not be
 * compared. Nor is the first bucket, or the last, where it has one value. */
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

  /** Lists the region and leaves it if it has more different keys in a bucket than are worth comparing. */
  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    LoadKeys<Bits, VItems>(
      m_Threads, m_Arguments, m_Region, &m_Storage, [](int thread) { return thread; }, VThreads, m_Keys);
    FindRange();
    CountKeys<false>();
    AddCounters();
    FindStarts();
    const int longest = m_Threads.GetCommon(m_Longest);
    WriteStarts();
    if (GetLongestOfAll(longest) <= Storage::Longest)
    {
      FillBuckets();
      CompareKeys(GetLongestOfAll(longest));
      WriteResults();
      return;
    }
    if (LooksAtEnds && (longest & 0xFFFF) <= Storage::Longest)
    {
      FillBuckets();
      FindMixedEnds(longest & 0xFFFF);
      const int longestMixed = m_Threads.GetCommon(m_Longest);
      if (longestMixed <= Storage::Longest)
      {
        CompareKeys(longestMixed);
        WriteResults();
        return;
      }
    }
    DivideBuckets();
    CountKeys<true>();
    AddCounters();
    FindStarts();
    WriteStarts();
    FillDividedBuckets();
    FindMixedBuckets();
    if (m_Threads.GetCommon(m_Longest) > Storage::LongestMixed)
    {
      LeaveRegion();
      return;
    }
    CompareMixedKeys();
    WriteDividedResults();
  }

private:
  using Bits = SortedBits<VKeyBits>;
  using Element = typename Storage::Element;
  template <typename T>
  using Value = typename TThreads::template Value<T>;

  /** Words of counters that a thread adds up. */
  static constexpr int Own = static_cast<int>(Storage::Buckets / 2 / VThreads);
  static_assert(Own % 4 == 0, "whole vectors of counters");

  CUDAMEDIAN_HOST_DEVICE void
  LeaveRegion() const
  {
    m_Threads.ForEachThread([&](int thread) {
      if (thread == 0)
      {
        m_Arguments.left[1 + TThreads::AddTo(m_Arguments.left, 1U)] = m_Region;
      }
    });
  }

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
  GetCounter(unsigned int bucket) const
  {
    return m_Storage.counters[Storage::GetWord(bucket)] >> Storage::GetShift(bucket) & 0xFFFFU;
  }

  /** Where the keys of a bucket start among the sorted ones. */
  CUDAMEDIAN_HOST_DEVICE unsigned int
  GetStart(unsigned int bucket) const
  {
    return GetCounter(bucket) & (Storage::Mixed - 1);
  }

  CUDAMEDIAN_HOST_DEVICE unsigned int
  GetEnd(unsigned int bucket) const
  {
    return bucket + 1 < Storage::Buckets ? GetStart(bucket + 1) : static_cast<unsigned int>(m_Arguments.shape.pixels);
  }

  /** The bucket of a key, of those that divide the range evenly, or of what these are divided into. */
  template <bool VIsDivided>
  CUDAMEDIAN_HOST_DEVICE unsigned int
  FindBucket(int thread, int item) const
  {
    return VIsDivided ? m_Places[thread][item] >> 16
                      : static_cast<unsigned int>(m_Keys[thread][item] >> m_Shift[thread]);
  }

  /** Where a key of a divided bucket is among the sorted ones. */
  CUDAMEDIAN_HOST_DEVICE unsigned int
  GetPlace(int thread, int item) const
  {
    return GetStart(FindBucket<true>(thread, item)) + (m_Places[thread][item] & 0xFFFFU);
  }

  CUDAMEDIAN_HOST_DEVICE bool
  HasPixel(int thread, int item) const
  {
    return thread + item * VThreads < m_Arguments.shape.pixels;
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

  CUDAMEDIAN_HOST_DEVICE void
  EmptyCounters(int thread) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Own / 4; ++i)
    {
      m_Storage.vectors[i * VThreads + thread] = WordVector{ 0, 0, 0, 0 };
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
      EmptyCounters(thread);
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
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        m_Keys[thread][i] = static_cast<Bits>(m_Keys[thread][i] - m_Lowest[thread]);
      }
    });
  }

  /** Where a key lies within its bucket, which is of more than one value, in units of 2^-32 of that. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetWithin(int thread, int item) const
  {
    const auto above = m_Keys[thread][item];
    return VKeyBits == 64
             ? static_cast<std::uint32_t>(static_cast<std::uint64_t>(above) << (64 - m_Shift[thread]) >> 32)
             : static_cast<std::uint32_t>(above) << (32 - m_Shift[thread]);
  }

  /** Divides each bucket, a part of the range of keys, into as many as it has keys, and empties their counters. */
  CUDAMEDIAN_HOST_DEVICE void
  DivideBuckets()
  {
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto    bucket = FindBucket<false>(thread, i);
        const auto    start = GetStart(bucket);
        std::uint64_t part = GetWithin(thread, i);
        part *= GetEnd(bucket) - start;
        m_Places[thread][i] = (start + static_cast<std::uint32_t>(part >> 32)) << 16;
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) { EmptyCounters(thread); });
    m_Threads.Synchronize();
  }

  /** A bucket's keys come in no particular order. */
  template <bool VIsDivided>
  CUDAMEDIAN_HOST_DEVICE void
  CountKeys()
  {
    m_Threads.ForEachThread([&](int thread) {
      auto & places = m_Places[thread];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto    bucket = FindBucket<VIsDivided>(thread, i);
        const auto    half = Storage::GetShift(bucket);
        std::uint32_t before = 0;
        if (HasPixel(thread, i))
        {
          before = TThreads::AddTo(m_Storage.counters + Storage::GetWord(bucket), 1U << half);
        }
        before = before >> half & 0xFFFFU;
        places[i] = VIsDivided ? places[i] | before : before;
        TThreads::KeepNumber(places[i]);
      }
      // What follows from buckets is found anew for each purpose: registers have no room for it.
      TThreads::KeepNumber(m_Shift[thread]);
    });
    m_Threads.Synchronize();
  }

  /** Whether the first and the last bucket are looked at where they are long. Keys of 16 bits are compared together
   * with their pixels' numbers, so that those of one value would be too; and their kernels take 1 to 2 % longer for it.
   * Those of 64 bits have no registers for it: medians of double take 2 to 3 % longer. */
  static constexpr bool LooksAtEnds = VKeyBits == 32;

  CUDAMEDIAN_HOST_DEVICE static int
  GetLongestOfAll(int longest)
  {
    return LooksAtEnds ? longest >> 16 : longest;
  }

  /** The longer ones of two buckets of each kind. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetLonger(int a, int b)
  {
    if constexpr (!LooksAtEnds)
    {
      return GetHigher(a, b);
    }
    return static_cast<int>(TThreads::GetHigherHalves(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
  }

  /** Adds up a thread's counters, and finds its longest bucket: nothing is to be compared where a bucket is one value.
   * Where ends are looked at, that of all is in the upper half, and in the lower one that of the others. */
  CUDAMEDIAN_HOST_DEVICE void
  AddCounters()
  {
    m_Threads.ForEachThread([&](int thread) {
      auto &        words = m_Words[thread];
      std::uint32_t total = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Own / 4; ++i)
      {
        const auto four = m_Storage.vectors[thread * (Own / 4) + i];
        words[4 * i] = four.x;
        words[4 * i + 1] = four.y;
        words[4 * i + 2] = four.z;
        words[4 * i + 3] = four.w;
      }
      // The first bucket is in the first word's lower half, and the last one in the last word's upper half.
      const auto ends = LooksAtEnds ? TThreads::GetHigherHalves(words[0], words[Own - 1]) : 0U;
      auto       most = LooksAtEnds ? TThreads::GetHigherHalves(words[0] & (thread == 0 ? ~0xFFFFU : ~0U),
                                                          words[Own - 1] & (thread == VThreads - 1 ? 0xFFFFU : ~0U))
                                    : 0U;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Own; ++i)
      {
        if (!LooksAtEnds || (i > 0 && i < Own - 1))
        {
          most = TThreads::GetHigherHalves(most, words[i]);
        }
        const auto before = total;
        total += words[i];
        words[i] = before;
      }
      m_Total[thread] = total;
      auto longest = GetHigher(most & 0xFFFFU, most >> 16);
      if constexpr (LooksAtEnds)
      {
        const auto all = TThreads::GetHigherHalves(most, ends);
        longest |= GetHigher(all & 0xFFFFU, all >> 16) << 16;
      }
      m_Longest[thread] = m_Shift[thread] == 0 ? (LooksAtEnds ? 0x10001 : 1) : static_cast<int>(longest);
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
        m_Longest[thread] = GetLonger(m_Longest[thread], longestAcross[thread]);
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
        m_Longest[thread] = GetLonger(m_Longest[thread], m_Storage.longest[i]);
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
        const auto place = GetStart(FindBucket<false>(thread, i)) + m_Places[thread][i];
        if (HasPixel(thread, i))
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

  /** The pixel of a key that is so far above the lowest. */
  template <typename TMapping>
  CUDAMEDIAN_HOST_DEVICE Bits
  GetPixel(const TMapping & mapping, int thread, Bits above) const
  {
    return mapping.ToBits(static_cast<Bits>(above + m_Lowest[thread]), static_cast<Bits>(m_Arguments.slab.signMask));
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
              GetPixel(mapping, thread, static_cast<Bits>(elements[i] >> (VKeyBits == 16 ? 16 : 0)));
          }
        }
      });
    });
    m_Threads.Synchronize();
    WriteRanks();
  }

  CUDAMEDIAN_HOST_DEVICE void
  WriteRanks() const
  {
    const auto first = static_cast<std::size_t>(m_Region) * m_Arguments.GetPaddedPixels();
    m_Threads.ForEachThread([&](int thread) {
      std::uint16_t * results = m_Arguments.ranks + first;
      const int       vectors = m_Arguments.GetPaddedPixels() / 8;
      for (int i = thread; i < vectors; i += VThreads)
      {
        TThreads::StoreVector(results + 8 * i, m_Storage.vectors[i]);
      }
    });
  }

  CUDAMEDIAN_HOST_DEVICE void
  FillDividedBuckets()
  {
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        if (HasPixel(thread, i))
        {
          m_Storage.sorted[GetPlace(thread, i)] = m_Keys[thread][i];
        }
        TThreads::KeepNumber(m_Places[thread][i]);
      }
    });
    m_Threads.Synchronize();
  }

  /** Marks the buckets with different keys, and finds how many keys the longest of them has. */
  CUDAMEDIAN_HOST_DEVICE void
  FindMixedBuckets()
  {
    m_Threads.ForEachThread([&](int thread) {
      unsigned int longest = 1;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto bucket = FindBucket<true>(thread, i);
        const auto start = GetStart(bucket);
        if (HasPixel(thread, i) && m_Keys[thread][i] != m_Storage.sorted[start])
        {
          TThreads::SetBits(m_Storage.counters + Storage::GetWord(bucket), Storage::Mixed << Storage::GetShift(bucket));
          longest = GetHigher(longest, GetEnd(bucket) - start);
        }
        TThreads::KeepNumber(m_Places[thread][i]);
      }
      m_Longest[thread] = static_cast<int>(longest);
    });
    FindLongestOfAll();
  }

  /** Finds how many keys the longer one of the first and the last bucket has, of those with different keys; or so many,
   * if that is more. Buckets of one value, as pixels that do not count have, and backgrounds, need no comparison. */
  CUDAMEDIAN_HOST_DEVICE void
  FindMixedEnds(int least)
  {
    m_Threads.ForEachThread([&](int thread) {
      const Element * const sorted = m_Storage.sorted + Storage::Longest;
      auto                  longest = static_cast<unsigned int>(least);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto bucket = FindBucket<false>(thread, i);
        if (HasPixel(thread, i) && (bucket == 0 || bucket == Storage::Buckets - 1))
        {
          const auto start = GetStart(bucket);
          const bool isMixed = m_Keys[thread][i] != sorted[start];
          longest = isMixed ? GetHigher(longest, GetEnd(bucket) - start) : longest;
        }
      }
      m_Longest[thread] = static_cast<int>(longest);
    });
    FindLongestOfAll();
  }

  /** Finds the longest of what the threads have found. */
  CUDAMEDIAN_HOST_DEVICE void
  FindLongestOfAll()
  {
    CUDAMEDIAN_UNROLL
    for (int distance = 16; distance > 0; distance /= 2)
    {
      const auto across = m_Threads.GetAcross(m_Longest, distance);
      m_Threads.ForEachThread([&](int thread) { m_Longest[thread] = GetHigher(m_Longest[thread], across[thread]); });
    }
    m_Threads.ForEachThread([&](int thread) {
      if (thread % 32 == 0)
      {
        m_Storage.longest[thread / 32] = m_Longest[thread];
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Storage::Warps; ++i)
      {
        m_Longest[thread] = GetHigher(m_Longest[thread], m_Storage.longest[i]);
      }
    });
  }

  /** The ranks of the threads' own keys: their places, but in mixed buckets. */
  CUDAMEDIAN_HOST_DEVICE void
  CompareMixedKeys()
  {
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto bucket = FindBucket<true>(thread, i);
        const auto place = GetPlace(thread, i);
        const auto key = m_Keys[thread][i];
        auto       rank = place;
        if (HasPixel(thread, i) && (GetCounter(bucket) & Storage::Mixed) != 0)
        {
          const auto end = GetEnd(bucket);
          rank = GetStart(bucket);
          CUDAMEDIAN_KEEP_LOOP
          for (auto other = rank; other < end; ++other)
          {
            const auto otherKey = m_Storage.sorted[other];
            rank += otherKey < key || (otherKey == key && other < place) ? 1U : 0U;
          }
        }
        m_Ranks[thread][i] = static_cast<int>(rank);
      }
    });
    m_Threads.Synchronize();
  }

  CUDAMEDIAN_HOST_DEVICE void
  WriteDividedResults()
  {
    const auto & shape = m_Arguments.shape;
    const auto   first = static_cast<std::size_t>(m_Region) * m_Arguments.GetPaddedPixels();
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const auto rank = m_Ranks[thread][i];
        if (HasPixel(thread, i))
        {
          m_Storage.sorted[rank] = m_Keys[thread][i];
          m_Storage.ranks[thread + i * VThreads] = PackRank(rank - shape.firstRank, shape.rankShift, shape.words);
        }
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      CallWithMapping<Bits>(m_Arguments.keyFormat, [&](auto mapping) {
        auto * pixels = static_cast<Bits *>(m_Arguments.sorted) + first;
        CUDAMEDIAN_KEEP_LOOP
        for (int i = thread; i < shape.pixels; i += VThreads)
        {
          pixels[i] = GetPixel(mapping, thread, static_cast<Bits>(m_Storage.sorted[i]));
        }
      });
    });
    WriteRanks();
  }

  const TThreads &             m_Threads;
  const RankArguments &        m_Arguments;
  std::uint32_t                m_Region;
  Storage &                    m_Storage;
  Value<Bits[VItems]>          m_Keys;
  Value<Bits>                  m_Lowest;
  Value<int>                   m_Shift;  ///< of a key above the lowest to its bucket
  Value<std::uint32_t[VItems]> m_Places; ///< of the keys in their buckets; the upper halves are divided buckets
  Value<std::uint32_t[Own]>    m_Words;  ///< sums of the thread's counters before each
  Value<std::uint32_t>         m_Total;
  Value<std::uint32_t>         m_Start;
  Value<int>                   m_Longest; ///< keys of a bucket
  Value<Element[VItems]>       m_Elements;
  Value<int[VItems]>           m_Ranks;
};

} // namespace cudamedian

#endif
