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
#ifndef MaskedTiles_h
#define MaskedTiles_h

#include "MaskRules.h"
#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** Whether a masked request (see IsMasked()) can be filtered by kernels that read the image and its mask themselves,
 * given that they read and write images where they lie: its window is a box of an odd size, some rank of which is
 * wanted by a map, in rows; its pixels have up to 32 bits, and mask pixels 8; borders are clipped, or see the nearest
 * pixel; all outputs are written as they are found. */
bool
AreReadByTiles(const MedianRequest & request);

/** What such kernels are told. */
MaskRules
MakeMaskRules(const MedianRequest & request);

} // namespace cudamedian

#endif
