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
#include "RankBlockThreads.h"
#include "RankBucketSort.h"
#include "RankDigitSort.h"
#include "RankKernels.h"
#include "RankLaunch.h"
#include "RankThresholdKernels.h"
#include "SharedMemoryLimit.h"
#include "PixelFormat.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cudamedian
{
namespace
{

/** Sorts the region of each block by buckets. Those that are beyond them are listed and left. */
template <int VKeyBits, int VThreads, int VItems>
__global__ void
__launch_bounds__(VThreads, VThreads == 256 && VItems > 12 ? 3 : 1024 / VThreads)
  BucketKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  const BlockThreads<VThreads> threads;
  BucketSort<VKeyBits, VItems, BlockThreads<VThreads>>(threads, arguments, blockIdx.x, shared).Run();
}

/** Sorts the regions that the other kernel has left, one after the other. */
template <int VKeyBits, int VThreads, int VItems>
__global__ void
__launch_bounds__(VThreads) DigitKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  const BlockThreads<VThreads> threads;
  const std::uint32_t          left = *arguments.left;
  for (std::uint32_t i = blockIdx.x; i < left; i += gridDim.x)
  {
    DigitSort<VKeyBits, VItems, BlockThreads<VThreads>>(threads, arguments, arguments.left[1 + i], shared).Run();
    __syncthreads();
  }
}

/** Where the ranks or values of a region start in the shared memory of a block that slides windows. */
__device__ __forceinline__ std::uint16_t *
                           GetSharedRanks(const RankArguments & arguments, std::uint32_t * bits)
{
  return reinterpret_cast<std::uint16_t *>(reinterpret_cast<char *>(bits) + arguments.shape.sharedBytes) -
         arguments.GetPaddedPixels();
}

/** Empties the windows of a block's threads. */
template <int VThreads>
__device__ __forceinline__ void
ClearWindows(const RankArguments & arguments, std::uint32_t * bits)
{
  for (int i = static_cast<int>(threadIdx.x); i < arguments.shape.words * (VThreads / 4); i += VThreads)
  {
    reinterpret_cast<uint4 *>(bits)[i] = uint4{ 0, 0, 0, 0 };
  }
}

/** Slides a thread's window of a block. A footprint's replacements are put between the windows and the ranks, where the
 * block reads them fastest. */
template <typename TPixelBits, int VThreads, int VCounterBits, WindowForm VForm, bool VHasMap>
__device__ __forceinline__ void
SlideThread(const RankArguments & arguments,
            const RankBlock &     block,
            std::uint16_t *       ranks,
            std::uint32_t *       bits,
            const TPixelBits *    sorted)
{
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (VForm == WindowForm::Footprint)
  {
    const int words = 2 * arguments.shape.edges;
    auto *    steps = reinterpret_cast<std::uint32_t *>(ranks) - words;
    for (int i = thread; i < words; i += VThreads)
    {
      steps[i] = arguments.lists[i];
    }
    __syncthreads();
    SlideRankFootprint<TPixelBits, VThreads, VCounterBits, VHasMap>(
      arguments, block, thread, ranks, bits, sorted, steps);
  }
  else
  {
    __syncthreads();
    SlideRankWindow<TPixelBits, VThreads, VCounterBits, VForm == WindowForm::EvenRows, VHasMap>(
      arguments, block, thread, ranks, bits, sorted);
  }
}

/** Slides the windows of each block over its ranks. */
template <typename TPixelBits, int VThreads, WindowForm VForm, bool VHasMap>
__global__ void
__launch_bounds__(VThreads) SlideKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(256) std::uint32_t bits[];

  const int    thread = static_cast<int>(threadIdx.x);
  const int    padded = arguments.GetPaddedPixels();
  auto *       ranks = GetSharedRanks(arguments, bits);
  const auto   first = static_cast<std::size_t>(blockIdx.x) * padded;
  const auto * source = reinterpret_cast<const uint4 *>(arguments.ranks + first);
  for (int i = thread; i < padded / 8; i += VThreads)
  {
    reinterpret_cast<uint4 *>(ranks)[i] = source[i];
  }
  ClearWindows<VThreads>(arguments, bits);
  SlideThread<TPixelBits, VThreads, 1, VForm, VHasMap>(arguments,
                                                       RankBlock(arguments, arguments.firstBlock + blockIdx.x),
                                                       ranks,
                                                       bits,
                                                       static_cast<const TPixelBits *>(arguments.sorted) + first);
}

