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
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestVectors.h"
#include "PixelFormat.h"
#include "VectorHost.h"
#include "VectorSlabs.h"
#include "VectorTile.h"

#include <atomic>
#include <memory>
#include <thread>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

TEST(CudaMedianVectorMedian, CpuEqualsBruteForce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed());
  ForEachVectorCase(generator, [&](auto & test) {
    test.request.backend = Backend::Cpu;
    EXPECT_EQ(test.Run().backend, "CPU");
    EXPECT_EQ(test.CountWrong(), 0U);
  });
}

TEST(CudaMedianVectorMedian, PixelKernelOnHostEqualsBruteForce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed() + 1);
  ForEachVectorCase(generator, [&](auto & test) {
    const auto arguments = GetVectorArguments(test.request);
    DispatchKeys(GetKeyFormat(test.request.componentType), [&](auto key) {
      CallWithDistance(key, test.request.norm, [&](auto distance) {
        const auto & extent = test.request.outputExtent;
        for (std::int64_t number = 0; number < Volume(extent); ++number)
        {
          const std::int64_t pixel[Dimension] = { number % extent[0],
                                                  number / extent[0] % extent[1],
                                                  number / extent[0] / extent[1] % extent[2],
                                                  number / extent[0] / extent[1] / extent[2] };
          RunVectorPixel<decltype(distance)>(arguments, pixel);
        }
      });
    });
    EXPECT_EQ(test.CountWrong(), 0U);
  });
}

/** The tile kernel with its threads as loops, which end where the kernel's threads wait for each other. Threads come in
 * random order. */
template <VectorNorm VNorm, int VRadius, int VComponents>
void
RunTiles(const VectorArguments & arguments, std::mt19937_64 & generator)
{
  using Tile = VectorTile<VNorm, VRadius>;
  const auto                        shared = std::make_unique<typename Tile::Shared>();
  std::vector<typename Tile::State> states(Tile::threads);
  std::vector<int>                  order(Tile::threads);
  for (int thread = 0; thread < Tile::threads; ++thread)
  {
    order[static_cast<std::size_t>(thread)] = thread;
  }
  const auto forEach = [&](const auto & function) {
    std::shuffle(order.begin(), order.end(), generator);
    for (const int thread : order)
    {
      function(thread, states[static_cast<std::size_t>(thread)]);
    }
  };
  for (std::int64_t block = 0; block < Tile::CountBlocks(arguments); ++block)
  {
    std::memset(static_cast<void *>(shared.get()), 0xA5, sizeof(*shared));
    const auto place = Tile::GetPlace(arguments, static_cast<std::uint32_t>(block));
    forEach([&](int thread, auto &) { Tile::template Stage<VComponents>(arguments, place, thread, *shared); });
    forEach([&](int thread, auto & state) {
      Tile::Start(state);
      Tile::FindKeys(thread, *shared, state);
    });
    for (int column = 0; column < Tile::width; ++column)
    {
      forEach([&](int thread, auto & state) { Tile::TellKeys(thread, column, state, *shared); });
      forEach([&](int thread, auto & state) { Tile::HearKeys(thread, column, *shared, state); });
    }
    forEach(
      [&](int thread, auto & state) { Tile::template Write<VComponents>(arguments, place, thread, *shared, state); });
  }
}

template <VectorNorm VNorm, int VRadius>
void
RunTilesOf(const VectorArguments & arguments, std::mt19937_64 & generator)
{
  arguments.components == 2   ? RunTiles<VNorm, VRadius, 2>(arguments, generator)
  : arguments.components == 3 ? RunTiles<VNorm, VRadius, 3>(arguments, generator)
                              : RunTiles<VNorm, VRadius, 4>(arguments, generator);
}

