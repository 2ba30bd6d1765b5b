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
#include "CudaMedianLoopedThreads.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "RankEdges.h"
#include "RankThreshold.h"
#include "RankThresholdPolicy.h"
#include "RankValueSort.h"
#include "itkCudaMedianEngine.h"
#include "itkCudaMedianFootprint.h"

#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

/** Local ranks whose windows keep a threshold, and the sort by values: the kernels' own code, run by the host. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckSlabs;
using cudamediantest::LoopedThreads;

/** Words behind a buffer that nothing may write. */
constexpr std::uint32_t unwritten = 0x5A5A5A5AU;

/** Sorts a block's region, equal keys in the order of their pixels. With `unordered`, ranks that follow each other are
 * shuffled here and there, and marked. */
template <typename TBits, KeyMapping VMapping>
void
SortRegion(const RankArguments &        arguments,
           const RankBlock &            block,
           std::uint16_t *              ranks,
           TBits *                      sorted,
           std::vector<std::uint32_t> * unordered,
           std::mt19937_64 &            generator)
{
  const auto &       shape = arguments.shape;
  const auto         mask = static_cast<TBits>(arguments.slab.signMask);
  std::vector<TBits> keys;
  for (int row = 0; row < arguments.GetRows(); ++row)
  {
    for (int column = 0; column < shape.region[0]; ++column)
    {
      const auto offset = GetRowOffset(arguments, block, row) + GetOffsetAlong(arguments, block, 0, column);
      keys.push_back(
        PixelKey<TBits, VMapping>::FromBits(static_cast<const TBits *>(arguments.slab.input)[offset], mask));
    }
  }
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{ 0 });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  if (unordered != nullptr)
  {
    unordered->assign(static_cast<std::size_t>(arguments.GetUnorderedWords()), 0);
    const std::size_t lengths[] = { 1, 1, 2, 3, 70 };
    for (std::size_t first = 0; first < order.size();)
    {
      // Those at both ends of the packed ranks reach beyond them.
      const int  packedFirst = static_cast<int>(first) - shape.firstRank;
      const bool isAtEnd = (packedFirst > -20 && packedFirst <= 32) ||
                           (packedFirst > 32 * shape.words - 60 && packedFirst < 32 * shape.words);
      const auto length = std::min(lengths[isAtEnd ? 4 : generator() % 5], order.size() - first);
      std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(first),
                   order.begin() + static_cast<std::ptrdiff_t>(first + length),
                   generator);
      for (auto rank = static_cast<int>(first) + 1; rank < static_cast<int>(first + length); ++rank)
      {
        const int packed = rank - shape.firstRank;
        if (packed >= 0 && packed < 32 * shape.words)
        {
          (*unordered)[static_cast<std::size_t>(packed / 32)] |= 1U << packed % 32;
        }
      }
      first += length;
    }
  }
  for (std::size_t rank = 0; rank < order.size(); ++rank)
  {
    ranks[order[rank]] = PackRank(static_cast<int>(rank) - shape.firstRank, shape.rankShift, shape.words);
    sorted[rank] = PixelKey<TBits, VMapping>::ToBits(keys[order[rank]], mask);
  }
}

/** How a block's region is sorted whose pixels have numbers: by the test, with ranks shuffled here and there, or as
 * kernels do. */
enum class SortWay
{
  Ordered,
  Shuffled,
  Quantiles
};

/** What a kernel that slides windows knows of a block's region. */
template <typename TBits>
struct SortedRegion
{
  std::vector<std::uint16_t> ranks;
  std::vector<std::uint32_t> places;
  std::vector<TBits>         sorted; ///< none where a kernel sorted
  std::vector<std::uint32_t> unordered;
};

template <typename TBits>
constexpr auto countedBy = sizeof(TBits) <= 2 ? CountedBy::Values : CountedBy::Numbers;

/** Those that sort a region. */
template <typename TBits, CountedBy VCounted>
using SortThreads =
  LoopedThreads<sizeof(TBits) == 1 && VCounted == CountedBy::Values ? byteSortThreads : valueSortThreads>;

/** Sorts a block's region as kernels do. */
template <typename TBits, RegionForm VForm>
void
SortAsKernels(RankArguments arguments, std::int64_t block, SortedRegion<TBits> & region, std::mt19937_64 & generator)
{
  constexpr bool isLarge = VForm == RegionForm::Large || VForm == RegionForm::Solid;
  constexpr auto counted = isLarge ? CountedBy::LargeNumbers : countedBy<TBits>;
  using Threads = SortThreads<TBits, counted>;
  const auto              bytes = static_cast<std::size_t>(GetValueSortBytes(arguments.shape, sizeof(TBits)));
  std::vector<WordVector> shared(bytes / sizeof(WordVector) + 2, { unwritten, unwritten, unwritten, unwritten });
  region.unordered.assign(static_cast<std::size_t>(arguments.GetUnorderedWords()), unwritten);
  arguments.firstBlock = block;
  arguments.ranks = region.ranks.data();
  arguments.unordered = region.unordered.data();
  arguments.places = region.places.data();
  ValueSort<TBits, counted, Threads>(Threads(generator), arguments, 0, shared.data()).Run();
  EXPECT_EQ(shared.back().w, unwritten);
}

/** Puts the places of a block's pixels where their ranks are. */
template <RegionForm VForm>
void
StoreAllPlaces(const RankShape & shape, const std::vector<std::uint16_t> & ranks, std::uint32_t * places)
{
  using Places = RankPlaces<VForm>;
  for (std::size_t i = 0; i < ranks.size(); i += 8)
  {
    std::uint16_t eight[8];
    std::memcpy(eight, ranks.data() + i, sizeof(eight));
    if constexpr (!Places::IsSolid)
    {
      StorePlaces<VForm>(shape, static_cast<int>(i), eight, places);
    }
    for (int number = static_cast<int>(i); Places::IsSolid && number < std::min(static_cast<int>(i) + 8, shape.pixels);
         ++number)
    {
      const int  row = number / shape.region[0];
      const auto rank = ranks[static_cast<std::size_t>(number)];
      if (rank >= 32 && rank < 32 * shape.words - 1)
      {
        Places::Store(places, rank, number % shape.region[0], row % shape.region[1], row / shape.region[1]);
      }
    }
  }
  for (int i = shape.pixels - shape.firstRank; i < 32 * shape.words; ++i)
  {
    Places::Clear(places, static_cast<unsigned int>(i));
  }
}

