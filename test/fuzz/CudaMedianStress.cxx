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
// Threads that filter at the same time, are stopped at random moments and start again, while cached memory is released
// under them. Every result is right, or the exception of the abort; what runs next is right.
//
// Built twice: with ITK's filters, and of the engine alone, so that a sanitizer sees all that runs.

#include "FuzzImage.h"
#include "FuzzOptions.h"
#include "FuzzSource.h"
#ifndef CUDAMEDIAN_STRESS_ENGINE_ONLY
#  include "StressFilters.h"
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <thread>

namespace
{

using namespace cudamedianfuzz;

constexpr const char * usage =
  "usage: CudaMedianStress [--seconds S] [--cases N] [--seed N] [--replay \"case\"] [--backend cpu,cuda,auto]\n"
  "                        [--devices 0,1] [--require-gpu] [--threads N] [--new-windows N] [--case-seconds S]\n"
  "Filters in several threads at once, for 30 s unless told otherwise. CUDAMEDIAN_TEST_SEED is the seed where --seed "
  "is\n"
  "not given; without both it is a fresh one. What the threads do is drawn from the seed, when they do it is not.\n"
  "--replay: all threads run the one case, as a failure prints it.\n";

#if !defined(CUDAMEDIAN_STRESS_ENGINE_ONLY)
constexpr const char * programName = "CudaMedianStress";
#elif defined(CUDAMEDIAN_TEST_ON_HOST)
constexpr const char * programName = "CudaMedianEngineStressOnHost";
#else
constexpr const char * programName = "CudaMedianEngineStress";
#endif

constexpr std::uint64_t mostFailures = 10;

/** Something to filter, and what comes of it. */
struct Work
{
  Case              c;
  std::vector<char> pixels;
  std::vector<char> expected;
};

/** What a run is stopped with. */
struct Stopped
{};

cudamedian::MedianRequest
MakeRequest(const Work & work, std::vector<char> & output)
{
  const auto &              c = work.c;
  cudamedian::MedianRequest request;
  request.pixelType = c.type;
  request.input = work.pixels.data();
  request.inputExtent = c.size;
  request.radius = c.GetEffectiveRadius();
  request.outputOrigin = c.offset;
  request.outputExtent = c.region;
  request.outputStride = { { 1, c.region[0], c.region[0] * c.region[1], c.region[0] * c.region[1] * c.region[2] } };
  request.output = output.data();
  request.backend = c.backend;
  request.algorithm = c.algorithm;
  request.deviceMemoryBudget = c.budget;
  request.devices = c.devices;
  request.workUnits = c.units;
  request.parallelFor = [](std::size_t count, const std::function<void(std::size_t)> & body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < count; ++i)
    {
      threads.emplace_back(body, i);
    }
    body(0);
    for (auto & thread : threads)
    {
      thread.join();
    }
  };
  return request;
}

/** All threads and what they do. */
class Stress
{
public:
  Stress(const Options & options, bool device)
    : m_Options(options)
    , m_Device(device)
  {}

  Tally
  Run();

private:
  void
  MakeWorks();

  /** One thread, until it is time. */
  void
  Serve(std::uint64_t seed);

  void
  RunEngine(const Work & work, std::mt19937_64 & random);

#ifndef CUDAMEDIAN_STRESS_ENGINE_ONLY
  void
  RunFilter(const Work & work, std::mt19937_64 & random);
#endif

  /** Where a run is to be stopped: nowhere, at once, or on the way. */
  static float
  DrawAbort(std::mt19937_64 & random)
  {
    const auto kind = random() % 4;
    return kind < 2 ? 2.0F : kind == 2 ? 0.0F : static_cast<float>(random() % 1000) / 1000.0F;
  }

  void
  Compare(const Work & work, const std::vector<char> & pixels, const char * when);

  void
  Fail(const Work & work, const std::string & text);

  bool
  IsDone() const
  {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - m_Start;
    return (m_Options.cases > 0 && m_Cases >= m_Options.cases) ||
           (m_Options.seconds > 0 && taken.count() >= m_Options.seconds) || m_Failures >= mostFailures;
  }

  void
  Count(const std::string & name)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    ++m_Counts[name];
  }

  Options                               m_Options;
  bool                                  m_Device;
  std::vector<Work>                     m_Works;
  std::chrono::steady_clock::time_point m_Start{ std::chrono::steady_clock::now() };
  std::atomic<std::uint64_t>            m_Cases{ 0 };
  std::atomic<std::uint64_t>            m_Failures{ 0 };
  std::mutex                            m_Mutex;
  Counts                                m_Counts;
#ifndef CUDAMEDIAN_STRESS_ENGINE_ONLY
  StressFilters m_Filters;
#endif
};

void
Stress::Fail(const Work & work, const std::string & text)
{
  ++m_Failures;
  PrintLine(std::string("FAILED: ") + programName + " --threads " + std::to_string(m_Options.threads) + " --replay \"" +
            work.c.ToText() + "\" # " + text);
}

void
Stress::Compare(const Work & work, const std::vector<char> & pixels, const char * when)
{
  const auto number = FindDifference(GetOutputType(work.c), work.expected, pixels, Equality::Bits);
  if (number >= 0)
  {
    Fail(work,
         std::string(when) + ", output " + std::to_string(number) + " is " +
           PixelToText(GetOutputType(work.c), pixels, number) + " but must be " +
           PixelToText(GetOutputType(work.c), work.expected, number));
  }
}

