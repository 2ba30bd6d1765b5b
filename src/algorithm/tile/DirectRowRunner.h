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
#ifndef DirectRowRunner_h
#define DirectRowRunner_h

#include "DivideUp.h"
#include "AlignedVector.h"
#include "KeyLines.h"
#include "KeyedImage.h"
#include "RankMap.h"
#include "RowPrograms.h"
#include "TileHost.h"

#include <algorithm>

namespace cudamedian
{

/** Runs a row program of one column (RowPrograms.h) along rows of integers, a pixel in each lane of a vector. One
 * object per work unit.
 *
 * The lines of a footprint are rows of the image, and medians are rows of the output: pixels are read and written where
 * they are. Only at the ends of rows lines pass through copies, and so do medians that fill no block of lines.
 *
 * The output is cut into strips along axis 0, bands along axis 1 and runs along axis 2. The slices that a row of tiles
 * reads stay in a second-level cache while a run passes over a band. */
template <typename TKey>
class DirectRowRunner
{
public:
  DirectRowRunner(const MedianRequest & request, const TileWork & work)
    : m_Request(request)
    , m_Image(request)
    , m_IsSigned(GetSignMask(request.pixelType) != 0)
    , m_Extent(request.inputExtent)
    , m_Radius(request.radius)
    , m_Output(work.output)
    , m_Program(*work.rowProgram)
    , m_Tile(m_Program.tile)
    , m_Footprint(GetWindow(request).GetFootprint(m_Tile))
    , m_Cut(Cut(request, work))
  {
    const auto lines = static_cast<std::size_t>(m_Footprint[1] * m_Footprint[2] * m_Footprint[3]);
    const auto medians = static_cast<std::size_t>(Volume(m_Tile));
    m_CopyPitch = RoundUpToBlocks<TKey>(longestCopy + m_Footprint[0] - 1);
    m_Rows.resize(lines);
    m_Lines.resize(lines);
    m_Outputs.resize(medians);
    m_Medians.resize(medians);
    m_LineCopies.resize(lines * static_cast<std::size_t>(m_CopyPitch));
    m_MedianCopies.resize(medians * static_cast<std::size_t>(longestCopy));
    m_Ranks.resize(m_Program.window.ranks > 1 ? medians : 0);
    m_RankRows.resize(m_Ranks.size());
    m_RankCopies.resize(m_Ranks.size() * static_cast<std::size_t>(longestCopy));
    m_Slots.resize(m_Program.slots * rowSlotBytes / sizeof(TKey));
    m_Rules = work.rules != nullptr ? (*work.rules)() : nullptr;
  }

  static std::size_t
  CountRows(const MedianRequest & request, const TileWork & work)
  {
    return static_cast<std::size_t>(Cut(request, work).Count());
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Rows) + GetBytes(m_Lines) + GetBytes(m_Outputs) + GetBytes(m_Medians) + GetBytes(m_LineCopies) +
           GetBytes(m_MedianCopies) + GetBytes(m_RankCopies) + GetBytes(m_Slots) +
           (m_Rules ? m_Rules->GetScratchBytes() : 0);
  }

  void
  Run(std::size_t number)
  {
    auto       rest = static_cast<std::int64_t>(number);
    const auto next = [&rest](std::int64_t count) {
      const auto index = rest % count;
      rest /= count;
      return index;
    };
    const auto x = next(m_Cut.strips) * m_Cut.strip;
    const auto width = std::min(m_Cut.strip, m_Output.extent[0] - x);
    const auto firstRow = next(m_Cut.bands) * m_Cut.bandRows;
    const auto firstSlice = next(m_Cut.runs) * m_Cut.runSlices;
    const auto lastRow = std::min(firstRow + m_Cut.bandRows, m_Cut.tiles[1]);
    const auto lastSlice = std::min(firstSlice + m_Cut.runSlices, m_Cut.tiles[2]);
    if (m_Rules)
    {
      StartRules({ { x, firstRow, firstSlice, rest } }, { { width, lastRow, lastSlice, rest + 1 } });
    }
    for (auto z = firstSlice; z < lastSlice; ++z)
    {
      for (auto y = firstRow; y < lastRow; ++y)
      {
        Extent origin = m_Output.origin;
        origin[0] += x;
        origin[1] += y * m_Tile[1];
        origin[2] += z * m_Tile[2];
        origin[3] += rest * m_Tile[3];
        RunTiles(origin, width);
      }
    }
  }

private:
  static constexpr auto blockKeys = lineBlockKeys<TKey>;
  /** Pixels that are run together at the ends of rows. */
  static constexpr auto longestCopy = 4 * blockKeys;