/** Slides the windows of each block over its 8-bit values, which need not be sorted. */
template <int VThreads, int VCounterBits, WindowForm VForm, bool VHasMap>
__global__ void
__launch_bounds__(VThreads) CountKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(256) std::uint32_t bits[];

  const int       thread = static_cast<int>(threadIdx.x);
  const int       count = arguments.shape.pixels;
  const RankBlock block(arguments, arguments.firstBlock + blockIdx.x);
  auto *          offsets = reinterpret_cast<std::int64_t *>(bits);
  auto *          values = GetSharedRanks(arguments, bits);
  FindOffsets(BlockThreads<VThreads>{}, arguments, block, offsets);
  // Some pixels at a time are on their way.
  constexpr int loads = 8;
  RegionWalk    walk(arguments, thread, VThreads);
  for (int first = thread; first < count; first += loads * VThreads)
  {
    std::uint8_t pixels[loads];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < loads; ++i)
    {
      pixels[i] = static_cast<const std::uint8_t *>(arguments.slab.input)[walk.GetOffset(offsets)];
      walk.Step();
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < loads; ++i)
    {
      if (first + i * VThreads < count)
      {
        const auto value = PixelKey<std::uint8_t, KeyMapping::Integer>::FromBits(
          pixels[i], static_cast<std::uint8_t>(arguments.slab.signMask));
        values[first + i * VThreads] = PackValue<VCounterBits>(value, RankWindow<VThreads>::Shift);
      }
    }
  }
  __syncthreads();
  ClearWindows<VThreads>(arguments, bits);
  SlideThread<std::uint8_t, VThreads, VCounterBits, VForm, VHasMap>(arguments, block, values, bits, nullptr);
}

/** Blocks of the kernel that sorts what is left: enough for large devices, few where nothing is left. */
constexpr unsigned int mostDigitBlocks = 1024;

/** A kernel that sorts regions. */
struct SortKernel
{
  int          threads;
  int          items;
  RankFunction function;
  std::size_t  storageBytes;

  /** It starts with the offsets of its region's rows and columns. */
  std::size_t
  GetBytes(const RankShape & shape) const
  {
    const auto offsets = static_cast<std::size_t>(shape.region[0] + shape.region[1] * shape.region[2]);
    return std::max(storageBytes, offsets * sizeof(std::int64_t));
  }
};

template <int VKeyBits, int VThreads, int VItems>
SortKernel
MakeBucketKernel()
{
  static_assert(sizeof(BucketStorage<VKeyBits, VThreads, VItems>) <= GetRankSortBytes(VThreads * VItems, VKeyBits / 8),
                "what the policy reckons with");
  return {
    VThreads, VItems, BucketKernel<VKeyBits, VThreads, VItems>, sizeof(BucketStorage<VKeyBits, VThreads, VItems>)
  };
}

template <int VKeyBits, int VThreads, int VItems>
SortKernel
MakeDigitKernel()
{
  static_assert(sizeof(DigitStorage<VKeyBits, VItems, BlockThreads<VThreads>>) <=
                  GetRankSortBytes(VThreads * VItems, VKeyBits / 8),
                "what the policy reckons with");
  return { VThreads,
           VItems,
           DigitKernel<VKeyBits, VThreads, VItems>,
           sizeof(DigitStorage<VKeyBits, VItems, BlockThreads<VThreads>>) };
}

/** The kernel that sorts by buckets and the one for what it leaves, of the sizes of RankPolicy.cxx. */
template <int VKeyBits>
std::vector<std::array<SortKernel, 2>>
ListSortKernels()
{
  using Pair = std::array<SortKernel, 2>;
  if constexpr (VKeyBits == 64)
  {
    return { Pair{ MakeBucketKernel<64, 256, 8>(), MakeDigitKernel<64, 256, 8>() },
             Pair{ MakeBucketKernel<64, 256, 12>(), MakeDigitKernel<64, 256, 12>() },
             Pair{ MakeBucketKernel<64, 256, 16>(), MakeDigitKernel<64, 256, 16>() },
             Pair{ MakeBucketKernel<64, 512, 12>(), MakeDigitKernel<64, 512, 12>() },
             Pair{ MakeBucketKernel<64, 512, 16>(), MakeDigitKernel<64, 512, 16>() } };
  }
  else
  {
    return { Pair{ MakeBucketKernel<VKeyBits, 256, 8>(), MakeDigitKernel<VKeyBits, 128, 16>() },
             Pair{ MakeBucketKernel<VKeyBits, 256, 12>(), MakeDigitKernel<VKeyBits, 128, 24>() },
             Pair{ MakeBucketKernel<VKeyBits, 256, 16>(), MakeDigitKernel<VKeyBits, 128, 32>() },
             Pair{ MakeBucketKernel<VKeyBits, 512, 12>(), MakeDigitKernel<VKeyBits, 256, 24>() },
             Pair{ MakeBucketKernel<VKeyBits, 512, 16>(), MakeDigitKernel<VKeyBits, 256, 32>() },
             Pair{ MakeBucketKernel<VKeyBits, 1024, 12>(), MakeDigitKernel<VKeyBits, 512, 24>() },
             Pair{ MakeBucketKernel<VKeyBits, 1024, 16>(), MakeDigitKernel<VKeyBits, 512, 32>() } };
  }
}

