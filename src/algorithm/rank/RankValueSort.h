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
#include "RankPlaces.h"
#include "RankQuantiles.h"
#include "RankSort.h"
#include "WordBits.h"

/** Sorts a region by counting each value of its pixels, or of the numbers that RankQuantiles gives to them. See
 * RankSort.h.
 *
 * Two passes over the pixels and one over 65,536 counters, whatever the pixels are: for regions that are too large for
 * buckets, or as large as pay for the counters. Pixels that share a number and are not equal stay in any order: windows
 * that find one of them look at the others (RankThreshold.h). Regions of more pixels than 16 bits count have half as
 * many counters. */
namespace cudamedian
{

/** A number whose pixels have ranks on both sides of the first or last that is told apart. */
struct RankEnd
{
  int number; ///< -1: there is none
  int start;  ///< its first rank
  int count;  ///< its pixels
};

/** What is counted. */
enum class CountedBy
{
  Values,      ///< of 8 or 16 bits
  Numbers,     ///< 65,536 for the values of 32 or 64 bits
  LargeNumbers ///< 32,768, in regions of more pixels than 16 bits count
};

/** How a region's pixels get their numbers. */
template <typename TBits, CountedBy VCounted>
struct QuantileTraits
{
  static constexpr bool IsLarge = VCounted == CountedBy::LargeNumbers;
  static constexpr int  Numbers = IsLarge ? 32768 : 65536;
  using Bits = std::conditional_t<sizeof(TBits) <= 2, std::uint32_t, TBits>;
  /** Pixels of the sample: a large region has room for more. */
  static constexpr int Taken = valueSortSamples * (!IsLarge ? 1 : sizeof(Bits) == 8 ? 2 : 4);
  template <typename TThreads>
  using Quantiles = RankQuantiles<Bits, valueSortSamples, Taken, Numbers, TThreads>;
};

/** What a block needs besides for numbers, for which it takes a sample. */
template <typename TBits, CountedBy VCounted>
struct QuantileStorage
{
  using Traits = QuantileTraits<TBits, VCounted>;
  static constexpr int UnorderedWords = Traits::IsLarge ? largeSortPixels / 32 : 2048;

  union
  {
    typename Traits::Bits sample[Traits::Taken / 32 * 33];
    std::uint32_t         unordered[UnorderedWords]; ///< a bit for each rank, once the pixels are counted
  };
  RankEnd ends[2];
};
template <typename TBits>
struct QuantileStorage<TBits, CountedBy::Values>
{};

/** Shared memory of a block that sorts by values. Counters of 16 bits: the lower half of a word is of one value, the
 * upper half of the one that is 32768 more; those of 32 bits are words. Four words are left out behind each 32, so that
 * threads which read vectors of their own 32 find them in different banks. */
template <typename TBits, CountedBy VCounted, int VThreads>
struct ValueStorage : QuantileStorage<TBits, VCounted>
{
  static constexpr bool AreBytes = sizeof(TBits) == 1 && VCounted == CountedBy::Values;
  static constexpr int  Words = AreBytes ? 8192 : 32768;
  static constexpr int  Own = Words / VThreads; ///< words of a thread
  /** Counters of each value: bytes have few values, and the threads of a warp each find their own. */
  static constexpr int Copies = AreBytes ? 2 * Words / 256 : 1;

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

/** Sorts a region of at most valueSortPixels, or largeSortPixels: their packed ranks. Equal pixels have ranks in any
 * order. With numbers also which ranks are unordered: where the pixel of one may be less than that of the rank before.
 * Of a large region the word of each packed rank, and the places. */
template <typename TBits, CountedBy VCounted, typename TThreads>
class ValueSort
{
public:
  static constexpr int VThreads = TThreads::Count;
  using Storage = ValueStorage<TBits, VCounted, VThreads>;

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
    , m_RowReciprocal(0xFFFFFFFFU / static_cast<std::uint32_t>(arguments.shape.region[1]) + 1)
  {}

  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    Clear();
    if constexpr (HasNumbers)
    {
      TakeSample();
    }
    CountValues();
    AddCounters();
    WriteResults();
    if constexpr (HasNumbers)
    {
      OrderEnds();
      if constexpr (IsLarge)
      {
        OrderRuns();
      }
      WriteUnordered();
    }
  }

private:
  template <typename T>
  using Value = typename TThreads::template Value<T>;
  static constexpr bool HasNumbers = VCounted != CountedBy::Values;
  static constexpr bool IsLarge = VCounted == CountedBy::LargeNumbers;
  static_assert(HasNumbers || sizeof(TBits) <= 2, "values of 16 bits count as they are");
  using Quantiles = typename QuantileTraits<TBits, VCounted>::template Quantiles<TThreads>;
  static constexpr int Warps = VThreads / 32;
  static constexpr int Own = Storage::Own;
  static_assert(Own % 32 == 0, "whole banks of counters");
  /** Pixels that a thread loads before it needs the first. */
  static constexpr int Loads = 8;
  /** Ranks of a large region that are ordered at a time, and pixels at most that share a number and are. */
  static constexpr int Items = 8;
  static constexpr int Chunk = Items * VThreads;
  static constexpr int mostOfRun = 32;

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

