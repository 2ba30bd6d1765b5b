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
// The plugin for ITK_AUTOLOAD_PATH, in a program that was built without this project.

#include "CommandLineProgram.h"

#include <gtest/gtest.h>

#include <map>

namespace
{

/** The class that each kind of image got, and its pixels. */
struct Medians
{
  std::map<std::string, std::string> classes;
  std::map<std::string, std::string> pixels;
};

/** Runs the program with a folder in ITK_AUTOLOAD_PATH; none where the text is empty. */
Medians
RunWith(const std::string & folder, const std::vector<std::string> & arguments = {})
{
  cudamediantest::RunOptions options;
  options.prepare = [&] {
    if (folder.empty())
    {
      unsetenv("ITK_AUTOLOAD_PATH");
    }
    else
    {
      setenv("ITK_AUTOLOAD_PATH", folder.c_str(), 1);
    }
  };
  const cudamediantest::ProgramResult result = cudamediantest::RunProgram(arguments, options);
  EXPECT_EQ(result.exitCode, 0) << "signal " << result.signal << ": " << result.error;
  EXPECT_EQ(result.error, "");
  Medians            medians;
  std::istringstream lines(result.output);
  std::string        kind;
  for (std::string line; std::getline(lines, line);)
  {
    const auto        blank = line.find(' ');
    const std::string first = line.substr(0, blank);
    if (first == "pixels")
    {
      medians.pixels[kind] = line;
    }
    else
    {
      kind = first;
      medians.classes[kind] = line.substr(blank + 1);
    }
  }
  return medians;
}

const std::vector<std::string> Covered{ "uchar2", "short3", "float3", "double4" };
const std::vector<std::string> CoveredRanks{ "rank-uchar2", "rank-float3" };
const std::vector<std::string> NotCovered{ "short1", "short3-float3", "longdouble2" };

} // namespace

TEST(CudaMedianFactory, IsUsedByAProgramThatKnowsNothingOfIt)
{
  const Medians without = RunWith("");
  const Medians with = RunWith(CUDAMEDIAN_AUTOLOAD_FOLDER);
  ASSERT_EQ(without.classes.size(), Covered.size() + CoveredRanks.size() + NotCovered.size() + 1);
  for (const std::string & kind : Covered)
  {
    EXPECT_EQ(without.classes.at(kind), "MedianImageFilter") << kind;
    EXPECT_EQ(with.classes.at(kind), "CudaMedianImageFilter") << kind;
  }
  for (const std::string & kind : CoveredRanks)
  {
    EXPECT_EQ(without.classes.at(kind), "RankImageFilter") << kind;
    EXPECT_EQ(with.classes.at(kind), "CudaRankImageFilter") << kind;
  }
  // 7 voxels along each of four axes, and the word before them: the pixels are there to be compared.
  EXPECT_GE(without.pixels.at("double4").size(), 2U * 7 * 7 * 7 * 7);
  EXPECT_EQ(with.pixels, without.pixels);
}

TEST(CudaMedianFactory, LeavesWhatItDoesNotCoverToItk)
{
  const Medians with = RunWith(CUDAMEDIAN_AUTOLOAD_FOLDER);
  for (const std::string & kind : NotCovered)
  {
    EXPECT_EQ(with.classes.at(kind), "MedianImageFilter") << kind;
  }
  EXPECT_EQ(with.classes.at("rank-short1"), "RankImageFilter");
}

TEST(CudaMedianFactory, FiltersOutliveTheListOfFactories)
{
  const Medians with = RunWith(CUDAMEDIAN_AUTOLOAD_FOLDER, { "--unregister" });
  EXPECT_EQ(with.classes.at("after"), "CudaMedianImageFilter");
}

TEST(CudaMedianFactory, AFolderWithoutItChangesNothing)
{
  const cudamediantest::TemporaryDirectory empty;
  const Medians                            with = RunWith(empty.Path());
  for (const std::string & kind : Covered)
  {
    EXPECT_EQ(with.classes.at(kind), "MedianImageFilter") << kind;
  }
}
