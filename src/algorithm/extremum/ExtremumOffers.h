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
#ifndef ExtremumOffers_h
#define ExtremumOffers_h

#include "ExtremumPolicy.h"

#include <vector>

/** The shapes that there are for a window, one kernel each. */
namespace cudamedian
{

/** A shape that finds a window's extremes in one pass, and how long that takes by the model. */
struct ExtremumOffer
{
  ExtremumShape shape;
  double        seconds;
};

/** Whether a window has more than the output along an axis. */
inline bool
HasReach(const ExtremumReach & reach, std::size_t axis)
{
  return reach.before[axis] + reach.behind[axis] > 0;
}

/** A shape that has a window, and nothing of the work yet. */
ExtremumShape
MakeExtremumShape(const ExtremumReach & reach);

/** Fills in the warps of a block, but for columns, and their shared memory. \returns whether a block has that. */
bool
FitExtremumShape(ExtremumShape & shape, int pixelBytes, const DeviceTraits & device);

/** All shapes that find a window's extremes in one pass and fit the device. There are none where no kernel covers the
 * window's axes at once. */
std::vector<ExtremumOffer>
ListExtremumOffers(const ExtremumReach & reach,
                   const Extent &        outputExtent,
                   int                   pixelBytes,
                   const DeviceTraits &  device);

} // namespace cudamedian

#endif
