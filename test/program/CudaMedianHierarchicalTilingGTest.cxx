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
#include "CudaMedianTestSeed.h"
#include "HierarchicalTiling.h"
#include "ProgramSchedule.h"
#include "TilePolicy.h"
#include "Window.h"
#include "ZeroOneCheck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <stdexcept>
#include <tuple>

namespace
{

using cudamedian::BuildHierarchicalTilingProgram;
using cudamedian::Extent;
using cudamedian::TileProgram;
using cudamedian::TilingOptions;
using cudamedian::Window;

/** Every radius up to 11x11 and 5x5x5 on axes 0 to 2, and some of the larger ones that tile programs cover. */
std::vector<Extent>
GetCoveredRadii()
{
  std::vector<Extent> radii;
  for (std::int64_t z = 0; z <= 5; ++z)
  {
    for (std::int64_t y = 0; y <= 5; ++y)
    {
      for (std::int64_t x = 0; x <= 5; ++x)
      {
        const Extent radius{ { x, y, z, 0 } };
        if (cudamedian::IsInterpretedOnDevices(radius))
        {
          radii.push_back(radius);
        }
      }
    }
  }
  for (const Extent & radius : { Extent{ { 8, 8, 0, 0 } },
                                 Extent{ { 0, 15, 1, 0 } },
                                 Extent{ { 15, 15, 0, 0 } },
                                 Extent{ { 11, 0, 7, 0 } },
                                 Extent{ { 3, 3, 3, 0 } },
                                 Extent{ { 4, 1, 3, 0 } },
                                 Extent{ { 4, 4, 4, 0 } } })
  {
    EXPECT_TRUE(cudamedian::IsCoveredByTilePrograms(radius));
    radii.push_back(radius);
  }
  return radii;
}

std::string
Name(const Extent & extent)
{
  return std::to_string(extent[0]) + "x" + std::to_string(extent[1]) + "x" + std::to_string(extent[2]) + "x" +
         std::to_string(extent[3]);
}

/** The window's smallest and largest value, and that of the first quarter. */
std::vector<Window>
GetOtherRanks(const Extent & radius)
{
  const auto pixels = Window(radius).CountPixels();
  return { Window(radius, 0), Window(radius, pixels / 4), Window(radius, pixels - 1) };
}

/** The window of so many pixels along each axis: its median, and other ranks. */
std::vector<Window>
GetEvenWindows(const Extent & size)
{
  Extent radius;
  Extent shorter;
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    radius[axis] = size[axis] / 2;
    shorter[axis] = 1 - size[axis] % 2;
  }
  const auto          pixels = cudamedian::Volume(size);
  std::vector<Window> windows{ { radius, shorter, -1 } };
  for (const auto rank : { std::int64_t{ 0 }, pixels / 4, pixels / 2 - 1, pixels - 1 })
  {
    windows.emplace_back(radius, shorter, rank);
  }
  EXPECT_EQ(windows.front().GetExtent(), size);
  EXPECT_EQ(windows.front().rank, pixels / 2);
  return windows;
}

} // namespace

TEST(CudaMedianHierarchicalTiling, ThreeByThreeExhaustively)
{
  for (std::int64_t tileX = 1; tileX <= 3; ++tileX)
  {
    for (std::int64_t tileY = 1; tileY <= 3; ++tileY)
    {
      const auto program = BuildHierarchicalTilingProgram({ { 1, 1, 0, 0 } }, { { tileX, tileY, 1, 1 } });
      EXPECT_EQ(cudamedian::CheckAllZeroOneWindows(program), "") << "tile " << tileX << "x" << tileY;
    }
  }
}

TEST(CudaMedianHierarchicalTiling, FiveByFiveExhaustively)
{
  const Extent radius{ { 2, 2, 0, 0 } };
  EXPECT_EQ(cudamedian::CheckAllZeroOneWindows(BuildHierarchicalTilingProgram(radius, cudamedian::ChooseTile(radius))),
            "");
}

