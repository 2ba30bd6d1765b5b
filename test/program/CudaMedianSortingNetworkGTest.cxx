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
#include "SortingNetwork.h"

#include <gtest/gtest.h>

namespace
{

using cudamedian::SortedValues;
using cudamedian::TileProgram;

/** A program is only a list of operations here: one row of inputs, no outputs. */
TileProgram
MakeProgram(std::size_t inputs)
{
  return TileProgram({ { static_cast<std::int64_t>(inputs), 0, 0, 0 } }, { { 1, 1, 1, 1 } });
}

/** Runs the operations on one case of plain numbers. */
std::vector<int>
Evaluate(const TileProgram & program, std::vector<int> values)
{
  values.resize(program.GetNumberOfInputs());
  for (const auto & instruction : program.GetInstructions())
  {
    const int a = values[instruction.a];
    const int b = values[instruction.b];
    values.push_back(instruction.operation == TileProgram::Operation::Min ? std::min(a, b) : std::max(a, b));
  }
  return values;
}

SortedValues
Range(TileProgram::Value first, std::size_t count)
{
  SortedValues values;
  for (std::size_t i = 0; i < count; ++i)
  {
    values.push_back(first + static_cast<TileProgram::Value>(i));
  }
  return values;
}

} // namespace

// A merging network is right if it merges all pairs of sorted zero-one lists.
TEST(CudaMedianSortingNetwork, MergesListsOfAnyLengths)
{
  for (std::size_t m = 0; m <= 20; ++m)
  {
    for (std::size_t n = 0; n <= 20; ++n)
    {
      auto       program = MakeProgram(40);
      const auto merged = cudamedian::MergeSorted(program, Range(0, m), Range(static_cast<TileProgram::Value>(m), n));
      ASSERT_EQ(merged.size(), m + n);
      for (std::size_t onesA = 0; onesA <= m; ++onesA)
      {
        for (std::size_t onesB = 0; onesB <= n; ++onesB)
        {
          std::vector<int> inputs(m + n, 0);
          std::fill(inputs.begin() + static_cast<std::ptrdiff_t>(m - onesA),
                    inputs.begin() + static_cast<std::ptrdiff_t>(m),
                    1);
          std::fill(inputs.end() - static_cast<std::ptrdiff_t>(onesB), inputs.end(), 1);
          const auto values = Evaluate(program, inputs);
          for (std::size_t i = 0; i < merged.size(); ++i)
          {
            ASSERT_EQ(values[merged[i]], i >= m + n - onesA - onesB ? 1 : 0) << m << " and " << n << " values";
          }
        }
      }
    }
  }
}

TEST(CudaMedianSortingNetwork, MergesManyLists)
{
  auto       program = MakeProgram(7);
  const auto merged = cudamedian::MergeAllSorted(program, { { 0, 1, 2 }, { 3 }, {}, { 4, 5 }, { 6 } });
  const auto values = Evaluate(program, { 5, 6, 9, 1, 2, 8, 7 });
  const int  expected[] = { 1, 2, 5, 6, 7, 8, 9 };
  ASSERT_EQ(merged.size(), std::size(expected));
  for (std::size_t i = 0; i < merged.size(); ++i)
  {
    EXPECT_EQ(values[merged[i]], expected[i]);
  }
  EXPECT_TRUE(cudamedian::MergeAllSorted(program, {}).empty());
}
