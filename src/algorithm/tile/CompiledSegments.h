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
#ifndef CompiledSegments_h
#define CompiledSegments_h

#include "AlignedVector.h"
#include "KeyLines.h"
#include "KeyedImage.h"
#include "RankMap.h"
#include "RowPrograms.h"
#include "TileRowCut.h"

#include <algorithm>
#include <vector>

namespace cudamedian
{

/** Runs a program that is compiled ahead (RowPrograms.h) on segments of rows of tiles. It writes rows of pixels, and
 * may have phases: what neighbouring tiles share is then computed once for a row of tiles, and kept in a line for each
 * shared value. */
template <typename TKey, KeyMapping VMapping>
class CompiledSegments
{
public:
  CompiledSegments(const MedianRequest & request, const TileWork & work, const TileRowCut & cut)
    : m_Request(request)
    , m_Image(request)
    , m_Output(work.output)
    , m_Program(*work.rowProgram)
    , m_Tile(m_Program.tile)
    , m_Lanes(cut.lanes)
    , m_KeyMask(GetKeyMask(GetPixelFormat(request.pixelType), work.isComplemented))
  {
    const auto tiles = GetPhaseTiles(work);
    m_FirstTile = tiles.first;
    m_SharedPitch = GetLinePitch<TKey>(CountTilesOfPhases<TKey>(cut, tiles));
    m_Rows.resize(static_cast<std::size_t>(m_Tile[1] * m_Tile[2] * m_Tile[3]));
    m_SegmentLines.resize(static_cast<std::size_t>(CountFootprintLines(GetTileFootprint(request, work)) * m_Tile[0]));
    m_SegmentShared.resize(m_Program.sharedValues);
    m_Shared.resize(m_Program.sharedValues * static_cast<std::size_t>(m_SharedPitch));
    m_Slots.resize(m_Program.slots * rowSlotBytes / sizeof(TKey));
    m_Copies.resize(m_Rows.size() * static_cast<std::size_t>(m_Tile[0] * m_Lanes));
    m_Ranks.resize(m_Program.window.ranks > 1 ? m_Rows.size() : 0);
    m_RankRows.resize(m_Ranks.size());
    m_RankCopies.resize(m_Ranks.size() * static_cast<std::size_t>(m_Tile[0] * m_Lanes));
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Shared) + GetBytes(m_Slots) + GetBytes(m_Copies) + GetBytes(m_RankCopies);
  }

  /** Finds where the ranks of a row of tiles' outputs lie. \returns whether a window may have a valid pixel */
  bool
  FindRankRows(const Extent & origin, RuledRows * rules)
  {
    bool isEmpty = rules != nullptr && !m_RankRows.empty();
    for (std::size_t i = 0; i < m_RankRows.size(); ++i)
    {
      const auto position = GetRowOfTile(origin, m_Tile, i);
      m_RankRows[i] = nullptr;
      if (IsRowOf(m_Output, position))
      {
        m_RankRows[i] = rules != nullptr ? rules->FindRanks(position, i)
                                         : static_cast<const std::uint8_t *>(RankRow(m_Request, position).GetFirst());
        isEmpty = isEmpty && m_RankRows[i] == nullptr;
      }
    }
    return !isEmpty;
  }

  /** Applies rules to the outputs of a row of tiles. */
  void
  FinishRows(const Extent & origin, RuledRows & rules) const
  {
    for (std::size_t i = 0; i < m_Rows.size(); ++i)
    {
      const auto position = GetRowOfTile(origin, m_Tile, i);
      if (IsRowOf(m_Output, position))
      {
        rules.Finish(position, i, m_Image.GetOutput(position));
      }
    }
  }

  /** Runs all phases but the last, for a row of so many tiles of a strip with these lines. */
  void
  RunSharedPhases(const std::vector<TKey *> & lines, std::int64_t tiles)
  {
    for (std::size_t phase = 0; phase + 1 < m_Program.phases.size(); ++phase)
    {
      const auto first = std::int64_t{ m_Program.phases[phase].first };
      RunPhase(lines, phase, first, RoundUpToBlocks<TKey>(tiles + m_Program.phases[phase].last - first));
    }
  }

