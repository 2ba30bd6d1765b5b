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
#ifndef DivideUp_h
#define DivideUp_h

#include "HostDevice.h"

namespace cudamedian
{

/** How many parts of a size hold a number of things: the quotient, rounded up. Neither is negative, and the divisor is
 * not 0. */
template <typename TNumber, typename TDivisor>
CUDAMEDIAN_HOST_DEVICE constexpr auto
DivideUp(TNumber number, TDivisor size)
{
  // NVRTC has no <type_traits>.
  static_assert(TNumber{ 1 } / 2 == 0 && TDivisor{ 1 } / 2 == 0, "whole numbers");
  return (number + size - 1) / size;
}

/** The least multiple of a size that is not below a number. */
template <typename TNumber, typename TDivisor>
CUDAMEDIAN_HOST_DEVICE constexpr auto
RoundUp(TNumber number, TDivisor size)
{
  return DivideUp(number, size) * size;
}

} // namespace cudamedian

#endif
