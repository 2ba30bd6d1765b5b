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
// Masks, ignored values and outliers of images in device memory, beside the median of the same window: whole calls, by
// events, each alone and many in a row. Or the same rules of images in the host's memory, on both backends.
#include "BenchmarkThreads.h"
#include "itkCudaMedianDevice.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace cudamedian;

void
Check(cudaError_t error)
{
  if (error != cudaSuccess)
  {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

/** Calls that follow each other without a wait, so that the device has the next one's kernels before it needs them. */
constexpr int callsInARow = 16;

/** Milliseconds of a call, the least of some. Kernels are there before. */
struct Times
{
  double alone;
  double inARow; ///< of each
};

float
TimeOnce(const MedianRequest & request, int count)
{
  cudaEvent_t first = nullptr;
  cudaEvent_t last = nullptr;
  Check(cudaEventCreate(&first));
  Check(cudaEventCreate(&last));
  Check(cudaEventRecord(first, nullptr));
  for (int call = 0; call < count; ++call)
  {
    RunMedianOnDeviceQuietly(request, nullptr);
  }
  Check(cudaEventRecord(last, nullptr));
  Check(cudaEventSynchronize(last));
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, first, last));
  Check(cudaEventDestroy(first));
  Check(cudaEventDestroy(last));
  return milliseconds / static_cast<float>(count);
}

Times
Time(const MedianRequest & request, int calls)
{
  TimeOnce(request, 1); // warms up
  float alone = TimeOnce(request, 1);
  float inARow = TimeOnce(request, callsInARow);
  for (int call = 1; call < calls; ++call)
  {
    alone = std::min(alone, TimeOnce(request, 1));
    inARow = call % 4 != 0 ? inARow : std::min(inARow, TimeOnce(request, callsInARow));
  }
  return { alone, inARow };
}

struct Rule
{
  const char * name;
  void (*set)(MedianRequest & request, const void * mask);
};

constexpr Rule rules[] = {
  { "mask", [](MedianRequest & request, const void * mask) { request.validity.mask = mask; } },
  { "ignored value", [](MedianRequest & request, const void *) { request.validity.hasIgnoredValue = true; } },
  { "clipped windows", [](MedianRequest & request, const void *) { request.border.fill(Border::Shrink); } },
  { "outliers, distance",
    [](MedianRequest & request, const void *) {
      request.outlierRule = OutlierRule::Absolute;
      request.outlierThreshold = 20;
    } },
  { "outliers, 3 deviations",
    [](MedianRequest & request, const void *) {
      request.outlierRule = OutlierRule::Deviations;
      request.outlierThreshold = 3;
    } },
};

/** A request on images without gaps, whose kernels are waited for. */
MedianRequest
MakeRequest(PixelType type, const Extent & extent, const Extent & radius)
{
  MedianRequest request;
  request.pixelType = type;
  request.inputExtent = request.outputExtent = extent;
  request.radius = radius;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
  request.compilation = Compilation::Wait;
  return request;
}

void
Compare(PixelType type, const Extent & extent, const Extent & radius, char * memory, int calls)
{
  auto       request = MakeRequest(type, extent, radius);
  const auto pixels = static_cast<std::size_t>(extent[0] * extent[1] * extent[2]);
  request.input = memory;
  request.output = memory + pixels * 4;
  const auto * mask = memory + pixels * 8;
  const auto   median = Time(request, calls);
  const auto   getRate = [pixels](double milliseconds) { return static_cast<double>(pixels) / milliseconds * 1e-6; };
  std::printf("%s %lldx%lldx%lld: median %.3f ms alone, %.3f in a row, %.1f Gpixel/s\n",
              ToString(type),
              static_cast<long long>(2 * radius[0] + 1),
              static_cast<long long>(2 * radius[1] + 1),
              static_cast<long long>(2 * radius[2] + 1),
              median.alone,
              median.inARow,
              getRate(median.inARow));
  for (const auto & rule : rules)
  {
    auto ruled = request;
    rule.set(ruled, mask);
    const auto times = Time(ruled, calls);
    std::printf("  %-24s %8.3f ms alone, %8.3f in a row, %8.2f Gpixel/s, %6.3f and %6.3f of the median's rate, %s\n",
                rule.name,
                times.alone,
                times.inARow,
                getRate(times.inARow),
                median.alone / times.alone,
                median.inARow / times.inARow,
                RunMedianOnDevice(ruled, nullptr).algorithm.c_str());
    std::fflush(stdout);
  }
}

/** Seconds of a call, the least of some; the first one compiles what it needs. */
double
TimeOnHost(const MedianRequest & request, int calls, ExecutionReport & report)
{
  double least = 0;
  for (int call = 0; call <= calls; ++call)
  {
    report = RunMedian(request);
    least = call < 2 ? report.totalSeconds : std::min(least, report.totalSeconds);
  }
  return least;
}

