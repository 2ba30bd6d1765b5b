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
// The vector median's kernels beside a plain one, on images of random 8-bit colours in device memory.
#include "VectorLaunch.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using namespace cudamedian;

constexpr int size = 4096;
constexpr int components = 3;
constexpr int images = 8; ///< that follow each other around, so that none is in the cache
constexpr int launches = 11;

void
Check(cudaError_t error, const char * call)
{
  if (error != cudaSuccess)
  {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

/** What is written first of such a kernel: each thread finds one output, and each distance of its window, straight from
 * global memory. */
template <VectorNorm VNorm, int VRadius>
__global__ void
PlainKernel(const unsigned char * __restrict__ input, unsigned char * __restrict__ output, int width, int height)
{
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height)
  {
    return;
  }
  const auto locate = [&](int dx, int dy) {
    return input + (static_cast<std::size_t>(min(max(y + dy, 0), height - 1)) * static_cast<std::size_t>(width) +
                    static_cast<std::size_t>(min(max(x + dx, 0), width - 1))) *
                     components;
  };
  const unsigned char *                                    found = nullptr;
  std::conditional_t<VNorm == VectorNorm::L1, int, double> least{};
  for (int cy = -VRadius; cy <= VRadius; ++cy)
  {
    for (int cx = -VRadius; cx <= VRadius; ++cx)
    {
      const unsigned char * candidate = locate(cx, cy);
      decltype(least)       sum{};
      for (int oy = -VRadius; oy <= VRadius; ++oy)
      {
        for (int ox = -VRadius; ox <= VRadius; ++ox)
        {
          const unsigned char * other = locate(ox, oy);
          int                   part = 0;
          for (int component = 0; component < components; ++component)
          {
            const int difference = static_cast<int>(candidate[component]) - static_cast<int>(other[component]);
            part += VNorm == VectorNorm::L1 ? abs(difference) : difference * difference;
          }
          sum += VNorm == VectorNorm::L1 ? part : __fsqrt_rn(static_cast<float>(part));
        }
      }
      if (found == nullptr || sum < least)
      {
        least = sum;
        found = candidate;
      }
    }
  }
  for (int component = 0; component < components; ++component)
  {
    output[(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) * components +
           static_cast<std::size_t>(component)] = found[component];
  }
}

class DeviceBytes
{
public:
  explicit DeviceBytes(std::size_t bytes) { Check(cudaMalloc(&m_Memory, bytes), "cudaMalloc"); }
  ~DeviceBytes() { cudaFree(m_Memory); }
  DeviceBytes(const DeviceBytes &) = delete;
  DeviceBytes &
  operator=(const DeviceBytes &) = delete;

  unsigned char *
  Get() const
  {
    return static_cast<unsigned char *>(m_Memory);
  }

private:
  void * m_Memory{ nullptr };
};

constexpr std::size_t imageBytes = static_cast<std::size_t>(size) * size * components;

/** The median of the seconds of some launches, each on the next image. */
template <typename TLaunch>
double
Time(const TLaunch & launch)
{
  cudaEvent_t        events[launches + 1];
  std::vector<float> seconds;
  for (auto & event : events)
  {
    Check(cudaEventCreate(&event), "cudaEventCreate");
  }
  for (int warm = 0; warm < 3; ++warm)
  {
    launch(warm);
  }
  Check(cudaEventRecord(events[0]), "cudaEventRecord");
  for (int number = 0; number < launches; ++number)
  {
    launch(number);
    Check(cudaEventRecord(events[number + 1]), "cudaEventRecord");
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (int number = 0; number < launches; ++number)
  {
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, events[number], events[number + 1]), "cudaEventElapsedTime");
    seconds.push_back(milliseconds * 1e-3F);
  }
  for (auto & event : events)
  {
    cudaEventDestroy(event);
  }
  std::nth_element(seconds.begin(), seconds.begin() + launches / 2, seconds.end());
  return seconds[launches / 2];
}

/** Bytes in which two images differ. */
std::size_t
CountDifferences(const DeviceBytes & one, const DeviceBytes & other)
{
  std::vector<unsigned char> a(imageBytes);
  std::vector<unsigned char> b(imageBytes);
  Check(cudaMemcpy(a.data(), one.Get(), imageBytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  Check(cudaMemcpy(b.data(), other.Get(), imageBytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::size_t differences = 0;
  for (std::size_t number = 0; number < imageBytes; ++number)
  {
    differences += a[number] != b[number] ? 1 : 0;
  }
  return differences;
}

/** Prints a line. \returns whether both kernels found the same pixels. */
template <VectorNorm VNorm, int VRadius>
bool
Compare(const DeviceBytes & input)
{
  const DeviceBytes output(imageBytes);
  const DeviceBytes plainOutput(imageBytes);
  VectorArguments   arguments{};
  arguments.output = output.Get();
  arguments.components = components;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = axis < 2 ? size : 1;
    arguments.outputStride[axis] = axis == 0 ? 1 : axis == 1 ? size : static_cast<std::int64_t>(size) * size;
    arguments.radius[axis] = axis < 2 ? VRadius : 0;
  }
  const auto launch = [&](int number) {
    arguments.input = input.Get() + static_cast<std::size_t>(number % images) * imageBytes;
    Check(LaunchVectorMedian(arguments, PixelType::UInt8, VNorm, nullptr), "LaunchVectorMedian");
  };
  const auto launchPlain = [&](int number) {
    const dim3 block(32, 8);
    PlainKernel<VNorm, VRadius><<<dim3(size / block.x, size / block.y), block>>>(
      input.Get() + static_cast<std::size_t>(number % images) * imageBytes, plainOutput.Get(), size, size);
    Check(cudaGetLastError(), "the plain kernel");
  };
  const double seconds = Time(launch);
  const double plainSeconds = Time(launchPlain);
  const auto   differences = CountDifferences(output, plainOutput);
  const double gigapixels = static_cast<double>(size) * size * 1e-9;
  std::cout << "| " << 2 * VRadius + 1 << "x" << 2 * VRadius + 1 << " | " << (VNorm == VectorNorm::L1 ? "L1" : "L2")
            << " | " << gigapixels / seconds << " | " << gigapixels / plainSeconds << " | " << plainSeconds / seconds
            << " | " << differences << " |" << std::endl;
  return differences == 0;
}

bool
CompareAll(unsigned long long seed)
{
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::cout << properties.name << ", " << size << "x" << size << " RGB of 8 bits, seed " << seed << ", median of "
            << launches << " launches\n"
            << "| window | norm | Gpixel/s | plain kernel | ratio | bytes that differ |\n"
            << "| --- | --- | --- | --- | --- | --- |" << std::endl;
  const DeviceBytes          input(imageBytes * images);
  std::vector<unsigned char> random(imageBytes * images);
  std::mt19937_64            generator(seed);
  for (std::size_t number = 0; number < random.size(); number += 8)
  {
    const auto bits = generator();
    for (std::size_t byte = 0; byte < 8; ++byte)
    {
      random[number + byte] = static_cast<unsigned char>(bits >> (8 * byte));
    }
  }
  Check(cudaMemcpy(input.Get(), random.data(), random.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  bool equal = Compare<VectorNorm::L1, 1>(input);
  equal = Compare<VectorNorm::L1, 2>(input) && equal;
  equal = Compare<VectorNorm::L2, 1>(input) && equal;
  equal = Compare<VectorNorm::L2, 2>(input) && equal;
  return equal;
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    {
      std::cout << "no CUDA device: nothing was measured" << std::endl;
      return EXIT_SUCCESS;
    }
    return CompareAll(argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1) ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  catch (const std::exception & error)
  {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
