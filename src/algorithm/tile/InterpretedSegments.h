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
#ifndef InterpretedSegments_h
#define InterpretedSegments_h

#include "AlignedVector.h"
#include "DivideUp.h"
#include "KeyLines.h"
#include "KeyedImage.h"
#include "LaneInterpreter.h"
#include "RankMap.h"
#include "TileRowCut.h"

#include <algorithm>
#include <memory>
#include <vector>

/** Memory that is written through no other pointer, which compilers cannot know. */
#if defined(_MSC_VER)
#  define CUDAMEDIAN_ALONE __restrict
#else
#  define CUDAMEDIAN_ALONE __restrict__
#endif

namespace cudamedian
{

/** Interprets a program on segments of rows of tiles. It leaves medians in lines for each pixel of the tile, which are
 * joined. */
template <typename TKey, KeyMapping VMapping>
class InterpretedSegments
{
public:
  InterpretedSegments(const MedianRequest & request, const TileWork & work, const TileRowCut & cut)
    : m_Request(request)
    , m_Image(request)
    , m_Format(GetPixelFormat(request.pixelType))
    , m_Output(work.output)
    , m_Scheduled(work.scheduled)
    , m_Tile(work.GetTile())
    , m_Ranks(work.ranks)
    , m_FootprintWidth(GetTileFootprint(request, work)[0])
    , m_Lanes(cut.lanes)
    , m_Columns(static_cast<int>(m_Tile[0]))
    , m_Rows(static_cast<std::size_t>(m_Tile[1] * m_Tile[2] * m_Tile[3]))
  {
    const auto lanes = static_cast<std::size_t>(m_Lanes);
    m_Results.resize(static_cast<std::size_t>(Volume(m_Tile)));
    m_Chosen.resize(m_Ranks > 1 ? m_Results.size() * lanes : 0);
    m_Ranked.resize(m_Ranks > 1 ? lanes : 0);
    m_Joined.resize(static_cast<std::size_t>(m_Columns) * lanes);
    const auto & schedule = m_Scheduled->schedule;
    m_Slots.resize(schedule.numberOfSlots * lanes);
    m_Operands.resize(schedule.numberOfInputs);
    for (std::size_t slot = 0; slot < schedule.numberOfSlots; ++slot)
    {
      m_Operands.push_back(m_Slots.data() + slot * lanes);
    }
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Slots) + GetBytes(m_Operands) + GetBytes(m_Chosen) + GetBytes(m_Ranked) + GetBytes(m_Joined);
  }

  /** Runs the program on so many tiles, from a tile of the strip with these lines on, and stores their medians, of
   * which `room` pixels of a row, or fewer, lie in the strip. */
  void
  RunSegment(const std::vector<TKey *> & lines,
             const Extent &              origin,
             std::int64_t                tile,
             std::int64_t                tiles,
             std::int64_t                room)
  {
    Interpret(lines, origin, tile, tiles);
    TKey ** results = m_Results.data();
    for (std::size_t i = 0; i < m_Rows; ++i, results += m_Columns)
    {
      auto position = GetRowOfTile(origin, m_Tile, i);
      position[0] += tile * m_Tile[0];
      if (IsRowOf(m_Output, position))
      {
        StoreRow(position, results, room);
      }
    }
  }

private:
  static constexpr auto blockKeys = lineBlockKeys<TKey>;

  /** Interprets the program on so many tiles, from a tile of the strip on. */
  void
  Interpret(const std::vector<TKey *> & lines, const Extent & origin, std::int64_t tile, std::int64_t tiles)
  {
    TKey ** pixel = m_Operands.data();
    for (auto line = lines.begin(); line != lines.end(); line += m_Columns)
    {
      for (std::int64_t x = 0; x < m_FootprintWidth; ++x)
      {
        *pixel++ = line[x % m_Columns] + x / m_Columns + tile;
      }
    }
    InterpretLanes(m_Scheduled->schedule, m_Operands.data(), static_cast<std::size_t>(tiles));
    const auto & outputs = m_Scheduled->schedule.outputs;
    if (m_Ranks > 1)
    {
      ChooseRanks(origin, tile, tiles);
      return;
    }
    std::transform(
      outputs.begin(), outputs.end(), m_Results.begin(), [&](auto operand) { return m_Operands[operand]; });
  }

  /** Takes the ranks of a map, one of so many pixels. */
  template <typename TRank>
  static void
  TakeRanks(const TRank * map, std::int64_t step, std::int64_t count, TKey * CUDAMEDIAN_ALONE ranked)
  {
    // Compilers make shuffles of known steps.
    if (step == 1)
    {
      std::copy_n(map, count, ranked);
      return;
    }
    if (step == 2)
    {
      for (std::int64_t lane = 0; lane < count; ++lane)
      {
        ranked[lane] = static_cast<TKey>(map[2 * lane]);
      }
      return;
    }
    for (std::int64_t lane = 0; lane < count; ++lane)
    {
      ranked[lane] = static_cast<TKey>(map[lane * step]);
    }
  }

