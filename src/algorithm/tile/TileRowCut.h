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
#ifndef TileRowCut_h
#define TileRowCut_h

#include "DivideUp.h"
#include "KeyLines.h"
#include "RowPrograms.h"
#include "TileHost.h"

#include <algorithm>

namespace cudamedian
{

/** How TileRowRunner cuts the output for work units: into strips along axis 0, bands along axis 1 and runs along
 * axis 2.
 */
struct TileRowCut
{
  std::int64_t lanes;      ///< tiles of a segment, which are run together, or fewer at the end of a strip
  std::int64_t stripTiles; ///< tiles of a strip along axis 0
  std::int64_t bandRows;   ///< rows of tiles of a band along axis 1
  std::int64_t runSlices;  ///< slices of tiles of a run along axis 2
  std::int64_t strips;
  std::int64_t bands;
  std::int64_t runs;
  std::int64_t places;   ///< of tiles along axis 3
  std::int64_t ringRows; ///< rows of pixels in the ring: a footprint's, or, with runs, a band's

  /** Pieces that work units take. */
  std::int64_t
  Count() const
  {
    return strips * bands * runs * places;
  }
};

/** Columns of a tile at most. */
constexpr int mostTileColumns = 8;

/** The inputs of a tile. */
inline Extent
GetTileFootprint(const MedianRequest & request, const TileWork & work)
{
  return GetWindow(request).GetFootprint(work.GetTile());
}

/** Lines of a footprint. */
inline std::int64_t
CountFootprintLines(const Extent & footprint)
{
  return footprint[1] * footprint[2] * footprint[3];
}

/** The tiles that the phases of a program run for. */
struct PhaseTiles
{
  int first{ 0 }; ///< relative to a strip's first: 0 or less
  int last{ 0 };  ///< relative to a strip's last: 0 or more

  /** Tiles beside a strip's own. */
  int
  CountBeside() const
  {
    return last - first;
  }
};

/** Those of the program of some work; an interpreted one has no phases. */
inline PhaseTiles
GetPhaseTiles(const TileWork & work)
{
  PhaseTiles tiles;
  if (work.rowProgram != nullptr)
  {
    for (const auto & phase : work.rowProgram->phases)
    {
      tiles.first = std::min(tiles.first, phase.first);
      tiles.last = std::max(tiles.last, phase.last);
    }
  }
  return tiles;
}

/** Keys of a line that has one for each tile of the longest strip and of those beside it. */
template <typename TKey>
std::int64_t
CountTilesOfPhases(const TileRowCut & cut, const PhaseTiles & tiles)
{
  return RoundUpToBlocks<TKey>(cut.stripTiles + tiles.CountBeside());
}

/** From a line of so many keys to the next. Lines at the same distance from each other as pages would all want the same
 * places of the nearest cache. */
template <typename TKey>
std::int64_t
GetLinePitch(std::int64_t keys)
{
  constexpr auto blockKeys = lineBlockKeys<TKey>;
  return keys / blockKeys % 2 == 0 ? keys + blockKeys : keys;
}

/** Steps of about a nanosecond or less: vectors of keys that are compared. */
template <typename TKey>
double
CountTileSteps(const TileWork & work)
{
  return static_cast<double>(Volume(work.output.extent)) *
         (10 + static_cast<double>(work.CountOperations()) / static_cast<double>(Volume(work.GetTile()))) *
         sizeof(TKey) / 16;
}

/** How an output is cut. */
template <typename TKey>
TileRowCut
CutTileRows(const MedianRequest & request, const TileWork & work)
{
  const auto & tile = work.GetTile();
  const auto   footprint = GetTileFootprint(request, work);
  const auto & extent = work.output.extent;
  const auto   tiles = [&](int axis) { return DivideUp(extent[axis], tile[axis]); };
  // Bytes of each value of a segment. The interpreter passes over them again and again: the 224 slots that most
  // programs stay below then fit in a second-level cache. Compiled programs keep their values in registers.
  constexpr std::int64_t interpretedBytes = 512;
  constexpr std::int64_t compiledBytes = 1024;
  const auto most = (work.rowProgram != nullptr ? compiledBytes : interpretedBytes) / std::int64_t{ sizeof(TKey) };

  TileRowCut cut;
  // Short rows need no more lanes than they have tiles.
  cut.lanes = std::min(most, RoundUpToBlocks<TKey>(tiles(0)));
  cut.places = tiles(3);
  // The ring stays within a second-level cache, and so does what tiles share.
  constexpr std::int64_t mostRingBytes = 512 * 1024;
  const auto             tileBytes = CountFootprintLines(footprint) * tile[0] * std::int64_t{ sizeof(TKey) };
  const auto             shared = work.rowProgram != nullptr ? work.rowProgram->sharedValues : 0;
  const auto             sharedBytes = static_cast<std::int64_t>(shared * sizeof(TKey));
  const auto             segments = DivideUp(tiles(0), cut.lanes);
  const auto stripSegments = std::max<std::int64_t>(1, mostRingBytes / (std::max(tileBytes, sharedBytes) * cut.lanes));
  cut.strips = DivideUp(segments, stripSegments);
  cut.stripTiles = RoundUpToBlocks<TKey>(DivideUp(tiles(0), cut.strips));
  cut.strips = DivideUp(tiles(0), cut.stripTiles);
  // Bands and runs give all work units something to do, and load little twice.
  const auto units = static_cast<std::int64_t>(std::max(1U, request.workUnits));
  const auto share = CountTileSteps<TKey>(work) / static_cast<double>(units);
  const auto wanted = units * static_cast<std::int64_t>(std::clamp(share / 1e6, 16.0, 128.0));
  const auto thrifty = [&](int axis) {
    return std::min(tiles(axis), std::max<std::int64_t>(1, 4 * (footprint[axis] - tile[axis]) / tile[axis]));
  };
  const auto rowBytes = tileBytes / footprint[1] * cut.stripTiles;
  const auto mostRows = (mostRingBytes / rowBytes - footprint[1]) / tile[1];
  const bool runs = thrifty(2) > 1 && mostRows >= thrifty(1);
  cut.bandRows =
    runs ? std::min(tiles(1), mostRows) : std::max(thrifty(1), tiles(1) * tiles(2) * cut.strips * cut.places / wanted);
  cut.runSlices =
    runs ? std::max(thrifty(2), tiles(2) * cut.strips * cut.places * tiles(1) / cut.bandRows / wanted) : 1;
  const auto divide = [&] {
    cut.bandRows = std::min(cut.bandRows, tiles(1));
    cut.runSlices = std::min(cut.runSlices, tiles(2));
    cut.bands = DivideUp(tiles(1), cut.bandRows);
    cut.runs = DivideUp(tiles(2), cut.runSlices);
    return cut.Count();
  };
  // A unit without work costs more than rows that are loaded twice.
  while (divide() < units && cut.bandRows * cut.runSlices > 1)
  {
    auto & longer = cut.bandRows > cut.runSlices ? cut.bandRows : cut.runSlices;
    longer = DivideUp(longer, 2);
  }
  cut.ringRows = runs ? (cut.bandRows - 1) * tile[1] + footprint[1] : footprint[1];
  return cut;
}

} // namespace cudamedian

#endif
