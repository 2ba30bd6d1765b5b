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
#ifndef DeviationBound_h
#define DeviationBound_h

#include "PixelArithmetic.h"

#include <cstring>

namespace cudamedian
{

/** Tells outliers without their windows' median absolute deviation. A distance is more than `times` deviations where
 * most distances of its window, as many as the median's rank asks for, are no larger than a bound: the largest
 * deviation that it exceeds so many times. To count them takes one comparison for each pixel of a window, and no
 * selection.
 *
 * Products are those of Number, so a bound tells the same as to find the deviation and to multiply it. */
class DeviationBound
{
public:
  DeviationBound() = default;

  /** \param times from 0 on, and finite */
  explicit DeviationBound(double times)
    : m_Times(times)
    // What is beyond these tells no two distances of 32 bits apart, and their products have room in a double.
    , m_Factor(times < 0x1p-300  ? 0x1p-300
               : times > 0x1p300 ? 0x1p300
                                 : times)
    , m_Inverse(1 / m_Factor)
  {}

  /** The largest deviation that this distance exceeds. \pre the distance is above 0, and no NaN */
  template <typename TDistance>
  CUDAMEDIAN_HOST_DEVICE TDistance
  Get(TDistance distance) const
  {
    using Real = Number<TDistance>;
    if constexpr (sizeof(TDistance) == 8)
    {
      // The quotient may be some distances wrong.
      const auto times = static_cast<Real>(m_Times);
      TDistance  bound = Round<TDistance>(static_cast<Real>(distance) / times);
      while (!IsExceeded(bound, distance, times))
      {
        bound = GetNext(bound, -1);
      }
      while (bound < largest<TDistance> && IsExceeded(GetNext(bound, 1), distance, times))
      {
        bound = GetNext(bound, 1);
      }
      return bound;
    }
    else
    {
      // Of distances of 32 bits the one next to the quotient alone may lie within its error.
      const TDistance bound = Round<TDistance>(static_cast<Real>(distance) * m_Inverse);
      return IsExceeded(bound, distance, m_Factor) ? bound : GetNext(bound, -1);
    }
  }

  /** How many deviations a distance has to exceed. */
  double
  GetTimes() const
  {
    return m_Times;
  }

private:
  template <typename TDistance>
  static constexpr TDistance largest = std::numeric_limits<TDistance>::max();

  template <typename TDistance>
  static CUDAMEDIAN_HOST_DEVICE bool
  IsExceeded(TDistance deviation, TDistance distance, Number<TDistance> times)
  {
    return static_cast<Number<TDistance>>(distance) > times * static_cast<Number<TDistance>>(deviation);
  }

  template <typename TDistance>
  static CUDAMEDIAN_HOST_DEVICE TDistance
  Round(Number<TDistance> quotient)
  {
    using Real = Number<TDistance>;
    const auto most = static_cast<Real>(largest<TDistance>);
    const auto limited = quotient < most ? quotient : most;
    // The largest integer of 64 bits has no room for a half.
    constexpr bool isRounded = std::is_integral_v<TDistance> && sizeof(TDistance) < 8;
    // Of fewer bits numbers are made by way of 32, for which processors have vectors.
    using Made = std::conditional_t<isRounded && sizeof(TDistance) <= 2, std::int32_t, TDistance>;
    return static_cast<TDistance>(static_cast<Made>(isRounded ? limited + Real{ 0.5 } : limited));
  }

  /** The next distance above or below. \pre there is one */
  template <typename TDistance>
  static CUDAMEDIAN_HOST_DEVICE TDistance
  GetNext(TDistance distance, int step)
  {
    if constexpr (std::is_floating_point_v<TDistance>)
    {
      std::conditional_t<sizeof(TDistance) == 8, std::uint64_t, std::uint32_t> bits;
      memcpy(&bits, &distance, sizeof(bits));
      bits += static_cast<decltype(bits)>(step);
      memcpy(&distance, &bits, sizeof(bits));
      return distance;
    }
    else
    {
      return static_cast<TDistance>(distance + static_cast<TDistance>(step));
    }
  }

  double m_Times{ 1 };
  double m_Factor{ 1 };  ///< for distances of up to 32 bits …
  double m_Inverse{ 1 }; ///< … and 1 by it
};

} // namespace cudamedian

#endif
