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
#ifndef TilePolicy_h
#define TilePolicy_h

#include "itkCudaMedianExtent.h"

namespace cudamedian
{

/** Whether the CPU can run a window as a tile program: up to two axes of radius 1 to 15, or three of radius 1 to 4. */
bool
IsCoveredByTilePrograms(const Extent & radius);

/** Whether a kernel can interpret the window's program: up to two axes of radius 1 to 5, or three of radius 1 to 2. */
bool
IsInterpretedOnDevices(const Extent & radius);

/** Whether the CPU is faster with the window's program than with local ranks, by measurement (AVX-512, two threads,
 * program : ranks): 8-bit 31x31 6.1, 9x9x9 3.4; 16-bit 31x31 2.6, 9x9x9 2.3; float 21x21 2.8, 31x31 1.4, 7x7x7 3.0,
 * 9x9x9 1.7; programs take time in proportion to the bytes of a pixel, ranks hardly. */
bool
IsTileProgramFastestOnHost(const Extent & radius, int pixelBytes);

/** The root tile of a window's program on the CPU and where kernels interpret it.
 *
 * Along each axis the largest power of two t with 2t <= window + 1, at most 4, and at most 2 when three axes have a
 * radius. Operations per pixel counted with these tiles: 3x3 19.5, 5x5 72, 7x7 127, 9x9 215, 11x11 315, 3x3x3 107,
 * 5x5x5 639; the next smaller and larger tiles cost more or need more than 255 live values. */
Extent
ChooseTile(const Extent & radius);

} // namespace cudamedian

#endif
