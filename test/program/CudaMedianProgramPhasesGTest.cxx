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
#include "ProgramPhases.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

namespace
{

using namespace cudamedian;

/** A few tiles side by side and random pixels for all that they could read. */
class TileRow
{
public:
  TileRow(const TileProgram & program, unsigned seed)
    : m_Program(program)
  {
    const auto & footprint = program.GetFootprint();
    m_Width = footprint[0] + (tiles + 2 * beside) * program.GetTile()[0];
    m_Pixels.resize(static_cast<std::size_t>(m_Width * footprint[1] * footprint[2] * footprint[3]));
    std::mt19937 random(seed);
    for (auto & pixel : m_Pixels)
    {
      pixel = static_cast<unsigned>(random() % 1000);
    }
  }

  /** All values of a program at a tile, with further inputs behind the pixels. */
  std::vector<unsigned>
  Run(const TileProgram & program, int tile, const std::vector<unsigned> & imports) const
  {
    const auto            width = static_cast<std::size_t>(program.GetFootprint()[0]);
    std::vector<unsigned> values;
    for (std::size_t input = 0; input < program.GetNumberOfPixels(); ++input)
    {
      const auto column = static_cast<std::int64_t>(input % width) + (tile + beside) * program.GetTile()[0];
      values.push_back(
        m_Pixels.at(input / width * static_cast<std::size_t>(m_Width) + static_cast<std::size_t>(column)));
    }
    values.insert(values.end(), imports.begin(), imports.end());
    for (const auto & instruction : program.GetInstructions())
    {
      const auto a = values[instruction.a];
      const auto b = values[instruction.b];
      values.push_back(instruction.operation == TileProgram::Operation::Min ? std::min(a, b) : std::max(a, b));
    }
    return values;
  }

  /** Runs the phases over the row and compares the medians with those of the program. A value that no tile left is an
   * exception. */
  void
  Check(const ProgramPhases & phases) const
  {
    std::map<std::pair<std::size_t, int>, unsigned> shared;
    for (const auto & phase : phases.phases)
    {
      std::map<std::pair<std::size_t, int>, unsigned> left;
      for (int tile = phase.first; tile < tiles + phase.last; ++tile)
      {
        std::vector<unsigned> imports;
        for (const auto & import : phase.imports)
        {
          imports.push_back(shared.at({ import.value, tile + import.position }));
        }
        const auto values = Run(phase.program, tile, imports);
        ASSERT_EQ(phase.exports.size(), phase.program.GetExports().size());
        for (std::size_t i = 0; i < phase.exports.size(); ++i)
        {
          EXPECT_TRUE(
            left.emplace(std::make_pair(phase.exports[i], tile), values[phase.program.GetExports()[i]]).second);
        }
        if (&phase == &phases.phases.back())
        {
          const auto expected = Run(m_Program, tile, {});
          ASSERT_EQ(phase.program.GetOutputs().size(), m_Program.GetOutputs().size());
          for (std::size_t i = 0; i < m_Program.GetOutputs().size(); ++i)
          {
            EXPECT_EQ(values[phase.program.GetOutputs()[i]], expected[m_Program.GetOutputs()[i]]);
          }
        }
      }
      shared.insert(left.begin(), left.end());
    }
  }

private:
  static constexpr int tiles = 3;
  static constexpr int beside = 12;

  const TileProgram &   m_Program;
  std::int64_t          m_Width;
  std::vector<unsigned> m_Pixels;
};

std::size_t
CountInstructions(const ProgramPhases & phases)
{
  std::size_t instructions = 0;
  for (const auto & phase : phases.phases)
  {
    instructions += phase.program.GetInstructions().size();
  }
  return instructions;
}

} // namespace

