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
#ifndef SortedHistogramRunner_h
#define SortedHistogramRunner_h

#include "BinSearch.h"
#include "ColumnHistograms.h"
#include "HostBlock.h"
#include "RequestWindow.h"
#include "SortedRegion.h"

#include <algorithm>
#include <vector>

namespace cudamedian
{

/** Slides windows over histograms of columns, for pixels of any width: the pixels of a block's region are sorted once
 * and cut into 256 bins of as many each, the histograms tell the bin of each window's rank, and the pixels of that bin
 * are looked through in their order until so many lie in the window. A pixel costs as much in any window of two axes.
 * One object per work unit. */
template <typename TKey, KeyMapping VMapping>
class SortedHistogramRunner
{
public:
  SortedHistogramRunner(const MedianRequest & request, const HostBlockWork & work)
    : m_Image(request)
    , m_Request(request)
    , m_Window(GetWindow(request))
    , m_Block(m_Image, m_Window, work)
    , m_IsLarge(m_Window.CountPixels() > 65535)
  {}

  static std::size_t
  CountRows(const MedianRequest &, const HostBlockWork & work)
  {
    return HostBlock<TKey, VMapping>::Count(work);
  }

  std::size_t
  GetScratchBytes() const
  {
    return m_Region.CountBytes() + GetBytes(m_Coarse) + GetBytes(m_Fine) + GetBytes(m_RowBins) + GetBytes(m_Rests) +
           GetBytes(m_Places) + GetBytes(m_Medians);
  }

  void
  Run(std::size_t block)
  {
    m_Block.Locate(static_cast<std::int64_t>(block));
    const auto tile = [this](int i) { return m_Block.GetTile(i); };
    m_Block.Load(
      m_Region.Resize({ m_Block.GetRegion(0), m_Block.GetRegion(1), m_Block.GetRegion(2), m_Block.GetRegion(3) }));
    m_Region.Sort({ { tile(0) > 1, tile(1) > 1, tile(2) > 1, tile(3) > 1 } });
    const auto columns = static_cast<std::size_t>(m_Block.GetRegion(0));
    m_Coarse.resize(ColumnHistograms::CountCoarse(columns));
    m_Fine.resize(ColumnHistograms::CountFine(columns));
    m_Histograms = { m_Coarse.data(), m_Fine.data(), columns };
    const auto width = static_cast<std::size_t>(tile(0));
    m_RowBins.resize(width);
    m_Rests.resize(width);
    m_Places.resize(width);
    m_Medians.resize(width);
    for (m_Position[3] = 0; m_Position[3] < tile(3); ++m_Position[3])
    {
      for (m_Position[2] = 0; m_Position[2] < tile(2); ++m_Position[2])
      {
        for (m_Position[1] = 0; m_Position[1] < tile(1); ++m_Position[1])
        {
          m_Position[1] == 0 ? FillColumns() : MoveDown();
          FindRow();
        }
      }
    }
  }

private:
  /** Calls body(position 2, position 3) for the rows of pixels that windows have side by side. */
  template <typename TBody>
  void
  ForEachOfRim(const TBody & body) const
  {
    for (auto d = m_Position[3]; d < m_Position[3] + m_Block.GetWindow(3); ++d)
    {
      for (auto c = m_Position[2]; c < m_Position[2] + m_Block.GetWindow(2); ++c)
      {
        body(c, d);
      }
    }
  }

  /** Counts the columns' pixels in the windows of the position's row. */
  void
  FillColumns()
  {
    std::fill(m_Coarse.begin(), m_Coarse.end(), std::uint16_t{ 0 });
    std::fill(m_Fine.begin(), m_Fine.end(), std::uint16_t{ 0 });
    ForEachOfRim([&](auto c, auto d) {
      for (std::int64_t b = 0; b < m_Block.GetWindow(1); ++b)
      {
        AddToColumns(m_Histograms, m_Region.GetBins(b, c, d), 1);
      }
    });
  }

  /** Moves the columns to the position's row from the one above. */
  void
  MoveDown()
  {
    ForEachOfRim([&](auto c, auto d) {
      MoveColumns(m_Histograms,
                  m_Region.GetBins(m_Position[1] + m_Block.GetWindow(1) - 1, c, d),
                  m_Region.GetBins(m_Position[1] - 1, c, d),
                  1);
    });
  }

  /** Finds and stores the outputs of the position's row. */
  void
  FindRow()
  {
    const auto position = m_Block.GetPosition(m_Position);
    BinWindow  windows{};
    for (int i = 0; i < Dimension; ++i)
    {
      windows.corner[i] = static_cast<std::uint16_t>(m_Position[i]);
      windows.size[i] = static_cast<std::uint16_t>(m_Block.GetWindow(i));
    }
    const auto         width = static_cast<std::size_t>(m_Block.GetTile(0));
    const ColumnWindow window{ m_Window.radius[0],           m_Window.radius[0],
                               m_Window.CountBehind(0),      static_cast<std::uint32_t>(m_Window.rank),
                               RankRow(m_Request, position), m_IsLarge };
    SlideOverColumns(m_Histograms, window, width, m_RowBins.data(), m_Rests.data());
    FindInBins(m_Region.GetSortedBins(), windows, width, m_RowBins.data(), m_Rests.data(), m_Places.data());
    for (std::size_t i = 0; i < width; ++i)
    {
      m_Medians[i] = m_Region.GetKey(m_Places[i]);
    }
    m_Image.ToBits(m_Medians.data(), m_Block.GetTile(0));
    m_Image.StoreRow(position, m_Medians.data(), m_Block.GetTile(0));
  }

  KeyedImage<TKey, VMapping>   m_Image;
  const MedianRequest &        m_Request;
  Window                       m_Window;
  HostBlock<TKey, VMapping>    m_Block;
  bool                         m_IsLarge;
  std::int64_t                 m_Position[Dimension]{}; ///< of the row in the block, along the region's axes
  SortedRegion<TKey>           m_Region;
  ColumnHistograms             m_Histograms{};
  AlignedVector<std::uint16_t> m_Coarse;
  AlignedVector<std::uint16_t> m_Fine;
  std::vector<std::uint8_t>    m_RowBins; ///< those that the row's medians are in
  std::vector<std::uint32_t>   m_Rests;   ///< and how many of the window's pixels come before them there
  std::vector<std::uint32_t>   m_Places;  ///< of the medians in the order
  std::vector<TKey>            m_Medians;
};

} // namespace cudamedian

#endif