TEST(CudaMedianHierarchicalTiling, EveryRankOfThreeByThreeExhaustively)
{
  for (std::int64_t rank = 0; rank < 9; ++rank)
  {
    for (std::int64_t tile = 1; tile <= 3; ++tile)
    {
      const auto program =
        BuildHierarchicalTilingProgram(Window(Extent{ { 1, 1, 0, 0 } }, rank), { { tile, 2, 1, 1 } });
      EXPECT_EQ(cudamedian::CheckAllZeroOneWindows(program), "") << "rank " << rank << ", tile " << tile;
    }
  }
}

TEST(CudaMedianHierarchicalTiling, SeveralRanksAtOnce)
{
  for (std::int64_t rank = 0; rank < 9; ++rank)
  {
    for (std::int64_t ranks = 1; rank + ranks <= 9; ++ranks)
    {
      const Window  window(Extent{ { 1, 1, 0, 0 } }, rank);
      const Extent  tile{ { 2, 2, 1, 1 } };
      TilingOptions options{ tile };
      options.ranks = ranks;
      const auto program = BuildHierarchicalTilingProgram(window, tile, options);
      for (std::int64_t number = 0; number < ranks; ++number)
      {
        EXPECT_EQ(cudamedian::CheckAllZeroOneWindows(cudamedian::TakeRank(program, number)), "")
          << ranks << " ranks from " << rank << " on, number " << number;
      }
    }
  }
  for (const auto & [radius, least, ranks] : { std::make_tuple(Extent{ { 3, 3, 0, 0 } }, 20, 9),
                                               std::make_tuple(Extent{ { 5, 5, 0, 0 } }, 52, 17),
                                               std::make_tuple(Extent{ { 1, 1, 1, 0 } }, 5, 17),
                                               std::make_tuple(Extent{ { 2, 1, 0, 0 } }, 0, 15) })
  {
    const Window  window(radius, least);
    const auto    tile = ChooseTile(window);
    TilingOptions options{ GetRootTile(window, tile) };
    options.ranks = ranks;
    const auto program = BuildHierarchicalTilingProgram(window, tile, options);
    for (std::int64_t number = 0; number < ranks; ++number)
    {
      EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(cudamedian::TakeRank(program, number), 7, 20), "")
        << cudamedian::Join(radius) << ", " << ranks << " ranks from " << least << " on, number " << number;
    }
  }
  TilingOptions options{ { { 1, 1, 1, 1 } } };
  options.ranks = 2;
  EXPECT_THROW(BuildHierarchicalTilingProgram(Window(Extent{ { 1, 1, 0, 0 } }, 8), { { 1, 1, 1, 1 } }, options),
               std::invalid_argument);
}

TEST(CudaMedianHierarchicalTiling, OtherRanksOnStructuredAndRandomCases)
{
  const auto   seed = cudamediantest::Seed();
  const Extent radii[] = { { { 0, 0, 0, 0 } }, { { 2, 0, 0, 0 } }, { { 1, 2, 0, 0 } }, { { 4, 3, 0, 0 } },
                           { { 1, 1, 1, 0 } }, { { 2, 1, 2, 0 } }, { { 8, 8, 0, 0 } }, { { 0, 1, 1, 1 } } };
  for (const auto & radius : radii)
  {
    for (const auto & window : GetOtherRanks(radius))
    {
      const auto tile = cudamedian::ChooseTile(window);
      const auto program = BuildHierarchicalTilingProgram(window, tile);
      EXPECT_EQ(program.GetWindow(), window);
      EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(program, seed, 40), "")
        << "radius " << Name(radius) << ", rank " << window.rank << ", seed " << seed;
    }
  }
}

TEST(CudaMedianHierarchicalTiling, OtherRanksOfRowsOfRootTiles)
{
  const auto seed = cudamediantest::Seed();
  for (const auto & window : GetOtherRanks({ { 3, 2, 0, 0 } }))
  {
    for (const auto division : { cudamedian::Division::Halves, cudamedian::Division::PowerLast })
    {
      const auto program = BuildHierarchicalTilingProgram(window, { { 8, 4, 1, 1 } }, { { { 4, 4, 1, 1 } }, division });
      EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(program, seed, 40), "")
        << "rank " << window.rank << ", seed " << seed;
    }
  }
}

