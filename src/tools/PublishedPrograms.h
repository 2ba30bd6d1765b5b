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
#ifndef PublishedPrograms_h
#define PublishedPrograms_h

#include "KernelPolicy.h"
#include "TileProgram.h"

#include <string>
#include <vector>

/** Methods that were published before this project's, by name, as tile programs: for the tests and the benchmarks,
 * which run them through the same kernels and vectors as the library's own. */
namespace cudamedian
{

/** Names, in the order in which documentation/methods.md has them:
 *
 * | name | program |
 * | --- | --- |
 * | forgetful1x1, forgetful2x1, ... | forgetful selection in such a tile (ForgetfulSelection.h) |
 * | partialsort | maxima down to the median (PublishedNetworks.h) |
 * | network94, network99 | the published network for 5x5, as it was and corrected |
 * | bitonic | a pruned bitonic network |
 * | steps22 | 3x3 in 22 steps |
 *
 * \throws std::invalid_argument for another name or a window that the method does not have. */
TileProgram
BuildPublishedProgram(const std::string & name, const Window & window);

/** The names of all programs for a window that are right: none of even sizes, footprints and other ranks than the
 * median's.
 */
std::vector<std::string>
ListPublishedPrograms(const Window & window);

/** A kernel's policy for another program of the window, which has no phases. */
KernelPolicy
AdaptPolicy(KernelPolicy policy, const TileProgram & program);

} // namespace cudamedian

#endif
