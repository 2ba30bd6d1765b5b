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
#ifndef TileRowRunner_h
#define TileRowRunner_h

#include "AlignedVector.h"
#include "KeyLines.h"
#include "KeyedImage.h"
#include "LaneInterpreter.h"
#include "RowPrograms.h"
#include "TileHost.h"
#include "TileRowCut.h"

#include <algorithm>
#include <array>

/** Memory that is written through no other pointer, which compilers cannot know. */
#if defined(_MSC_VER)
#  define CUDAMEDIAN_ALONE __restrict
#else
#  define CUDAMEDIAN_ALONE __restrict__
#endif

namespace cudamedian
{

/** Runs a tile program along rows of tiles, a tile in each lane of a vector. One object per work unit.
 *
 * A program that is compiled ahead writes rows of pixels, and may have phases: what neighbouring tiles share is then
 * computed once for a row of tiles, and kept in a line for each shared value. One that is interpreted leaves medians in
 * lines for each pixel of the tile, which are joined.
 *
 * The output is cut into strips along axis 0, bands along axis 1 and runs along axis 2. Lines of keys (KeyLines.h) stay
 * in a ring: down a band those of a footprint's rows, or, along a run, those of all rows of the band, so that a pixel
 * becomes a key once but for the ends of bands and runs. A row of tiles is run in segments whose
 * values stay in the processor's caches. */
template <typename TKey, KeyMapping VMapping>
class TileRowRunner
{
public:
  TileRowRunner(const MedianRequest & request, const TileWork & work)
    : m_Request(request), m_Image(request), m_Format(GetPixelFormat(request.pixelType)), m_Extent(request.inputExtent),
      m_Radius(request.radius), m_Output(work.output), m_Program(work.rowProgram),
      m_IsComplemented(work.isComplemented), m_Scheduled(work.scheduled), m_Tile(work.GetTile()), m_Ranks(work.ranks),
      m_Footprint(GetTileFootprint(request, work)), m_Cut(CutTileRows<TKey>(request, work)),
      m_Columns(static_cast<int>(m_Tile[0]))
  {
    if (m_Program != nullptr)
    {
      for (const auto & phase : m_Program->phases)
      {
        m_FirstTile = std::min(m_FirstTile, phase.first);
        m_LastTile = std::max(m_LastTile, phase.last);
      }
    }
    const auto sharedTiles = RoundUpToBlocks<TKey>(m_Cut.stripTiles + m_LastTile - m_FirstTile);
    m_SharedPitch = GetPitch(sharedTiles);
    const auto lineTiles = RoundUpToBlocks<TKey>(sharedTiles + (m_Footprint[0] - 1) / m_Tile[0]);
    m_LinePitch = GetPitch(lineTiles);
    const auto lines = CountFootprintLines(m_Footprint) * m_Tile[0];
    m_Ring.resize(static_cast<std::size_t>(lines / m_Footprint[1] * m_Cut.ringRows * m_LinePitch));
    m_Lines.resize(static_cast<std::size_t>(lines));
    m_Edge.resize(static_cast<std::size_t>(m_Tile[0] * std::max(lineTiles, blockKeys)));
    PrepareSlots();
  }

  static std::size_t
  CountRows(const MedianRequest & request, const TileWork & work)
  {
    return static_cast<std::size_t>(CutTileRows<TKey>(request, work).Count());
  }

  /** Steps of about a nanosecond or less: vectors of keys that are compared. */
  static double
  CountWork(const MedianRequest &, const TileWork & work)
  {
    return CountTileSteps<TKey>(work);
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Ring) + GetBytes(m_Shared) + GetBytes(m_Slots) + GetBytes(m_Copies) + GetBytes(m_Operands) +
           GetBytes(m_Lines) + GetBytes(m_Edge) + GetBytes(m_Chosen) + GetBytes(m_Ranked);
  }

