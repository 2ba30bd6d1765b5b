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
#ifndef WindowSums_h
#define WindowSums_h

#include "Slab.h"
#include "Window.h"

#include <cstdint>
#include <vector>

namespace cudamedian
{

/** Sums of the values of each window.
 * \param values of a box that holds the windows of all outputs, without gaps, axis 0 fastest
 * \param outputs how many there are along each axis; the box is larger by the window's size less one
 * \pre the window has at most 2^31 - 1 values
 * \returns a sum for each output; a footprint's values count by their weights. */
std::vector<std::int32_t>
SumWindows(const std::vector<std::int8_t> & values, const Window & window, const Extent & outputs);

} // namespace cudamedian

#endif
