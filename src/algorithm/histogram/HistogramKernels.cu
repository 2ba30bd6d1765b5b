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
#include "ByteHistogramLaunch.h"
#include "DivideUp.h"
#include "HistogramLaunch.h"
#include "HistogramWarp.cuh"
#include "SharedMemoryLimit.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

namespace cudamedian
{
namespace
{

constexpr int listThreads = 256;

/** Everything that a block does, with its columns where they lie. */
template <typename TPixelBits, typename TColumn, typename TCounter, bool VHasMap>
__device__ __forceinline__ void
RunHistogramBlock(const HistogramArguments & arguments, void * columns, void * windows)
{
  const HistogramBlock<TPixelBits, TColumn, TCounter, VHasMap> block(arguments, blockIdx.x, columns, windows);
  const ThreadWarp                                             warp;
  const int                                                    thread = static_cast<int>(threadIdx.x);
  const int                                                    rows = block.GetRows();
  if (rows == 0)
  {
    return;
  }
  block.FillColumns(thread);
  __syncthreads();
  block.FillWindow(warp, thread / 32);
  block.Slide(warp, thread / 32, 0);
  for (int row = 1; row < rows; ++row)
  {
    __syncthreads();
    block.MoveColumns(thread, row);
    block.MoveWindow(warp, thread / 32, row);
    __syncthreads();
    block.Slide(warp, thread / 32, row);
  }
}

template <typename TPixelBits, typename TColumn, typename TCounter, bool VHasMap>
__global__ void
__launch_bounds__(mostHistogramThreads) HistogramKernel(const __grid_constant__ HistogramArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];
  RunHistogramBlock<TPixelBits, TColumn, TCounter, VHasMap>(
    arguments, shared, shared + arguments.shape.GetWindowsOffset());
}

/** The same with columns in scratch memory. */
template <typename TPixelBits, bool VHasMap>
__global__ void
__launch_bounds__(mostHistogramThreads) WideHistogramKernel(const __grid_constant__ HistogramArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];
  char * const columns = static_cast<char *>(arguments.columns) + blockIdx.x * arguments.shape.GetColumnsBytes();
  RunHistogramBlock<TPixelBits, std::uint16_t, std::uint32_t, VHasMap>(arguments, columns, shared);
}

/** Lists the pixels of a launch's regions, a row for each warp. */
template <typename TPixelBits>
__global__ void
__launch_bounds__(listThreads) ListKernel(const __grid_constant__ HistogramArguments arguments,
                                          int                                        rows,
                                          TPixelBits *                               keys,
                                          std::uint32_t *                            positions)
{
  const auto row = static_cast<int>((blockIdx.x * listThreads + threadIdx.x) / 32);
  if (row < rows)
  {
    ListRegionRow(arguments, row, static_cast<int>(threadIdx.x % 32), 32, keys, positions);
  }
}

/** Writes the bins of a launch's regions. */
__global__ void
__launch_bounds__(listThreads) ScatterKernel(const __grid_constant__ HistogramShape shape,
                                             int                                    count,
                                             const std::uint32_t *                  positions,
                                             std::uint8_t *                         bins)
{
  const auto number = static_cast<int>(blockIdx.x * listThreads + threadIdx.x);
  if (number < count)
  {
    ScatterBin(shape, number, positions, bins);
  }
}

/** Where a batch's lists lie in the scratch memory. */
template <typename TPixelBits>
struct ScratchParts
{
  TPixelBits *    keys[2];
  std::uint32_t * positions[2];
  std::uint8_t *  bins;
  void *          sort;
  std::size_t     sortBytes;

  ScratchParts(void * scratch, std::size_t bytes, std::int64_t pixels)
  {
    auto *     next = static_cast<char *>(scratch);
    const auto take = [&](std::size_t pixelBytes) {
      auto * const part = next;
      next += RoundUp(static_cast<std::size_t>(pixels) * pixelBytes, 256);
      return part;
    };
    for (int i = 0; i < 2; ++i)
    {
      keys[i] = reinterpret_cast<TPixelBits *>(take(sizeof(TPixelBits)));
      positions[i] = reinterpret_cast<std::uint32_t *>(take(sizeof(std::uint32_t)));
    }
    // Positions are read somewhat beyond their end: bins and what sorting takes lie there.
    bins = reinterpret_cast<std::uint8_t *>(take(1));
    sort = next;
    const auto used = static_cast<std::size_t>(next - static_cast<char *>(scratch));
    sortBytes = used < bytes ? bytes - used : 0;
  }
};

