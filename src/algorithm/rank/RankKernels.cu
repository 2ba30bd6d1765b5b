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
#include "RankKernels.h"
#include "RankLaunch.h"
#include "SharedMemoryLimit.h"
#include "PixelFormat.h"

#include <cub/block/block_radix_rank.cuh>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

namespace cudamedian
{
namespace
{

/** Bits of the pixels whose keys have a width. */
template <int VKeyBits>
using SortedBits =
  std::conditional_t<VKeyBits == 16, std::uint16_t, std::conditional_t<VKeyBits == 32, std::uint32_t, std::uint64_t>>;

/** Keys in registers. */
template <int VKeyBits>
using SortedKey = std::conditional_t<VKeyBits == 64, std::uint64_t, std::uint32_t>;

/** Offsets of a region's rows and columns in the slab's input, row by row, then column by column. For all threads of a
 * block, which wait for each other. */
template <int VThreads>
__device__ __forceinline__ void
FindOffsets(const RankArguments & arguments, const RankBlock & block, std::int64_t * offsets)
{
  const int rows = arguments.GetRows();
  for (int i = static_cast<int>(threadIdx.x); i < rows + arguments.shape.region[0]; i += VThreads)
  {
    offsets[i] = i < rows ? GetRowOffset(arguments, block, i) : GetOffsetAlong(arguments, block, 0, i - rows);
  }
  __syncthreads();
}

/** Goes over the pixels of a region, from one of a thread to its next. */
class RegionWalk
{
public:
  __device__ __forceinline__
  RegionWalk(const RankArguments & arguments, int first, int step)
    : m_Width(arguments.shape.region[0]), m_Rows(arguments.GetRows()), m_Row(first / m_Width),
      m_Column(first - m_Row * m_Width), m_RowStep(step / m_Width), m_ColumnStep(step - m_RowStep * m_Width)
  {}

  /** Behind the end there is some pixel of the last row, so that loads need no condition. */
  __device__ __forceinline__ std::int64_t
                             GetOffset(const std::int64_t * offsets) const
  {
    return offsets[min(m_Row, m_Rows - 1)] + offsets[m_Rows + m_Column];
  }

  __device__ __forceinline__ void
  Step()
  {
    m_Row += m_RowStep;
    m_Column += m_ColumnStep;
    const bool next = m_Column >= m_Width;
    m_Row += next ? 1 : 0;
    m_Column -= next ? m_Width : 0;
  }

private:
  int m_Width;
  int m_Rows;
  int m_Row;
  int m_Column;
  int m_RowStep;
  int m_ColumnStep;
};

/** The keys of a thread's pixels in a block's region: from `first` on, `step` from one to the next. Threads wait for
 * each other before and after they use the shared memory. */
template <int VKeyBits, int VThreads, int VItems>
__device__ __forceinline__ void
LoadKeys(const RankArguments & arguments,
         std::int64_t          block,
         void *                shared,
         int                   first,
         int                   step,
         SortedBits<VKeyBits> (&keys)[VItems])
{
  using Bits = SortedBits<VKeyBits>;
  auto * offsets = static_cast<std::int64_t *>(shared);
  FindOffsets<VThreads>(arguments, RankBlock(arguments, arguments.firstBlock + block), offsets);
  RegionWalk walk(arguments, first, step);
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    keys[i] = static_cast<const Bits *>(arguments.slab.input)[walk.GetOffset(offsets)];
    walk.Step();
    if (i % 4 == 3)
    {
      // Addresses take registers: loads do not all come first.
      asm volatile("" ::: "memory");
    }
  }
  CallWithMapping<Bits>(arguments.keyFormat, [&](auto mapping) {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      keys[i] = mapping.FromBits(keys[i], static_cast<Bits>(arguments.slab.signMask));
    }
  });
  __syncthreads();
}

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
  std::uint32_t        counters[Buckets / 2];
  Element              sorted[Longest + VThreads * VItems + Longest]; ///< keys, with some that are below and above all
  std::uint16_t        numbers[VKeyBits == 16 ? 1 : VThreads * VItems]; ///< of their pixels
  SortedBits<VKeyBits> lowest[Warps];
  SortedBits<VKeyBits> highest[Warps];
  std::uint32_t        totals[Warps];
  int                  longest[Warps];

  __device__ __forceinline__ static unsigned int
  GetWord(unsigned int bucket)
  {
    return bucket % (Buckets / 2);
  }
  /** 16 for a bucket in the upper half of its word. */
  __device__ __forceinline__ static unsigned int
  GetShift(unsigned int bucket)
  {
    return bucket / (Buckets / 32) & 16U;
  }
};

