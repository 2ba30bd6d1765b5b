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
#include "FootprintTiling.h"
#include "ProgramLowering.h"
#include "ProgramPhases.h"
#include "TilePolicy.h"
#include "ZeroOneCheck.h"
#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace
{

using namespace cudamedian;

struct NamedFootprint
{
  const char *      name;
  const Footprint * footprint;
};

std::vector<NamedFootprint>
GetNamedFootprints()
{
  return { { "cross 3x3", Footprint::MakeCross({ { 1, 1, 0, 0 } }) },
           { "disk 2", Footprint::MakeEllipsoid({ { 2, 2, 0, 0 } }) },
           { "disk 3", Footprint::MakeEllipsoid({ { 3, 3, 0, 0 } }) },
           { "cross 3x3x3", Footprint::MakeCross({ { 1, 1, 1, 0 } }) },
           { "ball 2", Footprint::MakeEllipsoid({ { 2, 2, 2, 0 } }) },
           { "centre-weighted 3x3", Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3) },
           { "centre-weighted 5x5", Footprint::MakeCentreWeighted({ { 2, 2, 0, 0 } }, 3) } };
}

std::int64_t
Draw(std::mt19937_64 & generator, std::int64_t first, std::int64_t last)
{
  return std::uniform_int_distribution<std::int64_t>(first, last)(generator);
}

/** Some pixels of a random box, which need not have the output in their middle, with weights or without. */
const Footprint *
DrawFootprint(std::mt19937_64 & generator, int axes)
{
  Extent first{};
  Extent last{};
  for (int axis = 0; axis < axes; ++axis)
  {
    first[axis] = Draw(generator, axes == 2 ? -3 : -2, 1);
    last[axis] = Draw(generator, first[axis], axes == 2 ? 3 : 2);
  }
  const auto                  heaviest = Draw(generator, 0, 2) == 0 ? Draw(generator, 2, 5) : 1;
  const auto                  percent = Draw(generator, 5, 100);
  std::vector<FootprintPixel> pixels;
  Extent                      offset{};
  for (offset[2] = first[2]; offset[2] <= last[2]; ++offset[2])
  {
    for (offset[1] = first[1]; offset[1] <= last[1]; ++offset[1])
    {
      for (offset[0] = first[0]; offset[0] <= last[0]; ++offset[0])
      {
        if (Draw(generator, 1, 100) <= percent)
        {
          pixels.push_back({ offset, Draw(generator, 1, heaviest) });
        }
      }
    }
  }
  if (pixels.empty())
  {
    pixels.push_back({ first, heaviest });
  }
  return Footprint::Make(pixels);
}

std::string
Describe(const Window & window, const Extent & tile, const TilingOptions & options)
{
  std::string text = "rank " + std::to_string(window.rank) + ", tile " + Join(tile) + ", root " + Join(options.root) +
                     ", division " + std::to_string(static_cast<int>(options.division)) + ", pixels";
  for (const auto & pixel : window.footprint->GetPixels())
  {
    text += " (" + Join(pixel.offset) + ") x " + std::to_string(pixel.weight);
  }
  return text;
}

constexpr Division divisions[] = { Division::Halves, Division::PowerFirst, Division::PowerLast };

/** A tile of up to 4 outputs along each axis, and a root tile in it. */
Extent
DrawTile(std::mt19937_64 & generator, int axes, TilingOptions & options)
{
  Extent tile{ { 1, 1, 1, 1 } };
  options.root = tile;
  for (int axis = 0; axis < axes; ++axis)
  {
    tile[axis] = Draw(generator, 1, axes == 2 ? 4 : 3);
    options.root[axis] = Draw(generator, 1, tile[axis]);
  }
  options.division = divisions[Draw(generator, 0, 2)];
  return tile;
}

double
CountOperations(const TileProgram & program)
{
  return static_cast<double>(program.GetInstructions().size()) / static_cast<double>(Volume(program.GetTile()));
}

} // namespace

