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
#ifndef RankThresholdPolicy_h
#define RankThresholdPolicy_h

#include "RankPolicy.h"

/** How windows are cut into blocks where they keep a threshold (RankThreshold.h). */
namespace cudamedian
{

/** Finds the fastest block for a window by a model of its cost: beyond 211x211 with 16 bits, and 181x181 with more, the
 * one that was measured to be in large regions (RegionForm::Large), and so for disks of a radius of 91 pixels and more.
 * Footprints along three axes have solid regions (RegionForm::Solid).
 *
 * \returns false if there is none: the window does not lie along the image's rows, it is too large, or it is a box, and
 * lies along three axes or has pixels of 8 bits, whose values histograms count. */
bool
FindThresholdShape(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits);

/** Whether windows were measured to be faster with a threshold than with counters or histograms where there is such a
 * block: squares of 45 to 401 pixels of 16 and 64 bits were, and of 41 to 401 of 32, and longer windows of as many
 * pixels or somewhat fewer. Smaller ones are no faster on scans, and cubes are slower. In large regions windows are not
 * long: they were not measured. Of footprints disks of 61 pixels across were, and those of 45, which lost on scans;
 * with 8 bits counters are as fast on scans up to 61. Along three axes footprints that are dense were, of as many
 * pixels as the box of a ball of radius 9; of radius 10 with 8 bits, and 8 with 32 and 64. */
bool
IsThresholdFaster(const Window & window, int pixelBytes);

/** What an output of such a block takes in picoseconds, at the speed of an H200's multiprocessors. */
double
EstimateThresholdPicoseconds(const RankShape &    shape,
                             const Window &       window,
                             int                  pixelBytes,
                             const DeviceTraits & traits);

/** Whether a window is a footprint that has at least a quarter of its box. The pixels of others are selected as fast as
 * a region of the box is sorted. */
bool
IsDenseFootprint(const Window & window);

} // namespace cudamedian

#endif
