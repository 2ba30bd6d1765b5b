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
#include "PixelNumbers.h"

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
    std::copy(extent, extent + SortedBins::axes, m_Extent);
    m_PixelNumbers.SetExtent(extent, { 0, 1, 2, 3 });
    m_Keys.resize(m_PixelNumbers.CountPixels());
    return m_Keys.data();
  }

  /** Sorts them, and finds their bins and positions. \param isNeeded along which axes positions are. */
  void
  Sort(const std::array<bool, SortedBins::axes> & isNeeded)
  {
    m_Sort.Sort(
      m_Keys, [this](const auto & body) { m_PixelNumbers.ForEach(body); }, [](std::uint32_t, std::uint32_t) {});
    const auto count = m_Keys.size();
    m_Bins.resize(count);
    for (int axis = 0; axis < SortedBins::axes; ++axis)
    {
      m_Sorted.positions[axis] = nullptr;
      if (isNeeded[axis])
      {
        auto & positions = m_Positions[axis];
        positions.resize(count + SortedBins::padding);
        m_PixelNumbers.ListPositions(m_Sort.GetNumbers(), count, axis, positions.data());
        std::fill(positions.begin() + static_cast<std::ptrdiff_t>(count), positions.end(), SortedBins::outside);
        m_Sorted.positions[axis] = positions.data();
      }
    }
    const auto numbers = m_Sort.GetNumbers();
    for (std::size_t bin = 0; bin < SortedBins::bins; ++bin)
    {
      m_Firsts[bin] = static_cast<std::uint32_t>(count * bin / SortedBins::bins);
      const auto end = count * (bin + 1) / SortedBins::bins;
      for (std::size_t i = m_Firsts[bin]; i < end; ++i)
      {
        m_Bins[m_PixelNumbers.GetIndex(numbers[i])] = static_cast<std::uint8_t>(bin);
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
    return m_Sort.GetKey(place);
  }

  std::size_t
  CountBytes() const
  {
    std::size_t bytes = GetBytes(m_Keys) + m_Sort.GetScratchBytes() + GetBytes(m_Bins);
    for (const auto & positions : m_Positions)
    {
      bytes += GetBytes(positions);
    }
    return bytes;
  }

private:
  std::int64_t                                m_Extent[SortedBins::axes]{ 1, 1, 1, 1 };
  PixelNumbers<std::uint32_t>                 m_PixelNumbers;
  std::vector<TKey>                           m_Keys;
  DigitSort<TKey, std::uint32_t, true>        m_Sort;
  std::vector<std::uint8_t>                   m_Bins; ///< of the region's pixels
  AlignedVector<std::uint16_t>                m_Positions[SortedBins::axes];
  std::array<std::uint32_t, SortedBins::bins> m_Firsts{};
  SortedBins                                  m_Sorted{};
};

} // namespace cudamedian

#endif
