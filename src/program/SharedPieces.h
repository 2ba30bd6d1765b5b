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
#ifndef SharedPieces_h
#define SharedPieces_h

#include "HierarchicalTiling.h"

#include <map>

namespace cudamedian
{

/** Pixels of a tile's footprint, and how many times each counts. */
using PixelCounts = std::map<TileProgram::Value, std::int64_t>;

/** Lists of pixels that are to be sorted, cut into pieces such that what several lists have in common is sorted once.
 */
struct SharedPieces
{
  static constexpr std::size_t none = ~std::size_t{ 0 };

  /** A pixel so many times, or two other pieces together. */
  struct Piece
  {
    std::size_t        first{ none };
    std::size_t        second{ none };
    TileProgram::Value pixel{ 0 };
    std::size_t        values{ 0 }; ///< of the piece, those that count several times so often
  };

  std::vector<Piece>                    pieces;
  std::vector<std::vector<std::size_t>> ofList; ///< the pieces that make up each list
};

/** The most lists that are cut together: tiles of up to 128 outputs have no more. */
constexpr std::size_t mostSharedLists = 256;

/** Cuts lists into pieces: the two that most lists have in common are put together, of several such pairs the shortest,
 * of these the closest, until no two are in more than one list. Which are close says the division: those of a column
 * with Halves, those of a row with PowerFirst, those in any direction with PowerLast.
 * \param footprint the inputs of the tile along each axis */
SharedPieces
FindSharedPieces(const std::vector<PixelCounts> & lists, const Extent & footprint, Division division);

} // namespace cudamedian

#endif
