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

#include "CompiledSegments.h"
#include "DivideUp.h"
#include "InterpretedSegments.h"
#include "TileLineRing.h"
#include "TileRowCut.h"

#include <algorithm>
#include <optional>

namespace cudamedian
{

/** Runs a tile program along rows of tiles, a tile in each lane of a vector. One object per work unit.
 *
 * The output is cut into strips along axis 0, bands along axis 1 and runs along axis 2 (TileRowCut.h). Keys come from a
 * ring of lines (TileLineRing.h). A row of tiles is run in segments whose values stay in the processor's caches, by a
 * program that is compiled ahead (CompiledSegments.h) or by one that is interpreted (InterpretedSegments.h). */
template <typename TKey, KeyMapping VMapping>
class TileRowRunner
{
public:
  TileRowRunner(const MedianRequest & request, const TileWork & work)
    : m_Output(work.output)
    , m_Tile(work.GetTile())
    , m_Footprint(GetTileFootprint(request, work))
    , m_Cut(CutTileRows<TKey>(request, work))
    , m_Ring(request, work, m_Cut)
  {
    if (work.rowProgram != nullptr)
    {
      m_Compiled.emplace(request, work, m_Cut);
    }
    else
    {
      m_Interpreted.emplace(request, work, m_Cut);
    }
    m_Rules = work.rules != nullptr ? (*work.rules)() : nullptr;
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
    return m_Ring.GetScratchBytes() + (m_Compiled ? m_Compiled->GetScratchBytes() : m_Interpreted->GetScratchBytes()) +
           (m_Rules ? m_Rules->GetScratchBytes() : 0);
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
    if (m_Rules)
    {
      PixelBox     box{ origin, {} };
      const Extent most{ { m_Cut.stripTiles, m_Cut.bandRows, m_Cut.runSlices, 1 } };
      for (int axis = 0; axis < Dimension; ++axis)
      {
        const auto rest = m_Output.origin[axis] + m_Output.extent[axis] - origin[axis];
        box.extent[axis] = std::min(rest, most[axis] * m_Tile[axis]);
      }
      m_Rules->Start(box, m_Tile, lineBlockKeys<TKey> * m_Tile[0]);
    }
    m_Ring.StartRun();
    for (bool isFirst = true; origin[2] < runEnd; origin[2] += m_Tile[2], isFirst = false)
    {
      RunBand(origin, isFirst);
      m_Ring.AdvanceSlice();
    }
  }

private:
  /** Runs a band of one slice of tiles. */
  void
  RunBand(Extent origin, bool isFirstOfRun)
  {
    const bool wholeBand = m_Cut.ringRows > m_Footprint[1] || m_Cut.runSlices > 1;
    const auto width = std::min(m_Output.origin[0] + m_Output.extent[0] - origin[0], m_Cut.stripTiles * m_Tile[0]);
    const auto bandEnd = std::min(m_Output.origin[1] + m_Output.extent[1], origin[1] + m_Cut.bandRows * m_Tile[1]);
    const auto tiles = DivideUp(width, m_Tile[0]);
    m_Ring.StartBand(tiles);
    if (wholeBand)
    {
      const auto rows = RoundUp(bandEnd - origin[1], m_Tile[1]) + m_Footprint[1] - m_Tile[1];
      m_Ring.Load(origin, isFirstOfRun ? 0 : m_Footprint[2] - m_Tile[2], 0, rows, GetRowMaker());
    }
    for (bool isFirst = true; origin[1] < bandEnd; origin[1] += m_Tile[1], isFirst = false)
    {
      if (!wholeBand)
      {
        m_Ring.Load(origin, 0, isFirst ? 0 : m_Footprint[1] - m_Tile[1], m_Footprint[1], GetRowMaker());
      }
      const auto & lines = m_Ring.FindLines();
      bool         isEmpty = false;
      if (m_Compiled)
      {
        isEmpty = !m_Compiled->FindRankRows(origin, m_Rules.get());
        m_Compiled->RunSharedPhases(lines, tiles);
      }
      for (std::int64_t tile = 0; tile < tiles && !isEmpty; tile += m_Cut.lanes)
      {
        const auto count = std::min(m_Cut.lanes, RoundUpToBlocks<TKey>(tiles - tile));
        const auto room = width - tile * m_Tile[0];
        if (m_Compiled)
        {
          m_Compiled->RunSegment(lines, origin, tile, count, room);
        }
        else
        {
          m_Interpreted->RunSegment(lines, origin, tile, count, room);
        }
      }
      if (m_Rules)
      {
        m_Compiled->FinishRows(origin, *m_Rules);
      }
      m_Ring.AdvanceRow();
    }
  }

  /** What makes rows; null: they are the image's. */
  RuledRows *
  GetRowMaker() const
  {
    return m_Rules && m_Rules->HasRows() ? m_Rules.get() : nullptr;
  }

  PixelBox                     m_Output;
  Extent                       m_Tile;
  Extent                       m_Footprint;
  TileRowCut                   m_Cut;
  TileLineRing<TKey, VMapping> m_Ring;

  std::optional<CompiledSegments<TKey, VMapping>>    m_Compiled;    ///< one of the two
  std::optional<InterpretedSegments<TKey, VMapping>> m_Interpreted; ///< … is there
  std::unique_ptr<RuledRows>                         m_Rules;       ///< null: medians are those of the image
};

} // namespace cudamedian

#endif
