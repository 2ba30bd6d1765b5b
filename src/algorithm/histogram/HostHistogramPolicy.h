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
#ifndef HostHistogramPolicy_h
#define HostHistogramPolicy_h

#include "HostBlockShape.h"

#include <cstdint>

/** How the CPU backend cuts outputs for sliding histograms. */
namespace cudamedian
{

/** What a window may be for sliding histograms on the CPU, as a part of a sentence. */
extern const char * const hostHistogramLimits;

/** Whether the CPU backend has sliding histograms for a window and pixels of so many bytes. Those of 8 bits are bins as
 * they are; others are sorted in blocks. */
bool
IsCoveredByHostHistograms(const Window & window, int pixelBytes);

/** Finds the block with the least cost by a model of it, for `units` work units side by side.
 * \returns false where even the smallest region has too many pixels to be sorted at once. */
bool
FindHostHistogramShape(const Window &   window,
                       int              pixelBytes,
                       const Extent &   outputExtent,
                       unsigned int     units,
                       HostBlockShape & shape);

/** What a block takes in nanoseconds of one thread with AVX-512, by the model that shapes are chosen by. */
double
EstimateHostHistogramNanoseconds(const HostBlockShape & shape, int pixelBytes);

} // namespace cudamedian

#endif
