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
// Which devices are touched, and what happens when they fail, vanish, are reset or are left behind by a fork, on
// devices that are threads of the host (HostRuntime.cxx).

#include "DeviceQuery.h"
#include "Planner.h"
#include "CudaFaults.h"
#include "CudaMedianTestRequests.h"
#include "BorrowedContext.h"
#include "CudaError.h"
#include "HostRuntime.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

/** What plans of this process keep to. */
PlanLimits
GetLimits(std::size_t budget)
{
  PlanLimits limits;
  limits.budget = budget;
  limits.device = GetDeviceTraits({});
  return limits;
}

class CudaMedianDevices : public testing::Test
{
protected:
  void
  TearDown() override
  {
    ClearCudaFaults();
    hostruntime::SetUnusableDevices({});
    hostruntime::SetFreeMemory(std::size_t{ 1 } << 30);
    hostruntime::SetPinnedLimit(std::numeric_limits<std::size_t>::max(), cudaErrorMemoryAllocation);
    hostruntime::WatchInitialization(false);
    for (int device = 0; device < hostruntime::numberOfDevices; ++device)
    {
      hostruntime::LoseDevice(device, cudaSuccess);
    }
    ReleaseCachedMemory();
    EXPECT_EQ(CountLiveObjects().Count(), 0U);
    EXPECT_EQ(hostruntime::CountStaleUses(), m_StaleUses);
  }

  const int m_StaleUses{ hostruntime::CountStaleUses() };
};

Case<std::int16_t>
MakeImages()
{
  return { { { 150, 120, 1, 1 } }, { { 6, 6, 0, 0 } } };
}

/** A request with one work unit, whose algorithm is so much slower on the CPU that the automatic choice is CUDA even
 * where sanitizers or other programs slow down what is measured. */
MedianRequest
MakeAutomatic(Case<std::int16_t> & images)
{
  auto request = images.MakeRequest();
  request.backend = Backend::Auto;
  request.algorithm = Algorithm::Selection;
  request.workUnits = 1;
  return request;
}

bool
Contains(const std::string & text, const std::string & part)
{
  return text.find(part) != std::string::npos;
}

/** Runs in a thread whose current device is the first, as in a program that has not used CUDA yet. */
template <typename TRun>
void
RunInNewThread(const TRun & run)
{
  std::thread thread(run);
  thread.join();
}

/** Collects progress, which must rise. */
class RisingProgress
{
public:
  std::function<void(float)>
  Get()
  {
    return [this](float fraction) {
      EXPECT_GT(fraction, m_Last);
      m_Last = fraction;
      ++m_Calls;
    };
  }
  float
  GetLast() const
  {
    return m_Last;
  }
  int
  CountCalls() const
  {
    return m_Calls;
  }

private:
  float m_Last{ -1 };
  int   m_Calls{ 0 };
};

/** Runs a request that CUDA cannot carry out, or not to the end, and expects the CPU's result and the reason. */
void
ExpectCpu(Case<std::int16_t> & images, MedianRequest request, const std::string & reason)
{
  RisingProgress progress;
  request.progress = progress.Get();
  ExecutionReport report;
  ASSERT_NO_THROW(images.CheckRuns([&] { report = RunMedian(request); })) << reason;
  EXPECT_EQ(report.backend, "CPU") << report.backendReason;
  EXPECT_EQ(report.device, "host");
  EXPECT_EQ(report.deviceMemoryBudget, 0U);
  EXPECT_EQ(report.hostMemoryBudget, 0U);
  EXPECT_EQ(report.deviceBytes, 0U);
  EXPECT_EQ(report.pinnedBytes, 0U);
  EXPECT_TRUE(Contains(report.backendReason, reason)) << report.backendReason;
  EXPECT_EQ(progress.GetLast(), 1.0F);
}

/** Runs a request that throws a certain exception. \returns its text. */
template <typename TException>
std::string
GetError(const MedianRequest & request)
{
  try
  {
    RunMedian(request);
  }
  catch (const TException & error)
  {
    return error.what();
  }
  ADD_FAILURE() << "no exception";
  return "";
}

/** Runs something in a process of its own that may take 20 seconds. \returns its exit code, or -1 when it did not end
 * by itself. */
