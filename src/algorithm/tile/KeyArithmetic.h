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
#ifndef KeyArithmetic_h
#define KeyArithmetic_h

#include "MultiplyAdd.h"

namespace cudamedian
{

/** Four of the eight bytes of two words: digit n of the selector, from the lowest, names the byte that becomes byte n.
 */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       SelectBytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector)
{
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, selector);
#else
  const std::uint64_t both = a | (static_cast<std::uint64_t>(b) << 32);
  std::uint32_t       result = 0;
  for (int byte = 0; byte < 4; ++byte)
  {
    result |= static_cast<std::uint32_t>(both >> (8 * (selector >> (4 * byte) & 7U)) & 0xFFU) << (8 * byte);
  }
  return result;
#endif
}

/** a + b - c modulo 2^32 by MultiplyAdd(). */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
AddAndSubtract(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t one, std::uint32_t minusOne)
{
  return MultiplyAdd(c, minusOne, MultiplyAdd(a, one, b));
}

/** b - c modulo 2^32, likewise. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       Subtract(std::uint32_t b, std::uint32_t c, std::uint32_t minusOne)
{
  return MultiplyAdd(c, minusOne, b);
}

} // namespace cudamedian

#endif
