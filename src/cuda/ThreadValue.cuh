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
#ifndef ThreadValue_cuh
#define ThreadValue_cuh

namespace cudamedian
{

constexpr unsigned int allLanes = 0xFFFFFFFFU;

/** A value of each thread of a warp or a block, where every thread runs the code: its own, whatever is asked for. */
template <typename T>
struct ThreadValue
{
  T own;

  __device__ __forceinline__ T &
  operator[](int)
  {
    return own;
  }
  const __device__ __forceinline__ T &
  operator[](int) const
  {
    return own;
  }
};

} // namespace cudamedian

#endif
