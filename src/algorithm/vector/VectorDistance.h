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
#ifndef VectorDistance_h
#define VectorDistance_h

#include "PixelKey.h"
#include "itkCudaMedianVectorMedian.h"

#include <cmath>
#include <cstddef>
#include <type_traits>

/** How far pixels are apart, on the host and in kernels: what RunVectorMedian() promises of sums, in code. */
namespace cudamedian
{

/** An unsigned integer of 128 bits, for sums of 64-bit differences. */
struct WideSum
{
  std::uint64_t low{ 0 };
  std::uint64_t high{ 0 };

  CUDAMEDIAN_HOST_DEVICE WideSum &
  operator+=(const WideSum & other)
  {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
    return *this;
  }
  CUDAMEDIAN_HOST_DEVICE WideSum &
  operator-=(const WideSum & other)
  {
    high -= other.high + (low < other.low ? 1 : 0);
    low -= other.low;
    return *this;
  }
  CUDAMEDIAN_HOST_DEVICE bool
  operator<(const WideSum & other) const
  {
    return high < other.high || (high == other.high && low < other.low);
  }
};

/** a + b * b in two operations: a compiler that fuses them would round once. */
CUDAMEDIAN_HOST_DEVICE double
AddSquare(double a, double b)
{
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, __dmul_rn(b, b));
#else
  return a + b * b;
#endif
}

/** The root, correctly rounded. */
CUDAMEDIAN_HOST_DEVICE float
GetRoot(float value)
{
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(value);
#else
  return std::sqrt(value);
#endif
}
CUDAMEDIAN_HOST_DEVICE double
GetRoot(double value)
{
#ifdef __CUDA_ARCH__
  return __dsqrt_rn(value);
#else
  return std::sqrt(value);
#endif
}

/** The integer of twice the bits. */
template <typename TBits>
using WidenedBits = std::conditional_t<sizeof(TBits) == 1,
                                       std::uint16_t,
                                       std::conditional_t<sizeof(TBits) == 2, std::uint32_t, std::uint64_t>>;

/** Distances of integers, whose bits come with the mask of PixelFormat.h, by which signed ones are as unsigned.
 * - Lane: a component as it is calculated with. Those of 8 and 16 bits have a sign bit to spare, which makes fast code.
 * - Part: a sum over components; Term: a distance; Sum: a sum of distances.
 * - isExact: sums do not depend on the order of their terms. */
template <typename TBits, KeyMapping VMapping, VectorNorm VNorm>
struct VectorDistance
{
  using Bits = TBits;
  static constexpr bool isNarrow = sizeof(TBits) <= 2;
  static constexpr bool isRoot = VNorm == VectorNorm::L2;
  static constexpr bool isExact = !isRoot || isNarrow;
  static constexpr bool hasNaN = false;
  using Lane = std::conditional_t<isNarrow, std::make_signed_t<WidenedBits<TBits>>, TBits>;
  using Part = std::conditional_t<isRoot,
                                  std::conditional_t<isNarrow, WidenedBits<WidenedBits<TBits>>, double>,
                                  std::conditional_t<sizeof(TBits) == 8, WideSum, WidenedBits<TBits>>>;
  using Term = std::conditional_t<isRoot, std::conditional_t<isNarrow, float, double>, Part>;
  using Sum = std::conditional_t<isRoot, double, Part>;

  CUDAMEDIAN_HOST_DEVICE static Lane
  ToLane(TBits bits, std::uint64_t mask)
  {
    return static_cast<Lane>(static_cast<TBits>(bits ^ static_cast<TBits>(mask)));
  }

  /** What a difference along one component adds. */
  CUDAMEDIAN_HOST_DEVICE static void
  Add(Part & part, Lane a, Lane b)
  {
    const auto difference = static_cast<Lane>(a > b ? a - b : b - a);
    if constexpr (!isRoot && sizeof(TBits) == 8)
    {
      part += WideSum{ difference, 0 };
    }
    else if constexpr (!isRoot)
    {
      part = static_cast<Part>(part + static_cast<Part>(difference));
    }
    else if constexpr (isNarrow)
    {
      part += static_cast<Part>(difference) * static_cast<Part>(difference);
    }
    else
    {
      part = AddSquare(part, static_cast<double>(difference));
    }
  }