/** Adds to a number if one key is less than another. */
template <typename TElement>
__device__ __forceinline__ void
CountIfLess(int & number, TElement less, TElement than, int change)
{
  if constexpr (sizeof(TElement) == 4)
  {
    // In two instructions, which the compiler makes three of.
    asm("{ .reg .pred less; setp.lt.u32 less, %1, %2; @less add.s32 %0, %0, %3; }"
        : "+r"(number)
        : "r"(less), "r"(than), "r"(change));
  }
  else
  {
    number += less < than ? change : 0;
  }
}

/** Sorts the region of each block by buckets, as many as pixels, that divide the range of keys evenly: its pixels'
 * packed ranks, and its pixels in order. Regions with more keys in a bucket than are worth comparing are listed and
 * left. */
template <int VKeyBits, int VThreads, int VItems>
__global__ void
__launch_bounds__(VThreads, VThreads == 256 && VItems > 12 ? 3 : 1024 / VThreads)
  BucketKernel(const __grid_constant__ RankArguments arguments)
{
  using Bits = SortedBits<VKeyBits>;
  using Storage = BucketStorage<VKeyBits, VThreads, VItems>;
  using Element = typename Storage::Element;
  constexpr unsigned int allLanes = 0xFFFFFFFFU;
  extern __shared__ __align__(16) unsigned char shared[];
  auto &                                        storage = *reinterpret_cast<Storage *>(shared);

  const int    thread = static_cast<int>(threadIdx.x);
  const int    lane = thread % 32;
  const int    warp = thread / 32;
  const auto & shape = arguments.shape;
  const int    count = shape.pixels;
  Bits         keys[VItems];
  LoadKeys<VKeyBits, VThreads, VItems>(arguments, blockIdx.x, shared, thread, VThreads, keys);

  // The range of keys. Where a thread has no pixel it has read some other.
  Bits lowest = keys[0];
  Bits highest = keys[0];
  CUDAMEDIAN_UNROLL
  for (int i = 1; i < VItems; ++i)
  {
    lowest = min(lowest, keys[i]);
    highest = max(highest, keys[i]);
  }
  CUDAMEDIAN_UNROLL
  for (int distance = 16; distance > 0; distance /= 2)
  {
    lowest = min(lowest, static_cast<Bits>(__shfl_xor_sync(allLanes, lowest, distance)));
    highest = max(highest, static_cast<Bits>(__shfl_xor_sync(allLanes, highest, distance)));
  }
  if (lane == 0)
  {
    storage.lowest[warp] = lowest;
    storage.highest[warp] = highest;
  }
  constexpr int own = static_cast<int>(Storage::Buckets / 2 / VThreads);
  static_assert(own % 4 == 0, "whole vectors of counters");
  auto * vectors = reinterpret_cast<uint4 *>(storage.counters);
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < own / 4; ++i)
  {
    vectors[i * VThreads + thread] = uint4{ 0, 0, 0, 0 };
  }
  if (thread < Storage::Longest)
  {
    storage.sorted[thread] = 0;
    storage.sorted[Storage::Longest + count + thread] = static_cast<Element>(~Element{ 0 });
  }
  __syncthreads();
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < Storage::Warps; ++i)
  {
    lowest = min(lowest, storage.lowest[i]);
    highest = max(highest, storage.highest[i]);
  }
  const auto range = static_cast<unsigned long long>(highest - lowest) / Storage::Buckets;
  const int  shift = 64 - __clzll(static_cast<long long>(range));
  const auto findBucket = [&](Bits key) { return static_cast<unsigned int>(static_cast<Bits>(key - lowest) >> shift); };

  // A bucket's keys come in no particular order.
  unsigned int slots[VItems];
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    const auto bucket = findBucket(keys[i]);
    const auto half = Storage::GetShift(bucket);
    slots[i] = 0;
    if (thread + i * VThreads < count)
    {
      slots[i] = atomicAdd(storage.counters + Storage::GetWord(bucket), 1U << half);
    }
    slots[i] = slots[i] >> half & 0xFFFFU;
  }
  __syncthreads();

  // Where buckets start, and how many keys the longest has: nothing is to be compared where a bucket is one value.
  std::uint32_t words[own];
  std::uint32_t total = 0;
  std::uint32_t most = 0;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < own / 4; ++i)
  {
    const auto four = vectors[thread * (own / 4) + i];
    words[4 * i] = four.x;
    words[4 * i + 1] = four.y;
    words[4 * i + 2] = four.z;
    words[4 * i + 3] = four.w;
  }
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < own; ++i)
  {
    most = __vmaxu2(most, words[i]);
    const auto before = total;
    total += words[i];
    words[i] = before;
  }
  int           longest = shift == 0 ? 1 : static_cast<int>(max(most & 0xFFFFU, most >> 16));
  std::uint32_t end = total;
  CUDAMEDIAN_UNROLL
  for (int distance = 1; distance < 32; distance *= 2)
  {
    const auto before = __shfl_up_sync(allLanes, end, distance);
    end += lane >= distance ? before : 0;
    longest = max(longest, __shfl_xor_sync(allLanes, longest, distance));
  }
  if (lane == 31)
  {
    storage.totals[warp] = end;
    storage.longest[warp] = longest;
  }
  __syncthreads();
  std::uint32_t start = end - total;
  std::uint32_t all = 0;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < Storage::Warps; ++i)
  {
    longest = max(longest, storage.longest[i]);
    start += i < warp ? storage.totals[i] : 0;
    all += storage.totals[i];
  }
  if (longest > Storage::Longest)
  {
    if (thread == 0)
    {
      arguments.left[1 + atomicAdd(arguments.left, 1U)] = blockIdx.x;
    }
    return;
  }
  start += all << 16;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < own / 4; ++i)
  {
    vectors[thread * (own / 4) + i] =
      uint4{ start + words[4 * i], start + words[4 * i + 1], start + words[4 * i + 2], start + words[4 * i + 3] };
  }
  __syncthreads();

  Element * const sorted = storage.sorted + Storage::Longest;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    const int  number = thread + i * VThreads;
    const auto bucket = findBucket(keys[i]);
    const auto place = (storage.counters[Storage::GetWord(bucket)] >> Storage::GetShift(bucket) & 0xFFFFU) + slots[i];
    if (number < count)
    {
      if constexpr (VKeyBits == 16)
      {
        sorted[place] = static_cast<Element>(keys[i]) << 16 | static_cast<Element>(number);
      }
      else
      {
        sorted[place] = keys[i];
        storage.numbers[place] = static_cast<std::uint16_t>(number);
      }
    }
  }
  __syncthreads();

  // Keys in the wrong order are of the same bucket, and less far apart than it is long.
  Element elements[VItems];
  int     ranks[VItems];
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
      CountIfLess(ranks[i], behind[i * VThreads], elements[i], 1);
      CountIfLess(ranks[i], elements[i], before[i * VThreads], -1);
    }
  }
  const auto first = static_cast<std::size_t>(blockIdx.x) * arguments.GetPaddedPixels();
  auto *     packed = reinterpret_cast<std::uint16_t *>(storage.counters);
  CallWithMapping<Bits>(arguments.keyFormat, [&](auto mapping) {
    // Its address is not to be found for each pixel anew.
    auto * pixels = static_cast<Bits *>(arguments.sorted) + first;
    asm("" : "+l"(pixels));
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      const int place = thread + i * VThreads;
      if (place < count)
      {
        const auto number = VKeyBits == 16 ? static_cast<unsigned int>(elements[i] & 0xFFFFU) : storage.numbers[place];
        packed[number] = PackRank(ranks[i] - shape.firstRank, shape.rankShift, shape.words);
        pixels[static_cast<unsigned int>(ranks[i])] = mapping.ToBits(
          static_cast<Bits>(elements[i] >> (VKeyBits == 16 ? 16 : 0)), static_cast<Bits>(arguments.slab.signMask));
      }
    }
  });
  __syncthreads();
  auto * results = reinterpret_cast<uint4 *>(arguments.ranks + first);
  for (int i = thread; i < arguments.GetPaddedPixels() / 8; i += VThreads)
  {
    results[i] = vectors[i];
  }
}

