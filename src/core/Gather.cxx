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
#include "Gather.h"

#include "HalfFloat.h"
#include "PixelFormat.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cudamedian
{
namespace
{

/** Copies pixels that lie a number of pixels apart. */
template <std::int64_t VStride, typename TPixel>
void
CopyApart(const TPixel * source, TPixel * target, std::int64_t count)
{
  for (std::int64_t i = 0; i < count; ++i)
  {
    target[i] = source[i * VStride];
  }
}

template <typename TPixel>
void
CopyFrom(const TPixel * source, std::int64_t stride, TPixel * target, std::int64_t count)
{
  switch (stride)
  {
    case 1:
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(TPixel));
      return;
    // The compiler makes shuffles of known strides.
    case 2:
      return CopyApart<2>(source, target, count);
    case 3:
      return CopyApart<3>(source, target, count);
    case 4:
      return CopyApart<4>(source, target, count);
    default:
      for (std::int64_t i = 0; i < count; ++i)
      {
        target[i] = source[i * stride];
      }
  }
}

bool
IsPacked(const Extent & extent, const Extent & stride)
{
  const auto packed = GetPackedStride(extent);
  bool       isGiven = false;
  bool       isPacked = true;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    isGiven = isGiven || stride[axis] != 0;
    isPacked = isPacked && (extent[axis] <= 1 || stride[axis] == packed[axis]);
  }
  return !isGiven || isPacked;
}

/** Whether windows of a request's outputs reach beyond the first pixel of an axis. */
bool
ReachesBefore(const MedianRequest & request, int axis)
{
  return request.outputOrigin[axis] + request.shift[axis] < request.radius[axis];
}

/** The same beyond the last. */
bool
ReachesBehind(const MedianRequest & request, int axis)
{
  const auto last = request.outputOrigin[axis] + request.outputExtent[axis] - 1 + request.shift[axis];
  return last + request.radius[axis] - request.shorter[axis] >= request.inputExtent[axis];
}

} // namespace

bool
IsPlain(const MedianRequest & request)
{
  return IsWrittenInRows(request) && IsPacked(request.inputExtent, request.inputStride) &&
         request.shift == Extent{ { 0, 0, 0, 0 } };
}

bool
IsReadAsItIs(const MedianRequest & request)
{
  bool hasBorder = false;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    hasBorder = hasBorder || HasCopiedBorder(request, axis);
  }
  return !hasBorder && !IsHalfFloat(request.pixelType) && IsPacked(request.inputExtent, request.inputStride);
}

bool
IsWrittenInRows(const MedianRequest & request)
{
  return !IsHalfFloat(request.pixelType) && (request.outputStride[0] == 1 || request.outputExtent[0] <= 1);
}

Extent
GetInputStride(const MedianRequest & request)
{
  return IsPacked(request.inputExtent, request.inputStride) ? GetPackedStride(request.inputExtent)
                                                            : request.inputStride;
}

Extent
GetMaskStride(const MedianRequest & request)
{
  const auto & stride = request.validity.maskStride;
  return IsPacked(request.inputExtent, stride) ? GetPackedStride(request.inputExtent) : stride;
}

bool
HasShrunkBorder(const MedianRequest & request)
{
  return std::find(request.border.begin(), request.border.end(), Border::Shrink) != request.border.end();
}

bool
HasInvalidPixels(const MedianRequest & request)
{
  return request.validity.HasRules() || HasShrunkBorder(request);
}

std::array<unsigned char, 8>
GetExtremePixel(PixelType type, bool isGreatest)
{
  std::array<unsigned char, 8> pixel{};
  if (IsHalfFloat(type))
  {
    std::uint16_t key = isGreatest ? 0x7FFF : 0x8000;
    DecodeHalfFloats(type, &key, 1);
    std::memcpy(pixel.data(), &key, sizeof(key));
    return pixel;
  }
  DispatchKeys(GetKeyFormat(type), [&](auto keys) {
    using Key = decltype(keys);
    using Bits = typename Key::Bits;
    const auto all = isGreatest ? static_cast<Bits>(~Bits{ 0 }) : Bits{ 0 };
    const Bits bits = Key::ToBits(all, static_cast<Bits>(GetSignMask(type)));
    std::memcpy(pixel.data(), &bits, sizeof(bits));
  });
  return pixel;
}