/** Sorts a block's region in a way. */
template <typename TBits, KeyMapping VMapping, RegionForm VForm>
void
SortRegion(SortWay               way,
           const RankArguments & arguments,
           std::int64_t          block,
           SortedRegion<TBits> & region,
           std::mt19937_64 &     generator)
{
  const auto & shape = arguments.shape;
  if (way == SortWay::Quantiles)
  {
    SortAsKernels<TBits, VForm>(arguments, block, region, generator);
  }
  else
  {
    SortRegion<TBits, VMapping>(arguments,
                                RankBlock(arguments, block),
                                region.ranks.data(),
                                region.sorted.data(),
                                way == SortWay::Ordered ? nullptr : &region.unordered,
                                generator);
  }
  constexpr bool isLarge = VForm == RegionForm::Large || VForm == RegionForm::Solid;
  if (way != SortWay::Quantiles || !isLarge)
  {
    StoreAllPlaces<VForm>(shape, region.ranks, region.places.data());
    for (auto & rank : region.ranks)
    {
      rank = static_cast<std::uint16_t>(isLarge ? rank / 32 : rank);
    }
  }
}

/** Slides all windows of a slab, a warp after the other. \param firstWay of the first block, where there are several.
 */
template <typename TBits, KeyMapping VMapping, WindowForm VWindow, RegionForm VForm>
void
RunThresholds(const KernelArguments &            slab,
              const RankShape &                  shape,
              std::int64_t                       firstWay,
              const std::vector<std::uint32_t> & lists)
{
  using Warp = LoopedThreads<32>;
  using Windows = ThresholdWindows<TBits, VWindow, VForm, Warp>;
  std::mt19937_64 generator(cudamediantest::Seed());
  const Warp      warp(generator);
  auto            arguments = MakeRankArguments(slab,
                                     shape,
                                     VMapping == KeyMapping::Integer ? KeyFormat::Integer16
                                                : sizeof(TBits) == 4            ? KeyFormat::Float32
                                                                                : KeyFormat::Float64);
  const auto      padded = static_cast<std::size_t>(arguments.GetPaddedPixels());
  const auto      blocks = CountRankBlocks(
    shape, { { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] } });
  // What the planner has room for.
  const auto sumWords = static_cast<std::size_t>(Windows::CountSums(shape));
  const auto placeWords = static_cast<std::size_t>(4 * Windows::Places::Words * shape.words);
  const bool marks = HasNumbers(shape, sizeof(TBits));
  const auto markWords = static_cast<std::size_t>(marks ? arguments.GetUnorderedWords() : 0);
  const auto regionBytes = 4 * (placeWords + markWords) + 2 * padded;
  const auto sumBytes = 4 * sumWords * static_cast<std::size_t>(shape.threads / 32);
  const bool isFootprint = VWindow == WindowForm::Footprint;
  const auto listBytes = isFootprint ? GetRankListBytes(shape) : 0;
  if (IsLargeRegion(shape))
  {
    ASSERT_LE(regionBytes, static_cast<std::size_t>(shape.scratchBytes));
  }
  else
  {
    ASSERT_LE(regionBytes + sumBytes + listBytes, static_cast<std::size_t>(shape.sharedBytes));
  }
  for (std::int64_t number = 0; number < blocks; ++number)
  {
    const RankBlock     block(arguments, number);
    const auto          way = static_cast<SortWay>(marks ? (number + firstWay) % 3 : 0);
    const bool          isOrdered = way == SortWay::Ordered;
    SortedRegion<TBits> region{ std::vector<std::uint16_t>(padded),
                                std::vector<std::uint32_t>(placeWords + 1, unwritten),
                                std::vector<TBits>(padded),
                                {} };
    SortRegion<TBits, VMapping, VForm>(way, arguments, number, region, generator);
    ASSERT_EQ(region.places.back(), unwritten);
    std::vector<std::uint32_t> sums(sumWords + 1, unwritten);
    for (int i = 0; i < shape.threads / 32; ++i)
    {
      // Pixels are taken from the sorted ones, or from the image.
      const auto * pixels = isOrdered && number % 2 == i % 2 ? region.sorted.data() : nullptr;
      auto *       marked = isOrdered ? nullptr : region.unordered.data();
      Windows(warp,
              arguments,
              block,
              i,
              region.ranks.data(),
              region.places.data(),
              sums.data(),
              marked,
              pixels,
              isFootprint ? FootprintLists(lists.data(), shape) : FootprintLists())
        .Run();
      ASSERT_EQ(sums.back(), unwritten);
    }
  }
}

template <typename TBits, KeyMapping VMapping, RegionForm VForm>
void
RunThresholds(const KernelArguments &            slab,
              const RankShape &                  shape,
              std::int64_t                       firstWay,
              const std::vector<std::uint32_t> & lists)
{
  switch (GetWindowForm(shape))
  {
    case WindowForm::OddRows:
      return RunThresholds<TBits, VMapping, WindowForm::OddRows, VForm>(slab, shape, firstWay, lists);
    case WindowForm::EvenRows:
      return RunThresholds<TBits, VMapping, WindowForm::EvenRows, VForm>(slab, shape, firstWay, lists);
    case WindowForm::Footprint:
      return RunThresholds<TBits, VMapping, WindowForm::Footprint, VForm>(slab, shape, firstWay, lists);
  }
}

/** \param lists of a footprint. */
template <typename TBits, KeyMapping VMapping>
void
RunThresholds(const KernelArguments &            slab,
              const RankShape &                  shape,
              std::int64_t                       firstWay = 0,
              const std::vector<std::uint32_t> & lists = {})
{
  constexpr auto footprint = WindowForm::Footprint;
  switch (GetRegionForm(shape))
  {
    case RegionForm::Narrow:
      return RunThresholds<TBits, VMapping, RegionForm::Narrow>(slab, shape, firstWay, lists);
    case RegionForm::Wide:
      return RunThresholds<TBits, VMapping, RegionForm::Wide>(slab, shape, firstWay, lists);
    case RegionForm::Large:
      return RunThresholds<TBits, VMapping, RegionForm::Large>(slab, shape, firstWay, lists);
    case RegionForm::Solid:
      return RunThresholds<TBits, VMapping, footprint, RegionForm::Solid>(slab, shape, firstWay, lists);
  }
}

