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
#ifndef ThresholdRows_h
#define ThresholdRows_h

#include <cstddef>
#include <cstdint>

namespace cudamedian
{

/** The pixels of a region in the order of their values, and each pixel's rank in it. */
struct RankedPixels
{
  static constexpr int axes = 4;
  /** What surrounds `positions`: so many that lie in no window, since vectors are read as a whole; half as many ranks
   * behind the last of `ranks`. */
  static constexpr std::size_t  padding = 192;
  static constexpr std::uint8_t outside = 255;  ///< their position
  static constexpr int          offset = 32768; ///< what ranks are less by, so that they are signed

  /** Of the pixel at a place: its positions along axes 1, 2, 3 and 0 of the region, axis 1 in the lowest bits. */
  const std::int16_t * ranks;
  int                  shift[axes];     ///< where a position's lowest bit is in a place
  const std::uint8_t * positions[axes]; ///< of the pixels, by rank; null where the region is as long as the windows
  std::uint32_t        count;
};

/** Windows of a region in rows of `columns` along its axis 0, one row below the other along its axis 1. */
struct ThresholdWindows
{
  std::uint8_t corner[RankedPixels::axes]; ///< the first position of the first window
  std::uint8_t size[RankedPixels::axes];
  std::size_t  columns;
  std::size_t  rows;
  /** Of a footprint, in a region of one pixel along axes 2 and 3: at each position along axis 1 the first along axis 0,
   * and how many follow. Both are as long as a multiple of 16, the rest 0. Null: a box. */
  const std::uint8_t * first;
  const std::uint8_t * length;
};

/** Finds the pixel of each window that has so many of the window's pixels before it. A window keeps a rank, and how
 * many of its pixels are below: the next window's count differs by a column of pixels on both sides, and its own pixel
 * is looked for from that rank on, up or down. Where it is far away, counts of the whole window find it by halves.
 * Windows of a footprint that lie side by side along axis 1 are counted together, as many as a vector has lanes.
 * \param wanted how many come before: of each window, row by row
 * \param nearest a rank near which the first window's is; that of the first row's first window afterwards
 * \param found ranks, row by row */
void
FindByThresholds(const RankedPixels &     pixels,
                 const ThresholdWindows & windows,
                 const std::uint16_t *    wanted,
                 std::uint16_t &          nearest,
                 std::uint16_t *          found);

} // namespace cudamedian

#endif
