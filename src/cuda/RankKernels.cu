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
#include "RankKernels.h"
#include "RankLaunch.h"
#include "SharedMemoryLimit.h"

#include <cub/block/block_radix_rank.cuh>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace cudamedian
{
namespace
{

/** Digits of this many bits are sorted at a time: 175 gigapixels/s at 16 bits, where 4 bits by counters reach 131. */
constexpr int digitBits = 8;

/** What is sorted: 8- and 16-bit keys above their pixel's number, in one register, wider keys beside it. */
template <int VKeyBits>
using SortedKey = std::conditional_t<VKeyBits == 64, std::uint64_t, std::uint32_t>;

/** The digit of a key that starts at a bit. */
struct DigitExtractor
{
  int firstBit;

  template <typename TKey>
  __device__ __forceinline__ std::uint32_t
                             Digit(TKey key) const
  {
    return static_cast<std::uint32_t>(key >> firstBit) & ((1U << digitBits) - 1);
  }
};

template <int VThreads>
using DigitRank = cub::BlockRadixRankMatchEarlyCounts<VThreads, digitBits, false>;

/** Shared memory of the sorting kernel. */
template <int VKeyBits, int VThreads, int VItems>
union SortStorage
{
  typename DigitRank<VThreads>::TempStorage digits;
  SortedKey<VKeyBits>                       keys[VThreads * VItems];
  std::uint16_t                             numbers[VThreads * VItems];
};

/** Calls function(PixelKey{}) with the mapping and bits of a variant that has keys of a width. */
template <int VKeyBits, typename TFunction>
__device__ __forceinline__ auto
CallWithKey(KernelVariant variant, const TFunction & function)
{
  if constexpr (VKeyBits == 16)
  {
    return variant == KernelVariant::Integer8
             ? function(std::uint8_t{}, PixelKey<std::uint8_t, KeyMapping::Integer>{})
             : function(std::uint16_t{}, PixelKey<std::uint16_t, KeyMapping::Integer>{});
  }
  else if constexpr (VKeyBits == 32)
  {
    return variant == KernelVariant::Float32
             ? function(std::uint32_t{}, PixelKey<std::uint32_t, KeyMapping::Float>{})
             : function(std::uint32_t{}, PixelKey<std::uint32_t, KeyMapping::Integer>{});
  }
  else
  {
    return variant == KernelVariant::Float64
             ? function(std::uint64_t{}, PixelKey<std::uint64_t, KeyMapping::Float>{})
             : function(std::uint64_t{}, PixelKey<std::uint64_t, KeyMapping::Integer>{});
  }
}

/** Sorts the region of each block: its pixels' packed ranks, and its pixels in order. */
template <int VKeyBits, int VThreads, int VItems>
__global__ void
__launch_bounds__(VThreads) RankKernel(const __grid_constant__ RankArguments arguments)
{
  using Key = SortedKey<VKeyBits>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto & storage = *reinterpret_cast<SortStorage<VKeyBits, VThreads, VItems> *>(shared);

  // A warp holds pixels that follow each other, one beside the other in its threads. Sorting is stable, so what fills
  // up the end stays behind every pixel.
  const int     thread = static_cast<int>(threadIdx.x);
  const int     first = thread / 32 * 32 * VItems + thread % 32;
  const int     count = arguments.shape.pixels;
  const auto    variant = arguments.variant;
  Key           keys[VItems];
  std::uint16_t numbers[VItems];
  int           ranks[VItems];

  // Offsets of the region's rows and columns first, then the pixels at their sums.
  auto *          rowOffsets = reinterpret_cast<std::int64_t *>(shared);
  auto *          columnOffsets = rowOffsets + arguments.GetRows();
  const RankBlock block(arguments, arguments.firstBlock + blockIdx.x);
  const int       width = arguments.shape.region[0];
  for (int row = thread; row < arguments.GetRows(); row += VThreads)
  {
    rowOffsets[row] = GetRowOffset(arguments, block, row);
  }
  for (int column = thread; column < width; column += VThreads)
  {
    columnOffsets[column] = GetOffsetAlong(arguments, block, 0, column);
  }
  __syncthreads();
  int row = first / width;
  int column = first - row * width;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    const int number = first + i * 32;
    keys[i] = ~Key{ 0 };
    numbers[i] = static_cast<std::uint16_t>(number);
    if (number < count)
    {
      keys[i] = CallWithKey<VKeyBits>(variant, [&](auto bits, auto mapping) -> Key {
        using Bits = decltype(bits);
        return mapping.FromBits(
          static_cast<const Bits *>(arguments.slab.input)[rowOffsets[row] + columnOffsets[column]],
          static_cast<Bits>(arguments.slab.signMask));
      });
      for (column += 32; column >= width; column -= width)
      {
        ++row;
      }
    }
    if constexpr (VKeyBits == 16)
    {
      keys[i] = keys[i] << 16 | static_cast<Key>(number);
    }
  }
  __syncthreads();

  constexpr int firstBit = VKeyBits == 16 ? 16 : 0;
  const int     lastBit = firstBit + (variant == KernelVariant::Integer8 ? 8 : VKeyBits) - digitBits;
  CUDAMEDIAN_KEEP_LOOP
  for (int bit = firstBit;; bit += digitBits)
  {
    DigitRank<VThreads>(storage.digits).RankKeys(keys, ranks, DigitExtractor{ bit });
    __syncthreads();
    if (bit == lastBit)
    {
      break;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      storage.keys[ranks[i]] = keys[i];
    }
    __syncthreads();
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      keys[i] = storage.keys[first + i * 32];
    }
    __syncthreads();
    if constexpr (VKeyBits != 16)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        storage.numbers[ranks[i]] = numbers[i];
      }
      __syncthreads();
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VItems; ++i)
      {
        numbers[i] = storage.numbers[first + i * 32];
      }
      __syncthreads();
    }
  }

  // Both results leave through shared memory, where they can be scattered.
  const auto place = static_cast<std::size_t>(blockIdx.x) * arguments.GetPaddedPixels();
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < VItems; ++i)
  {
    storage.numbers[VKeyBits == 16 ? keys[i] & 0xFFFF : numbers[i]] = PackRank(ranks[i], arguments.shape.rankShift);
  }
  __syncthreads();
  auto * packed = reinterpret_cast<std::uint32_t *>(arguments.ranks + place);
  for (int i = thread; i < arguments.GetPaddedPixels() / 2; i += VThreads)
  {
    packed[i] = reinterpret_cast<const std::uint32_t *>(shared)[i];
  }
  __syncthreads();
  CallWithKey<VKeyBits>(variant, [&](auto bits, auto mapping) {
    using Bits = decltype(bits);
    auto * pixels = reinterpret_cast<Bits *>(shared);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VItems; ++i)
    {
      pixels[ranks[i]] = mapping.ToBits(static_cast<Bits>(VKeyBits == 16 ? keys[i] >> 16 : keys[i]),
                                        static_cast<Bits>(arguments.slab.signMask));
    }
    __syncthreads();
    for (int i = thread; i < count; i += VThreads)
    {
      static_cast<Bits *>(arguments.sorted)[place + i] = pixels[i];
    }
  });
}

