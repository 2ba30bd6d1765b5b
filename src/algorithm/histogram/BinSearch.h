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
#ifndef BinSearch_h
#define BinSearch_h

#include <cstddef>
#include <cstdint>

namespace cudamedian
{

/** The pixels of a region in the order of their values, cut into 256 bins of as many each. */
struct SortedBins
{
  static constexpr int         axes = 4;
  static constexpr std::size_t bins = 256;
  /** What follows the last pixel of `positions`: so many that lie in no window, since vectors are read as a whole. */
  static constexpr std::size_t   padding = 128;
  static constexpr std::uint16_t outside = 0xFFFF; ///< their position

  const std::uint32_t * firsts;          ///< the first pixel of each bin
  const std::uint16_t * positions[axes]; ///< of the pixels, along the axes of the region; null where all are in windows
};

/** Windows at positions next to each other along axis 0 of a region. */
struct BinWindow
{
  std::uint16_t corner[SortedBins::axes]; ///< the first position of the first window
  std::uint16_t size[SortedBins::axes];
};

/** Finds, for `count` windows, the pixel in a bin that has so many pixels of the window before it in the bin. It must
 * be there. \param places numbers of the pixels found, in their order. */
void
FindInBins(const SortedBins &    sorted,
           const BinWindow &     window,
           std::size_t           count,
           const std::uint8_t *  bins,
           const std::uint32_t * rests,
           std::uint32_t *       places);

} // namespace cudamedian

#endif
