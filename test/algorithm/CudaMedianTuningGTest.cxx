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
// The tables of measurements, row by row: what was measured to be fastest is what the policies choose, and the models
// are as far from it as they say. No measurement is taken here.

#include "CudaMedianTestPlans.h"
#include "DeviceProfiles.h"
#include "ExtremumTuning.h"
#include "HistogramPolicy.h"
#include "KernelPolicy.h"
#include "KernelProgram.h"
#include "MergePolicy.h"
#include "Planner.h"
#include "RankPolicy.h"
#include "RowTuning.h"
#include "TilePolicy.h"
#include "TileTuning.h"
#include "TunedPolicy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using namespace cudamedian;

const std::vector<TileTuningRow> tileTuning{
#include "TileTuning.inc"
};
const std::vector<TileTuningRow> maskedTuning{
#include "MaskedTuning.inc"
};
const std::vector<RowTuningRow> columnTuning{
#include "ColumnTuning.inc"
};
const std::vector<RowTuningRow> rowTuning{
#include "RowTuning.inc"
};
const std::vector<RatioRow> programsToOthers{
#include "HostRatios.inc"
};
const std::vector<RatioRow> histogramsToPrograms{
#include "HostRatiosToPrograms.inc"
};
const std::vector<RatioRow> histogramsToRanks{
#include "HostRatiosToRanks.inc"
};
const std::vector<RatioRow> thresholdsToHistograms{
#include "HostThresholdRatios.inc"
};

using RateTables = std::map<Algorithm, std::vector<RateRow>>;
const RateTables rateTables{ { Algorithm::TileProgram,
                               {
#include "TileRates.inc"
                               } },
                             { Algorithm::LocalRank,
                               {
#include "RankRates.inc"
                               } },
                             { Algorithm::SlidingHistogram,
                               {
#include "HistogramRates.inc"
                               } },
                             { Algorithm::MergeTiling,
                               {
#include "MergeRates.inc"
                               } } };

/** What is chosen may be so much slower than the best that was measured. */
constexpr double enough = 0.95;

using Faults = std::vector<std::string>;

Extent
GetRadius(const Extent & window)
{
  Extent radius;
  std::transform(window.begin(), window.end(), radius.begin(), [](auto pixels) { return pixels / 2; });
  return radius;
}

/** A request for images such as the rows were measured with. */
MedianRequest
MakeRequest(const Extent & window, int pixelBytes)
{
  MedianRequest request;
  request.pixelType = pixelBytes == 1   ? PixelType::UInt8
                      : pixelBytes == 2 ? PixelType::Int16
                      : pixelBytes == 4 ? PixelType::Float32
                                        : PixelType::Float64;
  request.radius = GetRadius(window);
  request.inputExtent = request.outputExtent =
    window[2] > 1 ? Extent{ { 512, 512, 256, 1 } } : Extent{ { 6720, 4480, 1, 1 } };
  return request;
}

/** The algorithm that is chosen for images such as the rows were measured with. */
Algorithm
ChooseAlgorithm(const Extent & window, int pixelBytes, Backend backend)
{
  return cudamediantest::PlanOnH200(MakeRequest(window, pixelBytes), backend, std::size_t{ 8 } << 30)
    .candidate.algorithm;
}

/** \param device whose choice it is: a row's own, or the key of another */
bool
IsTaken(const TileTuningRow & row, const std::string & device)
{
  const auto traits = GetTraits(*FindDeviceProfile(device));
  const auto policy = GetKernelPolicy(GetRadius(row.window), GetKernelKind(row.pixelBytes, 90), traits);
  return policy.tile == row.tile && policy.tiling.root == row.root && policy.tiling.division == row.division &&
         policy.phases.sharedPhases == row.phases.sharedPhases && policy.phases.firstColumn == row.phases.firstColumn &&
         policy.phases.columns == row.phases.columns && policy.lowering.sumPercent == row.sumPercent &&
         policy.lowering.excessPercent == row.excessPercent && policy.residentBlocks == row.residentBlocks &&
         policy.steps == row.steps && policy.blockX == row.blockX && policy.blockY == row.blockY;
}

/** The windows and formats of whose rows none is taken, or one that another row, of the table or told as the runner-up,
 * exceeds. */
