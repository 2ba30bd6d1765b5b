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
// The start of CUDA: when it counts, and when it is made in the background, on devices that are threads of the host.

#include "BackendEstimate.h"
#include "BackgroundWorker.h"
#include "CudaFaults.h"
#include "CudaMedianTestRequests.h"
#include "CudaStart.h"
#include "HostRuntime.h"
#include "MedianBackend.h"
#include "StartChoice.h"
#include "Traits.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

bool
Counts(const ExecutionReport & report)
{
  return report.backendReason.find("the start of CUDA, 350 ms, counted: CUDA estimated at 35") != std::string::npos;
}

/** The background's thread does nothing else until this ends. */
class BusyWorker
{
public:
  BusyWorker()
  {
    EXPECT_TRUE(BackgroundWorker::Get().Add([this](const std::atomic<bool> &) {
      while (!m_IsDone)
      {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      m_HasLeft = true;
    }));
  }
  ~BusyWorker()
  {
    m_IsDone = true;
    while (!m_HasLeft)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  BusyWorker(const BusyWorker &) = delete;
  BusyWorker &
  operator=(const BusyWorker &) = delete;

private:
  std::atomic<bool> m_IsDone{ false };
  std::atomic<bool> m_HasLeft{ false };
};

/** Until all that the background's thread was given is done. */
void
WaitForWorker()
{
  const BusyWorker last;
}

class CudaMedianStart : public testing::Test
{
protected:
  CudaMedianStart()
  {
    hostruntime::SetDriverState(DriverState::Waiting);
    hostruntime::ForgetTouchedDevices();
  }
  ~CudaMedianStart() override
  {
    WaitForWorker();
    hostruntime::SetDriverState(DriverState::Started);
  }

  MedianRequest
  MakeAutomatic()
  {
    auto request = m_Images.MakeRequest();
    request.backend = Backend::Auto;
    return request;
  }

  /** Expects that the CPU filters a request, since the start counts, and that CUDA is not called. */
  void
  ExpectNoCall(const MedianRequest & request)
  {
    const int calls = hostruntime::CountCalls();
    m_Images.Fill();
    const auto report = RunMedian(request);
    EXPECT_EQ(hostruntime::CountCalls(), calls);
    EXPECT_TRUE(m_Images.IsDone());
    EXPECT_EQ(report.backend, "CPU");
    EXPECT_EQ(report.device, "host");
    EXPECT_TRUE(Counts(report)) << report.backendReason;
    EXPECT_GT(report.estimatedCudaSeconds, cudaStartSeconds);
    EXPECT_LT(report.estimatedCpuSeconds, cudaStartSeconds);
    EXPECT_GT(report.estimatedCpuSeconds, 0);
  }

  // So small that all calls of a test lose less than the start takes, however slow the build is.
  Case<std::int16_t> m_Images{ { { 20, 10, 4, 1 } }, { { 2, 1, 1, 0 } } };
};

TEST_F(CudaMedianStart, SmallImagesAreFilteredByTheCpuWithoutAnyCall)
{
  auto request = MakeAutomatic();
  ExpectNoCall(request);
  request.devices = { 2, 3 };
  ExpectNoCall(request);
  request.algorithm = Algorithm::Selection;
  ExpectNoCall(request);
  request.border.fill(Border::Mirror);
  EXPECT_TRUE(Counts(RunMedian(request)));
  request.border.fill(Border::Shrink); // in copies
  EXPECT_TRUE(Counts(RunMedian(request)));
  EXPECT_EQ(hostruntime::GetTouchedDevices(), std::set<int>());
}

TEST_F(CudaMedianStart, CopiesOfMaskedImagesCallNothingEither)
{
  const std::vector<std::uint8_t> mask(20 * 10 * 4, 1);
  auto                            request = MakeAutomatic();
  request.validity.mask = mask.data();
  const int calls = hostruntime::CountCalls();
  m_Images.Fill();
  const auto report = RunMedian(request);
  EXPECT_TRUE(m_Images.IsDone());
  EXPECT_EQ(report.backend, "CPU");
  EXPECT_TRUE(Counts(report)) << report.backendReason;
  EXPECT_EQ(hostruntime::CountCalls(), calls);
}

TEST_F(CudaMedianStart, AnEmptyRequestCallsNothing)
{
  auto request = MakeAutomatic();
  request.outputExtent[1] = 0;
  const int calls = hostruntime::CountCalls();
  EXPECT_EQ(RunMedian(request).algorithm, "none");
  EXPECT_EQ(hostruntime::CountCalls(), calls);
}

TEST_F(CudaMedianStart, CountsNowhereElse)
{
  auto request = MakeAutomatic();
  for (const auto state : { DriverState::None, DriverState::Started })
  {
    hostruntime::SetDriverState(state);
    const int calls = hostruntime::CountCalls();
    EXPECT_FALSE(Counts(m_Images.Check(request)));
    EXPECT_GT(hostruntime::CountCalls(), calls);
  }
  hostruntime::SetDriverState(DriverState::Waiting);
  request.backend = Backend::Cuda;
  const auto onCuda = m_Images.Check(request);
  EXPECT_EQ(onCuda.backend, "CUDA");
  EXPECT_EQ(onCuda.backendReason, "asked for");
  request.backend = Backend::Cpu;
  EXPECT_EQ(m_Images.Check(request).backendReason, "asked for");
}

TEST_F(CudaMedianStart, TheChoiceIsTheCpusWhileItIsDoneFirst)
{
  const auto getHost = []() -> const HostTraits & {
    static const auto host = GetH200HostTraits();
    return host;
  };
  const auto choose = [&](std::int64_t side, Backend backend) {
    auto request = MakeAutomatic();
    request.backend = backend;
    request.radius = { { 7, 7, 0, 0 } };
    request.inputExtent = { { side, side, 1, 1 } };
    request.outputExtent = request.inputExtent;
    request.outputPixelBytes = 2;
    request.workUnits = 1;
    return ChooseBeforeStart(request, GetCudaBackend(), getHost);
  };
  const auto small = choose(100, Backend::Auto);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->startSeconds, cudaStartSeconds);
  EXPECT_LT(small->cpuSeconds, cudaStartSeconds);
  EXPECT_GT(small->leastSeconds, 50e-6);
  EXPECT_LT(small->leastSeconds, 200e-6);
  EXPECT_FALSE(choose(100, Backend::Cpu).has_value());
  EXPECT_FALSE(choose(100, Backend::Cuda).has_value());
  EXPECT_FALSE(choose(20000, Backend::Auto).has_value()) << "some seconds on one core";
}

TEST_F(CudaMedianStart, IsMadeInTheBackgroundWhenItWouldHavePaid)
{
  CudaStart  start;
  const auto lose = [&start](double seconds) { start.AddLostSeconds(seconds, { 2, 4 }); };
  const int  calls = hostruntime::CountCalls();
  lose(0.2);
  lose(-5); // the CPU was faster
  lose(0.1);
  EXPECT_EQ(start.GetSeconds(), cudaStartSeconds);
  {
    const BusyWorker busy;
    lose(0.06);
    lose(1);
    EXPECT_EQ(start.GetSeconds(), cudaStartSeconds) << "under way";
    EXPECT_EQ(hostruntime::CountCalls(), calls);
  }
  WaitForWorker();
  EXPECT_EQ(start.GetSeconds(), 0);
  EXPECT_EQ(hostruntime::GetTouchedDevices(), (std::set<int>{ 2, 4 }));
  const int callsOfOne = hostruntime::CountCalls();
  EXPECT_GT(callsOfOne, calls);
  lose(1);
  WaitForWorker();
  EXPECT_EQ(hostruntime::CountCalls(), callsOfOne);
}

TEST_F(CudaMedianStart, IsMadeOnceForSeveralThreads)
{
  const auto count = [](std::size_t threads) {
    CudaStart                start;
    std::vector<std::thread> losers;
    const int                calls = hostruntime::CountCalls();
    {
      const BusyWorker busy;
      for (std::size_t thread = 0; thread < threads; ++thread)
      {
        losers.emplace_back([&start] {
          for (int call = 0; call < 200; ++call)
          {
            start.AddLostSeconds(0.01, {});
          }
        });
      }
      for (auto & loser : losers)
      {
        loser.join();
      }
    }
    WaitForWorker();
    EXPECT_EQ(start.GetSeconds(), 0);
    return hostruntime::CountCalls() - calls;
  };
  const int callsOfOne = count(1);
  EXPECT_GT(callsOfOne, 0);
  EXPECT_EQ(count(8), callsOfOne);
}

TEST_F(CudaMedianStart, DevicesThatCannotBeUsedNoLongerCount)
{
  hostruntime::SetUnusableDevices({ 0 });
  CudaStart start;
  start.AddLostSeconds(1, {});
  WaitForWorker();
  EXPECT_EQ(start.GetSeconds(), 0);
  hostruntime::SetUnusableDevices({});
}

TEST_F(CudaMedianStart, AProcessThatIsForkedMeanwhileUsesTheCpu)
{
  // Lives until the background's thread is done with it, which the fixture waits for.
  static CudaStart start;
  const BusyWorker busy;
  start.AddLostSeconds(1, {});
  const auto child = fork();
  ASSERT_NE(child, -1);
  if (child == 0)
  {
    m_Images.Fill();
    const auto report = RunMedian(MakeAutomatic());
    const bool isRight = m_Images.IsDone() && report.backend == "CPU" && start.GetSeconds() == 0 &&
                         report.backendReason.find("forked from process") != std::string::npos;
    start.AddLostSeconds(1, {});
    std::_Exit(isRight ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// In processes of their own, since each starts CUDA once.
class CudaMedianStartProcess : public CudaMedianStart
{
protected:
  CudaMedianStartProcess() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(CudaMedianStartProcess, CallsThatTakeLongPayForIt)
{
  EXPECT_EXIT(
    {
      auto request = MakeAutomatic();
      bool isRight = Counts(m_Images.Check(request));
      WaitForWorker();
      isRight = isRight && Counts(m_Images.Check(request));
      bool hasSlept = false;
      request.progress = [&hasSlept](float) {
        if (!hasSlept)
        {
          std::this_thread::sleep_for(std::chrono::milliseconds(400));
          hasSlept = true;
        }
      };
      isRight = isRight && Counts(m_Images.Check(request));
      WaitForWorker();
      request.progress = nullptr;
      const auto report = m_Images.Check(request);
      isRight = isRight && !Counts(report) && report.backendReason.find("automatic: CUDA estimated") == 0;
      std::exit(isRight && !HasFailure() ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

TEST_F(CudaMedianStartProcess, ItsEndWaitsForTheStart)
{
  EXPECT_EXIT(
    {
      GetCudaBackend().AddLostSeconds(1, { 1 });
      std::exit(0);
    },
    testing::ExitedWithCode(0),
    "");
}

TEST_F(CudaMedianStartProcess, WithoutAThreadTheNextCallStartsCuda)
{
  EXPECT_EXIT(
    {
      WaitForWorker();
      BackgroundWorker::Get().End();
      GetCudaBackend().AddLostSeconds(1, {});
      const bool isRight = GetCudaBackend().GetStartSeconds() == 0 && !Counts(m_Images.Check(MakeAutomatic()));
      std::_Exit(isRight ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

} // namespace
