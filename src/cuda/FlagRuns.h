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
#ifndef FlagRuns_h
#define FlagRuns_h

#include "MaskedKernels.h"
#include "Window.h"

#include <vector>

namespace cudamedian
{

/** The pixels of a window's footprint, as kernels read them; none of a box. */
std::vector<FootprintMember>
ListMembers(const Window & window);

/** The runs of a footprint along an axis, each as often as it counts: a pixel begins as many as it counts more than the
 * one before it. None of a box. */
std::vector<FlagRun>
ListRuns(const Window & window, int axis);

/** How many runs a window has: lines of a box along the axis, or runs of a footprint as often as they count. */
std::int64_t
CountRuns(const Window & window, int axis, const std::vector<FlagRun> & runs);

/** Digits in which sums of turns have room: up to two for each run, and what is added. */
int
GetDigits(std::int64_t runs);

} // namespace cudamedian

#endif
