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
#ifndef PixelNumbers_h
#define PixelNumbers_h

#include "itkCudaMedianExtent.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** Bits that a position along an axis of so many pixels takes. */
constexpr int
CountPositionBits(std::int64_t extent)
{
  int bits = 0;
  while ((std::int64_t{ 1 } << bits) < extent)
  {
    ++bits;
  }
  return bits;
}

/** Numbers of a region's pixels, which have the positions along each axis in bits of their own. */
template <typename TNumber>
class PixelNumbers
{
public:
  /** \param extent of the region \param order its axes, from that whose positions have the lowest bits on */
  void
  SetExtent(const std::int64_t (&extent)[Dimension], const int (&order)[Dimension])
  {
    std::copy(extent, extent + Dimension, m_Extent);
    m_AllBits = 0;
    for (const int axis : order)
    {
      const int bits = CountPositionBits(extent[axis]);
      m_Mask[axis] = (std::uint32_t{ 1 } << bits) - 1;
      m_Shift[axis] = bits > 0 ? m_AllBits : 0; // without bits it does not matter
      m_AllBits += bits;
    }
  }

  std::size_t
  CountPixels() const
  {
    return static_cast<std::size_t>(m_Extent[0] * m_Extent[1] * m_Extent[2] * m_Extent[3]);
  }

  /** As many numbers as the bits can tell. */
  std::size_t
  CountNumbers() const
  {
    return std::size_t{ 1 } << m_AllBits;
  }

  /** The lowest bit of an axis. */
  int
  GetShift(int axis) const
  {
    return m_Shift[axis];
  }

  std::uint32_t
  GetPosition(TNumber number, int axis) const
  {
    return static_cast<std::uint32_t>(number) >> m_Shift[axis] & m_Mask[axis];
  }

  /** How many pixels ForEach() comes to before. */
  std::size_t
  GetIndex(TNumber number) const
  {
    std::size_t index = 0;
    for (int axis = Dimension - 1; axis >= 0; --axis)
    {
      index = index * static_cast<std::size_t>(m_Extent[axis]) + GetPosition(number, axis);
    }
    return index;
  }

  /** Calls body(number) for all pixels, along axis 0 first. */
  template <typename TBody>
  void
  ForEach(const TBody & body) const
  {
    for (std::int64_t d = 0; d < m_Extent[3]; ++d)
    {
      for (std::int64_t c = 0; c < m_Extent[2]; ++c)
      {
        for (std::int64_t b = 0; b < m_Extent[1]; ++b)
        {
          auto       number = static_cast<TNumber>(b << m_Shift[1] | c << m_Shift[2] | d << m_Shift[3]);
          const auto step = static_cast<TNumber>(1 << m_Shift[0]);
          for (auto left = m_Extent[0]; left > 0; --left, number = static_cast<TNumber>(number + step))
          {
            body(number);
          }
        }
      }
    }
  }

  /** The positions along an axis of so many pixels, whose numbers are numbers[0] and so on. */
  template <typename TNumbers, typename TPosition>
  void
  ListPositions(const TNumbers numbers, std::size_t count, int axis, TPosition * positions) const
  {
    // What is written may be anything, so that members would be read again each time.
    const auto shift = m_Shift[axis];
    const auto mask = static_cast<TNumber>(m_Mask[axis]);
    for (std::size_t i = 0; i < count; ++i)
    {
      positions[i] = static_cast<TPosition>(numbers[i] >> shift & mask);
    }
  }

private:
  std::int64_t  m_Extent[Dimension]{};
  std::uint32_t m_Mask[Dimension]{};
  int           m_Shift[Dimension]{};
  int           m_AllBits{ 0 };
};

} // namespace cudamedian

#endif
