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
#include "CudaMedianTestPlans.h"
#include "DeviceProfiles.h"
#include "ExtremumPolicy.h"
#include "ExtremumSteps.h"
#include "HierarchicalTiling.h"
#include "HistogramPolicy.h"
#include "HostHistogramPolicy.h"
#include "HostThresholdPolicy.h"
#include "KernelPolicy.h"
#include "MergePolicy.h"
#include "Planner.h"
#include "PixelNumbers.h"
#include "RankPolicy.h"
#include "RowPrograms.h"
#include "TileHost.h"
#include "TilePolicy.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <tuple>

namespace
{

using cudamedian::Backend;
using cudamedian::Extent;
using cudamedian::MedianRequest;
using cudamedian::PixelBox;

MedianRequest
MakeRequest(const Extent & inputExtent, const Extent & radius)
{
  MedianRequest request;
  request.pixelType = cudamedian::PixelType::UInt16;
  request.inputExtent = inputExtent;
  request.outputExtent = inputExtent;
  request.radius = radius;
  return request;
}

std::size_t
GetBytes(const PixelBox & box)
{
  return 2 * static_cast<std::size_t>(cudamedian::Volume(box.extent));
}

/** The slabs' outputs fill the request exactly once, each slab has the halo it needs, and all stay within budget. */
void
CheckPlan(const MedianRequest & request, std::size_t budget)
{
  const auto       plan = cudamediantest::PlanOnH200(request, Backend::Cuda, budget);
  std::set<Extent> origins;
  std::int64_t     pixels = 0;
  EXPECT_LE(plan.GetDeviceBytes(), budget);
  for (const auto & slab : plan.slabs)
  {
    pixels += cudamedian::Volume(slab.output.extent);
    EXPECT_TRUE(origins.insert(slab.output.origin).second);
    EXPECT_LE(GetBytes(slab.input), plan.deviceInputBytes);
    EXPECT_LE(GetBytes(slab.output), plan.deviceOutputBytes);
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      const auto first = slab.output.origin[axis];
      const auto last = first + slab.output.extent[axis];
      EXPECT_GE(first, request.outputOrigin[axis]);
      EXPECT_LE(last, request.outputOrigin[axis] + request.outputExtent[axis]);
      EXPECT_GT(last, first);
      EXPECT_EQ(slab.input.origin[axis], std::max<std::int64_t>(0, first - cudamedian::GetHaloBefore(request, axis)));
      EXPECT_EQ(slab.input.origin[axis] + slab.input.extent[axis],
                std::min(request.inputExtent[axis], last + request.radius[axis]));
    }
  }
  EXPECT_EQ(pixels, cudamedian::Volume(request.outputExtent));
}

} // namespace

TEST(CudaMedianPlanner, SlabsCoverTheRequestWithinAnyBudget)
{
  auto request = MakeRequest({ { 101, 67, 13, 1 } }, { { 2, 2, 1, 0 } });
  request.outputOrigin = { { 3, 5, 1, 0 } };
  request.outputExtent = { { 90, 61, 11, 1 } };
  const auto whole = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 40);
  EXPECT_EQ(whole.slabs.size(), 1U);
  const auto program = whole.candidate.programBytes;
  for (const std::size_t kibibytes : { 300, 200, 100, 50, 20, 10, 5, 2, 1 })
  {
    CheckPlan(request, program + kibibytes * 1024);
  }
}

TEST(CudaMedianPlanner, ASlabIsTheLargestThatFits)
{
  const auto request = MakeRequest({ { 64, 64, 1, 1 } }, { { 1, 1, 0, 0 } });
  const auto program = cudamediantest::PlanOnH200(request, Backend::Cuda, 1 << 30).candidate.programBytes;
  // 32 rows of output and 34 of input, 128 bytes each, fit exactly; one byte less does not hold them.
  EXPECT_EQ(cudamediantest::PlanOnH200(request, Backend::Cuda, program + 66 * 128).slabs.size(), 2U);
  EXPECT_EQ(cudamediantest::PlanOnH200(request, Backend::Cuda, program + 66 * 128 - 1).slabs.size(), 3U);
}

TEST(CudaMedianPlanner, ABudgetTooSmallNamesTheSmallestThatWorks)
{
  const auto request = MakeRequest({ { 64, 64, 64, 1 } }, { { 1, 1, 1, 0 } });
  try
  {
    cudamediantest::PlanOnH200(request, Backend::Cuda, 100);
    FAIL() << "no exception";
  }
  catch (const cudamedian::RequestError & error)
  {
    const std::string text = error.what();
    const auto        position = text.find("needs ");
    ASSERT_NE(position, std::string::npos) << text;
    const auto smallest = std::stoull(text.substr(position + 6));
    EXPECT_NO_THROW(CheckPlan(request, smallest));
    EXPECT_THROW(cudamediantest::PlanOnH200(request, Backend::Cuda, smallest - 1), cudamedian::RequestError);
  }
}

TEST(CudaMedianPlanner, HaloLargerThanTheImage)
{
  const auto request = MakeRequest({ { 9, 5, 3, 1 } }, { { 40, 7, 2, 0 } });
  CheckPlan(request, 1 << 20);
  CheckPlan(request, 2 * 16 * 5 * 3 + 16); // rows of 9 pixels take 32 bytes, one of 1 pixel takes 16
}

TEST(CudaMedianPlanner, RowsOfDeviceBuffersAreAligned)
{
  EXPECT_EQ(cudamedian::GetDevicePitch(1, 1), 16);
  EXPECT_EQ(cudamedian::GetDevicePitch(16, 1), 16);
  EXPECT_EQ(cudamedian::GetDevicePitch(17, 2), 24);
  EXPECT_EQ(cudamedian::GetDevicePitch(3, 8), 4);
  // 5 rows of 9 pixels of 16 bits: 32 bytes a row, in and out, and in with a row above and below.
  auto request = MakeRequest({ { 9, 5, 1, 1 } }, { { 1, 1, 0, 0 } });
  auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, 1 << 20);
  EXPECT_EQ(plan.deviceInputBytes, 7U * 32);
  EXPECT_EQ(plan.deviceOutputBytes, 5U * 32);
  // Outputs 1 to 8 are eight pixels, but lie across two vectors.
  request.outputOrigin[0] = 1;
  request.outputExtent[0] = 8;
  plan = cudamediantest::PlanOnH200(request, Backend::Cuda, 1 << 20);
  EXPECT_EQ(plan.deviceOutputBytes, 5U * 32);
}

TEST(CudaMedianPlanner, KernelsTakeMoreWindowsThanTheCpu)
{
  using cudamedian::Algorithm;
  const auto choose = [](const Extent & radius) {
    return cudamediantest::PlanOnH200(MakeRequest({ { 9, 9, 9, 9 } }, radius), Backend::Cuda, 1 << 20)
      .candidate.algorithm;
  };
  EXPECT_EQ(choose({ { 5, 5, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 8, 8, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 15, 0, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 9, 9, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 3, 3, 3, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 40, 0, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 300, 300, 0, 0 } }), Algorithm::Selection);
  EXPECT_EQ(choose({ { 1, 1, 1, 1 } }), Algorithm::Selection);
}

