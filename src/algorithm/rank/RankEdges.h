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
#ifndef RankEdges_h
#define RankEdges_h

#include "RankPolicy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** Pixels that enter a footprint's window and leave it at a step, as places in a region from the window's corner before
 * the step. There are as many of either. All pixels of the footprint count once. */
struct RankEdges
{
  std::vector<std::ptrdiff_t> entering;
  std::vector<std::ptrdiff_t> leaving;
};

/** The places of a footprint's pixels in a region, from the window's corner.
 *
 * \param axes image axes of the region's. \param pitch places from one position along a region axis to the next. */
std::vector<std::ptrdiff_t>
ListMembers(const Footprint & footprint, const int (&axes)[Dimension], const std::ptrdiff_t (&pitch)[3]);

/** What changes at a step of 1 or -1 along a region axis. */
RankEdges
ListEdges(const Footprint & footprint,
          const int (&axes)[Dimension],
          const std::ptrdiff_t (&pitch)[3],
          int along,
          int step);

/** How many pixels enter at a step along an image axis. */
int
CountEdges(const Footprint & footprint, int imageAxis);

/** What kernels read of a footprint: replacements at a step along region axis 2, and then its pixels.
 *
 * Of four replacements each it is how many bytes the pixels that enter are behind the window's corner, a word each, and
 * then the same for those that leave; there are shape.edges of them, the last ones of which may replace a pixel by
 * itself. Two pixels' places are one word. */
std::vector<std::uint32_t>
MakeRankLists(const Footprint & footprint, const RankShape & shape);

/** Bytes of these lists. */
std::size_t
GetRankListBytes(const RankShape & shape);

} // namespace cudamedian

#endif
