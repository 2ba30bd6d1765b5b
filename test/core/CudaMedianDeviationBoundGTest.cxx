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
#include "CudaMedianTestSeed.h"
#include "DeviationBound.h"

#include <gtest/gtest.h>

#include <random>

namespace
{

using cudamedian::Number;

const double times[] = { 0,   1e-310, 1e-200, 0.1, 0.25,   1.0 / 3, 1,    1.4826, 2,
                         2.5, 3,      4.4478, 7,   254.99, 65535,   1e20, 1e250 };

template <typename TDistance>
bool
IsExceeded(TDistance deviation, TDistance distance, double factor)
{
  using Real = Number<TDistance>;
  return static_cast<Real>(distance) > static_cast<Real>(factor) * static_cast<Real>(deviation);
}

template <typename TDistance>
TDistance
GetNext(TDistance distance)
{
  if constexpr (std::is_floating_point_v<TDistance>)
  {
    return std::nextafter(distance, std::numeric_limits<TDistance>::infinity());
  }
  return static_cast<TDistance>(distance + 1);
}

/** The bound is exceeded, and no larger deviation is. */
template <typename TDistance>
void
CheckBound(TDistance distance, double factor)
{
  const auto bound = cudamedian::DeviationBound(factor).Get(distance);
  EXPECT_TRUE(IsExceeded(bound, distance, factor)) << +distance << " and " << factor << " times " << +bound;
  if (bound < std::numeric_limits<TDistance>::max())
  {
    const auto next = GetNext(bound);
    EXPECT_FALSE(IsExceeded(next, distance, factor)) << +distance << " and " << factor << " times " << +next;
  }
}

/** A distance above 0: of integers any number of bits, of floats any exponent. */
template <typename TDistance>
TDistance
DrawDistance(std::mt19937_64 & random)
{
  if constexpr (std::is_floating_point_v<TDistance>)
  {
    using Limits = std::numeric_limits<TDistance>;
    const auto exponent = static_cast<int>(random() % (Limits::max_exponent - Limits::min_exponent + Limits::digits));
    const auto distance =
      std::ldexp(static_cast<TDistance>(1 + random() % 4095), exponent + Limits::min_exponent - Limits::digits - 11);
    return distance > 0 && distance <= Limits::max() ? distance : Limits::denorm_min();
  }
  const auto distance = static_cast<TDistance>(random() >> random() % 64);
  return distance > 0 ? distance : TDistance{ 1 };
}

/** Random distances, and some that are as many times a deviation. */
template <typename TDistance>
void
CheckRandomBounds()
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const double factor : times)
  {
    for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i)
    {
      const auto distance = DrawDistance<TDistance>(random);
      CheckBound(distance, factor);
      const auto product = static_cast<Number<TDistance>>(factor) * static_cast<Number<TDistance>>(distance);
      if (product >= 1 && product < static_cast<Number<TDistance>>(std::numeric_limits<TDistance>::max()))
      {
        CheckBound(static_cast<TDistance>(product), factor);
      }
    }
  }
}

} // namespace

TEST(CudaMedianDeviationBound, EveryDistanceOf8And16Bits)
{
  for (const double factor : times)
  {
    for (int distance = 1; distance < 65536 && !HasFailure(); ++distance)
    {
      CheckBound(static_cast<std::uint16_t>(distance), factor);
      if (distance < 256)
      {
        CheckBound(static_cast<std::uint8_t>(distance), factor);
      }
    }
  }
}

TEST(CudaMedianDeviationBound, Integers)
{
  CheckRandomBounds<std::uint32_t>();
  CheckRandomBounds<std::uint64_t>();
  for (const double factor : times)
  {
    CheckBound(std::numeric_limits<std::uint32_t>::max(), factor);
    CheckBound(std::numeric_limits<std::uint64_t>::max(), factor);
  }
}

TEST(CudaMedianDeviationBound, Floats)
{
  CheckRandomBounds<float>();
  CheckRandomBounds<double>();
  for (const double factor : times)
  {
    CheckBound(std::numeric_limits<float>::max(), factor);
    CheckBound(std::numeric_limits<float>::denorm_min(), factor);
    CheckBound(std::numeric_limits<float>::infinity(), factor);
    CheckBound(std::numeric_limits<double>::infinity(), factor);
  }
}
