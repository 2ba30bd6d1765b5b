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
#ifndef MultiplyAdd_h
#define MultiplyAdd_h

#include "PixelKey.h"

namespace cudamedian
{

/** a * factor + b modulo 2^32, on the pipe of multiply-add. The factor comes from the kernel's arguments: were it known
 * to be 1 or -1, the compiler would use the adder, which is on the pipe of min and max. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       MultiplyAdd(std::uint32_t a, std::uint32_t factor, std::uint32_t b)
{
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(factor), "r"(b));
  return result;
#else
  return a * factor + b;
#endif
}

} // namespace cudamedian

#endif
