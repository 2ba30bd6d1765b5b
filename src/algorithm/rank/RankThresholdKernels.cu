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
#include "RankThresholdKernels.h"

#include "RankBlockThreads.h"
#include "RankThreshold.h"
#include "RankValueSort.h"

namespace cudamedian
{
namespace
{

/** Wide pixels are counted by numbers. */
template <typename TPixelBits>
constexpr auto countedBy = sizeof(TPixelBits) <= 2 ? CountedBy::Values : CountedBy::Numbers;

template <typename TPixelBits>
constexpr int sortThreads = sizeof(TPixelBits) == 1 ? byteSortThreads : valueSortThreads;

/** Blocks of byteSortThreads that find room on a multiprocessor with their registers, and by its threads, of which
 * those of Turing have 1024 and others 1536 at least. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int residentThreads = 1024;
constexpr int byteSortBlocks = 4;
#else
constexpr int residentThreads = 1536;
constexpr int byteSortBlocks = 5;
#endif
static_assert(byteSortThreads * byteSortBlocks <= residentThreads, "more are an error of ptxas");

template <typename TPixelBits>
constexpr std::size_t valueStorageBytes =
  sizeof(ValueStorage<TPixelBits, countedBy<TPixelBits>, sortThreads<TPixelBits>>);
static_assert(valueStorageBytes<std::uint8_t> == 36896 && valueStorageBytes<std::uint16_t> == 147584 &&
                valueStorageBytes<std::uint32_t> == 147584 + 32 + valueSortSamples / 32 * 33 * 4 &&
                valueStorageBytes<std::uint64_t> == 147584 + 32 + valueSortSamples / 32 * 33 * 8,
              "what GetValueSortBytes() reckons with");

/** Sorts the region of each block by values. */
template <typename TPixelBits>
__global__ void
__launch_bounds__(sortThreads<TPixelBits>, sizeof(TPixelBits) == 1 ? byteSortBlocks : 1)
  ValueKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  using Threads = BlockThreads<sortThreads<TPixelBits>>;
  ValueSort<TPixelBits, countedBy<TPixelBits>, Threads>(Threads(), arguments, blockIdx.x, shared).Run();
}

/** Slides the windows of each block over its ranks. */
template <typename TPixelBits, WindowForm VWindow, RegionForm VForm>
__global__ void
__launch_bounds__(mostThresholdThreads) ThresholdKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) std::uint32_t places[];

  using Windows = ThresholdWindows<TPixelBits, VWindow, VForm, WarpThreads>;
  const auto & shape = arguments.shape;
  const int    thread = static_cast<int>(threadIdx.x);
  const int    padded = arguments.GetPaddedPixels();
  const auto   first = static_cast<std::size_t>(blockIdx.x) * padded;
  auto *       ranks =
    reinterpret_cast<std::uint16_t *>(reinterpret_cast<char *>(places) + arguments.shape.sharedBytes) - padded;
  const auto * source = reinterpret_cast<const uint4 *>(arguments.ranks + first);
  for (int i = thread; i < padded / 8; i += static_cast<int>(blockDim.x))
  {
    const uint4 vector = source[i];
    reinterpret_cast<uint4 *>(ranks)[i] = vector;
    const std::uint16_t eight[] = { static_cast<std::uint16_t>(vector.x), static_cast<std::uint16_t>(vector.x >> 16),
                                    static_cast<std::uint16_t>(vector.y), static_cast<std::uint16_t>(vector.y >> 16),
                                    static_cast<std::uint16_t>(vector.z), static_cast<std::uint16_t>(vector.z >> 16),
                                    static_cast<std::uint16_t>(vector.w), static_cast<std::uint16_t>(vector.w >> 16) };
    StorePlaces<VForm>(shape, 8 * i, eight, places);
  }
  // No pixel has the ranks behind the last one's.
  for (int i = shape.pixels - shape.firstRank + thread; i < 32 * shape.words; i += static_cast<int>(blockDim.x))
  {
    Windows::Places::Clear(places, static_cast<unsigned int>(i));
  }
  auto *         words = places + 4 * Windows::Places::Words * shape.words;
  FootprintLists lists;
  if constexpr (VWindow == WindowForm::Footprint)
  {
    lists = FootprintLists(words, shape);
    words = CopyLists<typename Windows::Bits>(arguments, thread, static_cast<int>(blockDim.x), words);
  }
  auto * sums = words;
  auto * unordered = sums + static_cast<int>(blockDim.x) / 32 * Windows::CountSums(shape);
  if (arguments.unordered != nullptr)
  {
    const auto * marks = arguments.unordered + static_cast<std::size_t>(blockIdx.x) * arguments.GetUnorderedWords();
    for (int i = thread; i < shape.words; i += static_cast<int>(blockDim.x))
    {
      unordered[i] = marks[i];
    }
  }
  __syncthreads();
  const int         warp = thread / 32;
  const WarpThreads threads;
  const RankBlock   block(arguments, arguments.firstBlock + blockIdx.x);
  Windows(threads,
          arguments,
          block,
          warp,
          ranks,
          places,
          sums + warp * Windows::CountSums(shape),
          arguments.unordered == nullptr ? nullptr : unordered,
          arguments.sorted == nullptr ? nullptr : static_cast<const TPixelBits *>(arguments.sorted) + first,
          lists)
    .Run();
}

template <typename TPixelBits, WindowForm VWindow>
RankFunction
FindThresholdKernelOf(const RankShape & shape)
{
  return GetRegionForm(shape) == RegionForm::Narrow ? ThresholdKernel<TPixelBits, VWindow, RegionForm::Narrow>
                                                    : ThresholdKernel<TPixelBits, VWindow, RegionForm::Wide>;
}

template <typename TPixelBits>
RankFunction
FindThresholdKernelOf(const RankShape & shape)
{
  const auto form = GetWindowForm(shape);
  return form == WindowForm::Footprint  ? FindThresholdKernelOf<TPixelBits, WindowForm::Footprint>(shape)
         : form == WindowForm::EvenRows ? FindThresholdKernelOf<TPixelBits, WindowForm::EvenRows>(shape)
                                        : FindThresholdKernelOf<TPixelBits, WindowForm::OddRows>(shape);
}

} // namespace

RankFunction
FindValueKernel(const RankShape & shape, int pixelBytes)
{
  return IsLargeRegion(shape) ? FindLargeSortKernel(pixelBytes)
         : pixelBytes == 1    ? ValueKernel<std::uint8_t>
         : pixelBytes == 2    ? ValueKernel<std::uint16_t>
         : pixelBytes == 4    ? ValueKernel<std::uint32_t>
                              : ValueKernel<std::uint64_t>;
}

RankFunction
FindThresholdKernel(const RankShape & shape, int pixelBytes)
{
  return IsLargeRegion(shape) ? FindLargeThresholdKernel(shape, pixelBytes)
         // Other windows have histograms.
         : pixelBytes == 1 ? FindThresholdKernelOf<std::uint8_t, WindowForm::Footprint>(shape)
         : pixelBytes == 2 ? FindThresholdKernelOf<std::uint16_t>(shape)
         : pixelBytes == 4 ? FindThresholdKernelOf<std::uint32_t>(shape)
                           : FindThresholdKernelOf<std::uint64_t>(shape);
}

} // namespace cudamedian
