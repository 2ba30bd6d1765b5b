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
// Slabs on their way to, on and from a device: overlap, budgets, pinned memory, faults, threads. Built twice: for a
// GPU, and with devices that are threads of the host (HostRuntime.cxx), where times mean nothing.

#include "DeviceQuery.h"
#include "CudaFaults.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestRequests.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

/** The numbers of all devices that can be used. */
std::vector<int>
ListDevices()
{
  std::vector<int> devices;
  for (int device = 0; QueryCudaDevices({ device }).usable; ++device)
  {
    devices.push_back(device);
  }
  return devices;
}

class CudaMedianPipeline : public testing::Test
{
protected:
  void
  TearDown() override
  {
    ClearCudaFaults();
  }
};

} // namespace

TEST_F(CudaMedianPipeline, SlabsOverlapAndAreExact)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> flat({ { 4099, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  Case<std::uint8_t> deep({ { 301, 203, 401, 1 } }, { { 1, 1, 2, 0 } });
  Case<float>        wide({ { 205, 103, 97, 3 } }, { { 1, 2, 0, 0 } });
  Case<std::int16_t> ranked({ { 4099, 2101, 1, 1 } }, { { 10, 10, 0, 0 } });
  for (const std::size_t budget : { std::size_t{ 0 }, std::size_t{ 64 } << 20, std::size_t{ 3 } << 20 })
  {
    SCOPED_TRACE("budget " + std::to_string(budget));
    const auto check = [&](auto & images) {
      auto request = images.MakeRequest();
      request.deviceMemoryBudget = budget;
      const auto report = images.Check(request);
      EXPECT_GT(report.numberOfSlabs, 1U);
      EXPECT_NE(report.slabReason.find("on their way at the same time"), std::string::npos) << report.slabReason;
    };
    check(flat);
    check(deep);
    if (budget != 0)
    {
      check(ranked);
    }
    auto request = wide.MakeRequest();
    request.deviceMemoryBudget = budget;
    wide.Check(request);
  }
}

// Rows of 16 bytes' multiples have no gaps in pinned memory, and are copied together where the image has none either.
TEST_F(CudaMedianPipeline, GapsBetweenRowsAndSlicesAreLeftAlone)
{
  CUDAMEDIAN_NEEDS_GPU();
  constexpr Extent   extent{ { 304, 103, 301, 1 } };
  Case<std::int16_t> images(extent, { { 1, 1, 1, 0 } });
  for (const auto & [rowGap, sliceGap] : { std::pair{ 0, 0 }, std::pair{ 0, 5 }, std::pair{ 3, 0 } })
  {
    SCOPED_TRACE("gaps of " + std::to_string(rowGap) + " and " + std::to_string(sliceGap) + " pixels");
    const auto                row = extent[0] + rowGap;
    const auto                slice = row * extent[1] + sliceGap;
    std::vector<std::int16_t> output(static_cast<std::size_t>(slice * extent[2]), 77);
    auto                      request = images.MakeRequest();
    request.output = output.data();
    request.outputStride = { { 1, row, slice, slice * extent[2] } };
    EXPECT_GT(RunMedian(request).numberOfSlabs, 1U);
    std::vector<std::int16_t> packed;
    packed.reserve(images.Count());
    std::size_t overwritten = 0;
    for (std::size_t i = 0; i < output.size(); ++i)
    {
      const auto inSlice = static_cast<std::int64_t>(i) % slice;
      if (inSlice < row * extent[1] && inSlice % row < extent[0])
      {
        packed.push_back(output[i]);
      }
      else
      {
        overwritten += output[i] != 77 ? 1 : 0;
      }
    }
    ASSERT_EQ(packed.size(), images.Count());
    EXPECT_TRUE(images.IsExpected(packed.data()));
    EXPECT_EQ(overwritten, 0U);
  }
}

// Memory that nobody has written to: its pages come with the first slabs.
TEST_F(CudaMedianPipeline, FreshOutputsAreFilled)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4099, 6001, 1, 1 } }, { { 2, 2, 0, 0 } });
  for (const auto & devices : { std::vector<int>{}, std::vector<int>{ 0, 0 } })
  {
    for (const std::size_t offset : { 0, 1, 4099 })
    {
      const std::unique_ptr<std::int16_t[]> fresh(new std::int16_t[images.Count() + offset]);
      auto                                  request = images.MakeRequest();
      request.devices = devices;
      request.output = fresh.get() + offset;
      RunMedian(request);
      EXPECT_TRUE(images.IsExpected(fresh.get() + offset)) << devices.size() << " devices, offset " << offset;
    }
  }
}