/** The same block as it would be with another sort. */
RankShape
SortBy(RankShape shape, int sortPixels, int pixelBytes)
{
  const auto getMarks = [&] { return HasNumbers(shape, pixelBytes) ? 4 * ((shape.words + 3) / 4 * 4) : 0; };
  const int  marks = getMarks();
  shape.sortPixels = sortPixels;
  shape.sharedBytes += getMarks() - marks;
  shape.scratchBytes = 2 * ((shape.pixels + 7) / 8 * 8) + getMarks() + (IsLargeRegion(shape) ? 128 * shape.words : 0);
  return shape;
}

template <typename TBits, KeyMapping VMapping>
void
CheckWindow(PixelType type, const Window & window)
{
  RankShape shape{};
  ASSERT_TRUE(FindThresholdShape(window, sizeof(TBits), shape, GetH200Traits()));
  ASSERT_TRUE(KeepsThresholds(shape));
  ASSERT_LE(shape.pixels, shape.sortPixels);
  for (const int sort : { valueSortPixels, largeSortPixels })
  {
    const auto other = SortBy(shape, sort, sizeof(TBits));
    CheckSlabs<TBits, VMapping>(
      { { 67, 41, 2, 1 } }, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
        RunThresholds<TBits, VMapping>(arguments, other, 1);
      });
  }
  for (const Extent & size : { Extent{ { 3, 2, 1, 1 } }, Extent{ { 67, 41, 1, 1 } }, Extent{ { 13, 11, 7, 2 } } })
  {
    CheckSlabs<TBits, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
      RunThresholds<TBits, VMapping>(arguments, shape);
    });
  }
}

const Extent radii[] = { { { 9, 9, 0, 0 } }, { { 2, 11, 0, 0 } }, { { 12, 1, 0, 0 } },
                         { { 1, 0, 5, 0 } }, { { 0, 0, 17, 0 } }, { { 16, 16, 0, 0 } } };

/** Every window that is no median of an odd size, and those. */
template <typename TBits, KeyMapping VMapping>
void
CheckWindows(PixelType type)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto & radius : radii)
  {
    CheckWindow<TBits, VMapping>(type, radius);
  }
  for (const Extent & radius : { Extent{ { 5, 4, 0, 0 } }, Extent{ { 3, 0, 4, 0 } } })
  {
    cudamediantest::ForEachOtherWindow(radius,
                                       [&](const Window & window) { CheckWindow<TBits, VMapping>(type, window); });
  }
}

/** Windows of a footprint, of a rank among its pixels. */
template <typename TBits, KeyMapping VMapping>
void
CheckFootprint(PixelType type, const Footprint & footprint, std::int64_t rank)
{
  SCOPED_TRACE(footprint.Describe() + ", rank " + std::to_string(rank));
  const Window window(&footprint, rank);
  RankShape    shape{};
  ASSERT_TRUE(FindThresholdShape(window, sizeof(TBits), shape, GetH200Traits()));
  ASSERT_EQ(GetWindowForm(shape), WindowForm::Footprint);
  ASSERT_LE(shape.pixels, shape.sortPixels);
  // As in a large region too.
  for (const int sort : { shape.sortPixels, largeSortPixels })
  {
    const auto          other = SortBy(shape, sort, sizeof(TBits));
    const auto          lists = MakeRankLists(footprint, other);
    std::vector<Extent> sizes{ { { 67, 41, 1, 1 } } };
    if (sort == shape.sortPixels)
    {
      sizes.insert(sizes.end(), { { { 3, 2, 1, 1 } }, { { 13, 11, 7, 2 } } });
    }
    for (const auto & size : sizes)
    {
      CheckSlabs<TBits, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
        RunThresholds<TBits, VMapping>(arguments, other, 1, lists);
      });
    }
  }
}

/** Disks, crosses, and any pixels of a box: narrow and wide regions, across the image's rows and slices. */
template <typename TBits, KeyMapping VMapping>
void
CheckFootprints(PixelType type)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64                random(cudamediantest::Seed());
  std::vector<const Footprint *> footprints{ Footprint::MakeEllipsoid({ { 7, 7, 0, 0 } }),
                                             Footprint::MakeEllipsoid({ { 18, 17, 0, 0 } }),
                                             Footprint::MakeEllipsoid({ { 70, 33, 0, 0 } }),
                                             Footprint::MakeCross({ { 9, 4, 0, 0 } }),
                                             Footprint::MakeEllipsoid({ { 8, 0, 6, 0 } }) };
  for (const Extent & radius : { Extent{ { 3, 4, 0, 0 } }, Extent{ { 11, 2, 0, 0 } }, Extent{ { 5, 0, 0, 5 } } })
  {
    footprints.push_back(cudamediantest::DrawFootprint(radius, random));
  }
  bool isWide = false;
  for (const auto * footprint : footprints)
  {
    RankShape shape{};
    ASSERT_TRUE(FindThresholdShape(Window(footprint, -1), sizeof(TBits), shape, GetH200Traits()));
    isWide = isWide || GetRegionForm(shape) == RegionForm::Wide;
    const auto values = static_cast<std::uint64_t>(footprint->CountValues());
    CheckFootprint<TBits, VMapping>(type, *footprint, -1);
    CheckFootprint<TBits, VMapping>(type, *footprint, static_cast<std::int64_t>(random() % values));
  }
  EXPECT_TRUE(isWide);
}

/** \param values that pixels have; 0: all; -1: clusters of a hundred pixels, 2^20 apart. */
template <typename TBits>
std::vector<TBits>
MakeValues(std::size_t count, int values, std::mt19937_64 & generator)
{
  std::vector<TBits> pixels(count);
  for (auto & pixel : pixels)
  {
    if (values < 0)
    {
      pixel = static_cast<TBits>((generator() % (count / 100) + 100) << 20 | generator() % 1000);
      continue;
    }
    pixel = static_cast<TBits>(values == 0 ? generator() : 32000 + generator() % static_cast<std::uint64_t>(values));
    // Half of the wide ones far from the others, whatever is between.
    pixel = sizeof(TBits) > 2 && values > 1 && generator() % 2 == 0 ? static_cast<TBits>(pixel << 12) : pixel;
  }
  return pixels;
}

