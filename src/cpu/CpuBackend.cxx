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
#include "CpuBackend.h"

#include "DirectRowRunner.h"
#include "HistogramRowRunner.h"
#include "KeyedImage.h"
#include "RankBlockRunner.h"
#include "RankSelection.h"
#include "TileRowRunner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace cudamedian
{
namespace
{

/** Selects each value of a row on its own. One object per work unit. */
template <typename TKey, KeyMapping VMapping>
class SelectionRowRunner
{
public:
  SelectionRowRunner(const MedianRequest & request, const Plan & plan)
    : m_Image(request), m_Extent(request.inputExtent), m_Window(GetWindow(request)),
      m_Output(plan.slabs.front().output), m_Row(static_cast<std::size_t>(m_Output.extent[0]))
  {}

  static std::size_t
  CountRows(const MedianRequest &, const Plan & plan)
  {
    const auto & output = plan.slabs.front().output.extent;
    return static_cast<std::size_t>(output[1] * output[2] * output[3]);
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Row) + GetBytes(m_Keys);
  }

  void
  Run(std::size_t row)
  {
    const auto number = static_cast<std::int64_t>(row);
    Extent     origin = m_Output.origin;
    origin[1] += number % m_Output.extent[1];
    origin[2] += number / m_Output.extent[1] % m_Output.extent[2];
    origin[3] += number / m_Output.extent[1] / m_Output.extent[2];
    auto center = origin;
    for (auto & result : m_Row)
    {
      result = m_Image.ToBits(Select(ClampedWindow(center.data(), m_Window.radius.data(), m_Extent.data())));
      ++center[0];
    }
    m_Image.StoreRow(origin, m_Row.data(), m_Output.extent[0]);
  }

private:
  TKey
  Select(const ClampedWindow & window)
  {
    std::int64_t inside = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      inside *= window.last[axis] - window.first[axis] + 1;
    }
    // Counting reads the inside once per bit of the key and needs no memory; listing repeats the clamped pixels.
    if (m_Window.CountPixels() > 8 * static_cast<std::int64_t>(sizeof(TKey)) * inside)
    {
      return SelectByCounting<TKey>(
        window, m_Window.rank, [this](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t w) {
          return m_Image.ToKey(m_Image.GetRow(y, z, w)[x]);
        });
    }
    m_Keys.resize(static_cast<std::size_t>(m_Window.CountPixels()));
    TKey * next = m_Keys.data();
    ForEachClamped(window, 3, [&](std::int64_t w) {
      ForEachClamped(window, 2, [&](std::int64_t z) {
        ForEachClamped(window, 1, [&](std::int64_t y) { next = ListRow(window, m_Image.GetRow(y, z, w), next); });
      });
    });
    const auto wanted = m_Keys.begin() + m_Window.rank;
    std::nth_element(m_Keys.begin(), wanted, m_Keys.end());
    return *wanted;
  }

  /** Appends the keys of one row of the window. */
  TKey *
  ListRow(const ClampedWindow & window, const TKey * row, TKey * next) const
  {
    next = std::fill_n(next, window.before[0], m_Image.ToKey(row[window.first[0]]));
    for (auto x = window.first[0]; x <= window.last[0]; ++x)
    {
      *next++ = m_Image.ToKey(row[x]);
    }
    return std::fill_n(next, window.after[0], m_Image.ToKey(row[window.last[0]]));
  }

  template <typename TBody>
  static void
  ForEachClamped(const ClampedWindow & window, int axis, const TBody & body)
  {
    for (auto position = window.first[axis] - window.before[axis]; position <= window.last[axis] + window.after[axis];
         ++position)
    {
      body(std::min(std::max(position, window.first[axis]), window.last[axis]));
    }
  }

  KeyedImage<TKey, VMapping> m_Image;
  Extent                     m_Extent;
  Window                     m_Window;
  PixelBox                   m_Output;
  std::vector<TKey>          m_Row;
  std::vector<TKey>          m_Keys;
};

/** Deals rows to work units as they become free. The calling thread, when it works too, reports progress between its
 * rows: no work unit waits for another before the end. */
template <typename TRunner>
void
RunRows(const MedianRequest & request, const Plan & plan, ExecutionReport & report)
{
  const auto        rows = TRunner::CountRows(request, plan);
  const auto        step = std::max<std::size_t>(1, rows / 20);
  const std::size_t units = std::max(1U, request.workUnits);
  const auto        caller = std::this_thread::get_id();

  std::vector<std::unique_ptr<TRunner>> runners(units);
  std::atomic<std::size_t>              next{ 0 };
  std::atomic<std::size_t>              done{ 0 };
  std::size_t                           reported = 0; // by the calling thread
  std::atomic<bool>                     stopped{ false };
  std::exception_ptr                    failure;
  std::mutex                            failureMutex;
  const auto                            body = [&](std::size_t unit) {
    try
    {
      if (!runners[unit])
      {
        runners[unit] = std::make_unique<TRunner>(request, plan);
      }
      for (auto row = next++; row < rows && !stopped; row = next++)
      {
        runners[unit]->Run(row);
        const auto now = ++done;
        if (request.progress && std::this_thread::get_id() == caller && now >= reported + step && now < rows)
        {
          reported = now;
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

template <typename TKey, KeyMapping VMapping>
void
RunKeyed(const MedianRequest & request, const Plan & plan, ExecutionReport & report)
{
  if (plan.algorithm == Algorithm::TileProgram && plan.rowProgram != nullptr && plan.rowProgram->HasOneColumn())
  {
    // Compiled for integers of 8 and 16 bits only.
    if constexpr (sizeof(TKey) <= 2)
    {
      RunRows<DirectRowRunner<TKey>>(request, plan, report);
    }
  }
  else if (plan.algorithm == Algorithm::TileProgram)
  {
    RunRows<TileRowRunner<TKey, VMapping>>(request, plan, report);
  }
  else if (plan.algorithm == Algorithm::LocalRank)
  {
    RunRows<RankBlockRunner<TKey, VMapping>>(request, plan, report);
  }
  else if (plan.algorithm == Algorithm::SlidingHistogram)
  {
    // The planner chooses it for pixels of 8 bits only.
    if constexpr (sizeof(TKey) == 1)
    {
      RunRows<HistogramRowRunner<VMapping>>(request, plan, report);
    }
  }
  else
  {
    RunRows<SelectionRowRunner<TKey, VMapping>>(request, plan, report);
  }
}

} // namespace

void
RunOnCpu(const MedianRequest & request, const Plan & plan, ExecutionReport & report)
{
  const auto start = std::chrono::steady_clock::now();
  DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
    RunKeyed<typename decltype(key)::Bits, decltype(key)::mapping>(request, plan, report);
  });
  if (plan.algorithm == Algorithm::TileProgram)
  {
    report.algorithm += plan.rowProgram == nullptr
                          ? ", interpreted"
                          : std::string(", compiled ahead for ") + plan.rowProgram->getInstructionSet();
  }
  report.device = "host";
  report.workUnits = std::max(1U, request.workUnits);
  report.kernelSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace cudamedian
