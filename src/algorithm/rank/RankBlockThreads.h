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
#ifndef RankBlockThreads_h
#define RankBlockThreads_h

#include "RankDigitSort.h"
#include "ThreadValue.cuh"

#include <cub/block/block_radix_rank.cuh>

namespace cudamedian
{

/** A block's threads, each of which runs the code: see RankSort.h. */
template <int VThreads>
struct BlockThreads
{
  static constexpr int Count = VThreads;

  /** The thread's own. */
  template <typename T>
  using Value = ThreadValue<T>;

  using DigitRank = cub::BlockRadixRankMatchEarlyCounts<VThreads, digitBits, false>;
  using Digits = typename DigitRank::TempStorage;

  template <typename TFunction>
  __device__ __forceinline__ void
  ForEachThread(const TFunction & function) const
  {
    function(static_cast<int>(threadIdx.x));
  }
  __device__ __forceinline__ void
  Synchronize() const
  {
    __syncthreads();
  }
  __device__ __forceinline__ void
  SynchronizeWarps() const
  {
    __syncwarp();
  }
  template <typename T>
  __device__ __forceinline__ Value<T>
                             GetAcross(const Value<T> & value, int distance) const
  {
    return { static_cast<T>(__shfl_xor_sync(allLanes, value.own, distance)) };
  }
  template <typename T>
  __device__ __forceinline__ Value<T>
                             GetBefore(const Value<T> & value, int distance) const
  {
    return { __shfl_up_sync(allLanes, value.own, distance) };
  }
  template <typename T>
  __device__ __forceinline__ Value<T>
                             GetFrom(const Value<T> & value, int lane) const
  {
    return { __shfl_sync(allLanes, value.own, lane) };
  }
  __device__ __forceinline__ int
  FindFirst(const Value<bool> & flags) const
  {
    const auto set = __ballot_sync(allLanes, flags.own);
    return set == 0 ? 32 : __ffs(static_cast<int>(set)) - 1;
  }
  __device__ __forceinline__ int
  GetCommon(const Value<int> & value) const
  {
    return value.own;
  }
  template <typename TKey, int VItems>
  __device__ __forceinline__ void
  RankDigits(Digits & digits, Value<TKey[VItems]> & keys, Value<int[VItems]> & ranks, int bit) const
  {
    DigitRank(digits).RankKeys(keys.own, ranks.own, DigitExtractor{ bit });
  }

  static __device__ __forceinline__ std::uint32_t
                                    AddTo(std::uint32_t * counter, std::uint32_t change)
  {
    return atomicAdd(counter, change);
  }
  /** Clears bits in a word that other threads may change at the same time. */
  static __device__ __forceinline__ void
  SetBits(std::uint32_t * word, std::uint32_t bits)
  {
    atomicOr(word, bits);
  }
  static __device__ __forceinline__ void
  ClearBits(std::uint32_t * word, std::uint32_t bits)
  {
    atomicAnd(word, ~bits);
  }
  /** An addition for all threads of a warp at once, those that are `inside`. Where they agree, one adds for all. */
  static __device__ __forceinline__ std::uint32_t
                                    AddAlike(std::uint32_t * counter, std::uint32_t change, bool inside)
  {
    const auto place = reinterpret_cast<std::uintptr_t>(counter);
    const auto mark = static_cast<std::uint32_t>(place) + change;
    const auto first = __shfl_sync(allLanes, mark, 0);
    if (__all_sync(allLanes, inside && mark == first) != 0)
    {
      const auto    lane = threadIdx.x % 32;
      std::uint32_t before = 0;
      if (lane == 0)
      {
        before = atomicAdd(counter, 32 * change);
      }
      return __shfl_sync(allLanes, before, 0) + lane * change;
    }
    return inside ? atomicAdd(counter, change) : 0;
  }
  /** Additions to eight counters of each thread of a warp at once. Where all agree, one adds for all. */
  static __device__ __forceinline__ void
  AddEach(std::uint32_t * const (&counters)[8], const std::uint32_t (&changes)[8], std::uint32_t (&before)[8])
  {
    const auto getMark = [&](int i) {
      return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(counters[i])) + changes[i];
    };
    const auto first = __shfl_sync(allLanes, getMark(0), 0);
    bool       alike = true;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 8; ++i)
    {
      alike = alike && changes[i] != 0 && getMark(i) == first;
    }
    if (__all_sync(allLanes, alike) != 0)
    {
      const auto    lane = threadIdx.x % 32;
      std::uint32_t start = 0;
      if (lane == 0)
      {
        start = atomicAdd(counters[0], 256 * changes[0]);
      }
      start = __shfl_sync(allLanes, start, 0) + 8 * lane * changes[0];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 8; ++i)
      {
        before[i] = start + i * changes[0];
      }
      return;
    }
    // Those that add nothing do so as well: no branch comes between them, and they do not wait for each other.
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 8; ++i)
    {
      before[i] = atomicAdd(counters[i], changes[i]);
    }
  }
  static __device__ __forceinline__ int
  CountLeadingZeros(unsigned long long number)
  {
    return __clzll(static_cast<long long>(number));
  }
  static __device__ __forceinline__ std::uint32_t
                                    GetHigherHalves(std::uint32_t a, std::uint32_t b)
  {
    return __vmaxu2(a, b);
  }
  /** Adds to a number if one key is less than another. */
  template <typename TElement>
  static __device__ __forceinline__ void
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
  static __device__ __forceinline__ WordVector
  LoadVector(const std::uint16_t * from)
  {
    return *reinterpret_cast<const WordVector *>(from);
  }
  static __device__ __forceinline__ void
  StoreVector(std::uint16_t * to, const WordVector & words)
  {
    *reinterpret_cast<WordVector *>(to) = words;
  }
  /** Memory brings a line of 128 bytes nearer. */
  static __device__ __forceinline__ void
  Prefetch(const void * line)
  {
    asm volatile("prefetch.global.L1 [%0];" : : "l"(line));
  }
  static __device__ __forceinline__ void
  KeepLoads()
  {
    asm volatile("" ::: "memory");
  }
  template <typename T>
  static __device__ __forceinline__ void
  KeepAddress(T *& pointer)
  {
    asm("" : "+l"(pointer));
  }
  /** What follows from a number is found anew from here on, which takes fewer registers. */
  template <typename T>
  static __device__ __forceinline__ void
  KeepNumber(T & number)
  {
    asm("" : "+r"(number));
  }
};

/** A warp's threads: see ThresholdWindows. */
struct WarpThreads : BlockThreads<32>
{
  template <typename TFunction>
  __device__ __forceinline__ void
  ForEachThread(const TFunction & function) const
  {
    function(static_cast<int>(threadIdx.x % 32));
  }
  __device__ __forceinline__ void
  Synchronize() const
  {
    __syncwarp();
  }
};

} // namespace cudamedian

#endif
