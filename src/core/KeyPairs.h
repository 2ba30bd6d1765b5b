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
#ifndef KeyPairs_h
#define KeyPairs_h

#include "PixelKey.h"

/** Two unsigned 16-bit keys in a word of 32 bits. */
namespace cudamedian
{

/** Whether the machine compares both at once; sm_89 and older take more instructions for that than for two keys. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool comparesPairs = false;
#else
constexpr bool comparesPairs = true;
#endif

/** The lesser of the two low keys, and the lesser of the two high ones. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       MinOfPairs(std::uint32_t a, std::uint32_t b)
{
#ifdef __CUDA_ARCH__
  return __vminu2(a, b);
#else
  const std::uint32_t low = (a & 0xFFFFU) < (b & 0xFFFFU) ? a & 0xFFFFU : b & 0xFFFFU;
  const std::uint32_t high = a >> 16 < b >> 16 ? a >> 16 : b >> 16;
  return high << 16 | low;
#endif
}

/** The greater of the two low keys, and the greater of the two high ones. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       MaxOfPairs(std::uint32_t a, std::uint32_t b)
{
#ifdef __CUDA_ARCH__
  return __vmaxu2(a, b);
#else
  return a + b - MinOfPairs(a, b);
#endif
}

} // namespace cudamedian

#endif
