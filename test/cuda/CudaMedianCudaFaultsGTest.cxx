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
// Every call of the CUDA runtime fails once, or from then on: the result is right or an exception says which call or
// error it was, the next run is right, and nothing is left behind. On a GPU and on devices that are threads of the
// host.

#include "CudaFaults.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestRequests.h"

#include "itkCudaMedianDevice.h"

#include <cstdlib>
#include <string>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

class CudaMedianCudaFaults : public testing::Test
{
protected:
  void
  TearDown() override
  {
    ClearCudaFaults();
    ReleaseCachedMemory();
  }
};

const char *
GetName(cudaError_t error)
{
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
         : error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress"
         : error == cudaErrorLaunchFailure  ? "cudaErrorLaunchFailure"
                                            : "cudaErrorUnknown";
}

/** Whether the text of an exception says which call or which error it was, or how much memory was not to be had. */
bool
IsNamed(const std::string & text, cudaError_t error)
{
#ifndef CUDAMEDIAN_TEST_ON_HOST
  // CUB makes other errors of calls that fail in it; then it is the launch that is named. The host has no CUB.
  if (text.find("The kernel launch failed") != std::string::npos)
  {
    return true;
  }
#endif
  return text.find(GetName(error)) != std::string::npos || text.find(GetFailedCall()) != std::string::npos ||
         (error == cudaErrorMemoryAllocation && text.find("bytes") != std::string::npos);
}

/** How calls fail, and which of them are tried. */
struct Faults
{
  cudaError_t error;
  int         count;
  bool        isCold;    ///< nothing is kept from runs before
  int         step{ 1 }; ///< from one number to the next
};

/** Lets call 1, 2, 3 … of a run fail until none is left to fail. \returns how many there were. */
template <typename TPixel>
int
FailEach(Case<TPixel> & images, const MedianRequest & request, const Faults & faults)
{
  ReleaseCachedMemory();
  const auto before = CountLiveObjects();
  int        number = 1;
  for (bool failed = true; failed && !testing::Test::HasFailure(); number += faults.step)
  {
    SCOPED_TRACE(std::string(GetName(faults.error)) + " from call " + std::to_string(number) + " on, " +
                 std::to_string(faults.count) + " times, " + (faults.isCold ? "cold" : "warm"));
    if (!faults.isCold)
    {
      images.Check(request);
    }
    images.Fill();
    SetCudaFaults(number, faults.count, faults.error);
    bool threw = false;
    try
    {
      RunMedian(request);
    }
    catch (const std::exception & error)
    {
      threw = true;
      EXPECT_TRUE(IsNamed(error.what(), faults.error)) << GetFailedCall() << " failed: " << error.what();
      EXPECT_EQ(request.backend, Backend::Cuda) << error.what();
    }
    failed = CountFailedCalls() > 0;
    const auto call = GetFailedCall();
    ClearCudaFaults();
    EXPECT_TRUE(threw || images.IsDone()) << call << " failed";
    EXPECT_TRUE(failed || !threw);
    images.Check(request);
    ReleaseCachedMemory();
    EXPECT_EQ(CountLiveObjects().Count(), before.Count()) << "left behind after " << call << " failed";
  }
  return number;
}

constexpr cudaError_t errors[] = { cudaErrorUnknown,
                                   cudaErrorMemoryAllocation,
                                   cudaErrorIllegalAddress,
                                   cudaErrorLaunchFailure };

/** Fails each call of a request in all ways; where there are many calls, some of them with the less usual errors. */
template <typename TPixel>
void
FailEachInAllWays(Case<TPixel> & images, const MedianRequest & request, int step = 1)
{
  for (const auto error : errors)
  {
    for (const int count : { 1, forEver })
    {
      for (const bool isCold : { true, false })
      {
        const bool isUsual = error == cudaErrorUnknown || error == cudaErrorMemoryAllocation;
        EXPECT_GT(FailEach(images, request, { error, count, isCold, isUsual && isCold ? 1 : step }), 5);
      }
    }
  }
}

} // namespace

