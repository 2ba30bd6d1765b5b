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
#ifndef SortedRegion_h
#define SortedRegion_h

#include "AlignedVector.h"
#include "BinSearch.h"
#include "DigitSort.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace cudamedian
{

/** The pixels of a region in the order of their keys, cut into 256 bins of as many each: with one pixel more or less.
 */
template <typename TKey>
class SortedRegion
{
public:
  /** Makes room for the keys of a region of at most 2^28 pixels. \returns where they go, along axis 0 first. */
  TKey *
  Resize(const std::int64_t (&extent)[SortedBins::axes])
  {
    std::size_t count = 1;
    for (int axis = 0; axis < SortedBins::axes; ++axis)
    {
      m_Extent[axis] = extent[axis];
      count *= static_cast<std::size_t>(extent[axis]);
    }
    m_Keys.resize(count);
    return m_Keys.data();
  }

  /** Sorts them, and finds their bins and positions. \param isNeeded along which axes positions are. */
  void
  Sort(const std::array<bool, SortedBins::axes> & isNeeded)
  {
    NumberPixels();
    m_Sort.Sort(m_Keys, m_Numbers);
    const auto count = m_Keys.size();
    m_Bins.resize(count);
    for (int axis = 0; axis < SortedBins::axes; ++axis)
    {
      m_Sorted.positions[axis] = nullptr;
      if (isNeeded[axis])
      {
        auto & positions = m_Positions[axis];
        positions.resize(count + SortedBins::padding);
        const auto mask = (std::uint32_t{ 1 } << m_Bits[axis]) - 1;
        for (std::size_t i = 0; i < count; ++i)
        {
          positions[i] = static_cast<std::uint16_t>(m_Numbers[i] >> m_Shift[axis] & mask);
        }
        std::fill(positions.begin() + static_cast<std::ptrdiff_t>(count), positions.end(), SortedBins::outside);
        m_Sorted.positions[axis] = positions.data();
      }
    }
    for (std::size_t bin = 0; bin < SortedBins::bins; ++bin)
    {
      m_Firsts[bin] = static_cast<std::uint32_t>(count * bin / SortedBins::bins);
      const auto end = count * (bin + 1) / SortedBins::bins;
      for (std::size_t i = m_Firsts[bin]; i < end; ++i)
      {
        m_Bins[GetPlace(m_Numbers[i])] = static_cast<std::uint8_t>(bin);
      }
    }
    m_Sorted.firsts = m_Firsts.data();
  }

  /** The bins of a row of pixels, from its first on. */
  const std::uint8_t *
  GetBins(std::int64_t position1, std::int64_t position2, std::int64_t position3) const
  {
    return m_Bins.data() + ((position3 * m_Extent[2] + position2) * m_Extent[1] + position1) * m_Extent[0];
  }

  const SortedBins &
  GetSortedBins() const
  {
    return m_Sorted;
  }

  /** The key of a pixel of the order. */
  TKey
  GetKey(std::uint32_t place) const
  {
    return m_Keys[place];
  }

  std::size_t
  CountBytes() const
  {
    std::size_t bytes = GetBytes(m_Keys) + GetBytes(m_Numbers) + m_Sort.GetScratchBytes() + GetBytes(m_Bins);
    for (const auto & positions : m_Positions)
    {
      bytes += GetBytes(positions);
    }
    return bytes;
  }

private:
  /** A pixel's number has its positions along the axes in bits of their own. */
  void
  NumberPixels()
  {
    int shift = 0;
    for (int axis = 0; axis < SortedBins::axes; ++axis)
    {
      m_Bits[axis] = 0;
      while ((std::int64_t{ 1 } << m_Bits[axis]) < m_Extent[axis])
      {
        ++m_Bits[axis];
      }
      m_Shift[axis] = shift < 32 ? shift : 0; // where an axis has no bits, the shift does not matter
      shift += m_Bits[axis];
    }
    m_Numbers.resize(m_Keys.size());
    auto * number = m_Numbers.data();
    for (std::uint32_t d = 0; d < m_Extent[3]; ++d)
    {
      for (std::uint32_t c = 0; c < m_Extent[2]; ++c)
      {
        for (std::uint32_t b = 0; b < m_Extent[1]; ++b)
        {
          const auto row = b << m_Shift[1] | c << m_Shift[2] | d << m_Shift[3];
          for (std::uint32_t a = 0; a < m_Extent[0]; ++a)
          {
            *number++ = row | a;
          }
        }
      }
    }
  }

  std::size_t
  GetPlace(std::uint32_t number) const
  {
    std::size_t place = 0;
    for (int axis = SortedBins::axes - 1; axis >= 0; --axis)
    {
      const auto mask = (std::uint32_t{ 1 } << m_Bits[axis]) - 1;
      place = place * static_cast<std::size_t>(m_Extent[axis]) + (number >> m_Shift[axis] & mask);
    }
    return place;
  }

  std::int64_t                                m_Extent[SortedBins::axes]{ 1, 1, 1, 1 };
  int                                         m_Bits[SortedBins::axes]{};  ///< that positions along an axis take
  int                                         m_Shift[SortedBins::axes]{}; ///< where they start in a number
  std::vector<TKey>                           m_Keys;
  std::vector<std::uint32_t>                  m_Numbers; ///< of the pixels that have the keys
  DigitSort<TKey, std::uint32_t>              m_Sort;
  std::vector<std::uint8_t>                   m_Bins; ///< of the region's pixels
  AlignedVector<std::uint16_t>                m_Positions[SortedBins::axes];
  std::array<std::uint32_t, SortedBins::bins> m_Firsts{};
  SortedBins                                  m_Sorted{};
};

} // namespace cudamedian

#endif
