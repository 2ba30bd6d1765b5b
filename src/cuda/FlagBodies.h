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
#ifndef FlagBodies_h
#define FlagBodies_h

#include "FlagWords.h"
#include "MaskedKernels.h"
#include "PixelKey.h"

/** What the bodies of the kernels in MaskedKernels.h share: rows of boxes, and flags. A body says how large its box is,
 * and what is done for a column of a row; the host's tests run it too. */
namespace cudamedian
{

/** Where a row of a box is: along axis 1, and along axes 2 and 3 as one. */
struct RowPlace
{
  std::int64_t place[Dimension];

  CUDAMEDIAN_HOST_DEVICE
  RowPlace(const std::int64_t (&extent)[Dimension], std::int64_t y, std::int64_t slice)
    : place{ 0, y, slice, 0 }
  {
    // No division where there is one volume: one of 64 bits takes as long as what is done with several pixels.
    if (slice >= extent[2])
    {
      place[3] = slice / extent[2];
      place[2] = slice - place[3] * extent[2];
    }
  }

  /** How far it lies from the first one. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOffset(const std::int64_t (&stride)[Dimension]) const
  {
    // Products of 64 bits are several instructions each; most rows are in the first slice, or in the first volume.
    auto offset = place[1] * stride[1];
    if (place[2] != 0)
    {
      offset += place[2] * stride[2];
    }
    if (place[3] != 0)
    {
      offset += place[3] * stride[3];
    }
    return offset;
  }
};

/** A box of pixels, each of whose columns is one. */
template <typename TArguments>
struct PixelsOf
{
  using Row = RowPlace;

  /** Columns of a row that a thread goes over, so that it looks for the row's place once. */
  static constexpr int columnsOfThread = 4;
  static constexpr int threadsOfBlock = 256;

  CUDAMEDIAN_HOST_DEVICE explicit PixelsOf(const TArguments & given)
    : arguments(given)
  {}

  std::int64_t
  GetWidth() const
  {
    return arguments.extent[0];
  }

  std::int64_t
  GetHeight() const
  {
    return arguments.extent[1];
  }

  std::int64_t
  CountSlices() const
  {
    return arguments.extent[2] * arguments.extent[3];
  }

  CUDAMEDIAN_HOST_DEVICE RowPlace
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    return RowPlace(arguments.extent, y, slice);
  }

  TArguments arguments;

protected:
  /** Pixels of the box before a row. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         CountBefore(std::int64_t y, std::int64_t slice) const
  {
    return (slice * arguments.extent[1] + y) * arguments.extent[0];
  }
};

/** Two words of flags as one. */
CUDAMEDIAN_HOST_DEVICE std::uint64_t
                       JoinWords(const std::uint32_t * words)
{
  return std::uint64_t{ words[1] } << bitsOfWord | words[0];
}

/** The flags of 32 pixels of a row from one on, which is the lowest bit. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetFlags(const std::uint32_t * words, std::int64_t first)
{
  return static_cast<std::uint32_t>(JoinWords(words + (first >> 5)) >> (first & (bitsOfWord - 1)));
}

CUDAMEDIAN_HOST_DEVICE bool
IsFlagged(const std::uint32_t * words, std::int64_t place)
{
  return (words[place >> 5] >> (place & (bitsOfWord - 1)) & 1U) != 0;
}

/** The four lowest flags as the lowest bit of each byte. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       SpreadBits(std::uint32_t flags)
{
  return (flags & 15U) * 0x00204081U & 0x01010101U; // the product has them 7 places apart, too
}

/** Flags of pixels as all bits of each. Those of a word are the lowest ones. */
template <int VPixelBytes>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       SpreadFlags(std::uint32_t flags)
{
  if constexpr (VPixelBytes == 1)
  {
    return SpreadBits(flags) * 0xFFU;
  }
  else if constexpr (VPixelBytes == 2)
  {
    return ((flags & 1U) | (flags & 2U) << 15) * 0xFFFFU;
  }
  return 0U - (flags & 1U);
}

/** Pixels of a row that are read or written at once. */
struct alignas(16) Vector
{
  static constexpr int count = 4;

  std::uint32_t words[count];

  template <typename TBits>
  CUDAMEDIAN_HOST_DEVICE TBits
  Get(int i) const
  {
    if constexpr (sizeof(TBits) == 8)
    {
      return TBits{ words[2 * i + 1] } << bitsOfWord | words[2 * i];
    }
    else
    {
      constexpr int perWord = 4 / static_cast<int>(sizeof(TBits));
      return static_cast<TBits>(words[i / perWord] >> (i % perWord * 8 * static_cast<int>(sizeof(TBits)) % bitsOfWord));
    }
  }

