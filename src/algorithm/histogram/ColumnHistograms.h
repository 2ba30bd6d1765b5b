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
#ifndef ColumnHistograms_h
#define ColumnHistograms_h

#include "RankMap.h"

#include <cstddef>
#include <cstdint>

namespace cudamedian
{

/** Histograms of the pixels of a row of columns, in 256 bins. Every histogram is a running sum, in segments of 16 bins:
 * `coarse` has, for each column, how many pixels lie in segment 0, in segments 0 and 1, and so on; `fine` has, for each
 * segment and in it for each column, how many lie in its first bin, in the first two, and so on. Sums of columns are
 * then running sums as well, and where a rank lies in one is a comparison. A column has at most 65,535 pixels.
 *
 * The two levels, of which the fine one follows only where a median is, are those of S. Perreault and P. Hebert,
 * "Median Filtering in Constant Time", IEEE Transactions on Image Processing 16 (2007). */
struct ColumnHistograms
{
  static constexpr std::size_t segments = 16; ///< and bins of a segment

  std::uint16_t * coarse;
  std::uint16_t * fine;
  std::size_t     columns;

  /** Counts of each array. */
  static constexpr std::size_t
  CountCoarse(std::size_t columns)
  {
    return columns * segments;
  }
  static constexpr std::size_t
  CountFine(std::size_t columns)
  {
    return columns * segments * segments;
  }
};

/** A window that slides over columns. It starts with its centre at a column, which may lie outside: the columns at both
 * ends count for those beyond them. */
struct ColumnWindow
{
  std::int64_t  center;           ///< of the first position
  std::int64_t  before;           ///< columns before the centre …
  std::int64_t  behind;           ///< … and behind it
  std::uint32_t rank;             ///< of the pixel looked for, from 0
  RankRow       ranks;            ///< one for each position instead; empty: one for all
  bool          isLarge{ false }; ///< whether it has more than 65,535 pixels
};

/** Counts the bins of a row's pixels in their columns, `times` times. */
void
AddToColumns(const ColumnHistograms & histograms, const std::uint8_t * bins, std::uint16_t times);

/** Counts those of one row and no longer those of another. */
void
MoveColumns(const ColumnHistograms & histograms,
            const std::uint8_t *     entering,
            const std::uint8_t *     leaving,
            std::uint16_t            times);

/** Finds the bin of the rank in a window at `count` positions next to each other; and, where `rests` is not null, the
 * rank among the window's pixels in that bin. A large window takes such an array. */
void
SlideOverColumns(const ColumnHistograms & histograms,
                 const ColumnWindow &     window,
                 std::size_t              count,
                 std::uint8_t *           bins,
                 std::uint32_t *          rests = nullptr);

} // namespace cudamedian

#endif
