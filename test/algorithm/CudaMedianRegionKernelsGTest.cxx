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
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "HistogramKernels.h"
#include "HistogramRuns.h"
#include "RankEdges.h"
#include "RankKernels.h"
#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

/** The kernels that sort regions of an image, run by the host: local ranks and sliding histograms. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckImage;
using cudamediantest::CheckSlabs;
using cudamediantest::ForEachOtherWindow;
using cudamediantest::ForEachPosition;
using cudamediantest::ForEachWindowOfRanks;
using cudamediantest::MakeHardImages;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;

/** Sorts every block's region as the device does, or takes values as they are, and slides every thread's window. */
template <typename TBits, KeyMapping VMapping, int VThreads, int VCounterBits, bool VIsFootprint, bool VHasMap>
void
RunRanked(const KernelArguments & slab, const RankShape & shape, const std::vector<std::uint32_t> & lists)
{
  auto arguments = MakeRankArguments(slab, shape, KeyFormat{});
  arguments.lists = lists.data();
  // A region's ranks, and its pixels behind them, have the room that the planner gave them.
  const int padded = arguments.GetPaddedPixels();
  ASSERT_GE(padded, shape.pixels);
  ASSERT_EQ(padded % 8, 0);
  ASSERT_TRUE(shape.scratchBytes == 0 || std::int64_t{ padded } * int{ 2 + sizeof(TBits) } <= shape.scratchBytes);
  const auto blocks = CountRankBlocks(
    shape, { { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] } });
  for (std::int64_t number = 0; number < blocks; ++number)
  {
    const RankBlock    block(arguments, number);
    const auto         mask = static_cast<TBits>(slab.signMask);
    std::vector<TBits> keys;
    for (int row = 0; row < arguments.GetRows(); ++row)
    {
      for (int column = 0; column < shape.region[0]; ++column)
      {
        const auto offset = GetRowOffset(arguments, block, row) + GetOffsetAlong(arguments, block, 0, column);
        keys.push_back(PixelKey<TBits, VMapping>::FromBits(static_cast<const TBits *>(slab.input)[offset], mask));
      }
    }
    ASSERT_EQ(keys.size(), static_cast<std::size_t>(shape.pixels));
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{ 0 });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    std::vector<std::uint16_t> ranks(keys.size());
    std::vector<TBits>         sorted(keys.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank)
    {
      if constexpr (VCounterBits == 1)
      {
        ranks[order[rank]] = PackRank(static_cast<int>(rank) - shape.firstRank, shape.rankShift, shape.words);
      }
      else
      {
        ranks[order[rank]] = PackValue<VCounterBits>(keys[order[rank]], shape.rankShift);
      }
      sorted[rank] = PixelKey<TBits, VMapping>::ToBits(keys[order[rank]], mask);
    }
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(shape.words) * VThreads);
    for (int thread = 0; thread < VThreads; ++thread)
    {
      if constexpr (VIsFootprint)
      {
        SlideRankFootprint<TBits, VThreads, VCounterBits, VHasMap>(
          arguments, block, thread, ranks.data(), bits.data(), sorted.data(), lists.data());
      }
      else
      {
        const auto slide = [&](auto hasEvenRows) {
          SlideRankWindow<TBits, VThreads, VCounterBits, decltype(hasEvenRows)::value, VHasMap>(
            arguments, block, thread, ranks.data(), bits.data(), sorted.data());
        };
        shape.window[0] % 2 == 0 ? slide(std::true_type()) : slide(std::false_type());
      }
    }
  }
}