// The smallest of a window is what is left when everything above it is dropped, which leaves no more than one min each.
TEST(CudaMedianHierarchicalTiling, TheSmallestTakesMinimaOnly)
{
  const auto program = BuildHierarchicalTilingProgram(Window(Extent{ { 2, 2, 0, 0 } }, 0), { { 4, 4, 1, 1 } });
  for (const auto & instruction : program.GetInstructions())
  {
    EXPECT_EQ(static_cast<int>(instruction.operation), static_cast<int>(TileProgram::Operation::Min));
  }
}

// A published 5x5 network answers 1 here: rows 11000 00000 00000 11111 11111 hold 12 ones of 25.
TEST(CudaMedianHierarchicalTiling, FiveByFiveWhereAPublishedNetworkFails)
{
  const auto                 program = BuildHierarchicalTilingProgram({ { 2, 2, 0, 0 } }, { { 1, 1, 1, 1 } });
  const std::string          rows = "1100000000000001111111111";
  std::vector<std::uint64_t> inputs;
  for (const char pixel : rows)
  {
    inputs.push_back(pixel == '1' ? 1 : 0);
  }
  EXPECT_EQ(cudamedian::RunZeroOne(program, inputs).at(0), 0U);
}

TEST(CudaMedianHierarchicalTiling, EveryCoveredWindowOnStructuredAndRandomCases)
{
  const auto seed = cudamediantest::Seed();
  for (const auto & radius : GetCoveredRadii())
  {
    const auto program = BuildHierarchicalTilingProgram(radius, cudamedian::ChooseTile(radius));
    EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(program, seed, 40), "")
      << "radius " << Name(radius) << ", seed " << seed;
  }
}

TEST(CudaMedianHierarchicalTiling, AnyTileThatFits)
{
  const auto   seed = cudamediantest::Seed();
  const Extent cases[][2] = { { { { 3, 3, 0, 0 } }, { { 5, 3, 1, 1 } } },
                              { { { 2, 1, 1, 1 } }, { { 3, 2, 2, 2 } } },
                              { { { 0, 2, 1, 1 } }, { { 1, 4, 3, 2 } } },
                              { { { 4, 2, 0, 0 } }, { { 9, 5, 1, 1 } } },
                              { { { 1, 0, 3, 0 } }, { { 3, 1, 7, 1 } } } };
  for (const auto & one : cases)
  {
    const auto program = BuildHierarchicalTilingProgram(one[0], one[1]);
    EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(program, seed, 40), "")
      << "radius " << Name(one[0]) << ", tile " << Name(one[1]) << ", seed " << seed;
  }
}

TEST(CudaMedianHierarchicalTiling, AnyRowOfRootTiles)
{
  const auto seed = cudamediantest::Seed();
  struct Case
  {
    Extent radius;
    Extent tile;
    Extent root;
  };
  const Case cases[] = { { { { 1, 1, 0, 0 } }, { { 7, 5, 1, 1 } }, { { 2, 2, 1, 1 } } },
                         { { { 2, 3, 0, 0 } }, { { 8, 4, 1, 1 } }, { { 3, 4, 1, 1 } } },
                         { { { 1, 0, 2, 0 } }, { { 4, 3, 5, 1 } }, { { 2, 1, 2, 1 } } },
                         { { { 1, 1, 1, 0 } }, { { 4, 4, 4, 1 } }, { { 2, 1, 2, 1 } } },
                         { { { 4, 4, 0, 0 } }, { { 8, 2, 1, 1 } }, { { 4, 2, 1, 1 } } } };
  for (const auto & one : cases)
  {
    for (const auto division :
         { cudamedian::Division::Halves, cudamedian::Division::PowerFirst, cudamedian::Division::PowerLast })
    {
      const auto program = BuildHierarchicalTilingProgram(one.radius, one.tile, { one.root, division });
      EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(program, seed, 40), "")
        << "radius " << Name(one.radius) << ", tile " << Name(one.tile) << ", root tile " << Name(one.root) << ", seed "
        << seed;
    }
  }
}

