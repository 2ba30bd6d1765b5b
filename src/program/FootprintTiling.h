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
#ifndef FootprintTiling_h
#define FootprintTiling_h

#include "HierarchicalTiling.h"

namespace cudamedian
{

/** Builds the tile program of a window with a footprint by hierarchical tiling.
 *
 * What all windows of a tile have in common, each pixel as often as it counts in all of them, is sorted first, and may
 * be nothing. Then the tile is split in two, each half adding what its windows have in common beyond that, until a half
 * is one pixel. Values that can no longer be of the wanted rank are left out. What is added to several halves is sorted
 * once (SharedPieces.h). Pixels that no window has are never read.
 *
 * \throws std::invalid_argument when a root tile is larger than the tile along an axis, or not positive. */
TileProgram
BuildFootprintProgram(const Window & window, const Extent & tile, const TilingOptions & options);

/** A tile and how its program is put together. */
struct FootprintTiling
{
  Extent        tile;
  TilingOptions options;
};

/** The tile, and the way to put its program together, that take a window with a footprint the fewest operations a
 * pixel, of those that are tried and keep at most so many values alive. Each is built and counted: 0.4 s for 81 values.
 */
FootprintTiling
FindFootprintTiling(const Window & window, const std::vector<Extent> & tiles, std::size_t mostLiveValues);

/** The same among all tiles that are worth counting. Kept for the next call. Thread-safe. */
FootprintTiling
ChooseFootprintTiling(const Window & window, std::size_t mostLiveValues);

/** Tiles that are worth counting for a window with a footprint: powers of two up to 4, in 3D up to 2, along axes on
 * which the footprint has more than one pixel. \param isOneColumn whether tiles have one column, and up to four times
 * as many rows */
std::vector<Extent>
ListFootprintTiles(const Window & window, bool isOneColumn);

} // namespace cudamedian

#endif
