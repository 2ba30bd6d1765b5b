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
#include "HostRates.h"

#include "HostCopy.h"
#include "LaneInterpreter.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

namespace cudamedian
{
namespace
{

/** Seconds of the shortest of some runs. */
template <typename TBody>
double
TimeShortest(int runs, const TBody & body)
{
  double shortest = std::numeric_limits<double>::max();
  for (int i = 0; i < runs; ++i)
  {
    const auto start = std::chrono::steady_clock::now();
    body();
    shortest = std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return shortest;
}

/** Sorts 16 rows of keys again and again, all of them in the first cache. \returns bytes compared in a second. */
double
MeasureLaneBytesOfThread()
{
  constexpr std::uint16_t rows = 16;
  constexpr std::size_t   lanes = 256;
  constexpr int           repeats = 4000;
  ProgramSchedule         schedule;
  schedule.numberOfSlots = rows;
  for (std::uint16_t round = 0; round < rows; ++round)
  {
    for (std::uint16_t low = round % 2; low + 1 < rows; low += 2)
    {
      const auto high = static_cast<std::uint16_t>(low + 1);
      schedule.instructions.push_back({ ProgramSchedule::Operation::MinMax, low, high, low, high });
    }
  }
  schedule.joins.assign(schedule.instructions.size(), ProgramSchedule::Join::None);
  alignas(64) std::uint16_t    keys[rows * lanes] = {};
  std::vector<std::uint16_t *> operands;
  for (std::size_t row = 0; row < rows; ++row)
  {
    operands.push_back(keys + row * lanes);
  }
  const double seconds = TimeShortest(1, [&] {
    for (int i = 0; i < repeats; ++i)
    {
      InterpretLanes(schedule, operands.data(), lanes);
    }
  });
  // Each instruction is two operations.
  return 2.0 * repeats * static_cast<double>(schedule.instructions.size() * lanes * sizeof(std::uint16_t)) / seconds;
}

/** The rate of a thread while as many run as there are cores. What the system calls a core may be half of one. */
double
MeasureLaneBytes(unsigned cores)
{
  std::vector<double>      rates(cores);
  std::vector<std::thread> threads;
  try
  {
    for (unsigned core = 1; core < cores; ++core)
    {
      threads.emplace_back([&rates, core] { rates[core] = MeasureLaneBytesOfThread(); });
    }
  }
  catch (const std::system_error &)
  {
    // The system has no more threads: the rate is that of those that run.
  }
  rates.front() = MeasureLaneBytesOfThread();
  for (auto & thread : threads)
  {
    thread.join();
  }
  rates.resize(threads.size() + 1);
  const auto median = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), median, rates.end());
  return *median;
}

double
MeasureCopyBytes()
{
  constexpr std::size_t   bytes = std::size_t{ 2 } << 20;
  const std::vector<char> source(bytes, 1);
  std::vector<char>       target(bytes);
  return static_cast<double>(bytes) / TimeShortest(3, [&] {
           CopyPastCaches(target.data(), source.data(), bytes);
           FinishCopiesPastCaches();
         });
}

} // namespace

const HostTraits &
GetHostRates()
{
  static const HostTraits rates = [] {
    const auto cores = std::max(1U, std::thread::hardware_concurrency());
    HostTraits host;
    host.cores = cores;
    host.laneBytes = MeasureLaneBytes(cores);
    host.copyBytes = MeasureCopyBytes();
    return host;
  }();
  return rates;
}

} // namespace cudamedian
