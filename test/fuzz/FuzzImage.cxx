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
#include "FuzzImage.h"

#include "PixelFormat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace cudamedianfuzz
{
namespace
{

using cudamedian::GetKeyMapping;
using cudamedian::GetSignMask;
using cudamedian::KeyMapping;
using cudamedian::PixelBytes;
using cudamedian::PixelKey;

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

template <typename TPixel>
constexpr KeyMapping mappingOf = std::is_floating_point<TPixel>::value ? KeyMapping::Float : KeyMapping::Integer;

template <typename TPixel>
std::uint64_t
ToKey(TPixel value, PixelType type)
{
  using Bits = BitsOf<TPixel>;
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return PixelKey<Bits, mappingOf<TPixel>>::FromBits(bits, static_cast<Bits>(GetSignMask(type)));
}

/** What the keys of a type are drawn from. */
struct KeyRange
{
  std::uint64_t zero; ///< of +0
  std::uint64_t top;  ///< of the largest number
  std::uint64_t last; ///< the largest, of a NaN if there are any
};

KeyRange
GetKeyRange(PixelType type)
{
  return WithType(type, [type](auto value) {
    using Pixel = decltype(value);
    const auto top =
      std::is_floating_point<Pixel>::value ? std::numeric_limits<Pixel>::infinity() : std::numeric_limits<Pixel>::max();
    return KeyRange{ ToKey(Pixel{ 0 }, type), ToKey(static_cast<Pixel>(top), type), static_cast<BitsOf<Pixel>>(-1) };
  });
}

} // namespace

PixelType
GetOutputType(const Case & c)
{
  if (!c.otherOutput)
  {
    return c.type;
  }
  constexpr PixelType others[] = { PixelType::Float32, PixelType::UInt16, PixelType::UInt8,   PixelType::Float32,
                                   PixelType::Int64,   PixelType::Int16,  PixelType::Float64, PixelType::UInt32,
                                   PixelType::Float64, PixelType::Float32 };
  return others[static_cast<int>(c.type)];
}

std::vector<std::uint64_t>
MakeKeys(const Case & c)
{
  if (c.pattern == Pattern::List)
  {
    return c.keys;
  }
  const auto          range = GetKeyRange(c.type);
  std::mt19937_64     random(c.seed);
  const auto          any = [&] { return range.top == ~std::uint64_t{ 0 } ? random() : random() % (range.top + 1); };
  const auto          some = any();
  const auto          other = any();
  const std::uint64_t few[] = { 0, range.top, range.zero, range.zero + 1, some };
  // Of integers these are the limits, and what lies around zero.
  const std::uint64_t special[] = {
    0, 1, range.zero - 1, range.zero - 2, range.zero, range.zero + 1, range.top - 1, range.top
  };
  const auto count = static_cast<std::uint64_t>(c.CountPixels());
  const auto step = range.top / std::max<std::uint64_t>(1, count);
  // Few pixels of a wide type rise slowly as well as quickly.
  const auto                 rise = random() % 2 == 0 ? step : std::min<std::uint64_t>(step, 1 + random() % 3);
  std::vector<std::uint64_t> keys(count);
  std::uint64_t              n = 0;
  Extent                     p;
  for (p[3] = 0; p[3] < c.size[3]; ++p[3])
    for (p[2] = 0; p[2] < c.size[2]; ++p[2])
      for (p[1] = 0; p[1] < c.size[1]; ++p[1])
        for (p[0] = 0; p[0] < c.size[0]; ++p[0], ++n)
        {
          auto & key = keys[n];
          switch (c.pattern)
          {
            case Pattern::Constant:
              key = some;
              break;
            case Pattern::Two:
              key = random() >> 63 == 0 ? some : other;
              break;
            case Pattern::Few:
              key = few[(random() >> 11) % 5];
              break;
            case Pattern::Special:
              // Types of 8 bits have fewer values than that.
              key = std::min(special[(random() >> 11) % 8], range.top);
              break;
            case Pattern::Sorted:
              key = n * rise % (range.top / 2 + 1) * 2;
              break;
            case Pattern::Reverse:
              key = range.top - n * rise % (range.top / 2 + 1);
              break;
            case Pattern::Columns:
              key = static_cast<std::uint64_t>(((p[0] * c.size[1] + p[1]) * c.size[2] + p[2]) * c.size[3] + p[3]) *
                    rise % (range.top / 2 + 1);
              break;
            case Pattern::Rows:
              key = (p[1] + p[2]) % 2 == 0 ? static_cast<std::uint64_t>(p[0]) % 97
                                           : range.top - static_cast<std::uint64_t>(p[0]) % 97;
              break;
            case Pattern::Step:
              key = p[0] < c.size[0] / 2 ? std::min(some, other) : std::max(some, other);
              break;
            case Pattern::Clusters:
              key = (random() >> 63) * (range.top / 2) + (random() >> 61);
              break;
            case Pattern::Smooth:
              key = range.zero / 2 + static_cast<std::uint64_t>(p[0] + p[1] + p[2] + p[3]) % 50 + (random() >> 62);
              break;
            case Pattern::Nan:
              key = range.top < range.last && random() % 4 == 0 ? range.top + 1 + random() % (range.last - range.top)
                                                                : any();
              break;
            default:
              key = any();
              break;
          }
        }
  return keys;
}

bool
HasNan(PixelType type, const std::vector<std::uint64_t> & keys)
{
  const auto top = GetKeyRange(type).top;
  return std::any_of(keys.begin(), keys.end(), [top](auto key) { return key > top; });
}

std::vector<char>
ToPixels(PixelType type, const std::vector<std::uint64_t> & keys)
{
  std::vector<char> pixels(keys.size() * PixelBytes(type));
  WithType(type, [&](auto value) {
    using Pixel = decltype(value);
    using Bits = BitsOf<Pixel>;
    const auto mask = static_cast<Bits>(GetSignMask(type));
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
      const auto bits = PixelKey<Bits, mappingOf<Pixel>>::ToBits(static_cast<Bits>(keys[i]), mask);
      std::memcpy(pixels.data() + i * sizeof(Bits), &bits, sizeof(Bits));
    }
  });
  return pixels;
}