/** The first and the last of the packed ranks that each is unordered with, at most so many others. */
std::pair<std::vector<std::size_t>, std::vector<std::size_t>>
FindUnordered(std::size_t count, const std::uint32_t * unordered, int most)
{
  std::vector<std::size_t> first(count);
  std::vector<std::size_t> last(count);
  for (std::size_t i = 0; i < count; ++i)
  {
    const bool isMarked = unordered != nullptr && i > 0 && (unordered[i / 32] >> i % 32 & 1) != 0;
    first[i] = isMarked ? first[i - 1] : i;
  }
  for (std::size_t i = count; i-- > 0;)
  {
    last[i] = i + 1 < count && first[i + 1] == first[i] ? last[i + 1] : i;
    EXPECT_LE(last[i] - first[i], static_cast<std::size_t>(most)) << "rank " << i;
  }
  return { first, last };
}

/** The packed ranks of a region's pixels, of a large one by where the places of its ranks are. */
template <CountedBy VCounted>
std::vector<int>
ListPacked(const RankShape & shape, const std::uint16_t * ranks, const std::uint32_t * places)
{
  std::vector<int> packed(ranks, ranks + shape.pixels);
  if constexpr (VCounted == CountedBy::LargeNumbers)
  {
    const int last = 32 * shape.words - 1;
    for (auto & rank : packed)
    {
      rank = rank == 0 ? 0 : last;
    }
    for (int rank = 32; rank < std::min(last, shape.pixels - shape.firstRank); ++rank)
    {
      const auto place = RankPlaces<RegionForm::Large>::Load(places, static_cast<unsigned int>(rank));
      packed[static_cast<std::size_t>(place.z * shape.region[0] + place.x)] = rank;
    }
    for (std::size_t i = 0; i < packed.size(); ++i)
    {
      EXPECT_EQ(ranks[i], packed[i] / 32) << "pixel " << i;
    }
  }
  return packed;
}

/** Sorts regions by values, the last one of which reaches beyond the image. \param most pixels that may be unordered
 * together, of those that are told apart. */
template <typename TBits, KeyMapping VMapping = KeyMapping::Integer, CountedBy VCounted = countedBy<TBits>>
void
CheckValueSort(PixelType type, int width, int height, int values, std::mt19937_64 & generator, int most = 64)
{
  using Threads = SortThreads<TBits, VCounted>;
  using Key = PixelKey<TBits, VMapping>;
  SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height) + " pixels, values " + std::to_string(values));
  const int       columns = 2 * width - width / 2;
  const auto      image = MakeValues<TBits>(static_cast<std::size_t>(columns * height), values, generator);
  KernelArguments slab{};
  slab.input = image.data();
  slab.signMask = GetSignMask(type);
  RankShape          shape{};
  const std::int32_t extent[] = { columns, 1, height, 1 };
  const std::int64_t pitch[] = { 1, columns, columns, std::int64_t{ columns } * height };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    slab.inputExtent[axis] = slab.outputExtent[axis] = extent[axis];
    slab.inputPitch[axis] = slab.outputPitch[axis] = pitch[axis];
    shape.axes[axis] = axis;
  }
  const int region[] = { width, 1, height };
  std::copy(region, region + 3, shape.tile);
  std::copy(region, region + 3, shape.region);
  shape.pixels = width * height;
  shape.sortPixels = VCounted == CountedBy::LargeNumbers ? largeSortPixels : valueSortPixels;
  shape.rankShift = 5;
  // Some ranks at both ends are not told apart.
  shape.firstRank = 64;
  shape.words = shape.pixels / 32 - 4;
  auto                       arguments = MakeRankArguments(slab, shape, GetKeyFormat(type));
  const auto                 padded = static_cast<std::size_t>(arguments.GetPaddedPixels());
  std::vector<std::uint16_t> ranks(2 * padded, 0xFFFF);
  arguments.ranks = ranks.data();
  const auto                 words = static_cast<std::size_t>(arguments.GetUnorderedWords());
  std::vector<std::uint32_t> unordered(2 * words, unwritten);
  arguments.unordered = unordered.data();
  const auto                 count = static_cast<std::size_t>(32 * shape.words);
  std::vector<std::uint32_t> places(2 * count, unwritten);
  arguments.places = places.data();
  const Threads           threads(generator);
  constexpr int           pixelBytes = sizeof(TBits);
  std::vector<WordVector> shared(static_cast<std::size_t>(GetValueSortBytes(shape, pixelBytes)) / sizeof(WordVector) +
                                 2);
  for (std::uint32_t number = 0; number < 2; ++number)
  {
    std::fill(shared.begin(), shared.end(), WordVector{ unwritten, unwritten, unwritten, unwritten });
    ValueSort<TBits, VCounted, Threads>(threads, arguments, number, shared.data()).Run();
    ASSERT_EQ(shared.back().w, unwritten);
    std::vector<TBits> keys;
    const RankBlock    block(arguments, number);
    for (int i = 0; i < shape.pixels; ++i)
    {
      const auto offset = GetRowOffset(arguments, block, i / width) + GetOffsetAlong(arguments, block, 0, i % width);
      keys.push_back(Key::FromBits(image[static_cast<std::size_t>(offset)], static_cast<TBits>(slab.signMask)));
    }
    auto order = keys;
    std::sort(order.begin(), order.end());
    const auto * marks = VCounted == CountedBy::Values ? nullptr : unordered.data() + number * words;
    const auto [first, last] = FindUnordered(count, marks, most);
    const auto       list = ListPacked<VCounted>(shape, ranks.data() + number * padded, places.data() + number * count);
    std::vector<int> taken(count);
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
      const int packed = list[i];
      ASSERT_LT(packed, 32 * shape.words);
      ++taken[static_cast<std::size_t>(packed)];
      if (packed >= 32 && packed < 32 * shape.words - 1)
      {
        const auto lower = first[static_cast<std::size_t>(packed)] + static_cast<std::size_t>(shape.firstRank);
        const auto upper = last[static_cast<std::size_t>(packed)] + static_cast<std::size_t>(shape.firstRank);
        ASSERT_GE(keys[static_cast<std::size_t>(i)], order[lower]) << "pixel " << i;
        ASSERT_LE(keys[static_cast<std::size_t>(i)], order[upper]) << "pixel " << i;
        // Clusters share no number, but where a border's pixels are repeated, of which samples have many.
        ASSERT_TRUE(values >= 0 || number > 0 || order[lower] >> 20 == order[upper] >> 20) << "pixel " << i;
      }
    }
    ASSERT_EQ(taken.front(), shape.firstRank + 32);
    ASSERT_TRUE(std::all_of(taken.begin() + 32, taken.end() - 1, [](int times) { return times == 1; }));
  }
}