/** Digits of this many bits are sorted at a time: 175 gigapixels/s at 16 bits, where 4 bits by counters reach 131. */
constexpr int digitBits = 8;

/** The digit of a key that starts at a bit. */
struct DigitExtractor
{
  int firstBit;

  template <typename TKey>
  __device__ __forceinline__ std::uint32_t
                             Digit(TKey key) const
  {
    return static_cast<std::uint32_t>(key >> firstBit) & ((1U << digitBits) - 1);
  }
};

template <int VThreads>
using DigitRank = cub::BlockRadixRankMatchEarlyCounts<VThreads, digitBits, false>;

/** Shared memory of a block that sorts by digits. */
template <int VKeyBits, int VThreads, int VItems>
union DigitStorage
{
  typename DigitRank<VThreads>::TempStorage digits;
  SortedKey<VKeyBits>                       keys[VThreads * VItems];
  std::uint16_t                             numbers[VThreads * VItems];
};

/** Sorts a region digit by digit, which takes as long whatever the keys are. */
template <int VKeyBits, int VThreads, int VItems>
__device__ __forceinline__ void
SortByDigits(const RankArguments & arguments, std::int64_t block, unsigned char * shared)
{
  using Key = SortedKey<VKeyBits>;
  using Bits = SortedBits<VKeyBits>;
  auto & storage = *reinterpret_cast<DigitStorage<VKeyBits, VThreads, VItems> *>(shared);

  // A warp holds pixels that follow each other, one beside the other in its threads. Sorting is stable, so what fills
  // up the end stays behind every pixel.
  const int     thread = static_cast<int>(threadIdx.x);
  const int     first = thread / 32 * 32 * VItems + thread % 32;
  const auto &  shape = arguments.shape;
  const int     count = shape.pixels;
  Bits          bits[VItems];
  Key           keys[VItems]; // 16-bit keys have their pixel's number in the upper half
  std::uint16_t numbers[VItems];
  int           ranks[VItems];
  LoadKeys<VKeyBits, VThreads, VItems>(arguments, block, shared, first, 32, bits);
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    const int number = first + i * 32;
    numbers[i] = static_cast<std::uint16_t>(number);
    keys[i] = number < count ? bits[i] : static_cast<Bits>(~Bits{ 0 });
    keys[i] |= VKeyBits == 16 ? static_cast<Key>(number) << 16 : 0;
  }

  CUDAMEDIAN_KEEP_LOOP
  for (int bit = 0;; bit += digitBits)
  {
    DigitRank<VThreads>(storage.digits).RankKeys(keys, ranks, DigitExtractor{ bit });
    __syncthreads();
    if (bit == VKeyBits - digitBits)
    {
      break;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      storage.keys[ranks[i]] = keys[i];
    }
    __syncthreads();
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      keys[i] = storage.keys[first + i * 32];
    }
    __syncthreads();
    if constexpr (VKeyBits != 16)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        storage.numbers[ranks[i]] = numbers[i];
      }
      __syncthreads();
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        numbers[i] = storage.numbers[first + i * 32];
      }
      __syncthreads();
    }
  }

  // Both results leave through shared memory, where they can be scattered.
  const auto place = static_cast<std::size_t>(block) * arguments.GetPaddedPixels();
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    storage.numbers[VKeyBits == 16 ? keys[i] >> 16 : numbers[i]] =
      PackRank(ranks[i] - shape.firstRank, shape.rankShift, shape.words);
  }
  __syncthreads();
  for (int i = thread; i < count; i += VThreads)
  {
    arguments.ranks[place + i] = storage.numbers[i];
  }
  __syncthreads();
  auto * pixels = reinterpret_cast<Bits *>(shared);
  CallWithMapping<Bits>(arguments.keyFormat, [&](auto mapping) {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      pixels[ranks[i]] = mapping.ToBits(static_cast<Bits>(keys[i]), static_cast<Bits>(arguments.slab.signMask));
    }
  });
  __syncthreads();
  for (int i = thread; i < count; i += VThreads)
  {
    static_cast<Bits *>(arguments.sorted)[place + i] = pixels[i];
  }
}