TEST(CudaMedianFootprintTiling, SmallFootprintsExhaustively)
{
  for (const auto & [name, footprint] : GetNamedFootprints())
  {
    if (footprint->GetPixels().size() > 13)
    {
      continue;
    }
    for (std::int64_t rank = 0; rank < footprint->CountValues(); ++rank)
    {
      const Window window(footprint, rank);
      const bool   isDeep = window.CountAxes() == 3;
      for (const Extent & tile : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 2, 2, isDeep ? 2 : 1, 1 } } })
      {
        const auto program = BuildHierarchicalTilingProgram(window, tile);
        EXPECT_EQ(CheckAllZeroOneWindows(program), "") << name << ", rank " << rank << ", tile " << Join(tile);
      }
    }
  }
}

TEST(CudaMedianFootprintTiling, RandomSmallFootprintsExhaustively)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  int             checked = 0;
  while (checked < 400)
  {
    const int    axes = checked % 2 == 0 ? 2 : 3;
    const auto * footprint = DrawFootprint(generator, axes);
    if (footprint->GetPixels().size() > 11)
    {
      continue;
    }
    const Window  window(footprint, Draw(generator, 0, footprint->CountValues() - 1));
    TilingOptions options;
    const auto    tile = DrawTile(generator, axes, options);
    ASSERT_EQ(CheckAllZeroOneWindows(BuildFootprintProgram(window, tile, options)), "")
      << Describe(window, tile, options);
    ++checked;
  }
}

TEST(CudaMedianFootprintTiling, RandomFootprintsWeightsAndRanks)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed() + 1);
  for (int number = 0; number < 3000; ++number)
  {
    const int     axes = 2 + number % 2;
    const auto *  footprint = DrawFootprint(generator, axes);
    const auto    rank = number % 3 == 0 ? -1 : Draw(generator, 0, footprint->CountValues() - 1);
    const Window  window(footprint, rank);
    TilingOptions options;
    const auto    tile = DrawTile(generator, axes, options);
    const auto    program = BuildFootprintProgram(window, tile, options);
    ASSERT_EQ(CheckSampledZeroOneFootprints(program, generator(), 8), "") << Describe(window, tile, options);
  }
}

TEST(CudaMedianFootprintTiling, SeveralRanksAtOnce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed() + 2);
  for (int drawn = 0; drawn < 300; ++drawn)
  {
    const int     axes = 2 + drawn % 2;
    const auto *  footprint = DrawFootprint(generator, axes);
    const Window  window(footprint, Draw(generator, 0, footprint->CountValues() - 1));
    TilingOptions options;
    const auto    tile = DrawTile(generator, axes, options);
    options.ranks = Draw(generator, 1, footprint->CountValues() - window.rank);
    const auto program = BuildFootprintProgram(window, tile, options);
    for (std::int64_t number = 0; number < options.ranks; ++number)
    {
      ASSERT_EQ(CheckSampledZeroOneFootprints(TakeRank(program, number), generator(), 4), "")
        << Describe(window, tile, options) << ", " << options.ranks << " ranks, number " << number;
    }
  }
}

TEST(CudaMedianFootprintTiling, ReadsNoPixelThatNoWindowHas)
{
  // Two pixels far from each other, beside the output.
  const auto * footprint = Footprint::Make({ { { { 2, 0, 0, 0 } }, 1 }, { { { 0, -3, 0, 0 } }, 1 } });
  const auto   program = BuildHierarchicalTilingProgram(Window(footprint, 1), { { 2, 2, 1, 1 } });
  EXPECT_EQ(program.GetInstructions().size(), 4U);
  for (const auto & instruction : program.GetInstructions())
  {
    EXPECT_NE(instruction.a, instruction.b);
    for (const auto operand : { instruction.a, instruction.b })
    {
      const auto width = static_cast<TileProgram::Value>(program.GetFootprint()[0]);
      const auto column = operand % width;
      const auto row = operand / width;
      EXPECT_TRUE((column >= 4 && row >= 3 && row <= 4) || (column >= 2 && column <= 3 && row <= 1))
        << column << ", " << row;
    }
  }
}