TEST_F(CudaMedianCudaFaults, OneSlab)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 37, 29, 3, 1 } }, { { 1, 1, 1, 0 } });
  FailEachInAllWays(images, images.MakeRequest());
}

TEST_F(CudaMedianCudaFaults, PinnedImages)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<float> images({ { 37, 29, 3, 1 } }, { { 1, 1, 1, 0 } }, true, true);
  FailEachInAllWays(images, images.MakeRequest(), 3);
}

TEST_F(CudaMedianCudaFaults, SeveralSlabs)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::uint8_t> images({ { 256, 128, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  request.deviceMemoryBudget = 45000;
  FailEachInAllWays(images, request, 5);
}

TEST_F(CudaMedianCudaFaults, SeveralDevices)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::uint8_t> images({ { 256, 128, 1, 1 } }, { { 2, 2, 0, 0 } });
  auto               request = images.MakeRequest();
  request.devices = { 0, 0 };
  request.deviceMemoryBudget = 60000;
  FailEachInAllWays(images, request, 7);
}

TEST_F(CudaMedianCudaFaults, AutomaticNeverThrows)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 150, 120, 1, 1 } }, { { 12, 12, 0, 0 } });
  auto               request = images.MakeRequest();
  request.backend = Backend::Auto;
  request.workUnits = 1;
  FailEachInAllWays(images, request, 5);
}

// Boxes that are uploaded with a mask, which says that all pixels are valid; a sample of the calls.
TEST_F(CudaMedianCudaFaults, ImagesWithAMask)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t>      images({ { 128, 70, 3, 1 } }, { { 1, 1, 1, 0 } });
  const std::vector<char> ones(images.Count(), 1);
  auto                    request = images.MakeRequest();
  request.validity.mask = ones.data();
  request.hostMemoryBudget = 150000;
  EXPECT_NE(RunMedian(request).slabReason.find("boxes of the image and of its mask are uploaded"), std::string::npos);
  int step = 11;
  for (const auto error : errors)
  {
    FailEach(images, request, { error, 1, true, step += 2 });
    FailEach(images, request, { error, forEver, false, step += 2 });
  }
  request.backend = Backend::Auto;
  FailEach(images, request, { cudaErrorUnknown, 1, true, step });
  FailEach(images, request, { cudaErrorMemoryAllocation, forEver, false, step });
}

// Slabs on their way at the same time; the calls that are tried are a sample, which differs from error to error.
TEST_F(CudaMedianCudaFaults, ARingOfSlabs)
{
  CUDAMEDIAN_NEEDS_GPU();
  Case<std::int16_t> images({ { 4099, 2101, 1, 1 } }, { { 1, 1, 0, 0 } });
  int                step = 29;
  for (const auto error : errors)
  {
    FailEach(images, images.MakeRequest(), { error, 1, true, step += 2 });
    FailEach(images, images.MakeRequest(), { error, forEver, false, step += 2 });
  }
}

// In a process of its own, since all that the device holds goes.
TEST_F(CudaMedianCudaFaults, AResetOfTheDeviceIsSurvived)
{
  CUDAMEDIAN_NEEDS_GPU();
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
    {
      for (const auto & radius : { Extent{ { 1, 1, 1, 0 } }, Extent{ { 14, 14, 0, 0 } }, Extent{ { 30, 30, 0, 0 } } })
      {
        Case<std::int16_t> images({ { 70, 50, 9, 1 } }, radius);
        for (int repeat = 0; repeat < 3; ++repeat)
        {
          images.Check(images.MakeRequest());
          EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
          images.Check(images.MakeRequest());
          EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
          ReleaseCachedMemory();
        }
      }
      std::exit(HasFailure() ? 1 : 0);
    },
    testing::ExitedWithCode(0),
    "");
}