TEST(CudaMedianPlanner, AlgorithmByWindow)
{
  using cudamedian::Algorithm;
  const auto choose = [](const Extent & radius) {
    return cudamedian::PlanOnHost(MakeRequest({ { 9, 9, 9, 9 } }, radius)).candidate.algorithm;
  };
  EXPECT_EQ(choose({ { 0, 0, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 5, 5, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 0, 5, 0, 4 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 2, 0, 2, 2 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 10, 10, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 11, 11, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 3, 3, 2, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 4, 4, 1, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 4, 4, 2, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 15, 15, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 4, 4, 4, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 16, 0, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 16, 1, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 5, 1, 1, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 8, 1, 1, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 200, 200, 0, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose({ { 0, 1, 1, 6 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose({ { 1, 1, 1, 1 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose({ { 2000, 2000, 0, 0 } }), Algorithm::Selection);
  auto request = MakeRequest({ { 9, 9, 1, 1 } }, { { 6, 6, 0, 0 } });
  request.algorithm = Algorithm::TileProgram;
  request.radius = { { 16, 16, 0, 0 } };
  EXPECT_THROW(cudamedian::PlanOnHost(request), cudamedian::RequestError);
  request.radius = { { 1, 1, 0, 0 } };
  request.algorithm = Algorithm::Selection;
  EXPECT_EQ(cudamedian::PlanOnHost(request).candidate.algorithm, Algorithm::Selection);
}

/** Operations of a pixel in the program of a tile. */
double
CountOperations(const Extent & radius, const Extent & tile)
{
  const cudamedian::Window window(radius);
  const auto               program =
    cudamedian::BuildHierarchicalTilingProgram(window, tile, { cudamedian::GetRootTile(window, tile) });
  return static_cast<double>(program.GetInstructions().size()) / static_cast<double>(cudamedian::Volume(tile));
}

// 31x3 had tiles of 4x2, whose program takes 442 operations a pixel for 213 of 8x1.
TEST(CudaMedianTilePolicy, HostTilesAreLongWhereWindowsAre)
{
  for (const Extent & radius : { Extent{ { 3, 1, 0, 0 } },
                                 { { 7, 1, 0, 0 } },
                                 { { 15, 1, 0, 0 } },
                                 { { 1, 4, 0, 0 } },
                                 { { 1, 15, 0, 0 } },
                                 { { 2, 15, 0, 0 } },
                                 { { 2, 7, 0, 0 } },
                                 { { 4, 2, 0, 0 } },
                                 { { 2, 2, 1, 0 } },
                                 { { 3, 3, 1, 0 } },
                                 { { 3, 3, 2, 0 } },
                                 { { 1, 4, 4, 0 } },
                                 { { 1, 1, 7, 0 } } })
  {
    const auto tile = cudamedian::ChooseHostTile(radius);
    EXPECT_LT(CountOperations(radius, tile), CountOperations(radius, cudamedian::ChooseTile(radius)))
      << "radius " << testing::PrintToString(radius);
    EXPECT_LE(tile[0], 8) << "columns that a row's tiles have at most";
    EXPECT_LE(cudamedian::Volume(tile), 16);
  }
}

// One of 16 columns ended the process.
TEST(CudaMedianTilePolicy, TilesOfTooManyColumnsAreRefused)
{
  cudamedian::TileWork work;
  work.scheduled = cudamedian::GetScheduledProgram(Extent{ { 15, 1, 0, 0 } }, Extent{ { 8, 1, 1, 1 } });
  EXPECT_NO_THROW(cudamedian::MakeTileMethod(work));
  work.scheduled = cudamedian::GetScheduledProgram(Extent{ { 15, 1, 0, 0 } }, Extent{ { 16, 1, 1, 1 } });
  EXPECT_THROW(cudamedian::MakeTileMethod(work), std::logic_error);
}

// Local ranks took two to five times as long.
TEST(CudaMedianTilePolicy, LongWindowsAlongThreeAxesHaveProgramsOnTheHost)
{
  for (const Extent & radius : { Extent{ { 7, 1, 1, 0 } }, { { 1, 1, 7, 0 } }, { { 1, 4, 4, 0 } }, { { 4, 4, 1, 0 } } })
  {
    EXPECT_TRUE(cudamedian::IsTileProgramFastestOnHost(radius, 2)) << testing::PrintToString(radius);
    EXPECT_TRUE(cudamedian::IsTileProgramFastestOnHost(radius, 4)) << testing::PrintToString(radius);
  }
  EXPECT_FALSE(cudamedian::IsTileProgramFastestOnHost(Extent{ { 8, 1, 1, 0 } }, 2));
  EXPECT_FALSE(cudamedian::IsTileProgramFastestOnHost(Extent{ { 4, 4, 2, 0 } }, 2));
  EXPECT_FALSE(cudamedian::IsCoveredByTilePrograms(Extent{ { 5, 5, 5, 0 } }));
}

TEST(CudaMedianTilePolicy, TilesAreAtMostHalfTheWindowRoundedUp)
{
  EXPECT_EQ(cudamedian::ChooseTile({ { 1, 1, 0, 0 } }), (Extent{ { 2, 2, 1, 1 } }));
  EXPECT_EQ(cudamedian::ChooseTile({ { 2, 3, 0, 0 } }), (Extent{ { 2, 4, 1, 1 } }));
  EXPECT_EQ(cudamedian::ChooseTile({ { 5, 5, 0, 0 } }), (Extent{ { 4, 4, 1, 1 } }));
  EXPECT_EQ(cudamedian::ChooseTile({ { 2, 2, 2, 0 } }), (Extent{ { 2, 2, 2, 1 } }));
  EXPECT_EQ(cudamedian::ChooseTile({ { 0, 0, 0, 0 } }), (Extent{ { 1, 1, 1, 1 } }));
  EXPECT_EQ(cudamedian::ChooseHostTile({ { 1, 1, 0, 0 } }), (Extent{ { 2, 4, 1, 1 } }));
  EXPECT_EQ(cudamedian::ChooseHostTile({ { 2, 3, 0, 0 } }), (Extent{ { 2, 4, 1, 1 } }));
  EXPECT_EQ(cudamedian::GetRootTile({ { 1, 1, 0, 0 } }, { { 2, 4, 1, 1 } }), (Extent{ { 2, 2, 1, 1 } }));
  EXPECT_EQ(cudamedian::GetRootTile({ { 2, 2, 0, 0 } }, { { 2, 4, 1, 1 } }), (Extent{ { 2, 4, 1, 1 } }));
}

TEST(CudaMedianRankPolicy, BlocksHoldTogether)
{
  for (const int bytes : { 1, 2, 4, 8 })
  {
    for (const Extent & radius : { Extent{ { 9, 9, 0, 0 } },
                                   Extent{ { 30, 2, 0, 0 } },
                                   Extent{ { 45, 45, 0, 0 } },
                                   Extent{ { 0, 3, 3, 3 } },
                                   Extent{ { 0, 0, 0, 0 } },
                                   Extent{ { 0, 0, 0, 500 } },
                                   Extent{ { 7, 7, 7, 0 } } })
    {
      cudamedian::RankShape shape{};
      if (bytes == 8 && radius[0] == 45)
      {
        EXPECT_FALSE(cudamedian::FindCounterShape(radius, bytes, shape, cudamedian::GetH200Traits()))
          << "91x91 pixels and more of 64 bits";
        continue;
      }
      ASSERT_TRUE(cudamedian::FindCounterShape(radius, bytes, shape, cudamedian::GetH200Traits()));
      EXPECT_EQ(shape.threads % (shape.lanes[0] * shape.lanes[1]), 0);
      EXPECT_EQ(shape.tile[2], shape.threads / (shape.lanes[0] * shape.lanes[1]) * shape.steps);
      int         pixels = 1;
      std::size_t axes = 0;
      for (int axis = 0; axis < 3; ++axis)
      {
        EXPECT_EQ(shape.region[axis], shape.tile[axis] + 2 * radius[static_cast<std::size_t>(shape.axes[axis])]);
        pixels *= shape.region[axis];
      }
      for (const int axis : shape.axes)
      {
        axes |= std::size_t{ 1 } << axis;
      }
      EXPECT_EQ(axes, 15U) << "each axis once";
      EXPECT_EQ(radius[static_cast<std::size_t>(shape.axes[3])], 0);
      EXPECT_EQ(shape.region[0] % 2, 0) << "pairs of ranks are aligned alike in all rows";
      EXPECT_EQ(shape.pixels, pixels);
      if (bytes == 1)
      {
        EXPECT_GE(32 / shape.counterBits * shape.words, 256) << "a counter for each value";
        EXPECT_LT((2 * radius[0] + 1) * (2 * radius[1] + 1) * (2 * radius[2] + 1) * (2 * radius[3] + 1),
                  1 << shape.counterBits);
        EXPECT_EQ(shape.scratchBytes, 0);
      }
      else
      {
        const auto below = (2 * radius[0] + 1) * (2 * radius[1] + 1) * (2 * radius[2] + 1) * (2 * radius[3] + 1) / 2;
        EXPECT_LE(shape.pixels, shape.sortPixels);
        EXPECT_GE(below, shape.firstRank + 32) << "the lowest median is behind the first word";
        EXPECT_LT(shape.pixels - 1 - below, shape.firstRank + 32 * (shape.words - 1))
          << "the highest is not in the last";
        EXPECT_GE(shape.scratchBytes, shape.pixels * (2 + bytes));
      }
      EXPECT_LE(shape.words << shape.rankShift, 32768) << "packed ranks have 15 bits";
      EXPECT_EQ(1 << shape.rankShift, 4 * shape.threads);
      // The words of all threads lie before the ranks of all pixels.
      EXPECT_GE(shape.sharedBytes, 4 * shape.words * shape.threads + 2 * shape.pixels);
      EXPECT_LE(shape.sharedBytes, 99 * 1024) << "what blocks of sm_86 and sm_89 have";
    }
  }
}

/** Rows of the image lie along the threads where that is worth more than walking along the longest axis. */
TEST(CudaMedianRankPolicy, WindowsWalkAcrossRows)
{
  for (const int bytes : { 1, 2, 4, 8 })
  {
    const auto getWalk = [&](const Extent & radius) {
      cudamedian::RankShape shape{};
      EXPECT_TRUE(cudamedian::FindRankShape(radius, bytes, shape, cudamedian::GetH200Traits()));
      EXPECT_EQ(shape.axes[0] == 0, shape.axes[2] != 0) << "rows of the image first, unless windows walk along them";
      return shape.axes[2];
    };
    EXPECT_EQ(getWalk({ { 6, 1, 5, 0 } }), 2) << "13x3x11";
    EXPECT_EQ(getWalk({ { 10, 10, 1, 0 } }), 1) << "21x21x3";
    EXPECT_EQ(getWalk({ { 3, 3, 3, 0 } }), 2);
    EXPECT_EQ(getWalk({ { 7, 3, 3, 0 } }), 0) << "15x7x7, where it saves too much";
  }
}

TEST(CudaMedianRankPolicy, WindowsBeyondAnyBlock)
{
  cudamedian::RankShape shape{};
  EXPECT_FALSE(cudamedian::FindRankShape({ { 1, 1, 1, 1 } }, 2, shape, cudamedian::GetH200Traits()));
  EXPECT_FALSE(cudamedian::FindCounterShape({ { 70, 70, 0, 0 } }, 2, shape, cudamedian::GetH200Traits()));
  for (const int bytes : { 2, 4, 8 })
  {
    EXPECT_TRUE(cudamedian::FindRankShape({ { 70, 70, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()))
      << "windows that keep a threshold";
    EXPECT_TRUE(cudamedian::FindRankShape({ { 200, 200, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()))
      << "in large regions";
    EXPECT_FALSE(cudamedian::FindRankShape({ { 201, 201, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()));
    // Which take more memory than others.
    auto medium = cudamedian::GetH200Traits();
    medium.blockSharedBytes = 163 * 1024;
    EXPECT_FALSE(cudamedian::FindRankShape({ { 110, 110, 0, 0 } }, bytes, shape, medium));
  }
  // Without the memory for as many counters as 16 bits have values.
  auto small = cudamedian::GetH200Traits();
  small.blockSharedBytes = 99 * 1024;
  EXPECT_FALSE(cudamedian::FindRankShape({ { 70, 70, 0, 0 } }, 4, shape, small));
  EXPECT_FALSE(
    cudamedian::FindRankShape({ { std::int64_t{ 1 } << 40, 0, 0, 0 } }, 2, shape, cudamedian::GetH200Traits()));
  EXPECT_FALSE(cudamedian::FindHostRankShape({ { 130, 130, 0, 0 } }, 2, { { 512, 512, 1, 1 } }, 4, shape));
  EXPECT_FALSE(cudamedian::FindHostRankShape({ { 0, 1, 1, 1 } }, 2, { { 512, 512, 1, 1 } }, 4, shape));
  EXPECT_FALSE(
    cudamedian::FindHostRankShape({ { std::int64_t{ 1 } << 40, 0, 0, 0 } }, 2, { { 9, 1, 1, 1 } }, 4, shape));
  auto request = MakeRequest({ { 9, 9, 1, 1 } }, { { 200, 200, 0, 0 } });
  request.algorithm = cudamedian::Algorithm::LocalRank;
  for (const auto backend : { Backend::Cpu, Backend::Cuda })
  {
    EXPECT_THROW(cudamediantest::PlanOnH200(request, backend, 1 << 20), cudamedian::RequestError);
  }
}

/** A window along three axes that the CPU's blocks do not cover is not told that three axes are covered. */
TEST(CudaMedianRankPolicy, WhatDoesNotCoverAWindowSaysWhy)
{
  auto request = MakeRequest({ { 9, 9, 9, 9 } }, { { 0, 1, 1, 1 } });
  request.algorithm = cudamedian::Algorithm::LocalRank;
  EXPECT_NO_THROW(cudamedian::PlanOnHost(request)) << "windows that keep a threshold";
  request.pixelType = cudamedian::PixelType::UInt8;
  request.outputPixelBytes = 1;
  EXPECT_NO_THROW(cudamediantest::PlanOnH200(request, Backend::Cuda, 1 << 30));
  try
  {
    cudamedian::PlanOnHost(request);
    FAIL() << "no exception";
  }
  catch (const cudamedian::RequestError & error)
  {
    EXPECT_NE(std::string(error.what()).find("two axes besides the first"), std::string::npos) << error.what();
  }
}

/** A tile of a measured row, or of the rule, extends along axes that the window extends along, and along axis 0, in
 * which rows are moved: along any other axis its outputs would share nothing. */
TEST(CudaMedianKernelPolicy, TilesExtendAlongTheWindow)
{
  for (const Extent & radius : { Extent{ { 1, 1, 0, 0 } },
                                 Extent{ { 2, 2, 0, 0 } },
                                 Extent{ { 3, 3, 0, 0 } },
                                 Extent{ { 4, 4, 0, 0 } },
                                 Extent{ { 5, 5, 0, 0 } },
                                 Extent{ { 6, 6, 0, 0 } },
                                 Extent{ { 7, 7, 0, 0 } },
                                 Extent{ { 8, 8, 0, 0 } },
                                 Extent{ { 1, 1, 1, 0 } },
                                 Extent{ { 2, 2, 2, 0 } } })
  {
    for (const int bytes : { 2, 4 })
    {
      const auto policy =
        cudamedian::GetKernelPolicy(radius, cudamedian::GetKernelKind(bytes, 90), cudamedian::GetH200Traits());
      for (int axis = 0; axis < cudamedian::Dimension; ++axis)
      {
        EXPECT_GE(policy.tile[axis], 1);
        EXPECT_TRUE(policy.tile[axis] == 1 || axis == 0 || radius[axis] > 0)
          << "radius " << radius[0] << "x" << radius[1] << "x" << radius[2] << "x" << radius[3] << ", " << bytes
          << " bytes, axis " << axis;
      }
      EXPECT_LE(policy.blockX * policy.blockY, 1024);
    }
  }
}

/** Three blocks of 4 warps, where one of 8 would be all that a multiprocessor of an H200 has registers for. Of programs
 * of a row of outputs the compiler is told so. */
TEST(CudaMedianKernelPolicy, BlocksAreSmallWhereMoreOfThemFit)
{
  struct Case
  {
    Extent radius;
    int    rows;
    int    residentBlocks;
  };
  for (const Case & is : { Case{ { { 12, 1, 0, 0 } }, 4, 3 }, // 25x3 keeps 123 values
                           Case{ { { 17, 1, 0, 0 } }, 4, 3 },
                           Case{ { { 1, 25, 0, 0 } }, 4, 3 },
                           Case{ { { 1, 1, 5, 0 } }, 4, 0 },
                           Case{ { { 2, 1, 0, 0 } }, 4, 0 },  // few values
                           Case{ { { 29, 1, 0, 0 } }, 8, 0 }, // 150 values, for which three blocks leave too little
                           Case{ { { 6, 5, 0, 0 } }, 8, 0 } })
  {
    for (const int bytes : { 2, 4 })
    {
      const auto policy =
        cudamedian::GetKernelPolicy(is.radius, cudamedian::GetKernelKind(bytes, 90), cudamedian::GetH200Traits());
      EXPECT_EQ(policy.blockY, is.rows) << testing::PrintToString(is.radius) << ", " << bytes << " bytes";
      EXPECT_EQ(policy.residentBlocks, is.residentBlocks) << testing::PrintToString(is.radius) << ", " << bytes;
    }
  }
}

TEST(CudaMedianHistogramPolicy, BlocksHoldTogether)
{
  for (const int bytes : { 1, 2, 4, 8 })
  {
    for (const Extent & radius : { Extent{ { 75, 75, 0, 0 } },
                                   Extent{ { 30, 2, 0, 0 } },
                                   Extent{ { 202, 202, 0, 0 } },
                                   Extent{ { 300, 300, 0, 0 } },
                                   Extent{ { 9, 9, 9, 0 } },
                                   Extent{ { 0, 3, 9, 3 } },
                                   Extent{ { 0, 0, 0, 0 } },
                                   Extent{ { 0, 0, 0, 500 } },
                                   Extent{ { 43, 43, 43, 0 } } })
    {
      cudamedian::HistogramShape shape{};
      ASSERT_TRUE(cudamedian::FindHistogramShape(radius, bytes, shape, cudamedian::GetH200Traits()));
      std::size_t  axes = 0;
      std::int64_t pixels = 1;
      for (std::size_t axis = 0; axis < 3; ++axis)
      {
        EXPECT_EQ(shape.window[axis], 2 * radius[static_cast<std::size_t>(shape.axes[axis])] + 1);
        EXPECT_EQ(shape.region[axis], shape.tile[axis] + shape.window[axis] - 1);
        pixels *= shape.region[axis];
      }
      for (const int axis : shape.axes)
      {
        axes |= std::size_t{ 1 } << axis;
      }
      EXPECT_EQ(axes, 15U) << "each axis once";
      EXPECT_EQ(radius[static_cast<std::size_t>(shape.axes[3])], 0);
      EXPECT_GE(shape.window[1], shape.window[2]);
      EXPECT_LE(shape.window[1] * shape.window[2], (1 << shape.columnBits) - 1);
      EXPECT_TRUE(shape.counterBytes == 4 || cudamedian::Window(radius).CountPixels() <= 65535);
      EXPECT_EQ(shape.tile[0] % shape.width, 0);
      EXPECT_EQ(shape.tile[1] % shape.rows, 0);
      EXPECT_EQ(shape.width % shape.segment, 0);
      EXPECT_LE(shape.GetThreads(), 512);
      EXPECT_LE(shape.sharedBytes, 232448);
      EXPECT_EQ(shape.columnsInScratch, radius[0] > 299) << bytes << " bytes, radius " << cudamedian::Join(radius);
      const auto columnsBytes = shape.columnsInScratch ? shape.CountBlocks() * shape.GetColumnsBytes() : 0;
      EXPECT_GE(shape.scratchBytes, columnsBytes);
      if (bytes == 1)
      {
        EXPECT_LT(shape.scratchBytes, columnsBytes + 256);
        continue;
      }
      EXPECT_EQ(shape.pixels, pixels);
      EXPECT_LE(shape.pixels, 1 << 20);
      EXPECT_GE(shape.scratchBytes, columnsBytes + pixels * (2 * (bytes + 4) + 1));
      EXPECT_LT(shape.positionBits[2], 32) << "bits are left for the region's number";
      for (std::size_t axis = 0; axis < 3; ++axis)
      {
        const int bits = shape.positionBits[axis] - (axis == 0 ? 0 : shape.positionBits[axis - 1]);
        EXPECT_LT(shape.region[axis], 1 << (bits - 1)) << "and one to guard each coordinate";
      }
    }
  }
}

/** Rows over a copied border begin up to a vector before the window does, and what is between passes has them too. */
TEST(CudaMedianExtremumPolicy, ScratchHoldsTheRowsOfCopiedBorders)
{
  for (const auto & [size, radius] : { std::pair<Extent, Extent>{ { { 4, 1, 1, 1 } }, { { 150, 150, 0, 0 } } },
                                       { { { 6720, 400, 1, 1 } }, { { 150, 150, 0, 0 } } },
                                       { { { 131, 77, 5, 1 } }, { { 70, 3, 70, 0 } } } })
  {
    auto request = MakeRequest(size, radius);
    request.pixelType = cudamedian::PixelType::UInt8;
    request.rank = 0;
    request.border.fill(cudamedian::Border::Constant);
    const auto & device = cudamedian::GetH200Traits();
    const auto   plan = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 30);
    ASSERT_EQ(plan.candidate.algorithm, cudamedian::Algorithm::Extremum);
    const auto shapes = cudamedian::ChooseExtremumPasses(cudamedian::GetExtremumReach(request), size, 1, device).shapes;
    ASSERT_GT(shapes.size(), 1U);
    const auto slab = cudamedian::GetInputBox(request, { {}, size });
    EXPECT_GE(plan.candidate.scratchBytes,
              2 * static_cast<std::size_t>(cudamedian::CountExtremumBuffer(shapes, size, slab.extent, 16)))
      << size[0] << "x" << size[1];
  }
}

/** What a region has beyond the outputs is sorted for nothing. */
TEST(CudaMedianHistogramPolicy, RegionsFollowTheOutputs)
{
  const cudamedian::Extent volume{ { 512, 512, 8, 1 } };
  const auto               countSorted = [&](const cudamedian::HistogramShape & shape) {
    return cudamedian::CountHistogramRegions(shape, volume) * shape.pixels;
  };
  cudamedian::HistogramShape many{};
  cudamedian::HistogramShape few{};
  ASSERT_TRUE(cudamedian::FindHistogramShape({ { 7, 7, 7, 0 } }, 2, many, cudamedian::GetH200Traits()));
  ASSERT_TRUE(cudamedian::FindHistogramShape({ { 7, 7, 7, 0 } }, 2, few, cudamedian::GetH200Traits(), volume));
  EXPECT_GT(many.tile[2], 8);
  EXPECT_LT(countSorted(few), countSorted(many));
  EXPECT_LT(cudamedian::EstimateHistogramPicoseconds(few, cudamedian::GetH200Traits(), volume),
            cudamedian::EstimateHistogramPicoseconds(many, cudamedian::GetH200Traits(), volume));
}

/** Columns of up to 1,023 pixels are counted in 10 bits, which leaves shared memory room for as many more warps. */
TEST(CudaMedianHistogramPolicy, ColumnsAreCountedInFewBits)
{
  for (const auto & [radius, bits] : { std::pair<Extent, int>{ { { 127, 127, 0, 0 } }, 8 },
                                       { { { 128, 128, 0, 0 } }, 10 },
                                       { { { 150, 150, 0, 0 } }, 10 },
                                       { { { 200, 200, 0, 0 } }, 10 },
                                       { { { 7, 7, 7, 0 } }, 8 },
                                       { { { 8, 8, 8, 0 } }, 10 },
                                       { { { 15, 15, 15, 0 } }, 10 },
                                       { { { 16, 16, 16, 0 } }, 16 } })
  {
    for (const int bytes : { 1, 2, 4, 8 })
    {
      cudamedian::HistogramShape shape{};
      ASSERT_TRUE(cudamedian::FindHistogramShape(radius, bytes, shape, cudamedian::GetH200Traits()));
      const bool isWideCube = bytes > 1 && radius[2] > 0;
      EXPECT_EQ(shape.columnBits, isWideCube && bits == 10 ? 16 : bits)
        << cudamedian::Join(radius) << ", " << bytes << " bytes";
      EXPECT_FALSE(shape.columnsInScratch);
      const int warps =
        cudamedian::GetH200Traits().CountBlocks(shape.sharedBytes, shape.GetThreads()) * shape.GetThreads() / 32;
      EXPECT_GE(warps, radius[0] == 200 ? 7 : 8) << cudamedian::Join(radius) << ", " << bytes << " bytes";
    }
  }
}

TEST(CudaMedianHistogramPolicy, WindowsBeyondAnyBlock)
{
  cudamedian::HistogramShape shape{};
  EXPECT_FALSE(cudamedian::FindHistogramShape({ { 1, 1, 1, 1 } }, 1, shape, cudamedian::GetH200Traits()));
  for (const int bytes : { 1, 2, 4, 8 })
  {
    EXPECT_TRUE(cudamedian::FindHistogramShape({ { 100, 100, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()));
    EXPECT_FALSE(shape.columnsInScratch);
    EXPECT_TRUE(cudamedian::FindHistogramShape({ { 500, 500, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()));
    EXPECT_TRUE(shape.columnsInScratch);
    EXPECT_EQ(cudamedian::FindHistogramShape({ { 501, 501, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()),
              bytes == 1);
    EXPECT_EQ(cudamedian::FindHistogramShape({ { 23169, 23169, 0, 0 } }, bytes, shape, cudamedian::GetH200Traits()),
              bytes == 1);
  }
  EXPECT_FALSE(cudamedian::FindHistogramShape({ { 23170, 23170, 0, 0 } }, 1, shape, cudamedian::GetH200Traits()))
    << "2^31 pixels and more";
  EXPECT_TRUE(cudamedian::FindHistogramShape({ { 127, 127, 127, 0 } }, 1, shape, cudamedian::GetH200Traits()));
  EXPECT_FALSE(cudamedian::FindHistogramShape({ { 9, 128, 128, 0 } }, 1, shape, cudamedian::GetH200Traits()));
  EXPECT_FALSE(cudamedian::FindHistogramShape({ { 44, 44, 44, 0 } }, 2, shape, cudamedian::GetH200Traits()));
  EXPECT_FALSE(
    cudamedian::FindHistogramShape({ { std::int64_t{ 1 } << 40, 0, 0, 0 } }, 1, shape, cudamedian::GetH200Traits()));
  auto request = MakeRequest({ { 90, 50, 1, 1 } }, { { 300, 300, 0, 0 } });
  request.algorithm = cudamedian::Algorithm::SlidingHistogram;
  const auto getError = [&](Backend backend) -> std::string {
    try
    {
      cudamediantest::PlanOnH200(request, backend, std::size_t{ 1 } << 30);
    }
    catch (const cudamedian::RequestError & error)
    {
      return error.what();
    }
    return "";
  };
  request.radius = { { 50, 50, 50, 0 } };
  request.pixelType = cudamedian::PixelType::Int16;
  EXPECT_NE(getError(Backend::Cuda).find("87x87x87"), std::string::npos) << getError(Backend::Cuda);
  request.pixelType = cudamedian::PixelType::UInt8;
  request.radius = { { 0, 33000, 0, 0 } };
  EXPECT_NE(getError(Backend::Cpu).find("65535"), std::string::npos) << getError(Backend::Cpu);
  request.radius = { { 1000, 1000, 0, 0 } };
  request.pixelType = cudamedian::PixelType::Int16;
  EXPECT_NE(getError(Backend::Cpu).find("2097152"), std::string::npos) << getError(Backend::Cpu);
}

TEST(CudaMedianPlanner, OnTheCpuLargeWindowsSlideOverColumns)
{
  using cudamedian::Algorithm;
  using cudamedian::PixelType;
  const auto choose = [](PixelType type, const Extent & radius) {
    auto request = MakeRequest({ { 300, 200, 90, 2 } }, radius);
    request.pixelType = type;
    return cudamedian::PlanOnHost(request).candidate.algorithm;
  };
  EXPECT_EQ(choose(PixelType::UInt8, { { 9, 9, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 10, 10, 0, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::Int8, { { 127, 127, 0, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 128, 128, 0, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 2, 2, 2, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 3, 3, 2, 0 } }), Algorithm::SlidingHistogram);
  // Unless it is compiled ahead.
  const Extent seven{ { 3, 3, 3, 0 } };
  EXPECT_EQ(choose(PixelType::UInt8, seven),
            cudamedian::FindRowProgram(seven, 1) ? Algorithm::TileProgram : Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 2, 2, 2, 1 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::Int16, { { 10, 10, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::Int16, { { 11, 11, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 40, 40, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 75, 75, 0, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::Int16, { { 4, 4, 4, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 7, 7, 7, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 3, 3, 3, 0 } }),
            cudamedian::FindRowProgram(seven, 2) ? Algorithm::TileProgram : Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Float64, { { 12, 12, 12, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::Float32, { { 8, 6, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::Float32, { { 9, 9, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Float64, { { 500, 500, 0, 0 } }), Algorithm::SlidingHistogram);
  // Of one axis nothing is shared.
  EXPECT_EQ(choose(PixelType::Int16, { { 40, 0, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 1000, 1000, 0, 0 } }), Algorithm::Selection);
}

// The blocks cover the outputs, their regions are small enough, and each work unit has one where there are enough.
TEST(CudaMedianHostHistogramPolicy, BlocksCoverTheOutputs)
{
  using namespace cudamedian;
  for (const auto & radius : { Extent{ { 10, 10, 0, 0 } },
                               Extent{ { 3, 4, 5, 0 } },
                               Extent{ { 0, 9, 9, 0 } },
                               Extent{ { 1, 1, 2, 3 } },
                               Extent{ { 600, 600, 0, 0 } } })
  {
    for (const auto & extent : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 1000, 700, 1, 1 } }, Extent{ { 33, 9, 70, 5 } } })
    {
      for (const unsigned units : { 1U, 7U })
      {
        HostBlockShape shape{};
        ASSERT_TRUE(FindHostHistogramShape(radius, 2, extent, units, shape));
        EXPECT_EQ(shape.axes[0], 0);
        EXPECT_EQ(std::set<int>(shape.axes, shape.axes + Dimension).size(), std::size_t{ Dimension });
        EXPECT_LE(shape.CountPixels(), std::int64_t{ 1 } << 21);
        for (int axis = 0; axis < Dimension; ++axis)
        {
          EXPECT_GE(shape.tile[axis], 1);
          EXPECT_EQ(shape.window[axis], 2 * radius[shape.axes[axis]] + 1);
        }
        EXPECT_GE(shape.CountBlocks(extent), extent[0] == 1000 ? units : 1);
      }
    }
  }
  HostBlockShape shape{};
  EXPECT_FALSE(FindHostHistogramShape(Extent{ { 1000, 1000, 0, 0 } }, 2, { { 500, 500, 1, 1 } }, 1, shape));
  EXPECT_FALSE(IsCoveredByHostHistograms(Extent{ { 32767, 32767, 32767, 32767 } }, 2));
}

// The same of windows that keep a threshold, whose regions have at most 255 pixels along an axis, and places of 16
// bits.
TEST(CudaMedianHostThresholdPolicy, BlocksCoverTheOutputs)
{
  using namespace cudamedian;
  for (const auto & radius : { Extent{ { 10, 10, 0, 0 } },
                               Extent{ { 3, 4, 5, 0 } },
                               Extent{ { 0, 9, 9, 0 } },
                               Extent{ { 1, 1, 2, 3 } },
                               Extent{ { 119, 119, 0, 0 } } })
  {
    for (const auto & extent : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 1000, 700, 1, 1 } }, Extent{ { 33, 9, 70, 5 } } })
    {
      for (const unsigned units : { 1U, 7U })
      {
        HostBlockShape shape{};
        ASSERT_TRUE(FindHostThresholdShape(radius, 2, extent, units, shape));
        EXPECT_EQ(shape.axes[0], 0);
        int bits = 0;
        for (int axis = 0; axis < Dimension; ++axis)
        {
          EXPECT_GE(shape.tile[axis], 1);
          EXPECT_LE(shape.GetRegion(axis), 255);
          bits += CountPositionBits(shape.GetRegion(axis));
        }
        EXPECT_LE(bits, 16);
        EXPECT_GE(shape.CountBlocks(extent), extent[0] == 1000 ? units : 1);
      }
    }
  }
  HostBlockShape shape{};
  EXPECT_FALSE(FindHostThresholdShape(Extent{ { 120, 120, 0, 0 } }, 2, { { 500, 500, 1, 1 } }, 1, shape));
  EXPECT_FALSE(FindHostThresholdShape(Extent{ { 5, 5, 0, 0 } }, 1, { { 500, 500, 1, 1 } }, 1, shape)) << "histograms";
}

TEST(CudaMedianPlanner, OnCudaTheLargestWindowsSlideOverColumns)
{
  using cudamedian::Algorithm;
  using cudamedian::PixelType;
  const auto plan = [](PixelType type, const Extent & radius, std::size_t budget) {
    auto request = MakeRequest({ { 300, 200, 90, 1 } }, radius);
    request.pixelType = type;
    return cudamediantest::PlanOnH200(request, Backend::Cuda, budget);
  };
  constexpr std::size_t large = std::size_t{ 1 } << 30;
  EXPECT_EQ(plan(PixelType::UInt8, { { 75, 75, 0, 0 } }, large).candidate.algorithm, Algorithm::SlidingHistogram);
  EXPECT_EQ(plan(PixelType::UInt8, { { 20, 20, 0, 0 } }, large).candidate.algorithm, Algorithm::LocalRank);
  EXPECT_EQ(plan(PixelType::Int16, { { 25, 25, 0, 0 } }, large).candidate.algorithm, Algorithm::LocalRank);
  EXPECT_EQ(plan(PixelType::Float64, { { 201, 201, 0, 0 } }, large).candidate.algorithm, Algorithm::SlidingHistogram);
  const auto sorted = plan(PixelType::Int16, { { 12, 12, 12, 0 } }, large);
  EXPECT_EQ(sorted.candidate.algorithm, Algorithm::SlidingHistogram);
  cudamedian::HistogramShape histogram{};
  ASSERT_TRUE(cudamedian::FindHistogramShape({ { 12, 12, 12, 0 } }, 2, histogram, cudamedian::GetH200Traits()));
  EXPECT_GE(sorted.candidate.scratchBytes, cudamedian::GetLeastHistogramScratchBytes(histogram));
  EXPECT_LE(sorted.candidate.scratchBytes, std::size_t{ 256 } << 20);
  EXPECT_LE(sorted.GetDeviceBytes(), large);
  // Sorting a region takes memory, bins of 8 bits none.
  const auto small = plan(PixelType::Int16, { { 106, 106, 0, 0 } }, std::size_t{ 1 } << 20);
  EXPECT_EQ(small.candidate.algorithm, Algorithm::Selection);
  EXPECT_NE(small.algorithmReason.find("region of sliding histograms"), std::string::npos) << small.algorithmReason;
  EXPECT_EQ(plan(PixelType::UInt8, { { 75, 75, 0, 0 } }, std::size_t{ 1 } << 20).candidate.scratchBytes, 0U);
  EXPECT_NE(
    plan(PixelType::UInt8, { { 9, 128, 128, 0 } }, large).algorithmReason.find("Sliding histograms do not cover"),
    std::string::npos);
}

TEST(CudaMedianMergePolicy, PassesHoldTogether)
{
  using cudamedian::MergePassKind;
  const Extent  size{ { 700, 500, 3, 2 } };
  constexpr int available = 64 << 20;
  for (const Extent & radius : { Extent{ { 0, 0, 0, 0 } },
                                 Extent{ { 1, 1, 0, 0 } },
                                 Extent{ { 10, 10, 0, 0 } },
                                 Extent{ { 37, 37, 0, 0 } },
                                 Extent{ { 3, 60, 0, 0 } },
                                 Extent{ { 0, 5, 0, 9 } },
                                 Extent{ { 0, 0, 40, 0 } } })
  {
    for (const int bytes : { 1, 2, 4, 8 })
    {
      SCOPED_TRACE("radius " + std::to_string(radius[0]) + ", " + std::to_string(radius[1]) + ", bytes " +
                   std::to_string(bytes));
      cudamedian::MergeShape shape{};
      ASSERT_TRUE(cudamedian::FindMergeShape(radius, bytes, size, available, shape));
      EXPECT_LE(shape.scratchBytes, available);
      EXPECT_EQ(radius[static_cast<std::size_t>(shape.axes[2])], 0);
      EXPECT_EQ(radius[static_cast<std::size_t>(shape.axes[3])], 0);
      std::set<int> axes;
      for (int axis = 0; axis < cudamedian::Dimension; ++axis)
      {
        axes.insert(shape.axes[axis]);
        if (axis < 2)
        {
          EXPECT_EQ(shape.window[axis], 2 * radius[static_cast<std::size_t>(shape.axes[axis])] + 1);
          EXPECT_LE(shape.tile[axis], shape.window[axis]);
        }
      }
      EXPECT_EQ(axes.size(), 4U) << "each axis once";
      const auto passes = cudamedian::ListMergePasses(shape);
      EXPECT_EQ(passes.front().kind, MergePassKind::CopyKeys);
      EXPECT_EQ(passes.back().kind, MergePassKind::SelectKeys);
      const auto memory = cudamedian::GetMergeMemory(passes, bytes);
      EXPECT_EQ(memory.end * bytes, shape.scratchBytes);
      for (const auto & pass : passes)
      {
        EXPECT_GE(pass.tasks, 1);
        EXPECT_EQ(pass.threads % 32, 0);
        EXPECT_LE(pass.threads,
                  pass.kind == MergePassKind::SortCores || pass.kind == MergePassKind::SplitCores ? 1024 : 256);
        const auto spread = cudamedian::GetMergeSpread(pass, bytes);
        EXPECT_TRUE(spread.tasks > 0 || pass.workKeys * bytes <= cudamedian::unaskedSharedBytes);
        EXPECT_TRUE(spread.tasks == 0 || spread.blocks > 0);
        EXPECT_LE(memory.work + spread.tasks * pass.workKeys, memory.end);
      }
      // What an output's window has besides the core of its tile is one line along each axis and a corner at most.
      const auto & last = passes.back().parent;
      const auto   window = std::int64_t{ shape.window[0] } * shape.window[1];
      EXPECT_LE(last.tile[0], 2);
      EXPECT_LE(last.tile[1], 2);
      EXPECT_LE(last.first, window / 2);
      EXPECT_LE(last.core, shape.window[0] + shape.window[1]);
      // Smaller slabs go through in the memory of the whole.
      const auto fitted = cudamedian::FitMergeRegion(shape, { { 5, 3, 1, 1 } }, bytes);
      EXPECT_LE(fitted.scratchBytes, shape.scratchBytes);
    }
  }
}

TEST(CudaMedianMergePolicy, WindowsAndBudgetsItDoesNotCover)
{
  using cudamedian::Algorithm;
  auto       request = MakeRequest({ { 900, 700, 1, 1 } }, { { 300, 300, 0, 0 } });
  const auto getError = [&](Backend backend, std::size_t budget) -> std::string {
    try
    {
      cudamediantest::PlanOnH200(request, backend, budget);
    }
    catch (const cudamedian::RequestError & error)
    {
      return error.what();
    }
    return "";
  };
  constexpr std::size_t large = std::size_t{ 1 } << 30;
  request.algorithm = Algorithm::MergeTiling;
  EXPECT_EQ(getError(Backend::Cuda, large), "");
  EXPECT_NE(getError(Backend::Cpu, large).find("CUDA only"), std::string::npos) << getError(Backend::Cpu, large);
  EXPECT_NE(getError(Backend::Cuda, 1 << 20).find("300x300x0x0"), std::string::npos);
  EXPECT_NE(getError(Backend::Cuda, 1 << 20).find("quarter of the device memory budget"), std::string::npos);
  request.radius = { { 2, 2, 2, 0 } };
  EXPECT_NE(getError(Backend::Cuda, large).find("at most two axes"), std::string::npos);
}

TEST(CudaMedianPlanner, BeyondSlidingHistogramsWindowsMergeTiles)
{
  using cudamedian::Algorithm;
  const auto plan = [](const Extent & size, const Extent & radius, std::size_t budget) {
    return cudamediantest::PlanOnH200(MakeRequest(size, radius), Backend::Cuda, budget);
  };
  constexpr std::size_t large = std::size_t{ 1 } << 30;
  const Extent          size{ { 3000, 2000, 1, 1 } };
  const auto            merged = plan(size, { { 600, 600, 0, 0 } }, large);
  EXPECT_EQ(merged.candidate.algorithm, Algorithm::MergeTiling);
  EXPECT_NE(merged.algorithmReason.find("faster than selection"), std::string::npos) << merged.algorithmReason;
  cudamedian::MergeShape shape{};
  ASSERT_TRUE(cudamedian::FindMergeShape({ { 600, 600, 0, 0 } }, 2, size, large / 4, shape));
  EXPECT_EQ(merged.candidate.scratchBytes, static_cast<std::size_t>(shape.scratchBytes));
  EXPECT_LE(merged.GetDeviceBytes(), large);
  EXPECT_EQ(plan(size, { { 300, 300, 0, 0 } }, large).candidate.algorithm, Algorithm::SlidingHistogram);
  // Selection reads no more of a window than the image has.
  const auto selected = plan({ { 30, 20, 1, 1 } }, { { 4000, 4000, 0, 0 } }, large);
  EXPECT_EQ(selected.candidate.algorithm, Algorithm::Selection);
  EXPECT_EQ(plan(size, { { 600, 600, 0, 0 } }, std::size_t{ 32 } << 20).candidate.algorithm, Algorithm::Selection);
}

TEST(CudaMedianPlanner, OnCudaTheWidthOfPixelsTellsWhereRanksBegin)
{
  const auto choose = [](cudamedian::PixelType type, const Extent & radius) {
    auto request = MakeRequest({ { 300, 200, 20, 1 } }, radius);
    request.pixelType = type;
    return cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 30).candidate.algorithm;
  };
  using cudamedian::Algorithm;
  using cudamedian::PixelType;
  EXPECT_EQ(choose(PixelType::UInt8, { { 7, 7, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 8, 8, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 8, 8, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::Int16, { { 9, 9, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Float32, { { 7, 7, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::Float32, { { 8, 8, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Float64, { { 2, 2, 0, 0 } }), Algorithm::TileProgram);
  EXPECT_EQ(choose(PixelType::Float64, { { 3, 3, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::UInt64, { { 2, 2, 2, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int64, { { 1, 1, 1, 0 } }), Algorithm::TileProgram);
  // And where they end.
  EXPECT_EQ(choose(PixelType::UInt8, { { 29, 29, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::UInt8, { { 30, 30, 0, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 4, 4, 4, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::UInt8, { { 5, 5, 6, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::UInt8, { { 6, 5, 5, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::UInt8, { { 5, 6, 6, 0 } }), Algorithm::SlidingHistogram);
  EXPECT_EQ(choose(PixelType::Int16, { { 45, 45, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Int16, { { 105, 105, 0, 0 } }), Algorithm::LocalRank);
  EXPECT_EQ(choose(PixelType::Float32, { { 45, 45, 0, 0 } }), Algorithm::LocalRank);
  for (const auto type : { PixelType::Int16, PixelType::Float32, PixelType::Float64 })
  {
    for (const int radius : { 90, 106, 200 })
    {
      EXPECT_EQ(choose(type, { { radius, radius, 0, 0 } }), Algorithm::LocalRank) << radius;
    }
    EXPECT_EQ(choose(type, { { 201, 201, 0, 0 } }), Algorithm::SlidingHistogram);
  }
  EXPECT_EQ(choose(PixelType::Float32, { { 7, 7, 7, 0 } }), Algorithm::SlidingHistogram);
}

TEST(CudaMedianPlanner, OnCudaFewLargeRegionsSlideOverColumns)
{
  for (const auto & [slices, algorithm] :
       { std::pair{ 1, cudamedian::Algorithm::SlidingHistogram }, std::pair{ 30, cudamedian::Algorithm::LocalRank } })
  {
    auto request = MakeRequest({ { 300, 200, slices, 1 } }, { { 150, 150, 0, 0 } });
    request.pixelType = cudamedian::PixelType::Float32;
    EXPECT_EQ(cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 30).candidate.algorithm, algorithm)
      << slices << " slices";
  }
}

TEST(CudaMedianPlanner, OnTheCpuWidePixelsKeepThresholdsEarlier)
{
  for (const auto & [type, algorithm] :
       { std::pair{ cudamedian::PixelType::Float32, cudamedian::Algorithm::TileProgram },
         std::pair{ cudamedian::PixelType::Float64, cudamedian::Algorithm::LocalRank } })
  {
    auto request = MakeRequest({ { 90, 50, 1, 1 } }, { { 7, 6, 0, 0 } });
    request.pixelType = type;
    EXPECT_EQ(cudamedian::PlanOnHost(request).candidate.algorithm, algorithm);
  }
}

TEST(CudaMedianPlanner, LargeImagesHaveSlabsInFlight)
{
  auto flat = MakeRequest({ { 20000, 15000, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto deep = MakeRequest({ { 512, 512, 1024, 1 } }, { { 3, 3, 3, 0 } });
  for (const auto & request : { flat, deep })
  {
    for (const std::size_t mebibytes : { 100000, 1024, 256, 64, 16, 4 })
    {
      const auto budget = mebibytes << 20;
      CheckPlan(request, budget);
      const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, budget);
      EXPECT_EQ(plan.slabsInFlight, 4);
      EXPECT_GT(plan.slabs.size(), 8U);
      EXPECT_LE(plan.deviceInputBytes + plan.deviceOutputBytes, std::size_t{ 40 } << 20);
    }
  }
  EXPECT_EQ(cudamediantest::PlanOnH200(MakeRequest({ { 512, 512, 8, 1 } }, { { 1, 1, 1, 0 } }), Backend::Cuda, 1 << 30)
              .slabsInFlight,
            1);
}

TEST(CudaMedianPlanner, SlabsInFlightFitTheCachesUnlessKernelsAreLong)
{
  const Extent flat{ { 16384, 8192, 1, 1 } };
  const Extent deep{ { 1024, 1024, 128, 1 } };
  const auto   getSlabBytes = [](const Extent & extent, std::int64_t r) {
    const auto request = MakeRequest(extent, { { r, r, extent[2] > 1 ? r : 0, 0 } });
    const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 33);
    EXPECT_EQ(plan.slabsInFlight, 4);
    return static_cast<std::size_t>(cudamedian::Volume(plan.slabs.front().output.extent)) *
           cudamedian::PixelBytes(request.pixelType);
  };
  constexpr std::size_t mebibyte = 1 << 20;
  for (const auto & [extent, r, expected] : { std::tuple{ flat, 1, 8 * mebibyte },
                                              std::tuple{ flat, 5, 8 * mebibyte },
                                              std::tuple{ deep, 1, 8 * mebibyte },
                                              std::tuple{ deep, 2, 8 * mebibyte },
                                              std::tuple{ flat, 20, 16 * mebibyte } })
  {
    EXPECT_LE(getSlabBytes(extent, r), expected) << extent[2] << " slices, radius " << r;
    EXPECT_GT(getSlabBytes(extent, r), expected * 9 / 10) << extent[2] << " slices, radius " << r;
  }
}

TEST(CudaMedianPlanner, SeveralDevicesHaveSomeSlabsEach)
{
  auto       request = MakeRequest({ { 4096, 8192, 1, 1 } }, { { 1, 1, 0, 0 } }); // 64 MiB
  const auto count = [&request](std::size_t devices) {
    request.devices.assign(devices, 0);
    CheckPlan(request, std::size_t{ 1 } << 33);
    return cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 33).slabs.size();
  };
  EXPECT_EQ(count(1), count(0));
  EXPECT_GE(count(2), 16U);
  EXPECT_GE(count(4), 16U) << "of 4 MiB";
  EXPECT_LE(count(4), 17U);
  request = MakeRequest({ { 16384, 32768, 1, 1 } }, { { 1, 1, 0, 0 } });
  EXPECT_EQ(count(2), count(1)) << "of 8 MiB, many for each in any case";
  EXPECT_EQ(count(4), 2 * count(2)) << "of 4 MiB, so that all rings together are no larger";
  EXPECT_EQ(count(16), count(4));
  request = MakeRequest({ { 512, 512, 8, 1 } }, { { 1, 1, 1, 0 } });
  EXPECT_EQ(count(4), 1U) << "too small to be cut";
}

// What a streamed reader delivers: pieces along the outermost axis with their halo, cropped to the image.
TEST(CudaMedianPlanner, LaterPiecesOfAStreamNeedNoMoreMemory)
{
  for (const Extent & whole :
       { Extent{ { 301, 203, 96, 1 } }, Extent{ { 1024, 1024, 96, 1 } }, Extent{ { 4099, 1536, 1, 1 } } })
  {
    const int axis = whole[2] > 1 ? 2 : 1;
    for (const std::int64_t r : { 1, 2, 5 })
    {
      for (const std::int64_t pieces : { 2, 3, 6, 96 })
      {
        const auto length = whole[axis] / pieces;
        const auto plan = [&](std::int64_t piece) {
          const auto first = std::max<std::int64_t>(piece * length - r, 0);
          const auto last = std::min((piece + 1) * length + r, whole[axis]);
          auto       request = MakeRequest(whole, { { r, r, axis == 2 ? r : 0, 0 } });
          request.inputExtent[axis] = last - first;
          request.outputExtent[axis] = length;
          request.outputOrigin[axis] = piece * length - first;
          return cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 30);
        };
        const auto first = plan(0);
        for (std::int64_t piece = 1; piece < pieces; ++piece)
        {
          const auto later = plan(piece);
          EXPECT_LE(later.slabsInFlight, first.slabsInFlight);
          EXPECT_LE(later.deviceInputBytes, first.deviceInputBytes) << "radius " << r << ", piece " << piece;
          EXPECT_LE(later.deviceOutputBytes, first.deviceOutputBytes);
          EXPECT_LE(later.candidate.scratchBytes, first.candidate.scratchBytes);
        }
      }
    }
  }
}

TEST(CudaMedianPlanner, SlabsOfSelectionAreShort)
{
  auto request = MakeRequest({ { 20000, 15000, 1, 1 } }, { { 200, 200, 0, 0 } });
  request.algorithm = cudamedian::Algorithm::Selection;
  const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 33);
  ASSERT_EQ(plan.candidate.algorithm, cudamedian::Algorithm::Selection);
  for (const auto & slab : plan.slabs)
  {
    // 220e9 pixels of windows a second: less than 0.05 s.
    EXPECT_LT(static_cast<double>(cudamedian::Volume(slab.output.extent)) * 401 * 401 / 220e9, 0.05);
  }
}

TEST(CudaMedianPlanner, LaunchesCoverABoxOnceAndStaySmall)
{
  const PixelBox box{ { { 3, 5, 7, 9 } }, { { 6, 5, 4, 3 } } };
  for (const std::int64_t most : { 1, 4, 6, 7, 29, 30, 45, 119, 120, 250, 359, 360, 1000 })
  {
    std::set<Extent> pixels;
    for (const auto & piece : cudamedian::CutIntoLaunches(box, most))
    {
      EXPECT_LE(cudamedian::Volume(piece.extent), most);
      Extent p;
      for (p[3] = 0; p[3] < piece.extent[3]; ++p[3])
        for (p[2] = 0; p[2] < piece.extent[2]; ++p[2])
          for (p[1] = 0; p[1] < piece.extent[1]; ++p[1])
            for (p[0] = 0; p[0] < piece.extent[0]; ++p[0])
            {
              Extent pixel;
              for (int axis = 0; axis < cudamedian::Dimension; ++axis)
              {
                pixel[axis] = piece.origin[axis] + p[axis];
                EXPECT_GE(pixel[axis], box.origin[axis]);
                EXPECT_LT(pixel[axis], box.origin[axis] + box.extent[axis]);
              }
              EXPECT_TRUE(pixels.insert(pixel).second) << "twice, of at most " << most;
            }
    }
    EXPECT_EQ(pixels.size(), 360U) << most;
  }
  EXPECT_EQ(cudamedian::CutIntoLaunches(box, 360).size(), 1U);
  EXPECT_EQ(cudamedian::CutIntoLaunches(box, 30).size(), 12U);
  EXPECT_TRUE(cudamedian::CutIntoLaunches({ { { 0, 0, 0, 0 } }, { { 4, 0, 1, 1 } } }, 10).empty());
}

TEST(CudaMedianPlanner, ABudgetWithoutRoomForRanksSelects)
{
  auto       request = MakeRequest({ { 90, 50, 1, 1 } }, { { 12, 12, 0, 0 } });
  const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, 10000);
  EXPECT_EQ(plan.candidate.algorithm, cudamedian::Algorithm::Selection);
  EXPECT_NE(plan.algorithmReason.find("budget"), std::string::npos) << plan.algorithmReason;
  request.algorithm = cudamedian::Algorithm::LocalRank;
  EXPECT_THROW(cudamediantest::PlanOnH200(request, Backend::Cuda, 10000), cudamedian::RequestError);
}

TEST(CudaMedianRankPolicy, ScratchStaysWithinTheBudget)
{
  auto                  request = MakeRequest({ { 300, 200, 1, 1 } }, { { 12, 12, 0, 0 } });
  const auto            whole = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 30);
  cudamedian::RankShape shape{};
  ASSERT_TRUE(cudamedian::FindRankShape(request.radius, 2, shape, cudamedian::GetH200Traits()));
  EXPECT_EQ(whole.candidate.scratchBytes,
            static_cast<std::size_t>(cudamedian::CountRankBlocks(shape, request.outputExtent) * shape.scratchBytes));
  const auto small = cudamediantest::PlanOnH200(request, Backend::Cuda, 100000);
  EXPECT_LE(small.GetDeviceBytes(), 100000U);
  EXPECT_GT(small.candidate.scratchBytes, 0U);
  EXPECT_LE(small.candidate.scratchBytes, 25000U);
  EXPECT_GT(small.slabs.size(), 1U);
}