std::vector<char>
ToOutput(const Case & c, const std::vector<char> & pixels)
{
  if (!c.otherOutput)
  {
    return pixels;
  }
  return WithType(c.type, [&](auto value) {
    using Pixel = decltype(value);
    using Output = typename OtherOutput<Pixel>::Type;
    const auto        count = pixels.size() / sizeof(Pixel);
    std::vector<char> output(count * sizeof(Output));
    for (std::size_t i = 0; i < count; ++i)
    {
      Pixel pixel;
      std::memcpy(&pixel, pixels.data() + i * sizeof(Pixel), sizeof(Pixel));
      const auto converted = static_cast<Output>(pixel);
      std::memcpy(output.data() + i * sizeof(Output), &converted, sizeof(Output));
    }
    return output;
  });
}

std::int64_t
FindDifference(PixelType type, const std::vector<char> & a, const std::vector<char> & b, bool asNumbers)
{
  if (a == b)
  {
    return -1;
  }
  return WithType(type, [&](auto value) -> std::int64_t {
    using Pixel = decltype(value);
    const auto count = std::min(a.size(), b.size()) / sizeof(Pixel);
    for (std::size_t i = 0; i < count; ++i)
    {
      Pixel left;
      Pixel right;
      std::memcpy(&left, a.data() + i * sizeof(Pixel), sizeof(Pixel));
      std::memcpy(&right, b.data() + i * sizeof(Pixel), sizeof(Pixel));
      const bool equal = std::memcmp(&left, &right, sizeof(Pixel)) == 0 || (asNumbers && left == right);
      if (!equal)
      {
        return static_cast<std::int64_t>(i);
      }
    }
    return a.size() == b.size() ? -1 : static_cast<std::int64_t>(count);
  });
}

std::string
PixelToText(PixelType type, const std::vector<char> & pixels, std::int64_t number)
{
  return WithType(type, [&](auto value) -> std::string {
    const auto first = static_cast<std::size_t>(number) * sizeof(value);
    if (first + sizeof(value) > pixels.size())
    {
      return "nothing";
    }
    std::memcpy(&value, pixels.data() + first, sizeof(value));
    std::ostringstream text;
    text.precision(17);
    text << +value;
    if (value != value || value == 0) // NaN of which sign and payload, and zero of which sign
    {
      text << " (key " << ToKey(value, type) << ")";
    }
    return text.str();
  });
}

