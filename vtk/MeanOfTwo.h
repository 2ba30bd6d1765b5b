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
#ifndef MeanOfTwo_h
#define MeanOfTwo_h

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace cudamedian
{

/** The mean of two values, rounded down for integers, without a sum that is too large. */
template <typename T>
T
GetMean(T a, T b)
{
  if constexpr (std::is_integral_v<T>)
  {
    // What both have in common, and half of what only one has: a shift of negative numbers rounds down, too.
    return static_cast<T>((a & b) + ((a ^ b) >> 1));
  }
  else
  {
    // Neither std::min nor std::max gives NaN for a number and NaN.
    const T sum = a + b;
    if (sum != sum)
    {
      return sum;
    }
    const T low = std::min(a, b);
    const T high = std::max(a, b);
    // A difference that is not finite is too large for the type, or one of the two is infinite.
    const T difference = high - low;
    return low == high ? low : std::isfinite(difference) ? low + difference / 2 : low / 2 + high / 2;
  }
}

} // namespace cudamedian

#endif
