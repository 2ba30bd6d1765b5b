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
#ifndef ExtremumDivisor_h
#define ExtremumDivisor_h

#include "PixelKey.h"

namespace cudamedian
{

/** A number that kernels divide by, which takes them two instructions for some twenty (Granlund and Montgomery 1994).
 */
struct ExtremumDivisor
{
  std::uint32_t divisor;
  std::uint32_t factor; ///< 2^(32 + shift) / divisor, rounded up
  std::uint32_t shift;

  /** Quotients of numbers below 2^31. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Divide(std::uint32_t number) const
  {
#ifdef __CUDA_ARCH__
    return divisor == 1 ? number : __umulhi(number, factor) >> shift;
#else
    return divisor == 1 ? number : static_cast<std::uint32_t>((std::uint64_t{ number } * factor) >> 32 >> shift);
#endif
  }

  /** The remainder of a number, which becomes its quotient. */
  CUDAMEDIAN_HOST_DEVICE int
  Take(std::uint32_t & number) const
  {
    const auto whole = Divide(number);
    const auto rest = number - whole * divisor;
    number = whole;
    return static_cast<int>(rest);
  }
};

/** \param divisor from 1 to 2^31 */
inline ExtremumDivisor
MakeExtremumDivisor(std::uint32_t divisor)
{
  ExtremumDivisor made{ divisor, 0, 0 };
  // The factor has 32 bits: it is at least 2^31, and less than 2^32.
  while (divisor > 2 && (std::uint64_t{ 2 } << made.shift) < divisor)
  {
    ++made.shift;
  }
  made.factor = static_cast<std::uint32_t>(((std::uint64_t{ 1 } << (32 + made.shift)) + divisor - 1) / divisor);
  return made;
}

} // namespace cudamedian

#endif