  void
  Run(std::size_t number)
  {
    auto   rest = static_cast<std::int64_t>(number);
    Extent origin = m_Output.origin;
    origin[0] += rest % m_Cut.strips * m_Cut.stripTiles * m_Tile[0];
    rest /= m_Cut.strips;
    origin[1] += rest % m_Cut.bands * m_Cut.bandRows * m_Tile[1];
    rest /= m_Cut.bands;
    origin[2] += rest % m_Cut.runs * m_Cut.runSlices * m_Tile[2];
    origin[3] += rest / m_Cut.runs * m_Tile[3];

    const auto runEnd = std::min(m_Output.origin[2] + m_Output.extent[2], origin[2] + m_Cut.runSlices * m_Tile[2]);
    m_RingSlice = 0;
    for (bool isFirst = true; origin[2] < runEnd; origin[2] += m_Tile[2], isFirst = false)
    {
      RunBand(origin, isFirst);
      m_RingSlice = (m_RingSlice + m_Tile[2]) % m_Footprint[2];
    }
  }

private:
  static constexpr auto blockKeys = lineBlockKeys<TKey>;

  /** Lines at the same distance from each other as pages would all want the same places of the nearest cache. */
  static std::int64_t
  GetPitch(std::int64_t keys)
  {
    return keys / blockKeys % 2 == 0 ? keys + blockKeys : keys;
  }

  /** Memory for medians, and for what is computed on the way to them. */
  void
  PrepareSlots()
  {
    const auto lanes = static_cast<std::size_t>(m_Cut.lanes);
    m_Rows.resize(static_cast<std::size_t>(m_Tile[1] * m_Tile[2] * m_Tile[3]));
    if (m_Program != nullptr)
    {
      m_SegmentLines.resize(m_Lines.size());
      m_SegmentShared.resize(m_Program->sharedValues);
      m_Shared.resize(m_Program->sharedValues * static_cast<std::size_t>(m_SharedPitch));
      m_Slots.resize(m_Program->slots * rowSlotBytes / sizeof(TKey));
      m_Copies.resize(m_Rows.size() * static_cast<std::size_t>(m_Columns) * lanes);
      return;
    }
    m_Results.resize(static_cast<std::size_t>(Volume(m_Tile)));
    m_Chosen.resize(m_Ranks > 1 ? m_Results.size() * lanes : 0);
    m_Ranked.resize(m_Ranks > 1 ? lanes : 0);
    const auto & schedule = m_Scheduled->schedule;
    m_Slots.resize(schedule.numberOfSlots * lanes);
    m_Operands.resize(schedule.numberOfInputs);
    for (std::size_t slot = 0; slot < schedule.numberOfSlots; ++slot)
    {
      m_Operands.push_back(m_Slots.data() + slot * lanes);
    }
  }

  /** The line of keys at a row of the footprint and, first, in a column of the tile. */
  TKey *
  GetLine(std::int64_t plane, std::int64_t y)
  {
    const auto slice = plane / m_Footprint[2] * m_Footprint[2] + (m_RingSlice + plane) % m_Footprint[2];
    const auto row = slice * m_Cut.ringRows + (m_RingRow + y) % m_Cut.ringRows;
    return m_Ring.data() + row * m_Tile[0] * m_LinePitch;
  }

  /** Runs a band of one slice of tiles. */
  void
  RunBand(Extent origin, bool isFirstOfRun)
  {
    const bool wholeBand = m_Cut.ringRows > m_Footprint[1] || m_Cut.runSlices > 1;
    const auto width = std::min(m_Output.origin[0] + m_Output.extent[0] - origin[0], m_Cut.stripTiles * m_Tile[0]);
    const auto bandEnd = std::min(m_Output.origin[1] + m_Output.extent[1], origin[1] + m_Cut.bandRows * m_Tile[1]);
    m_RingRow = 0;
    m_StripTiles = (width + m_Tile[0] - 1) / m_Tile[0] + m_LastTile - m_FirstTile + (m_Footprint[0] - 1) / m_Tile[0];
    if (wholeBand)
    {
      const auto rows = (bandEnd - origin[1] + m_Tile[1] - 1) / m_Tile[1] * m_Tile[1] + m_Footprint[1] - m_Tile[1];
      LoadLines(origin, isFirstOfRun ? 0 : m_Footprint[2] - m_Tile[2], 0, rows);
    }
    for (bool isFirst = true; origin[1] < bandEnd; origin[1] += m_Tile[1], isFirst = false)
    {
      if (!wholeBand)
      {
        LoadLines(origin, 0, isFirst ? 0 : m_Footprint[1] - m_Tile[1], m_Footprint[1]);
      }
      FindLines();
      const auto tiles = (width + m_Tile[0] - 1) / m_Tile[0];
      RunSharedPhases(tiles);
      for (std::int64_t tile = 0; tile < tiles; tile += m_Cut.lanes)
      {
        const auto count = std::min(m_Cut.lanes, RoundUpToBlocks<TKey>(tiles - tile));
        if (m_Program != nullptr)
        {
          RunSegment(origin, tile, count, width - tile * m_Tile[0]);
        }
        else
        {
          InterpretSegment(origin, tile, count);
          Store(origin, tile * m_Tile[0], width);
        }
      }
      m_RingRow = (m_RingRow + m_Tile[1]) % m_Cut.ringRows;
    }
  }