TEST_F(CudaMedianPipeline, PinnedImagesAreTransferredWhereTheyLie)
{
  CUDAMEDIAN_NEEDS_GPU();
  for (const bool input : { false, true })
  {
    for (const bool output : { false, true })
    {
      SCOPED_TRACE(std::string(input ? "pinned" : "ordinary") + " input, " + (output ? "pinned" : "ordinary") +
                   " output");
      Case<std::int16_t> large({ { 3001, 3001, 1, 1 } }, { { 1, 1, 0, 0 } }, input, output);
      large.Check(large.MakeRequest());
      Case<std::uint8_t> small({ { 37, 29, 11, 2 } }, { { 1, 2, 1, 0 } }, input, output);
      small.Check(small.MakeRequest());
      Case<float> aligned({ { 64, 48, 32, 1 } }, { { 1, 1, 1, 0 } }, input, output);
      aligned.Check(aligned.MakeRequest());
    }
  }
}

// A part of the image, so that device rows have columns before the first output, and other pixels out than in.
TEST_F(CudaMedianPipeline, PartsOfImagesAndConversions)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4101, 3001, 1, 1 } }, { { 3, 3, 0, 0 } });
  auto               request = images.MakeRequest();
  const auto         full = images.Check(request);
  EXPECT_GT(full.kernelSeconds, 0);
  constexpr std::int64_t origin[2] = { 1003, 17 };
  constexpr std::int64_t extent[2] = { 3000, 2900 };
  std::vector<double>    part(static_cast<std::size_t>(extent[0] * extent[1]));
  const auto *           filtered = static_cast<const std::int16_t *>(request.output);
  auto                   partial = request;
  partial.outputOrigin = { { origin[0], origin[1], 0, 0 } };
  partial.outputExtent = { { extent[0], extent[1], 1, 1 } };
  partial.output = part.data();
  partial.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] } };
  partial.outputPixelBytes = sizeof(double);
  partial.convertRow = [](const void * source, void * target, std::size_t count) {
    std::copy_n(static_cast<const std::int16_t *>(source), count, static_cast<double *>(target));
  };
  RunMedian(partial);
  std::size_t differences = 0;
  for (std::int64_t y = 0; y < extent[1]; ++y)
  {
    for (std::int64_t x = 0; x < extent[0]; ++x)
    {
      differences +=
        part[static_cast<std::size_t>(y * extent[0] + x)] != filtered[(y + origin[1]) * 4101 + x + origin[0]] ? 1 : 0;
    }
  }
  EXPECT_EQ(differences, 0U);
}

TEST_F(CudaMedianPipeline, TheSameRequestAgainAllocatesNothing)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> large({ { 4099, 3001, 1, 1 } }, { { 1, 1, 0, 0 } });
  Case<std::uint8_t> small({ { 64, 32, 1, 1 } }, { { 10, 10, 0, 0 } });
  large.Check(large.MakeRequest());
  small.Check(small.MakeRequest());
  SetAllocationFaults(1, forEver);
  const auto bytes = large.Check(large.MakeRequest()).deviceBytes;
  for (int i = 0; i < 1000; ++i)
  {
    const auto request = small.MakeRequest();
    i % 100 == 0 ? small.Check(request) : RunMedian(request);
  }
  EXPECT_EQ(large.Check(large.MakeRequest()).deviceBytes, bytes);
  ClearCudaFaults();
  ReleaseCachedMemory();
  large.Check(large.MakeRequest());
}

