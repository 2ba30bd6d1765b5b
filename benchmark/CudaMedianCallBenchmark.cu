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
// How long the host takes for a call on an image in device memory, beside the launch of a kernel that does nothing; and
// how long many small images take, one call after the other, in a graph of these calls, and as slices of one image.
#include "itkCudaMedianDevice.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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

/** Microseconds from the first of some calls until the device has done them all, the median of many. */
template <typename TBody>
double
TimeAll(cudaStream_t stream, const TBody & body)
{
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int i = 0; i < 101; ++i)
  {
    const auto start = Clock::now();
    body();
    Check(cudaStreamSynchronize(stream));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + 50, seconds.end());
  return seconds[50] * 1e6;
}

MedianRequest
MakeRequest(const Extent & extent,
            const Extent & radius,
            char *         memory,
            std::size_t    outputOffset = std::size_t{ 1 } << 20)
{
  MedianRequest request;
  request.inputExtent = request.outputExtent = extent;
  request.radius = radius;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
  request.input = memory;
  request.output = memory + outputOffset;
  return request;
}

/** Many images of 8 bits, so many pixels long and wide. */
void
CompareBatches(int side, int images, const Extent & radius, cudaStream_t stream)
{
  const auto bytes = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  const auto all = bytes * static_cast<std::size_t>(images);
  char *     memory = nullptr;
  Check(cudaMalloc(&memory, 2 * all));
  Check(cudaMemset(memory, 1, 2 * all));
  const auto call = [&] {
    for (int image = 0; image < images; ++image)
    {
      const auto request =
        MakeRequest({ { side, side, 1, 1 } }, radius, memory + bytes * static_cast<std::size_t>(image), all);
      cudamedian::RunMedianOnDeviceQuietly(request, stream);
    }
  };
  const auto      stack = MakeRequest({ { side, side, images, 1 } }, radius, memory, all);
  const auto      listed = TimeAll(stream, call);
  const auto      stacked = TimeAll(stream, [&] { cudamedian::RunMedianOnDeviceQuietly(stack, stream); });
  cudaGraph_t     graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  call();
  Check(cudaStreamEndCapture(stream, &graph));
  Check(cudaGraphInstantiate(&ready, graph, 0));
  const auto captured = TimeAll(stream, [&] { Check(cudaGraphLaunch(ready, stream)); });
  std::printf("  %3dx%-3d, %dx%d %9.2f %9.2f %9.2f\n",
              side,
              side,
              static_cast<int>(2 * radius[0] + 1),
              static_cast<int>(2 * radius[1] + 1),
              listed / images,
              captured / images,
              stacked / images);
  Check(cudaGraphExecDestroy(ready));
  Check(cudaGraphDestroy(graph));
  Check(cudaFree(memory));
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
  constexpr int images = 64;
  std::printf("%d images, us an image until all are done: calls, a graph of them, one call for slices\n", images);
  for (const int side : { 64, 128, 256, 512 })
  {
    CompareBatches(side, images, { { 1, 1, 0, 0 } }, own);
    CompareBatches(side, images, { { 2, 2, 0, 0 } }, own);
  }
  return 0;
}