TEST(CudaMedianFootprintTiling, APixelThatOutweighsAllOthersIsTheMedian)
{
  const auto * footprint = Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 9);
  const auto   program = BuildHierarchicalTilingProgram(Window(footprint, -1), { { 2, 2, 1, 1 } });
  EXPECT_EQ(CheckAllZeroOneWindows(program), "");
}

TEST(CudaMedianFootprintTiling, TakesNoMoreOperationsThanTheBox)
{
  for (const auto & [name, footprint] : GetNamedFootprints())
  {
    if (footprint->HasWeights())
    {
      continue;
    }
    const Window window(footprint, -1);
    const Window box(footprint->GetRadius());
    for (const std::size_t keyBytes : { 1, 4 })
    {
      const auto policy = GetRowPolicy(box, keyBytes);
      const auto whole = BuildHierarchicalTilingProgram(box, policy.tile, policy.tiling);
      const auto tiling = FindFootprintTiling(window, ListFootprintTiles(window, policy.tile[0] == 1), 224);
      const auto program = BuildFootprintProgram(window, tiling.tile, tiling.options);
      EXPECT_LE(CountOperations(program), CountOperations(whole)) << name << ", keys of " << keyBytes;
      EXPECT_LE(CountProgram(program, LowerProgram(program, {})).liveValues, 224U) << name;
      EXPECT_EQ(CheckSampledZeroOneFootprints(program, 1, 64), "") << name;
    }
  }
}

TEST(CudaMedianFootprintTiling, LargeFootprintsOfAllGroupings)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto * footprint : { Footprint::MakeBox({ { 4, 4, 0, 0 } }),
                                  Footprint::MakeEllipsoid({ { 5, 5, 0, 0 } }),
                                  Footprint::MakeCross({ { 15, 15, 0, 0 } }),
                                  Footprint::MakeCentreWeighted({ { 3, 3, 0, 0 } }, 20),
                                  Footprint::MakeEllipsoid({ { 2.5, 2.5, 2.5, 0 } }) })
  {
    for (const auto division : divisions)
    {
      const Window        window(footprint, -1);
      const Extent        tile{ { 2, 4, 1, 1 } };
      const TilingOptions options{ { { 2, 2, 1, 1 } }, division };
      const auto          program = BuildFootprintProgram(window, tile, options);
      EXPECT_EQ(CheckSampledZeroOneFootprints(program, cudamediantest::Seed(), 64), "")
        << Describe(window, tile, options);
    }
  }
}

TEST(CudaMedianFootprintTiling, PhasesShareWhatNeighboursHaveInCommon)
{
  // The sorted columns of a disk are those of its neighbours: a program in phases has fewer operations.
  const Window window(Footprint::MakeEllipsoid({ { 3, 3, 0, 0 } }), -1);
  const auto   program = BuildFootprintProgram(window, { { 2, 2, 1, 1 } }, { { { 2, 2, 1, 1 } }, Division::Halves });
  const auto   phases = CutIntoPhases(program, { 1, 0, 0 });
  ASSERT_EQ(phases.phases.size(), 2U);
  EXPECT_LT(phases.phases.back().program.GetInstructions().size(), program.GetInstructions().size());
}

TEST(CudaMedianFootprintTiling, RefusesRootsThatAreLargerThanTheTile)
{
  const Window window(Footprint::MakeCross({ { 1, 1, 0, 0 } }), -1);
  EXPECT_THROW(BuildFootprintProgram(window, { { 1, 1, 1, 1 } }, { { { 2, 1, 1, 1 } } }), std::invalid_argument);
  EXPECT_THROW(BuildFootprintProgram(window, { { 1, 1, 1, 1 } }, { { { 1, 0, 1, 1 } } }), std::invalid_argument);
}
