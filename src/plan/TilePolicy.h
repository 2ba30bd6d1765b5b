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

/** Whether a window runs as a tile program: up to two axes of radius 1 to 5, or three of radius 1 to 2. */
bool
IsCoveredByTilePrograms(const Extent & radius);

/** The root tile for a window that tile programs cover.
 *
 * Along each axis the largest power of two t with 2t <= window + 1, at most 4, and at most 2 when three axes have a
 * radius. Operations per pixel counted with these tiles: 3x3 19.5, 5x5 72, 7x7 127, 9x9 215, 11x11 315, 3x3x3 107,
 * 5x5x5 639; the next smaller and larger tiles cost more or need more than 255 live values. */
Extent
ChooseTile(const Extent & radius);

} // namespace cudamedian

#endif
