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
#ifndef TileHost_h
#define TileHost_h

#include "HostMethod.h"
#include "RowPrograms.h"
#include "ScheduledProgram.h"

namespace cudamedian
{

/** A tile program over a box of outputs on the host. */
struct TileWork
{
  PixelBox                                output;
  const RowProgram *                      rowProgram{ nullptr };   ///< compiled ahead; where there is none …
  bool                                    isComplemented{ false }; ///< whether that is for complements of keys
  std::shared_ptr<const ScheduledProgram> scheduled;               ///< … what is interpreted
  const RuledRowsMaker *                  rules{ nullptr }; ///< for rows that are made; null: they are the image's
  std::int64_t ranks{ 1 }; ///< values that it finds for each output, of which a map of ranks takes one

  /** The tile of the program. */
  const Extent &
  GetTile() const
  {
    return rowProgram != nullptr ? rowProgram->tile : scheduled->program.GetTile();
  }

  /** The operations of the program. */
  std::size_t
  CountOperations() const
  {
    return rowProgram != nullptr ? rowProgram->operations : scheduled->program.GetInstructions().size();
  }
};

/** Seconds of one thread for all outputs of a request, while so many work side by side. */
double
EstimateTileWork(const TileWork & work, const MedianRequest & request, const HostTraits & host, double threads);

/** The tile program of a window on the host.
 *
 * \throws std::logic_error for a tile of more columns than mostTileColumns (TileRowCut.h). */
std::shared_ptr<const HostMethod>
MakeTileMethod(const TileWork & work);

} // namespace cudamedian

#endif
