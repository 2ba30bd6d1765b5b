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
// The start of CUDA by the driver itself. Each test is in a process of its own, which has not called CUDA yet; where
// there is no driver, it sees that nothing waits for one.

#include "BackgroundWorker.h"
#include "CudaDriver.h"
#include "CudaMedianTestRequests.h"
#include "MedianBackend.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

class CudaMedianStartOfDriver : public testing::Test
{
protected:
  CudaMedianStartOfDriver() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  /** Filters a small image, and prints how long that took. */
  ExecutionReport
  Run()
  {
    auto request = m_Images.MakeRequest();
    request.backend = Backend::Auto;
    const auto start = std::chrono::steady_clock::now();
    const auto report = m_Images.Check(request);
    std::fprintf(stderr,
                 "%s in %.1f ms: %s\n",
                 report.backend.c_str(),
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3,
                 report.backendReason.c_str());
    return report;
  }

  static bool
  Counts(const ExecutionReport & report)
  {
    return report.backendReason.find("the start of CUDA") != std::string::npos;
  }

  Case<std::int16_t> m_Images{ { { 64, 64, 1, 1 } }, { { 1, 1, 0, 0 } } };
};

TEST_F(CudaMedianStartOfDriver, SmallImagesDoWithoutAndLaterOnesFindIt)
{
  EXPECT_EXIT(
    {
      const auto before = GetDriverState();
      bool       isRight = before != DriverState::Started && Counts(Run()) == (before == DriverState::Waiting);
      isRight = isRight && Counts(Run()) == (before == DriverState::Waiting) && GetDriverState() == before;
      GetCudaBackend().AddLostSeconds(1, {});
      const auto start = std::chrono::steady_clock::now();
      while (GetCudaBackend().GetStartSeconds() > 0)
      {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::fprintf(stderr,
                   "started in %.1f ms\n",
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
      isRight = isRight && !Counts(Run()) && !Counts(Run()) &&
                (GetDriverState() == DriverState::Started) == (before == DriverState::Waiting);
      std::exit(isRight && !HasFailure() ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

TEST_F(CudaMedianStartOfDriver, ThatIsUnderWayIsWaitedForAtTheEnd)
{
  for (const int milliseconds : { 0, 1, 10, 50, 100, 200, 300 })
  {
    EXPECT_EXIT(
      {
        Run();
        GetCudaBackend().AddLostSeconds(1, {});
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "")
      << milliseconds;
  }
}

} // namespace