/** The kernels that sort a number of pixels, or null. */
template <int VKeyBits>
const std::array<SortKernel, 2> *
FindSortKernels(int pixels)
{
  static const auto kernels = ListSortKernels<VKeyBits>();
  const auto        found = std::find_if(
    kernels.begin(), kernels.end(), [&](const auto & pair) { return pair[0].threads * pair[0].items == pixels; });
  return found == kernels.end() ? nullptr : &*found;
}

/** The kernels for a shape and a pixel width; 8-bit pixels are not sorted, and some regions are by their values. */
struct RankKernels
{
  const std::array<SortKernel, 2> * sort;
  RankFunction                      slide;
};

template <typename TPixelBits, WindowForm VForm, bool VHasMap>
RankKernels
GetSlideKernels(const RankShape & shape)
{
  return { FindSortKernels<8 * sizeof(TPixelBits)>(shape.sortPixels),
           shape.threads == 32 ? SlideKernel<TPixelBits, 32, VForm, VHasMap>
                               : SlideKernel<TPixelBits, 64, VForm, VHasMap> };
}

template <int VThreads, WindowForm VForm, bool VHasMap>
RankKernels
GetCountKernelsOf(const RankShape & shape)
{
  return { nullptr,
           shape.counterBits == 10 ? CountKernel<VThreads, 10, VForm, VHasMap>
                                   : CountKernel<VThreads, 16, VForm, VHasMap> };
}

template <WindowForm VForm, bool VHasMap>
RankKernels
GetCountKernels(const RankShape & shape)
{
  return shape.threads == 32 ? GetCountKernelsOf<32, VForm, VHasMap>(shape)
                             : GetCountKernelsOf<64, VForm, VHasMap>(shape);
}

template <WindowForm VForm, bool VHasMap>
RankKernels
GetRankKernelsOf(const RankShape & shape, KeyFormat keyFormat)
{
  return DispatchKeys(keyFormat, [&](auto key) -> RankKernels {
    using Bits = typename decltype(key)::Bits;
    if constexpr (sizeof(Bits) == 1)
    {
      return KeepsThresholds(shape) ? RankKernels{ nullptr, FindThresholdKernel(shape, 1) }
                                    : GetCountKernels<VForm, VHasMap>(shape);
    }
    else if (KeepsThresholds(shape))
    {
      return { FindSortKernels<8 * sizeof(Bits)>(shape.sortPixels), FindThresholdKernel(shape, sizeof(Bits)) };
    }
    else
    {
      return GetSlideKernels<Bits, VForm, VHasMap>(shape);
    }
  });
}

template <bool VHasMap>
RankKernels
GetRankKernels(const RankShape & shape, KeyFormat keyFormat)
{
  const auto form = GetWindowForm(shape);
  return form == WindowForm::Footprint  ? GetRankKernelsOf<WindowForm::Footprint, VHasMap>(shape, keyFormat)
         : form == WindowForm::EvenRows ? GetRankKernelsOf<WindowForm::EvenRows, VHasMap>(shape, keyFormat)
                                        : GetRankKernelsOf<WindowForm::OddRows, VHasMap>(shape, keyFormat);
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

/** Sorts the regions of a launch. */
cudaError_t
LaunchSort(const RankKernels & kernels, const RankArguments & arguments, unsigned int count, cudaStream_t stream)
{
  const auto & shape = arguments.shape;
  if (IsSortedByValues(shape))
  {
    const auto pixelBytes = static_cast<int>(GetPixelBytes(arguments.keyFormat));
    const auto bytes = static_cast<std::size_t>(GetValueSortBytes(shape, pixelBytes));
    const int  threads = GetValueSortThreads(shape, pixelBytes);
    return Launch(FindValueKernel(shape, pixelBytes), arguments, count, threads, bytes, stream);
  }
  const auto & [buckets, digits] = *kernels.sort;
  auto error = cudaMemsetAsync(arguments.left, 0, sizeof(*arguments.left), stream);
  if (error == cudaSuccess)
  {
    error = Launch(buckets.function, arguments, count, buckets.threads, buckets.GetBytes(shape), stream);
  }
  return error != cudaSuccess ? error
                              : Launch(digits.function,
                                       arguments,
                                       std::min(count, mostDigitBlocks),
                                       digits.threads,
                                       digits.GetBytes(shape),
                                       stream);
}

} // namespace

