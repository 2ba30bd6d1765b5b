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
#ifndef RankPlaces_h
#define RankPlaces_h

#include "RankKernels.h"
#include "WordBits.h"

#include <type_traits>

/** Where the pixels of a region's ranks lie: what windows that keep a threshold look through (RankThreshold.h). */
namespace cudamedian
{

/** Where a pixel of a region is along its axes 0, 1 and 2; windows in a plane know of one place along axis 1. */
struct RegionPlace
{
  int x;
  int y;
  int z;
};

/** Places of a region's pixels, packed, with a guard bit above each coordinate that a subtraction clears where it would
 * borrow.
 *
 * Of narrow regions a word has two places, of others one. Regions whose windows lie in a plane have two coordinates. */
template <RegionForm VForm>
struct RankPlaces
{
  static constexpr bool          IsNarrow = VForm == RegionForm::Narrow;
  static constexpr bool          IsSolid = VForm == RegionForm::Solid;
  static constexpr int           Shift = IsNarrow || IsSolid ? 8 : 12; ///< from a coordinate to the next
  static constexpr int           Words = IsNarrow ? 4 : 8;             ///< that have eight places
  static constexpr std::uint32_t Guards = IsNarrow ? 0x80808080U : IsSolid ? 0x00808080U : 0x00800800U;
  static constexpr std::uint32_t Mask = (1U << (Shift - 1)) - 1; ///< of a coordinate
  using Element = std::conditional_t<IsNarrow, std::uint16_t, std::uint32_t>;

  /** As often as a word has places. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  Pack(int x, int y, int z)
  {
    const int word = IsSolid ? x | y << Shift | z << 2 * Shift : x | z << Shift;
    return static_cast<std::uint32_t>(word) * (IsNarrow ? 0x00010001U : 1U);
  }

  /** Puts a pixel's place where its packed rank is. */
  CUDAMEDIAN_HOST_DEVICE static void
  Store(std::uint32_t * places, unsigned int rank, int x, int y, int z)
  {
    reinterpret_cast<Element *>(places)[GetElement(rank)] = static_cast<Element>(Pack(x, y, z) | Guards);
  }

  /** Leaves a rank without a pixel: it is in no window. */
  CUDAMEDIAN_HOST_DEVICE static void
  Clear(std::uint32_t * places, unsigned int rank)
  {
    reinterpret_cast<Element *>(places)[GetElement(rank)] = 0;
  }

  /** Where the pixel of a packed rank is. */
  CUDAMEDIAN_HOST_DEVICE static RegionPlace
  Load(const std::uint32_t * places, unsigned int rank)
  {
    return Unpack(reinterpret_cast<const Element *>(places)[GetElement(rank)]);
  }

  /** The coordinates of a packed place. */
  CUDAMEDIAN_HOST_DEVICE static RegionPlace
  Unpack(std::uint32_t word)
  {
    return { static_cast<int>(word & Mask),
             IsSolid ? static_cast<int>(word >> Shift & Mask) : 0,
             static_cast<int>(word >> (IsSolid ? 2 * Shift : Shift) & Mask) };
  }

  /** Which of eight places lie in a box, in a plane: bits of a mask, the only ones that it has, which Order() puts in
   * order.
   *
   * \param lowest the first corner. \param highest the last one, with two guards for each. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  FindInside(const std::uint32_t * places, std::uint32_t lowest, std::uint32_t highest)
  {
    static_assert(!IsSolid, "boxes along three axes keep no threshold");
    std::uint32_t words[Words];
    LoadEight(places, words);
    // Guards of all words come to lie beside each other, those of the first one lowest.
    std::uint32_t inside = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Words; ++i)
    {
      const auto word = words[IsNarrow ? i : Words - 1 - i];
      const auto guards = (word - lowest) & (highest - word) & Guards;
      inside = (IsNarrow ? inside >> 1 : inside << 1) + guards;
    }
    return inside & inside >> Shift & (IsNarrow ? 0x00F000F0U : 0x0007F800U);
  }

  /** Which of 32 places lie in such a box. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  FindAllInside(const std::uint32_t * places, std::uint32_t lowest, std::uint32_t highest)
  {
    std::uint32_t inside = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 4; ++i)
    {
      inside |= Order(FindInside(places + Words * i, lowest, highest)) << 8 * i;
    }
    return inside;
  }

  /** How many of 32 places lie in such a box. */
  CUDAMEDIAN_HOST_DEVICE static int
  CountInside(const std::uint32_t * places, std::uint32_t lowest, std::uint32_t highest)
  {
    // Masks of eight have room for each other.
    auto inside = FindInside(places, lowest, highest) >> (IsNarrow ? 4 : 11);
    inside |= FindInside(places + Words, lowest, highest) >> (IsNarrow ? 0 : 3);
    inside |= FindInside(places + 2 * Words, lowest, highest) << (IsNarrow ? 4 : 5);
    inside |= FindInside(places + 3 * Words, lowest, highest) << (IsNarrow ? 8 : 13);
    return CountBits(inside);
  }

  /** The mask with a bit for each of the eight, the first one lowest. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  Order(std::uint32_t inside)
  {
    return IsNarrow ? (inside >> 4 & 0xFU) | inside >> 16 : inside >> (Shift - 1);
  }

  CUDAMEDIAN_HOST_DEVICE static void
  LoadEight(const std::uint32_t * places, std::uint32_t (&words)[Words])
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Words; i += 4)
    {
#ifdef __CUDA_ARCH__
      const uint4 four = *reinterpret_cast<const uint4 *>(places + i);
      words[i] = four.x;
      words[i + 1] = four.y;
      words[i + 2] = four.z;
      words[i + 3] = four.w;
#else
      for (int k = i; k < i + 4; ++k)
      {
        words[k] = places[k];
      }
#endif
    }
  }

private:
  /** Of eight places the first four are in lower halves of words, the others in upper ones. */
  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetElement(unsigned int rank)
  {
    return IsNarrow ? (rank & ~7U) + rank % 4 * 2 + rank / 4 % 2 : rank;
  }
};

/** Puts the places of eight of a region's pixels where their ranks are, where windows lie in a plane. \param number of
 * the first. */
template <RegionForm VForm>
CUDAMEDIAN_HOST_DEVICE void
StorePlaces(const RankShape & shape, int number, const std::uint16_t (&ranks)[8], std::uint32_t * places)
{
  // The first and the last of the packed ranks are of many pixels, and looked up for none.
  const int last = 32 * shape.words - 1;
  const int width = shape.region[0];
  int       y = number / width;
  int       x = number - y * width;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < 8; ++i)
  {
    if (number + i < shape.pixels && ranks[i] >= 32 && ranks[i] < last)
    {
      RankPlaces<VForm>::Store(places, ranks[i], x, 0, y);
    }
    ++x;
    y += x == width ? 1 : 0;
    x = x == width ? 0 : x;
  }
}

} // namespace cudamedian

#endif
