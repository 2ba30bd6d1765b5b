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
#ifndef MarkBodies_h
#define MarkBodies_h

#include "BorderMap.h"
#include "HalfFloat.h"
#include "MaskedKernels.h"

/** The bodies of the kernels in MaskedKernels.h that find valid pixels and fill the others, which the host's tests run
 * too: what is done for each column and row of a box. */
namespace cudamedian
{

/** The bits of a pixel in a copy as they are in the image, and the other way round. */
template <typename TBits>
CUDAMEDIAN_HOST_DEVICE TBits
DecodeBits(PixelType type, TBits bits)
{
  if constexpr (sizeof(TBits) == 2)
  {
    return IsHalfFloat(type) ? DecodeHalfFloat(type, bits) : bits;
  }
  return bits;
}

/** Where a row of a box is, whose rows are numbered along axis 1 first. */
struct RowPlace
{
  std::int64_t place[Dimension];

  CUDAMEDIAN_HOST_DEVICE
  RowPlace(const std::int64_t (&extent)[Dimension], std::int64_t row) : place{}
  {
    for (int axis = 1; axis < Dimension; ++axis)
    {
      place[axis] = row % extent[axis];
      row /= extent[axis];
    }
  }

  /** How far it lies from the first one. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOffset(const std::int64_t (&stride)[Dimension]) const
  {
    return place[1] * stride[1] + place[2] * stride[2] + place[3] * stride[3];
  }

  /** The same in a box without gaps. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetPackedOffset(const std::int64_t (&extent)[Dimension]) const
  {
    return ((place[3] * extent[2] + place[2]) * extent[1] + place[1]) * extent[0];
  }
};

/** A segment of a line of a copy. */
struct Segment
{
  std::int64_t place[Dimension]; ///< of its first pixel
  std::int64_t number;           ///< in its line
  std::int64_t count;            ///< of its pixels
  std::int64_t index;            ///< of all segments
  std::int64_t step;             ///< from one of a line to the next

  CUDAMEDIAN_HOST_DEVICE
  Segment(const MarkArguments & arguments, std::int64_t x, std::int64_t row) : place{}, step{ 1 }
  {
    std::int64_t extent[Dimension];
    for (int axis = 0; axis < Dimension; ++axis)
    {
      extent[axis] = axis == arguments.axis ? arguments.segments : arguments.extent[axis];
      step *= axis < arguments.axis ? extent[axis] : 1;
    }
    const RowPlace rows(extent, row);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      place[axis] = axis == 0 ? x : rows.place[axis];
    }
    index = rows.GetPackedOffset(extent) + x;
    number = place[arguments.axis];
    place[arguments.axis] = number * arguments.segmentLength;
    const std::int64_t left = arguments.extent[arguments.axis] - place[arguments.axis];
    count = left < 0 ? 0 : left < arguments.segmentLength ? left : arguments.segmentLength;
  }
};

/** The box of all segments. */
struct SegmentBox
{
  CUDAMEDIAN_HOST_DEVICE explicit SegmentBox(const MarkArguments & given) : arguments(given)
  {}

  std::int64_t
  GetWidth() const
  {
    return arguments.axis == 0 ? arguments.segments : arguments.extent[0];
  }

  std::int64_t
  CountRows() const
  {
    std::int64_t rows = 1;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      rows *= axis == arguments.axis ? arguments.segments : arguments.extent[axis];
    }
    return rows;
  }

  MarkArguments arguments;
};

/** Marks the valid pixels of a segment. */
template <typename TBits>
struct MarkBody : SegmentBox
{
  using SegmentBox::SegmentBox;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(std::int64_t x, std::int64_t row) const
  {
    const Segment segment(arguments, x, row);
    const int     along = arguments.axis;
    Pixel         first{};
    std::int64_t  mark = 0;
    std::int64_t  markStep = 1;
    for (int axis = Dimension - 1; axis >= 0; --axis)
    {
      mark = mark * arguments.extent[axis] + segment.place[axis];
      markStep *= axis < along ? arguments.extent[axis] : 1;
      if (axis != along)
      {
        Move(first, axis, segment.place[axis]);
      }
    }
    unsigned int parity = 0;
    for (std::int64_t i = 0; i < segment.count; ++i)
    {
      auto pixel = first;
      Move(pixel, along, segment.place[along] + i);
      const bool isValid = IsValid(pixel);
      parity ^= isValid ? 0U : 1U;
      arguments.marks[mark + i * markStep] = isValid ? 1 : 0;
    }
    arguments.parities[segment.index] = static_cast<std::uint8_t>(parity);
  }

private:
  /** Where a pixel of the copy is, and that of the mask; whether no pixel of the image stands there. */
  struct Pixel
  {
    std::int64_t offset;
    std::int64_t inMask;
    bool         isBeyond;
    bool         isClipped;
  };