template <typename TBits, KeyMapping VMapping, int VThreads, bool VIsFootprint>
void
RunRankedBy(const KernelArguments & slab, const RankShape & shape, const std::vector<std::uint32_t> & lists)
{
  const auto run = [&](auto hasMap) {
    constexpr bool hasRankMap = decltype(hasMap)::value;
    if constexpr (sizeof(TBits) == 1)
    {
      shape.counterBits == 10 ? RunRanked<TBits, VMapping, VThreads, 10, VIsFootprint, hasRankMap>(slab, shape, lists)
                              : RunRanked<TBits, VMapping, VThreads, 16, VIsFootprint, hasRankMap>(slab, shape, lists);
    }
    else
    {
      RunRanked<TBits, VMapping, VThreads, 1, VIsFootprint, hasRankMap>(slab, shape, lists);
    }
  };
  slab.rankMap != nullptr ? run(std::true_type()) : run(std::false_type());
}

template <typename TBits, KeyMapping VMapping, int VThreads>
void
RunAnyRanked(const KernelArguments & slab, const RankShape & shape)
{
  RunRankedBy<TBits, VMapping, VThreads, false>(slab, shape, {});
}

/** Windows of footprints: disks, balls, and any pixels, with any rank. */
template <typename TBits, KeyMapping VMapping>
void
CheckFootprints(PixelType type, std::mt19937_64 & random)
{
  std::vector<const Footprint *> footprints{ Footprint::MakeEllipsoid({ { 7, 7, 0, 0 } }),
                                             Footprint::MakeEllipsoid({ { 3, 3, 3, 0 } }),
                                             Footprint::MakeEllipsoid({ { 18, 17, 0, 0 } }),
                                             Footprint::MakeCross({ { 9, 4, 0, 0 } }) };
  for (const Extent & radius :
       { Extent{ { 3, 4, 0, 0 } }, Extent{ { 2, 1, 2, 0 } }, Extent{ { 0, 3, 0, 2 } }, Extent{ { 6, 0, 0, 0 } } })
  {
    footprints.push_back(cudamediantest::DrawFootprint(radius, random));
  }
  for (const auto * footprint : footprints)
  {
    for (const auto rank :
         { std::int64_t{ -1 },
           static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(footprint->CountValues())) })
    {
      Window window(footprint, rank);
      window.ranks =
        std::min<std::int64_t>(static_cast<std::int64_t>(random() % 6) + 1, window.CountPixels() - window.rank);
      RankShape shape{};
      ASSERT_TRUE(FindCounterShape(window, sizeof(TBits), shape, GetH200Traits())) << footprint->Describe();
      const auto lists = MakeRankLists(*footprint, shape);
      for (const Extent & size : { Extent{ { 3, 2, 1, 1 } }, Extent{ { 67, 41, 1, 1 } }, Extent{ { 13, 11, 7, 2 } } })
      {
        CheckSlabs<TBits, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
          shape.threads == 32 ? RunRankedBy<TBits, VMapping, 32, true>(arguments, shape, lists)
                              : RunRankedBy<TBits, VMapping, 64, true>(arguments, shape, lists);
        });
      }
    }
  }
}

template <typename TBits, KeyMapping VMapping>
void
CheckRanked(PixelType type, std::size_t (&threads)[2])
{
  const std::vector<Extent> radii{ { { 9, 9, 0, 0 } },   { { 2, 11, 0, 0 } }, { { 12, 1, 0, 0 } }, { { 3, 3, 3, 0 } },
                                   { { 0, 4, 2, 0 } },   { { 1, 0, 5, 1 } },  { { 0, 0, 17, 0 } }, { { 0, 0, 0, 0 } },
                                   { { 16, 16, 0, 0 } }, { { 6, 1, 5, 0 } },  { { 13, 7, 0, 0 } } };
  const std::vector<Extent> sizes{ { { 1, 1, 1, 1 } }, { { 3, 2, 1, 1 } }, { { 67, 41, 1, 1 } }, { { 13, 11, 7, 2 } } };
  for (const auto & radius : radii)
  {
    RankShape shape{};
    ASSERT_TRUE(FindCounterShape(radius, sizeof(TBits), shape, GetH200Traits()));
    ++threads[shape.threads / 64];
    for (const auto & size : sizes)
    {
      for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 16000 } })
      {
        CheckSlabs<TBits, VMapping>(size, radius, type, budget, [&](const KernelArguments & arguments) {
          shape.threads == 32 ? RunAnyRanked<TBits, VMapping, 32>(arguments, shape)
                              : RunAnyRanked<TBits, VMapping, 64>(arguments, shape);
        });
      }
    }
  }
}

