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
#ifndef WordBits_h
#define WordBits_h

#include "HostDevice.h"

#include <cstdint>

namespace cudamedian
{

/** The bits of a word that are set. */
CUDAMEDIAN_HOST_DEVICE int
CountBits(std::uint32_t word)
{
#ifdef __CUDA_ARCH__
  return __popc(word);
#else
  // Compilers for plain x86-64 call a function for __builtin_popcount.
  word -= word >> 1 & 0x55555555U;
  word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
  return static_cast<int>(((word + (word >> 4)) & 0x0F0F0F0FU) * 0x01010101U >> 24);
#endif
}

/** The bits above the highest one that is set. */
CUDAMEDIAN_HOST_DEVICE int
CountLeadingZeros(std::uint32_t word)
{
#ifdef __CUDA_ARCH__
  return __clz(static_cast<int>(word));
#else
  int count = 32;
  for (; word != 0; word /= 2)
  {
    --count;
  }
  return count;
#endif
}

/** The bits below the lowest one that is set. */
CUDAMEDIAN_HOST_DEVICE int
CountTrailingZeros(std::uint32_t word)
{
  return CountBits((word - 1) & ~word);
}

/** The position of the set bit that `left` others are below, of the lowest VBits of a word. */
template <int VBits>
CUDAMEDIAN_HOST_DEVICE int
FindBit(std::uint32_t word, int left)
{
  int position = 0;
  CUDAMEDIAN_UNROLL
  for (int width = VBits / 2; width > 0; width /= 2)
  {
    const int lower = CountBits(word & ((1U << width) - 1));
    const int step = left >= lower ? width : 0;
    left -= step != 0 ? lower : 0;
    position += step;
    word >>= step;
  }
  return position;
}

} // namespace cudamedian

#endif
