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
// Steps of a chain beside the same steps one after the other on CUDA, and beside the last step alone, in the same run:
// whole calls, from image to image in the host's memory.

#include "BenchmarkThreads.h"
#include "itkCudaMedianChain.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace cudamedian;

struct Options
{
  unsigned     threads{ std::max(1U, std::thread::hardware_concurrency()) };
  int          repeats{ 7 };
  std::int64_t mebibytes{ 1024 };
  bool         pinned{ false };
};

/** Bytes of the host's memory, each of which has been written. */
class Buffer
{
public:
  Buffer(std::size_t bytes, bool pinned)
  {
    m_Pinned = pinned ? static_cast<char *>(AllocatePinnedMemory(bytes)) : nullptr;
    if (pinned && m_Pinned == nullptr)
    {
      throw std::runtime_error("pinned memory is not to be had");
    }
    m_Ordinary.resize(pinned ? 0 : bytes);
    std::fill_n(Get(), bytes, static_cast<char>(0));
  }
  ~Buffer() { FreePinnedMemory(m_Pinned); }
  Buffer(const Buffer &) = delete;
  Buffer &
  operator=(const Buffer &) = delete;

  char *
  Get()
  {
    return m_Pinned != nullptr ? m_Pinned : m_Ordinary.data();
  }

private:
  std::vector<char> m_Ordinary;
  char *            m_Pinned;
};

template <typename TCall>
double
Time(const Options & options, const TCall & call)
{
  std::vector<double> seconds;
  for (int i = 0; i <= options.repeats; ++i)
  {
    const auto start = std::chrono::steady_clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  seconds.erase(seconds.begin()); // warms up
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

MedianRequest
MakeStep(const Options & options, PixelType type, const Extent & extent, const Extent & radius)
{
  MedianRequest step;
  step.pixelType = type;
  step.backend = Backend::Cuda;
  step.compilation = Compilation::Wait;
  step.inputExtent = step.outputExtent = extent;
  step.radius = radius;
  step.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
  step.workUnits = options.threads;
  step.parallelFor = cudamedianbenchmark::RunInThreads;
  return step;
}

/** Prints one row: the times, and whether the images are equal. */
void
Compare(const Options & options, PixelType type, bool isDeep, const std::vector<Extent> & radii)
{
  const auto   pixels = (options.mebibytes << 20) / static_cast<std::int64_t>(PixelBytes(type));
  const Extent extent =
    isDeep ? Extent{ { 1024, 512, pixels / (1024 * 512), 1 } } : Extent{ { 16384, pixels / 16384, 1, 1 } };
  const auto bytes = static_cast<std::size_t>(options.mebibytes) << 20;
  Buffer     input(bytes, options.pinned);
  Buffer     chained(bytes, options.pinned);
  Buffer     between[2] = { Buffer(bytes, options.pinned), Buffer(bytes, options.pinned) };

  std::mt19937_64     random(1);
  const std::uint64_t mask = type == PixelType::Float32 ? 0xbfffffffbfffffffU : ~std::uint64_t{ 0 };
  for (std::size_t i = 0; i + 8 <= bytes; i += 8)
  {
    const auto bits = random() & mask;
    std::memcpy(input.Get() + i, &bits, 8);
  }
  std::vector<MedianRequest> steps;
  std::string                name = ToString(type);
  for (const auto & radius : radii)
  {
    steps.push_back(MakeStep(options, type, extent, radius));
    name += " " + std::to_string(2 * radius[0] + 1) + "x" + std::to_string(2 * radius[1] + 1) +
            (isDeep ? "x" + std::to_string(2 * radius[2] + 1) : "");
  }
  steps.front().input = input.Get();
  steps.front().output = chained.Get();
  ChainReport  report;
  const auto   inChain = Time(options, [&] { report = RunMedianChain(steps); });
  const char * last = nullptr;
  const auto   oneByOne = Time(options, [&] {
    last = input.Get();
    for (std::size_t i = 0; i < steps.size(); ++i)
    {
      auto step = steps[i];
      step.input = last;
      step.output = between[i % 2].Get();
      RunMedian(step);
      last = between[i % 2].Get();
    }
  });
  const bool   isEqual = std::equal(last, last + bytes, chained.Get());
  const auto   alone = Time(options, [&] {
    auto step = steps.back();
    step.input = input.Get();
    step.output = between[0].Get();
    RunMedian(step);
  });
  std::printf("%-32s %9.2f %9.2f %9.2f %7.2f %9.2f %6zu  %s\n",
              name.c_str(),
              inChain * 1e3,
              oneByOne * 1e3,
              alone * 1e3,
              oneByOne / inChain,
              report.whole.kernelSeconds * 1e3,
              report.whole.numberOfSlabs,
              !report.whyNot.empty() ? report.whyNot.c_str()
              : isEqual              ? "equal"
                                     : "NOT EQUAL");
  std::fflush(stdout);
}

void
CompareAll(const Options & options)
{
  std::printf("%lld MiB of %s memory, %u threads; ms, the middle of %d\n%-32s %9s %9s %9s %7s %9s %6s\n",
              static_cast<long long>(options.mebibytes),
              options.pinned ? "pinned" : "ordinary",
              options.threads,
              options.repeats,
              "steps",
              "chain",
              "by steps",
              "last one",
              "times",
              "kernels",
              "slabs");
  const Extent small{ { 1, 1, 0, 0 } };
  const Extent large{ { 2, 2, 0, 0 } };
  const Extent cube{ { 1, 1, 1, 0 } };
  for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
  {
    Compare(options, type, false, { small, small });
    Compare(options, type, false, { small, large, small });
    Compare(options, type, false, { large, large, large, large });
    Compare(options, type, true, { cube, cube });
    Compare(options, type, true, { cube, cube, cube, cube });
  }
}

} // namespace

int
main(int argc, char ** argv)
{
  Options  options;
  CLI::App app("Steps of a chain beside the same steps one after the other, on CUDA.");
  app.add_option("--threads", options.threads, "threads that copy")->capture_default_str();
  app.add_option("--repeats", options.repeats, "runs of which the middle is taken")->capture_default_str();
  app.add_option("--mebibytes", options.mebibytes, "size of the image")->capture_default_str();
  app.add_flag("--pinned", options.pinned, "images in pinned memory");
  CLI11_PARSE(app, argc, argv);
  try
  {
    CompareAll(options);
  }
  catch (const std::exception & error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