/** The same for ranks whose words lie at one end of a region's, and for maps of ranks. */
template <typename TBits, KeyMapping VMapping>
void
CheckOtherRanks(PixelType type)
{
  const std::vector<Extent> radii{ { { 9, 9, 0, 0 } }, { { 2, 11, 0, 0 } }, { { 3, 3, 3, 0 } },
                                   { { 1, 0, 5, 1 } }, { { 0, 0, 17, 0 } }, { { 16, 16, 0, 0 } } };
  for (const auto & radius : radii)
  {
    const auto check = [&](const Window & window) {
      RankShape shape{};
      if (!FindCounterShape(window, sizeof(TBits), shape, GetH200Traits()))
      {
        // A block has no room for all the ranks of a large window.
        ASSERT_GT(window.ranks, 1000);
        return;
      }
      for (const Extent & size : { Extent{ { 3, 2, 1, 1 } }, Extent{ { 67, 41, 1, 1 } }, Extent{ { 13, 11, 7, 2 } } })
      {
        CheckSlabs<TBits, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
          shape.threads == 32 ? RunAnyRanked<TBits, VMapping, 32>(arguments, shape)
                              : RunAnyRanked<TBits, VMapping, 64>(arguments, shape);
        });
      }
    };
    ForEachOtherWindow(radius, check);
    ForEachWindowOfRanks(radius, check);
  }
}

/** A warp whose lanes are a loop: see HistogramKernels.h. */
struct LoopedWarp
{
  template <typename T>
  struct Value
  {
    T lanes[32];

    T &
    operator[](int lane)
    {
      return lanes[lane];
    }
    const T &
    operator[](int lane) const
    {
      return lanes[lane];
    }
  };

  template <typename TFunction>
  void
  ForEachLane(const TFunction & function) const
  {
    for (int lane = 0; lane < 32; ++lane)
    {
      function(lane);
    }
  }
  static std::uint32_t
  Sum(const Value<std::uint32_t> & value)
  {
    return std::accumulate(value.lanes, value.lanes + 32, std::uint32_t{ 0 });
  }
  static Value<std::uint32_t>
  Scan(Value<std::uint32_t> value)
  {
    std::partial_sum(value.lanes, value.lanes + 32, value.lanes);
    return value;
  }
  static std::uint32_t
  Get(const Value<std::uint32_t> & value, int lane)
  {
    EXPECT_LT(static_cast<unsigned int>(lane), 32U);
    return value[lane & 31];
  }
  static std::uint32_t
  Ballot(const Value<bool> & value)
  {
    std::uint32_t bits = 0;
    for (int lane = 0; lane < 32; ++lane)
    {
      bits |= static_cast<std::uint32_t>(value[lane]) << lane;
    }
    return bits;
  }
  static Value<std::uint32_t>
  Exchange(const Value<std::uint32_t> & value)
  {
    Value<std::uint32_t> exchanged{};
    for (int lane = 0; lane < 32; ++lane)
    {
      for (int bit = 0; bit < 32; ++bit)
      {
        exchanged[bit] |= (value[lane] >> bit & 1) << lane;
      }
    }
    return exchanged;
  }
  static int
  CountBits(std::uint32_t word)
  {
    return static_cast<int>(std::bitset<32>(word).count());
  }
  static void
  Synchronize()
  {}
};

/** Memory that one thread has: see ByteHistogramColumns. */
struct PlainMemory
{
  static std::uint32_t
  Load(const std::uint32_t * word)
  {
    return *word;
  }
  static void
  Store(std::uint32_t * word, std::uint32_t value)
  {
    *word = value;
  }
  static void
  AddTo(std::uint32_t * word, std::uint32_t value)
  {
    *word += value;
  }
};

