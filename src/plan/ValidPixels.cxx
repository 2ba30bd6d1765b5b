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

/** Whether two values of half floats are the same: -0 and +0 are, and every two NaN. */
bool
AreSame(double a, double b)
{
  return a == b || (std::isnan(a) && std::isnan(b));
}

/** Clears the flags of half floats that are the same as one. */
void
ClearHalves(PixelType type, const std::int16_t * halves, std::int16_t same, std::int64_t count, std::uint8_t * valid)
{
  const auto value = GetCopiedHalf(type, same);
  for (std::int64_t i = 0; i < count; ++i)
  {
    const std::uint8_t isOther = AreSame(GetCopiedHalf(type, halves[i]), value) ? 0 : 1;
    valid[i] &= isOther;
  }
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

ValidRows::ValidRows(const MedianRequest & request, const PixelBox & copied, const Gatherer & image)
  : m_Request(request)
  , m_Copied(copied)
  , m_Image(image)
  , m_MaskRequest(MakeMaskRequest(request))
  , m_Mask(m_MaskRequest)
{}

MedianRequest
ValidRows::MakeMaskRequest(const MedianRequest & request)
{
  auto mask = request;
  mask.pixelType = GetMaskType(request.validity.maskPixelBytes);
  mask.input = request.validity.mask;
  mask.inputStride = request.validity.maskStride;
  mask.borderValue.fill(0xFF); // a constant is valid
  return mask;
}

void
ValidRows::Find(const Extent & place, std::uint8_t * valid)
{
  const auto width = m_Copied.extent[0];
  auto       position = m_Copied.origin;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    position[axis] += place[axis];
  }
  if (m_Request.validity.mask != nullptr)
  {
    m_Mask.VisitRow(position, width, m_Scratch, [&](std::int64_t first, std::int64_t count, const void * mask) {
      GetMaskRows().mark(mask, m_Request.validity.maskPixelBytes, static_cast<std::size_t>(count), valid + first);
    });
  }
  else
  {
    std::fill_n(valid, width, std::uint8_t{ 1 });
  }
  if (HasShrunkBorder(m_Request))
  {
    MarkBeyond(position, valid);
  }
  if (m_Request.validity.hasIgnoredValue || m_Request.validity.omitsNaN)
  {
    MarkIgnored(position, valid);
  }
}

/** Marks what lies beyond the image, where windows are clipped to it. */
void
ValidRows::MarkBeyond(const Extent & position, std::uint8_t * valid) const
{
  const auto       width = m_Copied.extent[0];
  const InsidePart inside(position[0], width, m_Request.inputExtent[0]);
  bool             isBeyond = false;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    isBeyond = isBeyond || position[axis] < 0 || position[axis] >= m_Request.inputExtent[axis];
  }
  std::fill(valid, valid + (isBeyond ? width : inside.begin), std::uint8_t{ 0 });
  std::fill(valid + inside.end, valid + width, std::uint8_t{ 0 });
}

void
ValidRows::MarkIgnored(const Extent & position, std::uint8_t * valid)
{
  const auto & rules = m_Request.validity;
  const auto   type = m_Request.pixelType;
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    const auto clear = [&](T value) {
      const auto visit = [&](std::int64_t first, std::int64_t count, const void * pixels) {
        if constexpr (std::is_same_v<T, std::int16_t>)
        {
          if (IsHalfFloat(type))
          {
            return ClearHalves(type, static_cast<const T *>(pixels), value, count, valid + first);
          }
        }
        GetMaskRows().clear(GetValueKind<T>(), pixels, &value, static_cast<std::size_t>(count), valid + first);
      };
      m_Image.VisitRow(position, m_Copied.extent[0], m_Scratch, visit);
    };
    if (rules.hasIgnoredValue)
    {
      clear(ReadValue<T>(type, rules.ignoredValue));
    }
    if (rules.omitsNaN && IsHalfFloat(type))
    {
      clear(static_cast<T>(EncodeHalfFloat(type, 0x7FFF)));
    }
    else if (rules.omitsNaN && std::is_floating_point_v<T>)
    {
      clear(std::numeric_limits<T>::quiet_NaN());
    }
  });
}

Turns::Turns(const Extent & extent, int axis, PixelFlags & turns)
  : m_Width(extent[0])
  , m_Axis(axis)
  , m_Turns(turns)
{
  auto longer = extent;
  ++longer[axis];
  m_Stride = GetPackedStride(longer);
  m_Turns.resize(static_cast<std::size_t>(Volume(longer)));
}

void
Turns::PassRow(const Extent & position, const std::uint8_t * valid)
{
  std::uint8_t * turns = m_Turns.data() + GetOffset(position, m_Stride);
  const auto     line = position[1] + position[2] + position[3] + 1;
  if (m_Axis == 0)
  {
    auto turn = static_cast<std::uint8_t>(line % 2);
    *turns++ = turn;
    for (std::int64_t x = 0; x < m_Width; ++x)
    {
      turn = static_cast<std::uint8_t>(turn ^ valid[x] ^ 1);
      turns[x] = turn;
    }
    return;
  }
  for (std::int64_t x = 0; position[m_Axis] == 0 && x < m_Width; ++x)
  {
    turns[x] = static_cast<std::uint8_t>((line + x) & 1);
  }
  GetMaskRows().passTurns(turns, valid, static_cast<std::size_t>(m_Width), turns + m_Stride[m_Axis]);
}

ExtremePixels
GetExtremes(PixelType type)
{
  const auto copied = GetCopiedType(type);
  return { GetExtremePixel(copied, false), GetExtremePixel(copied, true) };
}

} // namespace cudamedian