  /** Takes the values of outputs whose rank is at least this one. */
  static void
  TakeFrom(const TKey * CUDAMEDIAN_ALONE values,
           const TKey * CUDAMEDIAN_ALONE ranked,
           TKey                          rank,
           std::int64_t                  count,
           TKey * CUDAMEDIAN_ALONE       chosen)
  {
    for (std::int64_t lane = 0; lane < count; ++lane)
    {
      const TKey value = values[lane];
      const TKey before = chosen[lane];
      chosen[lane] = ranked[lane] >= rank ? value : before;
    }
  }

  /** Of the values that were found for each output of a segment takes the one that its map has the rank of. */
  void
  ChooseRanks(const Extent & origin, std::int64_t tile, std::int64_t tiles)
  {
    const auto & outputs = m_Scheduled->schedule.outputs;
    const auto   end = m_Output.origin[0] + m_Output.extent[0];
    for (std::size_t i = 0; i < m_Results.size(); ++i)
    {
      auto position = GetRowOfTile(origin, m_Tile, i / static_cast<std::size_t>(m_Columns));
      position[0] += tile * m_Tile[0] + static_cast<std::int64_t>(i % static_cast<std::size_t>(m_Columns));
      TKey * chosen = m_Chosen.data() + static_cast<std::int64_t>(i) * m_Lanes;
      m_Results[i] = chosen;
      if (!IsRowOf(m_Output, position) || position[0] >= end)
      {
        continue;
      }
      const RankRow map(m_Request, position);
      const auto    count = std::min(tiles, DivideUp(end - position[0], m_Tile[0]));
      map.GetBytes() == 1
           ? TakeRanks(static_cast<const std::uint8_t *>(map.GetFirst()), m_Tile[0], count, m_Ranked.data())
           : TakeRanks(static_cast<const std::int32_t *>(map.GetFirst()), m_Tile[0], count, m_Ranked.data());
      const auto first = i * static_cast<std::size_t>(m_Ranks);
      std::copy_n(m_Operands[outputs[first]], tiles, chosen);
      for (std::int64_t rank = 1; rank < m_Ranks; ++rank)
      {
        TakeFrom(m_Operands[outputs[first + static_cast<std::size_t>(rank)]],
                 m_Ranked.data(),
                 static_cast<TKey>(rank),
                 count,
                 chosen);
      }
    }
  }

  /** Stores a row of medians, of which `room` pixels, or fewer, lie in the strip: whole blocks of lines straight to the
   * image. */
  void
  StoreRow(const Extent & position, TKey * const * results, std::int64_t room)
  {
    const auto count = std::min(room, m_Lanes * m_Tile[0]);
    const auto whole = m_Image.StoresBits() ? count / (blockKeys * m_Tile[0]) * blockKeys : 0;
    const auto rest = count - whole * m_Tile[0];
    if (whole > 0)
    {
      Join(results, 0, m_Image.GetOutput(position), whole);
    }
    if (rest > 0)
    {
      Join(results, whole, m_Joined.data(), RoundUpToBlocks<TKey>(DivideUp(rest, m_Tile[0])));
      Extent next = position;
      next[0] += whole * m_Tile[0];
      m_Image.StoreRow(next, m_Joined.data(), rest);
    }
  }

  /** Turns some tiles of a row's medians into pixels. */
  void
  Join(TKey * const * results, std::int64_t tile, void * pixels, std::int64_t tiles)
  {
    for (int column = 0; column < m_Columns; ++column)
    {
      m_JoinedLines[column] = results[column] + tile;
    }
    LinesToPixels(m_Format, m_JoinedLines, pixels, m_Columns, static_cast<std::size_t>(tiles));
  }

  const MedianRequest &      m_Request;
  KeyedImage<TKey, VMapping> m_Image;
  PixelFormat                m_Format;
  PixelBox                   m_Output;

  std::shared_ptr<const ScheduledProgram> m_Scheduled;

  Extent              m_Tile;
  std::int64_t        m_Ranks; ///< values that the program finds for each output
  std::int64_t        m_FootprintWidth;
  std::int64_t        m_Lanes;   ///< tiles of a segment at most
  int                 m_Columns; ///< of a tile
  std::size_t         m_Rows;    ///< of pixels of a tile
  AlignedVector<TKey> m_Slots;
  std::vector<TKey *> m_Operands; ///< of the schedule
  std::vector<TKey *> m_Results;  ///< medians of each pixel of the tile
  AlignedVector<TKey> m_Chosen;   ///< of several ranks those of the map
  AlignedVector<TKey> m_Ranked;   ///< how many ranks behind the least each lane's is
  std::vector<TKey>   m_Joined;   ///< medians that fill no block of lines, as pixels
  void *              m_JoinedLines[mostTileColumns];
};

} // namespace cudamedian

#endif
