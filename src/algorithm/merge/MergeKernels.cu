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
#include "MergeKernels.h"
#include "MergeLaunch.h"

#include <algorithm>
#include <vector>

namespace cudamedian
{
namespace
{

/** Threads of the blocks that a task is spread over. */
constexpr int spreadBlockThreads = 256;

/** The most threads of a block of a pass (MergePolicy.cxx). */
constexpr int
GetMostThreads(MergePassKind kind)
{
  return kind == MergePassKind::SortCores || kind == MergePassKind::SplitCores ? 1024 : 256;
}

/** Runs the tasks of a pass, a block for each. */
template <typename TKey, MergePassKind VKind>
__global__ void
__launch_bounds__(GetMostThreads(VKind)) MergeKernel(const __grid_constant__ MergeArguments<TKey> arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  const MergeTask<TKey, VKind> task(arguments, static_cast<int>(blockIdx.x), reinterpret_cast<TKey *>(shared));
  const int                    rounds = task.GetRounds();
  for (int round = 0; round < rounds; ++round)
  {
    task.Run(round, static_cast<int>(threadIdx.x));
    __syncthreads();
  }
}

/** Runs a round of some tasks of a pass, several blocks for each. \param work of all these tasks. */
template <typename TKey, MergePassKind VKind>
__global__ void
__launch_bounds__(spreadBlockThreads)
  MergeRoundKernel(const __grid_constant__ MergeArguments<TKey> arguments, int firstTask, int round, TKey * work)
{
  const auto                   blocks = static_cast<unsigned int>(arguments.pass.threads / spreadBlockThreads);
  const auto                   number = static_cast<int>(blockIdx.x / blocks);
  const MergeTask<TKey, VKind> task(arguments, firstTask + number, work + number * arguments.pass.workKeys);
  task.Run(round, static_cast<int>(blockIdx.x % blocks * spreadBlockThreads + threadIdx.x));
}

/** Runs a pass of a region. \param work scratch memory of tasks that are spread over blocks. */
template <typename TKey, MergePassKind VKind>
cudaError_t
LaunchPass(MergeArguments<TKey> arguments, TKey * work, cudaStream_t stream)
{
  constexpr int     keyBytes = sizeof(TKey);
  const MergePass & pass = arguments.pass;
  const auto        spread = GetMergeSpread(pass, keyBytes);
  if (spread.tasks == 0)
  {
    MergeKernel<TKey, VKind><<<static_cast<unsigned int>(pass.tasks),
                               static_cast<unsigned int>(pass.threads),
                               static_cast<std::size_t>(pass.workKeys) * keyBytes,
                               stream>>>(arguments);
    return cudaGetLastError();
  }
  arguments.pass.threads = spread.blocks * spreadBlockThreads;
  const int rounds = MergeTask<TKey, VKind>(arguments, 0, nullptr).GetRounds();
  for (int task = 0; task < pass.tasks; task += spread.tasks)
  {
    const auto blocks = static_cast<unsigned int>(std::min(spread.tasks, pass.tasks - task) * spread.blocks);
    for (int round = 0; round < rounds; ++round)
    {
      MergeRoundKernel<TKey, VKind><<<blocks, spreadBlockThreads, 0, stream>>>(arguments, task, round, work);
      const auto error = cudaGetLastError();
      if (error != cudaSuccess)
      {
        return error;
      }
    }
  }
  return cudaSuccess;
}

template <typename TKey>
cudaError_t
LaunchAnyPass(const MergeArguments<TKey> & arguments, TKey * work, cudaStream_t stream)
{
  switch (arguments.pass.kind)
  {
    case MergePassKind::CopyKeys:
      return LaunchPass<TKey, MergePassKind::CopyKeys>(arguments, work, stream);
    case MergePassKind::SortLines:
      return LaunchPass<TKey, MergePassKind::SortLines>(arguments, work, stream);
    case MergePassKind::SortCores:
      return LaunchPass<TKey, MergePassKind::SortCores>(arguments, work, stream);
    case MergePassKind::ExtendLines:
      return LaunchPass<TKey, MergePassKind::ExtendLines>(arguments, work, stream);
    case MergePassKind::SplitCores:
      return LaunchPass<TKey, MergePassKind::SplitCores>(arguments, work, stream);
    case MergePassKind::SelectKeys:
      return LaunchPass<TKey, MergePassKind::SelectKeys>(arguments, work, stream);
  }
  return cudaErrorInvalidValue;
}

/** Orders the passes of regions on two streams: those over lines run beside those over cores, which are the caller's.
 *
 * Lines of a level are extended while the cores of the level before are split. Both have two buffers, of which a pass
 * reads one and writes the other: what extends lines writes over those that the cores before the last were made with.
 */
class MergeOrder
{
public:
  MergeOrder(cudaStream_t stream, MergeStreams & streams, const std::vector<MergePass> & passes, int keyBytes)
    : m_Stream(stream)
    , m_Streams(streams)
  {
    for (const auto & pass : passes)
    {
      // Passes that are spread over blocks share their scratch memory.
      m_Beside = m_Beside && (!IsOfLines(pass) || GetMergeSpread(pass, keyBytes).tasks == 0);
      m_CoreAxis = pass.kind == MergePassKind::SortCores ? pass.axis : m_CoreAxis;
    }
  }