bool
IsClippedAtBothEnds(const MedianRequest & request, int axis)
{
  return request.border[axis] == Border::Shrink && ReachesBefore(request, axis) && ReachesBehind(request, axis) &&
         request.inputExtent[axis] % (2 * request.radius[axis] + 1 - request.shorter[axis]) != 0;
}

std::optional<ShrinkFill>
FindSingleFill(const MedianRequest & request)
{
  const auto window = GetWindow(request);
  const auto pixels = window.CountPixels();
  if (!HasShrunkBorder(request) || request.footprint != nullptr)
  {
    return std::nullopt;
  }
  if (!window.IsMedian() && (window.rank == 0 || window.rank == pixels - 1))
  {
    return window.rank == 0 ? ShrinkFill::Greatest : ShrinkFill::Least;
  }
  if (pixels % 2 == 0 || request.evenMedian == EvenMedian::Mean)
  {
    return std::nullopt;
  }
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (IsClippedAtBothEnds(request, axis))
    {
      return std::nullopt;
    }
  }
  return request.evenMedian == EvenMedian::Lower ? ShrinkFill::OppositeBalanced : ShrinkFill::Balanced;
}

PixelBox
GetInterior(const MedianRequest & request)
{
  PixelBox interior;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    auto first = request.outputOrigin[axis];
    auto last = first + request.outputExtent[axis];
    if (request.border[axis] != Border::ZeroFluxNeumann)
    {
      const auto before = request.radius[axis];
      first = std::max(first, before - request.shift[axis]);
      last = std::min(last, request.inputExtent[axis] - (before - request.shorter[axis]) - request.shift[axis]);
    }
    interior.origin[axis] = first;
    interior.extent[axis] = std::max<std::int64_t>(last - first, 0);
  }
  return interior;
}

Gatherer::Gatherer(const MedianRequest & request, std::optional<ShrinkFill> fill)
  : m_Request(request)
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_Stride(GetInputStride(request))
  , m_Fill(fill ? *fill : FindSingleFill(request).value_or(ShrinkFill::Chessboard))
  , m_Least(GetExtremePixel(request.pixelType, false))
  , m_Greatest(GetExtremePixel(request.pixelType, true))
  , m_IsShrunk(HasShrunkBorder(request))
{
  for (int axis = 0; axis < Dimension; ++axis)
  {
    m_FromBehind[static_cast<std::size_t>(axis)] = ReachesBehind(request, axis);
  }
}

bool
Gatherer::IsDark(const Extent & position) const
{
  std::int64_t place = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place += position[axis];
    if (m_Request.border[axis] == Border::Shrink && position[axis] >= m_Request.inputExtent[axis] &&
        m_Request.shorter[axis] == 0)
    {
      ++place;
    }
  }
  return (place & 1) != 0;
}

std::int64_t
Gatherer::GetBoardPlace(const Extent & position, int axis) const
{
  const auto size = 2 * m_Request.radius[axis] + 1;
  const auto from =
    m_FromBehind[static_cast<std::size_t>(axis)] ? m_Request.inputExtent[axis] - 1 - position[axis] : position[axis];
  return (from % size + size) % size;
}

template <typename TPixel>
void
Gatherer::FillBalanced(const Extent & position, std::int64_t count, const TPixel (&colours)[2], TPixel * pixels) const
{
  std::int64_t row = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    row += GetBoardPlace(position, axis);
  }
  // A row of whole boards: no division for each pixel.
  const auto size = 2 * m_Request.radius[0] + 1;
  auto       place = GetBoardPlace(position, 0);
  for (std::int64_t i = 0; i < count; ++i)
  {
    pixels[i] = colours[(row + place) & 1];
    place = m_FromBehind[0] ? (place == 0 ? size : place) - 1 : (place + 1 == size ? 0 : place + 1);
  }
}

