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
#ifndef HistogramRowRunner_h
#define HistogramRowRunner_h

#include "DivideUp.h"
#include "AlignedVector.h"
#include "ColumnHistograms.h"
#include "KeyedImage.h"
#include "Slab.h"

#include <algorithm>
#include <vector>

namespace cudamedian
{

/** Slides windows over histograms of columns, for pixels of 8 bits: down the rows of a band the columns' histograms
 * change by the pixels that enter and leave them, and along a row the window's by two columns. A pixel costs as much in
 * any window of two axes, and along further axes the pixels of a column's rim. One object per work unit. */
template <KeyMapping VMapping>
class HistogramRowRunner
{
public:
  HistogramRowRunner(const MedianRequest & request, const PixelBox & output)
    : m_Image(request)
    , m_Request(request)
    , m_Mask(static_cast<std::uint8_t>(GetSignMask(request.pixelType)))
    , m_Extent(request.inputExtent)
    , m_Window(GetWindow(request))
    , m_Output(output)
    , m_Cut(Cut(request, output))
  {
    const auto columns = static_cast<std::size_t>(std::min(m_Extent[0], m_Cut.stripColumns + m_Window.GetSize(0) - 1));
    m_Coarse.resize(ColumnHistograms::CountCoarse(columns));
    m_Fine.resize(ColumnHistograms::CountFine(columns));
    m_Entering.resize(columns);
    m_Leaving.resize(columns);
    m_Medians.resize(static_cast<std::size_t>(m_Cut.stripColumns));
    if (m_Window.CountPixels() > 65535)
    {
      m_Rests.resize(m_Medians.size());
    }
  }

  static std::size_t
  CountRows(const MedianRequest & request, const PixelBox & output)
  {
    const auto   cut = Cut(request, output);
    const auto & extent = output.extent;
    return static_cast<std::size_t>(cut.strips * cut.bands * extent[2] * extent[3]);
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Coarse) + GetBytes(m_Fine) + GetBytes(m_Entering) + GetBytes(m_Leaving) + GetBytes(m_Medians) +
           GetBytes(m_Rests);
  }

  void
  Run(std::size_t number)
  {
    auto   rest = static_cast<std::int64_t>(number);
    Extent position = m_Output.origin;
    position[0] += rest % m_Cut.strips * m_Cut.stripColumns;
    rest /= m_Cut.strips;
    position[1] += rest % m_Cut.bands * m_Cut.bandRows;
    rest /= m_Cut.bands;
    position[2] += rest % m_Output.extent[2];
    position[3] += rest / m_Output.extent[2];

    const auto width = std::min(m_Cut.stripColumns, m_Output.origin[0] + m_Output.extent[0] - position[0]);
    const auto bandEnd = std::min(position[1] + m_Cut.bandRows, m_Output.origin[1] + m_Output.extent[1]);
    m_FirstColumn = m_Image.Clamp(0, position[0] - m_Window.radius[0]);
    m_Histograms = { m_Coarse.data(),
                     m_Fine.data(),
                     static_cast<std::size_t>(m_Image.Clamp(0, position[0] + width - 1 + m_Window.CountBehind(0)) + 1 -
                                              m_FirstColumn) };
    FillColumns(position);
    while (true)
    {
      const ColumnWindow window{ position[0] - m_FirstColumn,  m_Window.radius[0],
                                 m_Window.CountBehind(0),      static_cast<std::uint32_t>(m_Window.rank),
                                 RankRow(m_Request, position), !m_Rests.empty() };
      SlideOverColumns(m_Histograms,
                       window,
                       static_cast<std::size_t>(width),
                       m_Medians.data(),
                       m_Rests.empty() ? nullptr : m_Rests.data());
      m_Image.ToBits(m_Medians.data(), width);
      m_Image.StoreRow(position, m_Medians.data(), width);
      if (++position[1] == bandEnd)
      {
        return;
      }
      MoveDown(position);
    }
  }

private:
  /** How the output is cut for work units. */
  struct HistogramRowCut
  {
    std::int64_t stripColumns;
    std::int64_t bandRows;
    std::int64_t strips;
    std::int64_t bands;
  };