  /** Calls launch(stream) for a pass when what it needs is under way. */
  template <typename TLaunch>
  cudaError_t
  Run(const MergePass & pass, const TLaunch & launch)
  {
    if (!m_Beside)
    {
      return launch(m_Stream);
    }
    if (pass.kind == MergePassKind::CopyKeys)
    {
      m_Cores = 0;
      m_HasLines = false;
    }
    auto error = cudaSuccess;
    // Cores are made of lines along one axis, which are sorted before them.
    if (IsOfLines(pass) && !(pass.kind == MergePassKind::SortLines && pass.axis == m_CoreAxis))
    {
      // The copy of the keys and the first cores are the first two; later the last but one.
      const int last = m_Cores < 3 ? m_Cores - 1 : m_Cores - 2;
      error = cudaStreamWaitEvent(m_Streams.lines, m_Streams.coresDone[last % 2], 0);
      error = error == cudaSuccess ? launch(m_Streams.lines) : error;
      m_HasLines = true;
      return error == cudaSuccess ? cudaEventRecord(m_Streams.linesDone, m_Streams.lines) : error;
    }
    if (m_HasLines && (pass.kind == MergePassKind::SplitCores || pass.kind == MergePassKind::SelectKeys))
    {
      error = cudaStreamWaitEvent(m_Stream, m_Streams.linesDone, 0);
    }
    error = error == cudaSuccess ? launch(m_Stream) : error;
    if (error == cudaSuccess && pass.kind != MergePassKind::SortLines)
    {
      error = cudaEventRecord(m_Streams.coresDone[m_Cores++ % 2], m_Stream);
    }
    return error;
  }

private:
  static bool
  IsOfLines(const MergePass & pass)
  {
    return pass.kind == MergePassKind::SortLines || pass.kind == MergePassKind::ExtendLines;
  }

  cudaStream_t   m_Stream;
  MergeStreams & m_Streams;
  bool           m_Beside{ true };
  bool           m_HasLines{ false }; ///< of this region on their own stream
  int            m_CoreAxis{ 0 };
  int            m_Cores{ 0 }; ///< passes of this region that are not over lines
};

template <typename TKey>
cudaError_t
LaunchMergeTilingOf(const KernelArguments & slab,
                    const MergeShape &      givenShape,
                    KeyFormat               keyFormat,
                    void *                  scratch,
                    std::size_t             scratchBytes,
                    MergeStreams &          streams,
                    cudaStream_t            stream)
{
  constexpr int keyBytes = sizeof(TKey);
  const Extent  outputExtent{
     { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] }
  };
  const auto shape = FitMergeRegion(givenShape, outputExtent, keyBytes);
  if (shape.scratchBytes > static_cast<std::int64_t>(scratchBytes))
  {
    return cudaErrorInvalidValue;
  }
  const auto passes = ListMergePasses(shape);
  const auto memory = GetMergeMemory(passes, keyBytes);
  auto *     keys = static_cast<TKey *>(scratch);
  auto       arguments = MakeMergeArguments<TKey>(slab, shape, keyFormat, memory, keys);
  const auto regions = CountMergeRegions(shape, outputExtent);
  const auto created = streams.Create();
  if (created != cudaSuccess)
  {
    return created;
  }
  MergeOrder order(stream, streams, passes, keyBytes);
  for (std::int64_t region = 0; region < regions; ++region)
  {
    const auto origin = GetMergeRegionOrigin(shape, outputExtent, region);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      arguments.origin[axis] = origin[static_cast<std::size_t>(axis)];
    }
    for (const auto & pass : passes)
    {
      arguments.pass = pass;
      const auto error =
        order.Run(pass, [&](cudaStream_t chosen) { return LaunchAnyPass(arguments, keys + memory.work, chosen); });
      if (error != cudaSuccess)
      {
        return error;
      }
    }
  }
  return cudaSuccess;
}

} // namespace

cudaError_t
LaunchMergeTiling(const KernelArguments & slab,
                  const MergeShape &      shape,
                  KeyFormat               keyFormat,
                  void *                  scratch,
                  std::size_t             scratchBytes,
                  MergeStreams &          streams,
                  cudaStream_t            stream)
{
  return DispatchKeys(keyFormat, [&](auto key) {
    return LaunchMergeTilingOf<typename decltype(key)::Bits>(
      slab, shape, keyFormat, scratch, scratchBytes, streams, stream);
  });
}

} // namespace cudamedian