  /** Calls visit(key, number, inside) for the thread's pixels of the region, by all threads of a warp at once.
   *
   * A warp takes pieces of rows, 32 pixels each, in an order that goes to and fro: ranks of equal pixels come to lie
   * all over the region, so that a window that slides over them has as many of the lower as before. */
  template <typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachKey(int thread, const TVisit & visit) const
  {
    const auto *     input = static_cast<const TBits *>(m_Arguments.slab.input);
    const RegionAxis columns(m_Arguments, m_Block, 0);
    const int        width = m_Arguments.shape.region[0];
    const int        rows = m_Arguments.GetRows();
    const int        pieces = DivideUp(width, 32) * rows;
    const int        stride = (pieces % 1009 != 0 ? 1009 : 1013) % pieces;
    const int        step = stride * Warps % pieces;
    int              place = thread / 32 * stride % pieces;
    // Divides numbers of 16 bits.
    const auto reciprocal = 0xFFFFFFFFU / static_cast<std::uint32_t>(rows) + 1;
    CUDAMEDIAN_KEEP_LOOP
    for (int first = thread / 32; first < pieces; first += Loads * Warps)
    {
      TBits pixels[Loads];
      int   numbers[Loads];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loads; ++i)
      {
        const int piece = first + i * Warps;
        const int column = GetQuotient(place, rows, reciprocal);
        const int row = place - column * rows;
        const int x = 32 * column + thread % 32;
        numbers[i] = piece < pieces && x < width ? row * width + x : -1;
        pixels[i] = input[m_Rows[row] + columns.GetOffset(x)];
        place += step;
        place -= place >= pieces ? pieces : 0;
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loads; ++i)
      {
        visit(GetKey(pixels[i]), numbers[i], numbers[i] >= 0);
      }
    }
  }