/** Sorts the regions that the other kernel has left, one after the other. */
template <int VKeyBits, int VThreads, int VItems>
__global__ void
__launch_bounds__(VThreads) DigitKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  const std::uint32_t left = *arguments.left;
  for (std::uint32_t i = blockIdx.x; i < left; i += gridDim.x)
  {
    SortByDigits<VKeyBits, VThreads, VItems>(arguments, arguments.left[1 + i], shared);
    __syncthreads();
  }
}

/** Where the ranks or values of a region start in the shared memory of a block that slides windows. */
__device__ __forceinline__ std::uint16_t *
                           GetSharedRanks(const RankArguments & arguments, std::uint32_t * bits)
{
  return reinterpret_cast<std::uint16_t *>(reinterpret_cast<char *>(bits) + arguments.shape.sharedBytes) -
         arguments.GetPaddedPixels();
}

/** Empties the windows of a block's threads. */
template <int VThreads>
__device__ __forceinline__ void
ClearWindows(const RankArguments & arguments, std::uint32_t * bits)
{
  for (int i = static_cast<int>(threadIdx.x); i < arguments.shape.words * (VThreads / 4); i += VThreads)
  {
    reinterpret_cast<uint4 *>(bits)[i] = uint4{ 0, 0, 0, 0 };
  }
}