Case
ListKeys(const Case & c, bool small)
{
  auto listed = c;
  listed.keys = MakeKeys(c);
  listed.pattern = Pattern::List;
  listed.seed = 0;
  if (small)
  {
    std::map<std::uint64_t, std::uint64_t> numbers;
    for (const auto key : listed.keys)
    {
      numbers[key] = 0;
    }
    auto next = GetKeyRange(c.type).zero;
    for (auto & number : numbers)
    {
      number.second = next++;
    }
    for (auto & key : listed.keys)
    {
      key = numbers[key];
    }
  }
  return listed;
}

namespace
{

/** How often each coordinate of an axis occurs in the clamped window around a center. */
std::int64_t
CountOccurrences(std::int64_t position, std::int64_t center, std::int64_t radius, std::int64_t size)
{
  const auto first = center - radius;
  const auto last = center + radius;
  // What lies before the image counts for its first pixel, what lies behind it for its last.
  const auto from = position == 0 ? first : std::max(first, position);
  const auto to = position == size - 1 ? last : std::min(last, position);
  return std::max<std::int64_t>(0, to - from + 1);
}

/** Lists the clamped window pixel by pixel. */
std::uint64_t
GetMedianOfList(const Case &                       c,
                const Extent &                     radius,
                const Extent &                     center,
                const std::vector<std::uint64_t> & keys,
                std::vector<std::uint64_t> &       list)
{
  list.clear();
  const auto clamp = [&](std::int64_t coordinate, int axis) {
    return std::min(std::max<std::int64_t>(coordinate, 0), c.size[axis] - 1);
  };
  for (auto w = center[3] - radius[3]; w <= center[3] + radius[3]; ++w)
    for (auto z = center[2] - radius[2]; z <= center[2] + radius[2]; ++z)
      for (auto y = center[1] - radius[1]; y <= center[1] + radius[1]; ++y)
      {
        const auto * row =
          keys.data() + ((clamp(w, 3) * c.size[2] + clamp(z, 2)) * c.size[1] + clamp(y, 1)) * c.size[0];
        for (auto x = center[0] - radius[0]; x <= center[0] + radius[0]; ++x)
        {
          list.push_back(row[clamp(x, 0)]);
        }
      }
  const auto median = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
  std::nth_element(list.begin(), median, list.end());
  return *median;
}

/** Walks the image's pixels in the order of their keys until half of the window has been met. */
std::uint64_t
GetMedianByWalking(const Case &                       c,
                   const Extent &                     radius,
                   const Extent &                     center,
                   const std::vector<std::uint64_t> & keys,
                   const std::vector<std::uint32_t> & order)
{
  const auto   half = c.CountWindow() / 2;
  std::int64_t met = 0;
  for (const auto number : order)
  {
    std::int64_t rest = number;
    std::int64_t times = 1;
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      times *= CountOccurrences(rest % c.size[axis], center[axis], radius[axis], c.size[axis]);
      rest /= c.size[axis];
    }
    met += times;
    if (met > half)
    {
      return keys[number];
    }
  }
  return ~std::uint64_t{ 0 };
}

} // namespace

std::vector<std::uint64_t>
GetReferenceKeys(const Case & c, const std::vector<std::uint64_t> & keys)
{
  const auto                 radius = c.GetEffectiveRadius();
  const bool                 walks = c.CountWindow() > 4 * c.CountPixels();
  std::vector<std::uint32_t> order;
  if (walks)
  {
    order.resize(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i)
    {
      order[i] = static_cast<std::uint32_t>(i);
    }
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  }
  std::vector<std::uint64_t> medians;
  std::vector<std::uint64_t> list;
  Extent                     p;
  for (p[3] = 0; p[3] < c.region[3]; ++p[3])
    for (p[2] = 0; p[2] < c.region[2]; ++p[2])
      for (p[1] = 0; p[1] < c.region[1]; ++p[1])
        for (p[0] = 0; p[0] < c.region[0]; ++p[0])
        {
          const Extent center{ { p[0] + c.offset[0], p[1] + c.offset[1], p[2] + c.offset[2], p[3] + c.offset[3] } };
          medians.push_back(walks ? GetMedianByWalking(c, radius, center, keys, order)
                                  : GetMedianOfList(c, radius, center, keys, list));
        }
  return medians;
}

} // namespace cudamedianfuzz