Faults
FindTileFaults(const std::vector<TileTuningRow> & rows)
{
  Faults faults;
  for (const auto & row : rows)
  {
    double taken = 0;
    double best = 0;
    for (const auto & other : rows)
    {
      if (other.window == row.window && other.pixelBytes == row.pixelBytes && std::string(other.device) == row.device)
      {
        taken = std::max(taken, IsTaken(other, other.device) ? other.rate : 0);
        best = std::max({ best, other.rate, other.runnerUpRate });
      }
    }
    if (taken < enough * best)
    {
      faults.push_back(ToRow(row));
    }
  }
  return faults;
}

/** The errors that the model of the local ranks tells of itself. */
constexpr double rankError = 1.5;

/** The rate of an algorithm for a window and a format. Where local ranks were not measured: the lowest by their model.
 */
double
GetRate(const RateTables & tables, Algorithm algorithm, const Extent & window, int pixelBytes)
{
  for (const auto & row : tables.at(algorithm))
  {
    if (row.window == window && row.pixelBytes == pixelBytes)
    {
      return row.rate;
    }
  }
  const auto radius = GetRadius(window);
  RankShape  shape{};
  return algorithm == Algorithm::LocalRank && FindRankShape(radius, pixelBytes, shape, GetH200Traits())
           ? 1e3 / EstimateRankPicoseconds(shape, radius, pixelBytes, GetH200Traits()) / rankError
           : 0;
}

/** The rate that a plan compares. */
double
GetTypicalRate(Algorithm algorithm, double rate, const RateRow & row)
{
  return algorithm == Algorithm::SlidingHistogram ? rate / GetHistogramSpread(row.pixelBytes, row.window[2] == 1)
                                                  : rate;
}

/** The rows whose window and format are filtered by an algorithm that another one was measured to exceed. */
Faults
FindChoiceFaults(const RateTables & tables)
{
  Faults faults;
  for (const auto & [algorithm, rows] : tables)
  {
    for (const auto & row : rows)
    {
      const auto chosen = ChooseAlgorithm(row.window, row.pixelBytes, Backend::Cuda);
      const auto rate = GetTypicalRate(chosen, GetRate(tables, chosen, row.window, row.pixelBytes), row);
      if (rate < enough * GetTypicalRate(algorithm, row.rate, row))
      {
        faults.push_back(std::string(ToString(algorithm)) + " " + ToRow(row) + " for " + ToString(chosen) + " with " +
                         std::to_string(rate));
      }
    }
  }
  return faults;
}

bool
IsTaken(const RowTuningRow & row, std::size_t keyBytes)
{
  const auto policy = GetRowPolicy(GetRadius(row.window), keyBytes);
  return policy.tile == row.tile && policy.tiling.root == row.root && policy.tiling.division == row.division &&
         policy.phases.sharedPhases == row.phases.sharedPhases && policy.phases.firstColumn == row.phases.firstColumn &&
         policy.phases.columns == row.phases.columns &&
         policy.chunkOperations == (row.chunkOperations == 0 ? ~std::size_t{ 0 } : row.chunkOperations);
}

/** The quotients of rates by a model and rates measured, least and greatest. */
template <typename TEstimate>
std::pair<double, double>
CompareModel(Algorithm algorithm, const TEstimate & estimatePicoseconds)
{
  std::pair<double, double> range{ 1e9, 0 };
  for (const auto & row : rateTables.at(algorithm))
  {
    const double quotient = 1e3 / estimatePicoseconds(row) / row.rate;
    range = { std::min(range.first, quotient), std::max(range.second, quotient) };
  }
  return range;
}

/** A table's rows as they stand in its file. */
std::vector<std::string>
ReadRows(const std::string & file)
{
  std::ifstream            stream(std::string(CUDAMEDIAN_SOURCES) + "/" + file);
  std::vector<std::string> rows;
  for (std::string line; std::getline(stream, line);)
  {
    if (line.front() == '{')
    {
      rows.push_back(line);
    }
  }
  return rows;
}

template <typename TRow>
std::vector<std::string>
PrintRows(const std::vector<TRow> & rows)
{
  std::vector<std::string> texts;
  std::transform(rows.begin(), rows.end(), std::back_inserter(texts), [](const auto & row) { return ToRow(row); });
  return texts;
}

} // namespace

TEST(CudaMedianTuning, MeasuredTileProgramsAreTaken)
{
  EXPECT_FALSE(tileTuning.empty());
  EXPECT_EQ(FindTileFaults(tileTuning), Faults());
}