/** Slides the windows of each block over its ranks. */
template <typename TPixelBits, int VThreads>
__global__ void
__launch_bounds__(VThreads) SlideKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(256) std::uint32_t bits[];

  const int    thread = static_cast<int>(threadIdx.x);
  const int    padded = arguments.GetPaddedPixels();
  auto *       ranks = GetSharedRanks(arguments, bits);
  const auto   first = static_cast<std::size_t>(blockIdx.x) * padded;
  const auto * source = reinterpret_cast<const uint4 *>(arguments.ranks + first);
  for (int i = thread; i < padded / 8; i += VThreads)
  {
    reinterpret_cast<uint4 *>(ranks)[i] = source[i];
  }
  ClearWindows<VThreads>(arguments, bits);
  __syncthreads();
  SlideRankWindow<TPixelBits, VThreads, 1>(arguments,
                                           RankBlock(arguments, arguments.firstBlock + blockIdx.x),
                                           thread,
                                           ranks,
                                           bits,
                                           static_cast<const TPixelBits *>(arguments.sorted) + first);
}

/** Slides the windows of each block over its 8-bit values, which need not be sorted. */
template <int VThreads, int VCounterBits>
__global__ void
__launch_bounds__(VThreads) CountKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(256) std::uint32_t bits[];

  const int       thread = static_cast<int>(threadIdx.x);
  const int       count = arguments.shape.pixels;
  const RankBlock block(arguments, arguments.firstBlock + blockIdx.x);
  auto *          offsets = reinterpret_cast<std::int64_t *>(bits);
  auto *          values = GetSharedRanks(arguments, bits);
  FindOffsets<VThreads>(arguments, block, offsets);
  // Some pixels at a time are on their way.
  constexpr int loads = 8;
  RegionWalk    walk(arguments, thread, VThreads);
  for (int first = thread; first < count; first += loads * VThreads)
  {
    std::uint8_t pixels[loads];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < loads; ++i)
    {
      pixels[i] = static_cast<const std::uint8_t *>(arguments.slab.input)[walk.GetOffset(offsets)];
      walk.Step();
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < loads; ++i)
    {
      if (first + i * VThreads < count)
      {
        const auto value = PixelKey<std::uint8_t, KeyMapping::Integer>::FromBits(
          pixels[i], static_cast<std::uint8_t>(arguments.slab.signMask));
        values[first + i * VThreads] = PackValue<VCounterBits>(value, RankWindow<VThreads>::Shift);
      }
    }
  }
  __syncthreads();
  ClearWindows<VThreads>(arguments, bits);
  __syncthreads();
  SlideRankWindow<std::uint8_t, VThreads, VCounterBits>(arguments, block, thread, values, bits, nullptr);
}