// The pieces of a stream: those in the middle of the image have a larger halo than the first.
TEST_F(CudaMedianPipeline, PiecesOfAStreamAllocateOnce)
{
  CUDAMEDIAN_NEEDS_GPU();
  const Extent       whole{ { 701, 503, 96, 1 } };
  Case<std::int16_t> images(whole, { { 2, 2, 3, 0 } });
  for (const std::int64_t pieces : { 2, 6, 24 })
  {
    SCOPED_TRACE(std::to_string(pieces) + " pieces");
    ReleaseCachedMemory();
    const auto request = images.MakeRequest();
    const auto slice = whole[0] * whole[1];
    const auto length = whole[2] / pieces;
    images.CheckRuns([&] {
      for (std::int64_t piece = 0; piece < pieces; ++piece)
      {
        const auto first = std::max<std::int64_t>(piece * length - 3, 0);
        const auto last = std::min((piece + 1) * length + 3, whole[2]);
        auto       part = request;
        part.input = static_cast<const std::int16_t *>(request.input) + first * slice;
        part.inputExtent[2] = last - first;
        part.output = static_cast<std::int16_t *>(request.output) + piece * length * slice;
        part.outputExtent[2] = length;
        part.outputOrigin[2] = piece * length - first;
        const auto report = RunMedian(part);
        EXPECT_EQ(report.slabReason.find("failed"), std::string::npos) << report.slabReason;
        SetAllocationFaults(1, forEver);
      }
      ClearCudaFaults();
    });
  }
}

TEST_F(CudaMedianPipeline, FailedAllocationsAreSurvived)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 3001, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  for (int first = 1; first <= 13; ++first)
  {
    for (const int count : { 1, 2, 3 })
    {
      SCOPED_TRACE("allocation " + std::to_string(first) + " and " + std::to_string(count - 1) + " more");
      ReleaseCachedMemory();
      SetAllocationFaults(first, count);
      images.Check(images.MakeRequest());
      ClearCudaFaults();
    }
  }
  ReleaseCachedMemory();
  SetAllocationFaults(1, 2);
  const auto report = images.Check(images.MakeRequest());
  EXPECT_NE(report.slabReason.find("failed"), std::string::npos) << report.slabReason;
}

TEST_F(CudaMedianPipeline, WithoutAnyMemoryTheErrorNamesTheBytes)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 3001, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  ReleaseCachedMemory();
  SetAllocationFaults(1, forEver);
  auto request = images.MakeRequest();
  request.deviceMemoryBudget = 123456789;
  try
  {
    RunMedian(request);
    FAIL() << "no exception";
  }
  catch (const DeviceError & error)
  {
    const std::string text = error.what();
    EXPECT_NE(text.find("123456789"), std::string::npos) << text;
    EXPECT_NE(text.find("free now"), std::string::npos) << text;
  }
  ClearCudaFaults();
  images.Check(request);
}

TEST_F(CudaMedianPipeline, AFailedCopyThrowsAndTheNextRunWorks)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 3001, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  // A kernel that is not the device's own filters a small image before the first one; what fails there is tried again.
  images.Check(images.MakeRequest());
  for (const int number : { 1, 2, 3, 4 })
  {
    SetCopyFaults(number, 1);
    EXPECT_THROW(RunMedian(images.MakeRequest()), DeviceError) << "copy " << number;
    images.Check(images.MakeRequest());
  }
}

TEST_F(CudaMedianPipeline, AnAbortBetweenSlabsLeavesNothingBehind)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4099, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  request.deviceMemoryBudget = std::size_t{ 12 } << 20;
  const auto slabs = images.Check(request).numberOfSlabs;
  ASSERT_GT(slabs, 4U);
  struct Abort
  {};
  for (std::size_t stop = 1; stop <= slabs; stop += 2)
  {
    float       last = 0;
    std::size_t calls = 0;
    request.progress = [&](float fraction) {
      EXPECT_GT(fraction, last);
      last = fraction;
      if (++calls == stop)
      {
        throw Abort{};
      }
    };
    EXPECT_THROW(RunMedian(request), Abort);
    EXPECT_EQ(calls, stop);
  }
  request.progress = nullptr;
  SetAllocationFaults(1, forEver);
  images.Check(request);
}

