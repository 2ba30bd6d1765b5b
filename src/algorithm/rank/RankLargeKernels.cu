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

/** Windows that keep a threshold in regions of more pixels than 16 bits number. Ranks, places and marks stay in the
 * device's memory: several blocks slide windows over a region. */
namespace cudamedian
{
namespace
{

using ValueThreads = BlockThreads<valueSortThreads>;

template <typename TPixelBits>
constexpr std::size_t storageBytes = sizeof(ValueStorage<TPixelBits, CountedBy::LargeNumbers, valueSortThreads>);
constexpr std::size_t largeSortBytes = 147584 + 32 + largeSortPixels / 8;
static_assert(storageBytes<std::uint8_t> == largeSortBytes && storageBytes<std::uint16_t> == largeSortBytes &&
                storageBytes<std::uint32_t> == largeSortBytes && storageBytes<std::uint64_t> == largeSortBytes,
              "what GetValueSortBytes() reckons with");

/** Sorts the region of each block by numbers. */
template <typename TPixelBits>
__global__ void
__launch_bounds__(valueSortThreads) LargeSortKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) unsigned char shared[];

  const ValueThreads threads;
  ValueSort<TPixelBits, CountedBy::LargeNumbers, ValueThreads>(threads, arguments, blockIdx.x, shared).Run();
}

/** Slides windows over a region's ranks. The blocks of a region follow each other. */
template <typename TPixelBits, WindowForm VWindow, RegionForm VForm = RegionForm::Large>
__global__ void
__launch_bounds__(largeThresholdThreads, 8) LargeThresholdKernel(const __grid_constant__ RankArguments arguments)
{
  extern __shared__ __align__(16) std::uint32_t sharedWords[];

  using Windows = ThresholdWindows<TPixelBits, VWindow, VForm, WarpThreads>;
  constexpr auto warps = largeThresholdThreads / 32;
  const auto &   shape = arguments.shape;
  const auto     blocks = static_cast<unsigned int>(shape.threads / largeThresholdThreads);
  const auto     region = blockIdx.x / blocks;
  const auto     warp = static_cast<int>(threadIdx.x / 32);
  const auto     words = static_cast<std::size_t>(32 * shape.words);
  auto *         sums = sharedWords;
  FootprintLists lists;
  if constexpr (VWindow == WindowForm::Footprint)
  {
    lists = FootprintLists(sharedWords, shape);
    sums =
      CopyLists<typename Windows::Bits>(arguments, static_cast<int>(threadIdx.x), largeThresholdThreads, sharedWords);
    __syncthreads();
  }
  const WarpThreads threads;
  const RankBlock   block(arguments, arguments.firstBlock + region);
  Windows(threads,
          arguments,
          block,
          static_cast<int>(blockIdx.x % blocks) * warps + warp,
          arguments.ranks + static_cast<std::size_t>(region) * arguments.GetPaddedPixels(),
          arguments.places + region * words,
          sums + warp * Windows::CountSums(shape),
          arguments.unordered + static_cast<std::size_t>(region) * arguments.GetUnorderedWords(),
          nullptr,
          lists)
    .Run();
}

template <typename TPixelBits>
RankFunction
FindLargeFootprintKernelOf(const RankShape & shape)
{
  return GetRegionForm(shape) == RegionForm::Solid
           ? LargeThresholdKernel<TPixelBits, WindowForm::Footprint, RegionForm::Solid>
           : LargeThresholdKernel<TPixelBits, WindowForm::Footprint>;
}

template <typename TPixelBits>
RankFunction
FindLargeThresholdKernelOf(const RankShape & shape)
{
  const auto form = GetWindowForm(shape);
  return form == WindowForm::Footprint  ? FindLargeFootprintKernelOf<TPixelBits>(shape)
         : form == WindowForm::EvenRows ? LargeThresholdKernel<TPixelBits, WindowForm::EvenRows>
                                        : LargeThresholdKernel<TPixelBits, WindowForm::OddRows>;
}

} // namespace

RankFunction
FindLargeSortKernel(int pixelBytes)
{
  return pixelBytes == 1   ? LargeSortKernel<std::uint8_t>
         : pixelBytes == 2 ? LargeSortKernel<std::uint16_t>
         : pixelBytes == 4 ? LargeSortKernel<std::uint32_t>
                           : LargeSortKernel<std::uint64_t>;
}

RankFunction
FindLargeThresholdKernel(const RankShape & shape, int pixelBytes)
{
  return pixelBytes == 1   ? FindLargeFootprintKernelOf<std::uint8_t>(shape)
         : pixelBytes == 2 ? FindLargeThresholdKernelOf<std::uint16_t>(shape)
         : pixelBytes == 4 ? FindLargeThresholdKernelOf<std::uint32_t>(shape)
                           : FindLargeThresholdKernelOf<std::uint64_t>(shape);
}

} // namespace cudamedian