using RankFunction = void (*)(RankArguments);

/** Blocks of the kernel that sorts what is left: enough for large devices, few where nothing is left. */
constexpr unsigned int mostDigitBlocks = 1024;

/** A kernel that sorts regions. */
struct SortKernel
{
  int          threads;
  int          items;
  RankFunction function;
  std::size_t  storageBytes;

  /** It starts with the offsets of its region's rows and columns. */
  std::size_t
  GetBytes(const RankShape & shape) const
  {
    const auto offsets = static_cast<std::size_t>(shape.region[0] + shape.region[1] * shape.region[2]);
    return std::max(storageBytes, offsets * sizeof(std::int64_t));
  }
};

template <int VKeyBits, int VThreads, int VItems>
SortKernel
MakeBucketKernel()
{
  return {
    VThreads, VItems, BucketKernel<VKeyBits, VThreads, VItems>, sizeof(BucketStorage<VKeyBits, VThreads, VItems>)
  };
}

template <int VKeyBits, int VThreads, int VItems>
SortKernel
MakeDigitKernel()
{
  return {
    VThreads, VItems, DigitKernel<VKeyBits, VThreads, VItems>, sizeof(DigitStorage<VKeyBits, VThreads, VItems>)
  };
}

/** The kernel that sorts by buckets and the one for what it leaves, of the sizes of RankPolicy.cxx. */
template <int VKeyBits>
std::vector<std::array<SortKernel, 2>>
ListSortKernels()
{
  using Pair = std::array<SortKernel, 2>;
  if constexpr (VKeyBits == 64)
  {
    return { Pair{ MakeBucketKernel<64, 256, 8>(), MakeDigitKernel<64, 256, 8>() },
             Pair{ MakeBucketKernel<64, 256, 12>(), MakeDigitKernel<64, 256, 12>() },
             Pair{ MakeBucketKernel<64, 256, 16>(), MakeDigitKernel<64, 256, 16>() },
             Pair{ MakeBucketKernel<64, 512, 12>(), MakeDigitKernel<64, 512, 12>() },
             Pair{ MakeBucketKernel<64, 512, 16>(), MakeDigitKernel<64, 512, 16>() } };
  }
  else
  {
    return { Pair{ MakeBucketKernel<VKeyBits, 256, 8>(), MakeDigitKernel<VKeyBits, 128, 16>() },
             Pair{ MakeBucketKernel<VKeyBits, 256, 12>(), MakeDigitKernel<VKeyBits, 128, 24>() },
             Pair{ MakeBucketKernel<VKeyBits, 256, 16>(), MakeDigitKernel<VKeyBits, 128, 32>() },
             Pair{ MakeBucketKernel<VKeyBits, 512, 12>(), MakeDigitKernel<VKeyBits, 256, 24>() },
             Pair{ MakeBucketKernel<VKeyBits, 512, 16>(), MakeDigitKernel<VKeyBits, 256, 32>() },
             Pair{ MakeBucketKernel<VKeyBits, 1024, 12>(), MakeDigitKernel<VKeyBits, 512, 24>() },
             Pair{ MakeBucketKernel<VKeyBits, 1024, 16>(), MakeDigitKernel<VKeyBits, 512, 32>() } };
  }
}

/** The kernels that sort a number of pixels, or null. */
template <int VKeyBits>
const std::array<SortKernel, 2> *
FindSortKernels(int pixels)
{
  static const auto kernels = ListSortKernels<VKeyBits>();
  const auto        found = std::find_if(
    kernels.begin(), kernels.end(), [&](const auto & pair) { return pair[0].threads * pair[0].items == pixels; });
  return found == kernels.end() ? nullptr : &*found;
}

/** The kernels for a shape and a pixel width; 8-bit pixels are not sorted. */
struct RankKernels
{
  const std::array<SortKernel, 2> * sort;
  RankFunction                      slide;
};

template <typename TPixelBits>
RankKernels
GetRankKernelsOf(const RankShape & shape)
{
  return { FindSortKernels<8 * sizeof(TPixelBits)>(shape.sortPixels),
           shape.threads == 32 ? SlideKernel<TPixelBits, 32> : SlideKernel<TPixelBits, 64> };
}