TEST(CudaMedianTuning, TileProgramsThatAreNotTakenAreFound)
{
  auto rows = tileTuning;
  rows[4].sumPercent += 10;
  EXPECT_EQ(FindTileFaults(rows), Faults{ ToRow(rows[4]) }) << "another policy than the one that was measured";
  rows = tileTuning;
  rows.push_back(rows[4]);
  rows.back().rate *= 1.1;
  rows.back().blockY = 2;
  EXPECT_EQ(FindTileFaults(rows), (Faults{ ToRow(rows[4]), ToRow(rows.back()) })) << "a faster one, measured later";
}

// An H200 took rows of its own that an H100's had overtaken: 5x5x3 with float reached 48.8 for 58.
TEST(CudaMedianTuning, DevicesWithOneChipTakeTheSamePrograms)
{
  for (const auto & row : tileTuning)
  {
    EXPECT_EQ(IsTaken(row, "h100"), IsTaken(row, "h200")) << ToRow(row);
  }
}

/** What a window's kernel of an H200 takes for a pixel, and its values. */
struct KernelCost
{
  double      clocks;
  std::size_t liveValues;
};

KernelCost
CountKernel(const Window & window, int pixelBytes)
{
  const auto policy = GetKernelPolicy(window, GetKernelKind(pixelBytes, 90), GetH200Traits());
  const auto cost = CountPhases(BuildKernelPhases(window, policy), policy.lowering, policy.blockX).cost;
  return { cost.clocks, cost.liveValues };
}

/** A window of even sizes along the axes of a radius, or along the first two. */
Window
MakeEven(const Extent & radius, bool isFlat)
{
  Extent shorter;
  for (std::size_t axis = 0; axis < Dimension; ++axis)
  {
    shorter[axis] = radius[axis] > 0 && (axis < 2 || !isFlat) ? 1 : 0;
  }
  Window window(radius, shorter, 0);
  window.rank = window.CountPixels() / 2;
  return window;
}

/** A window that is long along one axis shares with its neighbours along that axis. 47x3 took 1.6 times the clocks of
 * 11x13, whose pixels are as many, and 3x7x7 had no tile with more than 4 warps. */
TEST(CudaMedianTuning, LongWindowsTakeNoMoreThanRoundOnes)
{
  struct Pair
  {
    Extent window;
    Extent other; ///< with no fewer pixels, or the same in another order
    double most;
  };
  for (const int pixelBytes : { 2, 4 })
  {
    for (const auto & [window, other, most] : { Pair{ { { 23, 1, 0, 0 } }, { { 5, 6, 0, 0 } }, 1 },
                                                { { { 14, 2, 0, 0 } }, { { 3, 10, 0, 0 } }, 1 },
                                                { { { 1, 25, 0, 0 } }, { { 4, 8, 0, 0 } }, 1 },
                                                { { { 2, 21, 0, 0 } }, { { 8, 6, 0, 0 } }, 1.05 },
                                                { { { 1, 3, 3, 0 } }, { { 3, 1, 3, 0 } }, 1.1 },
                                                { { { 1, 3, 3, 0 } }, { { 3, 3, 1, 0 } }, 1.1 },
                                                { { { 1, 6, 2, 0 } }, { { 2, 1, 6, 0 } }, 1.3 } })
    {
      EXPECT_LE(CountKernel(window, pixelBytes).clocks, most * CountKernel(other, pixelBytes).clocks)
        << ToRow(Window(window).GetExtent()) << " beside " << ToRow(Window(other).GetExtent()) << ", " << pixelBytes
        << " bytes";
    }
  }
}

/** Even windows were measured at 0.87 of the next odd ones where their programs had more values, and had the blocks of
 * a search. */
TEST(CudaMedianTuning, EvenWindowsTakeNoMoreThanTheNextOddOnes)
{
  for (const int pixelBytes : { 2, 4 })
  {
    for (const Extent & radius : { Extent{ { 2, 2, 0, 0 } },
                                   Extent{ { 3, 3, 0, 0 } },
                                   Extent{ { 4, 4, 0, 0 } },
                                   Extent{ { 5, 5, 0, 0 } },
                                   Extent{ { 6, 6, 0, 0 } },
                                   Extent{ { 7, 7, 0, 0 } },
                                   Extent{ { 8, 8, 0, 0 } },
                                   Extent{ { 1, 1, 1, 0 } },
                                   Extent{ { 2, 2, 1, 0 } },
                                   Extent{ { 2, 2, 2, 0 } },
                                   Extent{ { 3, 3, 1, 0 } } })
    {
      const auto odd = CountKernel(radius, pixelBytes);
      for (const bool isFlat : { true, false })
      {
        const auto even = CountKernel(MakeEven(radius, isFlat), pixelBytes);
        const auto what = ToRow(MakeEven(radius, isFlat).GetExtent()) + ", " + std::to_string(pixelBytes) + " bytes";
        EXPECT_LE(even.clocks, odd.clocks) << what;
        EXPECT_LE(even.liveValues, odd.liveValues) << what;
      }
    }
  }
}

