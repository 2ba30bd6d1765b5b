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
#ifndef HostThresholdPolicy_h
#define HostThresholdPolicy_h

#include "HostBlockShape.h"

/** How the CPU backend cuts outputs for windows that keep a threshold (ThresholdRunner.h). */
namespace cudamedian
{

/** Finds the block with the least cost by a model of it, for `units` work units side by side.
 * \returns false where there is none: boxes of 8 bits, which sliding histograms count, footprints without rows
 * (FootprintRows.h), and windows whose smallest region has positions of more than 16 bits, or of more than 8 along an
 * axis. */
bool
FindHostThresholdShape(const Window &   window,
                       int              pixelBytes,
                       const Extent &   outputExtent,
                       unsigned int     units,
                       HostBlockShape & shape);

/** Whether that is faster than sliding histograms, by the model and by what was measured (HostThresholdRatios.inc): up
 * to 125 pixels along an axis, where a block sorts few pixels for an output. */
bool
IsThresholdFastestOnHost(const HostBlockShape & shape, int pixelBytes, const Extent & outputExtent);

/** What a block takes in nanoseconds of one thread with AVX-512, by the model that shapes are chosen by. */
double
EstimateHostThresholdNanoseconds(const HostBlockShape & shape, int pixelBytes);

} // namespace cudamedian

#endif
