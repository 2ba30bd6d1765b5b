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
#ifndef RankThresholdKernels_h
#define RankThresholdKernels_h

#include "RankKernels.h"

namespace cudamedian
{

/** A kernel of local ranks: a block for each region of the launch. */
using RankFunction = void (*)(RankArguments);

/** The kernel that sorts regions by the values of pixels, GetValueSortThreads() to a block. */
RankFunction
FindValueKernel(const RankShape & shape, int pixelBytes);

/** The kernel whose windows keep a threshold (RankThreshold.h): of pixels of a byte those of a footprint. */
RankFunction
FindThresholdKernel(const RankShape & shape, int pixelBytes);

/** Those for large regions, which the others return for such a shape. The blocks of a region that slide windows have
 * largeThresholdThreads each. */
RankFunction
FindLargeSortKernel(int pixelBytes);
RankFunction
FindLargeThresholdKernel(const RankShape & shape, int pixelBytes);

} // namespace cudamedian

#endif
