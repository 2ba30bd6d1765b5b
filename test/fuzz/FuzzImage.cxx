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

#include "FuzzPixels.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace cudamedianfuzz
{
namespace
{

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
  return WithType(type, [](auto value) {
    using Pixel = decltype(value);
    const auto top =
      std::is_floating_point<Pixel>::value ? std::numeric_limits<Pixel>::infinity() : std::numeric_limits<Pixel>::max();
    return KeyRange{ KeyOf<Pixel>::FromPixel(Pixel{ 0 }),
                     KeyOf<Pixel>::FromPixel(static_cast<Pixel>(top)),
                     static_cast<BitsOf<Pixel>>(-1) };
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

std::uint64_t
GetTopKey(PixelType type)
{
  return GetKeyRange(type).top;
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
  std::vector<char> pixels(keys.size() * cudamedian::PixelBytes(type));
  WithType(type, [&](auto value) {
    using Pixel = decltype(value);
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
      const auto pixel = KeyOf<Pixel>::ToPixel(keys[i]);
      std::memcpy(pixels.data() + i * sizeof(Pixel), &pixel, sizeof(Pixel));
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
FindDifference(PixelType type, const std::vector<char> & a, const std::vector<char> & b, Equality equality)
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
      const bool areNaN = left != left && right != right;
      const bool equal = std::memcmp(&left, &right, sizeof(Pixel)) == 0 ||
                         (equality == Equality::Numbers && left == right) ||
                         (equality == Equality::BitsOrNaN && areNaN);
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
      text << " (key " << KeyOf<decltype(value)>::FromPixel(value) << ")";
    }
    return text.str();
  });
}

std::string
MakeMask(const Case & c)
{
  if (c.mask != Mask::Random)
  {
    return c.valid;
  }
  // A block is on or off by its place alone.
  const auto  block = std::max<std::int64_t>(1, c.maskBlock);
  std::string valid;
  Extent      p;
  for (p[3] = 0; p[3] < c.size[3]; ++p[3])
    for (p[2] = 0; p[2] < c.size[2]; ++p[2])
      for (p[1] = 0; p[1] < c.size[1]; ++p[1])
        for (p[0] = 0; p[0] < c.size[0]; ++p[0])
        {
          auto number = c.maskSeed + 0x9E3779B97F4A7C15U;
          for (const auto place : p)
          {
            number = (number ^ static_cast<std::uint64_t>(place / block)) * 0xBF58476D1CE4E5B9U;
            number ^= number >> 29;
          }
          valid += static_cast<std::int64_t>((number >> 17) % 100) < c.maskShare ? '1' : '0';
        }
  return valid;
}

Case
ListKeys(const Case & c, bool small)
{
  auto listed = c;
  listed.keys = MakeKeys(c);
  listed.pattern = Pattern::List;
  listed.seed = 0;
  if (c.mask == Mask::Random)
  {
    listed.valid = MakeMask(c);
    listed.mask = Mask::List;
  }
  if (small)
  {
    std::map<std::uint64_t, std::uint64_t> numbers;
    const auto                             forEachKey = [&listed](const auto & change) {
      std::for_each(listed.keys.begin(), listed.keys.end(), change);
      for (auto * key : { &listed.constant, &listed.ignored, &listed.emptyValue, &listed.invalidValue })
      {
        change(*key);
      }
    };
    forEachKey([&numbers](std::uint64_t & key) { numbers[key] = 0; });
    const auto range = GetKeyRange(c.type);
    auto       next = numbers.size() <= range.top - range.zero ? range.zero : 0;
    for (auto & number : numbers)
    {
      number.second = next++;
    }
    forEachKey([&numbers](std::uint64_t & key) { key = numbers[key]; });
  }
  return listed;
}

} // namespace cudamedianfuzz