void
CompareOnHost(PixelType           type,
              const Extent &      extent,
              const Extent &      radius,
              std::vector<char> & memory,
              unsigned            threads)
{
  constexpr int calls = 5;
  const auto    pixels = static_cast<std::size_t>(extent[0] * extent[1] * extent[2]);
  auto          request = MakeRequest(type, extent, radius);
  request.workUnits = threads;
  request.parallelFor = cudamedianbenchmark::RunInThreads;
  request.input = memory.data();
  request.output = memory.data() + pixels * 4;
  std::printf("%s %lldx%lldx%lld, Gpixel/s:",
              ToString(type),
              static_cast<long long>(2 * radius[0] + 1),
              static_cast<long long>(2 * radius[1] + 1),
              static_cast<long long>(2 * radius[2] + 1));
  for (const bool isMasked : { false, true })
  {
    request.validity.mask = isMasked ? memory.data() + pixels * 8 : nullptr;
    for (const auto backend : { Backend::Cuda, Backend::Cpu, Backend::Auto })
    {
      request.backend = backend;
      ExecutionReport report;
      const double    seconds = TimeOnHost(request, calls, report);
      std::printf(" %s%s %.2f%s",
                  isMasked ? "mask, " : "",
                  ToString(backend),
                  static_cast<double>(pixels) / seconds * 1e-9,
                  backend == Backend::Auto ? (" (" + report.backend + ")").c_str() : ",");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

/** Images in the host's memory. */
void
RunOnHost(unsigned threads, const std::string & only)
{
  constexpr std::size_t pixels = std::size_t{ 4096 } * 2048;
  std::vector<char>     memory(pixels * 9);
  std::mt19937          random(7);
  std::generate(memory.begin(), memory.end(), [&] { return static_cast<char>(random() & 0x3F); });
  std::generate(memory.begin() + static_cast<std::ptrdiff_t>(pixels * 8), memory.end(), [&] {
    return static_cast<char>(random() % 2);
  });
  for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
  {
    for (const std::int64_t radius : { 1, 2, 3, 5, 15 })
    {
      if (only.empty() || only == ToString(type))
      {
        CompareOnHost(type, { { 4096, 2048, 1, 1 } }, { { radius, radius, 0, 0 } }, memory, threads);
      }
    }
    for (const std::int64_t radius : { 1, 4 })
    {
      if (only.empty() || only == ToString(type))
      {
        CompareOnHost(type, { { 512, 512, 32, 1 } }, { { radius, radius, radius, 0 } }, memory, threads);
      }
    }
  }
}

} // namespace

int
main(int numberOfArguments, char ** arguments)
{
  if (numberOfArguments > 2 && std::string(arguments[1]) == "host")
  {
    // The number of threads, then, if there is one, the name of the only type.
    RunOnHost(static_cast<unsigned>(std::atoi(arguments[2])), numberOfArguments > 3 ? arguments[3] : "");
    return 0;
  }
  // Arguments, if there are any: how many calls; the name of the only type.
  const std::string     only = numberOfArguments > 2 ? arguments[2] : "";
  const int             calls = numberOfArguments > 1 ? std::atoi(arguments[1]) : 20;
  constexpr std::size_t pixels = std::size_t{ 4096 } * 4096;
  std::vector<char>     host(pixels * 9);
  std::mt19937          random(7);
  for (std::size_t i = 0; i + sizeof(float) <= pixels * 4; i += sizeof(float))
  {
    const auto word = random();
    std::memcpy(host.data() + i, &word, sizeof(float));
  }
  // Half of the pixels are valid.
  std::generate(host.begin() + static_cast<std::ptrdiff_t>(pixels * 8), host.end(), [&] {
    return static_cast<char>(random() % 2);
  });
  char * memory = nullptr;
  Check(cudaMalloc(reinterpret_cast<void **>(&memory), host.size()));
  Check(cudaMemcpy(memory, host.data(), host.size(), cudaMemcpyHostToDevice));
  for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
  {
    if (!only.empty() && only != ToString(type))
    {
      continue;
    }
    for (const std::int64_t radius : { 1, 2, 3, 5, 15 })
    {
      Compare(type, { { 4096, 4096, 1, 1 } }, { { radius, radius, 0, 0 } }, memory, calls);
    }
    Compare(type, { { 256, 256, 256, 1 } }, { { 1, 1, 1, 0 } }, memory, calls);
    Compare(type, { { 256, 256, 256, 1 } }, { { 4, 4, 4, 0 } }, memory, calls);
  }
  Check(cudaFree(memory));
  return 0;
}
