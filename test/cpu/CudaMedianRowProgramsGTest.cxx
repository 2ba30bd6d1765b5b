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
#include "RowPhases.h"
#include "RowPrograms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#ifdef CUDAMEDIAN_TEST_HIGHWAY
#  include "hwy/targets.h"
#endif

namespace
{

using namespace cudamedian;

/** Calls body() once for each instruction set of this machine, forced, and once with the choice left free. */
template <typename TBody>
void
ForEachInstructionSet(const TBody & body)
{
#ifdef CUDAMEDIAN_TEST_HIGHWAY
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1)
  {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(targets & -targets));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#endif
  body();
}

template <typename TKey>
void
CheckProgram(const RowProgram & rowProgram, std::size_t lanes, std::uint64_t seed)
{
  std::mt19937_64 generator(seed);
  const auto      program = BuildHierarchicalTilingProgram(rowProgram.radius, rowProgram.tile);
  const auto      inputs = program.GetNumberOfInputs();
  const auto      outputs = program.GetOutputs().size();
  // Rows start at odd places: the pointers of neighbouring pixels do, too.
  std::vector<std::vector<TKey>> input(inputs, std::vector<TKey>(lanes + 3));
  std::vector<std::vector<TKey>> output(outputs, std::vector<TKey>(lanes + 4, 77));
  std::vector<const TKey *>      inputRows;
  std::vector<TKey *>            outputRows;
  for (std::size_t i = 0; i < inputs; ++i)
  {
    for (auto & key : input[i])
    {
      key = static_cast<TKey>(generator() % 3 == 0 ? generator() % 4 : generator());
    }
    inputRows.push_back(input[i].data() + i % 3);
  }
  for (std::size_t i = 0; i < outputs; ++i)
  {
    outputRows.push_back(output[i].data() + i % 3);
  }
  RunRowProgram(rowProgram, inputRows.data(), outputRows.data(), lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane)
  {
    std::vector<TKey> values(inputs);
    for (std::size_t i = 0; i < inputs; ++i)
    {
      values[i] = inputRows[i][lane];
    }
    for (const auto & instruction : program.GetInstructions())
    {
      const auto a = values[instruction.a];
      const auto b = values[instruction.b];
      values.push_back(instruction.operation == TileProgram::Operation::Min ? std::min(a, b) : std::max(a, b));
    }
    for (std::size_t i = 0; i < outputs; ++i)
    {
      ASSERT_EQ(outputRows[i][lane], values[program.GetOutputs()[i]]) << "lane " << lane << ", output " << i;
    }
  }
  for (std::size_t i = 0; i < outputs; ++i)
  {
    EXPECT_EQ(outputRows[i][lanes], 77) << "written beyond the lanes";
  }
}

template <typename TKey>
void
CheckPhases(std::size_t number, std::size_t count)
{
  std::vector<TKey> row(number * count + 1);
  for (std::size_t i = 0; i < row.size(); ++i)
  {
    row[i] = static_cast<TKey>(i * 37 + 11);
  }
  std::vector<TKey> phases(number * count + 1, 99);
  SplitIntoPhases(row.data(), phases.data(), number, count);
  std::vector<const TKey *> starts;
  for (std::size_t phase = 0; phase < number; ++phase)
  {
    starts.push_back(phases.data() + phase * count);
    for (std::size_t i = 0; i < count; ++i)
    {
      ASSERT_EQ(phases[phase * count + i], row[i * number + phase]) << number << " phases of " << count;
    }
  }
  EXPECT_EQ(phases.back(), 99);
  std::vector<TKey> joined(number * count + 1, 99);
  JoinPhases(starts.data(), joined.data(), number, count);
  EXPECT_EQ(joined.back(), 99);
  joined.back() = row.back();
  EXPECT_EQ(joined, row) << number << " phases of " << count;
}

} // namespace

TEST(CudaMedianRowPrograms, YieldWhatTheProgramYields)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  ForEachInstructionSet([&] {
    for (const auto & program : GetRowPrograms())
    {
      SCOPED_TRACE("radius " + std::to_string(program.radius[0]) + "x" + std::to_string(program.radius[1]) + "x" +
                   std::to_string(program.radius[2]));
      CheckProgram<std::uint8_t>(program, 64, seed);
      CheckProgram<std::uint8_t>(program, 192, seed);
      CheckProgram<std::uint16_t>(program, 96, seed);
      CheckProgram<std::uint32_t>(program, 48, seed);
      CheckProgram<std::uint64_t>(program, 24, seed);
    }
  });
}

TEST(CudaMedianRowPrograms, AreFoundByWindowAndTile)
{
  for (const auto & program : GetRowPrograms())
  {
    EXPECT_EQ(FindRowProgram(program.radius, program.tile), &program);
    auto tile = program.tile;
    tile[0] += 1;
    EXPECT_EQ(FindRowProgram(program.radius, tile), nullptr);
    EXPECT_NE(std::string(program.getInstructionSet()), "");
  }
  EXPECT_EQ(FindRowProgram({ { 9, 1, 0, 0 } }, { { 2, 2, 1, 1 } }), nullptr);
}

TEST(CudaMedianRowPhases, SplitAndJoin)
{
  ForEachInstructionSet([] {
    for (const std::size_t number : { 1, 2, 3, 4, 5, 8 })
    {
      for (const std::size_t vectors : { 1, 2, 3, 7 })
      {
        CheckPhases<std::uint8_t>(number, vectors * rowPhaseBytes);
        CheckPhases<std::uint16_t>(number, vectors * rowPhaseBytes / 2);
        CheckPhases<std::uint32_t>(number, vectors * rowPhaseBytes / 4);
        CheckPhases<std::uint64_t>(number, vectors * rowPhaseBytes / 8);
      }
    }
  });
}