/** Slides the windows of each block over its ranks. */
template <typename TPixelBits, int VThreads>
__global__ void
__launch_bounds__(VThreads) SlideKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(256) std::uint32_t bits[];

  const int    thread = static_cast<int>(threadIdx.x);
  const int    padded = arguments.GetPaddedPixels();
  auto *       ranks = reinterpret_cast<std::uint16_t *>(bits + arguments.shape.words * VThreads);
  const auto   first = static_cast<std::size_t>(blockIdx.x) * padded;
  const auto * source = reinterpret_cast<const uint4 *>(arguments.ranks + first);
  for (int i = thread; i < padded / 8; i += VThreads)
  {
    reinterpret_cast<uint4 *>(ranks)[i] = source[i];
  }
  for (int word = 0; word < arguments.shape.words; ++word)
  {
    bits[word * VThreads + thread] = 0;
  }
  __syncthreads();
  SlideRankWindow<TPixelBits, VThreads>(arguments,
                                        RankBlock(arguments, arguments.firstBlock + blockIdx.x),
                                        thread,
                                        ranks,
                                        bits,
                                        static_cast<const TPixelBits *>(arguments.sorted) + first);
}

using RankFunction = void (*)(RankArguments);

/** A kernel that sorts regions. */
struct SortKernel
{
  int          threads;
  int          items;
  RankFunction function;
  std::size_t  storageBytes;
};

template <int VKeyBits, int VThreads, int VItems>
SortKernel
MakeSortKernel()
{
  return { VThreads, VItems, RankKernel<VKeyBits, VThreads, VItems>, sizeof(SortStorage<VKeyBits, VThreads, VItems>) };
}

