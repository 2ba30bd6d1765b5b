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
#include "HistogramKernels.h"
#include "HistogramFunction.h"
#include "HistogramWarp.cuh"

namespace cudamedian
{
namespace
{

/** Histograms of columns in shared memory. */
struct SharedColumns
{
  static __device__ __forceinline__ std::uint32_t
                                    Load(const std::uint32_t * word)
  {
    return *word;
  }

  static __device__ __forceinline__ void
  Store(std::uint32_t * word, std::uint32_t value)
  {
    *word = value;
  }

  static __device__ __forceinline__ void
  AddTo(std::uint32_t * word, std::uint32_t value)
  {
    atomicAdd(word, value);
  }
};

/** The same in scratch memory, where additions would go by the first-level cache: one thread alone changes a column. */
struct ScratchColumns : SharedColumns
{
  static __device__ __forceinline__ void
  AddTo(std::uint32_t * word, std::uint32_t value)
  {
    *word += value;
  }
};

/** Everything that a block does, with its columns where they lie. */
template <BinSource VSource, int VColumnBits, typename TCounter, typename TMemory, bool VHasMap>
__device__ __forceinline__ void
RunHistogramBlock(const HistogramArguments & arguments, void * columns)
{
  using Block = HistogramBlock<VSource, VColumnBits, TCounter, TMemory, VHasMap>;
  const Block      block(arguments, blockIdx.x, columns);
  const ThreadWarp warp;
  const int        thread = static_cast<int>(threadIdx.x);
  const int        rows = block.GetRows();
  if (rows == 0)
  {
    return;
  }
  block.FillColumns(thread);
  auto moves = block.LoadFirstMoves(thread);
  int  quad = block.FirstQuad;
  __syncthreads();
  for (int row = 1;; ++row)
  {
    quad = block.FindRow(warp, thread / 32, row - 1, quad);
    if (row == rows)
    {
      return;
    }
    __syncthreads();
    block.MoveColumns(thread, moves);
    __syncthreads();
    // What comes after the last row is loaded too, and not used.
    block.LoadNextMoves(thread, row + 1, moves);
  }
}

template <BinSource VSource, int VColumnBits, typename TCounter, bool VHasMap>
__global__ void
__launch_bounds__(mostHistogramThreads, 1) HistogramKernel(const __grid_constant__ HistogramArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];
  RunHistogramBlock<VSource, VColumnBits, TCounter, SharedColumns, VHasMap>(arguments, shared);
}

/** The same with columns in scratch memory. */
template <BinSource VSource, bool VHasMap>
__global__ void
__launch_bounds__(mostHistogramThreads, 1) WideHistogramKernel(const __grid_constant__ HistogramArguments arguments)
{
  char * const columns = static_cast<char *>(arguments.columns) + blockIdx.x * arguments.shape.GetColumnsBytes();
  RunHistogramBlock<VSource, 16, std::uint32_t, ScratchColumns, VHasMap>(arguments, columns);
}

template <BinSource VSource, int VColumnBits, bool VHasMap>
HistogramFunction
GetSharedKernel(const HistogramShape & shape)
{
  return shape.counterBytes == 2 ? HistogramKernel<VSource, VColumnBits, std::uint16_t, VHasMap>
                                 : HistogramKernel<VSource, VColumnBits, std::uint32_t, VHasMap>;
}

template <BinSource VSource, bool VHasMap>
HistogramFunction
GetKernel(const HistogramShape & shape)
{
  return shape.columnsInScratch   ? WideHistogramKernel<VSource, VHasMap>
         : shape.columnBits == 8  ? GetSharedKernel<VSource, 8, VHasMap>(shape)
         : shape.columnBits == 10 ? GetSharedKernel<VSource, 10, VHasMap>(shape)
                                  : GetSharedKernel<VSource, 16, VHasMap>(shape);
}

template <BinSource VSource>
HistogramFunction
GetKernelOf(const HistogramShape & shape, bool hasMap)
{
  return hasMap ? GetKernel<VSource, true>(shape) : GetKernel<VSource, false>(shape);
}

} // namespace

HistogramFunction
GetHistogramKernel(const HistogramShape & shape, bool hasMap)
{
  return shape.pixelBytes == 1 ? GetKernelOf<BinSource::Pixels>(shape, hasMap)
                               : GetKernelOf<BinSource::SortedRegion>(shape, hasMap);
}

} // namespace cudamedian
