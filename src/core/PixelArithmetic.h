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
#ifndef PixelArithmetic_h
#define PixelArithmetic_h

#include "PixelKey.h"

#include <cmath>
#include <limits>
#include <type_traits>

/** Distances and means of pixels' values, the same on the host and in kernels. */
namespace cudamedian
{

/** What the distance of two values is: of integers without a sign, so that it has room. */
template <typename T, bool VIsInteger = std::is_integral_v<T>>
struct DistanceOf
{
  using Type = T;
};
template <typename T>
struct DistanceOf<T, true>
{
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
using Distance = typename DistanceOf<T>::Type;

template <typename T>
CUDAMEDIAN_HOST_DEVICE Distance<T>
                       GetDistance(T a, T b)
{
  if constexpr (std::is_floating_point_v<T>)
  {
    return std::fabs(a - b);
  }
  else
  {
    using Unsigned = Distance<T>;
    return a < b ? static_cast<Unsigned>(static_cast<Unsigned>(b) - static_cast<Unsigned>(a))
                 : static_cast<Unsigned>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  }
}

/** Numbers that distances are compared as: 64 bits have no room in a double. */
template <typename TDistance>
using Number = std::conditional_t<sizeof(TDistance) == 8, long double, double>;

/** The greatest distance that is no larger than a threshold, which is not below 0: distances are compared with it as
 * they are with the threshold. */
template <typename TDistance>
TDistance
RoundDown(Number<TDistance> threshold)
{
  using Limits = std::numeric_limits<TDistance>;
  if constexpr (std::is_floating_point_v<TDistance>)
  {
    if (threshold >= static_cast<Number<TDistance>>(Limits::max()))
    {
      return threshold > static_cast<Number<TDistance>>(Limits::max()) && std::isinf(threshold) ? Limits::infinity()
                                                                                                : Limits::max();
    }
    const auto rounded = static_cast<TDistance>(threshold);
    return static_cast<Number<TDistance>>(rounded) > threshold ? std::nextafter(rounded, TDistance{ 0 }) : rounded;
  }
  else
  {
    return threshold >= static_cast<Number<TDistance>>(Limits::max()) ? Limits::max()
                                                                      : static_cast<TDistance>(threshold);
  }
}

/** Whether a valid pixel is no outlier: no farther from the median than `most`. A NaN is no number near any other, and
 * without a number for the median a pixel stays. */
template <typename T>
CUDAMEDIAN_HOST_DEVICE bool
IsNear(T value, T median, Distance<T> most)
{
  return value == value && !(GetDistance(value, median) > most);
}

/** The mean of two values: of integers rounded down, of floats as they are. */
template <typename T>
CUDAMEDIAN_HOST_DEVICE T
GetMean(T a, T b)
{
  if constexpr (std::is_floating_point_v<T>)
  {
    // Halves first where the sum has no room: what is finite has no distance from itself.
    const T    sum = a + b;
    const bool hasRoom = sum - sum == 0;
    return !hasRoom && a - a == 0 && b - b == 0 ? a / 2 + b / 2 : sum / 2;
  }
  else
  {
    // What both have, and half of what one of them has.
    return static_cast<T>((a & b) + ((a ^ b) >> 1));
  }
}

} // namespace cudamedian

#endif