#ifndef CUDAMEDIAN_TEST_ON_HOST
// Every kernel's own way to be launched.
TEST_F(CudaMedianCudaFaults, EachAlgorithm)
{
  CUDAMEDIAN_NEEDS_GPU();
  struct Window
  {
    Algorithm algorithm;
    Extent    radius;
  };
  for (const auto & window : { Window{ Algorithm::TileProgram, { { 2, 2, 0, 0 } } },
                               Window{ Algorithm::TileProgram, { { 5, 5, 0, 0 } } },
                               Window{ Algorithm::TileProgram, { { 0, 2, 1, 0 } } },
                               Window{ Algorithm::LocalRank, { { 14, 14, 0, 0 } } },
                               Window{ Algorithm::LocalRank, { { 40, 40, 0, 0 } } },
                               Window{ Algorithm::SlidingHistogram, { { 30, 30, 0, 0 } } },
                               Window{ Algorithm::MergeTiling, { { 30, 30, 0, 0 } } },
                               Window{ Algorithm::Selection, { { 3, 3, 3, 0 } } } })
  {
    SCOPED_TRACE(ToString(window.algorithm));
    Case<std::int16_t> images({ { 70, 50, 9, 1 } }, window.radius);
    auto               request = images.MakeRequest();
    request.algorithm = window.algorithm;
    for (const auto error : { cudaErrorUnknown, cudaErrorMemoryAllocation })
    {
      FailEach(images, request, { error, 1, true });
      FailEach(images, request, { error, forEver, false });
    }
  }
}
#endif

/** Lets each call of a run fail on an image in device memory that is copied to aligned rows and back. */
void
FailEachInDeviceMemory(bool isMasked)
{
  Case<std::int16_t> images({ { 37, 29, 1, 1 } }, { { 14, 14, 0, 0 } });
  auto               request = images.MakeRequest();
  const auto         bytes = images.Count() * sizeof(std::int16_t);
  void *             memory[3]{ nullptr, nullptr, nullptr };
  cudaStream_t       stream = nullptr;
  for (auto & one : memory)
  {
    ASSERT_EQ(cudaMalloc(&one, bytes), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(memory[0], request.input, bytes, cudaMemcpyHostToDevice), cudaSuccess);
  auto onDevice = request;
  onDevice.input = memory[0];
  onDevice.output = memory[1];
  // All pixels are valid, which a device finds out.
  const std::vector<char> ones(bytes, 1);
  ASSERT_EQ(cudaMemcpy(memory[2], ones.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  onDevice.validity.mask = isMasked ? memory[2] : nullptr;
  const auto run = [&] {
    images.Fill();
    RunMedianOnDevice(onDevice, stream);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(request.output, memory[1], bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_TRUE(images.IsDone());
  };
  run();
  ReleaseCachedMemory();
  const auto before = CountLiveObjects();
  for (const auto error : errors)
  {
    for (const int count : { 1, forEver })
    {
      bool failed = true;
      for (int number = 1; failed && !testing::Test::HasFailure(); ++number)
      {
        SCOPED_TRACE(std::string(GetName(error)) + " from call " + std::to_string(number) + " on");
        SetCudaFaults(number, count, error);
        try
        {
          RunMedianOnDevice(onDevice, stream);
        }
        catch (const std::exception & exception)
        {
          EXPECT_TRUE(IsNamed(exception.what(), error)) << GetFailedCall() << " failed: " << exception.what();
        }
        failed = CountFailedCalls() > 0;
        ClearCudaFaults();
        run();
        ReleaseCachedMemory();
        EXPECT_EQ(CountLiveObjects().Count(), before.Count()) << "left behind after " << GetFailedCall() << " failed";
      }
    }
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  for (auto * one : memory)
  {
    EXPECT_EQ(cudaFree(one), cudaSuccess);
  }
}

TEST_F(CudaMedianCudaFaults, AnImageInDeviceMemory)
{
  CUDAMEDIAN_NEEDS_GPU();
  FailEachInDeviceMemory(false);
}

TEST_F(CudaMedianCudaFaults, AnImageInDeviceMemoryWithAMask)
{
  CUDAMEDIAN_NEEDS_GPU();
  FailEachInDeviceMemory(true);
}
