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
// Maps of ranks on their way to a device beside the image: slabs, budgets, pinned memory, parts of images, several
// devices, faults, and every algorithm that covers them. Built twice, as the tests of the pipeline are.

#include "CudaFaults.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestRequests.h"
#include "KernelMeans.h"
#include "RankMap.h"
#include "RequestWindow.h"

#include <string>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

/** An image, a map of ranks around the middle one, and what the CPU makes of both. */
template <typename TPixel>
class RankedCase
{
public:
  RankedCase(const Extent & extent,
             const Extent & radius,
             std::int64_t   ranks,
             bool           pinnedInput = false,
             bool           pinnedOutput = false)
    : m_Images(extent, radius, pinnedInput, pinnedOutput)
    , m_Ranks(m_Images.Count())
    , m_Expected(m_Images.Count())
  {
    std::int64_t pixels = 1;
    for (const auto r : radius)
    {
      pixels *= 2 * r + 1;
    }
    m_Least = (pixels - ranks) / 2;
    m_Greatest = m_Least + ranks - 1;
    std::mt19937_64 random(cudamediantest::Seed());
    for (auto & rank : m_Ranks)
    {
      rank = static_cast<std::int32_t>(m_Least + static_cast<std::int64_t>(random() % static_cast<unsigned>(ranks)));
    }
    m_Packed = PackRanks(m_Ranks, MakeRequest(Algorithm::Automatic));
    auto request = MakeRequest(Algorithm::Automatic);
    request.backend = Backend::Cpu;
    request.output = m_Expected.data();
    RunMedian(request);
  }

  MedianRequest
  MakeRequest(Algorithm algorithm)
  {
    auto request = m_Images.MakeRequest();
    request.rankMap = m_Packed.data();
    request.rank = m_Least;
    request.greatestRank = m_Greatest;
    request.algorithm = algorithm;
    return request;
  }

  ExecutionReport
  Check(const MedianRequest & request)
  {
    m_Images.Fill();
    const auto report = RunMedian(request);
    EXPECT_TRUE(std::equal(m_Expected.begin(), m_Expected.end(), static_cast<const TPixel *>(request.output)));
    EXPECT_EQ(report.backend, "CUDA");
    EXPECT_EQ(report.algorithm.find(ToString(request.algorithm)), 0U) << report.algorithm;
    EXPECT_LE(report.deviceBytes, report.deviceMemoryBudget);
    return report;
  }

  const std::vector<TPixel> &
  GetExpected() const
  {
    return m_Expected;
  }

  const std::vector<std::int32_t> &
  GetRanks() const
  {
    return m_Ranks;
  }

private:
  Case<TPixel>              m_Images;
  std::vector<std::int32_t> m_Ranks;
  std::vector<std::uint8_t> m_Packed; ///< as requests have them
  std::vector<TPixel>       m_Expected;
  std::int64_t              m_Least{ 0 };
  std::int64_t              m_Greatest{ 0 };
};

class CudaMedianRankMaps : public testing::Test
{
protected:
  void
  TearDown() override
  {
    ClearCudaFaults();
  }
};

constexpr Algorithm covering[] = { Algorithm::TileProgram,
                                   Algorithm::LocalRank,
                                   Algorithm::SlidingHistogram,
                                   Algorithm::Selection };

} // namespace

TEST_F(CudaMedianRankMaps, SlabsAndBudgets)
{
  CUDAMEDIAN_NEEDS_GPU();
  for (const auto algorithm : covering)
  {
    SCOPED_TRACE(ToString(algorithm));
    const auto check = [&](auto && images) {
      for (const std::size_t budget : { std::size_t{ 0 }, std::size_t{ 1 } << 20 })
      {
        auto request = images.MakeRequest(algorithm);
        request.deviceMemoryBudget = budget;
        const auto report = images.Check(request);
        EXPECT_TRUE(budget == 0 || report.numberOfSlabs > 1) << report.slabReason;
      }
    };
    check(RankedCase<std::uint8_t>({ { 1203, 901, 1, 1 } }, { { 1, 1, 0, 0 } }, 4));
    check(RankedCase<std::int16_t>({ { 99, 83, 61, 1 } }, { { 1, 1, 1, 0 } }, 10));
    check(RankedCase<float>({ { 205, 103, 17, 3 } }, { { 1, 2, 0, 0 } }, 15));
    if (algorithm != Algorithm::TileProgram)
    {
      // Ranks of four bytes, which are too many for a program.
      check(RankedCase<std::int16_t>({ { 801, 305, 1, 1 } }, { { 9, 8, 0, 0 } }, 257));
    }
  }
}

TEST_F(CudaMedianRankMaps, SeveralSlabsOnTheirWay)
{
  CUDAMEDIAN_NEEDS_GPU();
  RankedCase<std::int16_t> images({ { 4099, 3001, 1, 1 } }, { { 1, 1, 0, 0 } }, 5);
  for (const auto & devices : { std::vector<int>{}, std::vector<int>{ 0, 0 } })
  {
    auto request = images.MakeRequest(Algorithm::LocalRank);
    request.devices = devices;
    const auto report = images.Check(request);
    EXPECT_NE(report.slabReason.find("on their way at the same time"), std::string::npos) << report.slabReason;
    request.hostMemoryBudget = std::size_t{ 5 } << 20;
    EXPECT_LE(images.Check(request).pinnedBytes, request.hostMemoryBudget);
  }
}