/** Nor is a slower algorithm chosen for an even window than for the next odd one, on any device, by the estimates. */
TEST(CudaMedianTuning, EvenWindowsAreLeftToNothingSlower)
{
  for (const auto & profile : GetDeviceProfiles())
  {
    PlanLimits limits;
    limits.budget = std::size_t{ 4 } << 30;
    limits.device = GetTraits(profile);
    for (const int pixelBytes : { 1, 2, 4, 8 })
    {
      for (const bool isDeep : { false, true })
      {
        for (std::int64_t r = 1; r <= (isDeep ? 3 : 12); ++r)
        {
          const Extent radius{ { r, r, isDeep ? r : 0, 0 } };
          auto         odd = MakeRequest(Window(radius).GetExtent(), pixelBytes);
          auto         even = odd;
          even.shorter = MakeEven(radius, false).shorter;
          const auto oddPlan = PlanMedian(odd, Backend::Cuda, limits);
          const auto evenPlan = PlanMedian(even, Backend::Cuda, limits);
          EXPECT_LE(evenPlan.candidate.seconds, 1.01 * oddPlan.candidate.seconds)
            << profile.key << ", " << ToRow(MakeEven(radius, false).GetExtent()) << ", " << pixelBytes
            << " bytes: " << ToString(evenPlan.candidate.algorithm) << " and " << ToString(oddPlan.candidate.algorithm);
        }
      }
    }
  }
}

TEST(CudaMedianTuning, MeasuredExtremesAreTaken)
{
  for (const auto & row : GetExtremumTuning())
  {
    ExtremumReach reach;
    reach.before = reach.behind = GetRadius(row.window);
    const auto   device = GetTraits(*FindDeviceProfile(row.device));
    const auto   passes = ChooseExtremumPasses(reach, row.image, row.pixelBytes, device);
    const double rate = static_cast<double>(Volume(row.image)) / passes.seconds * 1e-9;
    EXPECT_TRUE(passes.isMeasured) << ToRow(row);
    EXPECT_GE(rate, enough * row.rate) << ToRow(row);
    EXPECT_GE(row.rate, row.modelledRate) << ToRow(row);
  }
}

TEST(CudaMedianTuning, TheFastestAlgorithmIsChosen) { EXPECT_EQ(FindChoiceFaults(rateTables), Faults()); }

TEST(CudaMedianTuning, SlowerAlgorithmsThatAreChosenAreFound)
{
  auto   tables = rateTables;
  auto & row = tables.at(Algorithm::LocalRank).front();
  row.rate *= 0.1;
  EXPECT_EQ(FindChoiceFaults(tables), Faults()) << "no other was measured there";
  row = tables.at(Algorithm::LocalRank).front();
  row.window = { { 11, 11, 1, 1 } };
  row.rate = 120;
  EXPECT_EQ(FindChoiceFaults(tables).size(), 1) << "local ranks faster than a program that is chosen";
}

TEST(CudaMedianTuning, MeasuredProgramsOfTheCpuAreTaken)
{
  for (const auto & row : columnTuning)
  {
    EXPECT_TRUE(IsTaken(row, static_cast<std::size_t>(row.pixelBytes))) << ToRow(row.window);
    EXPECT_LT(row.clocks, row.runnerUpClocks) << ToRow(row.window);
  }
  for (const auto & row : rowTuning)
  {
    // Where narrow keys are filtered in columns, wider ones are filtered in these tiles.
    const bool hasColumn = std::any_of(
      columnTuning.begin(), columnTuning.end(), [&](const auto & column) { return column.window == row.window; });
    EXPECT_TRUE(IsTaken(row, hasColumn ? 4 : static_cast<std::size_t>(row.pixelBytes))) << ToRow(row.window);
    if (row.pixelBytes == 2)
    {
      EXPECT_EQ(ChooseHostTile(GetRadius(row.window)), row.tile);
    }
  }
}