TEST(CudaMedianVectorMedian, TileKernelOnHostEqualsBruteForce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed() + 2);
  int             covered = 0;
  ForEachVectorCase(generator, [&](auto & test) {
    const auto arguments = GetVectorArguments(test.request);
    const int  bytes = static_cast<int>(PixelBytes(test.request.componentType));
    const int  radius = GetVectorTileRadius(arguments, bytes);
    if (radius == 0)
    {
      return;
    }
    ++covered;
    const bool isL1 = test.request.norm == VectorNorm::L1;
    radius == 1 ? (isL1 ? RunTilesOf<VectorNorm::L1, 1>(arguments, generator)
                        : RunTilesOf<VectorNorm::L2, 1>(arguments, generator))
                : (isL1 ? RunTilesOf<VectorNorm::L1, 2>(arguments, generator)
                        : RunTilesOf<VectorNorm::L2, 2>(arguments, generator));
    EXPECT_EQ(test.CountWrong(), 0U);
  });
  EXPECT_EQ(covered, 2 * 2 * 5);
}

TEST(CudaMedianVectorMedian, WorkUnitsShareTheWork)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64          generator(Seed() + 3);
  VectorCase<std::uint8_t> test;
  test.request.backend = Backend::Cpu;
  test.request.radius = { { 2, 2, 0, 0 } };
  test.request.inputExtent = test.request.outputExtent = { { 300, 100, 1, 1 } };
  test.Fill(generator);
  test.request.workUnits = 3;
  test.request.parallelFor = [](std::size_t count, const std::function<void(std::size_t)> & body) {
    std::vector<std::thread> threads;
    for (std::size_t unit = 1; unit < count; ++unit)
    {
      threads.emplace_back(body, unit);
    }
    body(0);
    for (auto & thread : threads)
    {
      thread.join();
    }
  };
  EXPECT_EQ(test.Run().workUnits, 3U);
  EXPECT_EQ(test.CountWrong(), 0U);
}

TEST(CudaMedianVectorMedian, ProgressRisesAndStops)
{
  std::mt19937_64          generator(Seed() + 4);
  VectorCase<std::uint8_t> test;
  test.request.radius = { { 1, 1, 0, 0 } };
  test.request.inputExtent = test.request.outputExtent = { { 600, 300, 1, 1 } };
  test.Fill(generator);
  std::vector<float> told;
  test.request.progress = [&told](float fraction) { told.push_back(fraction); };
  test.Run();
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1.0F);
  test.request.progress = [](float) { throw std::domain_error("enough"); };
  EXPECT_THROW(test.Run(), std::domain_error);
  test.request.progress = nullptr;
  test.Run();
  EXPECT_EQ(test.CountWrong(), 0U);
}

TEST(CudaMedianVectorMedian, NaNIsTakenWhereThereIsNothingElse)
{
  const float       nan = std::numeric_limits<float>::quiet_NaN();
  VectorCase<float> test;
  test.request.componentType = PixelType::Float32;
  test.request.components = 2;
  test.request.radius = { { 1, 0, 0, 0 } };
  test.request.inputExtent = test.request.outputExtent = { { 5, 1, 1, 1 } };
  std::mt19937_64 generator(Seed());
  test.Fill(generator);
  test.input = { 1, nan, nan, 7, 3, nan, 4, 5, 4, 6 };
  test.request.input = test.input.data();
  test.Run();
  const std::vector<float> & output = test.output;
  EXPECT_EQ(output[0], 1); // the first of three without a number
  EXPECT_TRUE(std::isnan(output[1]));
  EXPECT_EQ(output[2], 1); // and again
  EXPECT_TRUE(std::isnan(output[3]));
  EXPECT_EQ(output[4], 4);
  EXPECT_EQ(output[5], 5);
}

