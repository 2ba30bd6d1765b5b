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
#ifndef StagedCopy_h
#define StagedCopy_h

#include "Slab.h"
#include "itkCudaMedianEngine.h"

#include <cstddef>
#include <cstdint>

namespace cudamedian
{

/** Where a box of pixels lies in one of the request's images. */
struct HostBox
{
  char * first;
  Extent stride;
};

/** Where a box of the input lies. */
HostBox
LocateInput(const MedianRequest & request, const PixelBox & box);

/** Where a slab's output belongs. */
HostBox
LocateOutput(const MedianRequest & request, const Slab & slab);

/** The part of a slab's input that the device does not have yet: all of it, or what lies behind the overlap with the
 * slab before along the outermost axis. */
struct FreshInput
{
  PixelBox     box;           ///< what has to be uploaded
  std::int64_t overlap;       ///< pixels at the start of the buffer that lie in the buffer of the slab before
  std::int64_t overlapSource; ///< where they lie there
};

/** Finds the fresh input of a slab.
 * \param slabBefore the one before the slab in the image, where it is on the device still, or null. */
FreshInput
GetFreshInput(const Slab & slab, const Slab * slabBefore, std::size_t pixelBytes);

/** The number of pieces in which threads copy a box. */
std::size_t
CountPieces(const Extent & extent, std::size_t pixelBytes);

/** Copies a piece of what a slab needs of the image to its place. The stores go through the caches, from which the bus
 * then reads: with 16 MiB in each of four places 16 threads took 22 ms for 1 GiB in and 1 GiB out, and 27 ms with
 * stores past the caches both ways. */
void
CopyPieceIn(const MedianRequest & request,
            const Slab &          slab,
            const FreshInput &    fresh,
            void *                stagedInput,
            std::size_t           piece);

/** Copies a piece of the ranks of a slab's outputs to their place, as devices have them: see GetRankBytes(). */
void
CopyRanksIn(const MedianRequest & request, const Slab & slab, void * stagedRanks, std::size_t piece);

/** Copies a piece of a slab's output from its place to the image, and converts it where the image has other pixels. */
void
CopyPieceOut(const MedianRequest & request, const Slab & slab, const void * stagedOutput, std::size_t piece);

} // namespace cudamedian

#endif