/** Sorts by a range of bits of the keys. \returns CUDA's error. */
template <typename TKey, typename TValue>
cudaError_t
SortPairs(cub::DoubleBuffer<TKey> &   keys,
          cub::DoubleBuffer<TValue> & values,
          int                         count,
          int                         firstBit,
          int                         endBit,
          void *                      scratch,
          std::size_t                 scratchBytes,
          cudaStream_t                stream)
{
  std::size_t needed = 0;
  const auto  error = cub::DeviceRadixSort::SortPairs(nullptr, needed, keys, values, count, firstBit, endBit, stream);
  if (error != cudaSuccess)
  {
    return error;
  }
  if (needed <= scratchBytes)
  {
    return cub::DeviceRadixSort::SortPairs(scratch, needed, keys, values, count, firstBit, endBit, stream);
  }
  // Code for sm_75 sorts 16-bit keys in another way, which takes up to some megabytes for each device, however few the
  // pixels are. The plan counts on less.
  void * own = nullptr;
  auto   sorted = cudaMallocAsync(&own, needed, stream);
  if (sorted == cudaSuccess)
  {
    sorted = cub::DeviceRadixSort::SortPairs(own, needed, keys, values, count, firstBit, endBit, stream);
    const auto freed = cudaFreeAsync(own, stream);
    sorted = sorted == cudaSuccess ? freed : sorted;
  }
  return sorted;
}

/** Sorts the regions of a batch by their pixels' keys, then by region, and writes their bins. */
template <typename TPixelBits>
cudaError_t
SortRegions(HistogramArguments & arguments,
            std::int64_t         regions,
            void *               scratch,
            std::size_t          scratchBytes,
            cudaStream_t         stream)
{
  const auto &                   shape = arguments.shape;
  const auto                     count = static_cast<int>(regions * shape.pixels); // scratch memory is some 2^26 bytes
  const ScratchParts<TPixelBits> parts(scratch, scratchBytes, count);
  cub::DoubleBuffer<TPixelBits>  keys(parts.keys[0], parts.keys[1]);
  cub::DoubleBuffer<std::uint32_t> positions(parts.positions[0], parts.positions[1]);
  const auto                       blocks = static_cast<unsigned int>(DivideUp(count, listThreads));

  const auto rows = static_cast<int>(regions * shape.region[1] * shape.region[2]);
  const auto listBlocks = static_cast<unsigned int>(DivideUp(rows, listThreads / 32));
  ListKernel<TPixelBits><<<listBlocks, listThreads, 0, stream>>>(arguments, rows, keys.Current(), positions.Current());
  auto error = cudaGetLastError();
  if (error == cudaSuccess)
  {
    constexpr int keyBits = 8 * sizeof(TPixelBits);
    error = SortPairs(keys, positions, count, 0, keyBits, parts.sort, parts.sortBytes, stream);
  }
  if (error == cudaSuccess && regions > 1)
  {
    int endBit = shape.positionBits[2];
    while (regions > std::int64_t{ 1 } << (endBit - shape.positionBits[2]))
    {
      ++endBit;
    }
    error = SortPairs(positions, keys, count, shape.positionBits[2], endBit, parts.sort, parts.sortBytes, stream);
  }
  if (error != cudaSuccess)
  {
    return error;
  }
  ScatterKernel<<<blocks, listThreads, 0, stream>>>(shape, count, positions.Current(), parts.bins);
  arguments.bins = parts.bins;
  arguments.positions = positions.Current();
  arguments.sorted = keys.Current();
  return cudaGetLastError();
}

