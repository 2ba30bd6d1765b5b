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
// Boxes of images some of whose pixels do not count, which are uploaded and filtered in device memory. On a GPU and on
// devices that are threads of the host.

#include "CudaFaults.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestMaskedCases.h"
#include "CudaMedianTestSeed.h"
#include "UploadedBoxes.h"
#include "itkCudaMedianDevice.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

bool
IsUploaded(const ExecutionReport & report)
{
  return report.slabReason.find("are uploaded") != std::string::npos;
}

/** A case in rows of neighbouring pixels, to be run on CUDA; its extents need not be small. */
MaskedCase
DrawUploadedCase(std::mt19937_64 & random, std::int64_t largestSize)
{
  for (;;)
  {
    auto   drawn = DrawMaskedCase(random, types[random() % std::size(types)], largestSize, 3);
    auto & request = drawn.base.request;
    request.backend = Backend::Cuda;
    request.outputPixelBytes = drawn.base.bytes;
    if (FindUploadObstacle(request).empty())
    {
      return drawn;
    }
  }
}

/** A request on images without gaps, to be run on CUDA. */
MedianRequest
MakeRequest(const Extent & extent, const Extent & radius, const void * input, void * output)
{
  MedianRequest request;
  request.input = input;
  request.output = output;
  request.inputExtent = request.outputExtent = extent;
  request.outputStride = GetPackedStride(extent);
  request.radius = radius;
  request.backend = Backend::Cuda;
  return request;
}

} // namespace

TEST(CudaMedianUploaded, BoxesEqualBruteForce)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  std::size_t     several = 0;
  for (int i = 0; i < 150 && !HasFailure(); ++i)
  {
    auto   drawn = DrawUploadedCase(random, 28);
    auto & request = drawn.base.request;
    float  told = -1;
    request.workUnits = 1 + static_cast<unsigned>(random() % 3);
    request.parallelFor = RunInThreads;
    request.progress = [&told](float fraction) {
      EXPECT_GE(fraction, told);
      told = fraction;
    };
    SCOPED_TRACE(drawn.base.text);
    request.devices = std::array<std::vector<int>, 3>{ { {}, { 0 }, { 0, 0 } } }[random() % 3];
    // Memory for a part of the image.
    const auto most = 4 * Volume(request.inputExtent) / static_cast<std::int64_t>(1 + random() % 20);
    const auto boxes = CutIntoUploads(request, 1, most);
    ASSERT_NO_THROW(GetCudaBackend().RunUploaded(request, boxes, MakeUploadedRequest, RunMedianOnDevice));
    CompareValid(drawn.base);
    EXPECT_EQ(told, 1.0F);
    several += boxes.size() > 1 ? 1 : 0;
  }
  EXPECT_GE(several, 75U);
}

// What lies beyond the image is found in boxes at its ends alone, but where it may be from anywhere.
TEST(CudaMedianUploaded, BoxesCoverTheOutputs)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  for (int i = 0; i < 200; ++i)
  {
    const auto   drawn = DrawUploadedCase(random, 20);
    const auto & request = drawn.base.request;
    std::int64_t outputs = 0;
    for (const auto & box : CutIntoUploads(request, 1 + static_cast<std::int64_t>(random() % 9), 600))
    {
      outputs += Volume(box.outputs.extent);
      for (int axis = 0; axis < Dimension; ++axis)
      {
        const auto end = box.input.origin[axis] + box.input.extent[axis];
        EXPECT_GE(box.input.origin[axis], 0);
        EXPECT_LE(end, request.inputExtent[axis]);
        EXPECT_LE(box.input.origin[axis], box.outputs.origin[axis]);
        EXPECT_GE(end, box.outputs.origin[axis] + box.outputs.extent[axis]);
      }
    }
    EXPECT_EQ(outputs, Volume(request.outputExtent));
  }
}

TEST(CudaMedianUploaded, ProgressStopsTheRun)
{
  CUDAMEDIAN_NEEDS_GPU();
  std::vector<std::uint16_t> input(400 * 300);
  std::vector<std::uint16_t> output(input.size());
  std::vector<std::uint8_t>  mask(input.size(), 1);
  std::mt19937               random(7);
  std::generate(input.begin(), input.end(), [&] { return static_cast<std::uint16_t>(random()); });
  auto request = MakeRequest({ { 400, 300, 1, 1 } }, { { 2, 2, 0, 0 } }, input.data(), output.data());
  request.pixelType = PixelType::UInt16;
  request.hostMemoryBudget = 400000;
  request.workUnits = 2;
  request.parallelFor = RunInThreads;
  request.validity.mask = mask.data();
  for (const float end : { 0.1F, 0.5F, 1.0F })
  {
    request.progress = [end](float fraction) {
      if (fraction >= end)
      {
        throw std::runtime_error("stopped");
      }
    };
    EXPECT_THROW(RunMedian(request), std::runtime_error);
  }
  request.progress = nullptr;
  const auto report = RunMedian(request);
  EXPECT_TRUE(IsUploaded(report)) << report.slabReason;
  EXPECT_GT(report.numberOfSlabs, 2U);
  EXPECT_LE(report.pinnedBytes, request.hostMemoryBudget);
  auto expected = output;
  expected.swap(output);
  request.output = output.data();
  request.backend = Backend::Cpu;
  request.validity = {};
  RunMedian(request);
  EXPECT_EQ(output, expected);
}

