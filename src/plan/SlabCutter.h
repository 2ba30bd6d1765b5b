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
#ifndef SlabCutter_h
#define SlabCutter_h

#include "Plan.h"

namespace cudamedian
{

/** Cuts the outputs of a request into the slabs of a plan for devices, whose candidate, budget and staging are set, and
 * says why they are so large.
 *
 * \throws RequestError when a budget cannot hold the smallest slab (one tile with its halo; the text gives the smallest
 * budget that does), or when that slab is longer along an axis than kernels can count. */
void
CutIntoDeviceSlabs(const MedianRequest & request, Plan & plan);

/** The same for the host, which works in the image's own memory. */
void
CutIntoHostSlabs(const MedianRequest & request, Plan & plan);

} // namespace cudamedian

#endif