TEST(CudaMedianVectorMedian, RefusesWhatItCannotDo)
{
  std::mt19937_64          generator(Seed());
  VectorCase<std::uint8_t> test;
  test.request.radius = { { 1, 1, 0, 0 } };
  test.request.inputExtent = test.request.outputExtent = { { 9, 9, 1, 1 } };
  test.Fill(generator);
  const auto refuses = [&](const auto & change) {
    auto request = test.request;
    change(request);
    EXPECT_THROW(RunVectorMedian(request), RequestError);
  };
  refuses([](auto & request) { request.components = 1; });
  refuses([](auto & request) { request.components = 5; });
  refuses([](auto & request) { request.radius = { { 1, 1, 1, 0 } }; });
  refuses([](auto & request) { request.radius = { { 13, 0, 0, 0 } }; });
  refuses([](auto & request) { request.radius[0] = -1; });
  refuses([](auto & request) { request.radius[3] = std::numeric_limits<std::int64_t>::max(); });
  refuses([](auto & request) { request.outputOrigin[1] = 1; });
  refuses([](auto & request) { request.outputStride[0] = 2; });
  refuses([](auto & request) { request.input = nullptr; });
  auto empty = test.request;
  empty.outputExtent[1] = 0;
  EXPECT_EQ(RunVectorMedian(empty).algorithm, "none");
  test.Run();
  EXPECT_EQ(test.CountWrong(), 0U);
}

TEST(CudaMedianVectorMedian, SlabsKeepToTheBudget)
{
  VectorMedianRequest request;
  request.radius = { { 2, 2, 0, 0 } };
  request.inputExtent = request.outputExtent = { { 100, 1000, 1, 1 } };
  // Three bytes a pixel: an input of n + 4 rows and an output of n.
  const auto slabs = CutVectorSlabs(request, 300 * (2 * 50 + 4), 1);
  EXPECT_EQ(slabs.axis, 1);
  EXPECT_EQ(slabs.planes, 50);
  EXPECT_EQ(slabs.count, 20U);
  EXPECT_EQ(CutVectorSlabs(request, 300 * (2 * 50 + 4) - 1, 1).planes, 49);
  EXPECT_EQ(CutVectorSlabs(request, 1 << 30, 1).count, 1U);
  EXPECT_EQ(CutVectorSlabs(request, 1 << 30, 4).count, 4U);
  EXPECT_EQ(CutVectorSlabs(request, 300 * 6, 1).planes, 1);
  EXPECT_THROW(CutVectorSlabs(request, 300 * 6 - 1, 1), RequestError);
  const auto slab = GetVectorSlab(request, 1, 960, 50);
  EXPECT_EQ(slab.outputExtent[1], 40);
  EXPECT_EQ(slab.inputOrigin[1], 958);
  EXPECT_EQ(slab.inputExtent[1], 42);
}

TEST(CudaMedianVectorMedian, AutomaticFindsABackend)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64          generator(Seed() + 5);
  VectorCase<std::uint8_t> test;
  test.request.radius = { { 1, 1, 0, 0 } };
  test.request.inputExtent = test.request.outputExtent = { { 90, 90, 1, 1 } };
  test.Fill(generator);
  const auto report = test.Run();
  EXPECT_EQ(report.backend, Device().usable ? "CUDA" : "CPU");
  EXPECT_EQ(report.backendReason.rfind("automatic", 0), 0U);
  EXPECT_EQ(test.CountWrong(), 0U);
  // A budget for nothing: the CPU.
  test.request.deviceMemoryBudget = 1;
  EXPECT_EQ(test.Run().backend, "CPU");
  EXPECT_EQ(test.CountWrong(), 0U);
  test.request.backend = Backend::Cuda;
  if (Device().usable)
  {
    EXPECT_THROW(test.Run(), RequestError);
  }
  else
  {
    EXPECT_THROW(test.Run(), DeviceError);
  }
}

TEST(CudaMedianVectorMedian, CudaEqualsBruteForce)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed() + 6);
  ForEachVectorCase(generator, [&](auto & test) {
    test.request.backend = Backend::Cuda;
    EXPECT_EQ(test.Run().backend, "CUDA");
    EXPECT_EQ(test.CountWrong(), 0U);
    // In slabs.
    test.request.deviceMemoryBudget = (test.input.size() + test.output.size()) * sizeof(test.input[0]) * 3 / 4;
    try
    {
      test.Run();
      EXPECT_EQ(test.CountWrong(), 0U);
    }
    catch (const RequestError &)
    {
      // Too little for a slab with its halo.
    }
  });
}

} // namespace