  CUDAMEDIAN_HOST_DEVICE static Term
  Finish(Part part)
  {
    if constexpr (isRoot && sizeof(TBits) == 2)
    {
      // Of an integer of 34 bits the double's root rounds to the float that is nearest to the exact root.
      return static_cast<float>(GetRoot(static_cast<double>(part)));
    }
    else if constexpr (isRoot)
    {
      return GetRoot(static_cast<Term>(part));
    }
    else
    {
      return part;
    }
  }

  /** A sum above all others. */
  CUDAMEDIAN_HOST_DEVICE static Sum
  GetNone()
  {
    if constexpr (isRoot)
    {
      return static_cast<double>(INFINITY);
    }
    else if constexpr (sizeof(TBits) == 8)
    {
      return WideSum{ ~std::uint64_t{ 0 }, ~std::uint64_t{ 0 } };
    }
    else
    {
      return static_cast<Sum>(~Sum{ 0 });
    }
  }
  CUDAMEDIAN_HOST_DEVICE static bool
  IsLess(const Sum & sum, const Sum & least)
  {
    return sum < least;
  }
};

/** Distances of floating point numbers, whose bits these are. */
template <typename TBits, VectorNorm VNorm>
struct VectorDistance<TBits, KeyMapping::Float, VNorm>
{
  using Bits = TBits;
  static constexpr bool isExact = false;
  static constexpr bool hasNaN = true;
  using Lane = std::conditional_t<sizeof(TBits) == 4, float, double>;
  using Part = double;
  using Term = double;
  using Sum = double;

  CUDAMEDIAN_HOST_DEVICE static Lane
  ToLane(TBits bits, std::uint64_t)
  {
    // A union would not do for the standard, and kernels have no std::memcpy with NVRTC.
    Lane   lane;
    auto * target = reinterpret_cast<unsigned char *>(&lane);
    for (std::size_t byte = 0; byte < sizeof(TBits); ++byte)
    {
      target[byte] = reinterpret_cast<const unsigned char *>(&bits)[byte];
    }
    return lane;
  }

  CUDAMEDIAN_HOST_DEVICE static void
  Add(Part & part, Lane a, Lane b)
  {
    // Equal infinities have no difference.
    const double difference = a == b ? 0.0 : static_cast<double>(a) - static_cast<double>(b);
    part = VNorm == VectorNorm::L2 ? AddSquare(part, difference) : part + (difference < 0 ? -difference : difference);
  }

  CUDAMEDIAN_HOST_DEVICE static Term
  Finish(Part part)
  {
    const Term term = VNorm == VectorNorm::L2 ? GetRoot(part) : part;
    return term == term ? term : 0.0; // NaN adds nothing
  }

  /** NaN is the sum of a pixel with a NaN, and of none. */
  CUDAMEDIAN_HOST_DEVICE static Sum
  GetNone()
  {
    return static_cast<double>(NAN);
  }
  CUDAMEDIAN_HOST_DEVICE static bool
  IsLess(Sum sum, Sum least)
  {
    return (sum < least) | ((sum == sum) & (least != least));
  }
};

/** Calls function(VectorDistance<...>()) with the one of a kind of keys and a norm. */
template <typename TKey, typename TFunction>
auto
CallWithDistance(TKey, VectorNorm norm, const TFunction & function)
{
  if (norm == VectorNorm::L1)
  {
    return function(VectorDistance<typename TKey::Bits, TKey::mapping, VectorNorm::L1>());
  }
  return function(VectorDistance<typename TKey::Bits, TKey::mapping, VectorNorm::L2>());
}

} // namespace cudamedian

#endif
