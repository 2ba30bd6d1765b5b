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
// Calls on images in device memory that are like earlier ones: on a GPU, and on devices that are threads of the host.
#include "CudaFaults.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestRequests.h"
#include "DeviceImage.h"
#include "DivideUp.h"
#include "KernelMeans.h"
#include "itkCudaMedianDevice.h"
#include "itkCudaMedianFootprint.h"

#ifdef CUDAMEDIAN_TEST_ON_HOST
#  include "HostRuntime.h"
#else
#  include <sys/wait.h>
#  include <unistd.h>
#endif

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace
{

using namespace cudamediantest;

/** An image and its medians on the current device, each from some bytes behind a multiple of 16 on. */
class DeviceImages
{
public:
  explicit DeviceImages(const MedianRequest & request, std::size_t inputShift = 0, std::size_t outputShift = 0)
    : m_Request(request)
    , m_Bytes(static_cast<std::size_t>(Volume(request.inputExtent)) * PixelBytes(request.pixelType))
    , m_Expected(m_Bytes)
  {
    EXPECT_EQ(cudaMalloc(&m_Memory, 2 * m_Bytes + 1024), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    static std::atomic<unsigned> seed{ 1 };
    std::mt19937                 random(++seed);
    std::vector<char>            pixels(m_Bytes);
    std::generate(pixels.begin(), pixels.end(), [&] { return static_cast<char>(random()); });
    auto onHost = request;
    onHost.backend = Backend::Cpu;
    onHost.input = pixels.data();
    onHost.output = m_Expected.data();
    onHost.deviceMemoryBudget = 0;
    RunMedian(onHost);
    m_Request.input = static_cast<char *>(m_Memory) + inputShift;
    m_Request.output = static_cast<char *>(m_Memory) + RoundUp(m_Bytes + 256, 256) + outputShift;
    EXPECT_EQ(
      cudaMemcpyAsync(const_cast<void *>(m_Request.input), pixels.data(), m_Bytes, cudaMemcpyHostToDevice, stream),
      cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  ~DeviceImages()
  {
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaFree(m_Memory), cudaSuccess);
  }
  DeviceImages(const DeviceImages &) = delete;
  DeviceImages &
  operator=(const DeviceImages &) = delete;

  const MedianRequest &
  GetRequest() const
  {
    return m_Request;
  }

  /** Whether medians of an image of these extents and strides are there. Clears them. */
  void
  ExpectMedians()
  {
    std::vector<char> found(m_Bytes);
    EXPECT_EQ(cudaMemcpyAsync(found.data(), m_Request.output, m_Bytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(m_Request.output, 0x5A, m_Bytes, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(found == m_Expected);
  }

  /** Filters, and looks at the result. */
  ExecutionReport
  Check()
  {
    const auto report = RunMedianOnDevice(m_Request, stream);
    ExpectMedians();
    return report;
  }

  /** The same for a call that has to be kept, or has not to be. */
  void
  CheckKept(bool isKept = true)
  {
    EXPECT_EQ(RunKeptCall(m_Request, stream, nullptr), isKept);
    if (isKept)
    {
      ExpectMedians();
    }
  }

  cudaStream_t stream{ nullptr };

private:
  MedianRequest     m_Request;
  std::size_t       m_Bytes;
  std::vector<char> m_Expected;
  void *            m_Memory{ nullptr };
};

MedianRequest
MakeDeviceRequest(const Extent & extent, const Extent & radius, PixelType type = PixelType::UInt16)
{
  MedianRequest request;
  request.pixelType = type;
  request.inputExtent = extent;
  request.outputExtent = extent;
  request.radius = radius;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
  return request;
}

std::string
GetErrorOf(const MedianRequest & request)
{
  try
  {
    RunMedianOnDevice(request, nullptr);
  }
  catch (const std::runtime_error & error)
  {
    return error.what();
  }
  return "";
}

class CudaMedianKeptCalls : public ::testing::Test
{
protected:
  void
  TearDown() override
  {
    ClearCudaFaults();
  }

  const MedianRequest m_Request = MakeDeviceRequest({ { 64, 48, 1, 1 } }, { { 1, 1, 0, 0 } });
};

} // namespace

TEST_F(CudaMedianKeptCalls, ACallLikeAnEarlierOneIsThatOne)
{
  CUDAMEDIAN_NEEDS_GPU();
  DeviceImages one(m_Request);
  DeviceImages other(m_Request);
  const auto   first = one.Check();
  other.CheckKept();
  const auto next = other.Check();
  EXPECT_EQ(next.algorithm, first.algorithm);
  EXPECT_EQ(next.algorithmReason, first.algorithmReason);
  EXPECT_EQ(next.device, first.device);
  EXPECT_EQ(next.slabReason, "filtered where it lies");
  EXPECT_EQ(next.numberOfSlabs, 1U);
  EXPECT_EQ(next.window, (Extent{ { 3, 3, 1, 1 } }));
  RunMedianOnDeviceQuietly(one.GetRequest(), one.stream);
  one.ExpectMedians();
  // In another stream, to another place.
  auto request = one.GetRequest();
  request.input = other.GetRequest().input;
  EXPECT_EQ(cudaStreamSynchronize(other.stream), cudaSuccess);
  EXPECT_TRUE(RunKeptCall(request, one.stream, nullptr));
  request.output = other.GetRequest().output;
  EXPECT_TRUE(RunKeptCall(request, one.stream, nullptr));
  EXPECT_EQ(cudaStreamSynchronize(one.stream), cudaSuccess);
  other.ExpectMedians();
}

TEST_F(CudaMedianKeptCalls, WhatDiffersIsPlannedAnew)
{
  CUDAMEDIAN_NEEDS_GPU();
  using Change = std::function<void(MedianRequest &)>;
  const std::vector<Change> changes = {
    [](MedianRequest & request) { request.radius[0] = 2; },
    [](MedianRequest & request) { request.radius = { { 0, 1, 0, 0 } }; },
    [](MedianRequest & request) { request.rank = 3; },
    [](MedianRequest & request) { request.rank = 0; },
    [](MedianRequest & request) { request.algorithm = Algorithm::Selection; },
    [](MedianRequest & request) { request.shorter[1] = 1; },
    [](MedianRequest & request) { request.shift[0] = 1; },
    [](MedianRequest & request) { request.border[1] = Border::Mirror; },
    [](MedianRequest & request) { request.border.fill(Border::Constant); },
    [](MedianRequest & request) {
      request.border.fill(Border::Constant);
      request.borderValue[1] = 0x40;
    },
    [](MedianRequest & request) { request.pixelType = PixelType::Int16; },
    [](MedianRequest & request) { request.pixelType = PixelType::Float16; },
    [](MedianRequest & request) { request.pixelType = PixelType::Float32; },
    [](MedianRequest & request) { request = MakeDeviceRequest({ { 48, 64, 1, 1 } }, request.radius); },
    [](MedianRequest & request) { request = MakeDeviceRequest({ { 64, 16, 3, 1 } }, request.radius); },
    [](MedianRequest & request) { request.inputStride = { { 48, 1, 3072, 3072 } }; },
    [](MedianRequest & request) { request.outputStride = { { 48, 1, 3072, 3072 } }; },
    [](MedianRequest & request) {
      request.outlierRule = OutlierRule::Absolute;
      request.outlierThreshold = 7;
    },
    [](MedianRequest & request) {
      request.outlierRule = OutlierRule::Absolute;
      request.outlierThreshold = 7000;
    },
    [](MedianRequest & request) {
      request.footprint = Footprint::MakeCross({ { 1, 1, 0, 0 } });
      request.radius = request.footprint->GetRadius();
    }
  };
  DeviceImages usual(m_Request);
  usual.Check();
  int number = 0;
  for (const auto & change : changes)
  {
    SCOPED_TRACE(number++);
    auto request = m_Request;
    change(request);
    request.compilation = Compilation::Wait;
    DeviceImages images(request);
    images.CheckKept(false);
    const auto report = images.Check();
    EXPECT_EQ(RunKeptCall(images.GetRequest(), images.stream, nullptr),
              report.algorithm.find("interpreted") == std::string::npos)
      << report.algorithm;
    images.Check();
    usual.CheckKept();
  }
}

TEST_F(CudaMedianKeptCalls, WhoseAlignmentDiffersToo)
{
  CUDAMEDIAN_NEEDS_GPU();
  const auto   request = MakeDeviceRequest({ { 64, 32, 1, 1 } }, { { 1, 1, 0, 0 } });
  DeviceImages aligned(request);
  aligned.Check();
  for (const auto & [input, output] : { std::pair<int, int>{ 2, 0 }, { 0, 6 }, { 4, 8 } })
  {
    DeviceImages images(request, static_cast<std::size_t>(input), static_cast<std::size_t>(output));
    images.CheckKept(false);
    EXPECT_EQ(images.Check().slabReason, "copied on the device to rows that start at multiples of 16 bytes");
    images.CheckKept();
    aligned.CheckKept();
  }
}

TEST_F(CudaMedianKeptCalls, CopiesAreGivenBack)
{
  CUDAMEDIAN_NEEDS_GPU();
  // Rows of 61 pixels.
  DeviceImages images(MakeDeviceRequest({ { 61, 43, 1, 1 } }, { { 1, 1, 0, 0 } }));
  images.Check();
  const auto before = CountLiveObjects().deviceAllocations;
  for (int repeat = 0; repeat < 20; ++repeat)
  {
    images.CheckKept();
  }
  EXPECT_EQ(CountLiveObjects().deviceAllocations, before);
}

namespace
{

/** Requests whose kernels work in memory of their own, which is taken in the order of the stream. */
std::vector<std::pair<const char *, MedianRequest>>
MakeRequestsWithScratch()
{
  const Extent extent{ { 64, 48, 1, 1 } };
  auto         ranks = MakeDeviceRequest(extent, { { 10, 10, 0, 0 } });
  ranks.algorithm = Algorithm::LocalRank;
  auto histograms = MakeDeviceRequest(extent, { { 12, 12, 0, 0 } });
  histograms.algorithm = Algorithm::SlidingHistogram;
  // Axis after axis.
  auto extremes = MakeDeviceRequest({ { 64, 24, 20, 1 } }, { { 5, 9, 5, 0 } }, PixelType::Float32);
  extremes.rank = 0;
  extremes.algorithm = Algorithm::Extremum;
  return { { "ranks", ranks }, { "histograms", histograms }, { "extremes", extremes } };
}

} // namespace

TEST_F(CudaMedianKeptCalls, KernelsWithMemoryOfTheirOwnToo)
{
  CUDAMEDIAN_NEEDS_GPU();
  for (const auto & [name, request] : MakeRequestsWithScratch())
  {
    SCOPED_TRACE(name);
    DeviceImages one(request);
    DeviceImages other(request);
    const auto   report = one.Check();
    EXPECT_GT(report.deviceBytes, 0U);
    const auto before = CountLiveObjects().deviceAllocations;
    for (int repeat = 0; repeat < 3; ++repeat)
    {
      // In two streams at the same time.
      EXPECT_TRUE(RunKeptCall(one.GetRequest(), one.stream, nullptr));
      EXPECT_TRUE(RunKeptCall(other.GetRequest(), other.stream, nullptr));
      one.ExpectMedians();
      other.ExpectMedians();
    }
    EXPECT_EQ(CountLiveObjects().deviceAllocations, before);
    EXPECT_EQ(one.Check().deviceBytes, report.deviceBytes);
  }
}

TEST_F(CudaMedianKeptCalls, MemoryOfTheKernelsMayBeShort)
{
  CUDAMEDIAN_NEEDS_GPU();
  for (const auto & [name, request] : MakeRequestsWithScratch())
  {
    SCOPED_TRACE(name);
    DeviceImages images(request);
    images.Check();
    SetCudaFaults(1, forEver, cudaErrorMemoryAllocation, { "cudaMallocFromPoolAsync", "cudaMallocAsync" });
    EXPECT_FALSE(RunKeptCall(images.GetRequest(), images.stream, nullptr));
    EXPECT_THROW(RunMedianOnDevice(images.GetRequest(), images.stream), DeviceError);
    EXPECT_GT(CountFailedCalls(), 0);
    ClearCudaFaults();
    images.CheckKept();
  }
}

TEST_F(CudaMedianKeptCalls, ABudgetIsPlannedFor)
{
  CUDAMEDIAN_NEEDS_GPU();
  auto request = m_Request;
  request.deviceMemoryBudget = 1 << 20;
  DeviceImages images(request);
  EXPECT_LE(images.Check().deviceBytes, request.deviceMemoryBudget);
  images.CheckKept(false);
}

TEST_F(CudaMedianKeptCalls, WrongAddressesAreNamed)
{
  CUDAMEDIAN_NEEDS_GPU();
  DeviceImages images(m_Request);
  images.Check();
  std::vector<std::uint16_t> onHost(64 * 48);
  const auto                 expect = [&](const MedianRequest & request, const std::string & error) {
    EXPECT_FALSE(RunKeptCall(request, images.stream, nullptr));
    EXPECT_EQ(GetErrorOf(request), error);
  };
  auto request = images.GetRequest();
  request.input = onHost.data();
  expect(request, "The input does not lie in device memory");
  request = images.GetRequest();
  request.output = onHost.data();
  expect(request, "The output does not lie in device memory");
  request.output = nullptr;
  expect(request, "The input or the output buffer is null");
  request = images.GetRequest();
  request.output = static_cast<char *>(const_cast<void *>(request.input)) + 64;
  expect(request, "The output overlaps the input");
  void * freed = nullptr;
  EXPECT_EQ(cudaMalloc(&freed, 1 << 22), cudaSuccess);
  EXPECT_EQ(cudaFree(freed), cudaSuccess);
  request = images.GetRequest();
  request.input = freed;
  expect(request, "The input does not lie in device memory");
  images.CheckKept();
}

TEST_F(CudaMedianKeptCalls, AKernelThatIsOutOfUseIsNotLaunched)
{
  CUDAMEDIAN_NEEDS_GPU();
  // A size that no other test has.
  DeviceImages images(MakeDeviceRequest({ { 80, 16, 1, 1 } }, { { 2, 2, 0, 0 } }));
  images.Check();
  images.CheckKept();
  const Window window(images.GetRequest().radius, {}, -1);
  for (const auto means : { KernelMeans::Ahead, KernelMeans::AtFirstUse })
  {
    TakeOutOfUse(window, PixelType::UInt16, 0, means, "a test says so");
  }
  images.CheckKept(false);
  const auto report = images.Check();
  EXPECT_NE(report.algorithmReason.find("a test says so"), std::string::npos) << report.algorithmReason;
  for (const auto means : { KernelMeans::Ahead, KernelMeans::AtFirstUse })
  {
    TakeOutOfUse(window, PixelType::UInt16, 0, means, "");
  }
  images.CheckKept(false);
  images.Check();
  images.CheckKept();
}

TEST_F(CudaMedianKeptCalls, AFailedLaunchIsTriedAgainAsTheFirst)
{
  CUDAMEDIAN_NEEDS_GPU();
  DeviceImages images(m_Request);
  images.Check();
  const std::vector<std::string> launches = { "cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchKernelExC" };
  SetCudaFaults(1, 1, cudaErrorUnknown, launches);
  images.CheckKept(false);
  EXPECT_EQ(CountFailedCalls(), 1);
  SetCudaFaults(1, 1, cudaErrorUnknown, launches);
  images.Check();
  EXPECT_EQ(CountFailedCalls(), 1);
  SetCudaFaults(1, forEver, cudaErrorUnknown, launches);
  EXPECT_THROW(RunMedianOnDevice(images.GetRequest(), images.stream), DeviceError);
  ClearCudaFaults();
  images.CheckKept();
  images.Check();
}

TEST_F(CudaMedianKeptCalls, EachCallOfAnEarlierOnesMayFail)
{
  CUDAMEDIAN_NEEDS_GPU();
  DeviceImages images(m_Request);
  images.Check();
  int number = 1;
  for (bool isDone = false; !isDone; ++number)
  {
    SetCudaFaults(number, forEver);
    try
    {
      RunMedianOnDevice(images.GetRequest(), images.stream);
      isDone = CountFailedCalls() == 0;
    }
    catch (const DeviceError &)
    {}
    ClearCudaFaults();
    images.Check();
  }
  EXPECT_GT(number, 4);
}

TEST_F(CudaMedianKeptCalls, ManyKindsOfCallsAreForgottenInTime)
{
  CUDAMEDIAN_NEEDS_GPU();
  DeviceImages usual(m_Request);
  usual.Check();
  for (std::int64_t rows = 1; rows <= 300; ++rows)
  {
    DeviceImages images(MakeDeviceRequest({ { 32, rows, 1, 1 } }, { { 1, 1, 0, 0 } }));
    images.Check();
    images.CheckKept();
  }
  usual.CheckKept(false);
  usual.Check();
  usual.CheckKept();
}

TEST_F(CudaMedianKeptCalls, ThreadsShareThem)
{
  CUDAMEDIAN_NEEDS_GPU();
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
  {
    threads.emplace_back([number] {
      std::vector<std::unique_ptr<DeviceImages>> images;
      for (std::int64_t i = 0; i < 4; ++i)
      {
        // Of these, threads share some.
        images.push_back(std::make_unique<DeviceImages>(
          MakeDeviceRequest({ { 16 * (1 + i), 20, 1 + number % 2, 1 } }, { { 1, 1, 0, 0 } })));
      }
      for (std::size_t repeat = 0; repeat < 100; ++repeat)
      {
        images[repeat % images.size()]->Check();
      }
    });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
}

// In a process of its own, since all that the device holds goes.
TEST_F(CudaMedianKeptCalls, AResetOfTheDeviceEndsThem)
{
  CUDAMEDIAN_NEEDS_GPU();
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
    {
      for (int repeat = 0; repeat < 3; ++repeat)
      {
        {
          DeviceImages images(m_Request);
          images.CheckKept(false);
          images.Check();
          images.CheckKept();
          DeviceImages copied(m_Request, 8, 8); // to memory of the pool, which the reset ends too
          copied.Check();
        }
        EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
        if (repeat == 1)
        {
          ReleaseCachedMemory();
        }
      }
#ifdef CUDAMEDIAN_TEST_ON_HOST
      EXPECT_EQ(hostruntime::CountStaleUses(), 0);
#endif
      std::exit(HasFailure() ? 1 : 0);
    },
    testing::ExitedWithCode(0),
    "");
}

#ifndef CUDAMEDIAN_TEST_ON_HOST

TEST_F(CudaMedianKeptCalls, AForkedProcessHasNone)
{
  CUDAMEDIAN_NEEDS_GPU();
  DeviceImages images(m_Request);
  images.Check();
  images.CheckKept();
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
  {
    int status = 1;
    try
    {
      RunMedianOnDevice(images.GetRequest(), images.stream);
    }
    catch (const DeviceError &)
    {
      status = 0;
    }
    _exit(status);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  images.CheckKept();
}

#else

TEST_F(CudaMedianKeptCalls, OtherDevicesHaveTheirOwn)
{
  const auto request = MakeDeviceRequest({ { 16, 48, 2, 1 } }, { { 1, 1, 0, 0 } });
  EXPECT_EQ(cudaSetDevice(3), cudaSuccess);
  DeviceImages onThree(request);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  DeviceImages onOne(request);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  onThree.Check();
  onOne.CheckKept(false);
  EXPECT_EQ(onOne.Check().device, "CUDA device 1");
  for (int repeat = 0; repeat < 3; ++repeat)
  {
    onThree.CheckKept();
    onOne.CheckKept();
    EXPECT_EQ(onThree.Check().device, "CUDA device 3");
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 0);
  }
  auto across = onOne.GetRequest();
  across.output = onThree.GetRequest().output;
  EXPECT_FALSE(RunKeptCall(across, onOne.stream, nullptr));
  EXPECT_EQ(GetErrorOf(across), "The input and the output lie on different devices");
}

TEST_F(CudaMedianKeptCalls, AskCudaForLittle)
{
  DeviceImages images(m_Request);
  images.Check();
  const auto before = hostruntime::CountCalls();
  RunMedianOnDeviceQuietly(images.GetRequest(), images.stream);
  // Two addresses, the current device, and two for the launch: an error before it and its own, which tests ask for.
  EXPECT_LE(hostruntime::CountCalls() - before, 6);
  images.ExpectMedians();
}

#endif
