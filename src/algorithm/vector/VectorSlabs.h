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
#ifndef VectorSlabs_h
#define VectorSlabs_h

#include "Extents.h"
#include "itkCudaMedianVectorMedian.h"

namespace cudamedian
{

/** A part of a request's outputs, and the inputs of their windows, cut at the image's border. */
struct VectorSlab
{
  Extent inputOrigin;
  Extent inputExtent;
  Extent outputOrigin; ///< in the request's output
  Extent outputExtent;
};

/** How a request is cut along its outermost axis. */
struct VectorSlabs
{
  int          axis{ 0 };
  std::int64_t planes{ 0 }; ///< of a slab; the last may have fewer
  std::size_t  count{ 0 };
};

/** A slab of these outputs. */
VectorSlab
GetVectorSlab(const VectorMedianRequest & request, int axis, std::int64_t first, std::int64_t planes);

/** Bytes of a slab's input and output. */
std::size_t
GetInputBytes(const VectorMedianRequest & request, const VectorSlab & slab);
std::size_t
GetOutputBytes(const VectorMedianRequest & request, const VectorSlab & slab);

/** Cuts a request: a slab for each device at least, and none of more bytes than the budget has. Longer slabs than some
 * would only be told of late.
 * \throws RequestError where the budget cannot hold the smallest slab. */
VectorSlabs
CutVectorSlabs(const VectorMedianRequest & request, std::size_t budget, std::size_t devices);

} // namespace cudamedian

#endif
