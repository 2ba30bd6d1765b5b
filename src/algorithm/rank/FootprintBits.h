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
#ifndef FootprintBits_h
#define FootprintBits_h

#include "RankPlaces.h"

/** Which places of a window's box a footprint has: what windows of a footprint that keep a threshold look up
 * (RankThreshold.h). */
namespace cudamedian
{

/** A bit for each place of a window's box, set where the footprint has a pixel.
 *
 * Of narrow places the difference from a window's corner, guards and all, says where the bit is: rows are eight words
 * long, of which the box has the last four. What is before the box or behind it has words without bits, so that no
 * place has to be compared with the box. Balls have no bits: it is faster to compute distances, and so it is for disks.
 *
 * \tparam VForm of the region. */
template <RegionForm VForm>
class FootprintBits
{
public:
  using Places = RankPlaces<VForm>;

  FootprintBits() = default;

  /** \param words CountWords() of them. \param window pixels of the box along the region's axes. \param disk the
   * greatest squared distance from its center, of a disk or a ball; otherwise 0. */
  CUDAMEDIAN_HOST_DEVICE
  FootprintBits(const std::uint32_t * words, const int (&window)[3], int disk)
    : m_Words(words)
    , m_Pitch(GetPitch(window[0]))
    , m_Rows(window[1])
    , m_End(static_cast<std::uint32_t>(window[2]) << Places::Shift)
    , m_Center(Places::Pack(window[0] / 2, window[1] / 2, window[2] / 2))
    , m_Disk(disk)
  {}

  /** A multiple of four. */
  CUDAMEDIAN_HOST_DEVICE static int
  CountWords(const RankShape & shape)
  {
    if (Places::IsSolid && shape.disk > 0)
    {
      return 0;
    }
    const int rows = Places::IsSolid ? shape.window[1] * shape.window[2] : shape.window[2];
    return RoundUp(GetPitch(shape.window[0]) * rows + (Places::IsNarrow ? 1 : 0), 4);
  }

  /** The word of a place of the box, whose bit is that of x. */
  CUDAMEDIAN_HOST_DEVICE int
  GetWord(const RegionPlace & place) const
  {
    const int row = Places::IsSolid ? place.z * m_Rows + place.y : place.z;
    return row * m_Pitch + (Places::IsNarrow ? 4 : 0) + place.x / 32;
  }

  /** Whether the footprint has a place of the box. */
  CUDAMEDIAN_HOST_DEVICE bool
  Has(const RegionPlace & place) const
  {
    if (Places::IsSolid && m_Disk > 0)
    {
      const auto center = Places::Unpack(m_Center);
      const int  x = place.x - center.x;
      const int  y = place.y - center.y;
      const int  z = place.z - center.z;
      return x * x + y * y + z * z <= m_Disk;
    }
    return (m_Words[GetWord(place)] >> place.x % 32 & 1) != 0;
  }

