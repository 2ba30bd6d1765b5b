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
#ifndef ProgramPhases_h
#define ProgramPhases_h

#include "TileProgram.h"

namespace cudamedian
{

/** A tile program cut into phases, for tiles side by side along axis 0 that are run together.
 *
 * What a tile has in common with its neighbours (sorted columns, merged columns) is computed by one of them and used by
 * all. All tiles of a row finish a phase before the next begins. */
struct ProgramPhases
{
  /** A value that another tile, or this one, left in an earlier phase. */
  struct Import
  {
    std::size_t value;    ///< number of the shared value
    int         position; ///< of the tile that left it, in tiles to the right of this one
  };

  /** A part of the program, for one tile. */
  struct Phase
  {
    /** Inputs beyond the footprint's pixels are the imports. */
    TileProgram         program;
    std::vector<Import> imports;
    /** The program's exports become the shared values of these numbers. */
    std::vector<std::size_t> exports;
    /** The tiles, relative to the first and the last of a row, that run the phase for the tiles of the row. */
    int first{ 0 };
    int last{ 0 };
  };

  /** The last phase yields the medians. */
  std::vector<Phase> phases;

  /** Shared values of one tile, numbered such that neighbours in number are imported together: for each its group.
   * Values of one group leave the same phase and are imported from the same positions. */
  std::vector<std::size_t> groupOfValue;
};

/** How a program is cut. */
struct PhaseOptions
{
  /** Phases before the last; 0 leaves the program whole. */
  int sharedPhases{ 0 };
  /** The column of the footprint, less than the tile's width, where the columns begin that a tile computes for others.
   */
  int firstColumn{ 0 };
  /** Shared values come from at most so many columns of pixels; 0 for any number. With one, sorted columns are shared;
   * with more, merged ones too, which take more room. */
  int columns{ 0 };
};

/** Cuts a program into phases. Values that are the same but for a shift by whole tiles are found by numbering them by
 * what computes them; one of them is computed, by the tile in whose columns the leftmost of its pixels lies.
 *
 * \throws std::invalid_argument when an option is negative or firstColumn not less than the tile's width. */
ProgramPhases
CutIntoPhases(const TileProgram & program, const PhaseOptions & options);

} // namespace cudamedian

#endif