template <typename TRun>
int
RunInChild(const TRun & run)
{
  const auto child = fork();
  if (child == 0)
  {
    alarm(20);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_F(CudaMedianDevices, OnlyListedDevicesAreTouched)
{
  auto images = MakeImages();
  for (const auto & devices : { std::vector<int>{ 3 }, std::vector<int>{ 2, 1 }, std::vector<int>{ 1, 1 } })
  {
    for (const auto backend : { Backend::Cuda, Backend::Auto })
    {
      for (const std::size_t budget : { 0, 20000 })
      {
        SCOPED_TRACE(std::to_string(devices.size()) + " devices from " + std::to_string(devices.front()) + ", " +
                     ToString(backend));
        ReleaseCachedMemory();
        hostruntime::ForgetTouchedDevices();
        hostruntime::SetUnusableDevices({ 0 });
        RunInNewThread([&] {
          auto request = MakeAutomatic(images);
          request.backend = backend;
          request.devices = devices;
          request.deviceMemoryBudget = budget;
          const auto report = images.Check(request);
          EXPECT_EQ(report.backend, "CUDA") << report.backendReason;
          ReleaseCachedMemory();
          int device = -1;
          EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
          EXPECT_EQ(device, 0) << "the thread's current device was changed";
        });
        EXPECT_EQ(hostruntime::GetTouchedDevices(), std::set<int>(devices.begin(), devices.end()));
      }
    }
  }
}

/** Copies of an image with a mask may be run by threads whose current device is another one. */
TEST_F(CudaMedianDevices, CopiesGoToTheDeviceOfTheCallingThread)
{
  Case<std::int16_t>         images{ { { 256, 200, 4, 1 } }, { { 5, 5, 0, 0 } } };
  std::vector<unsigned char> mask(256 * 200 * 4, 1);
  for (std::size_t i = 0; i < mask.size(); i += 7)
  {
    mask[i] = 0;
  }
  auto request = images.MakeRequest();
  request.validity.mask = mask.data();
  request.validity.maskPixelBytes = 1;
  request.validity.maskStride = { { 1, 256, 256 * 200, 256 * 200 * 4 } };
  request.backend = Backend::Cuda;
  request.workUnits = 4;
  request.parallelFor = [](std::size_t count, const std::function<void(std::size_t)> & body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
    {
      threads.emplace_back(body, i);
    }
    for (auto & thread : threads)
    {
      thread.join();
    }
  };
  RunInNewThread([&] {
    EXPECT_EQ(cudaSetDevice(3), cudaSuccess);
    ReleaseCachedMemory();
    hostruntime::ForgetTouchedDevices();
    EXPECT_EQ(RunMedian(request).backend, "CUDA");
    EXPECT_EQ(hostruntime::GetTouchedDevices(), std::set<int>{ 3 });
  });
}

TEST_F(CudaMedianDevices, AListedDeviceThatCannotBeUsedIsNamed)
{
  auto images = MakeImages();
  hostruntime::SetUnusableDevices({ 2 });
  auto request = images.MakeRequest();
  request.devices = { 1, 2 };
  const auto text = GetError<DeviceError>(request);
  EXPECT_TRUE(Contains(text, "device 2") && Contains(text, "cudaErrorDevicesUnavailable")) << text;
  request.backend = Backend::Auto;
  ExpectCpu(images, request, "device 2");
  request.devices = { 1 };
  images.Check(request);
}

TEST_F(CudaMedianDevices, ADeviceIsTakenForOneOfTheTableOnly)
{
  // Asked before and after, so that the traits of another device are not what is remembered.
  const char * const before = std::getenv("CUDAMEDIAN_PRETEND_DEVICE");
  const std::string  name = before == nullptr ? "" : before;
  ASSERT_EQ(setenv("CUDAMEDIAN_PRETEND_DEVICE", "voodoo2", 1), 0);
  const auto found = QueryCudaDevice();
  EXPECT_FALSE(found.usable);
  EXPECT_TRUE(Contains(found.description, "\"voodoo2\"")) << found.description;
  EXPECT_TRUE(Contains(found.description, "rtx4090")) << found.description;
  auto images = MakeImages();
  auto request = images.MakeRequest();
  request.backend = Backend::Cuda;
  EXPECT_THROW(RunMedian(request), DeviceError);

  ASSERT_EQ(setenv("CUDAMEDIAN_PRETEND_DEVICE", "rtx4090", 1), 0);
  const auto taken = QueryCudaDevice();
  EXPECT_TRUE(taken.usable) << taken.description;
  EXPECT_TRUE(Contains(taken.description, "taken for NVIDIA GeForce RTX 4090")) << taken.description;
  ASSERT_EQ(name.empty() ? unsetenv("CUDAMEDIAN_PRETEND_DEVICE") : setenv("CUDAMEDIAN_PRETEND_DEVICE", name.c_str(), 1),
            0);
}

TEST_F(CudaMedianDevices, TheCurrentDeviceThatCannotBeUsedLeavesTheCpu)
{
  auto images = MakeImages();
  RunInNewThread([&] {
    hostruntime::SetUnusableDevices({ 0 });
    ExpectCpu(images, MakeAutomatic(images), "no usable CUDA device");
  });
}

TEST_F(CudaMedianDevices, ADeviceLostOnTheWayLeavesTheImageToTheCpu)
{
  auto images = MakeImages();
  for (const auto & devices : { std::vector<int>{}, std::vector<int>{ 3 }, std::vector<int>{ 2, 2 } })
  {
    for (const auto error : { cudaErrorIllegalAddress, cudaErrorDevicesUnavailable })
    {
      for (const int launches : { 0, 2 })
      {
        auto request = MakeAutomatic(images);
        request.devices = devices;
        request.deviceMemoryBudget = 20000;
        const int device = devices.empty() ? 0 : devices.front();
        ASSERT_EQ(images.Check(request).backend, "CUDA");
        hostruntime::LoseDeviceAtLaunch(device, launches, error);
        ExpectCpu(images, request, "CUDA failed, and the CPU filtered the image from the start: CUDA device");
        // It stays lost.
        ExpectCpu(images, request, cudaGetErrorName(error));
        request.backend = Backend::Cuda;
        const auto text = GetError<DeviceError>(request);
        EXPECT_TRUE(Contains(text, cudaGetErrorName(error))) << text;
        hostruntime::LoseDevice(device, cudaSuccess);
        images.Check(request);
      }
    }
  }
}

TEST_F(CudaMedianDevices, WhenOneOfTwoDevicesIsLostTheOtherTakesOver)
{
  auto images = MakeImages();
  auto request = images.MakeRequest();
  request.devices = { 1, 2 };
  request.deviceMemoryBudget = 20000;
  hostruntime::LoseDeviceAtLaunch(2, 1, cudaErrorIllegalAddress);
  const auto report = images.Check(request);
  EXPECT_TRUE(Contains(report.slabReason, "CUDA device 2: The kernel launch failed: cudaErrorIllegalAddress"))
    << report.slabReason;
}

TEST_F(CudaMedianDevices, WhatCudaCannotDoTheCpuDoes)
{
  auto images = MakeImages();
  auto request = MakeAutomatic(images);
  request.deviceMemoryBudget = 100;
  ExpectCpu(images, request, "CUDA cannot run this: A device memory budget of 100 bytes");
  request.deviceMemoryBudget = 0;
  hostruntime::SetFreeMemory(100);
  ExpectCpu(images, request, "CUDA cannot run this: A device memory budget of 80 bytes");
  hostruntime::SetFreeMemory(std::size_t{ 1 } << 30);
  request.hostMemoryBudget = 100;
  ExpectCpu(images, request, "CUDA cannot run this: A host memory budget of 100 bytes");
  request.hostMemoryBudget = 0;
  SetAllocationFaults(1, forEver);
  ExpectCpu(images, request, "CUDA failed, and the CPU");
  ClearCudaFaults();
  // Local ranks cover more on the CPU.
  Case<std::int16_t> large({ { 40, 20, 9, 1 } }, { { 12, 12, 12, 0 } });
  request = MakeAutomatic(large);
  request.algorithm = Algorithm::LocalRank;
  ExpectCpu(large, request, "CUDA cannot run this: No block of local ranks");
  // A request that needs something else of CUDA is refused by it.
  request.backend = Backend::Cuda;
  EXPECT_THROW(RunMedian(request), RequestError);
}

TEST_F(CudaMedianDevices, WhatTheCpuCannotDoCudaDoes)
{
  Case<std::int16_t> images({ { 60, 40, 1, 1 } }, { { 1, 1, 0, 0 } });
  auto               request = MakeAutomatic(images);
  request.algorithm = Algorithm::MergeTiling;
  const auto report = images.Check(request);
  EXPECT_EQ(report.backend, "CUDA");
  EXPECT_TRUE(Contains(report.backendReason, "the CPU cannot run this: Merge tiling")) << report.backendReason;
  hostruntime::LoseDeviceAtLaunch(0, 0, cudaErrorIllegalAddress);
  EXPECT_TRUE(Contains(GetError<DeviceError>(request), "cudaErrorIllegalAddress"));
  const auto text = GetError<RequestError>(request);
  EXPECT_TRUE(Contains(text, "Merge tiling") && Contains(text, "cudaErrorIllegalAddress")) << text;
}

// Before anything was measured of the device.
TEST_F(CudaMedianDevices, RatesThatCannotBeMeasuredLeaveTheCpu)
{
  auto images = MakeImages();
  auto request = MakeAutomatic(images);
  request.devices = { 5 };
  SetCudaFaults(1, 1, cudaErrorUnknown, { "cudaMemcpyAsync" });
  ExpectCpu(images, request, "cudaMemcpyAsync failed");
  EXPECT_EQ(CountFailedCalls(), 1);
}

TEST_F(CudaMedianDevices, AnExceptionOfTheCallerIsNeverTriedAgain)
{
  auto images = MakeImages();
  for (const auto backend : { Backend::Auto, Backend::Cuda })
  {
    auto request = MakeAutomatic(images);
    request.backend = backend;
    request.deviceMemoryBudget = 20000;
    int        calls = 0;
    const auto expect = [&](const auto & exception) {
      using Exception = std::decay_t<decltype(exception)>;
      calls = 0;
      request.progress = [&](float) {
        ++calls;
        throw exception;
      };
      try
      {
        RunMedian(request);
        FAIL() << "no exception";
      }
      catch (const Exception & caught)
      {
        if constexpr (std::is_base_of_v<std::exception, Exception>)
        {
          EXPECT_STREQ(caught.what(), "mine");
        }
      }
      EXPECT_EQ(calls, 1);
    };
    expect(DeviceError("mine"));
    expect(RequestError("mine"));
    expect(CudaError(cudaErrorUnknown, "mine"));
    expect(std::runtime_error("mine"));
    expect(7);
  }
  images.Check(images.MakeRequest());
}

// The CPU's progress, some twenty calls, fills what CUDA left.
TEST_F(CudaMedianDevices, ProgressGoesOnWhereCudaFailed)
{
  Case<std::int16_t> images({ { 150, 120, 1, 1 } }, { { 5, 5, 0, 0 } });
  auto               request = MakeAutomatic(images);
  request.deviceMemoryBudget = 20000;
  RisingProgress whole;
  request.progress = whole.Get();
  const auto slabs = images.Check(request).numberOfSlabs;
  ASSERT_GT(slabs, 2U);
  EXPECT_EQ(whole.CountCalls(), static_cast<int>(slabs));
  hostruntime::LoseDeviceAtLaunch(0, static_cast<int>(slabs) - 1, cudaErrorIllegalAddress);
  RisingProgress failed;
  request.progress = failed.Get();
  images.CheckRuns([&] { EXPECT_EQ(RunMedian(request).backend, "CPU"); });
  EXPECT_EQ(failed.GetLast(), 1.0F);
  EXPECT_GT(failed.CountCalls(), 18);
}

// Slabs behind the one that was told of are on their way to an image that the caller may give back now.
TEST_F(CudaMedianDevices, NothingIsUnderWayAfterAnException)
{
  Case<std::uint8_t> images({ { 4099, 4101, 1, 1 } }, { { 1, 1, 0, 0 } }, true, true);
  auto               request = images.MakeRequest();
  struct Stop
  {};
  request.progress = [](float) { throw Stop{}; };
  for (int repeat = 0; repeat < 2; ++repeat)
  {
    EXPECT_THROW(RunMedian(request), Stop);
    images.Fill();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto * output = static_cast<const std::uint8_t *>(request.output);
    EXPECT_EQ(std::count(output, output + images.Count(), 77), static_cast<std::ptrdiff_t>(images.Count()));
  }
}

TEST_F(CudaMedianDevices, StagingKeepsToTheHostBudget)
{
  Case<std::uint8_t> images({ { 4099, 4501, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  for (const auto & devices : { std::vector<int>{}, std::vector<int>{ 0, 0 } })
  {
    request.devices = devices;
    for (const std::size_t budget : { 0, 64 << 20, 24 << 20, 5 << 20, 1 << 20 })
    {
      SCOPED_TRACE("budget " + std::to_string(budget) + ", " + std::to_string(devices.size()) + " devices");
      request.hostMemoryBudget = budget;
      const auto report = images.Check(request);
      EXPECT_GT(report.pinnedBytes, 0U);
      EXPECT_LE(report.pinnedBytes, report.hostMemoryBudget);
      EXPECT_LE(CountLiveObjects().pinnedBytes, report.hostMemoryBudget);
      if (budget != 0)
      {
        EXPECT_EQ(report.hostMemoryBudget, budget);
      }
    }
  }
  request.hostMemoryBudget = 64;
  const auto text = GetError<RequestError>(request);
  EXPECT_TRUE(Contains(text, "host memory budget of 32 bytes") && Contains(text, "bytes of pinned memory")) << text;
}

TEST_F(CudaMedianDevices, PinnedImagesNeedNoHostBudget)
{
  Case<std::uint8_t> images({ { 4099, 4501, 1, 1 } }, { { 1, 1, 0, 0 } }, true, true);
  auto               request = images.MakeRequest();
  request.hostMemoryBudget = 1;
  const auto report = images.Check(request);
  EXPECT_EQ(report.pinnedBytes, 0U);
}

TEST_F(CudaMedianDevices, WithoutPinnedMemorySlabsAreSmallerOrPassThroughOrdinaryMemory)
{
  Case<std::uint8_t> images({ { 4099, 4501, 1, 1 } }, { { 1, 1, 0, 0 } });
  auto               request = images.MakeRequest();
  for (const auto error : { cudaErrorMemoryAllocation, cudaErrorOperatingSystem })
  {
    hostruntime::SetPinnedLimit(std::size_t{ 3 } << 20, error);
    ReleaseCachedMemory();
    auto report = images.Check(request);
    EXPECT_TRUE(Contains(report.slabReason, "bytes of pinned memory of the host were not to be had"))
      << report.slabReason;
    EXPECT_FALSE(Contains(report.slabReason, "ordinary")) << report.slabReason;
    EXPECT_GT(report.pinnedBytes, 0U);
    hostruntime::SetPinnedLimit(0, error);
    ReleaseCachedMemory();
    for (int repeat = 0; repeat < 2; ++repeat)
    {
      report = images.Check(request);
      EXPECT_TRUE(Contains(report.slabReason, "pass through ordinary memory")) << report.slabReason;
      EXPECT_EQ(report.pinnedBytes, 0U);
    }
    // As soon as there is some, it is pinned again.
    hostruntime::SetPinnedLimit(std::size_t{ 1 } << 40, error);
    report = images.Check(request);
    EXPECT_FALSE(Contains(report.slabReason, "pinned")) << report.slabReason;
    EXPECT_GT(report.pinnedBytes, 0U);
  }
}

TEST_F(CudaMedianDevices, LargePinnedBuffersAreNotKept)
{
  for (const std::size_t bytes : { mostIdlePinnedBytes / 2, mostIdlePinnedBytes / 2 + 1 })
  {
    {
      const BorrowedContext contexts[]{ BorrowedContext(0), BorrowedContext(0) };
      for (const auto & context : contexts)
      {
        ASSERT_TRUE(context->places[0].stagedInput.Reserve(bytes));
      }
      EXPECT_EQ(CountLiveObjects().pinnedBytes, 2 * bytes);
    }
    EXPECT_EQ(CountLiveObjects().pinnedBytes, 2 * bytes <= mostIdlePinnedBytes ? 2 * bytes : bytes);
    ReleaseCachedMemory();
  }
}

// What the plan with less memory is must be what the report says, not the plan that there was no memory for.
TEST_F(CudaMedianDevices, AfterAFailedAllocationTheNewAlgorithmIsReported)
{
  Case<std::int16_t> images({ { 200, 150, 1, 1 } }, { { 70, 70, 0, 0 } });
  auto               request = images.MakeRequest();
  std::size_t        tried = 0;
  for (std::size_t budget = 1 << 16; budget <= std::size_t{ 1 } << 28; budget *= 2)
  {
    std::optional<Plan> first;
    std::optional<Plan> second;
    try
    {
      first = PlanMedian(request, Backend::Cuda, GetLimits(budget));
      second = PlanMedian(request, Backend::Cuda, GetLimits(first->GetDeviceBytes() / 2));
    }
    catch (const RequestError &)
    {
      continue;
    }
    if (first->candidate.algorithm == second->candidate.algorithm)
    {
      continue;
    }
    ++tried;
    ReleaseCachedMemory();
    request.deviceMemoryBudget = budget;
    SetAllocationFaults(1, 2);
    const auto      report = images.Check(request);
    ExecutionReport expected;
    DescribePlan(*second, expected);
    EXPECT_EQ(report.algorithm, expected.algorithm);
    EXPECT_EQ(report.algorithmReason, expected.algorithmReason);
    EXPECT_EQ(report.tile, expected.tile);
    EXPECT_EQ(report.tileReason, expected.tileReason);
    EXPECT_EQ(report.operations, expected.operations);
    EXPECT_EQ(report.numberOfSlabs, second->slabs.size());
    EXPECT_TRUE(Contains(report.slabReason, "bytes of device memory failed")) << report.slabReason;
  }
  EXPECT_GT(tried, 0U);
}

TEST_F(CudaMedianDevices, AResetBySomeoneElseIsNoticed)
{
  auto images = MakeImages();
  for (const auto & devices : { std::vector<int>{}, std::vector<int>{ 2 }, std::vector<int>{ 1, 2 } })
  {
    for (const auto backend : { Backend::Cuda, Backend::Auto })
    {
      auto request = MakeAutomatic(images);
      request.backend = backend;
      request.devices = devices;
      request.deviceMemoryBudget = 20000;
      for (int repeat = 0; repeat < 3; ++repeat)
      {
        EXPECT_EQ(images.Check(request).backend, "CUDA");
        EXPECT_GT(CountLiveObjects().Count(), 0U);
        for (const int device : devices.empty() ? std::vector<int>{ 0 } : devices)
        {
          RunInNewThread([device] {
            EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
            EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
          });
        }
        ForgetLiveObjects();
        if (repeat == 1)
        {
          ReleaseCachedMemory();
        }
      }
      images.Check(request);
      ReleaseCachedMemory();
    }
  }
}

// Its number tells, where no buffer's address can.
TEST_F(CudaMedianDevices, AResetOfAContextWithoutBuffersIsNoticed)
{
  {
    const BorrowedContext context(0);
  }
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  ForgetLiveObjects();
  const BorrowedContext context(0);
  EXPECT_GT(CountLiveObjects().streams, 0U);
}

// On the device, columns between rows hold what was there before, which nothing may read.
TEST_F(CudaMedianDevices, NothingIsCopiedThatWasNotWritten)
{
  hostruntime::WatchInitialization(true);
  const int before = hostruntime::CountUninitializedCopies();
  for (const bool pinned : { false, true })
  {
    Case<std::uint8_t> images({ { 37, 29, 5, 1 } }, { { 1, 2, 1, 0 } }, pinned, pinned);
    auto               request = images.MakeRequest();
    for (const std::size_t budget : { 0, 12000 })
    {
      ReleaseCachedMemory();
      request.deviceMemoryBudget = budget;
      images.Check(request);
      request.outputOrigin = { { 3, 2, 1, 0 } };
      request.outputExtent = { { 21, 17, 3, 1 } };
      RunMedian(request);
      request = images.MakeRequest();
    }
  }
  auto images = MakeImages();
  auto request = MakeAutomatic(images);
  request.devices = { 1 };
  images.Check(request);
  EXPECT_EQ(hostruntime::CountUninitializedCopies(), before);
}

// Rows of an image that are more than 2 GiB apart; nothing but what is written to takes memory.
TEST_F(CudaMedianDevices, RowsMayBeFurtherApartThanCudaCopiesAtOnce)
{
  constexpr std::int64_t width = (std::int64_t{ 1 } << 31) + 64;
  constexpr std::int64_t x = (std::int64_t{ 1 } << 30) + 7;
  auto * const           input = static_cast<std::uint8_t *>(AllocatePinnedMemory(3 * width));
  ASSERT_NE(input, nullptr);
  std::vector<std::uint8_t> part(3 * 102);
  std::mt19937              generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  for (std::int64_t row = 0; row < 3; ++row)
  {
    for (std::int64_t column = 0; column < 102; ++column)
    {
      part[static_cast<std::size_t>(row * 102 + column)] = static_cast<std::uint8_t>(generator());
      input[row * width + x - 1 + column] = part[static_cast<std::size_t>(row * 102 + column)];
    }
  }
  MedianRequest request;
  request.input = part.data();
  request.inputExtent = { { 102, 3, 1, 1 } };
  request.radius = { { 1, 1, 0, 0 } };
  request.outputOrigin = { { 1, 0, 0, 0 } };
  request.outputExtent = { { 100, 3, 1, 1 } };
  request.outputStride = { { 1, 100, 300, 300 } };
  std::vector<std::uint8_t> expected(300);
  std::vector<std::uint8_t> output(300);
  request.output = expected.data();
  request.backend = Backend::Cpu;
  RunMedian(request);
  request.input = input;
  request.inputExtent = { { width, 3, 1, 1 } };
  request.outputOrigin = { { x, 0, 0, 0 } };
  request.output = output.data();
  request.backend = Backend::Cuda;
  RunMedian(request);
  EXPECT_EQ(output, expected);
  FreePinnedMemory(input);
}

TEST_F(CudaMedianDevices, AForkedProcessUsesTheCpu)
{
  auto images = MakeImages();
  images.Check(images.MakeRequest());
  const int calls = hostruntime::CountCalls();
  EXPECT_EQ(RunInChild([&] {
              ReleaseCachedMemory();
              if (AllocatePinnedMemory(100) != nullptr)
              {
                return 1;
              }
              auto request = MakeAutomatic(images);
              images.Fill();
              const auto report = RunMedian(request);
              if (report.backend != "CPU" || !Contains(report.backendReason, "forked from process") || !images.IsDone())
              {
                return 2;
              }
              request.backend = Backend::Cuda;
              if (!Contains(GetError<DeviceError>(request), "forked from process"))
              {
                return 3;
              }
              ReleaseCachedMemory();
              return hostruntime::CountCalls() == calls ? 0 : 4;
            }),
            0);
  // The parent's contexts are as they were.
  SetAllocationFaults(1, forEver);
  images.Check(images.MakeRequest());
}

TEST_F(CudaMedianDevices, AProcessForkedBeforeCudaStartedUsesIt)
{
  // In a process that has not used CUDA, which this one may have.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
    {
      auto       images = MakeImages();
      const auto inChild = RunInChild([&images] {
        const auto report = images.Check(images.MakeRequest());
        return report.backend == "CUDA" ? 0 : 1;
      });
      const auto report = images.Check(images.MakeRequest());
      std::exit(inChild == 0 && report.backend == "CUDA" && !testing::Test::HasFailure() ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

// A thread that nobody waits for is in the middle of an update when the process ends.
TEST_F(CudaMedianDevices, TheProcessMayEndDuringAnUpdate)
{
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int milliseconds = 0; milliseconds < 10; ++milliseconds)
  {
    EXPECT_EXIT(
      {
        alarm(20);
        auto & images = *new Case<std::int16_t>({ { 150, 120, 1, 1 } }, { { 12, 12, 0, 0 } });
        for (int i = 0; i < 3; ++i)
        {
          std::thread([&images, i] {
            for (;;)
            {
              auto request = images.MakeRequest();
              request.devices = { i };
              request.deviceMemoryBudget = 20000;
              request.backend = i == 2 ? Backend::Auto : Backend::Cuda;
              std::vector<std::int16_t> output(images.Count());
              request.output = output.data();
              RunMedian(request);
            }
          }).detach();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + milliseconds));
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "");
  }
}
