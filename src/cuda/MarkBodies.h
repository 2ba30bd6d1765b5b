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
#include "FlagBodies.h"
#include "PixelFormat.h"

#include <type_traits>

/** The bodies of the kernels in MaskedKernels.h that find pixels that are not valid, and whose turn it is where. */
namespace cudamedian
{

/** Finds the pixels that are not valid. Columns are words of 32 pixels. */
template <typename TBits>
struct MarkBody : PixelsOf<MarkArguments>
{
  using PixelsOf<MarkArguments>::PixelsOf;

  /** Where a line along axis 0 is in the image and in the mask, and whether none of the image is there. */
  struct Line
  {
    std::int64_t offset;
    std::int64_t inMask;
    bool         isBeyond;
    bool         isClipped;
  };

  struct Row
  {
    Line            line;
    std::uint32_t * words;
  };

  static constexpr int columnsOfThread = 1; // each has many pixels

  std::int64_t
  GetWidth() const
  {
    return arguments.invalid.stride[1];
  }

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    const RowPlace place(arguments.extent, y, slice);
    Row            row{};
    row.words = arguments.invalid.words + place.GetOffset(arguments.invalid.stride);
    for (int axis = 1; axis < Dimension; ++axis)
    {
      Move(row.line, axis, place.place[axis]);
    }
    return row;
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    row.words[x] = FindWord(row, x);
  }

