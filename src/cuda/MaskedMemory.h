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
#ifndef MaskedMemory_h
#define MaskedMemory_h

#include "MaskedKernels.h"
#include "Slab.h"

#include <cstddef>

namespace cudamedian
{

/** Where what a piece of an image with masked windows needs lies in one stretch of device memory, in bytes from its
 * start. */
struct MaskedMemory
{
  std::size_t copy{ 0 };
  std::size_t results{ 0 };
  std::size_t others{ 0 };
  std::size_t ranks{ 0 };
  std::size_t invalid{ 0 };
  std::size_t turns{ 0 };
  std::size_t empty{ 0 };
  std::size_t parities{ 0 };
  std::size_t scratch{ 0 }; ///< of the kernels
  std::size_t members{ 0 };
  std::size_t runs{ 0 };
  std::size_t bounds{ 0 };
  std::size_t bytes{ 0 };

  /** Adds a part. \returns where it starts. */
  std::size_t
  Add(std::size_t count);
};

/** The flags of a copy, whose lines along an axis have one place more, in memory from there on. */
Flags
GetCopyFlags(const Extent & extent, int axis, void * memory);

/** The bytes that they take. */
std::size_t
GetCopyFlagBytes(const Extent & extent, int axis);

/** The flags of outputs. */
Flags
GetOutputFlags(const Extent & extent, void * memory);

std::size_t
GetOutputFlagBytes(const Extent & extent);

/** How the lines of a copy along an axis other than that of rows are cut into segments. */
struct SegmentCut
{
  Extent       segments;
  std::int64_t length;    ///< in pixels
  std::int64_t lineWords; ///< of a whole line
};

SegmentCut
CutIntoSegments(const Extent & extent, int axis);

/** Bytes of the parities of all segments of a copy. A smaller one has no more of them. */
std::size_t
GetParityBytes(const Extent & extent, int axis);

} // namespace cudamedian

#endif
