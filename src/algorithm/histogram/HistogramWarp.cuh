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
#ifndef HistogramWarp_cuh
#define HistogramWarp_cuh

#include "HostDevice.h"
#include "ThreadValue.cuh"

#include <cstdint>

namespace cudamedian
{

/** A warp whose lanes are threads: see HistogramKernels.h. */
struct ThreadWarp
{
  /** The lane's own. */
  template <typename T>
  using Value = ThreadValue<T>;

  template <typename TFunction>
  __device__ __forceinline__ void
  ForEachLane(const TFunction & function) const
  {
    function(static_cast<int>(threadIdx.x % 32));
  }

  __device__ __forceinline__ std::uint32_t
                             Sum(const Value<std::uint32_t> & value) const
  {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(allLanes, value.own);
#else
    std::uint32_t sum = value.own;
    CUDAMEDIAN_UNROLL
    for (int distance = 16; distance > 0; distance /= 2)
    {
      sum += __shfl_xor_sync(allLanes, sum, distance);
    }
    return sum;
#endif
  }

  __device__ __forceinline__ Value<std::uint32_t>
                             Scan(Value<std::uint32_t> value) const
  {
    CUDAMEDIAN_UNROLL
    for (int distance = 1; distance < 32; distance *= 2)
    {
      // The shuffle tells whether the lane has one so far before it.
      asm volatile("{\n\t"
                   ".reg .pred before;\n\t"
                   ".reg .b32 value;\n\t"
                   "shfl.sync.up.b32 value|before, %0, %1, 0, 0xffffffff;\n\t"
                   "@before add.u32 %0, %0, value;\n\t"
                   "}"
                   : "+r"(value.own)
                   : "r"(distance));
    }
    return value;
  }

  __device__ __forceinline__ std::uint32_t
                             Get(const Value<std::uint32_t> & value, int lane) const
  {
    return __shfl_sync(allLanes, value.own, lane);
  }

  __device__ __forceinline__ std::uint32_t
                             Ballot(const Value<bool> & value) const
  {
    return __ballot_sync(allLanes, value.own);
  }

  /** Halves of rows and columns change places, then quarters, and so on. */
  __device__ __forceinline__ Value<std::uint32_t>
                             Exchange(Value<std::uint32_t> value) const
  {
    const unsigned int lane = threadIdx.x % 32;
    std::uint32_t      lower = 0x0000FFFFU;
    CUDAMEDIAN_UNROLL
    for (unsigned int distance = 16; distance > 0; distance /= 2)
    {
      const bool          isUpper = (lane & distance) != 0;
      const auto          other = __shfl_xor_sync(allLanes, value.own, distance);
      const std::uint32_t kept = isUpper ? ~lower : lower;
      const auto          moved = __funnelshift_l(other, other, isUpper ? 32 - distance : distance);
      value.own = (value.own & kept) | (moved & ~kept);
      lower ^= lower << distance / 2;
    }
    return value;
  }

  __device__ __forceinline__ int
  CountBits(std::uint32_t word) const
  {
    return __popc(word);
  }

  __device__ __forceinline__ void
  Synchronize() const
  {
    __syncwarp();
  }
};

} // namespace cudamedian

#endif
