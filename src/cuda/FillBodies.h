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
#ifndef FillBodies_h
#define FillBodies_h

#include "BorderMap.h"
#include "FlagBodies.h"
#include "HalfFloat.h"

namespace cudamedian
{

/** The body of the kernel that copies a box of an image with its border, and with keys where pixels are not valid.
 * Columns are vectors. */
template <typename TBits>
struct FillBody : PixelsOf<FillArguments>
{
  using PixelsOf<FillArguments>::PixelsOf;

  /** Where a row is, and whether none of the image is there. */
  struct Row
  {
    const TBits *         from;
    TBits *               to;
    const std::uint32_t * invalid;
    const std::uint32_t * turns;
    bool                  isBeyond;
  };

  static constexpr int atOnce = pixelsOfVector<TBits>;

  std::int64_t
  GetWidth() const
  {
    return arguments.stride[1] / atOnce;
  }

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    const RowPlace place(arguments.extent, y, slice);
    Row            row{};
    std::int64_t   offset = 0;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto there =
        MapBorder(arguments.border[axis], arguments.origin[axis] + place.place[axis], arguments.imageExtent[axis]);
      row.isBeyond = row.isBeyond || there == noPixel;
      offset += there * arguments.imageStride[axis];
    }
    row.from = row.isBeyond ? nullptr : static_cast<const TBits *>(arguments.image) + offset;
    row.to = static_cast<TBits *>(arguments.copy) + place.GetOffset(arguments.stride);
    const auto words = place.GetOffset(arguments.invalid.stride);
    row.invalid = arguments.invalid.words == nullptr ? nullptr : arguments.invalid.words + words;
    row.turns = arguments.invalid.words == nullptr ? nullptr : arguments.turns.words + words;
    return row;
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const auto column = x * atOnce;
    const auto first = arguments.origin[0] + column;
    const bool isSeen = column >= arguments.firstColumn && column + atOnce <= arguments.extent[0];
    const bool isInside = first >= 0 && first + atOnce <= arguments.imageExtent[0] && !row.isBeyond;
    Vector     pixels[] = { {} };
    if (isSeen && isInside && arguments.imageStride[0] == 1)
    {
      const PixelRow<TBits> image{ row.from, row.from + arguments.imageExtent[0] };
      ReadVectors(image, row.from + first, pixels);
      Encode(pixels[0]);
      if (row.invalid != nullptr)
      {
        Fill(row, column, pixels[0]);
      }
    }
    else if (column + atOnce > arguments.firstColumn && column < arguments.extent[0])
    {
      pixels[0] = MakeVector<TBits>([&](int i) { return GetPixel(row, column + i); });
    }
    *reinterpret_cast<Vector *>(row.to + column) = pixels[0];
  }

private:
  CUDAMEDIAN_HOST_DEVICE TBits
  Encode(TBits bits) const
  {
    if constexpr (sizeof(TBits) == 2)
    {
      return IsHalfFloat(arguments.pixelType) ? EncodeHalfFloat(arguments.pixelType, bits) : bits;
    }
    return bits;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Encode(Vector & pixels) const
  {
    if constexpr (sizeof(TBits) == 2)
    {
      CUDAMEDIAN_UNROLL
      for (auto & word : pixels.words)
      {
        const std::uint32_t upper = Encode(static_cast<TBits>(word >> 16));
        word = Encode(static_cast<TBits>(word)) | upper << 16;
      }
    }
  }

  /** A pixel of the copy, wherever it is. */
  CUDAMEDIAN_HOST_DEVICE TBits
  GetPixel(const Row & row, std::int64_t column) const
  {
    if (column < arguments.firstColumn || column >= arguments.extent[0])
    {
      return 0;
    }
    if (row.invalid != nullptr && IsFlagged(row.invalid, column))
    {
      return static_cast<TBits>(IsFlagged(row.turns, column) ? arguments.greatest : arguments.least);
    }
    const auto there = MapBorder(arguments.border[0], arguments.origin[0] + column, arguments.imageExtent[0]);
    return Encode(row.isBeyond || there == noPixel ? static_cast<TBits>(arguments.constant)
                                                   : row.from[there * arguments.imageStride[0]]);
  }

  /** Gives pixels that are not valid the key whose turn it is. */
  CUDAMEDIAN_HOST_DEVICE void
  Fill(const Row & row, std::int64_t column, Vector & pixels) const
  {
    constexpr int bytes = static_cast<int>(sizeof(TBits));
    constexpr int perWord = bytes < 4 ? 4 / bytes : 1;
    const auto    shift = column & (bitsOfWord - 1);
    auto          invalid = row.invalid[column >> 5] >> shift;
    auto          turns = row.turns[column >> 5] >> shift;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Vector::count; ++i)
    {
      const int  upper = i % 2 * bitsOfWord; // of a pixel of 64 bits every other word
      const auto least = static_cast<std::uint32_t>(arguments.least >> upper);
      const auto greatest = static_cast<std::uint32_t>(arguments.greatest >> upper);
      const auto isGreatest = SpreadFlags<bytes>(turns);
      const auto isFilled = SpreadFlags<bytes>(invalid);
      const auto key = (greatest & isGreatest) | (least & ~isGreatest);
      pixels.words[i] = (key & isFilled) | (pixels.words[i] & ~isFilled);
      const int next = bytes < 8 ? perWord : i % 2;
      invalid >>= next;
      turns >>= next;
    }
  }
};

} // namespace cudamedian

#endif