/** Bytes of any value, or of three; or narrow clusters of values that lie far apart, beside each other or anywhere; or
 * fields of two kinds, at whose edges medians move far. */
std::vector<unsigned char>
MakePixels(const MedianRequest & request, int image, std::mt19937_64 & random)
{
  const auto                 bytes = PixelBytes(request.pixelType);
  const auto                 count = static_cast<std::size_t>(Volume(request.inputExtent));
  std::vector<unsigned char> pixels(count * bytes);
  for (std::size_t i = 0; i < count; ++i)
  {
    auto       value = random();
    const auto column = static_cast<std::int64_t>(i) % request.inputExtent[0];
    const auto row = static_cast<std::int64_t>(i) / request.inputExtent[0];
    if (image == 5)
    {
      value = (value >> 8 | ((column / 110 + row / 90) % 2 == 0 ? std::uint64_t{ 1 } << 60 : 0)) >> (64 - 8 * bytes);
    }
    else if (image >= 3)
    {
      const auto cluster = image == 3 ? i % static_cast<std::size_t>(request.inputExtent[0]) : random() % 1500;
      const auto apart = bytes == 1 ? 0 : 8 * bytes - 12;
      value = static_cast<std::uint64_t>(cluster) << apart | value % (bytes <= 2 ? 4 : 200);
    }
    for (std::size_t byte = 0; byte < bytes; ++byte)
    {
      const auto part = static_cast<unsigned char>(value >> 8 * byte);
      pixels[i * bytes + byte] = image == 2 ? static_cast<unsigned char>(part % 3) : part;
    }
  }
  return pixels;
}

/** Filters an image by a backend, on devices by local ranks, and says how. */
std::string
Filter(MedianRequest                      request,
       Backend                            backend,
       const std::vector<unsigned char> & image,
       std::vector<unsigned char> &       result)
{
  result.assign(static_cast<std::size_t>(Volume(request.outputExtent)) * PixelBytes(request.pixelType), 0);
  request.backend = backend;
  request.algorithm = backend == Backend::Cuda ? Algorithm::LocalRank : Algorithm::Automatic;
  request.input = image.data();
  request.output = result.data();
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * request.outputExtent[axis - 1];
  }
  return RunMedian(request).algorithm;
}

/** Filters an image by a device and the host, which must find the same. */
void
CompareWithHost(const MedianRequest & request, const std::vector<unsigned char> & pixels)
{
  std::vector<unsigned char> expected;
  std::vector<unsigned char> found;
  Filter(request, Backend::Cpu, pixels, expected);
  const auto how = Filter(request, Backend::Cuda, pixels, found);
  EXPECT_TRUE(found == expected) << ToString(request.pixelType) << ", radius " << request.radius[0] << "x"
                                 << request.radius[1] << ", rank " << request.rank << ", " << how;
}

} // namespace

TEST(CudaMedianRankThreshold, Keys16) { CheckWindows<std::uint16_t, KeyMapping::Integer>(PixelType::Int16); }

TEST(CudaMedianRankThreshold, Keys32) { CheckWindows<std::uint32_t, KeyMapping::Float>(PixelType::Float32); }

TEST(CudaMedianRankThreshold, Keys64) { CheckWindows<std::uint64_t, KeyMapping::Float>(PixelType::Float64); }

TEST(CudaMedianRankThreshold, Footprints8) { CheckFootprints<std::uint8_t, KeyMapping::Integer>(PixelType::Int8); }

TEST(CudaMedianRankThreshold, Footprints16) { CheckFootprints<std::uint16_t, KeyMapping::Integer>(PixelType::Int16); }

TEST(CudaMedianRankThreshold, Footprints32) { CheckFootprints<std::uint32_t, KeyMapping::Float>(PixelType::Float32); }

TEST(CudaMedianRankThreshold, Footprints64) { CheckFootprints<std::uint64_t, KeyMapping::Float>(PixelType::Float64); }

TEST(CudaMedianRankThreshold, OtherPixelsHaveNone)
{
  RankShape shape{};
  EXPECT_FALSE(FindThresholdShape(Extent{ { 25, 25, 0, 0 } }, 1, shape, GetH200Traits()));
  EXPECT_FALSE(FindThresholdShape(Extent{ { 4, 4, 4, 0 } }, 2, shape, GetH200Traits()));
  EXPECT_FALSE(FindThresholdShape(Extent{ { 0, 30, 30, 0 } }, 2, shape, GetH200Traits())) << "not along the rows";
  // Where a block has too little memory for a counter of each value, buckets sort.
  auto traits = GetH200Traits();
  traits.blockSharedBytes = 99 * 1024;
  ASSERT_TRUE(FindThresholdShape(Extent{ { 25, 25, 0, 0 } }, 2, shape, traits));
  EXPECT_FALSE(IsSortedByValues(shape));
  EXPECT_LE(shape.sharedBytes, traits.blockSharedBytes);
}

