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
#ifndef TileLineRing_h
#define TileLineRing_h

#include "AlignedVector.h"
#include "KeyLines.h"
#include "KeyedImage.h"
#include "TileRowCut.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cudamedian
{

/** Lines of keys (KeyLines.h) of the image's rows that the footprints of a row of tiles have, one for each row and
 * column of a tile. They are in a ring: down a band those of a footprint's rows, or, along a run, those of all rows of
 * the band, so that a pixel becomes a key once but for the ends of bands and runs. */
template <typename TKey, KeyMapping VMapping>
class TileLineRing
{
public:
  TileLineRing(const MedianRequest & request, const TileWork & work, const TileRowCut & cut)
    : m_Image(request)
    , m_Format(GetPixelFormat(request.pixelType))
    , m_Extent(request.inputExtent)
    , m_Radius(request.radius)
    , m_IsComplemented(work.isComplemented)
    , m_Tile(work.GetTile())
    , m_Footprint(GetTileFootprint(request, work))
    , m_Tiles(GetPhaseTiles(work))
    , m_RingRows(cut.ringRows)
    , m_Columns(static_cast<int>(m_Tile[0]))
  {
    const auto lineTiles =
      RoundUpToBlocks<TKey>(CountTilesOfPhases<TKey>(cut, m_Tiles) + (m_Footprint[0] - 1) / m_Tile[0]);
    m_LinePitch = GetLinePitch<TKey>(lineTiles);
    const auto lines = CountFootprintLines(m_Footprint) * m_Tile[0];
    m_Ring.resize(static_cast<std::size_t>(lines / m_Footprint[1] * m_RingRows * m_LinePitch));
    m_Lines.resize(static_cast<std::size_t>(lines));
    m_Edge.resize(static_cast<std::size_t>(m_Tile[0] * lineTiles));
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Ring) + GetBytes(m_Lines) + GetBytes(m_Edge);
  }

  /** Begins with a run's first slice of tiles. */
  void
  StartRun()
  {
    m_RingSlice = 0;
  }

  /** Goes on to the next slice of tiles. */
  void
  AdvanceSlice()
  {
    m_RingSlice = (m_RingSlice + m_Tile[2]) % m_Footprint[2];
  }

  /** Begins with a band's first row of tiles, for a strip of so many. */
  void
  StartBand(std::int64_t tiles)
  {
    m_RingRow = 0;
    m_StripTiles = tiles + m_Tiles.CountBeside() + (m_Footprint[0] - 1) / m_Tile[0];
  }

  /** Goes on to the next row of tiles. */
  void
  AdvanceRow()
  {
    m_RingRow = (m_RingRow + m_Tile[1]) % m_RingRows;
  }

  /** Loads rows from `firstRow` to before `rows` of the footprint's slices from `firstSlice` on. The others are in the
   * ring.
   * \param rules makes the rows; null: they are the image's */
  void
  Load(const Extent & origin, std::int64_t firstSlice, std::int64_t firstRow, std::int64_t rows, RuledRows * rules)
  {
    for (std::int64_t w = 0; w < m_Footprint[3]; ++w)
    {
      for (std::int64_t z = firstSlice; z < m_Footprint[2]; ++z)
      {
        for (std::int64_t y = firstRow; y < rows; ++y)
        {
          std::array<TKey *, mostTileColumns> lines{};
          lines[0] = GetLine(w * m_Footprint[2] + z, y);
          for (int column = 1; column < m_Columns; ++column)
          {
            lines[column] = lines[column - 1] + m_LinePitch;
          }
          const auto row = origin[1] - m_Radius[1] + y;
          const auto slice = origin[2] - m_Radius[2] + z;
          const auto place = origin[3] - m_Radius[3] + w;
          if (rules != nullptr)
          {
            // From the first column on that is seen, and no shared value is computed beside.
            const auto * pixels = static_cast<const TKey *>(rules->GetRow(row, slice, place));
            Split(pixels, 0, RoundUpToBlocks<TKey>(m_StripTiles), lines.data());
            continue;
          }
          LoadLine(m_Image.GetRow(m_Image.Clamp(1, row), m_Image.Clamp(2, slice), m_Image.Clamp(3, place)),
                   origin[0] - m_Radius[0] + m_Tiles.first * m_Tile[0],
                   lines.data());
        }
      }
    }
  }

  /** The lines of the footprint of the strip's first tile, a tile's columns fastest. */
  const std::vector<TKey *> &
  FindLines()
  {
    TKey ** lines = m_Lines.data();
    for (std::int64_t plane = 0; plane < m_Footprint[2] * m_Footprint[3]; ++plane)
    {
      for (std::int64_t y = 0; y < m_Footprint[1]; ++y)
      {
        TKey * line = GetLine(plane, y) - m_Tiles.first;
        for (int column = 0; column < m_Columns; ++column)
        {
          *lines++ = line + column * m_LinePitch;
        }
      }
    }
    return m_Lines;
  }

private:
  /** The line of keys at a row of the footprint and, first, in a column of the tile. */
  TKey *
  GetLine(std::int64_t plane, std::int64_t y)
  {
    const auto slice = plane / m_Footprint[2] * m_Footprint[2] + (m_RingSlice + plane) % m_Footprint[2];
    const auto row = slice * m_RingRows + (m_RingRow + y) % m_RingRows;
    return m_Ring.data() + row * m_Tile[0] * m_LinePitch;
  }

  /** The keys of a row from position `first` on, clamped at both ends. */
  void
  LoadLine(const TKey * row, std::int64_t first, TKey * const * lines)
  {
    const auto count = RoundUpToBlocks<TKey>(m_StripTiles) * m_Tile[0];
    if (!m_Image.Contains(row, first, count))
    {
      m_Image.CopyRow(row, first, count, m_Edge.data());
      return Split(m_Edge.data(), 0, RoundUpToBlocks<TKey>(m_StripTiles), lines);
    }
    // What lies beyond the row's ends comes from its neighbours first.
    Split(row + first, 0, RoundUpToBlocks<TKey>(m_StripTiles), lines);
    const auto before = std::min(m_StripTiles, std::max<std::int64_t>(0, (m_Tile[0] - 1 - first) / m_Tile[0]));
    const auto after = std::max(before, (m_Extent[0] - first) / m_Tile[0]);
    Clamp(row, first, 0, before, lines);
    Clamp(row, first, after, m_StripTiles, lines);
  }

  /** The keys of some tiles of a row, one by one. */
  void
  Clamp(const TKey * row, std::int64_t first, std::int64_t begin, std::int64_t end, TKey * const * lines)
  {
    for (auto tile = begin; tile < end; ++tile)
    {
      for (int column = 0; column < m_Columns; ++column)
      {
        const auto key = m_Image.ToKey(row[m_Image.Clamp(0, first + tile * m_Tile[0] + column)]);
        lines[column][tile] = m_IsComplemented ? static_cast<TKey>(~key) : key;
      }
    }
  }

  /** The keys of some tiles of a row that lies in memory. */
  void
  Split(const TKey * pixels, std::int64_t tile, std::int64_t tiles, TKey * const * lines)
  {
    if (tiles > 0)
    {
      for (int column = 0; column < m_Columns; ++column)
      {
        m_SplitLines[column] = lines[column] + tile;
      }
      PixelsToLines(m_Format, pixels, m_SplitLines, m_Columns, static_cast<std::size_t>(tiles), m_IsComplemented);
    }
  }

  KeyedImage<TKey, VMapping> m_Image;
  PixelFormat                m_Format;
  Extent                     m_Extent;
  Extent                     m_Radius;
  bool                       m_IsComplemented;
  Extent                     m_Tile;
  Extent                     m_Footprint;
  PhaseTiles                 m_Tiles;
  std::int64_t               m_RingRows;
  int                        m_Columns;         ///< of a tile
  std::int64_t               m_StripTiles{ 0 }; ///< keys of a line that a strip needs, from its first tile on
  std::int64_t               m_LinePitch;
  AlignedVector<TKey>        m_Ring;
  std::int64_t               m_RingRow{ 0 };   ///< where the first row of the footprint is in the ring …
  std::int64_t               m_RingSlice{ 0 }; ///< … and its first slice
  std::vector<TKey *>        m_Lines;          ///< of the footprint
  std::vector<TKey>          m_Edge;           ///< pixels at the ends of rows
  void *                     m_SplitLines[mostTileColumns];
};

} // namespace cudamedian

#endif