template <typename TPixelBits, bool VHasMap>
HistogramFunction
GetHistogramKernel(const HistogramShape & shape)
{
  if constexpr (sizeof(TPixelBits) == 1)
  {
    return GetByteHistogramKernel(shape, VHasMap);
  }
  else if (shape.columnsInScratch)
  {
    return WideHistogramKernel<TPixelBits, VHasMap>;
  }
  else if (shape.columnBytes == 1)
  {
    return shape.counterBytes == 2 ? HistogramKernel<TPixelBits, std::uint8_t, std::uint16_t, VHasMap>
                                   : HistogramKernel<TPixelBits, std::uint8_t, std::uint32_t, VHasMap>;
  }
  else
  {
    return shape.counterBytes == 2 ? HistogramKernel<TPixelBits, std::uint16_t, std::uint16_t, VHasMap>
                                   : HistogramKernel<TPixelBits, std::uint16_t, std::uint32_t, VHasMap>;
  }
}

/** Regions of a launch that ends soon enough for a display driver's watchdog: 2^24 outputs, 0.05 s at 0.3 Gpixel/s. */
std::int64_t
CountRegionsOfLaunch(const HistogramShape & shape)
{
  const auto outputs = std::int64_t{ shape.tile[0] } * shape.tile[1] * shape.tile[2];
  return std::max<std::int64_t>(1, (std::int64_t{ 1 } << 24) / outputs);
}

template <typename TPixelBits>
cudaError_t
LaunchHistogramsOf(HistogramArguments arguments, void * scratch, std::size_t scratchBytes, cudaStream_t stream)
{
  const auto & shape = arguments.shape;
  const auto & extent = arguments.slab.outputExtent;
  const auto   regions = CountHistogramRegions(shape, { { extent[0], extent[1], extent[2], extent[3] } });
  const auto   kernel = arguments.slab.rankMap != nullptr ? GetHistogramKernel<TPixelBits, true>(shape)
                                                          : GetHistogramKernel<TPixelBits, false>(shape);
  auto         batch = CountRegionsOfLaunch(shape);
  if (shape.scratchBytes > 0)
  {
    batch = std::min(batch, CountHistogramRegionsIn(shape, scratchBytes));
  }
  if (batch < 1)
  {
    return cudaErrorInvalidValue;
  }
  if (shape.columnsInScratch)
  {
    const auto blocks = std::min(batch, regions) * shape.CountBlocks();
    const auto columnsBytes = RoundUp(static_cast<std::size_t>(blocks * shape.GetColumnsBytes()), 256);
    arguments.columns = scratch;
    scratch = static_cast<char *>(scratch) + columnsBytes;
    scratchBytes -= columnsBytes;
  }
  const auto attributeError = AllowSharedMemory(reinterpret_cast<const void *>(kernel), shape.sharedBytes);
  if (attributeError != cudaSuccess)
  {
    return attributeError;
  }
  for (; arguments.firstRegion < regions; arguments.firstRegion += batch)
  {
    const auto count = std::min(batch, regions - arguments.firstRegion);
    if constexpr (sizeof(TPixelBits) > 1)
    {
      const auto error = SortRegions<TPixelBits>(arguments, count, scratch, scratchBytes, stream);
      if (error != cudaSuccess)
      {
        return error;
      }
    }
    kernel<<<static_cast<unsigned int>(count * shape.CountBlocks()),
             static_cast<unsigned int>(shape.GetThreads()),
             static_cast<std::size_t>(shape.sharedBytes),
             stream>>>(arguments);
    const auto error = cudaGetLastError();
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

} // namespace

cudaError_t
LaunchHistograms(const KernelArguments & slab,
                 const HistogramShape &  shape,
                 KeyFormat               keyFormat,
                 void *                  scratch,
                 std::size_t             scratchBytes,
                 cudaStream_t            stream)
{
  HistogramArguments arguments{};
  arguments.slab = slab;
  arguments.shape = shape;
  arguments.keyFormat = keyFormat;
  return DispatchKeys(keyFormat, [&](auto key) {
    return LaunchHistogramsOf<typename decltype(key)::Bits>(arguments, scratch, scratchBytes, stream);
  });
}

} // namespace cudamedian