  /** Which of eight places a window has, the first one lowest.
   *
   * \param lowest the first corner of its box. \param highest the last one, with two guards for each. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInside(const std::uint32_t * places, std::uint32_t lowest, std::uint32_t highest) const
  {
    std::uint32_t words[Places::Words];
    Places::LoadEight(places, words);
    if (m_Disk > 0)
    {
      return FindInDisk(words, lowest + m_Center);
    }
    // Each bit is moved in from above.
    std::uint32_t inside = 0;
    if constexpr (Places::IsNarrow)
    {
      CUDAMEDIAN_UNROLL
      for (auto & word : words)
      {
        word = TakeLessHalves((word - lowest) ^ 0x80008000U, m_End * 0x00010001U);
      }
      CUDAMEDIAN_UNROLL
      for (int half = 0; half < 2; ++half)
      {
        CUDAMEDIAN_UNROLL
        for (const auto word : words)
        {
          const auto place = word >> 16 * half;
          inside = MoveIn(inside, m_Words[(place & 0xFFFFU) >> 5] >> (place & 31U));
        }
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (const auto word : words)
      {
        const auto    place = word - lowest;
        const bool    isInBox = (place & (highest - word) & Places::Guards) == Places::Guards;
        std::uint32_t bits = 0;
        if (isInBox)
        {
          bits = m_Words[GetWord(Places::Unpack(place))] >> (place & 31U);
        }
        inside = MoveIn(inside, bits);
      }
    }
    return inside >> 24;
  }

  /** Which of 32 places a window has. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindAllInside(const std::uint32_t * places, std::uint32_t lowest, std::uint32_t highest) const
  {
    std::uint32_t inside = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 4; ++i)
    {
      inside |= FindInside(places + Places::Words * i, lowest, highest) << 8 * i;
    }
    return inside;
  }

  /** How many of 32 places a window has. */
  CUDAMEDIAN_HOST_DEVICE int
  CountInside(const std::uint32_t * places, std::uint32_t lowest, std::uint32_t highest) const
  {
    return CountBits(FindAllInside(places, lowest, highest));
  }

private:
  /** The same where the footprint is a disk or a ball with a center. A rank that no pixel has lies at the region's end,
   * and so outside: no center is nearer to it than the radius. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInDisk(const std::uint32_t (&words)[Places::Words], std::uint32_t center) const
  {
    // Differences are negative inside. Their signs are moved in from below.
    std::uint32_t inside = 0;
    if constexpr (Places::IsNarrow)
    {
      CUDAMEDIAN_UNROLL
      for (int half = 1; half >= 0; --half)
      {
        CUDAMEDIAN_UNROLL
        for (int i = Places::Words - 1; i >= 0; --i)
        {
          const auto offsets = (words[i] - center) ^ Places::Guards;
          inside = MoveSignIn(inside, AddSquares(offsets, half == 1 ? 0xFFFF0000U : 0xFFFFU, -m_Disk - 1));
        }
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = Places::Words - 1; i >= 0; --i)
      {
        inside = MoveSignIn(inside, CompareDistance(words[i], center));
      }
    }
    return inside;
  }

  /** Negative if a place lies in the disk or ball around another. */
  CUDAMEDIAN_HOST_DEVICE int
  CompareDistance(std::uint32_t place, std::uint32_t center) const
  {
    const auto offsets = place - center;
    if constexpr (Places::IsSolid)
    {
      return AddSquares(offsets ^ Places::Guards, 0xFFFFFFFFU, -m_Disk - 1);
    }
    const int x = static_cast<int>(offsets & ((1U << Places::Shift) - 1)) - (1 << (Places::Shift - 1));
    const int y = static_cast<int>(offsets >> Places::Shift) - (1 << (Places::Shift - 1));
    return x * x + (y * y - (m_Disk + 1));
  }

  /** Adds the squares of some bytes, which are signed, to a sum. */
  CUDAMEDIAN_HOST_DEVICE static int
  AddSquares(std::uint32_t bytes, std::uint32_t mask, int sum)
  {
#ifdef __CUDA_ARCH__
    return __dp4a(static_cast<int>(bytes & mask), static_cast<int>(bytes), sum);
#else
    for (int i = 0; i < 4; ++i)
    {
      const auto byte = static_cast<std::int8_t>(bytes >> 8 * i & mask >> 8 * i & 0xFFU);
      sum += byte * byte;
    }
    return sum;
#endif
  }

  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  MoveSignIn(std::uint32_t mask, int number)
  {
#ifdef __CUDA_ARCH__
    return __funnelshift_l(static_cast<std::uint32_t>(number), mask, 1);
#else
    return mask << 1 | static_cast<std::uint32_t>(number) >> 31;
#endif
  }

  CUDAMEDIAN_HOST_DEVICE static int
  GetPitch(int columns)
  {
    return Places::IsNarrow ? 8 : DivideUp(columns, 32);
  }

  /** Moves the lowest bit of a word in above the others of a mask. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  MoveIn(std::uint32_t mask, std::uint32_t bits)
  {
#ifdef __CUDA_ARCH__
    return __funnelshift_r(mask, bits, 1);
#else
    return mask >> 1 | bits << 31;
#endif
  }

  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  TakeLessHalves(std::uint32_t a, std::uint32_t b)
  {
#ifdef __CUDA_ARCH__
    return __vminu2(a, b);
#else
    const auto lower = (a & 0xFFFFU) < (b & 0xFFFFU) ? a : b;
    const auto upper = a >> 16 < b >> 16 ? a : b;
    return (lower & 0xFFFFU) | (upper & 0xFFFF0000U);
#endif
  }

  const std::uint32_t * m_Words{ nullptr };
  int                   m_Pitch{ 0 };
  int                   m_Rows{ 0 }; ///< along region axis 1
  std::uint32_t         m_End{ 0 };  ///< the first place behind the box's rows
  std::uint32_t         m_Center{ 0 };
  int                   m_Disk{ 0 };
};

} // namespace cudamedian

#endif
