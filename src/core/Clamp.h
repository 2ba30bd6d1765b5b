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
#ifndef Clamp_h
#define Clamp_h

#include "PixelKey.h"

#ifndef __CUDACC_RTC__
#  include <algorithm>
#endif

namespace cudamedian
{

/** The position nearest to one along an axis, from 0 to the last. */
template <typename TPosition>
CUDAMEDIAN_HOST_DEVICE TPosition
Clamp(TPosition position, TPosition last)
{
#ifdef __CUDA_ARCH__
  // 32 bits have a minimum and a maximum. Of 64 bits nvcc makes fewer instructions of conditions:
  //   position < 0 ? 0 : position > last ? last : position
  // Ranks, merge tiling and the interpreter of programs have these. By this function, each kernel of theirs would
  // have up to 24 instructions more. The kernels of selection and of vectors call it. By conditions they would have
  // up to 16 fewer; no GPU has timed that.
  const TPosition low = position < 0 ? 0 : position;
  return last < low ? last : low;
#else
  // GCC makes slower code of the conditions.
  return std::min(std::max<TPosition>(position, 0), last);
#endif
}

} // namespace cudamedian

#endif