  /** Which counters a pixel has. */
  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetCounted(TBits key, int thread)
  {
    constexpr unsigned int copies = Storage::Copies;
    return key * copies + static_cast<unsigned int>(thread) % copies;
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Count(unsigned int value, bool inside) const
  {
    auto *     counter = m_Storage.counters + Storage::GetWord(value);
    const auto one = 1U << Storage::GetShift(value);
    if constexpr (Storage::Copies >= 32)
    {
      return inside ? TThreads::AddTo(counter, one) : 0;
    }
    else
    {
      return TThreads::AddAlike(counter, one, inside);
    }
  }

  /** Numbers are left where the ranks will be. */
  CUDAMEDIAN_HOST_DEVICE void
  CountValues()
  {
    auto * values = GetRanks();
    m_Threads.ForEachThread([&](int thread) {
      ForEachKey(thread, [&](TBits key, int number, bool inside) {
        if constexpr (HasNumbers)
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
          Count(GetCounted(key, thread), inside);
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
      if constexpr (HasNumbers)
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
      start += IsLarge ? 0 : all << 16;
      int        word = thread * Own;
      const auto add = [&](WordVector & four) {
        const WordVector counts = four;
        four.x = start;
        four.y = four.x + counts.x;
        four.z = four.y + counts.y;
        four.w = four.z + counts.z;
        start = four.w + counts.w;
        if constexpr (HasNumbers)
        {
          MarkBoth(word, four.x, counts.x);
          MarkBoth(word + 1, four.y, counts.y);
          MarkBoth(word + 2, four.z, counts.z);
          MarkBoth(word + 3, four.w, counts.w);
          word += 4;
        }
      };
      if constexpr (HasNumbers)
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
    if constexpr (IsLarge)
    {
      if (!Quantiles::IsOfEqualPixels(static_cast<unsigned int>(word)))
      {
        MarkUnordered(word, starts, counts);
      }
      return;
    }
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
    if ((isLower || (first < last && behind > last)) && static_cast<int>(count) <= GetMostOfEnd())
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
    if constexpr (IsLarge)
    {
      ClearPlaces();
    }
    if constexpr (HasNumbers)
    {
      WriteNumbered();
    }
    else
    {
      m_Threads.ForEachThread([&](int thread) {
        ForEachKey(thread, [&](TBits key, int number, bool inside) {
          const int rank = FindRank(GetCounted(key, thread), inside);
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

  /** What a pixel has whose rank is known: its packed rank, or the word of it in a large region. */
  CUDAMEDIAN_HOST_DEVICE std::uint16_t
                         Pack(int rank) const
  {
    const auto & shape = m_Arguments.shape;
    const int    packed = rank - shape.firstRank;
    if constexpr (IsLarge)
    {
      return static_cast<std::uint16_t>((packed < 32 ? 0 : packed < GetLastPacked() ? packed : GetLastPacked()) / 32);
    }
    return PackRank(packed, shape.rankShift, shape.words);
  }

  /** Calls call(places) with the form of a large region's places. */
  template <typename TCall>
  CUDAMEDIAN_HOST_DEVICE auto
  CallWithPlaces(const TCall & call) const
  {
    return GetRegionForm(m_Arguments.shape) == RegionForm::Solid ? call(RankPlaces<RegionForm::Solid>())
                                                                 : call(RankPlaces<RegionForm::Large>());
  }

  /** Stores where a pixel of a large region is, if its rank is one that is looked up. */
  CUDAMEDIAN_HOST_DEVICE void
  StorePlace(int rank, int x, int row) const
  {
    const auto & shape = m_Arguments.shape;
    const int    packed = rank - shape.firstRank;
    if (packed >= 32 && packed < GetLastPacked())
    {
      const int z = GetQuotient(row, shape.region[1], m_RowReciprocal);
      CallWithPlaces([&](auto places) {
        places.Store(GetPlaces(), static_cast<unsigned int>(packed), x, row - z * shape.region[1], z);
      });
    }
  }

  /** The row and the column of a place, as pixels of the region are numbered. */
  CUDAMEDIAN_HOST_DEVICE void
  UnpackPlace(std::uint32_t word, int & x, int & row) const
  {
    const auto place = CallWithPlaces([&](auto places) { return places.Unpack(word); });
    x = place.x;
    row = place.z * m_Arguments.shape.region[1] + place.y;
  }

  CUDAMEDIAN_HOST_DEVICE int
  GetLastPacked() const
  {
    return 32 * m_Arguments.shape.words - 1;
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                         GetPlaces() const
  {
    return m_Arguments.places + static_cast<std::size_t>(m_Region) * (32 * m_Arguments.shape.words);
  }

  /** No pixel has the ranks behind the last one's. */
  CUDAMEDIAN_HOST_DEVICE void
  ClearPlaces() const
  {
    const auto & shape = m_Arguments.shape;
    m_Threads.ForEachThread([&](int thread) {
      for (int i = shape.pixels - shape.firstRank + thread; i < 32 * shape.words; i += VThreads)
      {
        GetPlaces()[i] = 0;
      }
    });
  }

  /** Where the marks of the ranks will be. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                         GetMarks() const
  {
    return m_Arguments.unordered + static_cast<std::size_t>(m_Region) * m_Arguments.GetUnorderedWords();
  }

  /** The same for numbers, in an order that goes to and fro as well: two threads take sixteen that follow each other,
   * which memory moves at once, and ask for the next ones early. */
  CUDAMEDIAN_HOST_DEVICE void
  WriteNumbered()
  {
    const int    pixels = m_Arguments.shape.pixels;
    const int    width = m_Arguments.shape.region[0];
    const int    vectors = m_Arguments.GetPaddedPixels() / 8;
    const int    pairs = DivideUp(vectors, 2);
    const int    stride = pairs % 1009 != 0 ? 1009 : 1013;
    const int    step = stride * (VThreads / 2) % pairs;
    const int    lower = m_Storage.ends[0].number;
    const int    upper = m_Storage.ends[1].number;
    auto * const ranks = GetRanks();
    m_Threads.ForEachThread([&](int thread) {
      int        pair = stride * (thread / 2) % pairs;
      const auto load = [&] { return TThreads::LoadVector(ranks + 8 * GetVectorOfPair(pair, thread, vectors)); };
      auto       next = load();
      CUDAMEDIAN_KEEP_LOOP
      for (int first = thread / 32 * 16; first < pairs; first += VThreads / 2)
      {
        const int  vector = 2 * pair + thread % 2;
        const bool inside = first + thread % 32 / 2 < pairs && vector < vectors;
        const auto loaded = next;
        pair += step;
        pair -= pair >= pairs ? pairs : 0;
        next = load();
        const std::uint32_t words[] = { loaded.x, loaded.y, loaded.z, loaded.w };
        std::uint32_t *     counters[8];
        std::uint32_t       changes[8];
        std::uint32_t       found[8];
        const auto          getValue = [&](int i) { return words[i / 2] >> i % 2 * 16 & 0xFFFFU; };
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < 8; ++i)
        {
          counters[i] = m_Storage.counters + Storage::GetWord(getValue(i));
          changes[i] = inside && 8 * vector + i < pixels ? 1U << Storage::GetShift(getValue(i)) : 0;
        }
        TThreads::AddEach(counters, changes, found);
        int           y = IsLarge ? 8 * vector / width : 0;
        int           x = 8 * vector - y * width;
        std::uint32_t packed[4];
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < 8; ++i)
        {
          const auto value = static_cast<int>(getValue(i));
          const auto rank = static_cast<int>(IsLarge ? found[i] : found[i] >> Storage::GetShift(getValue(i)) & 0xFFFFU);
          const std::uint32_t own = Pack(rank);
          packed[i / 2] = i % 2 == 0 ? own : packed[i / 2] | own << 16;
          if (changes[i] != 0)
          {
            if constexpr (IsLarge)
            {
              StorePlace(rank, x, y);
            }
            if (value == lower || value == upper)
            {
              const int end = value == lower ? 0 : 1;
              GetEnd(end)[rank - m_Storage.ends[end].start] = static_cast<PixelNumber>(8 * vector + i);
            }
          }
          ++x;
          y += x == width ? 1 : 0;
          x = x == width ? 0 : x;
        }
        if (inside)
        {
          TThreads::StoreVector(ranks + 8 * vector, WordVector{ packed[0], packed[1], packed[2], packed[3] });
        }
      }
    });
  }

  /** One of a pair's vectors: the last of all in place of those behind it. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetVectorOfPair(int pair, int thread, int vectors)
  {
    const int vector = 2 * pair + thread % 2;
    return vector < vectors ? vector : vectors - 1;
  }

  using PixelNumber = std::conditional_t<IsLarge, std::uint32_t, std::uint16_t>;

  /** How many pixels of an end there is room for. */
  CUDAMEDIAN_HOST_DEVICE int
  GetMostOfEnd() const
  {
    return m_Arguments.GetUnorderedWords() * 2 / static_cast<int>(sizeof(PixelNumber));
  }

  /** Which pixels have the number of an end: until there are marks. */
  CUDAMEDIAN_HOST_DEVICE PixelNumber *
  GetEnd(int end) const
  {
    return reinterpret_cast<PixelNumber *>(GetMarks()) + end * GetMostOfEnd();
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
          const auto number = static_cast<int>(numbers[i]);
          const auto key = LoadKey(columns, number);
          int        rank = found.start;
          for (int other = 0; other < found.count; ++other)
          {
            const auto otherKey = LoadKey(columns, static_cast<int>(numbers[other]));
            rank += otherKey < key || (otherKey == key && other < i) ? 1 : 0;
          }
          ranks[number] = Pack(rank);
          if constexpr (IsLarge)
          {
            const int y = number / m_Arguments.shape.region[0];
            StorePlace(rank, number - y * m_Arguments.shape.region[0], y);
          }
        }
      }
    });
    m_Threads.Synchronize();
  }

  /** Orders the pixels of a large region that share a number, where they are few. Some ranks at a time have their keys
   * where the counters were. */
  CUDAMEDIAN_HOST_DEVICE void
  OrderRuns()
  {
    m_Threads.Synchronize();
    for (int first = 32; first < GetLastPacked(); first += Chunk - mostOfRun)
    {
      LoadRuns(first);
      m_Threads.ForEachThread([&](int thread) {
        // The places of the next ones.
        const int ahead = first + Chunk - mostOfRun + 32 * thread;
        if (thread < Chunk / 32 && ahead < GetLastPacked())
        {
          m_Threads.Prefetch(GetPlaces() + ahead);
        }
      });
      m_Threads.ForEachThread([&](int thread) {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Items; ++i)
        {
          m_Target[thread][i] = FindTarget(first, first + thread + i * VThreads);
        }
      });
      m_Threads.Synchronize();
      m_Threads.ForEachThread([&](int thread) {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Items; ++i)
        {
          Move(first + thread + i * VThreads, m_Target[thread][i], m_Place[thread][i]);
        }
      });
      m_Threads.Synchronize();
    }
  }

  /** The places and keys of a chunk of packed ranks. */
  CUDAMEDIAN_HOST_DEVICE void
  LoadRuns(int first)
  {
    m_Threads.ForEachThread([&](int thread) {
      const RegionAxis columns(m_Arguments, m_Block, 0);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Items; ++i)
      {
        const int rank = first + thread + i * VThreads;
        m_Place[thread][i] = GetPlaces()[rank < GetLastPacked() ? rank : first];
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Items; ++i)
      {
        int x = 0;
        int y = 0;
        UnpackPlace(m_Place[thread][i], x, y);
        GetStaged()[thread + i * VThreads] =
          GetKey(static_cast<const TBits *>(m_Arguments.slab.input)[m_Rows[y] + columns.GetOffset(x)]);
      }
    });
    m_Threads.Synchronize();
  }

  CUDAMEDIAN_HOST_DEVICE TBits *
  GetStaged() const
  {
    return reinterpret_cast<TBits *>(m_Storage.counters);
  }

  /** The marks of 32 ranks from one on. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetMarksFrom(int rank) const
  {
    if (rank < 0)
    {
      return m_Storage.unordered[0] << -rank;
    }
    const auto lower = m_Storage.unordered[rank / 32];
    const auto upper = m_Storage.unordered[rank / 32 + 1];
    return static_cast<std::uint32_t>((lower | static_cast<std::uint64_t>(upper) << 32) >> rank % 32);
  }

  /** The packed rank of a pixel among those that share its number; -1 where they stay as they are. */
  CUDAMEDIAN_HOST_DEVICE int
  FindTarget(int chunk, int rank) const
  {
    const int last = GetLastPacked();
    const int behind = chunk + Chunk < last ? chunk + Chunk : last;
    if (rank >= behind)
    {
      return -1;
    }
    const int absolute = rank + m_Arguments.shape.firstRank;
    const int first = rank - CountLeadingZeros(~GetMarksFrom(absolute - 31));
    const int end = rank + 1 + CountTrailingZeros(~GetMarksFrom(absolute + 1));
    // None, too many, or not all of them are at hand.
    if (end - first == 1 || end - first > mostOfRun || first < chunk || end > behind)
    {
      return -1;
    }
    const auto * keys = GetStaged();
    const auto   key = keys[rank - chunk];
    int          target = first;
    CUDAMEDIAN_KEEP_LOOP
    for (int i = first - chunk; i < end - chunk; ++i)
    {
      target += keys[i] < key || (keys[i] == key && i < rank - chunk) ? 1 : 0;
    }
    return target;
  }

  /** Gives a pixel another rank. */
  CUDAMEDIAN_HOST_DEVICE void
  Move(int rank, int target, std::uint32_t place) const
  {
    if (target < 0)
    {
      return;
    }
    const int absolute = rank + m_Arguments.shape.firstRank;
    TThreads::ClearBits(m_Storage.unordered + absolute / 32, 1U << absolute % 32);
    GetPlaces()[target] = place;
    if (target / 32 != rank / 32)
    {
      int x = 0;
      int y = 0;
      UnpackPlace(place, x, y);
      GetRanks()[y * m_Arguments.shape.region[0] + x] = static_cast<std::uint16_t>(target / 32);
    }
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

  const TThreads &                          m_Threads;
  const RankArguments &                     m_Arguments;
  std::uint32_t                             m_Region;
  Storage &                                 m_Storage;
  std::int64_t *                            m_Rows;
  RankBlock                                 m_Block;
  std::uint32_t                             m_RowReciprocal; ///< of the region's rows along axis 1: see GetQuotient()
  Value<std::uint32_t>                      m_Total;
  Value<std::uint32_t[IsLarge ? Items : 1]> m_Place;
  Value<int[IsLarge ? Items : 1]>           m_Target;
};

} // namespace cudamedian

#endif