std::size_t
GetRankSharedBytes(const RankShape & shape, KeyFormat keyFormat)
{
  // A map makes no difference to them.
  const auto kernels = GetRankKernels<false>(shape, keyFormat);
  auto       bytes = static_cast<std::size_t>(shape.sharedBytes);
  if (kernels.sort != nullptr)
  {
    bytes = std::max({ bytes, (*kernels.sort)[0].GetBytes(shape), (*kernels.sort)[1].GetBytes(shape) });
  }
  const auto pixelBytes = static_cast<int>(GetPixelBytes(keyFormat));
  return IsSortedByValues(shape) ? std::max(bytes, static_cast<std::size_t>(GetValueSortBytes(shape, pixelBytes)))
                                 : bytes;
}

cudaError_t
LaunchRankWindows(const KernelArguments & slab,
                  const RankShape &       shape,
                  KeyFormat               keyFormat,
                  void *                  scratch,
                  std::size_t             scratchBytes,
                  const std::uint32_t *   lists,
                  cudaStream_t            stream)
{
  const auto kernels =
    slab.rankMap != nullptr ? GetRankKernels<true>(shape, keyFormat) : GetRankKernels<false>(shape, keyFormat);
  const bool   sorts = shape.sortPixels > 0;
  const Extent outputExtent{
    { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] }
  };
  // As many blocks at once as have room for their ranks, and as a launch may have.
  constexpr std::int64_t largestLaunch = 1 << 30;
  const auto             blocks = CountRankBlocks(shape, outputExtent);
  const auto             batch =
    std::min(largestLaunch, sorts ? static_cast<std::int64_t>(scratchBytes) / shape.scratchBytes : largestLaunch);
  if (sorts != (kernels.sort != nullptr || IsSortedByValues(shape)) || batch < 1)
  {
    return cudaErrorInvalidValue;
  }
  auto arguments = MakeRankArguments(slab, shape, keyFormat);
  arguments.lists = lists;
  arguments.ranks = static_cast<std::uint16_t *>(scratch);
  if (sorts && !IsSortedByValues(shape))
  {
    // Behind the ranks. Both are moved 16 bytes at a time.
    arguments.sorted = arguments.ranks + batch * arguments.GetPaddedPixels();
    const auto pixelBytes = shape.scratchBytes / arguments.GetPaddedPixels() - 2;
    arguments.left = reinterpret_cast<std::uint32_t *>(static_cast<char *>(arguments.sorted) +
                                                       batch * arguments.GetPaddedPixels() * pixelBytes);
  }
  else if (HasNumbers(shape, static_cast<int>(GetPixelBytes(keyFormat))))
  {
    arguments.unordered = reinterpret_cast<std::uint32_t *>(arguments.ranks + batch * arguments.GetPaddedPixels());
    arguments.places = arguments.unordered + batch * arguments.GetUnorderedWords();
  }
  const auto parts = static_cast<unsigned int>(IsLargeRegion(shape) ? shape.threads / largeThresholdThreads : 1);
  const int  threads = IsLargeRegion(shape) ? largeThresholdThreads : shape.threads;
  for (; arguments.firstBlock < blocks; arguments.firstBlock += batch)
  {
    const auto count = static_cast<unsigned int>(std::min(batch, blocks - arguments.firstBlock));
    auto       error = cudaSuccess;
    if (sorts)
    {
      error = LaunchSort(kernels, arguments, count, stream);
    }
    if (error == cudaSuccess)
    {
      error =
        Launch(kernels.slide, arguments, parts * count, threads, static_cast<std::size_t>(shape.sharedBytes), stream);
    }
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

} // namespace cudamedian