TEST_F(CudaMedianPipeline, SeveralThreadsShareADevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  std::vector<std::unique_ptr<Case<std::int16_t>>> cases;
  for (std::int64_t r = 1; r <= 4; ++r)
  {
    cases.push_back(std::make_unique<Case<std::int16_t>>(Extent{ { 3001, 2801, 1, 1 } }, Extent{ { r, 5 - r, 0, 0 } }));
  }
  RunInThreads(cases.size(), [&](std::size_t i) {
    for (int repeat = 0; repeat < 5; ++repeat)
    {
      auto request = cases[i]->MakeRequest();
      request.deviceMemoryBudget = std::size_t{ 100 } << 20;
      cases[i]->Check(request);
    }
  });
}

// Windows whose blocks of local ranks have more or less shared memory run by the same kernels.
TEST_F(CudaMedianPipeline, ThreadsWithDifferentWindowsShareKernels)
{
  CUDAMEDIAN_NEEDS_GPU();
  std::vector<std::unique_ptr<Case<std::int16_t>>> cases;
  for (const std::int64_t r : { 10, 14, 18, 22 })
  {
    cases.push_back(std::make_unique<Case<std::int16_t>>(Extent{ { 301, 203, 1, 1 } }, Extent{ { r, r, 0, 0 } }));
  }
  RunInThreads(cases.size(), [&](std::size_t i) {
    for (int repeat = 0; repeat < 50; ++repeat)
    {
      auto request = cases[i]->MakeRequest();
      request.algorithm = Algorithm::LocalRank;
      request.deviceMemoryBudget = std::size_t{ 100 } << 20;
      cases[i]->Check(request);
    }
  });
}

#ifndef CUDAMEDIAN_TEST_ON_HOST
TEST_F(CudaMedianPipeline, SelectionRunsInShortLaunches)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::uint8_t> images({ { 1003, 301, 1, 1 } }, { { 120, 120, 0, 0 } });
  auto               request = images.MakeRequest();
  request.algorithm = Algorithm::Selection;
  const auto report = images.Check(request);
  EXPECT_GT(report.numberOfSlabs, 1U);
  EXPECT_LT(report.kernelSeconds / static_cast<double>(report.numberOfSlabs), 0.2);
}
#endif

// One device that is listed twice has two contexts: all that several devices need can be tested on a machine with one.
TEST_F(CudaMedianPipeline, SeveralDevicesGiveTheSame)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> flat({ { 4099, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  Case<std::uint8_t> deep({ { 301, 203, 401, 1 } }, { { 1, 1, 2, 0 } });
  Case<std::int16_t> ranked({ { 2099, 2101, 1, 1 } }, { { 10, 10, 0, 0 } });
  Case<float>        pinned({ { 2001, 2001, 1, 1 } }, { { 1, 1, 0, 0 } }, true, true);
  Case<std::uint8_t> small({ { 64, 32, 1, 1 } }, { { 1, 1, 0, 0 } });
  auto               all = ListDevices();
  ASSERT_FALSE(all.empty());
  for (const auto & devices : { std::vector<int>{ 0, 0 }, std::vector<int>{ 0, 0, 0 }, { all.back() }, all })
  {
    for (const std::size_t budget : { std::size_t{ 0 }, std::size_t{ 12 } << 20 })
    {
      SCOPED_TRACE(std::to_string(devices.size()) + " devices, budget " + std::to_string(budget));
      const auto check = [&](auto & images) {
        auto request = images.MakeRequest();
        request.devices = devices;
        request.deviceMemoryBudget = budget;
        const auto report = images.Check(request);
        for (const int device : devices)
        {
          EXPECT_NE(report.device.find("device " + std::to_string(device)), std::string::npos) << report.device;
        }
        if (devices.size() > 1 && report.numberOfSlabs > 1)
        {
          EXPECT_NE(report.slabReason.find("dealt to device "), std::string::npos) << report.slabReason;
        }
        EXPECT_GT(report.kernelSeconds, 0);
        return report;
      };
      EXPECT_GT(check(flat).numberOfSlabs, 1U);
      EXPECT_GT(check(deep).numberOfSlabs, 1U);
      check(ranked);
      check(pinned);
      check(small);
    }
  }
}

TEST_F(CudaMedianPipeline, SeveralDevicesAllocateOnce)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4099, 3001, 1, 1 } }, { { 1, 1, 0, 0 } });
  auto               request = images.MakeRequest();
  request.devices = { 0, 0 };
  const auto bytes = images.Check(request).deviceBytes;
  SetAllocationFaults(1, forEver);
  EXPECT_EQ(images.Check(request).deviceBytes, bytes);
}

