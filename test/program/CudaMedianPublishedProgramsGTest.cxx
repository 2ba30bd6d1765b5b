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
// Methods that were published before, as tile programs: that they are right, or not, and that they are the published
// ones.

#include "CudaMedianTestSeed.h"
#include "ForgetfulSelection.h"
#include "ProgramPhases.h"
#include "PublishedNetworks.h"
#include "PublishedPrograms.h"
#include "ZeroOneCheck.h"
#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace
{

using cudamedian::BuildBitonicProgram;
using cudamedian::BuildFiveByFiveNetworkProgram;
using cudamedian::BuildForgetfulProgram;
using cudamedian::BuildPartialSortProgram;
using cudamedian::BuildPublishedProgram;
using cudamedian::BuildTwentyTwoStepProgram;
using cudamedian::CheckAllZeroOneWindows;
using cudamedian::CheckSampledZeroOneFootprints;
using cudamedian::Extent;
using cudamedian::Footprint;
using cudamedian::ListPublishedPrograms;
using cudamedian::TileProgram;
using cudamedian::Window;

const Extent threeByThree{ { 1, 1, 0, 0 } };
const Extent fiveByFive{ { 2, 2, 0, 0 } };
const Extent sevenBySeven{ { 3, 3, 0, 0 } };

/** Exchanges of two values, as publications count them: an exchange of which one result is never used is one too. */
std::size_t
CountExchanges(const TileProgram & program)
{
  const auto & instructions = program.GetInstructions();
  std::size_t  exchanges = 0;
  for (std::size_t n = 0; n < instructions.size(); ++n)
  {
    const bool isSecond = n > 0 && instructions[n].operation == TileProgram::Operation::Max &&
                          instructions[n - 1].operation == TileProgram::Operation::Min &&
                          instructions[n].a == instructions[n - 1].a && instructions[n].b == instructions[n - 1].b;
    exchanges += isSecond ? 0 : 1;
  }
  return exchanges;
}

/** What a program of one output makes of a window of zeros and ones. */
std::uint64_t
RunOn(const TileProgram & program, const std::string & rows)
{
  std::vector<std::uint64_t> inputs;
  std::transform(
    rows.begin(), rows.end(), std::back_inserter(inputs), [](char pixel) { return pixel == '1' ? 1U : 0U; });
  return cudamedian::RunZeroOne(program, inputs).at(0);
}

} // namespace

TEST(CudaMedianPublishedPrograms, AllAreRightForAllZeroOneWindows)
{
  for (const auto & radius : { threeByThree, fiveByFive })
  {
    for (const auto & name : ListPublishedPrograms(radius))
    {
      EXPECT_EQ(CheckAllZeroOneWindows(BuildPublishedProgram(name, radius)), "") << name << ", radius " << radius[0];
    }
  }
}

