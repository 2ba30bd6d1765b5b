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

/** Builds the tile program of a window with a footprint, of any pixels and weights, by hierarchical tiling.
 *
 * The core is what the windows of all outputs have in common, each pixel as often as it counts in the window where it
 * counts least. The tile is split in two along its longest axis, and each half adds what its windows share beyond the
 * parent's core, until a half is one pixel. Added pixels fall apart into pieces that are cut at the same places
 * whatever they are part of, so that pieces that several halves add are sorted once. A sorted core keeps only the
 * values that can still be of the window's rank.
 *
 * Source of the method: as BuildHierarchicalTilingProgram(); footprints and weights are this project's extension.
 *
 * \pre window.footprint is not null. \throws std::invalid_argument when the tile is not positive. */
TileProgram
BuildFootprintProgram(const Window & window, const Extent & tile, Division division = Division::Halves);

/** The program of a footprint whose tile and division take the fewest operations for an output, among those whose live
 * values do not exceed a limit; where none is below it, that with the fewest live values. Kept for the next call. */
struct FootprintPolicy
{
  Extent   tile{ { 1, 1, 1, 1 } };
  Division division{ Division::Halves };
};
FootprintPolicy
ChooseFootprintPolicy(const Window & window, std::size_t mostLiveValues);

} // namespace cudamedian

#endif
