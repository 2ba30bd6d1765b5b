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
#ifndef FuzzPixels_h
#define FuzzPixels_h

#include "FuzzCase.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

/** Pixel types, and the order of their values. */
namespace cudamedianfuzz
{

/** Calls a function with a value of a pixel type. */
template <typename TFunction>
auto
WithType(PixelType type, const TFunction & function)
{
  switch (type)
  {
    case PixelType::Int8:
      return function(std::int8_t{});
    case PixelType::UInt8:
      return function(std::uint8_t{});
    case PixelType::Int16:
      return function(std::int16_t{});
    case PixelType::UInt16:
      return function(std::uint16_t{});
    case PixelType::Int32:
      return function(std::int32_t{});
    case PixelType::UInt32:
      return function(std::uint32_t{});
    case PixelType::Int64:
      return function(std::int64_t{});
    case PixelType::UInt64:
      return function(std::uint64_t{});
    case PixelType::Float32:
      return function(float{});
    default:
      return function(double{});
  }
}

template <typename TPixel>
using BitsOf =
  std::conditional_t<sizeof(TPixel) == 1,
                     std::uint8_t,
                     std::conditional_t<sizeof(TPixel) == 2,
                                        std::uint16_t,
                                        std::conditional_t<sizeof(TPixel) == 4, std::uint32_t, std::uint64_t>>>;

/** Keys are unsigned integers that order as pixels do: of floats -infinity is 0, -0 lies below +0, and every NaN lies
 * above +infinity. Written down here once more, so that the library's own keys are checked too. */
template <typename TPixel>
struct KeyOf
{
  using Bits = BitsOf<TPixel>;
  static constexpr Bits sign = static_cast<Bits>(Bits{ 1 } << (8 * sizeof(Bits) - 1));

  static std::uint64_t
  FromPixel(TPixel pixel)
  {
    Bits bits;
    std::memcpy(&bits, &pixel, sizeof(bits));
    if constexpr (std::is_floating_point<TPixel>::value)
    {
      return static_cast<Bits>(Order(bits) - Order(GetLeast()));
    }
    else
    {
      return std::is_signed<TPixel>::value ? static_cast<Bits>(bits ^ sign) : bits;
    }
  }

  static TPixel
  ToPixel(std::uint64_t key)
  {
    auto bits = static_cast<Bits>(key);
    if constexpr (std::is_floating_point<TPixel>::value)
    {
      const auto order = static_cast<Bits>(bits + Order(GetLeast()));
      bits = static_cast<Bits>((order & sign) != 0 ? order ^ sign : ~order);
    }
    else
    {
      bits = std::is_signed<TPixel>::value ? static_cast<Bits>(bits ^ sign) : bits;
    }
    TPixel pixel;
    std::memcpy(&pixel, &bits, sizeof(bits));
    return pixel;
  }

private:
  /** Larger magnitudes are later where there is no sign, and earlier where there is. */
  static Bits
  Order(Bits bits)
  {
    return static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
  }

  static Bits
  GetLeast()
  {
    const TPixel least = -std::numeric_limits<TPixel>::infinity();
    Bits         bits;
    std::memcpy(&bits, &least, sizeof(bits));
    return bits;
  }
};

} // namespace cudamedianfuzz

#endif