TEST(CudaMedianPublishedPrograms, LargerWindowsOnStructuredAndRandomCases)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto & radius : { sevenBySeven, Extent{ { 4, 4, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
  {
    for (const auto & name : ListPublishedPrograms(radius))
    {
      EXPECT_EQ(CheckSampledZeroOneFootprints(BuildPublishedProgram(name, radius), cudamediantest::Seed(), 40), "")
        << name << ", radius " << radius[0];
    }
  }
}

// Every length of a list that is forgotten from, even and odd, for all inputs.
TEST(CudaMedianPublishedPrograms, ForgetfulSelectionOfEveryLength)
{
  for (std::int64_t radius = 1; radius <= 9; ++radius)
  {
    for (std::int64_t tile = 1; tile <= 3; ++tile)
    {
      EXPECT_EQ(CheckAllZeroOneWindows(BuildForgetfulProgram(Extent{ { radius, 0, 0, 0 } }, { { tile, 1, 1, 1 } })), "")
        << radius << ", " << tile;
    }
  }
  EXPECT_EQ(CheckAllZeroOneWindows(BuildForgetfulProgram(threeByThree, { { 3, 3, 1, 1 } })), "");
  EXPECT_EQ(CheckAllZeroOneWindows(BuildForgetfulProgram(Extent{ { 1, 0, 1, 0 } }, { { 2, 1, 3, 1 } })), "");
}

/** The published counts: a least and a greatest of n values take 3n/2 - 2 exchanges, rounded up. */
TEST(CudaMedianPublishedPrograms, ForgetfulSelectionTakesThePublishedExchanges)
{
  const auto count = [](const Extent & radius, const Extent & tile) {
    return CountExchanges(BuildForgetfulProgram(radius, tile));
  };
  const Extent one{ { 1, 1, 1, 1 } };
  const Extent two{ { 2, 1, 1, 1 } };
  // 3x3 begins with a list of six, 5x5 with one of fourteen.
  EXPECT_EQ(count(threeByThree, one), 7U + 6 + 4 + 3);
  EXPECT_EQ(count(fiveByFive, one), 19U + 18 + 16 + 15 + 13 + 12 + 10 + 9 + 7 + 6 + 4 + 3);
  // Of the twelve steps of 5x5 two pixels share the first seven.
  EXPECT_EQ(count(threeByThree, two), 7U + 2 * (6 + 4 + 3));
  EXPECT_EQ(count(fiveByFive, two), 19U + 18 + 16 + 15 + 13 + 12 + 10 + 2 * (9 + 7 + 6 + 4 + 3));
  EXPECT_EQ(count(fiveByFive, { { 1, 2, 1, 1 } }), count(fiveByFive, two));
  // Published for tiles of 2x2: 269.
  EXPECT_EQ(count(fiveByFive, { { 2, 2, 1, 1 } }), 269U);
}

TEST(CudaMedianPublishedPrograms, NetworksTakeThePublishedExchanges)
{
  EXPECT_EQ(CountExchanges(BuildTwentyTwoStepProgram()), 22U);
  EXPECT_EQ(CountExchanges(BuildBitonicProgram(fiveByFive)), 135U);
  EXPECT_EQ(CountExchanges(BuildFiveByFiveNetworkProgram(false)), 94U);
  EXPECT_EQ(CountExchanges(BuildFiveByFiveNetworkProgram(true)), 99U);
  EXPECT_EQ(CountExchanges(BuildPartialSortProgram(threeByThree)), 30U);
  EXPECT_EQ(CountExchanges(BuildPartialSortProgram(fiveByFive)), 234U);
}

/** A pixel's operations as documentation/methods.md tells them: results that nothing needs are left out, and what
 * halves of a tile compute alike is computed once. */
TEST(CudaMedianPublishedPrograms, TakeTheOperationsThatAreDocumented)
{
  const auto count = [](const std::string & name, const Extent & radius) {
    const auto phases = cudamedian::CutIntoPhases(BuildPublishedProgram(name, radius), {});
    return static_cast<double>(phases.phases.front().program.GetInstructions().size()) /
           static_cast<double>(cudamedian::Volume(phases.phases.front().program.GetTile()));
  };
  struct Documented
  {
    Extent radius;
    double forgetful[3]; // of tiles of 1x1, 1x2 and 2x2
    double partialSort;
    double bitonic;
  };
  for (const auto & one : { Documented{ threeByThree, { 32, 21, 19 }, 52, 50 },
                            Documented{ fiveByFive, { 240, 137, 103.5 }, 444, 246 },
                            Documented{ sevenBySeven, { 912, 485, 312.5 }, 1752, 726 } })
  {
    EXPECT_EQ(count("forgetful1x1", one.radius), one.forgetful[0]);
    EXPECT_EQ(count("forgetful1x2", one.radius), one.forgetful[1]);
    EXPECT_EQ(count("forgetful2x1", one.radius), one.forgetful[1]);
    EXPECT_EQ(count("forgetful2x2", one.radius), one.forgetful[2]);
    EXPECT_EQ(count("partialsort", one.radius), one.partialSort);
    EXPECT_EQ(count("bitonic", one.radius), one.bitonic);
  }
  EXPECT_EQ(count("steps22", threeByThree), 36);
  EXPECT_EQ(count("network99", fiveByFive), 174);
}

/** The input that was published with the finding, with 12 ones of 25. */
TEST(CudaMedianPublishedPrograms, ThePublishedFiveByFiveNetworkFails)
{
  const std::string rows = "1100000000000001111111111";
  EXPECT_EQ(RunOn(BuildFiveByFiveNetworkProgram(false), rows), 1U);
  EXPECT_NE(CheckAllZeroOneWindows(BuildFiveByFiveNetworkProgram(false)), "");
  for (const auto & name : ListPublishedPrograms(fiveByFive))
  {
    const auto program = BuildPublishedProgram(name, fiveByFive);
    if (program.GetOutputs().size() == 1)
    {
      EXPECT_EQ(RunOn(program, rows), 0U) << name;
    }
  }
}

/** In how many of all windows, as documentation/methods.md says. */
TEST(CudaMedianPublishedPrograms, ThePublishedFiveByFiveNetworkFailsInOneOfTwentyThree)
{
  const auto                 program = BuildFiveByFiveNetworkProgram(false);
  std::vector<std::uint64_t> inputs(25);
  std::size_t                failures = 0;
  for (std::uint32_t high = 0; high < (1U << 19); ++high)
  {
    // Six inputs count to 64 in the bits of a word.
    constexpr std::uint64_t counting[6] = { 0xAAAAAAAAAAAAAAAAULL, 0xCCCCCCCCCCCCCCCCULL, 0xF0F0F0F0F0F0F0F0ULL,
                                            0xFF00FF00FF00FF00ULL, 0xFFFF0000FFFF0000ULL, 0xFFFFFFFF00000000ULL };
    std::copy(std::begin(counting), std::end(counting), inputs.begin());
    int ones = 0;
    for (std::size_t i = 6; i < inputs.size(); ++i)
    {
      const bool isOne = ((high >> (i - 6)) & 1U) != 0;
      inputs[i] = isOne ? ~std::uint64_t{ 0 } : 0;
      ones += isOne ? 1 : 0;
    }
    auto output = cudamedian::RunZeroOne(program, inputs).at(0);
    for (int low = 0; low < 64; ++low, output >>= 1)
    {
      int all = ones;
      for (int bit = low; bit != 0; bit &= bit - 1)
      {
        ++all;
      }
      failures += (output & 1U) != (all > 12 ? 1U : 0U) ? 1 : 0;
    }
  }
  EXPECT_EQ(failures, 1490419U);
}

TEST(CudaMedianPublishedPrograms, AreFoundByName)
{
  EXPECT_EQ(BuildPublishedProgram("forgetful2x1", threeByThree).GetTile(), (Extent{ { 2, 1, 1, 1 } }));
  EXPECT_EQ(BuildPublishedProgram("forgetful1x2x3", Extent{ { 1, 1, 1, 0 } }).GetTile(), (Extent{ { 1, 2, 3, 1 } }));
  EXPECT_EQ(ListPublishedPrograms(threeByThree),
            (std::vector<std::string>{
              "forgetful1x1", "forgetful2x1", "forgetful1x2", "forgetful2x2", "partialsort", "bitonic", "steps22" }));
  EXPECT_EQ(ListPublishedPrograms(fiveByFive),
            (std::vector<std::string>{
              "forgetful1x1", "forgetful2x1", "forgetful1x2", "forgetful2x2", "partialsort", "network99", "bitonic" }));
  EXPECT_EQ(ListPublishedPrograms(Extent{ { 0, 1, 0, 0 } }),
            (std::vector<std::string>{ "forgetful1x1", "forgetful1x2", "partialsort", "bitonic" }));
  for (const std::string name : { "",
                                  "forgetful",
                                  "forgetful2y1",
                                  "forgetful2x",
                                  "forgetful2x1x1x1x1",
                                  "forgetful-1x1",
                                  "forgetful0x1",
                                  "forgetful4x1",
                                  "median",
                                  "network95" })
  {
    EXPECT_THROW(BuildPublishedProgram(name, threeByThree), std::invalid_argument) << name;
  }
  EXPECT_THROW(BuildPublishedProgram("steps22", fiveByFive), std::invalid_argument);
  EXPECT_THROW(BuildPublishedProgram("network99", threeByThree), std::invalid_argument);
}

TEST(CudaMedianPublishedPrograms, AreForMediansOfBoxesOfOddSizes)
{
  const Window others[] = { Window(threeByThree, 3),
                            Window(threeByThree, { { 1, 0, 0, 0 } }, -1),
                            Window(Footprint::MakeCross(threeByThree), -1) };
  for (const auto & window : others)
  {
    EXPECT_TRUE(ListPublishedPrograms(window).empty());
    for (const std::string name : { "forgetful1x1", "partialsort", "bitonic", "steps22" })
    {
      EXPECT_THROW(BuildPublishedProgram(name, window), std::invalid_argument) << name;
    }
  }
  EXPECT_TRUE(ListPublishedPrograms(Window()).empty());
}
