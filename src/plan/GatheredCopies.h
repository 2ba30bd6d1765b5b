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
#ifndef GatheredCopies_h
#define GatheredCopies_h

#include "Slab.h"

#include <vector>

namespace cudamedian
{

/** Threads at most that prepare copies of pixels that may not be valid for a device, whose memory they take turns with.
 */
constexpr unsigned int mostPreparingThreads = 8;

/** Outputs that are found in a copy of what their windows see. */
struct GatheredCopy
{
  MedianRequest request; ///< the one that is run, or that with two axes exchanged
  PixelBox      outputs;
};

/** A request's outputs in a box, and no others. */
MedianRequest
TakeOutputs(const MedianRequest & request, const PixelBox & box);

/** A box of outputs, in parts whose windows are clipped at one end of each axis alone (FindSingleFill()): two along the
 * axes where they are clipped at both. Parts are not shorter than the window. */
std::vector<PixelBox>
CutBetweenEnds(const MedianRequest & request, const PixelBox & box);

/** Outputs of a box, in boxes that see at most so many pixels, where windows leave a choice: they are cut along the
 * axes whose pixels lie farthest apart, and not so often that they would be smaller than what windows see around them.
 */
std::vector<PixelBox>
CutIntoBoxes(const MedianRequest & request, const PixelBox & box, std::int64_t mostPixels);

/** Outputs of a box, in copies that are small enough. */
std::vector<GatheredCopy>
CutIntoCopies(const MedianRequest & request, const PixelBox & box);

/** Outputs of what lies around an interior, in bands along each axis. A band may be narrow along rows: there another
 * axis is exchanged with them, which makes longer ones. */
std::vector<GatheredCopy>
CutRimIntoCopies(const MedianRequest & request, const PixelBox & whole, const PixelBox & interior);

} // namespace cudamedian

#endif