/** Runs every block of a launch, with its threads and warps in turns between the barriers. */
template <BinSource VSource, int VColumnBits, typename TCounter, bool VHasMap>
void
RunHistogramBlocks(const HistogramArguments & arguments, std::int64_t regions)
{
  using Block = HistogramBlock<VSource, VColumnBits, TCounter, PlainMemory, VHasMap>;
  const auto &     shape = arguments.shape;
  const LoopedWarp warp;
  for (std::int64_t number = 0; number < regions * shape.CountBlocks(); ++number)
  {
    std::vector<std::uint32_t>         columns(static_cast<std::size_t>(shape.GetColumnsBytes() / 4), 0xDEADBEEFU);
    const Block                        block(arguments, number, columns.data());
    std::vector<int>                   quads(static_cast<std::size_t>(shape.GetThreads() / 32), Block::FirstQuad);
    std::vector<typename Block::Moves> moves;
    for (int row = 0; row < block.GetRows(); ++row)
    {
      for (int thread = 0; thread < shape.GetThreads(); ++thread)
      {
        if (row == 0)
        {
          block.FillColumns(thread);
          moves.push_back(block.LoadFirstMoves(thread));
          continue;
        }
        auto & own = moves[static_cast<std::size_t>(thread)];
        block.MoveColumns(thread, own);
        block.LoadNextMoves(thread, row + 1, own);
      }
      for (std::size_t w = 0; w < quads.size(); ++w)
      {
        quads[w] = block.FindRow(warp, static_cast<int>(w), row, quads[w]);
      }
    }
  }
}

template <BinSource VSource, int VColumnBits, typename TCounter>
void
RunHistogramBlocksBy(const HistogramArguments & arguments, std::int64_t regions)
{
  arguments.slab.rankMap != nullptr ? RunHistogramBlocks<VSource, VColumnBits, TCounter, true>(arguments, regions)
                                    : RunHistogramBlocks<VSource, VColumnBits, TCounter, false>(arguments, regions);
}

template <BinSource VSource, int VColumnBits>
void
RunHistogramBlocksBy(const HistogramArguments & arguments, std::int64_t regions)
{
  arguments.shape.counterBytes == 2 ? RunHistogramBlocksBy<VSource, VColumnBits, std::uint16_t>(arguments, regions)
                                    : RunHistogramBlocksBy<VSource, VColumnBits, std::uint32_t>(arguments, regions);
}

/** Sorts the regions of a launch as the device does, and runs its blocks. */
template <typename TBits>
void
RunHistogramLaunch(HistogramArguments arguments, std::int64_t regions)
{
  const auto &               shape = arguments.shape;
  const auto                 count = static_cast<std::size_t>(regions * shape.pixels);
  std::vector<TBits>         keys(count);
  std::vector<std::uint32_t> positions(count);
  std::vector<std::uint32_t> sortedPositions(count + histogramRunPixels);
  std::vector<std::uint8_t>  bins(count);
  if constexpr (sizeof(TBits) > 1)
  {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{ 0 });
    for (int number = 0; number < regions; ++number)
    {
      const HistogramRegion region(arguments, arguments.firstRegion + number);
      for (int i = 0; i < 32 * shape.region[1] * shape.region[2]; ++i)
      {
        const auto row = FindRegionRow(arguments, region, number, i / 32);
        ListRegionRow(arguments, region, row, i % 32, 32, keys.data(), positions.data());
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return positions[a] >> shape.positionBits[2] < positions[b] >> shape.positionBits[2];
    });
    for (std::size_t i = 0; i < count; ++i)
    {
      sortedPositions[i] = positions[order[i]];
    }
    for (std::int64_t region = 0; region < regions * shape.pixels; region += shape.pixels)
    {
      for (int i = 0; i < 96; ++i)
      {
        ForEachBinned(shape, i / 32, 3, i % 32, [&](int rank, std::uint8_t bin) {
          const auto place = static_cast<std::size_t>(region + rank);
          bins[static_cast<std::size_t>(region + GetPixelNumber(shape, sortedPositions[place]))] = bin;
        });
      }
    }
  }
  arguments.bins = bins.data();
  arguments.positions = sortedPositions.data();
  std::vector<std::uint32_t> found(static_cast<std::size_t>(regions * shape.CountOutputs()), 0xDEADBEEFU);
  arguments.found = found.data();
  constexpr auto source = sizeof(TBits) == 1 ? BinSource::Pixels : BinSource::SortedRegion;
  const auto     run = shape.columnBits == 8    ? RunHistogramBlocksBy<source, 8>
                       : shape.columnBits == 10 ? RunHistogramBlocksBy<source, 10>
                                                : RunHistogramBlocksBy<source, 16>;
  run(arguments, regions);
  if (sizeof(TBits) > 1)
  {
    const LoopedWarp warp;
    for (int region = 0; region < regions; ++region)
    {
      for (int number = 0; number < shape.CountOutputs() / (32 * histogramRunRows); ++number)
      {
        HistogramRunStorage storage;
        std::memset(&storage, 0xDE, sizeof(storage));
        HistogramRuns<LoopedWarp>(warp, arguments, region, number, storage).Run();
      }
    }
  }
}