/** Writes what stands where no pixel of the image does. */
void
Gatherer::FillBeyond(const Extent & position, std::int64_t count, void * target) const
{
  const bool isBalanced = m_Fill == ShrinkFill::Balanced || m_Fill == ShrinkFill::OppositeBalanced;
  const bool isBoard = isBalanced || m_Fill == ShrinkFill::Chessboard || m_Fill == ShrinkFill::OppositeChessboard;
  // The first colour is then the greatest.
  const bool isExchanged =
    m_Fill == ShrinkFill::OppositeChessboard || m_Fill == ShrinkFill::Greatest || m_Fill == ShrinkFill::Balanced;
  DispatchBytes(m_PixelBytes, [&](auto width) {
    using Pixel = decltype(width);
    auto * pixels = static_cast<Pixel *>(target);
    Pixel  constant;
    Pixel  colours[2];
    std::memcpy(&constant, m_Request.borderValue.data(), sizeof(Pixel));
    std::memcpy(&colours[isExchanged ? 1 : 0], m_Least.data(), sizeof(Pixel));
    std::memcpy(&colours[isExchanged ? 0 : 1], m_Greatest.data(), sizeof(Pixel));
    if (!m_IsShrunk || !isBoard)
    {
      std::fill_n(pixels, count, m_IsShrunk ? colours[0] : constant);
      return;
    }
    if (isBalanced)
    {
      FillBalanced(position, count, colours, pixels);
      return;
    }
    auto place = position;
    for (std::int64_t i = 0; i < count; ++i, ++place[0])
    {
      pixels[i] = colours[IsDark(place) ? 1 : 0];
    }
  });
}

void
Gatherer::GatherRow(const Extent & position, std::int64_t count, void * target) const
{
  std::int64_t offset = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const auto place = MapBorder(m_Request.border[axis], position[axis], m_Request.inputExtent[axis]);
    if (place == noPixel)
    {
      FillBeyond(position, count, target);
      EncodeHalfFloats(m_Request.pixelType, target, count);
      return;
    }
    offset += place * m_Stride[axis];
  }
  const auto       size = m_Request.inputExtent[0];
  const InsidePart inside(position[0], count, size);
  DispatchBytes(m_PixelBytes, [&](auto width) {
    using Pixel = decltype(width);
    const auto * row = static_cast<const Pixel *>(m_Request.input) + offset;
    auto *       pixels = static_cast<Pixel *>(target);
    const auto   map = [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i)
      {
        const auto place = MapBorder(m_Request.border[0], position[0] + i, size);
        if (place == noPixel)
        {
          auto there = position;
          there[0] += i;
          FillBeyond(there, end - i, pixels + i);
          return;
        }
        pixels[i] = row[place * m_Stride[0]];
      }
    };
    map(0, inside.begin);
    CopyFrom(
      row + (position[0] + inside.begin) * m_Stride[0], m_Stride[0], pixels + inside.begin, inside.end - inside.begin);
    map(inside.end, count);
  });
  EncodeHalfFloats(m_Request.pixelType, target, count);
}

InsidePart
Gatherer::FindPieces(const Extent & position, std::int64_t count) const
{
  // What is copied sooner than it is visited by pieces.
  constexpr std::int64_t shortBytes = 1024;
  const InsidePart       inside(position[0], count, m_Request.inputExtent[0]);
  const auto             bytes = (inside.end - inside.begin) * static_cast<std::int64_t>(m_PixelBytes);
  bool                   isInImage = m_Stride[0] == 1 && !IsHalfFloat(m_Request.pixelType);
  for (int axis = 1; axis < Dimension; ++axis)
  {
    isInImage = isInImage && MapBorder(m_Request.border[axis], position[axis], m_Request.inputExtent[axis]) != noPixel;
  }
  const bool isWhole = inside.begin == 0 && inside.end == count;
  return isInImage && (isWhole || bytes >= shortBytes) ? inside : InsidePart(0, 0, 0);
}

