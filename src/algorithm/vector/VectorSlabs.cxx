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
#include "VectorSlabs.h"

#include "DivideUp.h"

#include <algorithm>
#include <string>

namespace cudamedian
{
namespace
{

/** Slabs are no larger than this where they can be smaller: progress is told after each. */
constexpr std::size_t usualSlabBytes = std::size_t{ 64 } << 20;

/** Bytes of the longest slab of so many planes: one with a halo at both ends. */
std::size_t
GetSlabBytes(const VectorMedianRequest & request, int axis, std::int64_t planes)
{
  const auto slab = GetVectorSlab(request, axis, (request.outputExtent[axis] - planes) / 2, planes);
  const auto plane = GetInputBytes(request, slab) / static_cast<std::size_t>(slab.inputExtent[axis]);
  const auto most = std::min(request.inputExtent[axis], planes + 2 * request.radius[axis]);
  return plane * static_cast<std::size_t>(most) + GetOutputBytes(request, slab);
}

/** The most planes that a slab of so many bytes has, or 0. */
std::int64_t
FindPlanes(const VectorMedianRequest & request, int axis, std::size_t bytes)
{
  std::int64_t fits = 0;
  std::int64_t exceeds = request.outputExtent[axis] + 1;
  while (exceeds - fits > 1)
  {
    const auto middle = fits + (exceeds - fits) / 2;
    (GetSlabBytes(request, axis, middle) <= bytes ? fits : exceeds) = middle;
  }
  return fits;
}

} // namespace

VectorSlab
GetVectorSlab(const VectorMedianRequest & request, int axis, std::int64_t first, std::int64_t planes)
{
  VectorSlab slab;
  slab.outputOrigin = { { 0, 0, 0, 0 } };
  slab.outputExtent = request.outputExtent;
  slab.outputOrigin[axis] = first;
  slab.outputExtent[axis] = std::min(planes, request.outputExtent[axis] - first);
  for (int each = 0; each < Dimension; ++each)
  {
    const auto start = request.outputOrigin[each] + slab.outputOrigin[each];
    const auto end = start + slab.outputExtent[each] + request.radius[each];
    slab.inputOrigin[each] = std::max<std::int64_t>(0, start - request.radius[each]);
    slab.inputExtent[each] = std::min(request.inputExtent[each], end) - slab.inputOrigin[each];
  }
  return slab;
}

std::size_t
GetInputBytes(const VectorMedianRequest & request, const VectorSlab & slab)
{
  return static_cast<std::size_t>(Volume(slab.inputExtent) * request.components) * PixelBytes(request.componentType);
}

std::size_t
GetOutputBytes(const VectorMedianRequest & request, const VectorSlab & slab)
{
  return static_cast<std::size_t>(Volume(slab.outputExtent) * request.components) * PixelBytes(request.componentType);
}

VectorSlabs
CutVectorSlabs(const VectorMedianRequest & request, std::size_t budget, std::size_t devices)
{
  VectorSlabs slabs;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    slabs.axis = request.outputExtent[axis] > 1 ? axis : slabs.axis;
  }
  const auto planes = request.outputExtent[slabs.axis];
  const auto most = FindPlanes(request, slabs.axis, budget);
  if (most == 0)
  {
    throw RequestError("The device memory budget of " + std::to_string(budget) +
                       " bytes cannot hold the smallest slab, which takes " +
                       std::to_string(GetSlabBytes(request, slabs.axis, 1)) + " bytes");
  }
  const auto usual = std::max<std::int64_t>(1, FindPlanes(request, slabs.axis, usualSlabBytes));
  const auto share = DivideUp(planes, static_cast<std::int64_t>(std::max<std::size_t>(1, devices)));
  slabs.planes = std::min({ most, usual, share });
  slabs.count = static_cast<std::size_t>(DivideUp(planes, slabs.planes));
  return slabs;
}

} // namespace cudamedian