// An algorithm that finds one rank for all outputs is replaced by another one in copies.
TEST(CudaMedianUploaded, AnAlgorithmWithoutMapsOfRanksIsNoError)
{
  CUDAMEDIAN_NEEDS_GPU();
  std::vector<std::uint8_t> input(40 * 30);
  std::vector<std::uint8_t> output(input.size());
  std::vector<std::uint8_t> expected(input.size());
  std::mt19937              random(5);
  std::generate(input.begin(), input.end(), [&] { return static_cast<std::uint8_t>(random() % 9); });
  auto request = MakeRequest({ { 40, 30, 1, 1 } }, { { 2, 2, 0, 0 } }, input.data(), output.data());
  request.algorithm = Algorithm::MergeTiling;
  request.validity.hasIgnoredValue = true;
  ASSERT_NO_THROW(RunMedian(request));
  request.backend = Backend::Auto;
  request.output = expected.data();
  ASSERT_NO_THROW(RunMedian(request));
  EXPECT_EQ(output, expected);
  request.backend = Backend::Cpu;
  request.algorithm = Algorithm::Automatic;
  RunMedian(request);
  EXPECT_EQ(output, expected);
}

// What each run pins it finds again, whatever ran in between: to pin it anew takes longer than a run.
TEST(CudaMedianUploaded, RunsInTurnFindTheirPinnedMemory)
{
  CUDAMEDIAN_NEEDS_GPU();
  ReleaseCachedMemory();
  std::vector<std::uint8_t> input(1500 * 1100, 3);
  std::vector<std::uint8_t> output(input.size());
  auto request = MakeRequest({ { 1500, 1100, 1, 1 } }, { { 1, 1, 0, 0 } }, input.data(), output.data());
  // Without threads: which of several takes which context is not theirs to choose.
  const auto inTurn = [&] {
    request.validity.mask = nullptr;
    RunMedian(request);
    request.validity.mask = input.data();
    RunMedian(request);
  };
  inTurn();
  inTurn();
  const auto before = CountLiveObjects();
  for (int i = 0; i < 5; ++i)
  {
    inTurn();
  }
  EXPECT_GT(before.pinnedBytes, 0U);
  EXPECT_EQ(CountLiveObjects().pinnedBytes, before.pinnedBytes);
  EXPECT_EQ(CountLiveObjects().Count(), before.Count());
  ReleaseCachedMemory();
}

TEST(CudaMedianUploaded, ObstaclesAreTold)
{
  MedianRequest request;
  request.inputExtent = request.outputExtent = { { 8, 8, 1, 1 } };
  request.outputStride = GetPackedStride(request.outputExtent);
  request.radius = { { 1, 1, 0, 0 } };
  EXPECT_EQ(FindUploadObstacle(request), "all pixels count");
  request.validity.hasIgnoredValue = true;
  EXPECT_EQ(FindUploadObstacle(request), "");
  request.deviceMemoryBudget = 1 << 20;
  EXPECT_EQ(FindUploadObstacle(request), "a budget of device memory is named");
  request.deviceMemoryBudget = 0;
  request.inputStride = { { 3, 24, 192, 192 } };
  EXPECT_EQ(FindUploadObstacle(request), "pixels of rows are apart");
}

// The more a window costs the CPU, the sooner boxes are worth their way; boxes of a slow bus never are.
TEST(CudaMedianUploaded, EstimatesWeighTheWay)
{
  MedianRequest request;
  request.pixelType = PixelType::UInt16;
  request.inputExtent = request.outputExtent = { { 4096, 4096, 1, 1 } };
  request.workUnits = 8;
  DeviceTraits device;
  device.copyBytes = 3e12;
  const auto   host = GetH200HostTraits();
  const double fast = EstimateUploadedSeconds(request, 32, 1e-4, device, host, 20e9);
  EXPECT_LT(fast, EstimateUploadedSeconds(request, 32, 1e-4, device, host, 1e9));
  EXPECT_LT(fast, EstimateUploadedSeconds(request, 32, 1e-1, device, host, 20e9));
  EXPECT_LT(fast, EstimateCopiedSeconds(request, 0, host));
  EXPECT_GT(EstimateUploadedSeconds(request, 32, 1e-4, device, host, 1e9), EstimateCopiedSeconds(request, 0, host));
}