TEST(CudaMedianRankThreshold, AreChosenWhereTheyWereFaster)
{
  const auto keeps = [](const Extent & radius, int pixelBytes) {
    RankShape shape{};
    EXPECT_TRUE(FindRankShape(radius, pixelBytes, shape, GetH200Traits()));
    return KeepsThresholds(shape);
  };
  const auto isLarge = [](const Extent & radius, int pixelBytes) {
    RankShape shape{};
    EXPECT_TRUE(FindRankShape(radius, pixelBytes, shape, GetH200Traits()));
    return IsLargeRegion(shape);
  };
  EXPECT_FALSE(isLarge({ { 105, 105, 0, 0 } }, 2));
  EXPECT_TRUE(keeps({ { 22, 22, 0, 0 } }, 2));
  EXPECT_FALSE(keeps({ { 21, 22, 0, 0 } }, 2));
  EXPECT_TRUE(keeps({ { 75, 75, 0, 0 } }, 2));
  EXPECT_TRUE(keeps({ { 105, 105, 0, 0 } }, 2));
  EXPECT_TRUE(keeps({ { 20, 20, 0, 0 } }, 4));
  EXPECT_FALSE(keeps({ { 19, 20, 0, 0 } }, 4)) << "slower on scans";
  EXPECT_TRUE(keeps({ { 22, 22, 0, 0 } }, 8));
  EXPECT_FALSE(keeps({ { 21, 22, 0, 0 } }, 8)) << "slower on scans";
  for (const int pixelBytes : { 4, 8 })
  {
    EXPECT_TRUE(keeps({ { 30, 30, 0, 0 } }, pixelBytes));
    EXPECT_TRUE(keeps({ { 90, 90, 0, 0 } }, pixelBytes));
    EXPECT_FALSE(isLarge({ { 90, 90, 0, 0 } }, pixelBytes));
    EXPECT_TRUE(isLarge({ { 91, 91, 0, 0 } }, pixelBytes));
  }
  for (const int pixelBytes : { 2, 4, 8 })
  {
    EXPECT_TRUE(keeps({ { 29, 19, 0, 0 } }, pixelBytes)) << "59x39";
    EXPECT_TRUE(keeps({ { 24, 21, 0, 0 } }, pixelBytes)) << "49x43";
    EXPECT_EQ(keeps({ { 24, 14, 0, 0 } }, pixelBytes), pixelBytes == 4) << "49x29";
    EXPECT_FALSE(keeps({ { 10, 49, 0, 0 } }, pixelBytes)) << "21x99";
  }
  EXPECT_FALSE(keeps({ { 25, 25, 0, 0 } }, 1)) << "a box of 8 bits";
  EXPECT_FALSE(keeps({ { 7, 7, 7, 0 } }, 2));
  for (const int pixelBytes : { 2, 4, 8 })
  {
    RankShape shape{};
    EXPECT_TRUE(isLarge({ { 106, 106, 0, 0 } }, pixelBytes));
    ASSERT_TRUE(FindRankShape(Extent{ { 200, 200, 0, 0 } }, pixelBytes, shape, GetH200Traits()));
    EXPECT_TRUE(IsLargeRegion(shape));
    // Regions of so large windows have few outputs: histograms are faster.
    EXPECT_FALSE(IsThresholdFaster(Extent{ { 201, 201, 0, 0 } }, pixelBytes));
    EXPECT_FALSE(IsThresholdFaster(Extent{ { 75, 160, 0, 0 } }, pixelBytes)) << "a long window, not measured";
    EXPECT_TRUE(IsThresholdFaster(Extent{ { 120, 200, 0, 0 } }, pixelBytes));
    // A multiprocessor sorts a large region alone.
    EXPECT_TRUE(LeavesDeviceIdle(shape, { { 512, 512, 1, 1 } }, GetH200Traits()));
    EXPECT_FALSE(LeavesDeviceIdle(shape, { { 512, 512, 9, 1 } }, GetH200Traits()));
  }
  RankShape small{};
  ASSERT_TRUE(FindThresholdShape(Extent{ { 25, 25, 0, 0 } }, 2, small, GetH200Traits()));
  EXPECT_FALSE(LeavesDeviceIdle(small, { { 32, 32, 1, 1 } }, GetH200Traits()));
}

TEST(CudaMedianRankThreshold, FootprintsAreChosenWhereTheyWereFaster)
{
  for (const int pixelBytes : { 1, 2, 4, 8 })
  {
    const auto findDisk = [&](double radius) {
      RankShape    shape{};
      const Window window(Footprint::MakeEllipsoid({ { radius, radius, 0, 0 } }), -1);
      EXPECT_TRUE(FindRankShape(window, pixelBytes, shape, GetH200Traits()));
      return shape;
    };
    EXPECT_FALSE(KeepsThresholds(findDisk(15)));
    EXPECT_FALSE(KeepsThresholds(findDisk(21)));
    EXPECT_EQ(KeepsThresholds(findDisk(24)), pixelBytes == 4);
    EXPECT_EQ(KeepsThresholds(findDisk(25)), pixelBytes > 1);
    EXPECT_TRUE(KeepsThresholds(findDisk(30)));
    EXPECT_TRUE(KeepsThresholds(findDisk(90)));
    EXPECT_FALSE(IsLargeRegion(findDisk(90)));
    EXPECT_TRUE(IsLargeRegion(findDisk(92)));
    EXPECT_TRUE(IsLargeRegion(findDisk(200)));
    const auto findBall = [&](double radius) {
      RankShape    shape{};
      const Window window(Footprint::MakeEllipsoid({ { radius, radius, radius, 0 } }), -1);
      EXPECT_TRUE(FindRankShape(window, pixelBytes, shape, GetH200Traits()));
      return shape;
    };
    EXPECT_FALSE(KeepsThresholds(findBall(7)));
    EXPECT_EQ(KeepsThresholds(findBall(8)), pixelBytes > 2);
    EXPECT_EQ(KeepsThresholds(findBall(9)), pixelBytes > 1) << "8 bits are slower on scans";
    EXPECT_EQ(GetRegionForm(findBall(10)), RegionForm::Solid);
    EXPECT_EQ(GetRegionForm(findBall(28)), RegionForm::Solid);
    RankShape  shape{};
    const auto find = [&](const Footprint * footprint) {
      return FindRankShape(Window(footprint, -1), pixelBytes, shape, GetH200Traits());
    };
    // What has no counters keeps a threshold, unless it has few pixels of its box.
    EXPECT_TRUE(find(Footprint::MakeEllipsoid({ { 40, 40, 3, 0 } })) && KeepsThresholds(shape));
    EXPECT_TRUE(find(Footprint::MakeEllipsoid({ { 15, 300, 0, 0 } })) && KeepsThresholds(shape));
    EXPECT_FALSE(find(Footprint::MakeCross({ { 20, 20, 20, 0 } })));
  }
}

/** Filters hard images by windows whose regions are sorted by values. */
template <typename TBits, KeyMapping VMapping>
void
CheckHardImages(PixelType type, int ways)
{
  for (const Extent & radius : { Extent{ { 9, 9, 0, 0 } }, Extent{ { 20, 17, 0, 0 } }, Extent{ { 34, 48, 0, 0 } } })
  {
    RankShape shape{};
    ASSERT_TRUE(FindThresholdShape(radius, sizeof(TBits), shape, GetH200Traits()));
    // Wide pixels share the code, and large windows take their time.
    const bool isWide = GetRegionForm(shape) == RegionForm::Wide;
    if (isWide && sizeof(TBits) > 2)
    {
      continue;
    }
    EXPECT_TRUE(sizeof(TBits) > 2 || isWide == (radius[0] > 20));
    for (auto & image : cudamediantest::MakeHardImages<TBits>())
    {
      for (int way = 3 - ways; way < 3; ++way)
      {
        for (const int sort : { valueSortPixels, largeSortPixels })
        {
          cudamediantest::CheckImage<TBits, VMapping>(
            image, radius, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
              RunThresholds<TBits, VMapping>(arguments, SortBy(shape, sort, sizeof(TBits)), way);
            });
        }
      }
    }
  }
}

