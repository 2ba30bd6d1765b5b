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
#ifndef CudaMedianHostBlocks_h
#define CudaMedianHostBlocks_h

#include "ByteStripKernel.h"
#include "DivideUp.h"
#include "StripKernel.h"
#include "TileBlock.h"

#include <vector>

/** Kernels of emitted programs and of strips, run by the host. */
namespace cudamediantest
{

using cudamedian::KernelArguments;
using cudamedian::KeyMapping;
using cudamedian::KeyPacking;

/** How blocks of numbered keys came out (NumberedKeys). */
struct BlockCounts
{
  int all{ 0 };
  int middle{ 0 };            ///< right with keys numbered in the middle
  int repeatedForLimits{ 0 }; ///< numbered in the middle, then otherwise
  int clamped{ 0 };
  int repeatedForBright{ 0 }; ///< numbered low, then high
  int repeatedForDark{ 0 };   ///< the other way
};

/** The threads of a block take turns between the barriers: see TileBlock.h. */
template <int VThreads>
class HostThreads
{
public:
  template <typename TFunction>
  void
  ForEachThread(const TFunction & function) const
  {
    for (unsigned int thread = 0; thread < VThreads; ++thread)
    {
      function(thread);
    }
  }
  void
  Synchronize() const
  {}
  template <typename T>
  struct Own
  {
    std::vector<T> values;

    T &
    Get(unsigned int thread)
    {
      return values[thread];
    }
  };
  template <typename T>
  Own<T>
  MakeOwn() const
  {
    return { std::vector<T>(VThreads) };
  }
  int
  Count(int ofAll) const
  {
    m_Counts.push_back(ofAll);
    return ofAll;
  }

  /** What a block counted each time it ran: threads that staged keys without a number, and, if there are, or if its
   * keys were numbered in the middle, which is the first time only, threads with medians at the limit. */
  void
  AddTo(BlockCounts & counts, bool isMiddle)
  {
    ++counts.all;
    auto each = m_Counts.begin();
    if (isMiddle)
    {
      ++(each[1] == 0 ? counts.middle : counts.repeatedForLimits);
      each += 2;
    }
    const auto left = m_Counts.end() - each;
    counts.clamped += left > 1 ? 1 : 0;
    if (left > 2)
    {
      ++(2 * each[0] > VThreads ? counts.repeatedForDark : counts.repeatedForBright);
    }
    m_Counts.clear();
  }

private:
  mutable std::vector<int> m_Counts;
};

/** Blocks along an axis of a grid. */
inline std::uint32_t
CountBlocks(std::int64_t outputs, std::int64_t outputsOfBlock)
{
  return static_cast<std::uint32_t>(cudamedian::DivideUp(outputs, outputsOfBlock));
}

/** Runs every block of a kernel. \param getBlock says where one is, from arguments and its place in the grid */
template <typename TKernel, typename TGetBlock>
BlockCounts
RunBlocksOf(KernelArguments arguments, const TGetBlock & getBlock)
{
  using Program = typename TKernel::Program;
  const auto blocksX =
    CountBlocks(arguments.outputOrigin[0] + arguments.outputExtent[0] - arguments.gridOrigin, TKernel::BlockWidth);
  std::int64_t blockHeight = TKernel::BlockHeight;
  std::int64_t blockSlices = Program::TileZ;
  if constexpr (TKernel::MarchAxis > 0)
  {
    const auto steps = 1 + arguments.outputExtent[TKernel::MarchAxis] % 3;
    arguments.stripRows = steps * TKernel::StepLength;
    (TKernel::MarchAxis == 1 ? blockHeight : blockSlices) *= steps;
  }
  const auto blocksY = CountBlocks(arguments.outputExtent[1], blockHeight);
  arguments.blocksZ = CountBlocks(arguments.outputExtent[2], blockSlices);
  const auto blocksW = CountBlocks(arguments.outputExtent[3], Program::TileW);
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  std::vector<typename TKernel::Keys>             shared(TKernel::SharedBytes / sizeof(typename TKernel::Keys));
  HostThreads<static_cast<int>(TKernel::Threads)> threads;
  BlockCounts                                     counts;
  for (std::uint32_t z = 0; z < arguments.blocksZ * blocksW; ++z)
  {
    for (std::uint32_t y = 0; y < blocksY; ++y)
    {
      for (std::uint32_t x = 0; x < blocksX; ++x)
      {
        const auto block = getBlock(arguments, x, y, z);
        cudamedian::RunTileKernelBlock<TKernel>(threads, arguments, block, shared.data());
        threads.AddTo(counts, TKernel::IsNumbered && arguments.signMask != 0);
      }
    }
  }
  return counts;
}

/** The same of a program's kernel. */
template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
BlockCounts
RunBlocks(const KernelArguments & arguments)
{
  using Kernel = cudamedian::ProgramKernel<TProgram, TBits, VMapping, VPacking>;
  return RunBlocksOf<Kernel>(arguments,
                             [](const KernelArguments & completed, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
                               return Kernel::GetBlock(completed, x, y, z);
                             });
}

template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
RunEmitted(const KernelArguments & arguments)
{
  RunBlocks<TProgram, TBits, VMapping, VPacking>(arguments);
}

/** Runs every thread of a kernel of strips. \param written what they write: see StripKernel::Run() */
template <typename TKernel, typename TWritten = cudamedian::EveryMedian>
void
RunStripsOf(KernelArguments arguments, const TWritten & written = {})
{
  std::int64_t rows = TKernel::BlockHeight;
  if constexpr (TKernel::Strips > 0)
  {
    arguments.stripRows = 4;
    rows *= arguments.stripRows;
  }
  arguments.blocksZ = static_cast<std::uint32_t>(arguments.outputExtent[2]);
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  const auto blocksX =
    CountBlocks(arguments.outputOrigin[0] + arguments.outputExtent[0] - arguments.gridOrigin, TKernel::BlockWidth);
  for (std::uint32_t z = 0; z < arguments.blocksZ * static_cast<std::uint32_t>(arguments.outputExtent[3]); ++z)
  {
    for (std::uint32_t y = 0; y < CountBlocks(arguments.outputExtent[1], rows); ++y)
    {
      for (std::uint32_t x = 0; x < blocksX; ++x)
      {
        for (unsigned int thread = 0; thread < TKernel::Threads; ++thread)
        {
          TKernel::Run(arguments, x, y, z, thread, written);
        }
      }
    }
  }
}

template <typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
RunStrips(const KernelArguments & arguments)
{
  RunStripsOf<cudamedian::StripKernel<TBits, VMapping, VPacking>>(arguments);
}

/** The same of the kernel of 3x3 windows of 8-bit pixels in pairs. */
inline void
RunByteStrips(const KernelArguments & arguments)
{
  RunStripsOf<cudamedian::ByteStripKernel>(arguments);
}

} // namespace cudamediantest

#endif
