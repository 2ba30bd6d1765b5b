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
#ifndef ExtremumPolicy_h
#define ExtremumPolicy_h

#include "Slab.h"
#include "Traits.h"

#include <vector>

namespace cudamedian
{

/** Threads of a block. */
constexpr int extremumThreads = 256;

/** Blocks of a multiprocessor that leave each enough registers, on all architectures. */
constexpr int extremumBlocks = 4;

/** A window, or a part of one, and the block that finds its extremes in shared memory. Lengths along axis 0 of what
 * lies there are in words (ExtremumWords.h), all others in pixels. */
struct ExtremumShape
{
  std::int32_t before[4];    ///< pixels of the window before the output along each axis
  std::int32_t size[4];      ///< pixels of the window
  std::int32_t blockBits;    ///< the logarithm of block[0]
  std::int32_t block[4];     ///< outputs, powers of two
  std::int32_t footprint[4]; ///< what is staged for them
  std::int32_t pitch[2]; ///< words of a row that is staged, and of one of extremes along axis 0; odd: no bank conflicts
  std::int32_t second;   ///< where the second buffer begins, in words
  std::int32_t sharedBytes;
};

/** The kernels that find a window's extremes, one after the other: each takes those that the one before has found. The
 * extreme of a window is that of extremes of smaller ones whose sizes less one add up to its size less one. Clamping at
 * the image's border in between adds nothing: the border's pixels are in those windows anyway. */
struct ExtremumPasses
{
  std::vector<ExtremumShape> shapes;
  double                     copies{ 0 }; ///< how many copies of the image take as long, by the model
};

/** The window's pixels before and behind an output, as far as they lie in the image. */
struct ExtremumReach
{
  Extent before{ { 0, 0, 0, 0 } };
  Extent behind{ { 0, 0, 0, 0 } };
};

/** The reach of a request's window. */
ExtremumReach
GetExtremumReach(const MedianRequest & request);

/** The passes that the model takes for the fastest, on a device with these traits. There are none only where not even
 * a single pixel's neighbours fit in shared memory. */
ExtremumPasses
ChooseExtremumPasses(const ExtremumReach & reach,
                     const Extent &        outputExtent,
                     int                   pixelBytes,
                     const DeviceTraits &  device);

} // namespace cudamedian

#endif
