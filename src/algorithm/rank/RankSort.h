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
#ifndef RankSort_h
#define RankSort_h

#include "PixelFormat.h"
#include "RankKernels.h"

#include <type_traits>

/** What the kernels that sort a region share (RankBucketSort.h, RankDigitSort.h).
 *
 * Written so that the host can run it. What a block does is written for all its threads. A TThreads has
 * - Count: how many they are; Value<T>: a T for each of them, value[thread] is that of a thread;
 * - ForEachThread(f): f(thread) for each, in any order;
 * - Synchronize(): what threads have written to memory is seen by the others; SynchronizeWarps(): by those of their
 *   warp;
 * - GetAcross(value, distance), GetBefore(value, distance): values of the lanes of the same warp whose number differs
 *   in the bit `distance`, or is less by it; GetCommon(value): the value that all threads have;
 *   GetFrom(value, lane): that of a lane of a warp; FindFirst(flags): the warp's first lane with a flag, or 32;
 * - AddTo(counter, change): an addition that other threads may make at the same time, returns what was there before;
 *   AddAlike(counter, change, inside): the same by a warp's threads at once, those that are inside; AddEach(counters,
 *   changes, before): for eight counters each, where changes may be 0; ClearBits(word, bits): without bits;
 * - RankDigits(storage, keys, ranks, bit): stable ranks of the digits that start at a bit, for keys that follow each
 *   other first in a warp's lanes, then in their arrays, then from warp to warp; Digits is its shared memory;
 * - CountLeadingZeros(number), GetHigherHalves(a, b), CountIfLess(number, less, than, change), LoadVector(from),
 *   StoreVector(to, words):
 *   what takes an instruction on a device;
 * - Prefetch(line): memory brings a line of 128 bytes nearer;
 * - KeepLoads(), KeepAddress(pointer): what is before them is not moved behind them, nor computed anew. */
namespace cudamedian
{

/** Bits of the pixels whose keys have a width. */
template <int VKeyBits>
using SortedBits =
  std::conditional_t<VKeyBits == 16, std::uint16_t, std::conditional_t<VKeyBits == 32, std::uint32_t, std::uint64_t>>;

/** Words of shared memory that are moved at once. */
struct alignas(16) WordVector
{
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;
  std::uint32_t w;
};

/** Offsets of a region's rows and columns in the slab's input, row by row, then column by column. The threads wait for
 * each other. */
template <typename TThreads>
CUDAMEDIAN_HOST_DEVICE void
FindOffsets(const TThreads & threads, const RankArguments & arguments, const RankBlock & block, std::int64_t * offsets)
{
  threads.ForEachThread([&](int thread) {
    const int rows = arguments.GetRows();
    for (int i = thread; i < rows + arguments.shape.region[0]; i += TThreads::Count)
    {
      offsets[i] = i < rows ? GetRowOffset(arguments, block, i) : GetOffsetAlong(arguments, block, 0, i - rows);
    }
  });
  threads.Synchronize();
}

/** Goes over the pixels of a region, from one of a thread to its next. */
class RegionWalk
{
public:
  CUDAMEDIAN_HOST_DEVICE
  RegionWalk(const RankArguments & arguments, int first, int step)
    : m_Width(arguments.shape.region[0])
    , m_Rows(arguments.GetRows())
    , m_Row(first / m_Width)
    , m_Column(first - m_Row * m_Width)
    , m_RowStep(step / m_Width)
    , m_ColumnStep(step - m_RowStep * m_Width)
  {}

  /** Behind the end there is some pixel of the last row, so that loads need no condition. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOffset(const std::int64_t * offsets) const
  {
    return offsets[m_Row < m_Rows - 1 ? m_Row : m_Rows - 1] + offsets[m_Rows + m_Column];
  }

  CUDAMEDIAN_HOST_DEVICE void
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

/** The keys of the threads' pixels in a region: from getFirst(thread) on, `step` from one to the next. The threads wait
 * for each other before and after they use the shared memory.
 *
 * \param region number within the launch. */
template <typename Bits, int VItems, typename TThreads, typename TFirst>
CUDAMEDIAN_HOST_DEVICE void
LoadKeys(const TThreads &                                  threads,
         const RankArguments &                             arguments,
         std::int64_t                                      region,
         void *                                            shared,
         const TFirst &                                    getFirst,
         int                                               step,
         typename TThreads::template Value<Bits[VItems]> & keys)
{
  auto * offsets = static_cast<std::int64_t *>(shared);
  FindOffsets(threads, arguments, RankBlock(arguments, arguments.firstBlock + region), offsets);
  threads.ForEachThread([&](int thread) {
    auto &     own = keys[thread];
    RegionWalk walk(arguments, getFirst(thread), step);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      own[i] = static_cast<const Bits *>(arguments.slab.input)[walk.GetOffset(offsets)];
      walk.Step();
      if (i % 4 == 3)
      {
        // Addresses take registers: loads do not all come first.
        TThreads::KeepLoads();
      }
    }
    CallWithMapping<Bits>(arguments.keyFormat, [&](auto mapping) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        own[i] = mapping.FromBits(own[i], static_cast<Bits>(arguments.slab.signMask));
      }
    });
  });
  threads.Synchronize();
}

} // namespace cudamedian

#endif
