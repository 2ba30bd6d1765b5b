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

#include "FlagBodies.h"

namespace cudamedian
{

/** Arithmetic with integers of 8 or 16 bits without a sign, as many in each word as it has room for. No lane carries
 * into the next: the uppermost bit of each is compared apart. */
template <typename TBits>
struct PackedLanes
{
  static_assert(sizeof(TBits) <= 2, "several in a word");

  static constexpr int           perWord = 4 / static_cast<int>(sizeof(TBits));
  static constexpr int           bitsOfLane = bitsOfWord / perWord;
  static constexpr std::uint32_t ones = perWord == 4 ? 0x01010101U : 0x00010001U;
  static constexpr std::uint32_t tops = ones << (bitsOfLane - 1);

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
    return ((lanes & tops) >> (bitsOfLane - 1)) * static_cast<TBits>(~TBits{ 0 });
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
    return Choose(IsAtLeast(a, b), b, a);
  }

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetDistance(std::uint32_t a, std::uint32_t b)
  {
    const auto lesser = GetLesser(a, b);
    return (a ^ b ^ lesser) - lesser;
  }
};

} // namespace cudamedian

#endif
