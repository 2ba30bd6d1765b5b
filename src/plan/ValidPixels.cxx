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
#include "ValidPixels.h"

#include "PixelValues.h"
#include "RequestWindow.h"
#include "ValidRanks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace cudamedian
{
namespace
{

/** The unsigned integers of so many bytes. */
PixelType
GetMaskType(std::size_t bytes)
{
  return bytes == 1   ? PixelType::UInt8
         : bytes == 2 ? PixelType::UInt16
         : bytes == 4 ? PixelType::UInt32
                      : PixelType::UInt64;
}

std::int64_t
CountRows(const Extent & extent)
{
  return extent[1] * extent[2] * extent[3];
}

/** Whether two values are the same: of floats -0 and +0 are, and every two NaN. */
template <typename T>
bool
AreSame(PixelType type, T a, T b)
{
  if constexpr (std::is_floating_point_v<T>)
  {
    return a == b || (std::isnan(a) && std::isnan(b));
  }
  else
  {
    if constexpr (std::is_same_v<T, std::int16_t>)
    {
      if (IsHalfFloat(type))
      {
        return AreSame(type, GetCopiedHalf(type, a), GetCopiedHalf(type, b));
      }
    }
    return a == b;
  }
}

/** The pixel in copies with the least key of all, or the greatest. */
template <typename T>
T
GetExtreme(PixelType type, bool isGreatest)
{
  const auto bytes = GetExtremePixel(GetCopiedType(type), isGreatest);
  T          pixel;
  std::memcpy(&pixel, bytes.data(), sizeof(pixel));
  return pixel;
}

using Marks = std::vector<std::int8_t>;

void
ReadMask(const MedianRequest & request, const PixelBox & copied, Marks & valid)
{
  auto mask = request;
  mask.pixelType = GetMaskType(request.validity.maskPixelBytes);
  mask.input = request.validity.mask;
  mask.inputStride = request.validity.maskStride;
  mask.borderValue.fill(0xFF); // a constant is valid
  Pixels bytes(valid.size() * request.validity.maskPixelBytes);
  Gatherer(mask).GatherRows(copied, 0, CountRows(copied.extent), bytes.data());
  DispatchPixel(mask.pixelType, [&](auto pixel) {
    const auto * pixels = reinterpret_cast<const decltype(pixel) *>(bytes.data());
    std::transform(pixels, pixels + valid.size(), valid.begin(), [](auto value) { return value != 0 ? 1 : 0; });
  });
}

/** Marks what lies beyond the image, where windows are clipped to it. */
void
MarkBeyond(const MedianRequest & request, const PixelBox & copied, Marks & marks)
{
  for (std::int64_t row = 0; row < CountRows(copied.extent); ++row)
  {
    auto rest = row;
    bool isBeyond = false;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto place = copied.origin[axis] + rest % copied.extent[axis];
      isBeyond = isBeyond || place < 0 || place >= request.inputExtent[axis];
      rest /= copied.extent[axis];
    }
    auto * valid = marks.data() + row * copied.extent[0];
    for (std::int64_t x = 0; x < copied.extent[0]; ++x)
    {
      const auto place = copied.origin[0] + x;
      valid[x] = isBeyond || place < 0 || place >= request.inputExtent[0] ? 0 : valid[x];
    }
  }
}

void
MarkIgnored(const MedianRequest & request, const Pixels & copy, Marks & valid)
{
  const auto & rules = request.validity;
  const auto   type = request.pixelType;
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    const auto * pixels = reinterpret_cast<const T *>(copy.data());
    const auto   ignored = ReadValue<T>(type, rules.ignoredValue);
    const auto   nan = [&] {
      if constexpr (std::is_same_v<T, std::int16_t>)
      {
        return static_cast<T>(EncodeHalfFloat(type, 0x7FFF));
      }
      else
      {
        return std::numeric_limits<T>::quiet_NaN();
      }
    }();
    const bool hasNaN = rules.omitsNaN && (IsHalfFloat(type) || std::is_floating_point_v<T>);
    for (std::size_t i = 0; (rules.hasIgnoredValue || hasNaN) && i < valid.size(); ++i)
    {
      const bool isIgnored = rules.hasIgnoredValue && AreSame(type, pixels[i], ignored);
      const bool isNaN = hasNaN && AreSame(type, pixels[i], nan);
      valid[i] = isIgnored || isNaN ? 0 : valid[i];
    }
  });
}

/** Says of each pixel that is not valid which of the two keys it gets, so that both come in turn along lines of an
 * axis. Of lines next to each other one starts with the least key and one with the greatest. */