TEST(CudaMedianRankThreshold, HardImages)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckHardImages<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16, 1);
  CheckHardImages<std::uint32_t, KeyMapping::Integer>(PixelType::UInt32, 2);
  CheckHardImages<std::uint64_t, KeyMapping::Float>(PixelType::Float64, 2);
}

TEST(CudaMedianRankThreshold, SortByValues)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const auto type : { PixelType::UInt16, PixelType::Int16 })
  {
    for (const int values : { 0, 1, 5, 16000 })
    {
      CheckValueSort<std::uint16_t>(type, 138, 202, values, generator);
    }
  }
  for (const auto type : { PixelType::UInt8, PixelType::Int8 })
  {
    for (const int values : { 0, 1, 5 })
    {
      CheckValueSort<std::uint8_t>(type, 138, 202, values, generator);
    }
  }
  CheckValueSort<std::uint8_t>(PixelType::UInt8, 255, 257, 1, generator);
  // As many pixels as 16 bits number, and rows that are no multiple of a warp.
  CheckValueSort<std::uint16_t>(PixelType::UInt16, 255, 257, 0, generator);
  CheckValueSort<std::uint16_t>(PixelType::UInt16, 255, 257, 1, generator);
  CheckValueSort<std::uint16_t>(PixelType::UInt16, 34, 33, 0, generator);
}

// Wide pixels are counted by numbers that a sample gives them. However they lie, few that differ share a number.
TEST(CudaMedianRankThreshold, SortByQuantiles)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const int values : { 0, 1, 5, 3000, 1 << 20 })
  {
    // Values that many pixels have are in the sample.
    const int most = values == 3000 ? 400 : 64;
    CheckValueSort<std::uint32_t, KeyMapping::Float>(PixelType::Float32, 138, 202, values, generator, most);
    CheckValueSort<std::uint32_t>(PixelType::Int32, 138, 202, values, generator, most);
    CheckValueSort<std::uint64_t, KeyMapping::Float>(PixelType::Float64, 138, 202, values, generator, most);
    CheckValueSort<std::uint64_t>(PixelType::UInt64, 138, 202, values, generator, most);
  }
  CheckValueSort<std::uint32_t>(PixelType::UInt32, 138, 202, -1, generator, 150);
  CheckValueSort<std::uint64_t>(PixelType::UInt64, 255, 257, -1, generator, 150);
  CheckValueSort<std::uint32_t, KeyMapping::Float>(PixelType::Float32, 255, 257, 0, generator);
  CheckValueSort<std::uint32_t, KeyMapping::Float>(PixelType::Float32, 255, 257, 1, generator);
  CheckValueSort<std::uint32_t, KeyMapping::Float>(PixelType::Float32, 34, 33, 0, generator);
}

// Regions of more pixels than 16 bits number have half as many numbers, for all pixels.
TEST(CudaMedianRankThreshold, SortLargeRegions)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  constexpr auto  large = CountedBy::LargeNumbers;
  const auto      check = [&](int width, int height, int values, int most) {
    CheckValueSort<std::uint16_t, KeyMapping::Integer, large>(PixelType::Int16, width, height, values, generator, most);
    CheckValueSort<std::uint32_t, KeyMapping::Float, large>(PixelType::Float32, width, height, values, generator, most);
    CheckValueSort<std::uint64_t, KeyMapping::Integer, large>(
      PixelType::UInt64, width, height, values, generator, most);
  };
  for (const int values : { 0, 1, 5, 16000 })
  {
    check(138, 202, values, 400);
  }
  check(534, 530, 0, 100);
  check(586, 586, 1, 0);
  CheckValueSort<std::uint32_t, KeyMapping::Integer, large>(PixelType::UInt32, 587, 586, -1, generator, 400);
  for (const int values : { 0, 1, 5 })
  {
    CheckValueSort<std::uint8_t, KeyMapping::Integer, large>(PixelType::Int8, 534, 530, values, generator, 400);
  }
}

/** Filters an image by windows that the policy has large regions for. */
template <typename TBits, KeyMapping VMapping>
void
CheckLargeWindow(PixelType type, const Extent & radius)
{
  RankShape shape{};
  ASSERT_TRUE(FindThresholdShape(radius, sizeof(TBits), shape, GetH200Traits()));
  ASSERT_TRUE(IsLargeRegion(shape));
  ASSERT_GT(shape.pixels, valueSortPixels);
  CheckSlabs<TBits, VMapping>(
    { { 70, 13, 1, 1 } }, radius, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
      RunThresholds<TBits, VMapping>(arguments, shape, 2);
    });
}

TEST(CudaMedianRankThreshold, LargeFootprints)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto * footprint = Footprint::MakeEllipsoid({ { 130, 121, 0, 0 } });
  const auto   check = [&](auto bits, auto mapping, PixelType type) {
    using Bits = decltype(bits);
    RankShape shape{};
    ASSERT_TRUE(FindThresholdShape(Window(footprint, -1), sizeof(Bits), shape, GetH200Traits()));
    ASSERT_TRUE(IsLargeRegion(shape));
    ASSERT_GT(shape.pixels, valueSortPixels);
    const auto lists = MakeRankLists(*footprint, shape);
    CheckSlabs<Bits, mapping.value>(
      { { 70, 13, 1, 1 } },
      Window(footprint, -1),
      type,
      std::size_t{ 1 } << 30,
      [&](const KernelArguments & arguments) { RunThresholds<Bits, mapping.value>(arguments, shape, 2, lists); });
  };
  using Integer = std::integral_constant<KeyMapping, KeyMapping::Integer>;
  using Float = std::integral_constant<KeyMapping, KeyMapping::Float>;
  check(std::uint8_t{}, Integer(), PixelType::UInt8);
  check(std::uint32_t{}, Float(), PixelType::Float32);
}

/** Filters an image by a footprint along three axes, which the policy has regions for. */
template <typename TBits, KeyMapping VMapping>
void
CheckSolid(PixelType type, const Footprint & footprint, std::int64_t rank, const Extent & size, std::int64_t way)
{
  SCOPED_TRACE(footprint.Describe() + ", rank " + std::to_string(rank));
  const Window window(&footprint, rank);
  RankShape    shape{};
  ASSERT_TRUE(FindThresholdShape(window, sizeof(TBits), shape, GetH200Traits()));
  ASSERT_EQ(GetRegionForm(shape), RegionForm::Solid);
  const auto lists = MakeRankLists(footprint, shape);
  CheckSlabs<TBits, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
    RunThresholds<TBits, VMapping>(arguments, shape, way, lists);
  });
}