TEST_F(CudaMedianRankMaps, PinnedImages)
{
  CUDAMEDIAN_NEEDS_GPU();
  for (const bool input : { false, true })
  {
    for (const bool output : { false, true })
    {
      SCOPED_TRACE(std::string(input ? "pinned" : "ordinary") + " input, " + (output ? "pinned" : "ordinary") +
                   " output");
      RankedCase<std::int16_t> large({ { 3001, 3001, 1, 1 } }, { { 1, 1, 0, 0 } }, 3, input, output);
      large.Check(large.MakeRequest(Algorithm::LocalRank));
      RankedCase<std::uint8_t> small({ { 37, 29, 11, 2 } }, { { 1, 2, 1, 0 } }, 9, input, output);
      small.Check(small.MakeRequest(Algorithm::Selection));
    }
  }
}

// Device rows then have columns before the first output.
TEST_F(CudaMedianRankMaps, PartsOfImages)
{
  CUDAMEDIAN_NEEDS_GPU();
  constexpr std::int64_t   width = 411;
  constexpr std::int64_t   origin[2] = { 101, 17 };
  constexpr std::int64_t   extent[2] = { 300, 190 };
  RankedCase<std::int16_t> images({ { width, 301, 1, 1 } }, { { 2, 3, 0, 0 } }, 7);
  for (const auto algorithm : covering)
  {
    std::vector<std::int32_t> ranks;
    std::vector<std::int16_t> expected;
    for (std::int64_t y = 0; y < extent[1]; ++y)
    {
      const auto first = (y + origin[1]) * width + origin[0];
      ranks.insert(ranks.end(), images.GetRanks().begin() + first, images.GetRanks().begin() + first + extent[0]);
      expected.insert(
        expected.end(), images.GetExpected().begin() + first, images.GetExpected().begin() + first + extent[0]);
    }
    std::vector<std::int16_t> output(expected.size());
    auto                      request = images.MakeRequest(algorithm);
    const auto                map = PackRanks(ranks, request);
    request.rankMap = map.data();
    request.outputOrigin = { { origin[0], origin[1], 0, 0 } };
    request.outputExtent = { { extent[0], extent[1], 1, 1 } };
    request.output = output.data();
    request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] } };
    for (const std::size_t budget : { std::size_t{ 0 }, std::size_t{ 1 } << 20 })
    {
      request.deviceMemoryBudget = budget;
      RunMedian(request);
      EXPECT_EQ(output, expected) << ToString(algorithm) << ", budget " << budget;
    }
  }
}

TEST_F(CudaMedianRankMaps, TheSameRequestAgainAllocatesNothing)
{
  CUDAMEDIAN_NEEDS_GPU();
  RankedCase<std::int16_t> images({ { 2099, 3001, 1, 1 } }, { { 1, 1, 0, 0 } }, 5);
  const auto               request = images.MakeRequest(Algorithm::LocalRank);
  images.Check(request);
  SetAllocationFaults(1, forEver);
  images.Check(request);
}

TEST_F(CudaMedianRankMaps, FaultsAreSurvived)
{
  CUDAMEDIAN_NEEDS_GPU();
  RankedCase<std::int16_t> images({ { 2001, 3001, 1, 1 } }, { { 1, 1, 0, 0 } }, 5);
  auto                     request = images.MakeRequest(Algorithm::LocalRank);
  for (int first = 1; first <= 20; ++first)
  {
    SCOPED_TRACE("allocation " + std::to_string(first));
    ReleaseCachedMemory();
    SetAllocationFaults(first, 2);
    images.Check(request);
    ClearCudaFaults();
  }
  request.devices = { 0, 0 };
  request.deviceMemoryBudget = std::size_t{ 8 } << 20;
  for (const int number : { 1, 2, 3, 8 })
  {
    SCOPED_TRACE("copy " + std::to_string(number));
    SetCopyFaults(number, 1);
    const auto report = images.Check(request);
    EXPECT_NE(report.slabReason.find("the other devices filtered its slabs"), std::string::npos) << report.slabReason;
    ClearCudaFaults();
  }
}

// What is known of a kernel is known for its ranks: the same window's median goes on with it.
TEST_F(CudaMedianRankMaps, KernelsOutOfUseAreReplaced)
{
  CUDAMEDIAN_NEEDS_GPU();
  const Extent             radius{ { 4, 3, 0, 0 } };
  RankedCase<std::uint8_t> images({ { 151, 141, 1, 1 } }, radius, 5);
  auto                     request = images.MakeRequest(Algorithm::LocalRank);
  const auto               window = GetWindow(request);
  const auto               device = 0;
  TakeOutOfUse(window, request.pixelType, device, KernelMeans::Ranks, "for this test");
  const auto report = RunMedian(request);
  EXPECT_NE(report.algorithmReason.find("for this test"), std::string::npos) << report.algorithmReason;
  EXPECT_EQ(report.algorithm.find("local ranks"), std::string::npos) << report.algorithm;
  request.rankMap = nullptr;
  EXPECT_EQ(RunMedian(request).algorithm.find("local ranks"), 0U);
  TakeOutOfUse(window, request.pixelType, device, KernelMeans::Ranks, "");
  images.Check(images.MakeRequest(Algorithm::LocalRank));
}

TEST_F(CudaMedianRankMaps, OthersSayThatTheyDoNotCoverThem)
{
  CUDAMEDIAN_NEEDS_GPU();
  RankedCase<std::int16_t> images({ { 51, 41, 1, 1 } }, { { 2, 2, 0, 0 } }, 3);
  for (const auto algorithm : { Algorithm::MergeTiling, Algorithm::Extremum })
  {
    try
    {
      RunMedian(images.MakeRequest(algorithm));
      FAIL() << ToString(algorithm);
    }
    catch (const RequestError & error)
    {
      const auto expected = std::string("no map of ranks is covered by ") + ToString(algorithm) + " on CUDA";
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}