template <typename TBits>
void
RunHistograms(const KernelArguments & slab, const HistogramShape & shape, KeyFormat keyFormat)
{
  HistogramArguments arguments{};
  arguments.slab = slab;
  arguments.shape = shape;
  arguments.keyFormat = keyFormat;
  const auto regions = CountHistogramRegions(
    shape, { { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] } });
  constexpr std::int64_t batch = 3;
  for (; arguments.firstRegion < regions; arguments.firstRegion += batch)
  {
    RunHistogramLaunch<TBits>(arguments, std::min(batch, regions - arguments.firstRegion));
  }
}

/** A shape with the smallest regions that have several blocks along each axis, so that small images have several. */
template <typename TBits>
HistogramShape
FindSmallHistogramShape(const Window & window, const DeviceTraits & traits = GetH200Traits())
{
  HistogramShape shape{};
  EXPECT_TRUE(FindHistogramShape(window, sizeof(TBits), shape, traits));
  if (sizeof(TBits) > 1)
  {
    const int depth = shape.window[2] > 1 ? 3 : 1;
    EXPECT_TRUE(SetHistogramTile({ { shape.width, 2 * shape.rows, depth } }, shape));
  }
  return shape;
}

template <typename TBits, KeyMapping VMapping>
void
CheckHistograms(PixelType type)
{
  const std::vector<std::pair<Extent, Extent>> cases{
    { { { 1, 1, 1, 1 } }, { { 9, 9, 0, 0 } } },     { { { 3, 2, 1, 1 } }, { { 9, 9, 0, 0 } } },
    { { { 139, 45, 1, 1 } }, { { 2, 3, 0, 0 } } },  { { { 67, 41, 1, 1 } }, { { 9, 9, 0, 0 } } },
    { { { 41, 37, 1, 1 } }, { { 0, 4, 0, 0 } } },   { { { 41, 37, 1, 1 } }, { { 3, 0, 0, 0 } } },
    { { { 13, 19, 1, 1 } }, { { 1, 130, 0, 0 } } }, { { { 3, 4, 1, 1 } }, { { 140, 120, 0, 0 } } },
    { { { 2, 3, 1, 1 } }, { { 130, 130, 0, 0 } } }, { { { 37, 23, 5, 2 } }, { { 2, 1, 3, 0 } } },
    { { { 21, 17, 7, 1 } }, { { 4, 8, 8, 0 } } },   { { { 5, 9, 4, 6 } }, { { 0, 2, 1, 3 } } },
    { { { 9, 7, 3, 4 } }, { { 2, 0, 0, 3 } } },     { { { 1, 5, 33, 1 } }, { { 0, 0, 5, 0 } } },
    { { { 5, 7, 1, 1 } }, { { 1, 511, 0, 0 } } },   { { { 5, 7, 1, 1 } }, { { 1, 512, 0, 0 } } }
  };
  for (const auto & [size, radius] : cases)
  {
    const auto shape = FindSmallHistogramShape<TBits>(radius);
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 20000 } })
    {
      CheckSlabs<TBits, VMapping>(size, radius, type, budget, [&](const KernelArguments & arguments) {
        RunHistograms<TBits>(arguments, shape, GetKeyFormat(type));
      });
    }
  }
}

