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
#ifndef TileBlock_h
#define TileBlock_h

#include "MarchingKernel.h"

namespace cudamedian
{

// A block of TileKernel or MarchingKernel from its beginning to its end. Its threads are a type, so that the tests run
// it too: there they are a loop. ForEachThread(function) calls function(thread) for each thread, and Synchronize()
// waits for all. What threads add to a variable from outside is their own on the device, and that of all in the tests:
// Count(variable) waits for all threads too, and returns how many added one. MakeOwn<T>() makes a variable for each
// thread, Get(thread), that stays from one such call to the next.

#ifdef __CUDACC__
/** The threads of a block on the device. */
struct DeviceThreads
{
  template <typename TFunction>
  static __device__ __forceinline__ void
  ForEachThread(const TFunction & function)
  {
    function(threadIdx.x);
  }
  static __device__ __forceinline__ void
  Synchronize()
  {
    __syncthreads();
  }
  static __device__ __forceinline__ int
  Count(int own)
  {
    return __syncthreads_count(own);
  }
  template <typename T>
  struct Own
  {
    T value;

    __device__ __forceinline__ T &
    Get(unsigned int)
    {
      return value;
    }
  };
  template <typename T>
  static __device__ __forceinline__ Own<T>
                                    MakeOwn()
  {
    return {};
  }
};

/** The same for a block that may run twice, or that goes on in steps: the thread's number is read anew, so that the
 * compiler keeps nothing that follows from it in registers all the time. On sm_89, 3x3x3 takes 2,368 instructions for
 * 2,952, and its 80 registers do. */
struct RepeatingThreads : DeviceThreads
{
  template <typename TFunction>
  static __device__ __forceinline__ void
  ForEachThread(const TFunction & function)
  {
    unsigned int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    function(thread);
  }
};
/** The threads of a block that may have to repeat what they did, or of one that never has to. */
template <bool VRepeats>
struct ThreadsOf
{
  using Type = DeviceThreads;
};
template <>
struct ThreadsOf<true>
{
  using Type = RepeatingThreads;
};
#  define CUDAMEDIAN_BLOCK __device__ __forceinline__
#else
#  define CUDAMEDIAN_BLOCK inline
#endif

/** The phases of a block from one on. \returns whether medians are at the limit of the numbered keys. */
template <typename TKernel, int VPhase, typename TThreads>
CUDAMEDIAN_BLOCK bool
RunTileKernelPhases(const TThreads &                threads,
                    const KernelArguments &         arguments,
                    const typename TKernel::Block & block,
                    typename TKernel::Keys *        shared)
{
  int atLimit = 0;
  threads.ForEachThread([&](unsigned int thread) {
    atLimit += TKernel::template RunPhase<VPhase>(arguments, block, thread, shared) ? 1 : 0;
  });
  if constexpr (VPhase + 1 < TKernel::Phases)
  {
    threads.Synchronize();
    return RunTileKernelPhases<TKernel, VPhase + 1>(threads, arguments, block, shared);
  }
  return block.numbered.HasLimit() && threads.Count(atLimit) > 0;
}

/** The border and the phases of a block whose footprint is staged. */
template <typename TKernel, typename TThreads>
CUDAMEDIAN_BLOCK bool
RunStagedTiles(const TThreads &                threads,
               const KernelArguments &         arguments,
               const typename TKernel::Block & block,
               typename TKernel::Keys *        shared)
{
  if (TKernel::HasBorder(arguments, block))
  {
    threads.ForEachThread([&](unsigned int thread) { TKernel::StageBorder(arguments, block, thread, shared); });
    threads.Synchronize();
  }
  return RunTileKernelPhases<TKernel, 0>(threads, arguments, block, shared);
}

/** A block of MarchingKernel. */
template <typename TKernel, typename TThreads>
CUDAMEDIAN_BLOCK void
RunMarchingBlock(const TThreads &         threads,
                 const KernelArguments &  arguments,
                 typename TKernel::Block  block,
                 typename TKernel::Keys * shared)
{
  const bool hasBorder = TKernel::HasBorder(arguments, block);
  const int  steps = TKernel::CountSteps(arguments, block);
  CUDAMEDIAN_KEEP_LOOP
  for (int step = 0; step < steps; ++step)
  {
    threads.ForEachThread([&](unsigned int thread) { TKernel::Stage(arguments, block, thread, shared); });
    threads.Synchronize();
    if (hasBorder)
    {
      threads.ForEachThread([&](unsigned int thread) { TKernel::StageBorder(arguments, block, thread, shared); });
      threads.Synchronize();
    }
    if (step >= TKernel::StepsAhead)
    {
      RunTileKernelPhases<TKernel, 0>(threads, arguments, block, shared);
      threads.Synchronize();
    }
    TKernel::Advance(block);
  }
}

/** A block of TileKernel. */
template <typename TKernel, typename TThreads>
CUDAMEDIAN_BLOCK void
RunStandingBlock(const TThreads &         threads,
                 const KernelArguments &  arguments,
                 typename TKernel::Block  block,
                 typename TKernel::Keys * shared)
{
  int        without = 0;
  const auto stage = [&](unsigned int thread) { without += TKernel::Stage(arguments, block, thread, shared) ? 1 : 0; };
  if constexpr (TKernel::IsNumbered)
  {
    block.numbered.isMiddle = arguments.signMask != 0;
    CUDAMEDIAN_KEEP_LOOP
    for (;;)
    {
      without = 0;
      threads.ForEachThread(stage);
      without = threads.Count(without);
      if (without > 0)
      {
        // Most blocks have none. Of those that have, bright ones are likely to have bright medians.
        block.numbered.isHigh = block.numbered.isSecond ? !block.numbered.isHigh : 2 * without > TKernel::Threads;
        block.numbered.isClamped = true;
        threads.ForEachThread([&](unsigned int thread) {
          block.numbered.template ClampShare<TKernel::Threads, TKernel::FootprintKeys>(thread, shared);
        });
        threads.Synchronize();
      }
      const bool isAtLimit = RunStagedTiles<TKernel>(threads, arguments, block, shared);
      if (!isAtLimit || block.numbered.isSecond)
      {
        return;
      }
      // What was numbered in the middle is numbered in one way, and then, if need be, in the other.
      block.numbered.isSecond = !block.numbered.isMiddle;
      block.numbered.isMiddle = false;
    }
  }
  else
  {
    threads.ForEachThread(stage);
    threads.Synchronize();
    RunStagedTiles<TKernel>(threads, arguments, block, shared);
  }
}

/** A block of either. */
template <typename TKernel, typename TThreads>
CUDAMEDIAN_BLOCK void
RunTileKernelBlock(const TThreads &         threads,
                   const KernelArguments &  arguments,
                   typename TKernel::Block  block,
                   typename TKernel::Keys * shared)
{
  if constexpr (TKernel::MarchAxis > 0)
  {
    RunMarchingBlock<TKernel>(threads, arguments, block, shared);
  }
  else
  {
    RunStandingBlock<TKernel>(threads, arguments, block, shared);
  }
}

#ifdef __CUDACC__
/** The block that a kernel runs. \param rule what TKernel::GetBlock() takes besides, if it does */
template <typename TKernel, typename... TRule>
__device__ __forceinline__ void
RunTileKernelBlock(const KernelArguments & arguments, const TRule &... rule)
{
  extern __shared__ __align__(16) unsigned char sharedMemory[];
  auto * const                                  shared = reinterpret_cast<typename TKernel::Keys *>(sharedMemory);
  const auto block = TKernel::GetBlock(arguments, rule..., blockIdx.x, blockIdx.y, blockIdx.z);
  using Threads = typename ThreadsOf<TKernel::IsNumbered || (TKernel::MarchAxis > 0)>::Type;
  RunTileKernelBlock<TKernel>(Threads{}, arguments, block, shared);
}
#endif

} // namespace cudamedian

#endif
