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
#ifndef RankDigitSort_h
#define RankDigitSort_h

#include "RankSort.h"

/** Sorts a region digit by digit, which takes as long whatever the keys are. See RankSort.h. */
namespace cudamedian
{

/** Digits of this many bits are sorted at a time: 175 gigapixels/s at 16 bits, where 4 bits by counters reach 131. */
constexpr int digitBits = 8;

/** The digit of a key that starts at a bit. */
struct DigitExtractor
{
  int firstBit;

  template <typename TKey>
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Digit(TKey key) const
  {
    return static_cast<std::uint32_t>(key >> firstBit) & ((1U << digitBits) - 1);
  }
};

/** Keys in registers. */
template <int VKeyBits>
using SortedKey = std::conditional_t<VKeyBits == 64, std::uint64_t, std::uint32_t>;

/** Shared memory of a block that sorts by digits. */
template <int VKeyBits, int VItems, typename TThreads>
union DigitStorage
{
  typename TThreads::Digits digits;
  SortedKey<VKeyBits>       keys[TThreads::Count * VItems];
  std::uint16_t             numbers[TThreads::Count * VItems];
  SortedBits<VKeyBits>      pixels[TThreads::Count * VItems];
};

/** Sorts a region by digits: its pixels' packed ranks, and its pixels in order. Equal keys have ranks in the order of
 * their pixels. */
template <int VKeyBits, int VItems, typename TThreads>
class DigitSort
{
public:
  using Storage = DigitStorage<VKeyBits, VItems, TThreads>;

  /** \param region number within the launch. \param shared what a Storage takes, or the offsets of the region's rows
   * and columns, whichever is more. */
  CUDAMEDIAN_HOST_DEVICE
  DigitSort(const TThreads & threads, const RankArguments & arguments, std::int64_t region, void * shared)
    : m_Threads(threads)
    , m_Arguments(arguments)
    , m_Region(region)
    , m_Storage(*static_cast<Storage *>(shared))
  {}

  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    Load();
    CUDAMEDIAN_KEEP_LOOP
    for (int bit = 0;; bit += digitBits)
    {
      m_Threads.RankDigits(m_Storage.digits, m_Keys, m_Ranks, bit);
      m_Threads.Synchronize();
      if (bit == VKeyBits - digitBits)
      {
        break;
      }
      Move(m_Storage.keys, m_Keys);
      if constexpr (VKeyBits != 16)
      {
        Move(m_Storage.numbers, m_Numbers);
      }
    }
    WriteRanks();
    WritePixels();
  }

private:
  using Bits = SortedBits<VKeyBits>;
  using Key = SortedKey<VKeyBits>;
  template <typename T>
  using Value = typename TThreads::template Value<T>;

  /** A warp holds pixels that follow each other, one beside the other in its threads. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetFirst(int thread)
  {
    return thread / 32 * 32 * VItems + thread % 32;
  }

  /** Sorting is stable, so what fills up the end stays behind every pixel. */
  CUDAMEDIAN_HOST_DEVICE void
  Load()
  {
    Value<Bits[VItems]> bits;
    LoadKeys<Bits, VItems>(
      m_Threads, m_Arguments, m_Region, &m_Storage, [](int thread) { return GetFirst(thread); }, 32, bits);
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        const int number = GetFirst(thread) + i * 32;
        m_Numbers[thread][i] = static_cast<std::uint16_t>(number);
        m_Keys[thread][i] = number < m_Arguments.shape.pixels ? bits[thread][i] : static_cast<Bits>(~Bits{ 0 });
        m_Keys[thread][i] |= VKeyBits == 16 ? static_cast<Key>(number) << 16 : 0;
      }
    });
  }

  /** Puts what the threads have in the order of the ranks, through shared memory. */
  template <typename T>
  CUDAMEDIAN_HOST_DEVICE void
  Move(T * places, Value<T[VItems]> & items) const
  {
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        places[m_Ranks[thread][i]] = items[thread][i];
      }
    });
    m_Threads.Synchronize();
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        items[thread][i] = places[GetFirst(thread) + i * 32];
      }
    });
    m_Threads.Synchronize();
  }

  /** Both results leave through shared memory, where they can be scattered. */
  CUDAMEDIAN_HOST_DEVICE void
  WriteRanks() const
  {
    const auto & shape = m_Arguments.shape;
    m_Threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        m_Storage.numbers[VKeyBits == 16 ? m_Keys[thread][i] >> 16 : m_Numbers[thread][i]] =
          PackRank(m_Ranks[thread][i] - shape.firstRank, shape.rankShift, shape.words);
      }
    });
    m_Threads.Synchronize();
    WriteOut(m_Storage.numbers, m_Arguments.ranks);
    m_Threads.Synchronize();
  }

  CUDAMEDIAN_HOST_DEVICE void
  WritePixels() const
  {
    m_Threads.ForEachThread([&](int thread) {
      CallWithMapping<Bits>(m_Arguments.keyFormat, [&](auto mapping) {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < VItems; ++i)
        {
          m_Storage.pixels[m_Ranks[thread][i]] =
            mapping.ToBits(static_cast<Bits>(m_Keys[thread][i]), static_cast<Bits>(m_Arguments.slab.signMask));
        }
      });
    });
    m_Threads.Synchronize();
    WriteOut(m_Storage.pixels, static_cast<Bits *>(m_Arguments.sorted));
  }

  /** Copies as many results as the region has pixels to the place of the region. */
  template <typename T>
  CUDAMEDIAN_HOST_DEVICE void
  WriteOut(const T * results, T * destination) const
  {
    const auto place = static_cast<std::size_t>(m_Region) * m_Arguments.GetPaddedPixels();
    const int  count = m_Arguments.shape.pixels;
    m_Threads.ForEachThread([&](int thread) {
      for (int i = thread; i < count; i += TThreads::Count)
      {
        destination[place + i] = results[i];
      }
    });
  }

  const TThreads &             m_Threads;
  const RankArguments &        m_Arguments;
  std::int64_t                 m_Region;
  Storage &                    m_Storage;
  Value<Key[VItems]>           m_Keys; ///< those of 16 bits have their pixel's number in the upper half
  Value<std::uint16_t[VItems]> m_Numbers;
  Value<int[VItems]>           m_Ranks;
};

} // namespace cudamedian

#endif
