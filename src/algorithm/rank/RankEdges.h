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

/** The same two by two where they follow each other along region axis 0, as the places of the first ones, which are
 * even behind the region's first pixel; those that are left one by one. */
struct PairedEdges
{
  RankEdges pairs;
  RankEdges singles;
};

/** \param corner the window's place in the region, of which it matters whether it is even: as many are paired if not.
 */
PairedEdges
PairEdges(const RankEdges & edges, std::ptrdiff_t corner);

/** Sets a shape's edges and pairs for windows that keep a threshold, its runs and its disk, once the axes are known. */
void
SetPairedEdges(const Footprint & footprint, RankShape & shape);

/** The greatest squared distance of a pixel from the center where the footprint has all that lie no farther away, in
 * its plane or along three axes: of a disk or a ball. \returns 0 for others. */
int
FindDisk(const Footprint & footprint);

/** How many pixels enter at a step along an image axis: as many as there are rows of pixels that follow each other. */
int
CountEdges(const Footprint & footprint, int imageAxis);

/** What kernels read of a footprint: replacements at a step along region axis 2, and then its pixels.
 *
 * Of four replacements each it is how many bytes the pixels that enter are behind the window's corner, a word each, and
 * then the same for those that leave; there are shape.edges of them, the last ones of which may replace a pixel by
 * itself. Two pixels' places are one word.
 *
 * Where windows keep a threshold, shape.pairs replacements of two pixels each, listed in the same way, come before
 * those of one; all of them once for windows whose corner is an even place of the region, and once for the others. Then
 * shape.runs words have the place of the first pixel of a row of them, and their number above runShift, none for the
 * last words, and FootprintBits follow. */
std::vector<std::uint32_t>
MakeRankLists(const Footprint & footprint, const RankShape & shape);

/** Words of FootprintBits that a block's windows have. */
int
CountBitWords(const RankShape & shape);

/** Bytes of these lists. */
std::size_t
GetRankListBytes(const RankShape & shape);

} // namespace cudamedian

#endif