TEST(CudaMedianTuning, TheFasterAlgorithmOfTheCpuIsChosen)
{
  const auto isProgramFastest = [](const RatioRow & row) {
    return IsTileProgramFastestOnHost(GetRadius(row.window), row.pixelBytes);
  };
  for (const auto & row : programsToOthers)
  {
    EXPECT_GE(isProgramFastest(row) ? row.ratio : 1 / row.ratio, enough) << ToRow(row.window) << ", " << row.pixelBytes;
  }
  for (const auto & row : histogramsToPrograms)
  {
    EXPECT_GE(isProgramFastest(row) ? 1 / row.ratio : row.ratio, enough) << ToRow(row.window);
  }
  for (const auto & row : histogramsToRanks)
  {
    EXPECT_GT(row.ratio, 1);
    EXPECT_NE(ChooseAlgorithm(row.window, row.pixelBytes, Backend::Cpu), Algorithm::LocalRank) << ToRow(row.window);
  }
  // Those that programs are faster than are not asked for.
  for (const auto & row : thresholdsToHistograms)
  {
    const auto chosen = ChooseAlgorithm(row.window, row.pixelBytes, Backend::Cpu);
    EXPECT_GE(chosen == Algorithm::SlidingHistogram ? 1 / row.ratio : row.ratio, 0.88)
      << ToRow(row.window) << ", " << row.pixelBytes << ", " << ToString(chosen);
  }
}

// Of 11x11x125 a block's region would have 570 pixels for an output, whose sorting takes four times as long as
// histograms; keys of 64 bits take longer to sort than those of 16.
TEST(CudaMedianTuning, TheCpuKeepsThresholdsWhereItSortsFewPixels)
{
  EXPECT_EQ(ChooseAlgorithm({ { 11, 11, 125, 1 } }, 2, Backend::Cpu), Algorithm::SlidingHistogram);
  EXPECT_EQ(ChooseAlgorithm({ { 25, 25, 25, 1 } }, 8, Backend::Cpu), Algorithm::SlidingHistogram);
  EXPECT_EQ(ChooseAlgorithm({ { 15, 15, 15, 1 } }, 8, Backend::Cpu), Algorithm::LocalRank);
  EXPECT_EQ(ChooseAlgorithm({ { 7, 7, 7, 7 } }, 2, Backend::Cpu), Algorithm::LocalRank);
}

// Each model's errors, as its comment tells them, over the blocks and regions that it chooses.
TEST(CudaMedianTuning, ModelsAreAsFarOffAsTheySay)
{
  const auto ranks = CompareModel(Algorithm::LocalRank, [](const RateRow & row) {
    const auto radius = GetRadius(row.window);
    RankShape  shape{};
    EXPECT_TRUE(FindRankShape(radius, row.pixelBytes, shape, GetH200Traits()));
    // Beyond 91x91 those that count bits are far behind and not taken.
    return radius[0] > 45 && !KeepsThresholds(shape)
             ? 1e3 / row.rate
             : EstimateRankPicoseconds(shape, radius, row.pixelBytes, GetH200Traits());
  });
  EXPECT_GE(ranks.first, 1 / rankError);
  EXPECT_LE(ranks.second, rankError);
  const auto histograms = CompareModel(Algorithm::SlidingHistogram, [](const RateRow & row) {
    HistogramShape shape{};
    EXPECT_TRUE(FindHistogramShape(GetRadius(row.window), row.pixelBytes, shape, GetH200Traits()));
    return EstimateHistogramPicoseconds(shape, GetH200Traits());
  });
  EXPECT_GE(histograms.first, 1 / 1.25);
  EXPECT_LE(histograms.second, 1.3);
  const auto merges = CompareModel(Algorithm::MergeTiling, [](const RateRow & row) {
    const auto request = MakeRequest(row.window, row.pixelBytes);
    MergeShape shape{};
    EXPECT_TRUE(FindMergeShape(request.radius, row.pixelBytes, request.outputExtent, mostMergeScratchBytes, shape));
    return EstimateMergePicoseconds(shape, request.outputExtent, row.pixelBytes);
  });
  EXPECT_GE(merges.first, 1 / 1.8);
  EXPECT_LE(merges.second, 1.4);
}