  /** Loads rows from `firstRow` to before `rows` of the footprint's slices from `firstSlice` on; others are in the
   * ring.
   */
  void
  LoadLines(const Extent & origin, std::int64_t firstSlice, std::int64_t firstRow, std::int64_t rows)
  {
    for (std::int64_t w = 0; w < m_Footprint[3]; ++w)
    {
      for (std::int64_t z = firstSlice; z < m_Footprint[2]; ++z)
      {
        for (std::int64_t y = firstRow; y < rows; ++y)
        {
          std::array<TKey *, largestTile> lines{};
          lines[0] = GetLine(w * m_Footprint[2] + z, y);
          for (int column = 1; column < m_Columns; ++column)
          {
            lines[column] = lines[column - 1] + m_LinePitch;
          }
          LoadLine(m_Image.GetRow(m_Image.Clamp(1, origin[1] - m_Radius[1] + y),
                                  m_Image.Clamp(2, origin[2] - m_Radius[2] + z),
                                  m_Image.Clamp(3, origin[3] - m_Radius[3] + w)),
                   origin[0] - m_Radius[0] + m_FirstTile * m_Tile[0],
                   lines.data());
        }
      }
    }
  }

  /** Finds the lines of the footprint of the strip's first tile in the ring. */
  void
  FindLines()
  {
    TKey ** lines = m_Lines.data();
    for (std::int64_t plane = 0; plane < m_Footprint[2] * m_Footprint[3]; ++plane)
    {
      for (std::int64_t y = 0; y < m_Footprint[1]; ++y)
      {
        TKey * line = GetLine(plane, y) - m_FirstTile;
        for (int column = 0; column < m_Columns; ++column)
        {
          *lines++ = line + column * m_LinePitch;
        }
      }
    }
  }

