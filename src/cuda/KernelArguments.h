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
#ifndef KernelArguments_h
#define KernelArguments_h

#include "PixelKey.h"

namespace cudamedian
{

/** A pixel of a footprint, as kernels read it. */
struct FootprintMember
{
  std::int32_t offset[4];
  std::int64_t weight;
};

/** What every kernel is told about its slab. Plain data, passed by value.
 *
 * Axis 0 is contiguous; the rows of both buffers start at multiples of 16 bytes. Positions are relative to the first
 * pixel of the slab's input box and fit in 32 bits; offsets in memory are 64-bit. */
struct KernelArguments
{
  const void *            input;
  void *                  output;         ///< where the output pixel at column gridOrigin of the first row belongs
  std::int64_t            inputPitch[4];  ///< pixels from one position along an axis to the next
  std::int64_t            outputPitch[4]; ///< the same for the output
  std::int32_t            inputExtent[4];
  std::int32_t            outputExtent[4];
  std::int32_t            outputOrigin[4]; ///< first output pixel
  std::int64_t            radius[4];       ///< may exceed the image
  std::int64_t            rank;            ///< of the wanted value among the sorted ones of a window, from 0
  std::int32_t            gridOrigin;      ///< outputOrigin[0] rounded down to a multiple of 16 bytes
  std::uint32_t           blocksZ;         ///< blocks along axis 2; the grid's third axis runs over axes 2 and 3
  std::uint32_t           firstBlock[2]; ///< what is added to the block's number along the grid's second and third axis
  std::uint64_t           signMask;      ///< see KeyMapping::Integer
  std::uint32_t           one;           ///< 1 and ~0, unknown to the compiler: see KeyRegisters::MaxBySum
  std::uint32_t           minusOne;
  std::int32_t            stripRows; ///< rows of a strip (StripKernel.h), an even number, or outputs along MarchAxis
  std::int32_t            footprintPixels; ///< pixels of a footprint, for kernels that read it …
  const FootprintMember * footprint;       ///< … from a list in the device's memory
  std::int32_t shorter[4]; ///< 1 where the window has one pixel fewer behind an output than the radius, else 0
  /** A rank for each output, less `rank`, as far from the first as the output's pixel is from that at `output`; null
   * where all have the one rank. */
  const void * rankMap;
  std::int32_t rankBytes; ///< of a rank in the map: 1 or 4
};

/** The rank that is wanted of an output, whose pixel lies so far from that at `output`.
 * \tparam VHasMap whether there is a map of ranks. */
template <bool VHasMap>
CUDAMEDIAN_HOST_DEVICE std::int64_t
                       GetWantedRank(const KernelArguments & arguments, std::int64_t offset)
{
  if constexpr (!VHasMap)
  {
    return arguments.rank;
  }
  return arguments.rank + (arguments.rankBytes == 1
                             ? static_cast<std::int64_t>(static_cast<const std::uint8_t *>(arguments.rankMap)[offset])
                             : static_cast<const std::int32_t *>(arguments.rankMap)[offset]);
}

} // namespace cudamedian

#endif
