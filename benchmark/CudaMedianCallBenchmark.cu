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
// How long the host takes for a call on an image in device memory, beside the launch of a kernel that does nothing.
#include "itkCudaMedianDevice.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace
{

using cudamedian::Extent;
using cudamedian::MedianRequest;

__global__ void
EmptyKernel()
{}

void
Check(cudaError_t error)
{
  if (error != cudaSuccess)
  {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

/** Microseconds a call, the least of some series of 10,000. After each hundred the device may catch up, so that no call
 * waits for room in the stream. */
template <typename TBody>
double
Time(int count, const TBody & body)
{
  using Clock = std::chrono::steady_clock;
  constexpr int hundreds = 100;
  double        least = 1e9;
  for (int series = 0; series <= count; ++series)
  {
    double seconds = 0;
    for (int i = 0; i < hundreds; ++i)
    {
      const auto start = Clock::now();
      for (int call = 0; call < 100; ++call)
      {
        body();
      }
      seconds += std::chrono::duration<double>(Clock::now() - start).count();
      Check(cudaDeviceSynchronize());
    }
    least = series == 0 ? least : std::min(least, seconds / (100 * hundreds)); // the first warms up
  }
  return least * 1e6;
}

MedianRequest
MakeRequest(const Extent & extent, const Extent & radius, char * memory)
{
  MedianRequest request;
  request.inputExtent = request.outputExtent = extent;
  request.radius = radius;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
  request.input = memory;
  request.output = memory + (std::size_t{ 1 } << 20);
  return request;
}

} // namespace

int
main(int numberOfArguments, char ** arguments)
{
  // The only argument, if there is one: how many series.
  const int count = numberOfArguments > 1 ? std::atoi(arguments[1]) : 5;
  struct Case
  {
    const char * name;
    Extent       extent;
    Extent       radius;
  };
  const Case   cases[] = { { "64x64, 3x3", { { 64, 64, 1, 1 } }, { { 1, 1, 0, 0 } } },
                           { "64x64, 5x5", { { 64, 64, 1, 1 } }, { { 2, 2, 0, 0 } } },
                           { "61x64, 3x3 (copied)", { { 61, 64, 1, 1 } }, { { 1, 1, 0, 0 } } },
                           { "16x16x16, 3x3x3", { { 16, 16, 16, 1 } }, { { 1, 1, 1, 0 } } } };
  char *       memory = nullptr;
  cudaStream_t own = nullptr;
  Check(cudaMalloc(&memory, std::size_t{ 2 } << 20));
  Check(cudaMemset(memory, 1, std::size_t{ 2 } << 20));
  Check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  for (const bool isOwn : { true, false })
  {
    const auto stream = isOwn ? own : nullptr;
    std::printf("%s, us a call\n", isOwn ? "A stream" : "The default stream");
    std::printf("  %-24s %6.2f\n", "an empty kernel", Time(count, [stream] { EmptyKernel<<<1, 128, 0, stream>>>(); }));
    for (const auto & one : cases)
    {
      const auto request = MakeRequest(one.extent, one.radius, memory);
      const auto quiet = Time(count, [&] { cudamedian::RunMedianOnDeviceQuietly(request, stream); });
      const auto told = Time(count, [&] { cudamedian::RunMedianOnDevice(request, stream); });
      std::printf("  %-24s %6.2f, with a report %6.2f\n", one.name, quiet, told);
    }
  }
  return 0;
}