Marks
ColourInTurn(const Extent & extent, int axis, const Marks & valid)
{
  Marks      colours(valid.size());
  auto       lines = extent;
  const auto width = extent[0];
  lines[axis] = 1;
  Marks next(static_cast<std::size_t>(Volume(lines)));
  for (std::int64_t row = 0; row < CountRows(extent); ++row)
  {
    std::int64_t line = 0;
    std::int64_t sum = 0;
    Extent       place{};
    auto         rest = row;
    for (int other = 1; other < Dimension; ++other)
    {
      place[other] = rest % extent[other];
      sum += place[other];
      rest /= extent[other];
    }
    for (int other = Dimension - 1; other >= 0; --other)
    {
      line = other == axis ? line : line * lines[other] + place[other];
    }
    for (std::int64_t x = 0; place[axis] == 0 && x < (axis == 0 ? 1 : width); ++x)
    {
      next[line + x] = (sum + x) % 2 == 0 ? 1 : -1;
    }
    const auto * isValid = valid.data() + row * width;
    auto *       colour = colours.data() + row * width;
    auto *       nextOfLine = next.data() + line;
    if (axis == 0)
    {
      for (std::int64_t x = 0; x < width; ++x)
      {
        colour[x] = isValid[x] != 0 ? std::int8_t{ 0 } : *nextOfLine;
        *nextOfLine = static_cast<std::int8_t>(isValid[x] != 0 ? *nextOfLine : -*nextOfLine);
      }
      continue;
    }
    for (std::int64_t x = 0; x < width; ++x)
    {
      colour[x] = static_cast<std::int8_t>(nextOfLine[x] & (isValid[x] - 1));
      nextOfLine[x] = static_cast<std::int8_t>(nextOfLine[x] - 2 * colour[x]);
    }
  }
  return colours;
}

} // namespace

bool
HasRules(const MedianRequest & request)
{
  return request.validity.HasRules() || request.outlierRule != OutlierRule::None ||
         (request.footprint != nullptr && HasShrunkBorder(request));
}

std::string
DescribeValidity(const MedianRequest & request)
{
  std::string text;
  const auto  add = [&text](bool isSo, const char * words) {
    text += isSo ? (text.empty() ? "" : ", ") + std::string(words) : std::string();
  };
  add(request.validity.mask != nullptr, "those of a mask");
  add(request.validity.hasIgnoredValue, "those without an ignored value");
  add(request.validity.omitsNaN, "those that are not NaN");
  text = text.empty() ? "all pixels" : text;
  add(request.outlierRule == OutlierRule::Absolute, "outliers beyond a distance replaced");
  add(request.outlierRule == OutlierRule::Deviations, "outliers beyond deviations replaced");
  return text;
}

std::vector<std::int8_t>
FindValidPixels(const MedianRequest & request, const PixelBox & copied, const Pixels & pixels)
{
  Marks valid(static_cast<std::size_t>(Volume(copied.extent)), 1);
  if (request.validity.mask != nullptr)
  {
    ReadMask(request, copied, valid);
  }
  if (HasShrunkBorder(request))
  {
    MarkBeyond(request, copied, valid);
  }
  MarkIgnored(request, pixels, valid);
  return valid;
}

std::vector<std::int8_t>
FillInvalidPixels(const MedianRequest &            request,
                  const Extent &                   extent,
                  const std::vector<std::int8_t> & valid,
                  Pixels &                         pixels)
{
  const auto window = GetWindow(request);
  const auto wanted = GetWanted(window);
  Marks      colours;
  if (wanted == Wanted::Middle)
  {
    colours = ColourInTurn(extent, GetFilledAxis(window), valid);
  }
  else
  {
    const std::int8_t all = wanted == Wanted::Least ? -1 : 1;
    colours.resize(valid.size());
    std::transform(valid.begin(), valid.end(), colours.begin(), [all](std::int8_t isValid) {
      return isValid != 0 ? std::int8_t{ 0 } : all;
    });
  }
  DispatchPixel(GetCopiedType(request.pixelType), [&](auto pixel) {
    using T = decltype(pixel);
    // Addresses and the number in variables of their own: stores of bytes might change those of the vector, which
    // compilers then read anew for each pixel, and branch by it.
    auto *       filled = reinterpret_cast<T *>(pixels.data());
    const auto * colour = colours.data();
    const auto   count = static_cast<std::int64_t>(colours.size());
    const auto   least = GetExtreme<T>(request.pixelType, false);
    const auto   greatest = GetExtreme<T>(request.pixelType, true);
    for (std::int64_t i = 0; i < count; ++i)
    {
      const T own = filled[i];
      const T filling = colour[i] < 0 ? greatest : least;
      filled[i] = colour[i] != 0 ? filling : own;
    }
  });
  return colours;
}

} // namespace cudamedian
