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
#ifndef ExtremumArguments_h
#define ExtremumArguments_h

#include "ExtremumDivisor.h"
#include "ExtremumPolicy.h"
#include "KernelArguments.h"

namespace cudamedian
{

/** What a kernel is told. */
struct ExtremumArguments
{
  KernelArguments slab; ///< its radius is not asked
  ExtremumShape   shape;
  std::int32_t    isLast;      ///< whether it stores the outputs, and not what another pass takes
  std::int32_t    firstVector; ///< of the first strip, counted from the input's first column
  std::int32_t    isOneSided;  ///< whether what is before a pixel is taken from lanes before (ExtremumSides.h)
  std::int32_t    halo[2];  ///< lanes before and behind the outputs of a strip that has neighbours, or of a row's part
  std::int32_t    strips;   ///< or parts of a row
  std::int32_t    segments; ///< along the march; columns: rows of the outputs
  std::int32_t    groups;   ///< along the runs
  std::int32_t    staged;   ///< columns: lanes of a row's part, with those around its outputs
  std::int32_t    rows;     ///< columns: parts that a team has, of as many rows as a word has pixels
  ExtremumDivisor divisors[4]; ///< tiles: the warps of a block, strips, segments and groups; bands: those but the
                               ///< warps; columns: strips, lanes of a part, and the outputs' extent along axes 1 and 2
  std::int64_t items;          ///< what there is for warps, or for teams: strips of all segments, groups and places
                               ///< along the axis left, or parts of so many rows
};

} // namespace cudamedian

#endif
