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
#ifndef HierarchicalTiling_h
#define HierarchicalTiling_h

#include "TileProgram.h"

namespace cudamedian
{

/** How a run of equal pieces is divided in two before it is sorted by merging. */
enum class Division : std::uint8_t
{
  Halves,
  PowerFirst, ///< the largest power of two below the length, then the rest
  PowerLast
};

/** How a program is put together. */
struct TilingOptions
{
  Extent   root; ///< the tile that is split hierarchically; a program's tile consists of such root tiles
  Division division{ Division::Halves };
  /** Values that are found of each window: that of its rank and those of so many ranks behind it. An output is then a
   * run of them, the least first. */
  std::int64_t ranks{ 1 };
};

/** Builds the tile program of a window by hierarchical tiling, in up to four dimensions.
 *
 * The core, which all windows of the tile share, is sorted once; then the tile is split in two along its longest axis,
 * each half adding to its core what its windows share beyond the parent's, until a half is one pixel. A sorted core
 * keeps only the values that can still be of the window's rank. Sorted columns, rows and slabs are built once and
 * shared by all halves that need them.
 *
 * Source of the method: L. Sugy, "A Fast Parallel Median Filtering Algorithm Using Hierarchical Tiling", SIGGRAPH 2025
 * (2D, data-oblivious variant); more dimensions are this project's extension: boxes in place of rows and columns.
 *
 * A window with a footprint has a way of its own (FootprintTiling.h), whose tiles may be larger than the window.
 *
 * \throws std::invalid_argument when a tile is larger than the window along an axis, or not positive, or the window has
 * not all the ranks that are wanted. */
TileProgram
BuildHierarchicalTilingProgram(const Window & window, const Extent & tile);

/** The same for a tile of several root tiles side by side: what neighbouring root tiles have in common is sorted once.
 */
TileProgram
BuildHierarchicalTilingProgram(const Window & window, const Extent & tile, const TilingOptions & options);

/** \throws std::invalid_argument when a window has not all the ranks of the options. */
void
CheckRanks(const Window & window, const TilingOptions & options);

} // namespace cudamedian

#endif