/** Blocks that have room for nothing but the windows' histograms: columns are counted in scratch memory. */
template <typename TBits, KeyMapping VMapping>
void
CheckHistogramsInScratch(PixelType type)
{
  auto traits = GetH200Traits();
  traits.blockSharedBytes = 8 << 10;
  const std::vector<std::pair<Extent, Extent>> cases{ { { { 67, 141, 1, 1 } }, { { 9, 9, 0, 0 } } },
                                                      { { { 41, 37, 1, 1 } }, { { 0, 4, 0, 0 } } },
                                                      { { { 2, 3, 1, 1 } }, { { 130, 130, 0, 0 } } },
                                                      { { { 37, 23, 5, 2 } }, { { 2, 1, 3, 0 } } } };
  for (const auto & [size, radius] : cases)
  {
    const auto shape = FindSmallHistogramShape<TBits>(radius, traits);
    EXPECT_TRUE(shape.columnsInScratch);
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 20000 } })
    {
      CheckSlabs<TBits, VMapping>(size, radius, type, budget, [&](const KernelArguments & arguments) {
        RunHistograms<TBits>(arguments, shape, GetKeyFormat(type));
      });
    }
  }
}

template <typename TBits, KeyMapping VMapping>
void
CheckRanksOfHistograms(PixelType type)
{
  const std::vector<std::pair<Extent, Extent>> cases{ { { { 67, 41, 1, 1 } }, { { 9, 9, 0, 0 } } },
                                                      { { { 41, 37, 1, 1 } }, { { 0, 4, 0, 0 } } },
                                                      { { { 2, 3, 1, 1 } }, { { 130, 130, 0, 0 } } },
                                                      { { { 3, 4, 1, 1 } }, { { 127, 128, 0, 0 } } },
                                                      { { { 9, 7, 3, 4 } }, { { 2, 0, 0, 3 } } } };
  for (const auto & [size, radius] : cases)
  {
    const auto check = [&, &size = size](const Window & window) {
      const auto shape = FindSmallHistogramShape<TBits>(window);
      CheckSlabs<TBits, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
        RunHistograms<TBits>(arguments, shape, GetKeyFormat(type));
      });
    };
    ForEachOtherWindow(radius, check);
    ForEachWindowOfRanks(radius, check);
  }
}

/** Blocks that the policy does not choose for small windows: segments of several times 32 outputs, of
 * which all but the first know what the window before them has. */
template <typename TBits>
void
CheckSegmentsOfHistograms(PixelType type)
{
  for (const auto & [size, radius] :
       std::vector<std::pair<Extent, Extent>>{ { { { 139, 41, 1, 1 } }, { { 9, 9, 0, 0 } } },
                                               { { { 131, 9, 1, 1 } }, { { 70, 3, 0, 0 } } },
                                               { { { 99, 7, 5, 2 } }, { { 0, 1, 3, 0 } } } })
  {
    for (const auto & [width, segment] : { std::pair<int, int>{ 32, 32 }, { 64, 64 }, { 256, 64 }, { 128, 128 } })
    {
      auto shape = FindSmallHistogramShape<TBits>(radius);
      shape.width = width;
      shape.segment = segment;
      shape.rows = 4;
      EXPECT_TRUE(SetHistogramTile({ { width, shape.rows, 1 } }, shape));
      CheckSlabs<TBits, Integer>(
        size, radius, type, std::size_t{ 1 } << 30, [&, &shape = shape](const KernelArguments & arguments) {
          RunHistograms<TBits>(arguments, shape, GetKeyFormat(type));
        });
    }
  }
}

