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
#ifndef ThresholdRunner_h
#define ThresholdRunner_h

#include "FootprintRows.h"
#include "HostBlock.h"
#include "RankMap.h"
#include "RankedRegion.h"
#include "RequestWindow.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace cudamedian
{

/** Windows that keep a threshold, on the host: the pixels of a block's region are
 * sorted once, and have their ranks where they lie; see FindByThresholds(). One object per work unit. */
template <typename TKey, KeyMapping VMapping>
class ThresholdRunner
{
public:
  ThresholdRunner(const MedianRequest & request, const HostBlockWork & work)
    : m_Image(request)
    , m_Request(request)
    , m_Window(GetWindow(request))
    , m_Block(m_Image, m_Window, work)
  {
    if (m_Window.footprint != nullptr)
    {
      m_Rows = ListFootprintRows(*m_Window.footprint, work.shape.axes);
    }
  }

  static std::size_t
  CountRows(const MedianRequest &, const HostBlockWork & work)
  {
    return HostBlock<TKey, VMapping>::Count(work);
  }

  std::size_t
  GetScratchBytes() const
  {
    return m_Region.CountBytes() + GetBytes(m_Wanted) + GetBytes(m_Found) + GetBytes(m_Results);
  }

  void
  Run(std::size_t block)
  {
    m_Block.Locate(static_cast<std::int64_t>(block));
    const auto tile = [this](int i) { return m_Block.GetTile(i); };
    m_Block.Load(
      m_Region.Resize({ m_Block.GetRegion(0), m_Block.GetRegion(1), m_Block.GetRegion(2), m_Block.GetRegion(3) }));
    m_Region.Sort({ { true, true, tile(2) > 1, tile(3) > 1 } });
    const auto outputs = static_cast<std::size_t>(tile(0) * tile(1));
    m_Wanted.assign(outputs, static_cast<std::uint16_t>(m_Window.rank));
    m_Found.resize(outputs);
    m_Results.resize(static_cast<std::size_t>(tile(0)));
    auto         nearest = static_cast<std::uint16_t>(m_Region.GetPixels().count / 2);
    std::int64_t place[Dimension] = { 0, 0, 0, 0 };
    for (place[3] = 0; place[3] < tile(3); ++place[3])
    {
      for (place[2] = 0; place[2] < tile(2); ++place[2])
      {
        FindPlane(place, nearest);
        StorePlane(place);
      }
    }
  }

private:
  /** The ranks of the outputs along axes 0 and 1, from a place on. */
  void
  FindPlane(std::int64_t (&place)[Dimension], std::uint16_t & nearest)
  {
    ThresholdWindows windows{};
    for (int i = 0; i < Dimension; ++i)
    {
      windows.corner[i] = static_cast<std::uint8_t>(place[i]);
      windows.size[i] = static_cast<std::uint8_t>(m_Block.GetWindow(i));
    }
    if (m_Rows)
    {
      windows.first = m_Rows->first.data();
      windows.length = m_Rows->length.data();
    }
    windows.columns = static_cast<std::size_t>(m_Block.GetTile(0));
    windows.rows = static_cast<std::size_t>(m_Block.GetTile(1));
    ForEachRow(place, [this](const Extent & position, std::size_t first) {
      const RankRow ranks(m_Request, position);
      for (std::size_t i = 0; !ranks.IsEmpty() && i < m_Results.size(); ++i)
      {
        m_Wanted[first + i] = static_cast<std::uint16_t>(ranks[static_cast<std::ptrdiff_t>(i)]);
      }
    });
    FindByThresholds(m_Region.GetPixels(), windows, m_Wanted.data(), nearest, m_Found.data());
  }

  void
  StorePlane(std::int64_t (&place)[Dimension])
  {
    ForEachRow(place, [this](const Extent & position, std::size_t first) {
      for (std::size_t i = 0; i < m_Results.size(); ++i)
      {
        m_Results[i] = m_Region.GetKey(m_Found[first + i]);
      }
      m_Image.ToBits(m_Results.data(), m_Block.GetTile(0));
      m_Image.StoreRow(position, m_Results.data(), m_Block.GetTile(0));
    });
  }

  /** Calls body(image position, number of the first output) for each row of the outputs along axes 0 and 1. */
  template <typename TBody>
  void
  ForEachRow(std::int64_t (&place)[Dimension], const TBody & body) const
  {
    for (place[1] = 0; place[1] < m_Block.GetTile(1); ++place[1])
    {
      body(m_Block.GetPosition(place), static_cast<std::size_t>(place[1] * m_Block.GetTile(0)));
    }
    place[1] = 0;
  }

  KeyedImage<TKey, VMapping>   m_Image;
  const MedianRequest &        m_Request;
  Window                       m_Window;
  HostBlock<TKey, VMapping>    m_Block;
  RankedRegion<TKey>           m_Region;
  std::optional<FootprintRows> m_Rows;   ///< of a footprint
  std::vector<std::uint16_t>   m_Wanted; ///< how many pixels of the window come before, of each output
  std::vector<std::uint16_t>   m_Found;  ///< ranks of the outputs
  std::vector<TKey>            m_Results;
};

} // namespace cudamedian

#endif