TEST(CudaMedianHierarchicalTiling, ARootTileLargerThanTheTileOrTheWindowIsAnError)
{
  const auto halves = cudamedian::Division::Halves;
  EXPECT_THROW(BuildHierarchicalTilingProgram({ { 1, 1, 0, 0 } }, { { 8, 1, 1, 1 } }, { { { 4, 1, 1, 1 } }, halves }),
               std::invalid_argument);
  EXPECT_THROW(BuildHierarchicalTilingProgram({ { 2, 2, 0, 0 } }, { { 2, 2, 1, 1 } }, { { { 4, 2, 1, 1 } }, halves }),
               std::invalid_argument);
  EXPECT_THROW(BuildHierarchicalTilingProgram({ { 2, 2, 0, 0 } }, { { 2, 2, 1, 1 } }, { { { 2, 0, 1, 1 } }, halves }),
               std::invalid_argument);
}

TEST(CudaMedianHierarchicalTiling, ATileLargerThanTheWindowIsAnError)
{
  EXPECT_THROW(BuildHierarchicalTilingProgram({ { 1, 1, 0, 0 } }, { { 4, 1, 1, 1 } }), std::invalid_argument);
  EXPECT_THROW(BuildHierarchicalTilingProgram({ { 1, 1, 0, 0 } }, { { 0, 1, 1, 1 } }), std::invalid_argument);
  EXPECT_THROW(BuildHierarchicalTilingProgram({ { -1, 1, 0, 0 } }, { { 1, 1, 1, 1 } }), std::invalid_argument);
}

// The counts that shared work promises; a change that costs operations must show.
TEST(CudaMedianHierarchicalTiling, OperationsPerPixel)
{
  const auto count = [](const Extent & radius) {
    const auto tile = cudamedian::ChooseTile(radius);
    return static_cast<double>(BuildHierarchicalTilingProgram(radius, tile).GetInstructions().size()) /
           static_cast<double>(cudamedian::Volume(tile));
  };
  EXPECT_LE(count({ { 1, 1, 0, 0 } }), 19.5);
  EXPECT_LE(count({ { 2, 2, 0, 0 } }), 72.0);
  EXPECT_LE(count({ { 3, 3, 0, 0 } }), 127.0);
  EXPECT_LE(count({ { 5, 5, 0, 0 } }), 315.0);
  EXPECT_LE(count({ { 1, 1, 1, 0 } }), 107.0);
  EXPECT_LE(count({ { 2, 2, 2, 0 } }), 639.0);
}

// Windows of an even size, and of other ranks than the median, with every tile that fits up to 3x3.
TEST(CudaMedianHierarchicalTiling, EvenSizesExhaustively)
{
  const Extent sizes[] = { { { 2, 2, 1, 1 } }, { { 2, 3, 1, 1 } }, { { 4, 3, 1, 1 } }, { { 4, 4, 1, 1 } },
                           { { 1, 6, 1, 1 } }, { { 2, 2, 2, 1 } }, { { 2, 1, 2, 2 } } };
  for (const auto & size : sizes)
  {
    for (const auto & window : GetEvenWindows(size))
    {
      for (std::int64_t tileX = 1; tileX <= std::min<std::int64_t>(3, size[0]); ++tileX)
      {
        for (std::int64_t tileY = 1; tileY <= std::min<std::int64_t>(3, size[1]); ++tileY)
        {
          const auto program = BuildHierarchicalTilingProgram(window, { { tileX, tileY, 1, 1 } });
          EXPECT_EQ(cudamedian::CheckAllZeroOneWindows(program), "")
            << Name(size) << ", rank " << window.rank << ", tile " << tileX << "x" << tileY;
        }
      }
    }
  }
}

TEST(CudaMedianHierarchicalTiling, EvenSizesOnStructuredAndRandomCases)
{
  const auto   seed = cudamediantest::Seed();
  const Extent sizes[] = { { { 6, 6, 1, 1 } }, { { 8, 5, 1, 1 } },   { { 16, 16, 1, 1 } }, { { 1, 30, 1, 1 } },
                           { { 4, 4, 4, 1 } }, { { 6, 3, 5, 1 } },   { { 2, 4, 1, 3 } },   { { 10, 12, 1, 1 } },
                           { { 2, 7, 1, 1 } }, { { 30, 30, 1, 1 } }, { { 8, 8, 2, 1 } },   { { 3, 3, 2, 1 } } };
  for (const auto & size : sizes)
  {
    for (const auto & window : GetEvenWindows(size))
    {
      const auto tile = cudamedian::ChooseTile(window);
      EXPECT_EQ(cudamedian::CheckSampledZeroOneFootprints(BuildHierarchicalTilingProgram(window, tile), seed, 40), "")
        << Name(size) << ", rank " << window.rank << ", seed " << seed;
    }
  }
}