template <int VThreads>
RankKernels
GetCountKernels(const RankShape & shape)
{
  return { nullptr, shape.counterBits == 10 ? CountKernel<VThreads, 10> : CountKernel<VThreads, 16> };
}

RankKernels
GetRankKernels(const RankShape & shape, KeyFormat keyFormat)
{
  return DispatchKeys(keyFormat, [&](auto key) {
    using Bits = typename decltype(key)::Bits;
    if constexpr (sizeof(Bits) == 1)
    {
      return shape.threads == 32 ? GetCountKernels<32>(shape) : GetCountKernels<64>(shape);
    }
    else
    {
      return GetRankKernelsOf<Bits>(shape);
    }
  });
}

cudaError_t
Launch(RankFunction          kernel,
       const RankArguments & arguments,
       unsigned int          blocks,
       int                   threads,
       std::size_t           bytes,
       cudaStream_t          stream)
{
  const auto error = AllowSharedMemory(reinterpret_cast<const void *>(kernel), static_cast<int>(bytes));
  if (error != cudaSuccess)
  {
    return error;
  }
  kernel<<<blocks, threads, bytes, stream>>>(arguments);
  return cudaGetLastError();
}

} // namespace

std::size_t
GetRankSharedBytes(const RankShape & shape, KeyFormat keyFormat)
{
  const auto kernels = GetRankKernels(shape, keyFormat);
  auto       bytes = static_cast<std::size_t>(shape.sharedBytes);
  if (kernels.sort != nullptr)
  {
    bytes = std::max({ bytes, (*kernels.sort)[0].GetBytes(shape), (*kernels.sort)[1].GetBytes(shape) });
  }
  return bytes;
}

cudaError_t
LaunchRankWindows(const KernelArguments & slab,
                  const RankShape &       shape,
                  KeyFormat               keyFormat,
                  void *                  scratch,
                  std::size_t             scratchBytes,
                  cudaStream_t            stream)
{
  const auto   kernels = GetRankKernels(shape, keyFormat);
  const bool   sorts = shape.counterBits == 1;
  const Extent outputExtent{
    { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] }
  };
  // As many blocks at once as have room for their ranks, and as a launch may have.
  constexpr std::int64_t largestLaunch = 1 << 30;
  const auto             blocks = CountRankBlocks(shape, outputExtent);
  const auto             batch =
    std::min(largestLaunch, sorts ? static_cast<std::int64_t>(scratchBytes) / shape.scratchBytes : largestLaunch);
  if (sorts == (kernels.sort == nullptr) || batch < 1)
  {
    return cudaErrorInvalidValue;
  }
  auto arguments = MakeRankArguments(slab, shape, keyFormat);
  if (sorts)
  {
    // Ranks first. Both are moved 16 bytes at a time.
    arguments.ranks = static_cast<std::uint16_t *>(scratch);
    arguments.sorted = arguments.ranks + batch * arguments.GetPaddedPixels();
    const auto pixelBytes = shape.scratchBytes / arguments.GetPaddedPixels() - 2;
    arguments.left = reinterpret_cast<std::uint32_t *>(static_cast<char *>(arguments.sorted) +
                                                       batch * arguments.GetPaddedPixels() * pixelBytes);
  }
  for (; arguments.firstBlock < blocks; arguments.firstBlock += batch)
  {
    const auto count = static_cast<unsigned int>(std::min(batch, blocks - arguments.firstBlock));
    auto       error = cudaSuccess;
    if (sorts)
    {
      const auto & [buckets, digits] = *kernels.sort;
      error = cudaMemsetAsync(arguments.left, 0, sizeof(*arguments.left), stream);
      if (error == cudaSuccess)
      {
        error = Launch(buckets.function, arguments, count, buckets.threads, buckets.GetBytes(shape), stream);
      }
      if (error == cudaSuccess)
      {
        error = Launch(
          digits.function, arguments, std::min(count, mostDigitBlocks), digits.threads, digits.GetBytes(shape), stream);
      }
    }
    if (error == cudaSuccess)
    {
      error =
        Launch(kernels.slide, arguments, count, shape.threads, static_cast<std::size_t>(shape.sharedBytes), stream);
    }
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

} // namespace cudamedian