const void *
Gatherer::GetPixel(const Extent & position) const
{
  auto place = position;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    place[axis] = MapBorder(m_Request.border[axis], position[axis], m_Request.inputExtent[axis]);
  }
  return static_cast<const char *>(m_Request.input) +
         GetOffset(place, m_Stride) * static_cast<std::int64_t>(m_PixelBytes);
}

const void *
Gatherer::GetRow(const Extent & position, std::int64_t count, std::vector<char> & scratch) const
{
  const auto inside = FindPieces(position, count);
  if (inside.begin == 0 && inside.end == count)
  {
    return GetPixel(position);
  }
  scratch.resize(static_cast<std::size_t>(count) * m_PixelBytes);
  GatherRow(position, count, scratch.data());
  return scratch.data();
}

void
Gatherer::GatherRows(const PixelBox & box, std::int64_t first, std::int64_t last, void * target) const
{
  const auto rowBytes = box.extent[0] * static_cast<std::int64_t>(m_PixelBytes);
  for (auto row = first; row < last; ++row)
  {
    GatherRow(GetRowOfBox(box, row), box.extent[0], static_cast<char *>(target) + row * rowBytes);
  }
}

void
Gatherer::ScatterRow(const Extent &      position,
                     std::int64_t        count,
                     const void *        source,
                     std::vector<char> & scratch) const
{
  Extent place;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place[axis] = position[axis] - m_Request.outputOrigin[axis];
  }
  const auto stride = m_Request.outputStride[0];
  const auto bytes = m_Request.outputPixelBytes;
  auto *     target =
    static_cast<char *>(m_Request.output) + GetOffset(place, m_Request.outputStride) * static_cast<std::int64_t>(bytes);
  const void * pixels = source;
  if (IsHalfFloat(m_Request.pixelType))
  {
    scratch.resize(static_cast<std::size_t>(count) * m_PixelBytes);
    std::memcpy(scratch.data(), source, scratch.size());
    DecodeHalfFloats(m_Request.pixelType, scratch.data(), count);
    pixels = scratch.data();
  }
  std::vector<char> converted;
  if (m_Request.convertRow != nullptr)
  {
    if (stride == 1)
    {
      m_Request.convertRow(pixels, target, static_cast<std::size_t>(count));
      return;
    }
    converted.resize(static_cast<std::size_t>(count) * bytes);
    m_Request.convertRow(pixels, converted.data(), static_cast<std::size_t>(count));
    pixels = converted.data();
  }
  if (stride == 1)
  {
    std::memcpy(target, pixels, static_cast<std::size_t>(count) * bytes);
    return;
  }
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
  {
    for (std::int64_t i = 0; i < count; ++i)
    {
      const auto step = static_cast<std::int64_t>(bytes);
      std::memcpy(target + i * stride * step, static_cast<const char *>(pixels) + i * step, bytes);
    }
    return;
  }
  DispatchBytes(bytes, [&](auto width) {
    using Pixel = decltype(width);
    const auto * from = static_cast<const Pixel *>(pixels);
    auto *       to = reinterpret_cast<Pixel *>(target);
    for (std::int64_t i = 0; i < count; ++i)
    {
      to[i * stride] = from[i];
    }
  });
}

void
Gatherer::ScatterRows(const PixelBox & box, std::int64_t first, std::int64_t last, const void * source) const
{
  const auto        rowBytes = box.extent[0] * static_cast<std::int64_t>(m_PixelBytes);
  std::vector<char> scratch;
  for (auto row = first; row < last; ++row)
  {
    ScatterRow(GetRowOfBox(box, row), box.extent[0], static_cast<const char *>(source) + row * rowBytes, scratch);
  }
}

} // namespace cudamedian