  CUDAMEDIAN_HOST_DEVICE void
  Move(Pixel & pixel, int axis, std::int64_t place) const
  {
    const auto there = MapBorder(arguments.border[axis], arguments.origin[axis] + place, arguments.imageExtent[axis]);
    pixel.isBeyond = pixel.isBeyond || there == noPixel;
    pixel.isClipped = pixel.isClipped || (there == noPixel && arguments.border[axis] == Border::Shrink);
    pixel.inMask += there * arguments.maskStride[axis];
    pixel.offset += place * arguments.stride[axis];
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsValid(const Pixel & pixel) const
  {
    // A constant is valid whatever the mask says of the image.
    if (pixel.isClipped || (arguments.mask != nullptr && !pixel.isBeyond && !IsSet(pixel.inMask)))
    {
      return false;
    }
    if (!arguments.hasIgnored && !arguments.omitsNaN)
    {
      return true;
    }
    const TBits bits = DecodeBits(arguments.pixelType, static_cast<const TBits *>(arguments.pixels)[pixel.offset]);
    return !(arguments.omitsNaN && IsNaN(bits)) && !(arguments.hasIgnored && IsIgnored(bits));
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsSet(std::int64_t offset) const
  {
    switch (arguments.maskBytes)
    {
      case 1:
        return static_cast<const std::uint8_t *>(arguments.mask)[offset] != 0;
      case 2:
        return static_cast<const std::uint16_t *>(arguments.mask)[offset] != 0;
      case 4:
        return static_cast<const std::uint32_t *>(arguments.mask)[offset] != 0;
      default:
        return static_cast<const std::uint64_t *>(arguments.mask)[offset] != 0;
    }
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsNaN(TBits bits) const
  {
    return arguments.magnitudes != 0 && (bits & arguments.magnitudes) > arguments.infinity;
  }

  /** Of floats -0 and +0 are the same value, and every two NaN. */
  CUDAMEDIAN_HOST_DEVICE bool
  IsIgnored(TBits bits) const
  {
    const auto ignored = static_cast<TBits>(arguments.ignored);
    const bool areZero = arguments.magnitudes != 0 && ((bits | ignored) & arguments.magnitudes) == 0;
    return bits == ignored || areZero || (IsNaN(bits) && IsNaN(ignored));
  }
};

/** Gives the pixels of a segment that are not valid their keys. */
template <typename TBits>
struct FillBody : SegmentBox
{
  using SegmentBox::SegmentBox;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(std::int64_t x, std::int64_t row) const
  {
    const Segment segment(arguments, x, row);
    int           colour = GetFirstColour(segment);
    std::int64_t  offset = 0;
    std::int64_t  mark = 0;
    std::int64_t  markStep = 1;
    for (int axis = Dimension - 1; axis >= 0; --axis)
    {
      offset += segment.place[axis] * arguments.stride[axis];
      mark = mark * arguments.extent[axis] + segment.place[axis];
      markStep *= axis < arguments.axis ? arguments.extent[axis] : 1;
    }
    auto * pixels = static_cast<TBits *>(arguments.pixels);
    for (std::int64_t i = 0; i < segment.count; ++i)
    {
      const bool isValid = arguments.marks[mark] != 0;
      if (!isValid)
      {
        pixels[offset] = static_cast<TBits>(colour > 0 ? arguments.least : arguments.greatest);
      }
      arguments.marks[mark] = static_cast<std::int8_t>(isValid ? 0 : colour);
      colour = !isValid && arguments.wanted == Wanted::Middle ? -colour : colour;
      offset += arguments.stride[arguments.axis];
      mark += markStep;
    }
  }

private:
  /** 1 for the least key, -1 for the greatest. Of lines next to each other one starts with either. */
  CUDAMEDIAN_HOST_DEVICE int
  GetFirstColour(const Segment & segment) const
  {
    if (arguments.wanted != Wanted::Middle)
    {
      return arguments.wanted == Wanted::Least ? -1 : 1;
    }
    unsigned int parity = 0;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      parity ^= axis == arguments.axis ? 0U : static_cast<unsigned int>(segment.place[axis] & 1);
    }
    for (std::int64_t before = 1; before <= segment.number; ++before)
    {
      parity ^= arguments.parities[segment.index - before * segment.step];
    }
    return parity != 0 ? -1 : 1;
  }
};

/** Calls launch(body) with the body of pixels as wide as these. */
template <template <typename> class TBody, typename TLaunch>
auto
DispatchWidth(const MarkArguments & arguments, const TLaunch & launch)
{
  switch (PixelBytes(arguments.pixelType))
  {
    case 1:
      return launch(TBody<std::uint8_t>(arguments));
    case 2:
      return launch(TBody<std::uint16_t>(arguments));
    case 4:
      return launch(TBody<std::uint32_t>(arguments));
    default:
      return launch(TBody<std::uint64_t>(arguments));
  }
}

} // namespace cudamedian

#endif