TEST_F(CudaMedianPipeline, SeveralDevicesReportAndAbortOnTheCallingThread)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4099, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  request.devices = { 0, 0 };
  request.deviceMemoryBudget = std::size_t{ 12 } << 20;
  struct Abort
  {};
  const auto caller = std::this_thread::get_id();
  for (const float stop : { 0.0F, 0.3F, 0.6F, 1.0F })
  {
    float last = 0;
    request.progress = [&](float fraction) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_GT(fraction, last);
      EXPECT_TRUE(last == 0 || last < stop) << "called again after its exception";
      last = fraction;
      if (fraction >= stop)
      {
        throw Abort{};
      }
    };
    EXPECT_THROW(RunMedian(request), Abort);
  }
  float last = 0;
  request.progress = [&](float fraction) { last = fraction; };
  images.Check(request);
  EXPECT_EQ(last, 1.0F);
}

TEST_F(CudaMedianPipeline, WhenOneOfSeveralDevicesFailsTheOthersTakeOver)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4099, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  request.devices = { 0, 0 };
  request.deviceMemoryBudget = std::size_t{ 12 } << 20;
  for (const int number : { 1, 2, 3, 8, 15 })
  {
    SCOPED_TRACE("copy " + std::to_string(number));
    SetCopyFaults(number, 1);
    const auto report = images.Check(request);
    EXPECT_NE(report.slabReason.find("the other devices filtered its slabs"), std::string::npos) << report.slabReason;
    EXPECT_NE(report.slabReason.find("CUDA device 0: cudaMemcpy"), std::string::npos) << report.slabReason;
  }
  SetCopyFaults(1, forEver);
  EXPECT_THROW(RunMedian(request), DeviceError);
  ClearCudaFaults();
  const auto report = images.Check(request);
  EXPECT_EQ(report.slabReason.find("filtered its slabs"), std::string::npos) << report.slabReason;
}

TEST_F(CudaMedianPipeline, FailedAllocationsOnSeveralDevicesAreSurvived)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 3001, 3001, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  request.devices = { 0, 0 };
  for (const int first : { 1, 5, 17, 25 })
  {
    for (const int count : { 1, 2, 3 })
    {
      SCOPED_TRACE("allocation " + std::to_string(first) + " and " + std::to_string(count - 1) + " more");
      ReleaseCachedMemory();
      SetAllocationFaults(first, count);
      images.Check(request);
    }
  }
}

TEST_F(CudaMedianPipeline, ADeviceThatIsNotThereIsNamed)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 301, 301, 1, 1 } }, { { 2, 2, 0, 0 } });
  const auto         count = std::to_string(ListDevices().size());
  for (const auto & devices : { std::vector<int>{ 0, 12345 }, std::vector<int>{ 12345 }, std::vector<int>{ -12345 } })
  {
    auto request = images.MakeRequest();
    request.devices = devices;
    request.progress = [](float) { FAIL() << "something ran"; };
    try
    {
      RunMedian(request);
      FAIL() << "no exception";
    }
    catch (const DeviceError & error)
    {
      const std::string text = error.what();
      EXPECT_NE(text.find("12345"), std::string::npos) << text;
      EXPECT_NE(text.find(" " + count + " device"), std::string::npos) << text;
    }
  }
  images.Check(images.MakeRequest());
}
