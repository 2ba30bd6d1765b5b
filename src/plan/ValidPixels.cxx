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

#include "MaskRows.h"
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

/** The pixels in copies with the least key of all and with the greatest. */
ExtremePixels
GetExtremes(PixelType type)
{
  const auto copied = GetCopiedType(type);
  return { GetExtremePixel(copied, false), GetExtremePixel(copied, true) };
}

void
ReadMask(const MedianRequest & request, const PixelBox & copied, PixelFlags & valid)
{
  const auto bytes = request.validity.maskPixelBytes;
  auto       mask = request;
  mask.pixelType = GetMaskType(bytes);
  mask.input = request.validity.mask;
  mask.inputStride = request.validity.maskStride;
  mask.borderValue.fill(0xFF); // a constant is valid
  const Gatherer gatherer(mask);
  const auto     width = copied.extent[0];
  Pixels         row(static_cast<std::size_t>(width) * bytes);
  std::uint8_t * to = valid.data();
  ForEachRow(copied.extent, [&](const Extent & place) {
    auto position = place;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      position[axis] += copied.origin[axis];
    }
    gatherer.GatherRow(position, width, row.data());
    GetMaskRows().mark(row.data(), bytes, static_cast<std::size_t>(width), to);
    to += width;
  });
}

/** Marks what lies beyond the image, where windows are clipped to it. */
void
MarkBeyond(const MedianRequest & request, const PixelBox & copied, PixelFlags & marks)
{
  std::uint8_t * valid = marks.data();
  const auto     width = copied.extent[0];
  const auto     before = std::clamp<std::int64_t>(-copied.origin[0], 0, width);
  const auto     end = std::clamp<std::int64_t>(request.inputExtent[0] - copied.origin[0], before, width);
  ForEachRow(copied.extent, [&](const Extent & row) {
    bool isBeyond = false;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto place = copied.origin[axis] + row[axis];
      isBeyond = isBeyond || place < 0 || place >= request.inputExtent[axis];
    }
    std::fill(valid, valid + (isBeyond ? width : before), std::uint8_t{ 0 });
    std::fill(valid + end, valid + width, std::uint8_t{ 0 });
    valid += width;
  });
}

void
MarkIgnored(const MedianRequest & request, const Pixels & copy, PixelFlags & flags)
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
    // The address in a variable of its own, since stores of bytes might change that of the vector.
    std::uint8_t * valid = flags.data();
    const auto     clear = [&](T value) {
      for (std::size_t i = 0; i < flags.size(); ++i)
      {
        const std::uint8_t own = valid[i];
        valid[i] = AreSame(type, pixels[i], value) ? std::uint8_t{ 0 } : own;
      }
    };
    if (rules.hasIgnoredValue)
    {
      clear(ignored);
    }
    if (hasNaN)
    {
      clear(nan);
    }
  });
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

void
FindValidPixels(const MedianRequest & request, const PixelBox & copied, const Pixels & pixels, PixelFlags & valid)
{
  valid.resize(static_cast<std::size_t>(Volume(copied.extent)));
  if (request.validity.mask != nullptr)
  {
    ReadMask(request, copied, valid);
  }
  else
  {
    std::fill(valid.begin(), valid.end(), std::uint8_t{ 1 });
  }
  if (HasShrunkBorder(request))
  {
    MarkBeyond(request, copied, valid);
  }
  MarkIgnored(request, pixels, valid);
}

Turns::Turns(const Extent & extent, int axis, const PixelFlags & valid, PixelFlags & turns)
  : m_Axis(axis)
  , m_Turns(turns)
{
  auto longer = extent;
  ++longer[axis];
  m_Stride = GetPackedStride(longer);
  m_Turns.resize(static_cast<std::size_t>(Volume(longer)));
  axis == 0 ? FillAlongRows(extent, valid) : FillAcrossRows(extent, valid);
}

void
Turns::FillAlongRows(const Extent & extent, const PixelFlags & valid)
{
  const std::uint8_t * isValid = valid.data();
  ForEachRow(extent, [&](const Extent & row) {
    std::uint8_t * to = m_Turns.data() + GetOffset(row, m_Stride);
    auto           turn = static_cast<std::uint8_t>((row[1] + row[2] + row[3] + 1) % 2);
    *to++ = turn;
    for (std::int64_t x = 0; x < extent[0]; ++x)
    {
      turn = static_cast<std::uint8_t>(turn ^ isValid[x] ^ 1);
      to[x] = turn;
    }
    isValid += extent[0];
  });
}

void
Turns::FillAcrossRows(const Extent & extent, const PixelFlags & valid)
{
  const std::uint8_t * isValid = valid.data();
  ForEachRow(extent, [&](const Extent & row) {
    std::uint8_t * turns = m_Turns.data() + GetOffset(row, m_Stride);
    for (std::int64_t x = 0; row[m_Axis] == 0 && x < extent[0]; ++x)
    {
      turns[x] = static_cast<std::uint8_t>((row[1] + row[2] + row[3] + x + 1) % 2);
    }
    GetMaskRows().passTurns(turns, isValid, static_cast<std::size_t>(extent[0]), turns + m_Stride[m_Axis]);
    isValid += extent[0];
  });
}

void
FillInvalidPixels(const MedianRequest & request,
                  const Extent &        extent,
                  const PixelFlags &    valid,
                  const Turns *         turns,
                  const Pixels &        pixels,
                  Pixels &              filled)
{
  const auto       extremes = GetExtremes(request.pixelType);
  const auto       bytes = PixelBytes(request.pixelType);
  const auto       width = static_cast<std::size_t>(extent[0]);
  const bool       isLeast = GetWanted(GetWindow(request)) == Wanted::Greatest;
  const PixelFlags same(turns == nullptr ? width : 0, isLeast ? std::uint8_t{ 1 } : std::uint8_t{ 0 });
  std::size_t      first = 0;
  filled.resize(pixels.size());
  ForEachRow(extent, [&](const Extent & row) {
    GetMaskRows().fill(pixels.data() + first * bytes,
                       bytes,
                       valid.data() + first,
                       turns == nullptr ? same.data() : turns->GetRow(row),
                       extremes,
                       width,
                       filled.data() + first * bytes);
    first += width;
  });
}

} // namespace cudamedian
