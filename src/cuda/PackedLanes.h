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
#ifndef PackedLanes_h
#define PackedLanes_h

#include "FlagWords.h"

namespace cudamedian
{

/** Arithmetic with integers of 8 or 16 bits without a sign, as many in each word as it has room for. No lane carries
 * into the next: the uppermost bit of each is compared apart, where there is no instruction for lanes. */
template <typename TBits>
struct PackedLanes
{
  static_assert(sizeof(TBits) <= 2, "several in a word");

  static constexpr int           perWord = 4 / static_cast<int>(sizeof(TBits));
  static constexpr int           bitsOfLane = bitsOfWord / perWord;
  static constexpr std::uint32_t ones = perWord == 4 ? 0x01010101U : 0x00010001U;
  static constexpr std::uint32_t tops = ones << (bitsOfLane - 1);

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static constexpr bool hasPairs = false;
#else
  /** Whether lanes are added and compared by one instruction: pairs, from sm_90 on. The host does the same. */
  static constexpr bool hasPairs = perWord == 2;
#endif

  /** What the uppermost bits and the rest tell, whose uppermost bit is set where a's rest is at least b's: whether a is
   * at least b. One instruction, which compilers take apart where they join it with what follows. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                JoinTops(std::uint32_t a, std::uint32_t b, std::uint32_t rest)
  {
#ifdef __CUDA_ARCH__
    std::uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0xB2;" : "=r"(result) : "r"(a), "r"(b), "r"(rest));
    return result;
#else
    return (a & ~b) | ((a | ~b) & rest);
#endif
  }

  /** In the uppermost bit of each lane, whether a is at least b. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                IsAtLeast(std::uint32_t a, std::uint32_t b)
  {
    return JoinTops(a, b, (a | tops) - (b & ~tops));
  }

  /** The uppermost bit of each lane in all of its bits. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                Spread(std::uint32_t lanes)
  {
#ifdef __CUDA_ARCH__
    // Of a selected byte, 8 asks for its uppermost bit.
    std::uint32_t result;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(lanes), "n"(perWord == 4 ? 0xBA98 : 0xBB99));
    return result;
#else
    return ((lanes & tops) >> (bitsOfLane - 1)) * static_cast<TBits>(~TBits{ 0 });
#endif
  }

  /** a where the uppermost bit of a lane is set, and b elsewhere. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                Choose(std::uint32_t isFirst, std::uint32_t a, std::uint32_t b)
  {
    const auto all = Spread(isFirst);
    return (a & all) | (b & ~all);
  }

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetLesser(std::uint32_t a, std::uint32_t b)
  {
#ifdef __CUDA_ARCH__
    if constexpr (hasPairs)
    {
      return __vminu2(a, b);
    }
#endif
    return Choose(IsAtLeast(a, b), b, a);
  }

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetDistance(std::uint32_t a, std::uint32_t b)
  {
#ifdef __CUDA_ARCH__
    if constexpr (perWord == 4)
    {
      return __vabsdiffu4(a, b);
    }
#endif
    const auto lesser = GetLesser(a, b);
    return (a ^ b ^ lesser) - lesser;
  }

  /** In each lane 0 - a. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                Negate(std::uint32_t a)
  {
    return (tops - (a & ~tops)) ^ (~a & tops);
  }

  /** The greater of a + b, which goes on at 0 where it has no room, and c. \pre hasPairs */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetGreaterOfSum(std::uint32_t a, std::uint32_t b, std::uint32_t c)
  {
#ifdef __CUDA_ARCH__
    return __viaddmax_u16x2(a, b, c);
#else
    return JoinSums(a, b, c, true);
#endif
  }

  /** The lesser of both. \pre hasPairs */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetLesserOfSum(std::uint32_t a, std::uint32_t b, std::uint32_t c)
  {
#ifdef __CUDA_ARCH__
    return __viaddmin_u16x2(a, b, c);
#else
    return JoinSums(a, b, c, false);
#endif
  }

  /** `own` where its distance from the median is no more than a bound, and else the median. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                KeepNear(std::uint32_t own, std::uint32_t median, std::uint32_t bound)
  {
    const auto distance = GetDistance(own, median);
    if constexpr (hasPairs)
    {
      const auto isFar = GetLesserOfSum(GetGreaterOfSum(distance, 0U, bound), Negate(bound), ones);
      const auto all = isFar * static_cast<TBits>(~TBits{ 0 });
      return (median & all) | (own & ~all);
    }
    return Choose(IsAtLeast(bound, distance), own, median);
  }

#ifndef __CUDA_ARCH__
private:
  static std::uint32_t
  JoinSums(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool isGreater)
  {
    std::uint32_t joined = 0;
    for (int shift = 0; shift < bitsOfWord; shift += bitsOfLane)
    {
      const auto sum = static_cast<TBits>((a >> shift) + (b >> shift));
      const auto other = static_cast<TBits>(c >> shift);
      joined |= std::uint32_t{ (sum > other) == isGreater ? sum : other } << shift;
    }
    return joined;
  }
#endif
};

} // namespace cudamedian

#endif