TEST(CudaMedianTuning, TablesStandAsTheyArePrinted)
{
  EXPECT_EQ(PrintRows(tileTuning), ReadRows("algorithm/tile/TileTuning.inc"));
  EXPECT_EQ(PrintRows(maskedTuning), ReadRows("algorithm/tile/MaskedTuning.inc"));
  EXPECT_EQ(PrintRows(GetExtremumTuning()), ReadRows("algorithm/extremum/ExtremumTuning.inc"));
  EXPECT_EQ(PrintRows(rateTables.at(Algorithm::TileProgram)), ReadRows("algorithm/tile/TileRates.inc"));
  EXPECT_EQ(PrintRows(rateTables.at(Algorithm::LocalRank)), ReadRows("algorithm/rank/RankRates.inc"));
  EXPECT_EQ(PrintRows(rateTables.at(Algorithm::SlidingHistogram)), ReadRows("algorithm/histogram/HistogramRates.inc"));
  EXPECT_EQ(PrintRows(rateTables.at(Algorithm::MergeTiling)), ReadRows("algorithm/merge/MergeRates.inc"));
}

// Devices of other architectures, with their shared memory of a block and of a multiprocessor in KiB: as CUDA's
// programming guide tells them, never measured.
/** A policy is kept on disk by what it follows: the device's name is of no account where no row has it. */
TEST(CudaMedianTuning, PoliciesAreKnownByTheirRows)
{
  const Window window(Extent{ { 2, 2, 0, 0 } });
  KernelKind   kind;
  kind.pixelBytes = 2;
  kind.packing = KeyPacking::Pair;
  auto known = GetArchitectureTraits(90);
  known.name = "NVIDIA H200";
  auto other = known;
  other.name = "a device without rows";
  auto another = known;
  another.name = "another device without rows";
  EXPECT_NE(DescribeTuning(window, kind, known), "");
  EXPECT_EQ(DescribeTuning(window, kind, other), DescribeTuning(window, kind, another));
  auto small = other;
  small.blockSharedBytes /= 2;
  EXPECT_NE(DescribeTuning(window, kind, small), DescribeTuning(window, kind, other));
  EXPECT_EQ(DescribeTuning(Window(Extent{ { 9, 1, 0, 0 } }), kind, known), "");
}

TEST(CudaMedianTuning, PoliciesKeepToADevicesSharedMemory)
{
  struct Architecture
  {
    int computeCapability;
    int blockKib;
    int kib;
  };
  for (const auto & [computeCapability, blockKib, kib] :
       { Architecture{ 75, 64, 64 }, Architecture{ 80, 163, 164 }, Architecture{ 86, 99, 100 } })
  {
    auto traits = GetH200Traits();
    traits.name = "sm_" + std::to_string(computeCapability);
    traits.computeCapability = computeCapability;
    traits.blockSharedBytes = blockKib * 1024;
    traits.sharedBytes = kib * 1024;
    for (const auto & [pixelBytes, window] : { std::pair<int, Extent>{ 1, { { 17, 17, 1, 1 } } },
                                               { 2, { { 17, 17, 1, 1 } } },
                                               { 4, { { 5, 5, 5, 1 } } },
                                               { 8, { { 11, 9, 1, 1 } } } })
    {
      const auto kind = GetKernelKind(pixelBytes, computeCapability);
      const auto radius = GetRadius(window);
      const auto policy = GetKernelPolicy(radius, kind, traits);
      EXPECT_LE(GetKernelShape(radius, policy, kind, BuildKernelProgram(radius, policy, kind)).sharedBytes,
                traits.blockSharedBytes);
      RankShape rank{};
      ASSERT_TRUE(FindRankShape(radius, pixelBytes, rank, traits));
      EXPECT_LE(rank.sharedBytes, traits.blockSharedBytes);
      HistogramShape histogram{};
      ASSERT_TRUE(FindHistogramShape(radius, pixelBytes, histogram, traits));
      EXPECT_LE(histogram.sharedBytes, traits.blockSharedBytes);
    }
    HistogramShape histogram{};
    const Extent   wide{ { 202, 202, 0, 0 } };
    ASSERT_TRUE(FindHistogramShape(wide, 1, histogram, traits));
    EXPECT_TRUE(histogram.columnsInScratch) << "the histograms of a window of 405 columns";
    EXPECT_LE(histogram.sharedBytes, traits.blockSharedBytes);
  }
}
