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
#ifndef BoxRows_h
#define BoxRows_h

#include "DivideUp.h"
#include "Extents.h"

#include <algorithm>
#include <cstddef>

namespace cudamedian
{

/** Joins rows that follow each other without gaps in both of two images to one row, and slices of such rows likewise.
 */
inline void
MergeRows(Extent & extent, Extent & oneStride, Extent & otherStride)
{
  while (extent[1] * extent[2] * extent[3] > 1 && oneStride[1] == extent[0] && otherStride[1] == extent[0])
  {
    extent = { { extent[0] * extent[1], extent[2], extent[3], 1 } };
    oneStride = { { 1, oneStride[2], oneStride[3], oneStride[3] } };
    otherStride = { { 1, otherStride[2], otherStride[3], otherStride[3] } };
  }
}

/** Calls copy(target, source, count) for each row of a part of a box: where the row starts in either image, and its
 * pixels. All parts have as many pixels. Rows are as long as the images allow: threads copied 2 KiB at a time past the
 * caches at 0.7 of the rate of 32 KiB, and at 0.45 with an end of such stores after each. */
template <typename TCopy>
void
ForEachRowOfPart(Extent        extent,
                 Extent        targetStride,
                 Extent        sourceStride,
                 std::size_t   part,
                 std::size_t   parts,
                 const TCopy & copy)
{
  MergeRows(extent, targetStride, sourceStride);
  // Parts end at multiples of 64 pixels, whatever the type: no cache line of a packed row has two writers.
  const auto total = static_cast<std::size_t>(Volume(extent));
  const auto blocks = DivideUp(total, 64);
  const auto first = std::min(total, blocks * part / parts * 64);
  const auto last = std::min(total, blocks * (part + 1) / parts * 64);
  const auto width = static_cast<std::size_t>(extent[0]);
  for (auto next = first; next < last;)
  {
    const auto   row = next / width;
    const auto   x = next % width;
    const auto   count = std::min(width - x, last - next);
    const auto   y = static_cast<std::int64_t>(row) % extent[1];
    const auto   slices = static_cast<std::int64_t>(row) / extent[1];
    const Extent position{ { static_cast<std::int64_t>(x), y, slices % extent[2], slices / extent[2] } };
    copy(GetOffset(position, targetStride), GetOffset(position, sourceStride), count);
    next += count;
  }
}

} // namespace cudamedian

#endif