// An even size takes no more operations a pixel than the next odd one, along one axis or along all.
TEST(CudaMedianHierarchicalTiling, EvenSizesTakeNoMoreThanTheNextOddOnes)
{
  const auto count = [](const Window & window) {
    const auto tile = cudamedian::ChooseTile(window);
    return static_cast<double>(BuildHierarchicalTilingProgram(window, tile).GetInstructions().size()) /
           static_cast<double>(cudamedian::Volume(tile));
  };
  for (std::int64_t radius = 1; radius <= 8; ++radius)
  {
    const Extent radii{ { radius, radius, 0, 0 } };
    const auto   odd = count(radii);
    const auto   mixed = count(Window(radii, { { 1, 0, 0, 0 } }, -1));
    const auto   even = count(Window(radii, { { 1, 1, 0, 0 } }, -1));
    std::cout << 2 * radius << "x" << 2 * radius << " " << even << ", " << 2 * radius << "x" << 2 * radius + 1 << " "
              << mixed << ", " << 2 * radius + 1 << "x" << 2 * radius + 1 << " " << odd << " operations a pixel\n";
    EXPECT_LE(even, mixed);
    EXPECT_LE(mixed, odd);
  }
  for (std::int64_t radius = 1; radius <= 3; ++radius)
  {
    const Extent radii{ { radius, radius, radius, 0 } };
    EXPECT_LE(count(Window(radii, { { 1, 1, 1, 0 } }, -1)), count(radii));
  }
}

// A program of the median is none of another rank.
TEST(CudaMedianZeroOneCheck, FindsAProgramOfAnotherRank)
{
  const Extent radius{ { 1, 1, 0, 0 } };
  const Extent tile{ { 2, 2, 1, 1 } };
  const auto   median = BuildHierarchicalTilingProgram(radius, tile);
  for (const std::int64_t rank : { 0, 3, 5, 8 })
  {
    TileProgram program(Window(radius, rank), tile);
    for (const auto & instruction : median.GetInstructions())
    {
      program.Append(instruction.operation, instruction.a, instruction.b);
    }
    program.SetOutputs(median.GetOutputs());
    EXPECT_NE(cudamedian::CheckAllZeroOneWindows(program), "") << "rank " << rank;
    EXPECT_NE(cudamedian::CheckSampledZeroOneFootprints(program, cudamediantest::Seed(), 40), "") << "rank " << rank;
  }
}

// The checkers themselves: a program with one operation turned around must be caught.
TEST(CudaMedianZeroOneCheck, FindsABrokenProgram)
{
  const Extent radius{ { 1, 1, 0, 0 } };
  const auto   good = BuildHierarchicalTilingProgram(radius, { { 2, 2, 1, 1 } });
  std::size_t  caughtExhaustively = 0;
  std::size_t  caughtBySamples = 0;
  for (std::size_t broken = 0; broken < good.GetInstructions().size(); ++broken)
  {
    TileProgram program(radius, { { 2, 2, 1, 1 } });
    for (std::size_t n = 0; n < good.GetInstructions().size(); ++n)
    {
      const auto & instruction = good.GetInstructions()[n];
      const bool   isMin = instruction.operation == TileProgram::Operation::Min;
      program.Append(isMin != (n == broken) ? TileProgram::Operation::Min : TileProgram::Operation::Max,
                     instruction.a,
                     instruction.b);
    }
    program.SetOutputs(good.GetOutputs());
    caughtExhaustively += cudamedian::CheckAllZeroOneWindows(program).empty() ? 0 : 1;
    caughtBySamples += cudamedian::CheckSampledZeroOneFootprints(program, 1, 40).empty() ? 0 : 1;
  }
  EXPECT_EQ(caughtExhaustively, good.GetInstructions().size());
  EXPECT_EQ(caughtBySamples, good.GetInstructions().size());
}

