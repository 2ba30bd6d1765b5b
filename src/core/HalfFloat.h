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
#ifndef HalfFloat_h
#define HalfFloat_h

#include "PixelKey.h"

#include <algorithm>
#include <cmath>

namespace cudamedian
{

/** Whether pixels are half floats, which algorithms see as signed 16-bit integers of the same order. */
CUDAMEDIAN_HOST_DEVICE constexpr bool
IsHalfFloat(PixelType type)
{
  return type == PixelType::Float16 || type == PixelType::BFloat16;
}

/** The type of pixels in a copy: half floats are there as integers of their order. */
constexpr PixelType
GetCopiedType(PixelType type)
{
  return IsHalfFloat(type) ? PixelType::Int16 : type;
}

/** Sign and magnitude as two's complement, and back. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       FlipNegativeHalf(std::uint32_t bits)
{
  return bits ^ ((0U - (bits >> 15 & 1U)) & 0x7FFFU);
}

/** What minus infinity becomes by FlipNegativeHalf(). */
CUDAMEDIAN_HOST_DEVICE constexpr std::uint32_t
GetLeastHalf(PixelType type)
{
  return type == PixelType::Float16 ? 0x83FFU : 0x807FU;
}

/** The signed 16-bit integer that orders as a half float's bits do: minus infinity is the least, -0 lies below +0, and
 * every NaN above infinity, as PixelKey has it for floats. */
CUDAMEDIAN_HOST_DEVICE std::uint16_t
                       EncodeHalfFloat(PixelType type, std::uint16_t bits)
{
  return static_cast<std::uint16_t>((FlipNegativeHalf(bits) - GetLeastHalf(type)) ^ 0x8000U);
}

/** The bits again. */
CUDAMEDIAN_HOST_DEVICE std::uint16_t
                       DecodeHalfFloat(PixelType type, std::uint16_t key)
{
  return static_cast<std::uint16_t>(FlipNegativeHalf(((key ^ 0x8000U) + GetLeastHalf(type)) & 0xFFFFU));
}

/** The same for rows, where they are; rows of other pixels stay as they are. */
inline void
EncodeHalfFloats(PixelType type, void * pixels, std::int64_t count)
{
  auto * halves = static_cast<std::uint16_t *>(pixels);
  for (std::int64_t i = 0; IsHalfFloat(type) && i < count; ++i)
  {
    halves[i] = EncodeHalfFloat(type, halves[i]);
  }
}
inline void
DecodeHalfFloats(PixelType type, void * pixels, std::int64_t count)
{
  auto * halves = static_cast<std::uint16_t *>(pixels);
  for (std::int64_t i = 0; IsHalfFloat(type) && i < count; ++i)
  {
    halves[i] = DecodeHalfFloat(type, halves[i]);
  }
}

/** Bits of a half float's fraction. */
constexpr int
CountFractionBits(PixelType type)
{
  return type == PixelType::Float16 ? 10 : 7;
}

/** The exponent of the least normal number. */
constexpr int
GetLeastExponent(PixelType type)
{
  return type == PixelType::Float16 ? -14 : -126;
}

/** The value of a half float. */
inline double
GetHalfFloat(PixelType type, std::uint16_t bits)
{
  const int    fractionBits = CountFractionBits(type);
  const int    one = 1 << fractionBits;
  const int    exponent = (bits & 0x7FFF) >> fractionBits;
  const int    fraction = bits & (one - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x7FFF >> fractionBits)
  {
    return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  const int least = GetLeastExponent(type) - fractionBits;
  return exponent == 0 ? sign * std::ldexp(fraction, least) : sign * std::ldexp(one + fraction, least + exponent - 1);
}

/** The half float nearest to a value; of two the one whose last bit is 0. */
inline std::uint16_t
RoundToHalfFloat(PixelType type, double value)
{
  const int fractionBits = CountFractionBits(type);
  const int infinity = 0x7FFF >> fractionBits << fractionBits;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
  {
    return static_cast<std::uint16_t>(sign | infinity | 1 << (fractionBits - 1));
  }
  const double magnitude = std::fabs(value);
  const int    least = GetLeastExponent(type);
  if (magnitude >= std::ldexp(4, -least))
  {
    return static_cast<std::uint16_t>(sign | infinity);
  }
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), least) : least;
  const int fraction = static_cast<int>(std::nearbyint(std::ldexp(magnitude, fractionBits - exponent)));
  // The leading 1 of a normal number adds 1 to the exponent; rounded up to the next power of two it adds one more.
  return static_cast<std::uint16_t>(sign | std::min(infinity, ((exponent - least) << fractionBits) + fraction));
}

} // namespace cudamedian

#endif