  static HistogramRowCut
  Cut(const MedianRequest & request, const PixelBox & output)
  {
    const auto & extent = output.extent;
    const auto   window = GetWindow(request);
    const auto   halo = window.GetSize(0) - 1;
    // The histograms of a strip's columns, 544 bytes each, stay within a second-level cache.
    constexpr std::int64_t mostColumns = 1536;
    const auto             most = std::max<std::int64_t>(256, mostColumns - halo);
    HistogramRowCut        cut;
    cut.strips = DivideUp(extent[0], most);
    cut.stripColumns = DivideUp(extent[0], cut.strips);
    // A band begins with all pixels of its columns, so that short ones cost more; but no work unit may be without one,
    // and none is to be busy with its second while others have none.
    const auto units = static_cast<std::int64_t>(std::max(1U, request.workUnits));
    const auto thrifty = 2 * window.GetSize(1);
    const auto rows = extent[1] * cut.strips * extent[2] * extent[3];
    const auto turns = std::clamp<std::int64_t>(rows / (units * thrifty), 1, 8);
    cut.bandRows = std::min(DivideUp(rows, units * turns), extent[1]);
    cut.bands = DivideUp(extent[1], cut.bandRows);
    return cut;
  }

  /** Calls body(position inside, times) for each position of the image that the window touches along an axis. */
  template <typename TBody>
  void
  ForEachClamped(int axis, std::int64_t center, const TBody & body) const
  {
    const auto first = center - m_Window.radius[axis];
    const auto last = center + m_Window.CountBehind(axis);
    for (auto position = m_Image.Clamp(axis, first); position <= m_Image.Clamp(axis, last); ++position)
    {
      const auto before = position == 0 ? first : position;
      const auto after = position == m_Extent[axis] - 1 ? last : position;
      body(position, static_cast<std::uint16_t>(after - before + 1));
    }
  }

  const std::uint8_t *
  LoadRow(std::int64_t y, std::int64_t z, std::int64_t w, std::vector<std::uint8_t> & keys) const
  {
    const auto * row = m_Image.GetRow(y, z, w) + m_FirstColumn;
    if (m_Mask == 0)
    {
      return row;
    }
    m_Image.ToKeys(row, keys.data(), static_cast<std::int64_t>(m_Histograms.columns));
    return keys.data();
  }

  /** Counts the columns' pixels in windows with their centre in the position's row. */
  void
  FillColumns(const Extent & position)
  {
    std::fill_n(m_Coarse.begin(), ColumnHistograms::CountCoarse(m_Histograms.columns), std::uint16_t{ 0 });
    std::fill_n(m_Fine.begin(), ColumnHistograms::CountFine(m_Histograms.columns), std::uint16_t{ 0 });
    ForEachClamped(3, position[3], [&](auto w, auto timesW) {
      ForEachClamped(2, position[2], [&](auto z, auto timesZ) {
        ForEachClamped(1, position[1], [&](auto y, auto timesY) {
          AddToColumns(
            m_Histograms, LoadRow(y, z, w, m_Entering), static_cast<std::uint16_t>(timesW * timesZ * timesY));
        });
      });
    });
  }

  /** Moves the columns to the position's row from the one above. */
  void
  MoveDown(const Extent & position)
  {
    const auto enters = m_Image.Clamp(1, position[1] + m_Window.CountBehind(1));
    const auto leaves = m_Image.Clamp(1, position[1] - m_Window.radius[1] - 1);
    if (enters == leaves)
    {
      return;
    }
    ForEachClamped(3, position[3], [&](auto w, auto timesW) {
      ForEachClamped(2, position[2], [&](auto z, auto timesZ) {
        MoveColumns(m_Histograms,
                    LoadRow(enters, z, w, m_Entering),
                    LoadRow(leaves, z, w, m_Leaving),
                    static_cast<std::uint16_t>(timesW * timesZ));
      });
    });
  }

  KeyedImage<std::uint8_t, VMapping> m_Image;
  const MedianRequest &              m_Request;
  std::uint8_t                       m_Mask;
  Extent                             m_Extent;
  Window                             m_Window;
  PixelBox                           m_Output;
  HistogramRowCut                    m_Cut;
  ColumnHistograms                   m_Histograms{};
  std::int64_t                       m_FirstColumn{ 0 }; ///< of the image that has a histogram
  AlignedVector<std::uint16_t>       m_Coarse;
  AlignedVector<std::uint16_t>       m_Fine;
  std::vector<std::uint8_t>          m_Entering; ///< keys of a row
  std::vector<std::uint8_t>          m_Leaving;
  std::vector<std::uint8_t>          m_Medians;
  std::vector<std::uint32_t>         m_Rests; ///< where a window has more than 65,535 pixels
};

} // namespace cudamedian

#endif
