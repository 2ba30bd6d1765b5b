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
#ifndef ValidRanks_h
#define ValidRanks_h

#include "PixelKey.h"
#include "Window.h"

/** Ranks of windows in which pixels that are not valid have extreme keys: a pixel that is not valid gets the least or
 * the greatest of all keys, in turn along lines of the window's longest axis. */
namespace cudamedian
{

/** What is wanted of the valid pixels. */
enum class Wanted : std::uint8_t
{
  Middle,
  Least,
  Greatest
};

Wanted
GetWanted(const Window & window);

/** The axis along which pixels that are not valid get least and greatest keys in turn: the window's longest, since then
 * there are the fewest lines in a window, each of which may be out of balance by one. Of axes alike it is not that of
 * rows, whose pixels then take vectors. */
int
GetFilledAxis(const Window & window);

/** Lines of a window along an axis. Those of a footprint are as many as the stretches whose pixels all count once, all
 * twice, and so on, that its lines are made of: a pixel begins as many as it counts more than the one before it. */
std::int64_t
CountLines(const Window & window, int axis);

/** The rank of the upper one of two middle values of a window's valid pixels among all its values, or of the lower one.
 * Where a window has no valid pixel there is no rank, and any does as well.
 * \param balance how many more of the keys are the least than are the greatest. */
template <typename TNumber>
CUDAMEDIAN_HOST_DEVICE TNumber
GetRankOfValid(TNumber values, TNumber balance, bool isLower)
{
  const TNumber rank = (values - (isLower ? 1 : 0) + balance) >> 1;
  const TNumber last = values - 1;
  return rank < 0 ? 0 : rank > last ? last : rank;
}

/** A stretch of ranks. */
struct RankSpan
{
  std::int64_t least;
  std::int64_t greatest;
};

/** The ranks that the upper middle values of a window's valid pixels can have, or the lower ones: each line of a box is
 * out of balance by at most one, and so is each stretch of a footprint's line, as often as it counts. */
RankSpan
GetRanksOfValid(const Window & window, bool isLower);

} // namespace cudamedian

#endif
