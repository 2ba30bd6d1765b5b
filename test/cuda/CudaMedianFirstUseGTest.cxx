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
// What runs while a kernel is compiled, and that it takes over, on devices that are threads of the host
// (HostRuntime.cxx), with a compiler that takes as long as a test wants.
#include "BackgroundWorker.h"
#include "CudaMedianTestRequests.h"
#include "CurrentDevice.h"
#include "DeviceQuery.h"
#include "HostRuntime.h"
#include "KernelMeans.h"
#include "Planner.h"
#include "itkCudaMedianDevice.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

class CudaMedianFirstUse : public testing::Test
{
protected:
  CudaMedianFirstUse()
  {
    hostruntime::SetCompiler([this](const std::atomic<bool> & isStopped) -> std::string {
      while (!m_IsDone && !isStopped)
      {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return m_Wrong;
    });
  }
  ~CudaMedianFirstUse() override
  {
    m_IsDone = true;
    WaitForCompiler();
    hostruntime::SetCompiler(nullptr);
    for (int device = 0; device < hostruntime::numberOfDevices; ++device)
    {
      TakeOutOfUse(radius, PixelType::Int16, device, KernelMeans::AtFirstUse, "");
    }
  }

  /** Until what the compiler was given is done: what comes later is compiled after it. */
  static void
  WaitForCompiler()
  {
    std::atomic<bool> isDone{ false };
    ASSERT_TRUE(BackgroundWorker::Get().Add([&isDone](const std::atomic<bool> &) { isDone = true; }));
    while (!isDone)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /** Lets what is being compiled be done, with these words where it fails. */
  void
  Finish(const std::string & wrong = "")
  {
    m_Wrong = wrong;
    m_IsDone = true;
    WaitForCompiler();
  }

  ExecutionReport
  Run(Compilation compilation = Compilation::Background, Algorithm algorithm = Algorithm::Automatic)
  {
    auto request = m_Images.MakeRequest();
    request.compilation = compilation;
    request.algorithm = algorithm;
    return m_Images.Check(request);
  }

  static inline const Extent radius{ { 4, 2, 1, 0 } };
  Case<std::int16_t>         m_Images{ { { 50, 40, 6, 1 } }, radius };
  std::atomic<bool>          m_IsDone{ false };
  std::string                m_Wrong;
};

const std::string awaited = "the kernel of the window's tile program";

} // namespace

TEST_F(CudaMedianFirstUse, RanksRunUntilTheKernelIsCompiled)
{
  for (int i = 0; i < 3; ++i)
  {
    const auto report = Run();
    EXPECT_EQ(report.algorithm, "local ranks");
    EXPECT_EQ(report.compiling, awaited);
    EXPECT_NE(report.algorithmReason.find("it is not compiled yet"), std::string::npos) << report.algorithmReason;
  }
  Finish();
  for (int i = 0; i < 2; ++i)
  {
    const auto report = Run();
    EXPECT_EQ(report.algorithm, "tile program") << report.algorithmReason;
    EXPECT_EQ(report.compiling, "");
  }
  EXPECT_EQ(hostruntime::CountCompilations(), 1);
}

TEST_F(CudaMedianFirstUse, WhoWantsToWaitDoes)
{
  m_IsDone = true;
  const auto report = Run(Compilation::Wait);
  EXPECT_EQ(report.algorithm, "tile program");
  EXPECT_EQ(report.compiling, "");
  EXPECT_EQ(hostruntime::CountCompilations(), 1);
}

TEST_F(CudaMedianFirstUse, AnAlgorithmThatIsAskedForWaits)
{
  EXPECT_EQ(Run().algorithm, "local ranks");
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    m_IsDone = true;
  });
  const auto  report = Run(Compilation::Background, Algorithm::TileProgram);
  later.join();
  EXPECT_EQ(report.algorithm, "tile program");
  EXPECT_EQ(hostruntime::CountCompilations(), 1) << "what was under way was waited for";
}

TEST_F(CudaMedianFirstUse, AnotherAlgorithmThatIsAskedForCompilesNothing)
{
  const auto report = Run(Compilation::Background, Algorithm::LocalRank);
  EXPECT_EQ(report.algorithm, "local ranks");
  EXPECT_EQ(report.compiling, "");
  EXPECT_EQ(hostruntime::CountCompilations(), 0);
}

TEST_F(CudaMedianFirstUse, AFailureIsAVerdict)
{
  EXPECT_EQ(Run().compiling, awaited);
  Finish("not compiled: out of registers");
  for (int i = 0; i < 2; ++i)
  {
    const auto report = Run();
    EXPECT_EQ(report.algorithm, "local ranks");
    EXPECT_EQ(report.compiling, "");
    EXPECT_NE(report.algorithmReason.find("not compiled: out of registers"), std::string::npos)
      << report.algorithmReason;
  }
  EXPECT_EQ(hostruntime::CountCompilations(), 1);
}