  template <typename TBits>
  CUDAMEDIAN_HOST_DEVICE void
  Set(int i, TBits bits)
  {
    if constexpr (sizeof(TBits) == 8)
    {
      words[2 * i] = static_cast<std::uint32_t>(bits);
      words[2 * i + 1] = static_cast<std::uint32_t>(bits >> bitsOfWord);
    }
    else
    {
      constexpr int perWord = 4 / static_cast<int>(sizeof(TBits));
      const auto    shifted = static_cast<std::uint32_t>(bits)
                           << (i % perWord * 8 * static_cast<int>(sizeof(TBits)) % bitsOfWord);
      words[i / perWord] = i % perWord == 0 ? shifted : words[i / perWord] | shifted;
    }
  }
};

/** How many pixels that are. */
template <typename TBits>
constexpr int pixelsOfVector = static_cast<int>(sizeof(Vector) / sizeof(TBits));

/** A row of an image: from its first pixel to behind its last. */
template <typename TBits>
struct PixelRow
{
  const TBits * begin;
  const TBits * end;
};

/** How many bytes an address lies behind one at which vectors can be read or written. */
CUDAMEDIAN_HOST_DEVICE int
GetVectorShift(const void * address)
{
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % sizeof(Vector));
}

/** Makes a vector of what a function says of its places. */
template <typename TBits, typename TGet>
CUDAMEDIAN_HOST_DEVICE Vector
MakeVector(const TGet & get)
{
  constexpr int perHalf = pixelsOfVector<TBits> / 2;
  Vector        vector;
  CUDAMEDIAN_UNROLL
  for (int half = 0; half < 2; ++half)
  {
    std::uint64_t bits = 0;
    CUDAMEDIAN_KEEP_LOOP
    for (int i = 0; i < perHalf; ++i)
    {
      const std::uint64_t pixel = get(half * perHalf + i);
      bits = perHalf == 1 ? pixel : bits >> (64 / perHalf) | pixel << (64 - 64 / perHalf);
    }
    vector.words[2 * half] = static_cast<std::uint32_t>(bits);
    vector.words[2 * half + 1] = static_cast<std::uint32_t>(bits >> bitsOfWord);
  }
  return vector;
}

/** The vector that begins so many bytes behind the first of two. */
CUDAMEDIAN_HOST_DEVICE Vector
ShiftVectors(const Vector & first, const Vector & second, int shift)
{
  std::uint64_t halves[4];
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < 4; ++i)
  {
    const auto & words = (i < 2 ? first : second).words;
    halves[i] = std::uint64_t{ words[i % 2 * 2 + 1] } << bitsOfWord | words[i % 2 * 2];
  }
  const bool isUpper = shift >= 8;
  const int  bits = shift % 8 * 8;
  Vector     vector;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < 2; ++i)
  {
    const auto lower = isUpper ? halves[i + 1] : halves[i];
    const auto upper = isUpper ? halves[i + 2] : halves[i + 1];
    const auto half = bits == 0 ? lower : lower >> bits | upper << (64 - bits);
    vector.words[2 * i] = static_cast<std::uint32_t>(half);
    vector.words[2 * i + 1] = static_cast<std::uint32_t>(half >> bitsOfWord);
  }
  return vector;
}

/** Reads pixels of a row wherever they begin, and nothing beyond it. \pre all of them lie in the row */
template <int VCount, typename TBits>
CUDAMEDIAN_HOST_DEVICE void
ReadVectors(const PixelRow<TBits> & row, const TBits * first, Vector (&vectors)[VCount])
{
  const int    shift = GetVectorShift(first);
  const auto * source = reinterpret_cast<const Vector *>(reinterpret_cast<const char *>(first) - shift);
  if (shift == 0)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      vectors[i] = source[i];
    }
  }
  else if (static_cast<const void *>(source) >= row.begin && static_cast<const void *>(source + VCount + 1) <= row.end)
  {
    Vector aligned[VCount + 1];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i <= VCount; ++i)
    {
      aligned[i] = source[i];
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      vectors[i] = ShiftVectors(aligned[i], aligned[i + 1], shift);
    }
  }
  else
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      const auto * pixels = first + i * pixelsOfVector<TBits>;
      vectors[i] = MakeVector<TBits>([pixels](int k) { return pixels[k]; });
    }
  }
}

/** Asks of 32 pixels of a row. \returns the flags of those for which it is so. */
template <typename TBits, typename TIs>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       CollectFlags(const PixelRow<TBits> & row, const TBits * first, const TIs & is)
{
  constexpr int perVector = pixelsOfVector<TBits>;
  constexpr int count = bitsOfWord / perVector;
  constexpr int atOnce = count < 4 ? count : 4;
  std::uint32_t flags = 0;
  CUDAMEDIAN_UNROLL
  for (int some = 0; some < count; some += atOnce)
  {
    Vector pixels[atOnce];
    ReadVectors(row, first + some * perVector, pixels);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < atOnce * perVector; ++i)
    {
      flags |= is(pixels[i / perVector].template Get<TBits>(i % perVector)) ? 1U << (some * perVector + i) : 0U;
    }
  }
  return flags;
}

/** The flags of those of 32 pixels of a row whose bits are these. */
template <typename TBits>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       CollectEqual(const PixelRow<TBits> & row, const TBits * first, TBits bits)
{
  if constexpr (sizeof(TBits) == 1)
  {
    Vector pixels[2];
    ReadVectors(row, first, pixels);
    std::uint32_t different = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 2 * Vector::count - 1; i >= 0; --i)
    {
      // The upper bit of each byte that is not 0, and those of four next to each other by a product.
      const auto bytes = pixels[i / Vector::count].words[i % Vector::count] ^ (bits * 0x01010101U);
      const auto upper = (((bytes & 0x7F7F7F7FU) + 0x7F7F7F7FU) | bytes) & 0x80808080U;
      different = different << 4 | (upper * 0x00204081U) >> 28;
    }
    return ~different;
  }
  else
  {
    return CollectFlags(row, first, [bits](TBits other) { return other == bits; });
  }
}

} // namespace cudamedian

#endif
