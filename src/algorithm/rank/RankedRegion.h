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
#ifndef RankedRegion_h
#define RankedRegion_h

#include "AlignedVector.h"
#include "DigitSort.h"
#include "PixelNumbers.h"
#include "ThresholdRows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** The pixels of a region, of at most 255 along each axis, whose positions along all axes have 16 bits together: in the
 * order of their keys, and the ranks that they have there. */
template <typename TKey>
class RankedRegion
{
public:
  /** Makes room for the keys of a region. \returns where they go, along axis 0 first. */
  TKey *
  Resize(const std::int64_t (&extent)[RankedPixels::axes])
  {
    m_PixelNumbers.SetExtent(extent, { 1, 2, 3, 0 });
    for (int axis = 0; axis < RankedPixels::axes; ++axis)
    {
      m_Pixels.shift[axis] = m_PixelNumbers.GetShift(axis);
    }
    m_Keys.resize(m_PixelNumbers.CountPixels());
    return m_Keys.data();
  }

  /** Finds their ranks. \param isNeeded along which axes positions are */
  void
  Sort(const std::array<bool, RankedPixels::axes> & isNeeded)
  {
    m_Ranks.resize(m_PixelNumbers.CountNumbers() + RankedPixels::padding / 2);
    auto * const ranks = m_Ranks.data(); // a pixel's number is its place
    m_Sort.Sort(
      m_Keys,
      [this](const auto & body) { m_PixelNumbers.ForEach(body); },
      [=](std::uint32_t rank, std::uint16_t number) {
        ranks[number] = static_cast<std::int16_t>(static_cast<int>(rank) - RankedPixels::offset);
      });
    for (int axis = 0; axis < RankedPixels::axes; ++axis)
    {
      m_Pixels.positions[axis] = isNeeded[axis] ? ListPositions(axis) : nullptr;
    }
    m_Pixels.ranks = m_Ranks.data();
    m_Pixels.count = static_cast<std::uint32_t>(m_Keys.size());
  }

  const RankedPixels &
  GetPixels() const
  {
    return m_Pixels;
  }

  /** The key of a rank. */
  TKey
  GetKey(std::uint16_t rank) const
  {
    return m_Sort.ToKey(m_Keys[m_PixelNumbers.GetIndex(m_Sort.GetNumbers()[rank])]);
  }

  std::size_t
  CountBytes() const
  {
    std::size_t bytes = GetBytes(m_Keys) + m_Sort.GetScratchBytes() + GetBytes(m_Ranks);
    for (const auto & positions : m_Positions)
    {
      bytes += GetBytes(positions);
    }
    return bytes;
  }

private:
  /** The positions along an axis by rank, with what surrounds them. */
  const std::uint8_t *
  ListPositions(int axis)
  {
    const auto count = m_Keys.size();
    auto &     positions = m_Positions[axis];
    positions.resize(count + 2 * RankedPixels::padding);
    auto * const first = positions.data() + RankedPixels::padding;
    std::fill(positions.data(), first, RankedPixels::outside);
    m_PixelNumbers.ListPositions(m_Sort.GetNumbers(), count, axis, first);
    std::fill(first + count, first + count + RankedPixels::padding, RankedPixels::outside);
    return first;
  }

  PixelNumbers<std::uint16_t>                               m_PixelNumbers;
  RankedPixels                                              m_Pixels{};
  std::vector<TKey>                                         m_Keys;
  DigitSort<TKey, std::uint16_t, false>                     m_Sort;
  AlignedVector<std::int16_t>                               m_Ranks;
  std::array<std::vector<std::uint8_t>, RankedPixels::axes> m_Positions;
};

} // namespace cudamedian

#endif