TEST_F(CudaMedianFirstUse, EachDeviceHasItsKernel)
{
  auto request = m_Images.MakeRequest();
  request.devices = { 1, 2 };
  EXPECT_EQ(m_Images.Check(request).compiling, awaited);
  Finish();
  EXPECT_EQ(hostruntime::CountCompilations(), 2);
  EXPECT_EQ(m_Images.Check(request).algorithm, "tile program");
  request.devices = { 1, 3 };
  EXPECT_EQ(m_Images.Check(request).compiling, awaited);
  WaitForCompiler();
  EXPECT_EQ(hostruntime::CountCompilations(), 3);
}

/** A kept call would run what its kernel was awaited with for ever. */
TEST_F(CudaMedianFirstUse, ACallInDeviceMemoryThatAwaitsAKernelIsNotKept)
{
  const Extent extent{ { 64, 40, 1, 1 } };
  const Extent window{ { 6, 5, 0, 0 } };
  const auto   bytes = static_cast<std::size_t>(Volume(extent));
  void *       memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 2 * bytes), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory, 3, bytes, nullptr), cudaSuccess);
  MedianRequest request;
  request.pixelType = PixelType::UInt8;
  request.input = memory;
  request.output = static_cast<char *>(memory) + bytes;
  request.inputExtent = extent;
  request.outputExtent = extent;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] } };
  request.radius = window;
  request.backend = Backend::Cuda;
  TakeOutOfUse(window, PixelType::UInt8, 0, KernelMeans::Ranks, "not in this test");
  for (int i = 0; i < 2; ++i)
  {
    const auto report = RunMedianOnDevice(request, nullptr);
    EXPECT_EQ(report.algorithm, "sliding histograms");
    EXPECT_EQ(report.compiling, awaited);
  }
  Finish();
  const auto report = RunMedianOnDevice(request, nullptr);
  EXPECT_EQ(report.algorithm, "tile program");
  EXPECT_EQ(report.compiling, "");
  TakeOutOfUse(window, PixelType::UInt8, 0, KernelMeans::Ranks, "");
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

/** Whichever backend the automatic choice takes, a kernel that is worth it is compiled, and results are right. */
TEST_F(CudaMedianFirstUse, TheAutomaticBackendCompilesWhatIsFaster)
{
  auto request = m_Images.MakeRequest();
  request.backend = Backend::Auto;
  request.workUnits = 1;
  const auto report = m_Images.Check(request);
  Finish();
  EXPECT_EQ(hostruntime::CountCompilations(), report.compiling.empty() ? 0 : 1);
  if (report.backend == "CPU" && !report.compiling.empty())
  {
    EXPECT_NE(report.backendReason.find("until a faster kernel is compiled"), std::string::npos)
      << report.backendReason;
    EXPECT_EQ(m_Images.Check(request).backend, "CUDA");
  }
}

/** Nothing is compiled by a plan, and one for so many pixels that ranks take longer than the compilation waits for it.
 */
TEST_F(CudaMedianFirstUse, LongWorkWaits)
{
  PlanLimits limits;
  limits.budget = std::size_t{ 1 } << 32;
  limits.device = GetDeviceTraits({});
  limits.devices = { 0 };
  auto request = m_Images.MakeRequest();
  auto plan = PlanMedian(request, Backend::Cuda, limits);
  EXPECT_EQ(plan.candidate.algorithm, Algorithm::LocalRank);
  ASSERT_NE(plan.awaited, nullptr);
  EXPECT_LT(plan.awaited->seconds, plan.candidate.seconds);
  EXPECT_GT(plan.awaited->compileSeconds, plan.candidate.seconds);

  request.inputExtent = request.outputExtent = { { 8192, 8192, 8192, 1 } };
  plan = PlanMedian(request, Backend::Cuda, limits);
  EXPECT_EQ(plan.candidate.algorithm, Algorithm::TileProgram);
  EXPECT_EQ(plan.awaited, nullptr);
  EXPECT_EQ(hostruntime::CountCompilations(), 0);
}

/** A process that ends, one way or another, does not wait for what nobody will use. */
TEST_F(CudaMedianFirstUse, AProcessEndsWhileAKernelIsCompiled)
{
  for (const bool throws : { false, true })
  {
    const auto child = fork();
    if (child == 0)
    {
      alarm(20);
      if (IsForkedFromCuda())
      {
        exit(77);
      }
      auto request = m_Images.MakeRequest();
      request.progress = [throws](float fraction) {
        if (throws && fraction > 0)
        {
          throw std::runtime_error("aborted");
        }
      };
      bool hasThrown = false;
      try
      {
        RunMedian(request);
      }
      catch (const std::runtime_error &)
      {
        hasThrown = true;
      }
      exit(hasThrown == throws && (throws || m_Images.IsDone()) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    if (WEXITSTATUS(status) == 77)
    {
      GTEST_SKIP() << "another test of this process has used CUDA, which a fork cannot";
    }
    EXPECT_EQ(WEXITSTATUS(status), 0) << throws;
  }
}