  /** The keys of a row from position `first` on, clamped at both ends. */
  void
  LoadLine(const TKey * row, std::int64_t first, TKey * const * lines)
  {
    const auto count = RoundUpToBlocks<TKey>(m_StripTiles) * m_Tile[0];
    if (!m_Image.Contains(row, first, count))
    {
      const auto inside = std::min(std::max<std::int64_t>(-first, 0), count);
      const auto outside = std::max(inside, std::min(m_Extent[0] - first, count));
      std::fill_n(m_Edge.begin(), inside, row[0]);
      std::copy(row + first + inside, row + first + outside, m_Edge.begin() + inside);
      std::fill(m_Edge.begin() + outside, m_Edge.begin() + count, row[m_Extent[0] - 1]);
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

  /** Runs all phases but the last, for a row of so many tiles of the strip. */
  void
  RunSharedPhases(std::int64_t tiles)
  {
    for (std::size_t phase = 0; m_Program != nullptr && phase + 1 < m_Program->phases.size(); ++phase)
    {
      const auto first = std::int64_t{ m_Program->phases[phase].first };
      RunPhase(phase, first, RoundUpToBlocks<TKey>(tiles + m_Program->phases[phase].last - first));
    }
  }

  /** Runs a phase for so many tiles, from a tile of the strip on. */
  void
  RunPhase(std::size_t phase, std::int64_t tile, std::int64_t tiles)
  {
    std::transform(m_Lines.begin(), m_Lines.end(), m_SegmentLines.begin(), [&](TKey * line) { return line + tile; });
    TKey * shared = m_Shared.data() + tile - m_FirstTile;
    for (auto & line : m_SegmentShared)
    {
      line = shared;
      shared += m_SharedPitch;
    }
    m_Program->run(sizeof(TKey),
                   static_cast<int>(phase),
                   { m_SegmentLines.data(),
                     m_SegmentShared.data(),
                     m_Rows.data(),
                     m_Slots.data(),
                     static_cast<std::size_t>(tiles),
                     GetKeyMask(m_Format, m_IsComplemented),
                     VMapping == KeyMapping::Float,
                     false });
  }

  /** Runs the program's last phase on so many tiles, from a tile of the strip on, of whose pixels `room`, or fewer, lie
   * in the strip: whole blocks are written to the image. */
  void
  RunSegment(const Extent & origin, std::int64_t tile, std::int64_t tiles, std::int64_t room)
  {
    const auto last = m_Program->phases.size() - 1;
    const auto whole = m_Image.StoresBits() ? std::min(tiles, room / (blockKeys * m_Tile[0]) * blockKeys) : 0;
    const auto find = [&](std::int64_t firstTile, bool isCopied) {
      TKey * copy = m_Copies.data();
      for (std::size_t i = 0; i < m_Rows.size(); ++i, copy += m_Cut.lanes * m_Tile[0])
      {
        auto position = GetRowOfTile(origin, m_Tile, i);
        position[0] += firstTile * m_Tile[0];
        m_Rows[i] = isCopied || !IsRowOf(m_Output, position) ? copy : static_cast<TKey *>(m_Image.GetOutput(position));
      }
    };
    if (whole > 0)
    {
      find(tile, false);
      RunPhase(last, tile, whole);
    }
    if (whole < tiles)
    {
      find(tile + whole, true);
      RunPhase(last, tile + whole, tiles - whole);
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

  /** Interprets the program on so many tiles, from a tile of the strip on. */
  void
  InterpretSegment(const Extent & origin, std::int64_t tile, std::int64_t tiles)
  {
    TKey ** pixel = m_Operands.data();
    for (auto line = m_Lines.begin(); line != m_Lines.end(); line += m_Columns)
    {
      for (std::int64_t x = 0; x < m_Footprint[0]; ++x)
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

  /** How many ranks behind the least those of a map are, one of so many pixels. */
  static void
  TakeRanks(const std::int32_t *    map,
            std::int32_t            least,
            std::int64_t            step,
            std::int64_t            count,
            TKey * CUDAMEDIAN_ALONE ranked)
  {
    if (step == 1)
    {
      for (std::int64_t lane = 0; lane < count; ++lane)
      {
        ranked[lane] = static_cast<TKey>(map[lane] - least);
      }
      return;
    }
    for (std::int64_t lane = 0; lane < count; ++lane)
    {
      ranked[lane] = static_cast<TKey>(map[lane * step] - least);
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
    const auto   least = static_cast<std::int32_t>(m_Request.rank);
    for (std::size_t i = 0; i < m_Results.size(); ++i)
    {
      auto position = GetRowOfTile(origin, m_Tile, i / static_cast<std::size_t>(m_Columns));
      position[0] += tile * m_Tile[0] + static_cast<std::int64_t>(i % static_cast<std::size_t>(m_Columns));
      TKey * chosen = m_Chosen.data() + static_cast<std::int64_t>(i) * m_Cut.lanes;
      m_Results[i] = chosen;
      if (!IsRowOf(m_Output, position) || position[0] >= end)
      {
        continue;
      }
      const auto * map = FindRanks(m_Request, position);
      const auto   count = std::min(tiles, (end - position[0] + m_Tile[0] - 1) / m_Tile[0]);
      TakeRanks(map, least, m_Tile[0], count, m_Ranked.data());
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

  /** Stores a segment's medians that were interpreted, from column x of a strip of the given width on. */
  void
  Store(const Extent & origin, std::int64_t x, std::int64_t width)
  {
    TKey ** results = m_Results.data();
    for (std::size_t i = 0; i < m_Rows.size(); ++i, results += m_Columns)
    {
      auto position = GetRowOfTile(origin, m_Tile, i);
      position[0] += x;
      if (IsRowOf(m_Output, position))
      {
        StoreRow(position, results, width - x);
      }
    }
  }

  /** Stores a row of medians, of which `room` pixels, or fewer, lie in the strip: whole blocks of lines straight to the
   * image. */
  void
  StoreRow(const Extent & position, TKey * const * results, std::int64_t room)
  {
    const auto count = std::min(room, m_Cut.lanes * m_Tile[0]);
    const auto whole = m_Image.StoresBits() ? count / (blockKeys * m_Tile[0]) * blockKeys : 0;
    const auto rest = count - whole * m_Tile[0];
    if (whole > 0)
    {
      Join(results, 0, m_Image.GetOutput(position), whole);
    }
    if (rest > 0)
    {
      Join(results, whole, m_Edge.data(), RoundUpToBlocks<TKey>((rest + m_Tile[0] - 1) / m_Tile[0]));
      Extent next = position;
      next[0] += whole * m_Tile[0];
      m_Image.StoreRow(next, m_Edge.data(), rest);
    }
  }

  void
  Join(TKey * const * results, std::int64_t tile, void * pixels, std::int64_t tiles)
  {
    for (int column = 0; column < m_Columns; ++column)
    {
      m_SplitLines[column] = results[column] + tile;
    }
    LinesToPixels(m_Format, m_SplitLines, pixels, m_Columns, static_cast<std::size_t>(tiles));
  }

  static constexpr int largestTile = 8;

  const MedianRequest &      m_Request;
  KeyedImage<TKey, VMapping> m_Image;
  PixelFormat                m_Format;
  Extent                     m_Extent;
  Extent                     m_Radius;
  PixelBox                   m_Output;
  const RowProgram *         m_Program; ///< compiled ahead, or null …
  bool                       m_IsComplemented;

  std::shared_ptr<const ScheduledProgram> m_Scheduled; ///< … and this is interpreted

  Extent              m_Tile;
  std::int64_t        m_Ranks; ///< values that an interpreted program finds for each output
  Extent              m_Footprint;
  TileRowCut          m_Cut;
  int                 m_Columns;         ///< of a tile
  int                 m_FirstTile{ 0 };  ///< that any phase runs for, relative to a strip's first: 0 or less
  int                 m_LastTile{ 0 };   ///< … relative to a strip's last: 0 or more
  std::int64_t        m_StripTiles{ 0 }; ///< keys of a line that a strip needs, from that first tile on
  std::int64_t        m_LinePitch;
  std::int64_t        m_SharedPitch;
  AlignedVector<TKey> m_Ring;
  AlignedVector<TKey> m_Shared;         ///< a line for each value that tiles share
  std::int64_t        m_RingRow{ 0 };   ///< where the first row of the footprint is in the ring …
  std::int64_t        m_RingSlice{ 0 }; ///< … and its first slice
  std::vector<TKey *> m_Lines;          ///< of the footprint, a tile's columns fastest
  std::vector<TKey *> m_SegmentLines;
  std::vector<TKey *> m_SegmentShared;
  AlignedVector<TKey> m_Slots;
  std::vector<TKey *> m_Operands; ///< of the schedule
  std::vector<TKey *> m_Results;  ///< medians of each pixel of the tile, of an interpreted program
  AlignedVector<TKey> m_Chosen;   ///< of several ranks those of the map
  AlignedVector<TKey> m_Ranked;   ///< how many ranks behind the least each lane's is
  std::vector<TKey *> m_Rows;     ///< where a compiled one writes each row of the tile's medians
  AlignedVector<TKey> m_Copies;   ///< of these rows
  std::vector<TKey>   m_Edge;     ///< pixels at the ends of rows
  void *              m_SplitLines[largestTile];
};

} // namespace cudamedian

#endif
