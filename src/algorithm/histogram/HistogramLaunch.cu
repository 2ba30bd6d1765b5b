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
#include "HistogramLaunch.h"
#include "DivideUp.h"
#include "HistogramFunction.h"
#include "HistogramRuns.h"
#include "HistogramWarp.cuh"
#include "SharedMemoryLimit.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

namespace cudamedian
{
namespace
{

constexpr int listThreads = 256;

/** Rows that a warp lists. */
constexpr int listRows = 8;

/** Lists the pixels of a launch's regions, some rows for each warp. */
template <typename TPixelBits>
__global__ void
__launch_bounds__(listThreads)
  ListKernel(const __grid_constant__ HistogramArguments arguments, TPixelBits * keys, std::uint32_t * positions)
{
  const auto            number = static_cast<int>(blockIdx.y);
  const HistogramRegion region(arguments, arguments.firstRegion + number);
  const int             lane = static_cast<int>(threadIdx.x) % 32;
  const int             rows = arguments.shape.region[1] * arguments.shape.region[2];
  const int             first = static_cast<int>((blockIdx.x * listThreads + threadIdx.x) / 32) * listRows;
  const auto            own = FindRegionRow(arguments, region, number, first + lane % listRows);
  for (int i = 0; i < listRows && first + i < rows; ++i)
  {
    const RegionRow row{ __shfl_sync(allLanes, own.offset, i),
                         __shfl_sync(allLanes, own.position, i),
                         __shfl_sync(allLanes, own.listed, i) };
    ListRegionRow(arguments, region, row, lane, 32, keys, positions);
  }
}

constexpr int binThreads = 1024;
constexpr int mostBinBytes = 96 << 10;

/** Writes the bins of a launch's regions: each block those of some pixels of a region, as many as its shared memory has
 * room for, where they come in the order of the list and go in the order of the pixels. */
__global__ void
__launch_bounds__(binThreads) BinKernel(const __grid_constant__ HistogramShape shape,
                                        int                                    part,
                                        const std::uint32_t *                  positions,
                                        std::uint8_t *                         bins)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const int                                     first = static_cast<int>(blockIdx.x) * part;
  const auto                                    region = std::int64_t{ blockIdx.y } * shape.pixels;
  const int                                     thread = static_cast<int>(threadIdx.x);
  ForEachBinned(shape, thread / 32, binThreads / 32, thread % 32, [&](int rank, std::uint8_t bin) {
    const int number = GetPixelNumber(shape, positions[region + rank]) - first;
    if (number >= 0 && number < part)
    {
      shared[number] = bin;
    }
  });
  __syncthreads();
  for (int i = thread; i < part && first + i < shape.pixels; i += binThreads)
  {
    bins[region + first + i] = shared[i];
  }
}

/** Writes the bins of sorted regions. \returns CUDA's error. */
cudaError_t
WriteBins(const HistogramShape & shape,
          std::int64_t           regions,
          const std::uint32_t *  positions,
          std::uint8_t *         bins,
          cudaStream_t           stream)
{
  int  device = 0;
  int  most = 0;
  auto error = cudaGetDevice(&device);
  if (error == cudaSuccess)
  {
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  // Multiprocessors with room for two such blocks run two.
  const int part = std::min(shape.pixels, std::min(most, mostBinBytes));
  if (error == cudaSuccess)
  {
    error = AllowSharedMemory(reinterpret_cast<const void *>(&BinKernel), part);
  }
  if (error != cudaSuccess)
  {
    return error;
  }
  const dim3 blocks(static_cast<unsigned int>(DivideUp(shape.pixels, part)), static_cast<unsigned int>(regions));
  BinKernel<<<blocks, binThreads, static_cast<std::size_t>(part), stream>>>(shape, part, positions, bins);
  return cudaGetLastError();
}

constexpr int runThreads = 128;

/** Looks up what was found in a launch's regions, some rows of 32 outputs for each warp. */
__global__ void
__launch_bounds__(runThreads) RunKernel(const __grid_constant__ HistogramArguments arguments, int warps)
{
  __shared__ HistogramRunStorage storages[runThreads / 32];
  const int                      warp = static_cast<int>(threadIdx.x) / 32;
  const int                      number = static_cast<int>(blockIdx.x) * (runThreads / 32) + warp;
  if (number < warps)
  {
    HistogramRuns<ThreadWarp>(ThreadWarp(), arguments, static_cast<int>(blockIdx.y), number, storages[warp]).Run();
  }
}

/** Where a batch's lists lie in the scratch memory. */
template <typename TPixelBits>
struct ScratchParts
{
  TPixelBits *    keys[2];
  std::uint32_t * positions[2];
  std::uint8_t *  bins;
  std::uint32_t * found;
  void *          sort;
  std::size_t     sortBytes;

  ScratchParts(void * scratch, std::size_t bytes, std::int64_t pixels, std::int64_t outputs)
  {
    auto *     next = static_cast<char *>(scratch);
    const auto take = [&](std::size_t partBytes) {
      auto * const part = next;
      next += RoundUp(partBytes, 256);
      return part;
    };
    const auto count = static_cast<std::size_t>(pixels);
    for (int i = 0; i < 2; ++i)
    {
      keys[i] = reinterpret_cast<TPixelBits *>(take(count * sizeof(TPixelBits)));
      positions[i] = reinterpret_cast<std::uint32_t *>(take(count * sizeof(std::uint32_t)));
    }
    // Positions are read somewhat beyond their end: what comes next lies there.
    bins = reinterpret_cast<std::uint8_t *>(take(count));
    found = reinterpret_cast<std::uint32_t *>(take(static_cast<std::size_t>(outputs) * sizeof(std::uint32_t)));
    sort = next;
    const auto used = static_cast<std::size_t>(next - static_cast<char *>(scratch));
    sortBytes = used < bytes ? bytes - used : 0;
  }
};

/** Calls sort(memory, bytes) of CUB, which says what memory it needs where it has none. \returns CUDA's error. */
template <typename TSort>
cudaError_t
SortIn(void * scratch, std::size_t scratchBytes, cudaStream_t stream, const TSort & sort)
{
  std::size_t needed = 0;
  const auto  error = sort(nullptr, needed);
  if (error != cudaSuccess)
  {
    return error;
  }
  if (needed <= scratchBytes)
  {
    return sort(scratch, needed);
  }
  // Code for sm_75 sorts 16-bit keys in another way, which takes up to some megabytes for each device, however few the
  // pixels are. The plan counts on less.
  void * own = nullptr;
  auto   sorted = cudaMallocAsync(&own, needed, stream);
  if (sorted == cudaSuccess)
  {
    sorted = sort(own, needed);
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
  const ScratchParts<TPixelBits> parts(scratch, scratchBytes, count, regions * shape.CountOutputs());
  cub::DoubleBuffer<TPixelBits>  keys(parts.keys[0], parts.keys[1]);
  cub::DoubleBuffer<std::uint32_t> positions(parts.positions[0], parts.positions[1]);

  const auto warps = DivideUp(shape.region[1] * shape.region[2], listRows);
  const dim3 blocks(static_cast<unsigned int>(DivideUp(warps, listThreads / 32)), static_cast<unsigned int>(regions));
  ListKernel<TPixelBits><<<blocks, listThreads, 0, stream>>>(arguments, keys.Current(), positions.Current());
  auto error = cudaGetLastError();
  if (error == cudaSuccess)
  {
    error = SortIn(parts.sort, parts.sortBytes, stream, [&](void * memory, std::size_t & bytes) {
      constexpr int keyBits = 8 * sizeof(TPixelBits);
      return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, positions, count, 0, keyBits, stream);
    });
  }
  if (error == cudaSuccess && regions > 1)
  {
    int endBit = shape.positionBits[2];
    while (regions > std::int64_t{ 1 } << (endBit - shape.positionBits[2]))
    {
      ++endBit;
    }
    error = SortIn(parts.sort, parts.sortBytes, stream, [&](void * memory, std::size_t & bytes) {
      return cub::DeviceRadixSort::SortKeys(memory, bytes, positions, count, shape.positionBits[2], endBit, stream);
    });
  }
  if (error == cudaSuccess)
  {
    error = WriteBins(shape, regions, positions.Current(), parts.bins, stream);
  }
  arguments.bins = parts.bins;
  arguments.positions = positions.Current();
  arguments.found = parts.found;
  return error;
}

/** Regions of a launch that ends soon enough for a display driver's watchdog: 2^24 outputs, 0.05 s at 0.3 Gpixel/s. */
std::int64_t
CountRegionsOfLaunch(const HistogramShape & shape)
{
  return std::max<std::int64_t>(1, (std::int64_t{ 1 } << 24) / shape.CountOutputs());
}

template <typename TPixelBits>
cudaError_t
LaunchHistogramsOf(HistogramArguments arguments, void * scratch, std::size_t scratchBytes, cudaStream_t stream)
{
  const auto & shape = arguments.shape;
  const auto & extent = arguments.slab.outputExtent;
  const auto   regions = CountHistogramRegions(shape, { { extent[0], extent[1], extent[2], extent[3] } });
  const auto   kernel = GetHistogramKernel(shape, arguments.slab.rankMap != nullptr);
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
    if constexpr (sizeof(TPixelBits) > 1)
    {
      const auto warps = static_cast<int>(shape.CountOutputs()) / (32 * histogramRunRows);
      const dim3 blocks(static_cast<unsigned int>(DivideUp(warps, runThreads / 32)), static_cast<unsigned int>(count));
      RunKernel<<<blocks, runThreads, 0, stream>>>(arguments, warps);
    }
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