TEST(CudaMedianProgramPhases, YieldTheMediansOfTheProgram)
{
  const auto seed = static_cast<unsigned>(cudamediantest::Seed());
  struct Case
  {
    Extent        radius;
    TilingOptions tiling;
    Extent        tile;
  };
  for (const auto & test :
       std::vector<Case>{ { { { 1, 1, 0, 0 } }, { { { 2, 2, 1, 1 } }, Division::Halves }, { { 4, 2, 1, 1 } } },
                          { { { 2, 1, 0, 0 } }, { { { 1, 2, 1, 1 } }, Division::Halves }, { { 1, 2, 1, 1 } } },
                          { { { 3, 3, 0, 0 } }, { { { 4, 2, 1, 1 } }, Division::Halves }, { { 4, 2, 1, 1 } } },
                          { { { 4, 4, 0, 0 } }, { { { 2, 2, 1, 1 } }, Division::PowerFirst }, { { 2, 2, 1, 1 } } },
                          { { { 5, 2, 0, 0 } }, { { { 4, 2, 1, 1 } }, Division::PowerLast }, { { 8, 2, 1, 1 } } },
                          { { { 7, 0, 0, 0 } }, { { { 2, 1, 1, 1 } }, Division::PowerFirst }, { { 2, 1, 1, 1 } } },
                          { { { 0, 3, 0, 0 } }, { { { 1, 2, 1, 1 } }, Division::Halves }, { { 4, 2, 1, 1 } } },
                          { { { 1, 1, 1, 0 } }, { { { 2, 2, 2, 1 } }, Division::Halves }, { { 2, 2, 2, 1 } } },
                          { { { 2, 1, 0, 1 } }, { { { 2, 2, 1, 2 } }, Division::Halves }, { { 2, 2, 1, 2 } } } })
  {
    const auto    program = BuildHierarchicalTilingProgram(test.radius, test.tile, test.tiling);
    const TileRow row(program, seed);
    for (int sharedPhases = 0; sharedPhases <= 3; ++sharedPhases)
    {
      for (int firstColumn = 0; firstColumn < test.tile[0]; ++firstColumn)
      {
        for (const int columns : { 0, 1, 2 })
        {
          SCOPED_TRACE("radius " + std::to_string(test.radius[0]) + "x" + std::to_string(test.radius[1]) + ", " +
                       std::to_string(sharedPhases) + " shared phases from column " + std::to_string(firstColumn) +
                       " of " + std::to_string(columns) + " columns, " + cudamediantest::SeedText());
          const auto phases = CutIntoPhases(program, { sharedPhases, firstColumn, columns });
          EXPECT_LE(phases.phases.size(), static_cast<std::size_t>(sharedPhases) + 1);
          EXPECT_LE(CountInstructions(phases), program.GetInstructions().size());
          row.Check(phases);
        }
      }
    }
  }
}

TEST(CudaMedianProgramPhases, ShareSortedColumns)
{
  // A tile of one column has nothing in common with its neighbours but the sorted columns: each is sorted once.
  const auto program = BuildHierarchicalTilingProgram({ { 1, 1, 0, 0 } }, { { 1, 1, 1, 1 } });
  const auto phases = CutIntoPhases(program, { 1, 0, 1 });
  ASSERT_EQ(phases.phases.size(), 2U);
  EXPECT_EQ(phases.groupOfValue.size(), 3U);
  EXPECT_EQ(phases.phases[0].program.GetInstructions().size(), 6U);
  EXPECT_EQ(phases.phases[0].program.GetInstructions().size() + phases.phases[1].program.GetInstructions().size(),
            program.GetInstructions().size() - 2 * 6);
  EXPECT_EQ(phases.phases[1].imports.size(), 9U);
  EXPECT_EQ(phases.phases[0].last - phases.phases[0].first, 2);
}

TEST(CudaMedianProgramPhases, LeaveAProgramWholeThatSharesNothing)
{
  const auto program =
    BuildHierarchicalTilingProgram({ { 0, 2, 0, 0 } }, { { 4, 2, 1, 1 } }, { { { 1, 2, 1, 1 } }, Division::Halves });
  // Its columns are alike, but each belongs to the tile's own outputs only.
  const auto phases = CutIntoPhases(program, { 2, 0, 0 });
  ASSERT_EQ(phases.phases.size(), 1U);
  EXPECT_TRUE(phases.groupOfValue.empty());
  EXPECT_TRUE(phases.phases[0].imports.empty());
}

TEST(CudaMedianProgramPhases, RefusesBadOptions)
{
  const auto program = BuildHierarchicalTilingProgram({ { 1, 1, 0, 0 } }, { { 2, 2, 1, 1 } });
  EXPECT_THROW(CutIntoPhases(program, { -1, 0, 0 }), std::invalid_argument);
  EXPECT_THROW(CutIntoPhases(program, { 1, 2, 0 }), std::invalid_argument);
  EXPECT_THROW(CutIntoPhases(program, { 1, -1, 0 }), std::invalid_argument);
}