  /** A word of flags, which is not stored. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindWord(const Row & row, std::int64_t x) const
  {
    const auto column = x * bitsOfWord;
    return FindInvalid(row.line, column) & GetLowBits(arguments.extent[0] - column);
  }

private:
  CUDAMEDIAN_HOST_DEVICE void
  Move(Line & line, int axis, std::int64_t place) const
  {
    const auto there = MapBorder(arguments.border[axis], arguments.origin[axis] + place, arguments.imageExtent[axis]);
    line.isBeyond = line.isBeyond || there == noPixel;
    line.isClipped = line.isClipped || (there == noPixel && arguments.border[axis] == Border::Shrink);
    line.inMask += there * arguments.maskStride[axis];
    line.offset += there * arguments.imageStride[axis];
  }

  /** The flags of 32 pixels from a column of the copy on, of which some may be beyond it. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInvalid(const Line & line, std::int64_t column) const
  {
    const auto first = arguments.origin[0] + column;
    const bool isInside = first >= 0 && first + bitsOfWord <= arguments.imageExtent[0] && !line.isBeyond;
    const bool isInRows =
      (arguments.mask == nullptr || arguments.maskStride[0] == 1) && (!ReadsPixels() || arguments.imageStride[0] == 1);
    if (isInside && isInRows)
    {
      const auto ofMask = arguments.mask == nullptr ? 0U : CollectUnset(line.inMask, first);
      return ReadsPixels() ? ofMask | CollectInvalid(GetImage() + line.offset, first) : ofMask;
    }
    std::uint32_t flags = 0;
    const auto    unseen = arguments.firstColumn - column;
    CUDAMEDIAN_KEEP_LOOP
    for (auto i = unseen < 0 ? 0 : unseen; i < bitsOfWord && column + i < arguments.extent[0]; ++i)
    {
      auto pixel = line;
      Move(pixel, 0, column + i);
      flags |= IsInvalid(pixel) ? 1U << i : 0U;
    }
    return flags;
  }

  CUDAMEDIAN_HOST_DEVICE bool
  ReadsPixels() const
  {
    return arguments.hasIgnored || arguments.omitsNaN;
  }

  CUDAMEDIAN_HOST_DEVICE const TBits *
  GetImage() const
  {
    return static_cast<const TBits *>(arguments.image);
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsInvalid(const Line & pixel) const
  {
    // A constant is valid whatever the mask says of the image.
    if (pixel.isClipped || (arguments.mask != nullptr && !pixel.isBeyond && IsUnset(pixel.inMask)))
    {
      return true;
    }
    return ReadsPixels() &&
           IsInvalid(pixel.isBeyond ? static_cast<TBits>(arguments.constant) : GetImage()[pixel.offset]);
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsInvalid(TBits bits) const
  {
    return (arguments.omitsNaN && IsNaN(bits)) || (arguments.hasIgnored && IsIgnored(bits));
  }

  /** Calls call(mask) with the mask as the numbers that it is. */
  template <typename TCall>
  CUDAMEDIAN_HOST_DEVICE auto
  OfMask(const TCall & call) const
  {
    switch (arguments.maskBytes)
    {
      case 1:
        return call(static_cast<const std::uint8_t *>(arguments.mask));
      case 2:
        return call(static_cast<const std::uint16_t *>(arguments.mask));
      case 4:
        return call(static_cast<const std::uint32_t *>(arguments.mask));
      default:
        return call(static_cast<const std::uint64_t *>(arguments.mask));
    }
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsUnset(std::int64_t offset) const
  {
    return OfMask([offset](const auto * mask) { return mask[offset] == 0; });
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         CollectUnset(std::int64_t row, std::int64_t first) const
  {
    return OfMask([=](const auto * mask) {
      using Number = std::decay_t<decltype(*mask)>;
      const PixelRow<Number> pixels{ mask + row, mask + row + arguments.imageExtent[0] };
      return CollectEqual(pixels, pixels.begin + first, Number{ 0 });
    });
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         CollectInvalid(const TBits * row, std::int64_t first) const
  {
    const PixelRow<TBits> pixels{ row, row + arguments.imageExtent[0] };
    if (arguments.magnitudes == 0) // integers: there is no NaN, and no other zero
    {
      return arguments.hasIgnored ? CollectEqual(pixels, row + first, static_cast<TBits>(arguments.ignored)) : 0U;
    }
    return CollectFlags(pixels, row + first, [this](TBits bits) { return IsInvalid(bits); });
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

/** A segment of 32 lines of flags next to each other. */
struct Segment
{
  std::int64_t word;   ///< how far its first one lies behind the first of all
  std::int64_t number; ///< in its line
  std::int64_t count;  ///< of its words
  std::int64_t index;  ///< of all segments
  std::int64_t step;   ///< from one of a line to the next
};

/** The box of all segments. */
struct SegmentBox
{
  /** The places of a row's segments. */
  struct Row
  {
    RowPlace     rows;
    std::int64_t first; ///< the index of the row's first segment
  };

  static constexpr int columnsOfThread = 1; // each has many words

  /** Threads of a block: few, so that all multiprocessors have some, since a thread waits for its words most of the
   * time. */
  static constexpr int threadsOfBlock = 64;

  /** Words that are read before any of them is looked at. */
  static constexpr int atOnce = 32;

  CUDAMEDIAN_HOST_DEVICE explicit SegmentBox(const TurnArguments & given)
    : arguments(given)
  {}

  std::int64_t
  GetWidth() const
  {
    return arguments.segments[0];
  }

  std::int64_t
  GetHeight() const
  {
    return arguments.segments[1];
  }

  std::int64_t
  CountSlices() const
  {
    return arguments.segments[2] * arguments.segments[3];
  }

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    return { RowPlace(arguments.segments, y, slice), (slice * arguments.segments[1] + y) * arguments.segments[0] };
  }

  TurnArguments arguments;

protected:
  CUDAMEDIAN_HOST_DEVICE Segment
  GetSegment(const Row & row, std::int64_t x) const
  {
    Segment segment{};
    segment.index = row.first + x;
    segment.step = 1;
    CUDAMEDIAN_UNROLL
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const bool isAlong = axis == arguments.axis;
      const auto place = axis == 0 ? x : row.rows.place[axis];
      const auto first = isAlong ? place * arguments.segmentLength : place;
      segment.step *= axis < arguments.axis ? arguments.segments[axis] : 1;
      segment.word += first * arguments.invalid.stride[axis];
      segment.number = isAlong ? place : segment.number;
      segment.count = isAlong ? arguments.lineWords - first : segment.count;
    }
    segment.count = segment.count < arguments.segmentLength ? segment.count : arguments.segmentLength;
    return segment;
  }

  /** Calls call(i, word) with words that lie in steps, one after the other. */
  template <typename TCall>
  static CUDAMEDIAN_HOST_DEVICE void
  ForEachWord(const std::uint32_t * words, std::int64_t step, std::int64_t count, const TCall & call)
  {
    CUDAMEDIAN_KEEP_LOOP
    for (std::int64_t first = 0; first < count; first += atOnce)
    {
      std::uint32_t some[atOnce];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < atOnce; ++i)
      {
        some[i] = first + i < count ? words[(first + i) * step] : 0U;
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < atOnce; ++i)
      {
        if (first + i < count)
        {
          call(first + i, some[i]);
        }
      }
    }
  }
};

/** Finds whether segments have an odd number of pixels that are not valid. */
struct ParityBody : SegmentBox
{
  using SegmentBox::SegmentBox;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const auto    segment = GetSegment(row, x);
    const auto *  words = arguments.invalid.words + segment.word;
    const auto    step = arguments.invalid.stride[arguments.axis];
    std::uint32_t parity = 0;
    ForEachWord(words, step, segment.count, [&](std::int64_t, std::uint32_t word) { parity ^= word; });
    arguments.parities[segment.index] = parity;
  }
};

/** Finds whose turn it is in a segment. */
struct TurnBody : SegmentBox
{
  using SegmentBox::SegmentBox;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const auto   segment = GetSegment(row, x);
    const auto   step = arguments.invalid.stride[arguments.axis];
    const auto * invalid = arguments.invalid.words + segment.word;
    auto *       turns = arguments.turns.words + segment.word;
    auto         turn = GetFirstTurn(row, segment);
    ForEachWord(invalid, step, segment.count, [&](std::int64_t i, std::uint32_t word) {
      turns[i * step] = turn;
      turn ^= word;
    });
    if (segment.number == arguments.segments[arguments.axis] - 1)
    {
      turns[segment.count * step] = turn;
    }
  }

private:
  /** Of lines next to each other one starts with either key. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetFirstTurn(const Row & row, const Segment & segment) const
  {
    std::uint32_t turn = 0xAAAAAAAAU;
    CUDAMEDIAN_UNROLL
    for (int axis = 1; axis < Dimension; ++axis)
    {
      turn ^= axis == arguments.axis ? 0U : 0U - static_cast<std::uint32_t>(row.rows.place[axis] & 1);
    }
    const auto * first = arguments.parities + segment.index - segment.number * segment.step;
    ForEachWord(first, segment.step, segment.number, [&](std::int64_t, std::uint32_t parity) { turn ^= parity; });
    return turn;
  }
};

/** Calls launch(body) with the body of pixels as wide as these. */
template <template <typename> class TBody, typename TArguments, typename TLaunch>
auto
DispatchWidth(const TArguments & arguments, const TLaunch & launch)
{
  return DispatchBytes(PixelBytes(arguments.pixelType),
                       [&](auto bits) { return launch(TBody<decltype(bits)>(arguments)); });
}

} // namespace cudamedian

#endif