/** The kernel for a shape and a width of keys; the sizes are those of RankPolicy.cxx. */
template <int VKeyBits>
const SortKernel *
FindSortKernel(const RankShape & shape)
{
  static const std::vector<SortKernel> kernels = [] {
    if constexpr (VKeyBits == 64)
    {
      return std::vector<SortKernel>{ MakeSortKernel<64, 256, 8>(),
                                      MakeSortKernel<64, 256, 12>(),
                                      MakeSortKernel<64, 256, 16>(),
                                      MakeSortKernel<64, 512, 12>(),
                                      MakeSortKernel<64, 512, 16>() };
    }
    else
    {
      return std::vector<SortKernel>{ MakeSortKernel<VKeyBits, 128, 16>(), MakeSortKernel<VKeyBits, 128, 24>(),
                                      MakeSortKernel<VKeyBits, 128, 32>(), MakeSortKernel<VKeyBits, 256, 24>(),
                                      MakeSortKernel<VKeyBits, 256, 32>(), MakeSortKernel<VKeyBits, 512, 24>(),
                                      MakeSortKernel<VKeyBits, 512, 32>() };
    }
  }();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const SortKernel & kernel) {
    return kernel.threads == shape.sortThreads && kernel.items == shape.sortItems;
  });
  return found == kernels.end() ? nullptr : &*found;
}

/** The two kernels for a shape and a pixel width. */
struct RankKernels
{
  const SortKernel * sort;
  RankFunction       slide;

  /** The sorting kernel starts with the offsets of its region's rows and columns. */
  std::size_t
  GetSortBytes(const RankShape & shape) const
  {
    const auto offsets = static_cast<std::size_t>(shape.region[0] + shape.region[1] * shape.region[2]);
    return std::max(sort->storageBytes, offsets * sizeof(std::int64_t));
  }
};

template <typename TPixelBits>
RankKernels
GetRankKernelsOf(const RankShape & shape)
{
  constexpr int keyBits = sizeof(TPixelBits) <= 2 ? 16 : 8 * sizeof(TPixelBits);
  return { FindSortKernel<keyBits>(shape),
           shape.threads == 32 ? SlideKernel<TPixelBits, 32> : SlideKernel<TPixelBits, 64> };
}

RankKernels
GetRankKernels(const RankShape & shape, KernelVariant variant)
{
  switch (variant)
  {
    case KernelVariant::Integer8:
      return GetRankKernelsOf<std::uint8_t>(shape);
    case KernelVariant::Integer16:
      return GetRankKernelsOf<std::uint16_t>(shape);
    case KernelVariant::Integer32:
    case KernelVariant::Float32:
      return GetRankKernelsOf<std::uint32_t>(shape);
    default:
      return GetRankKernelsOf<std::uint64_t>(shape);
  }
}

cudaError_t
Launch(RankFunction          kernel,
       const RankArguments & arguments,
       unsigned int          blocks,
       int                   threads,
       std::size_t           bytes,
       cudaStream_t          stream)
{
  const auto error = AllowSharedMemory(reinterpret_cast<const void *>(kernel), static_cast<int>(bytes));
  if (error != cudaSuccess)
  {
    return error;
  }
  kernel<<<blocks, threads, bytes, stream>>>(arguments);
  return cudaGetLastError();
}

} // namespace

std::size_t
GetRankSharedBytes(const RankShape & shape, KernelVariant variant)
{
  return std::max(GetRankKernels(shape, variant).GetSortBytes(shape), static_cast<std::size_t>(shape.sharedBytes));
}

cudaError_t
LaunchRankWindows(const KernelArguments & slab,
                  const RankShape &       shape,
                  KernelVariant           variant,
                  void *                  scratch,
                  std::size_t             scratchBytes,
                  cudaStream_t            stream)
{
  const auto   kernels = GetRankKernels(shape, variant);
  const auto   batch = std::min<std::int64_t>(static_cast<std::int64_t>(scratchBytes) / shape.scratchBytes, 1 << 30);
  const Extent outputExtent{
    { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] }
  };
  const auto blocks = CountRankBlocks(shape, outputExtent);
  if (kernels.sort == nullptr || batch < 1)
  {
    return cudaErrorInvalidValue;
  }
  RankArguments arguments{};
  arguments.slab = slab;
  arguments.shape = shape;
  arguments.variant = variant;
  // Ranks first: they are moved 16 bytes at a time.
  arguments.ranks = static_cast<std::uint16_t *>(scratch);
  arguments.sorted = arguments.ranks + batch * arguments.GetPaddedPixels();
  for (; arguments.firstBlock < blocks; arguments.firstBlock += batch)
  {
    const auto count = static_cast<unsigned int>(std::min(batch, blocks - arguments.firstBlock));
    auto       error =
      Launch(kernels.sort->function, arguments, count, shape.sortThreads, kernels.GetSortBytes(shape), stream);
    if (error == cudaSuccess)
    {
      error =
        Launch(kernels.slide, arguments, count, shape.threads, static_cast<std::size_t>(shape.sharedBytes), stream);
    }
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

} // namespace cudamedian
