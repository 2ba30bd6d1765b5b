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

/** Counts the pixels of windows that are valid, and finds the ranks of their middle values, for rows of outputs one
 * after the other along axis 1 first.
 *
 * Flags and turns of a row's windows are all that is read of the box, which may be written meanwhile.
 *
 * Least and greatest keys alternate along lines, so those of a line balance each other where it is the same key's turn
 * behind them as before them, and else are one too many. */
class ValidCounts
{
public:
  /** \param outputs how many there are along each axis; the box of the flags is larger by the window's size less one
   * \pre the window has at most 2^31 - 1 values */
  ValidCounts(const Window & window, const Extent & outputs, const PixelFlags & valid, const Turns & turns);

  /** Flags the outputs of a row whose windows have no valid pixel. \returns whether some have none */
  bool
  FindEmpty(const Extent & output, std::uint8_t * empty);

  /** Begins with ranks of the upper ones of two middle values, or of the lower ones. */
  void
  StartRanks(bool isLower, FoundRanks & ranks) const;

  /** Finds the ranks of a row. */
  void
  FindRanks(const Extent & output, bool isLower, FoundRanks & ranks);

private:
  /** Sums of flags over rows of windows, and then along them, of a row of outputs. */
  struct Sums
  {
    Pixels rows;
    Pixels scratch;
    Pixels slid;
  };

  /** The sums of so many numbers that follow each other, for each output, of rows that are added and taken. */
  const void *
  Sum(std::size_t numbers, bool goesOn, std::int64_t size, Sums & sums);

  const Window &                    m_Window;
  Extent                            m_Outputs;
  Extent                            m_ValidStride;
  const PixelFlags &                m_Valid;
  const Turns &                     m_Turns;
  std::size_t                       m_SumBytes;
  Sums                              m_ValidSums; ///< which go on from a row to the next
  Sums                              m_Balance;
  std::vector<Extent>               m_WindowRows; ///< the positions of a window's rows in it
  std::vector<Extent>               m_FirstRows;  ///< of these the first along axis 1
  std::vector<Extent>               m_Lines;      ///< the same of lines that turns pass along
  std::vector<const std::uint8_t *> m_Added;
  std::vector<const std::uint8_t *> m_Taken;
};

/** Flags the outputs whose windows, of a footprint, have no valid pixel; without flags all have one. */
void
FindEmptyFootprints(const Window & window, const Extent & outputs, const PixelFlags & valid, PixelFlags & empty);

/** Finds the ranks of all outputs of a footprint. */
void
FindFootprintRanks(const Window &     window,
                   const Extent &     outputs,
                   const PixelFlags & valid,
                   const Turns &      turns,
                   bool               isLower,
                   FoundRanks &       ranks);

/** Makes ranks numbers from another rank on, of so many bytes. */
void
Renumber(std::int64_t first, std::size_t rankBytes, FoundRanks & ranks);

} // namespace cudamedian

#endif
