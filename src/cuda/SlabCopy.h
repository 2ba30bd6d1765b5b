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
#ifndef SlabCopy_h
#define SlabCopy_h

#include "MaskedKernels.h"
#include "Slab.h"

namespace cudamedian
{

/** Copies an extent or strides to an array, as kernels read them. */
void
CopyExtent(const Extent & extent, std::int64_t (&target)[Dimension]);

/** The copy of what the windows of a slab see, with its border, whose pixels are all valid. */
FillArguments
MakeFillArguments(const MedianRequest & request, const Slab & slab, void * copy);

/** Brings results of a slab to their places in the output, whatever they are. \param results of the first output */
FinishArguments
MakeFinishArguments(const MedianRequest & request, const Slab & slab, void * results);

} // namespace cudamedian

#endif