  /** How the output is cut for work units. */
  struct DirectRowCut
  {
    std::int64_t strip;     ///< pixels along axis 0
    std::int64_t bandRows;  ///< rows of tiles along axis 1
    std::int64_t runSlices; ///< slices of tiles along axis 2
    Extent       tiles;     ///< along each axis
    std::int64_t strips;
    std::int64_t bands;
    std::int64_t runs;

    std::int64_t
    Count() const
    {
      return strips * bands * runs * tiles[3];
    }
  };

  static DirectRowCut
  Cut(const MedianRequest & request, const TileWork & work)
  {
    // What a run reads again for its next slice stays in a second-level cache.
    constexpr std::int64_t bandBytes = 512 * 1024;

    const auto & tile = work.rowProgram->tile;
    const auto & extent = work.output.extent;
    DirectRowCut cut;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      cut.tiles[axis] = DivideUp(extent[axis], tile[axis]);
    }
    const auto footprint = GetWindow(request).GetFootprint(tile);
    const auto planes = footprint[2] * footprint[3];
    const auto tileRowBytes = extent[0] * std::int64_t{ sizeof(TKey) } * planes * tile[1];
    cut.strip = RoundUpToBlocks<TKey>(extent[0]);
    cut.bandRows = std::min(cut.tiles[1], std::max<std::int64_t>(1, bandBytes / tileRowBytes));
    cut.runSlices = cut.tiles[2];
    const auto wanted = 16 * static_cast<std::int64_t>(std::max(1U, request.workUnits));
    const auto divide = [&] {
      cut.strips = DivideUp(extent[0], cut.strip);
      cut.bands = DivideUp(cut.tiles[1], cut.bandRows);
      cut.runs = DivideUp(cut.tiles[2], cut.runSlices);
      return cut.Count();
    };
    // A run reads its first slices for itself alone, and a strip its first columns.
    const auto shorten = [&](std::int64_t & length, std::int64_t unit, std::int64_t least) {
      while (divide() < wanted && length > least * unit)
      {
        length = std::max(least, DivideUp(length / unit, 2)) * unit;
      }
    };
    shorten(cut.runSlices, 1, 8);
    shorten(cut.bandRows, 1, 1);
    shorten(cut.runSlices, 1, 1);
    shorten(cut.strip, blockKeys, 4);
    return cut;
  }

  /** Begins with the outputs of tiles from one to before another, but for axis 0, where it is a pixel and their number.
   */
  void
  StartRules(const Extent & first, const Extent & last)
  {
    PixelBox box = m_Output;
    box.origin[0] += first[0];
    box.extent[0] = last[0];
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto begin = first[axis] * m_Tile[axis];
      box.origin[axis] += begin;
      box.extent[axis] = std::min(last[axis] * m_Tile[axis], m_Output.extent[axis]) - begin;
    }
    m_Rules->Start(box, m_Tile, blockKeys);
  }

  /** Runs a row of tiles, from a pixel of the output on. */
  void
  RunTiles(const Extent & origin, std::int64_t width)
  {
    FindRows(origin);
    FindOutputs(origin);
    if (m_IsEmpty)
    {
      return FinishRows(origin);
    }
    if (m_Rules && m_Rules->HasRows())
    {
      // Rows have what windows see, from the first column on.
      m_Lines = m_Rows;
      const auto whole = width / blockKeys * blockKeys;
      RunSegment(origin, 0, whole);
      RunSegment(origin, whole, width - whole);
      return FinishRows(origin);
    }
    for (std::int64_t x = 0; x < width;)
    {
      const auto rest = width - x;
      const auto column = origin[0] + x - m_Radius[0];
      const auto inside = std::min(rest, m_Extent[0] - column - (m_Footprint[0] - 1)) / blockKeys * blockKeys;
      if (column >= 0 && inside > 0)
      {
        std::transform(m_Rows.begin(), m_Rows.end(), m_Lines.begin(), [&](const TKey * row) { return row + column; });
        RunSegment(origin, x, inside);
        x += inside;
      }
      else
      {
        // As few as can be at the first end.
        const auto pixels = column < 0 && rest > blockKeys ? blockKeys : std::min(rest, longestCopy);
        CopyLines(column, RoundUpToBlocks<TKey>(pixels) + m_Footprint[0] - 1);
        RunSegment(origin, x, pixels);
        x += pixels;
      }
    }
    FinishRows(origin);
  }

  /** Applies the rules to the rows of a row of tiles. */
  void
  FinishRows(const Extent & origin)
  {
    for (std::size_t i = 0; m_Rules && i < m_Outputs.size(); ++i)
    {
      if (m_Outputs[i] != nullptr)
      {
        m_Rules->Finish(GetRowOfTile(origin, m_Tile, i), i, m_Outputs[i]);
      }
    }
  }

  /** Finds the rows of the image that are the lines of the footprint. */
  void
  FindRows(const Extent & origin)
  {
    auto row = m_Rows.begin();
    for (std::int64_t w = 0; w < m_Footprint[3]; ++w)
    {
      for (std::int64_t z = 0; z < m_Footprint[2]; ++z)
      {
        for (std::int64_t y = 0; y < m_Footprint[1]; ++y)
        {
          const auto there = origin[1] - m_Radius[1] + y;
          const auto slice = origin[2] - m_Radius[2] + z;
          const auto place = origin[3] - m_Radius[3] + w;
          *row++ = m_Rules && m_Rules->HasRows()
                     ? static_cast<const TKey *>(m_Rules->GetRow(there, slice, place))
                     : m_Image.GetRow(m_Image.Clamp(1, there), m_Image.Clamp(2, slice), m_Image.Clamp(3, place));
        }
      }
    }
  }

  /** Finds the rows of the output that the medians of a row of tiles belong to. */
  void
  FindOutputs(const Extent & origin)
  {
    m_HasOutside = false;
    m_IsEmpty = m_Rules != nullptr && !m_RankRows.empty();
    for (std::size_t i = 0; i < m_Outputs.size(); ++i)
    {
      const auto position = GetRowOfTile(origin, m_Tile, i);
      const bool inside = IsRowOf(m_Output, position);
      m_Outputs[i] = inside ? static_cast<TKey *>(m_Image.GetOutput(position)) : nullptr;
      m_HasOutside = m_HasOutside || !inside;
      if (inside && !m_RankRows.empty())
      {
        m_RankRows[i] = m_Rules ? m_Rules->FindRanks(position, i)
                                : static_cast<const std::uint8_t *>(RankRow(m_Request, position).GetFirst());
        m_IsEmpty = m_IsEmpty && m_RankRows[i] == nullptr;
      }
    }
  }

  /** Copies so many columns of the lines, clamped at both ends of the rows. */
  void
  CopyLines(std::int64_t column, std::int64_t columns)
  {
    TKey * copy = m_LineCopies.data();
    for (std::size_t i = 0; i < m_Rows.size(); ++i, copy += m_CopyPitch)
    {
      m_Lines[i] = copy;
      m_Image.CopyRow(m_Rows[i], column, columns, copy);
    }
  }

  /** Finds the ranks of so many pixels of each row, from column x of a strip on. Pixels beyond the output have any. */
  void
  FindRanks(std::int64_t x, std::int64_t pixels)
  {
    const bool     isCopied = pixels % blockKeys != 0;
    std::uint8_t * copy = m_RankCopies.data();
    for (std::size_t i = 0; i < m_Ranks.size(); ++i, copy += longestCopy)
    {
      m_Ranks[i] = copy;
      if (m_Outputs[i] != nullptr && m_RankRows[i] != nullptr)
      {
        const std::uint8_t * ranks = m_RankRows[i] + x;
        m_Ranks[i] = isCopied ? copy : ranks;
        std::copy_n(ranks, isCopied ? pixels : 0, copy);
      }
    }
  }

  /** Runs the program on so many pixels from column x of a strip on, and stores their medians. */
  void
  RunSegment(const Extent & origin, std::int64_t x, std::int64_t pixels)
  {
    const bool isDirect = m_Image.StoresBits() && pixels % blockKeys == 0;
    for (std::int64_t done = 0; done < pixels;)
    {
      // Medians that are copied have no more room.
      const auto count = isDirect && !m_HasOutside ? pixels : std::min(pixels - done, longestCopy);
      TKey *     copy = m_MedianCopies.data();
      for (std::size_t i = 0; i < m_Medians.size(); ++i, copy += longestCopy)
      {
        m_Medians[i] = isDirect && m_Outputs[i] != nullptr ? m_Outputs[i] + x + done : copy;
      }
      FindRanks(x + done, count);
      m_Program.run(sizeof(TKey),
                    0,
                    { m_Lines.data(),
                      nullptr,
                      m_Medians.data(),
                      m_Slots.data(),
                      static_cast<std::size_t>(RoundUpToBlocks<TKey>(count)),
                      0,
                      false,
                      m_IsSigned,
                      m_Ranks.data() });
      for (std::size_t i = 0; !isDirect && i < m_Medians.size(); ++i)
      {
        if (m_Outputs[i] != nullptr)
        {
          auto position = GetRowOfTile(origin, m_Tile, i);
          position[0] += x + done;
          m_Image.StoreRow(position, m_Medians[i], count);
        }
      }
      for (auto & line : m_Lines)
      {
        line += count;
      }
      done += count;
    }
  }

  const MedianRequest &                 m_Request;
  KeyedImage<TKey, KeyMapping::Integer> m_Image;
  bool                                  m_IsSigned;
  Extent                                m_Extent;
  Extent                                m_Radius;
  PixelBox                              m_Output;
  const RowProgram &                    m_Program;
  Extent                                m_Tile;
  Extent                                m_Footprint;
  DirectRowCut                          m_Cut;
  std::int64_t                          m_CopyPitch;
  std::vector<const TKey *>             m_Rows;    ///< of the image, clamped: the lines of the footprint
  std::vector<const TKey *>             m_Lines;   ///< of a segment, from the first column that is read
  std::vector<TKey *>                   m_Outputs; ///< rows of the output, or null outside it
  bool                                  m_HasOutside{ false };
  bool                                  m_IsEmpty{ false }; ///< whether no window of a row of tiles has a valid pixel
  std::unique_ptr<RuledRows>            m_Rules;            ///< null: rows are the image's
  std::vector<TKey *>                   m_Medians;          ///< of a segment
  AlignedVector<TKey>                   m_LineCopies;
  AlignedVector<TKey>                   m_MedianCopies;
  AlignedVector<TKey>                   m_Slots;
  std::vector<const std::uint8_t *> m_RankRows; ///< ranks of each row of the output, where the program finds several
  std::vector<const std::uint8_t *> m_Ranks;    ///< of a segment
  AlignedVector<std::uint8_t>       m_RankCopies;
};

} // namespace cudamedian

#endif