TEST(CudaMedianTileProgram, DeadCodeGoesAndOrderStays)
{
  TileProgram program({ { 1, 0, 0, 0 } }, { { 1, 1, 1, 1 } });
  const auto  low = program.Append(TileProgram::Operation::Min, 0, 1);
  program.Append(TileProgram::Operation::Max, 0, 1);
  const auto  high = program.Append(TileProgram::Operation::Max, low, 2);
  TileProgram two({ { 1, 0, 0, 0 } }, { { 2, 1, 1, 1 } });
  EXPECT_THROW(two.SetOutputs({ 0, 1, 2 }), std::invalid_argument);
  EXPECT_THROW(two.SetOutputs({}), std::invalid_argument);
  program.SetOutputs({ high });
  program.RemoveDeadCode();
  ASSERT_EQ(program.GetInstructions().size(), 2U);
  EXPECT_EQ(program.GetInstructions()[1].a, 3U);
  EXPECT_EQ(program.GetOutputs().at(0), 4U);
}

TEST(CudaMedianProgramSchedule, SlotsYieldWhatTheProgramYields)
{
  const auto      seed = cudamediantest::Seed();
  std::mt19937_64 generator(seed);
  for (const auto & radius : GetCoveredRadii())
  {
    const auto program = BuildHierarchicalTilingProgram(radius, cudamedian::ChooseTile(radius));
    const auto schedule = cudamedian::ScheduleProgram(program);
    ASSERT_EQ(schedule.numberOfInputs, program.GetNumberOfInputs());
    std::vector<std::uint64_t> inputs(program.GetNumberOfInputs());
    for (auto & input : inputs)
    {
      input = generator();
    }
    auto operands = inputs;
    operands.resize(inputs.size() + schedule.numberOfSlots);
    for (const auto & instruction : schedule.instructions)
    {
      const auto a = operands[instruction.a];
      const auto b = operands[instruction.b];
      if (instruction.operation != cudamedian::ProgramSchedule::Operation::Max)
      {
        operands[inputs.size() + instruction.low] = a & b;
      }
      if (instruction.operation != cudamedian::ProgramSchedule::Operation::Min)
      {
        operands[inputs.size() + instruction.high] = a | b;
      }
    }
    // Who runs two joined instructions at once does not write the result that the second alone uses.
    ASSERT_EQ(schedule.joins.size(), schedule.instructions.size());
    for (std::size_t n = 0; n < schedule.instructions.size(); ++n)
    {
      using Join = cudamedian::ProgramSchedule::Join;
      if (schedule.joins[n] == Join::None)
      {
        continue;
      }
      ASSERT_LT(n + 1, schedule.instructions.size());
      EXPECT_EQ(static_cast<int>(schedule.joins[n + 1]), static_cast<int>(Join::None));
      const bool isLow = schedule.joins[n] == Join::Low;
      const auto slot = isLow ? schedule.instructions[n].low : schedule.instructions[n].high;
      const auto joined = inputs.size() + slot;
      EXPECT_TRUE((schedule.instructions[n + 1].a == joined) != (schedule.instructions[n + 1].b == joined));
      // Before anybody else reads the slot it is written again.
      for (std::size_t later = n + 1; later < schedule.instructions.size(); ++later)
      {
        using Operation = cudamedian::ProgramSchedule::Operation;
        const auto & instruction = schedule.instructions[later];
        ASSERT_TRUE(later == n + 1 || (instruction.a != joined && instruction.b != joined)) << Name(radius);
        if ((instruction.operation != Operation::Max && instruction.low == slot) ||
            (instruction.operation != Operation::Min && instruction.high == slot))
        {
          break;
        }
      }
    }
    const auto expected = cudamedian::RunZeroOne(program, inputs);
    for (std::size_t output = 0; output < expected.size(); ++output)
    {
      ASSERT_EQ(operands[schedule.outputs[output]], expected[output]) << Name(radius) << ", seed " << seed;
    }
  }
}
