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
#include "RankSort.h"

/** Sorts a region of 16-bit pixels by counting each of their values. See RankSort.h.
 *
 * Two passes over the pixels and one over 65,536 counters, whatever the pixels are: for regions that are too large for
 * buckets, or as large as pay for the counters. */
namespace cudamedian
{

/** Shared memory of a block that sorts by values. Counters of 16 bits: the lower half of a word is of one value, the
 * upper half of the one that is 32768 more. Four words are left out behind each 32, so that threads which read vectors
 * of their own 32 find them in different banks. */
template <int VThreads>
struct ValueStorage
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

/** Sorts a region of at most 65,535 pixels: their packed ranks. Equal pixels have ranks in any order. */
template <typename TThreads>
class ValueSort
{
public:
  static constexpr int VThreads = TThreads::Count;
  using Storage = ValueStorage<VThreads>;

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
    CountValues();
    AddCounters();
    WriteResults();
  }

private:
  template <typename T>
  using Value = typename TThreads::template Value<T>;
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

  /** Calls visit(key, number, inside) for the thread's pixels of the region, by all threads of a warp at once.
   *
   * A warp takes pieces of rows, 32 pixels each, in an order that goes to and fro: ranks of equal pixels come to lie
   * all over the region, so that a window that slides over them has as many of the lower as before. */
  template <typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachPixel(int thread, const TVisit & visit) const
  {
    const int width = m_Arguments.shape.region[0];
    const int rows = m_Arguments.GetRows();
    const int pieces = DivideUp(width, 32) * rows;
    const int stride = (pieces % 1009 != 0 ? 1009 : 1013) % pieces;
    const int step = stride * Warps % pieces;
    int       place = thread / 32 * stride % pieces;
    // Divides numbers of 16 bits.
    const auto   reciprocal = 0xFFFFFFFFU / static_cast<std::uint32_t>(rows) + 1;
    const auto * input = static_cast<const std::uint16_t *>(m_Arguments.slab.input);
    const auto   mask = static_cast<std::uint16_t>(m_Arguments.slab.signMask);
    CUDAMEDIAN_KEEP_LOOP
    for (int first = thread / 32; first < pieces; first += Loads * Warps)
    {
      std::uint16_t pixels[Loads];
      int           numbers[Loads];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loads; ++i)
      {
        const int piece = first + i * Warps;
        const int column = GetQuotient(place, rows, reciprocal);
        const int row = place - column * rows;
        const int x = 32 * column + thread % 32;
        pixels[i] = input[m_Rows[row] + GetOffsetAlong(m_Arguments, m_Block, 0, x)];
        numbers[i] = piece < pieces && x < width ? row * width + x : -1;
        place += step;
        place -= place >= pieces ? pieces : 0;
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loads; ++i)
      {
        visit(static_cast<std::uint16_t>(pixels[i] ^ mask), numbers[i], numbers[i] >= 0);
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  CountValues()
  {
    m_Threads.ForEachThread([&](int thread) {
      ForEachPixel(thread, [&](std::uint16_t key, int, bool inside) {
        TThreads::AddAlike(m_Storage.counters + Storage::GetWord(key), 1U << Storage::GetShift(key), inside);
      });
    });
    m_Threads.Synchronize();
  }

  /** Makes each counter the first rank of its value. */
  CUDAMEDIAN_HOST_DEVICE void
  AddCounters()
  {
    m_Threads.ForEachThread([&](int thread) {
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
      ForEachVector(thread, [&](WordVector & four) {
        const WordVector counts = four;
        four.x = start;
        four.y = four.x + counts.x;
        four.z = four.y + counts.y;
        four.w = four.z + counts.z;
        start = four.w + counts.w;
      });
    });
    m_Threads.Synchronize();
  }

  template <typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachVector(int thread, const TVisit & visit) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Own / 4; ++i)
    {
      visit(m_Storage.vectors[thread * (Own / 32 * 9) + i / 8 * 9 + i % 8]);
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  WriteResults()
  {
    const auto & shape = m_Arguments.shape;
    const auto   place = static_cast<std::size_t>(m_Region) * m_Arguments.GetPaddedPixels();
    auto *       ranks = m_Arguments.ranks + place;
    m_Threads.ForEachThread([&](int thread) {
      ForEachPixel(thread, [&](std::uint16_t key, int number, bool inside) {
        const auto shift = Storage::GetShift(key);
        const auto start = TThreads::AddAlike(m_Storage.counters + Storage::GetWord(key), 1U << shift, inside);
        if (inside)
        {
          const auto rank = static_cast<int>(start >> shift & 0xFFFFU);
          ranks[number] = PackRank(rank - shape.firstRank, shape.rankShift, shape.words);
        }
      });
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