TEST(CudaMedianRankThreshold, SolidFootprints)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  const auto *    ball = Footprint::MakeEllipsoid({ { 4, 4, 4, 0 } });
  const auto *    ellipsoid = Footprint::MakeEllipsoid({ { 3, 5, 0, 4 } });
  CheckSolid<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8, *ball, -1, { { 35, 9, 7, 1 } }, 2);
  CheckSolid<std::uint16_t, KeyMapping::Integer>(PixelType::Int16, *ellipsoid, -1, { { 35, 9, 2, 7 } }, 1);
  CheckSolid<std::uint32_t, KeyMapping::Float>(PixelType::Float32, *ball, 17, { { 9, 35, 40, 1 } }, 1);
  const auto * any = cudamediantest::DrawFootprint({ { 2, 4, 3, 0 } }, random);
  CheckSolid<std::uint64_t, KeyMapping::Float>(PixelType::Float64, *any, -1, { { 9, 35, 7, 1 } }, 2);
}

TEST(CudaMedianRankThreshold, LargeWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckLargeWindow<std::uint16_t, KeyMapping::Integer>(PixelType::Int16, { { 150, 150, 0, 0 } });
  CheckLargeWindow<std::uint32_t, KeyMapping::Float>(PixelType::Float32, { { 40, 270, 0, 0 } });
  CheckLargeWindow<std::uint64_t, KeyMapping::Float>(PixelType::Float64, { { 200, 105, 0, 0 } });
}

// In slabs too, of medians and of other ranks, and windows of even size.
TEST(CudaMedianRankThreshold, DevicesFindWhatTheHostFinds)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto type : { PixelType::UInt16,
                           PixelType::Int16,
                           PixelType::Float32,
                           PixelType::Int32,
                           PixelType::UInt32,
                           PixelType::Float64,
                           PixelType::Int64 })
  {
    // The first three count the ranks of their windows, the others keep thresholds.
    for (const Extent & radius : { Extent{ { 10, 10, 0, 0 } },
                                   Extent{ { 15, 15, 0, 0 } },
                                   Extent{ { 5, 6, 2, 0 } },
                                   Extent{ { 25, 25, 0, 0 } },
                                   Extent{ { 37, 37, 0, 0 } },
                                   Extent{ { 33, 41, 0, 0 } },
                                   Extent{ { 70, 70, 0, 0 } },
                                   Extent{ { 61, 105, 0, 0 } },
                                   Extent{ { 105, 105, 0, 0 } },
                                   Extent{ { 120, 200, 0, 0 } },
                                   Extent{ { 150, 150, 0, 0 } },
                                   Extent{ { 220, 120, 0, 0 } } })
    {
      RankShape shape{};
      if (!FindRankShape(radius, static_cast<int>(PixelBytes(type)), shape, GetH200Traits()))
      {
        continue; // no room for so many wide pixels
      }
      for (int image = 0; image < 6; ++image)
      {
        MedianRequest request;
        request.pixelType = type;
        request.radius = radius;
        request.inputExtent = { { 310 + static_cast<std::int64_t>(random() % 40), 207, 2, 1 } };
        request.outputOrigin = { { static_cast<std::int64_t>(random() % 20), 5, 0, 0 } };
        request.outputExtent = { { 271, 190, 2, 1 } };
        const auto ranks = static_cast<std::uint64_t>(Window(radius).CountPixels());
        request.rank = image == 1 ? static_cast<std::int64_t>(random() % std::min<std::uint64_t>(2500, ranks)) : -1;
        request.shorter[0] = image == 2 ? 1 : 0;
        request.deviceMemoryBudget = random() % 2 == 0 ? 0 : std::size_t{ 64 } << 20;
        CompareWithHost(request, MakePixels(request, image, random));
      }
    }
  }
}

// Of narrow, wide, large and solid regions, disks, balls and others.
TEST(CudaMedianRankThreshold, DevicesFindWhatTheHostFindsInFootprints)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto type : { PixelType::UInt8, PixelType::Int8, PixelType::UInt16, PixelType::Float32, PixelType::Int64 })
  {
    for (const Extent & radius : { Extent{ { 30, 30, 0, 0 } },
                                   Extent{ { 36, 45, 0, 0 } },
                                   Extent{ { 66, 40, 0, 0 } },
                                   Extent{ { 60, 60, 0, 0 } },
                                   Extent{ { 100, 100, 0, 0 } },
                                   Extent{ { 130, 110, 0, 0 } },
                                   Extent{ { 12, 12, 12, 0 } },
                                   Extent{ { 9, 14, 0, 17 } } })
    {
      std::array<double, Dimension> axes{};
      std::copy(radius.begin(), radius.end(), axes.begin());
      const auto * footprint = Footprint::MakeEllipsoid(axes);
      RankShape    shape{};
      ASSERT_TRUE(FindRankShape(Window(footprint, -1), static_cast<int>(PixelBytes(type)), shape, GetH200Traits()));
      EXPECT_TRUE(KeepsThresholds(shape));
      // On the host windows along three axes take their time.
      const bool isFlat = radius[2] == 0 && radius[3] == 0;
      for (int image = isFlat ? 0 : 1; image < 6; image += isFlat ? 1 : 2)
      {
        MedianRequest request;
        request.pixelType = type;
        request.radius = radius;
        request.footprint = footprint;
        request.inputExtent = { { 210 + static_cast<std::int64_t>(random() % 40), 167, 2, 1 } };
        request.outputOrigin = { { static_cast<std::int64_t>(random() % 20), 5, 0, 0 } };
        request.outputExtent = { { 171, radius[0] > 90 ? 40 : 150, 2, 1 } };
        if (!isFlat)
        {
          request.inputExtent = { { 110, 57, radius[2] > 0 ? 31 : 1, radius[3] > 0 ? 31 : 1 } };
          request.outputOrigin = { { 7, 5, 0, 0 } };
          request.outputExtent = { { 90, 43, request.inputExtent[2], request.inputExtent[3] } };
        }
        request.rank = image == 1 ? static_cast<std::int64_t>(random() % 2500) : -1;
        CompareWithHost(request, MakePixels(request, image, random));
      }
    }
  }
}
