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
#ifndef LinePlace_h
#define LinePlace_h

#include "KernelArguments.h"
#include "PixelVector.h"

namespace cudamedian
{

/** Where the outputs of a thread begin: relative to the output box, but for the column, which is relative to the first
 * block. */
struct LinePlace
{
  std::int32_t first[4];
  std::int32_t skip;    ///< columns before the output box
  std::int32_t columns; ///< up to the end of the output box
  bool         isWhole; ///< all of the thread's columns are in it

  /** \param axis along which the warps of a block lie, `lines` from one to the next. */
  CUDAMEDIAN_HOST_DEVICE
  LinePlace(const KernelArguments & arguments,
            std::uint32_t           x,
            std::uint32_t           y,
            std::uint32_t           z,
            unsigned int            thread,
            int                     warps,
            int                     width,
            int                     axis,
            int                     lines)
  {
    constexpr unsigned int lanes = 32;
    y += arguments.firstBlock[0];
    z += arguments.firstBlock[1];
    const std::uint32_t volume = z < arguments.blocksZ ? 0 : z / arguments.blocksZ;
    first[0] = static_cast<std::int32_t>(x * lanes + thread % lanes) * width;
    first[1] = static_cast<std::int32_t>(y);
    first[2] = static_cast<std::int32_t>(z - volume * arguments.blocksZ);
    first[3] = static_cast<std::int32_t>(volume);
    first[axis] = (first[axis] * warps + static_cast<std::int32_t>(thread / lanes)) * lines;
    skip = arguments.outputOrigin[0] - arguments.gridOrigin - first[0];
    columns = skip + arguments.outputExtent[0];
    isWhole = skip <= 0 && columns >= width;
  }

  /** The input row of the first output, but for the position along an axis that the caller adds. */
  template <typename TPixelBits>
  CUDAMEDIAN_HOST_DEVICE const TPixelBits *
  GetInput(const KernelArguments & arguments, int without) const
  {
    const auto * input = static_cast<const TPixelBits *>(arguments.input);
    CUDAMEDIAN_UNROLL
    for (int i = 1; i < 4; ++i)
    {
      input += i == without ? 0 : (arguments.outputOrigin[i] + first[i]) * arguments.inputPitch[i];
    }
    return input;
  }

  template <typename TPixelBits>
  CUDAMEDIAN_HOST_DEVICE TPixelBits *
  GetOutput(const KernelArguments & arguments) const
  {
    auto * output = static_cast<TPixelBits *>(arguments.output) + first[0];
    CUDAMEDIAN_UNROLL
    for (int i = 1; i < 4; ++i)
    {
      output += first[i] * arguments.outputPitch[i];
    }
    return output;
  }

  /** Writes a vector of medians, but for those outside the output box. */
  template <typename TPixelBits, int VCount>
  CUDAMEDIAN_HOST_DEVICE void
  Store(const PixelVector<TPixelBits, VCount> & medians, TPixelBits * output) const
  {
    if (isWhole)
    {
      medians.Store(output);
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      if (i >= skip && i < columns)
      {
        output[i] = medians.Get(i);
      }
    }
  }
};

} // namespace cudamedian

#endif
