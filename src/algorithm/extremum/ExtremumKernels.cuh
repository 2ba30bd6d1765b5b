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
#ifndef ExtremumKernels_cuh
#define ExtremumKernels_cuh

#include "DivideUp.h"
#include "EarlyLaunch.h"
#include "EarlyStart.h"
#include "ExtremumKernels.h"
#include "ExtremumLaunch.h"
#include "SharedMemoryLimit.h"

namespace cudamedian
{

/** The lanes of a warp on the device. */
template <typename TBody>
struct DeviceWarp
{
  using Lane = typename TBody::Lane;
  using Word = typename TBody::Word;

  template <typename TFunction>
  __device__ __forceinline__ void
  ForEach(const TFunction & function)
  {
    function(static_cast<int>(threadIdx.x % 32), lane);
  }

  __device__ __forceinline__ void
  Synchronize() const
  {
    __syncwarp();
  }

  /** \tparam VHasEnds whether what comes from beyond the warp is used: it is never less than others */
  template <int VWords, bool VHasEnds = true, typename TGive, typename TTake>
  __device__ __forceinline__ void
  Fetch(int distance, const TGive & give, const TTake & take)
  {
    const int source = static_cast<int>(threadIdx.x % 32) + distance;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VWords; ++i)
    {
      const Word word = __shfl_sync(~0U, give(lane)[i], source & 31);
      take(lane)[i] = !VHasEnds || static_cast<unsigned int>(source) < 32U ? word : static_cast<Word>(~Word{ 0 });
    }
  }

  /** A word more than a lane gives: from a place on, of a lane and the next. */
  template <typename TGive, typename TTake>
  __device__ __forceinline__ void
  FetchRotated(int distance, int rotated, const TGive & give, const TTake & take)
  {
    const int     source = static_cast<int>(threadIdx.x % 32) + distance;
    constexpr int count = sizeof(give(lane)) / sizeof(Word);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i <= count; ++i)
    {
      take(lane)[i] = __shfl_sync(~0U, give(lane)[i % count], (source + (i + rotated >= count ? 1 : 0)) & 31);
    }
  }

  Lane lane;
};

/** The lanes of all warps of a block on the device. */
template <typename TBody>
struct DeviceTeam : private DeviceWarp<TBody>
{
  using DeviceWarp<TBody>::Fetch;

  template <typename TFunction>
  __device__ __forceinline__ void
  ForEach(const TFunction & function)
  {
    function(number, static_cast<int>(threadIdx.x % 32), this->lane);
  }

  __device__ __forceinline__ void
  Synchronize() const
  {
    __syncthreads();
  }

  int number; ///< of the warp
};

/** Runs what a warp or a team does; `items` of the arguments tells how many there are. */
template <typename TBody>
__global__ void __launch_bounds__(32 * TBody::MostWarps, TBody::ResidentBlocks)
  ExtremumKernel(const __grid_constant__ ExtremumArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  AwaitKernelsInFront();

  // Taken from a lane, so that the compiler knows that all lanes have the same.
  const int number = __shfl_sync(~0U, static_cast<int>(threadIdx.x / 32), 0);
  if constexpr (TBody::IsTeam)
  {
    DeviceTeam<TBody> team;
    team.number = number;
    TBody(arguments, blockIdx.x, shared).Run(team);
  }
  else
  {
    const std::int64_t item = std::int64_t{ blockIdx.x } * arguments.shape.warps + number;
    if (item < arguments.items)
    {
      const TBody body(
        arguments, item, reinterpret_cast<typename TBody::Pack *>(shared + number * arguments.shape.warpBytes));
      DeviceWarp<TBody> warp;
      body.Run(warp);
    }
  }
}

/** Starts the kernel of a pass. Sources that include this file instantiate it for keys: one each, so that they compile
 * side by side. */
template <typename TKey>
cudaError_t
LaunchExtremumPass(const ExtremumArguments & arguments, cudaStream_t stream)
{
  const auto & shape = arguments.shape;
  return ExtremumKernels<typename TKey::Bits, TKey::mapping>::Dispatch(shape, [&](auto type) {
    using Body = typename decltype(type)::Body;
    const auto kernel = ExtremumKernel<Body>;
    const auto sharedBytes = shape.warps * shape.warpBytes;
    const auto function = reinterpret_cast<const void *>(kernel);
    bool       isEarly = false;
    auto       error = AllowSharedMemory(function, sharedBytes);
    error = error == cudaSuccess ? AwaitsKernelsInFront(function, isEarly) : error;
    if (error != cudaSuccess)
    {
      return error;
    }
    const dim3 blocks(static_cast<unsigned int>(DivideUp(arguments.items, Body::IsTeam ? 1 : shape.warps)));
    const dim3 threads(static_cast<unsigned int>(32 * shape.warps));
    void *     parameters[] = { const_cast<ExtremumArguments *>(&arguments) };
    return LaunchKernel(function, blocks, threads, parameters, sharedBytes, isEarly, stream);
  });
}

} // namespace cudamedian

#endif
