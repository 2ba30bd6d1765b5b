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
#ifndef RowDealer_h
#define RowDealer_h

#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cudamedian
{

/** Deals the rows of some work to work units as they become free. Each unit has a runner of its own. Where the calling
 * thread works too, it reports progress between its rows: each twentieth of them, and after a twentieth of a second in
 * any case, since whoever is told may want to stop. No unit waits for another before the end. */
template <typename TRunner, typename TWork>
void
RunRows(const MedianRequest & request, const TWork & work, ExecutionReport & report)
{
  const auto        rows = TRunner::CountRows(request, work);
  const auto        step = std::max<std::size_t>(1, rows / 20);
  const std::size_t units = std::max(1U, request.workUnits);
  const auto        caller = std::this_thread::get_id();
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds longestSilence{ 50 };

  std::vector<std::unique_ptr<TRunner>> runners(units);
  std::atomic<std::size_t>              next{ 0 };
  std::atomic<std::size_t>              done{ 0 };
  std::size_t                           reported = 0; // by the calling thread
  auto                                  lastReport = Clock::now();
  std::atomic<bool>                     stopped{ false };
  std::exception_ptr                    failure;
  std::mutex                            failureMutex;
  const auto                            body = [&](std::size_t unit) {
    try
    {
      if (!runners[unit])
      {
        runners[unit] = std::make_unique<TRunner>(request, work);
      }
      for (auto row = next++; row < rows && !stopped; row = next++)
      {
        runners[unit]->Run(row);
        const auto now = ++done;
        if (request.progress && std::this_thread::get_id() == caller && now < rows &&
            (now >= reported + step || Clock::now() - lastReport >= longestSilence))
        {
          reported = now;
          lastReport = Clock::now();
          request.progress(static_cast<float>(now) / static_cast<float>(rows));
        }
      }
    }
    catch (...)
    {
      stopped = true;
      const std::lock_guard<std::mutex> lock(failureMutex);
      failure = failure ? failure : std::current_exception();
    }
  };
  if (units > 1 && request.parallelFor)
  {
    request.parallelFor(units, body);
  }
  else
  {
    body(0);
  }
  if (failure)
  {
    std::rethrow_exception(failure);
  }
  if (request.progress)
  {
    request.progress(1.0F);
  }
  for (const auto & runner : runners)
  {
    report.hostScratchBytes += runner ? runner->GetScratchBytes() : 0;
  }
}

} // namespace cudamedian

#endif