template <typename TBits, KeyMapping VMapping>
void
CheckHardHistograms(PixelType type)
{
  const Extent radius{ { 5, 4, 0, 0 } };
  const auto   shape = FindSmallHistogramShape<TBits>(radius);
  for (auto & image : MakeHardImages<TBits>())
  {
    CheckImage<TBits, VMapping>(image, radius, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
      RunHistograms<TBits>(arguments, shape, GetKeyFormat(type));
    });
  }
}

} // namespace

TEST(CudaMedianRegionKernels, LocalRanks)
{
  std::size_t threads[2] = { 0, 0 };
  CheckRanked<std::uint8_t, Integer>(PixelType::Int8, threads);
  CheckRanked<std::uint16_t, Integer>(PixelType::UInt16, threads);
  CheckRanked<std::uint32_t, Integer>(PixelType::Int32, threads);
  CheckRanked<std::uint32_t, Float>(PixelType::Float32, threads);
  CheckRanked<std::uint64_t, Float>(PixelType::Float64, threads);
  EXPECT_GT(threads[0], 0U) << "blocks of 32 threads";
  EXPECT_GT(threads[1], 0U) << "blocks of 64 threads";
}

TEST(CudaMedianRegionKernels, LocalRanksForOtherRanks)
{
  CheckOtherRanks<std::uint8_t, Integer>(PixelType::UInt8);
  CheckOtherRanks<std::uint16_t, Integer>(PixelType::Int16);
  CheckOtherRanks<std::uint32_t, Float>(PixelType::Float32);
  CheckOtherRanks<std::uint64_t, Integer>(PixelType::UInt64);
}

TEST(CudaMedianRegionKernels, LocalRanksForFootprints)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  CheckFootprints<std::uint8_t, Integer>(PixelType::Int8, random);
  CheckFootprints<std::uint16_t, Integer>(PixelType::UInt16, random);
  CheckFootprints<std::uint32_t, Float>(PixelType::Float32, random);
  CheckFootprints<std::uint64_t, Float>(PixelType::Float64, random);
}

TEST(CudaMedianRegionKernels, SlidingHistogramsForOtherRanks)
{
  CheckRanksOfHistograms<std::uint8_t, Integer>(PixelType::Int8);
  CheckRanksOfHistograms<std::uint16_t, Integer>(PixelType::UInt16);
  CheckRanksOfHistograms<std::uint32_t, Float>(PixelType::Float32);
  CheckRanksOfHistograms<std::uint64_t, Integer>(PixelType::Int64);
}
TEST(CudaMedianRegionKernels, SlidingHistograms8)
{
  CheckHistograms<std::uint8_t, Integer>(PixelType::Int8);
  CheckHardHistograms<std::uint8_t, Integer>(PixelType::UInt8);
  CheckHistogramsInScratch<std::uint8_t, Integer>(PixelType::Int8);
  CheckSegmentsOfHistograms<std::uint8_t>(PixelType::UInt8);
}
TEST(CudaMedianRegionKernels, SlidingHistograms16)
{
  CheckHistograms<std::uint16_t, Integer>(PixelType::Int16);
  CheckHardHistograms<std::uint16_t, Integer>(PixelType::UInt16);
  CheckHistogramsInScratch<std::uint16_t, Integer>(PixelType::UInt16);
  CheckSegmentsOfHistograms<std::uint16_t>(PixelType::UInt16);
}
TEST(CudaMedianRegionKernels, SlidingHistograms32)
{
  CheckHistograms<std::uint32_t, Float>(PixelType::Float32);
  CheckHardHistograms<std::uint32_t, Integer>(PixelType::Int32);
}
TEST(CudaMedianRegionKernels, SlidingHistograms64)
{
  CheckHardHistograms<std::uint64_t, Float>(PixelType::Float64);
  CheckHistogramsInScratch<std::uint64_t, Float>(PixelType::Float64);
}