void
Stress::RunEngine(const Work & work, std::mt19937_64 & random)
{
  std::vector<char> output(work.expected.size(), 'x');
  auto              request = MakeRequest(work, output);
  const auto        abortAt = DrawAbort(random);
  request.progress = [abortAt](float fraction) {
    if (fraction >= abortAt)
    {
      throw Stopped();
    }
  };
  try
  {
    cudamedian::RunMedian(request);
    Compare(work, output, "the engine");
    Count("engine: finished");
    return;
  }
  catch (const Stopped &)
  {
    Count("engine: stopped");
  }
  catch (const std::exception & error)
  {
    Fail(work, std::string("the engine: ") + error.what());
    return;
  }
  try
  {
    request.progress = nullptr;
    std::fill(output.begin(), output.end(), 'y');
    cudamedian::RunMedian(request);
    Compare(work, output, "the engine after an abort");
  }
  catch (const std::exception & error)
  {
    Fail(work, std::string("the engine after an abort: ") + error.what());
  }
}

#ifndef CUDAMEDIAN_STRESS_ENGINE_ONLY
void
Stress::RunFilter(const Work & work, std::mt19937_64 & random)
{
  bool stopped = false;
  for (const auto & result : m_Filters.Run(work.c, work.pixels, DrawAbort(random), random))
  {
    const auto * const when = stopped ? "the filter after an abort" : "the filter";
    stopped = result.aborted;
    if (!result.error.empty())
    {
      Fail(work, std::string(when) + ": " + result.error);
    }
    else if (!result.aborted)
    {
      Compare(work, result.pixels, when);
    }
    Count(result.aborted ? "filter: stopped" : "filter: finished");
  }
  if (stopped)
  {
    Fail(work, "the filter stopped again");
  }
}
#endif

void
Stress::Serve(std::uint64_t seed)
{
  std::mt19937_64 random(seed);
  while (!IsDone())
  {
    const auto & work = m_Works[random() % m_Works.size()];
    if (random() % 30 == 0)
    {
      cudamedian::ReleaseCachedMemory();
      Count("memory: released");
    }
#ifndef CUDAMEDIAN_STRESS_ENGINE_ONLY
    if (StressFilters::Covers(work.c) && random() % 2 == 0)
    {
      RunFilter(work, random);
      ++m_Cases;
      continue;
    }
#endif
    RunEngine(work, random);
    ++m_Cases;
  }
}

/** Requests that can be carried out, each with the medians by the definition. */
void
Stress::MakeWorks()
{
  Choices choices;
  choices.backends = m_Options.backends;
  choices.device = m_Device;
  choices.devices = m_Options.devices;
  choices.newWindows = m_Device ? m_Options.newWindows : 3;
  choices.largeImages = 8;
  choices.isPlainOnly = true;
  CaseSource source(choices, m_Options.seed);
  const bool replays = !m_Options.replay.empty();
  const auto count = replays ? 1U : 150U;
  while (m_Works.size() < count)
  {
    Work work;
    work.c = replays ? Case::Parse(m_Options.replay) : source.Next();
    auto & c = work.c;
    c.otherOutput = false;
    c.target = 0;
    if (c.CountOutputs() == 0 || !c.IsPlain())
    {
      if (replays)
      {
        throw std::runtime_error("the case is not one for the engine");
      }
      continue;
    }
    SetCurrentCase(std::string(programName) + " --replay \"" + c.ToText() + "\"", m_Options.caseSeconds);
    const auto keys = MakeKeys(c);
    work.pixels = ToPixels(c.type, keys);
    work.expected = ToPixels(c.type, GetReferenceKeys(c, keys));
    std::vector<char> output(work.expected.size());
    try
    {
      const auto report = cudamedian::RunMedian(MakeRequest(work, output));
      Compare(work, output, "alone");
      Count("ran on " + report.backend + ": " + report.algorithm);
    }
    catch (const cudamedian::RequestError & error)
    {
      if (replays)
      {
        throw;
      }
      continue; // an algorithm that does not cover the window, or a budget too small
    }
    m_Works.push_back(std::move(work));
  }
  SetCurrentCase(std::string(programName) + ", seed " + std::to_string(m_Options.seed),
                 static_cast<unsigned>(m_Options.seconds) + m_Options.caseSeconds);
}

Tally
Stress::Run()
{
  MakeWorks();
  m_Start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < m_Options.threads; ++number)
  {
    threads.emplace_back([this, number] { Serve(m_Options.seed + number + 1); });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  SetCurrentCase("", 0);
  return { m_Cases, m_Failures, m_Counts };
}

} // namespace

int
main(int argc, char * argv[])
{
  auto options = ReadOptions(argc, argv, usage);
  WatchForCrashes();
  try
  {
    options.jobs = 1;
    const auto device = cudamedian::QueryCudaDevice();
    if (!device.usable && options.requireGpu)
    {
      PrintLine("FAILED: no usable CUDA device: " + device.description);
      return 1;
    }
    if (options.backends.empty())
    {
      options.backends = device.usable
                           ? std::vector<Backend>{ Backend::Cpu, Backend::Cuda, Backend::Cuda, Backend::Auto }
                           : std::vector<Backend>{ Backend::Cpu, Backend::Auto };
    }
    PrintLine(programName + std::string(": seed ") + std::to_string(options.seed) +
              (device.usable ? ", " : ", no CUDA device: ") + device.description);
    const auto                          start = std::chrono::steady_clock::now();
    Stress                              stress(options, device.usable);
    const auto                          tally = stress.Run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    PrintTally(programName, options, tally, taken.count());
    return tally.failures == 0 && tally.cases > 0 ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::cerr << programName << ": " << error.what() << "\n";
    return 2;
  }
}