  /** Runs the program's last phase on so many tiles, from a tile of the strip on, of whose pixels `room`, or fewer, lie
   * in the strip: whole blocks are written to the image. */
  void
  RunSegment(const std::vector<TKey *> & lines,
             const Extent &              origin,
             std::int64_t                tile,
             std::int64_t                tiles,
             std::int64_t                room)
  {
    const auto last = m_Program.phases.size() - 1;
    const auto whole = m_Image.StoresBits() ? std::min(tiles, room / (blockKeys * m_Tile[0]) * blockKeys) : 0;
    const auto find = [&](std::int64_t firstTile, bool isCopied) {
      TKey * copy = m_Copies.data();
      for (std::size_t i = 0; i < m_Rows.size(); ++i, copy += m_Lanes * m_Tile[0])
      {
        auto position = GetRowOfTile(origin, m_Tile, i);
        position[0] += firstTile * m_Tile[0];
        m_Rows[i] = isCopied || !IsRowOf(m_Output, position) ? copy : static_cast<TKey *>(m_Image.GetOutput(position));
      }
    };
    if (whole > 0)
    {
      find(tile, false);
      FindRanks(tile, whole * m_Tile[0], false);
      RunPhase(lines, last, tile, whole);
    }
    if (whole < tiles)
    {
      find(tile + whole, true);
      FindRanks(tile + whole, std::min(room, tiles * m_Tile[0]) - whole * m_Tile[0], true);
      RunPhase(lines, last, tile + whole, tiles - whole);
      for (std::size_t i = 0; i < m_Rows.size(); ++i)
      {
        auto position = GetRowOfTile(origin, m_Tile, i);
        position[0] += (tile + whole) * m_Tile[0];
        if (IsRowOf(m_Output, position))
        {
          m_Image.StoreRow(position, m_Rows[i], std::min(room, tiles * m_Tile[0]) - whole * m_Tile[0]);
        }
      }
    }
  }

private:
  static constexpr auto blockKeys = lineBlockKeys<TKey>;

  /** Finds the ranks of so many pixels of each row, from a tile of the strip on. Rows beyond the output have any. */
  void
  FindRanks(std::int64_t tile, std::int64_t pixels, bool isCopied)
  {
    std::uint8_t * copy = m_RankCopies.data();
    for (std::size_t i = 0; i < m_Ranks.size(); ++i, copy += m_Lanes * m_Tile[0])
    {
      m_Ranks[i] = copy;
      if (m_RankRows[i] != nullptr)
      {
        const std::uint8_t * first = m_RankRows[i] + tile * m_Tile[0];
        m_Ranks[i] = isCopied ? copy : first;
        std::copy_n(first, isCopied ? pixels : 0, copy);
      }
    }
  }

  /** Runs a phase for so many tiles, from a tile of the strip on. */
  void
  RunPhase(const std::vector<TKey *> & lines, std::size_t phase, std::int64_t tile, std::int64_t tiles)
  {
    std::transform(lines.begin(), lines.end(), m_SegmentLines.begin(), [&](TKey * line) { return line + tile; });
    TKey * shared = m_Shared.data() + tile - m_FirstTile;
    for (auto & line : m_SegmentShared)
    {
      line = shared;
      shared += m_SharedPitch;
    }
    m_Program.run(sizeof(TKey),
                  static_cast<int>(phase),
                  { m_SegmentLines.data(),
                    m_SegmentShared.data(),
                    m_Rows.data(),
                    m_Slots.data(),
                    static_cast<std::size_t>(tiles),
                    m_KeyMask,
                    VMapping == KeyMapping::Float,
                    false,
                    m_Ranks.data() });
  }

  const MedianRequest &      m_Request;
  KeyedImage<TKey, VMapping> m_Image;
  PixelBox                   m_Output;
  const RowProgram &         m_Program;
  Extent                     m_Tile;
  std::int64_t               m_Lanes; ///< tiles of a segment at most
  std::uint64_t              m_KeyMask;
  int                        m_FirstTile; ///< that any phase runs for, relative to a strip's first: 0 or less
  std::int64_t               m_SharedPitch;
  AlignedVector<TKey>        m_Shared; ///< a line for each value that tiles share
  std::vector<TKey *>        m_SegmentLines;
  std::vector<TKey *>        m_SegmentShared;
  AlignedVector<TKey>        m_Slots;
  std::vector<TKey *>        m_Rows;   ///< where each row of the tile's medians is written
  AlignedVector<TKey>        m_Copies; ///< of these rows

  std::vector<const std::uint8_t *> m_RankRows; ///< of each row of a row of tiles; null: outside the output
  std::vector<const std::uint8_t *> m_Ranks;    ///< of each row's pixels, where the program finds several
  AlignedVector<std::uint8_t>       m_RankCopies;
};

} // namespace cudamedian

#endif