template <typename TCounter>
std::uint32_t
GetCount(const QuadCounts<TCounter> & counts, int bin)
{
  return bin == 0   ? counts.template Get<0>()
         : bin == 1 ? counts.template Get<1>()
         : bin == 2 ? counts.template Get<2>()
                    : counts.template Get<3>();
}

/** Random pixels come and go in two columns; what is counted of them is what a plain histogram has. */
template <int VColumnBits, typename TCounter>
void
CheckColumns(int most, std::mt19937_64 & random)
{
  using Below = typename ByteHistogramColumns<VColumnBits, PlainMemory>::Below;
  constexpr int              columns = 33;
  std::vector<std::uint32_t> memory(64 * ByteHistogramColumns<VColumnBits, PlainMemory>::Words);
  const ByteHistogramColumns<VColumnBits, PlainMemory> histograms(memory.data(), columns);
  std::vector<std::array<unsigned, 256>>               expected(columns);
  for (const int column : { 0, 32 })
  {
    histograms.Clear(column);
    auto &    counts = expected[static_cast<std::size_t>(column)];
    const int walk = std::min(4 * most, most + 20000);
    bool      enters = true;
    unsigned  favorite = 0;
    for (int i = 0, pixels = 0; i < walk || pixels < most; ++i)
    {
      // Up to as many as there may be, most of them in one bin, and down to a quarter of them.
      enters = pixels == 0 || (pixels < most && (enters || pixels <= most / 4));
      favorite = pixels <= most / 4 ? static_cast<unsigned>(random() % 256) : favorite;
      const auto bin = random() % 16 == 0 ? static_cast<unsigned>(random() % 256) : favorite;
      if (enters || counts[bin] > 0)
      {
        histograms.Change(column, bin, enters ? 1 : -1);
        counts[bin] += enters ? 1U : ~0U;
        pixels += enters ? 1 : -1;
      }
    }
  }
  for (const int column : { 0, 32 })
  {
    const auto &  counts = expected[static_cast<std::size_t>(column)];
    std::uint32_t below = 0;
    for (int quad = 0; quad < 64; ++quad)
    {
      ASSERT_EQ(histograms.CountBelow(column, Below(static_cast<unsigned int>(quad))), below) << quad;
      const auto    four = histograms.template GetQuad<TCounter>(column, quad);
      std::uint32_t rank = 0;
      for (int bin = 0; bin < 4; ++bin)
      {
        for (unsigned i = 0; i < counts[static_cast<std::size_t>(4 * quad + bin)]; ++i, ++rank)
        {
          auto inBin = rank;
          ASSERT_EQ(four.FindBin(inBin), bin) << "quad " << quad << ", rank " << rank;
          ASSERT_EQ(inBin, i);
        }
      }
      ASSERT_EQ(four.GetSum(), rank);
      below += rank;
    }
    const auto getSum = [&](int first, int bins) {
      return std::accumulate(counts.begin() + first, counts.begin() + first + bins, 0U);
    };
    for (int group = 0; group < 16; ++group)
    {
      ASSERT_EQ(histograms.GetGroup(column, static_cast<unsigned int>(group)), getSum(16 * group, 16));
      const auto sums = histograms.template GetQuadSums<TCounter>(column, group);
      const auto groups = histograms.template GetGroups<TCounter>(column, group / 4);
      for (int i = 0; i < 4; ++i)
      {
        ASSERT_EQ(GetCount(sums, i), getSum(16 * group + 4 * i, 4)) << "group " << group << ", quad " << i;
        ASSERT_EQ(GetCount(groups, i), getSum(64 * (group / 4) + 16 * i, 16)) << "group " << group << ", " << i;
      }
    }
  }
}

TEST(CudaMedianRegionKernels, HistogramsOfColumns)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  CheckColumns<8, std::uint16_t>(255, random);
  CheckColumns<8, std::uint32_t>(255, random);
  CheckColumns<10, std::uint16_t>(1023, random);
  CheckColumns<10, std::uint32_t>(1023, random);
  CheckColumns<16, std::uint16_t>(65535, random);
  CheckColumns<16, std::uint32_t>(65535, random);
}
