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
// Plans that keep to a budget of the host's memory, and slabs that kernels can count along each axis.

#include "CudaMedianTestPlans.h"
#include "HostMemory.h"
#include "Planner.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>

namespace
{

using namespace cudamedian;

constexpr std::size_t MiB = std::size_t{ 1 } << 20;

MedianRequest
MakeRequest(const Extent & extent, const Extent & radius, PixelType type)
{
  MedianRequest request;
  request.pixelType = type;
  request.inputExtent = extent;
  request.outputExtent = extent;
  request.radius = radius;
  return request;
}

/** Every output is in one slab. */
void
ExpectCovered(const MedianRequest & request, const Plan & plan)
{
  std::int64_t outputs = 0;
  for (const auto & slab : plan.slabs)
  {
    outputs += Volume(slab.output.extent);
  }
  EXPECT_EQ(outputs, Volume(request.outputExtent));
}

std::string
GetError(const MedianRequest & request, std::size_t budget, const Staging & staging = {})
{
  try
  {
    cudamediantest::PlanOnH200(request, Backend::Cuda, budget, staging);
  }
  catch (const RequestError & error)
  {
    return error.what();
  }
  return "";
}

} // namespace

TEST(CudaMedianStaging, PlansKeepToTheBudget)
{
  for (const auto & request : { MakeRequest({ { 2048, 2048, 512, 1 } }, { { 30, 30, 30, 0 } }, PixelType::UInt16),
                                MakeRequest({ { 2048, 2048, 512, 1 } }, { { 1, 1, 1, 0 } }, PixelType::UInt16),
                                MakeRequest({ { 8192, 8192, 1, 1 } }, { { 150, 150, 0, 0 } }, PixelType::UInt8),
                                MakeRequest({ { 100, 90, 1, 1 } }, { { 2, 2, 0, 0 } }, PixelType::Float32) })
  {
    const auto free = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 36);
    for (const std::size_t budget : { 4096 * MiB, 2048 * MiB, 1024 * MiB, 512 * MiB, 128 * MiB })
    {
      for (const bool input : { true, false })
      {
        SCOPED_TRACE("budget " + std::to_string(budget) + " for " + (input ? "both" : "outputs"));
        Staging staging;
        staging.budget = budget;
        staging.input = input;
        const auto text = GetError(request, std::size_t{ 1 } << 36, staging);
        if (!text.empty())
        {
          EXPECT_NE(text.find("A host memory budget of " + std::to_string(budget)), std::string::npos) << text;
          continue;
        }
        const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 36, staging);
        EXPECT_LE(plan.GetStagedBytes(), budget);
        ExpectCovered(request, plan);
        if (free.GetStagedBytes() <= budget)
        {
          EXPECT_EQ(plan.slabs.size(), free.slabs.size());
          EXPECT_EQ(plan.slabsInFlight, free.slabsInFlight);
        }
      }
    }
  }
}

// A large window's halo is staged with each slab on its way: fewer of them rather than slabs that are all halo.
TEST(CudaMedianStaging, FewerSlabsAreOnTheirWayBeforeTheyAreSmall)
{
  const auto request = MakeRequest({ { 2048, 2048, 512, 1 } }, { { 30, 30, 30, 0 } }, PixelType::UInt16);
  const auto free = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 36);
  ASSERT_EQ(free.slabsInFlight, 4);
  ASSERT_GT(free.GetStagedBytes(), 4096 * MiB);
  Staging staging;
  staging.budget = 4096 * MiB;
  const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 36, staging);
  EXPECT_LT(plan.slabsInFlight, 4);
  EXPECT_GE(plan.slabsInFlight, 2);
  EXPECT_GT(plan.slabs.front().output.extent[2], 30);
}

TEST(CudaMedianStaging, TheAutomaticBudgetIsAnEighthWithinLimits)
{
  EXPECT_EQ(GetAutomaticHostBudget(0), 64 * MiB);
  EXPECT_EQ(GetAutomaticHostBudget(512 * MiB), 64 * MiB);
  EXPECT_EQ(GetAutomaticHostBudget(8192 * MiB), 1024 * MiB);
  EXPECT_EQ(GetAutomaticHostBudget(std::size_t{ 1 } << 40), 2048 * MiB);
  EXPECT_GT(GetHostMemoryBytes(), 0U);
}

TEST(CudaMedianStaging, TheLimitOfAControlGroupIsRead)
{
  const auto read = [](const std::string & text) {
    std::istringstream file(text);
    return ReadMemoryLimit(file);
  };
  EXPECT_EQ(read("536870912\n"), 512 * MiB);
  EXPECT_EQ(read("max\n"), std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(read(""), std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(read("9223372036854771712\n"), 9223372036854771712U);
}

// Kernels count positions in a slab with 32 bits, its halo included.
TEST(CudaMedianStaging, SlabsWithTheirHaloAreCountedIn32Bits)
{
  constexpr auto         budget = std::size_t{ 1 } << 44;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (int axis = 0; axis < Dimension; ++axis)
  {
    SCOPED_TRACE("axis " + std::to_string(axis));
    Extent extent{ { 1, 1, 1, 1 } };
    Extent radius{ { 0, 0, 0, 0 } };
    extent[axis] = std::int64_t{ 1 } << 33;
    for (const std::int64_t r :
         { std::int64_t{ 1 }, std::int64_t{ 1 } << 28, (std::int64_t{ 1 } << 30) - (1 << 16), std::int64_t{ 1 } << 30 })
    {
      radius[axis] = r;
      auto request = MakeRequest(extent, radius, PixelType::UInt8);
      request.algorithm = r == 1 ? Algorithm::TileProgram : Algorithm::Selection;
      request.outputOrigin[axis] = std::int64_t{ 1 } << 32;
      request.outputExtent[axis] = r == 1 ? std::int64_t{ 3 } << 30 : 5000;
      const auto text = GetError(request, budget);
      if (!text.empty())
      {
        EXPECT_EQ(r, std::int64_t{ 1 } << 30);
        EXPECT_NE(text.find("Along axis " + std::to_string(axis)), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(r)), std::string::npos) << text;
        continue;
      }
      EXPECT_LT(r, std::int64_t{ 1 } << 30);
      const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, budget);
      ExpectCovered(request, plan);
      for (const auto & slab : plan.slabs)
      {
        ASSERT_LE(slab.input.extent[axis], most - (1 << 15));
        ASSERT_LE(slab.output.extent[axis], most - (1 << 15));
      }
    }
  }
}

TEST(CudaMedianStaging, ABoxBeyondAnyNumberIsRefused)
{
  std::uint8_t pixels[10]{};
  auto         request = MakeRequest({ { 10, 1, 1, 1 } }, { { 1, 0, 0, 0 } }, PixelType::UInt8);
  request.input = pixels;
  request.output = pixels;
  request.outputOrigin[0] = 5;
  request.outputExtent[0] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(RunMedian(request), RequestError);
}
