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
#ifndef ForgetfulSelection_h
#define ForgetfulSelection_h

#include "TileProgram.h"

namespace cudamedian
{

/** Builds the tile program of a window's medians by forgetful selection.
 *
 * A list starts with just over half of the window's pixels. Of so many the least and the greatest cannot be the median:
 * they are found and forgotten, the next pixel takes their place, and so on until one value is left. Outputs of a tile
 * begin with the pixels that all their windows share. Then the tile is split in two along its longest axis, and each
 * half goes on alone.
 *
 * Sources of the method: G. Perrot, S. Domas, R. Couturier, "Fine-tuned High-speed Implementation of a GPU-based Median
 * Filter", Journal of Signal Processing Systems 75 (3), 2014, in tiles of one and of two pixels (PRMF); H.-J. Kim,
 * "Optimal Median Filter Algorithms for Image Data Processing on GPU", GTCx Korea 2016, in tiles of 2x2, which share
 * what is in all four windows, then what is in two.
 *
 * \throws std::invalid_argument where the window is no box of odd sizes or its rank not the median's, and where the
 * tile is larger than the window along an axis, or not positive. */
TileProgram
BuildForgetfulProgram(const Window & window, const Extent & tile);

} // namespace cudamedian

#endif
