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
#ifndef ValidCounts_h
#define ValidCounts_h

#include "MaskRows.h"
#include "ValidPixels.h"
#include "Window.h"

#include <cstdint>
#include <vector>

namespace cudamedian
{

/** A rank for each output, as a map of a request has them. */
struct FoundRanks
{
  std::vector<std::uint8_t, UnwrittenMemory<std::uint8_t>> bytes;
  std::size_t                                              rankBytes{ 1 }; ///< of each
  std::int64_t                                             first{ 0 };     ///< the rank whose number is 0

  RankBounds bounds{ 0, 0 }; ///< the least and the greatest rank of an output

  /** The rank of an output, counted from 0. */
  std::int64_t
  Get(std::size_t output) const;
};

/** Counts the pixels of windows that are valid, and finds the ranks of their middle values.
 *
 * Least and greatest keys alternate along lines, so those of a line balance each other where it is the same key's turn
 * behind them as before them, and else are one too many. */
class ValidCounts
{
public:
  /** \param outputs how many there are along each axis; the box of the flags is larger by the window's size less one
   * \pre the window has at most 2^31 - 1 values */
  ValidCounts(const Window & window, const Extent & outputs, const PixelFlags & valid);

  /** Flags the outputs whose windows have no valid pixel; without flags all have one. */
  void
  FindEmpty(PixelFlags & empty) const;

  /** Finds the ranks of the upper ones of two middle values, or of the lower ones. */
  void
  FindRanks(const Turns & turns, bool isLower, FoundRanks & ranks) const;

private:
  class Rows;

  void
  FindEmptyOfFootprint(PixelFlags & empty) const;
  void
  FindRanksOfFootprint(const Turns & turns, bool isLower, FoundRanks & ranks) const;

  const Window &     m_Window;
  Extent             m_Outputs;
  Extent             m_Extent; ///< of the box
  const PixelFlags & m_Valid;
};

/** Makes ranks numbers from another rank on, of so many bytes. */
void
Renumber(std::int64_t first, std::size_t rankBytes, FoundRanks & ranks);

} // namespace cudamedian

#endif
