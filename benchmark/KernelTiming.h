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
#ifndef KernelTiming_h
#define KernelTiming_h

#include "DeviceQuery.h"
#include "EmittedKernel.h"
#include "SelectionLaunch.h"
#include "KernelRow.h"
#include "ScanImages.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

/** How long launches take, and whether they are right, on images in device memory. */
namespace cudamedianbenchmark
{

using namespace cudamedian;

inline void
Check(cudaError_t error, const char * call)
{
  if (error != cudaSuccess)
  {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

/** Device memory full of random bits, in which images lie, or with images that are like scans, and room for one output.
 */
class Memory
{
public:
  static constexpr std::size_t bytes = std::size_t{ 1 } << 30;

  Memory()
  {
    Check(cudaMalloc(&m_Input, bytes), "cudaMalloc");
    Check(cudaMalloc(&m_Output, bytes), "cudaMalloc");
    std::vector<std::uint64_t> random(bytes / 8);
    std::uint64_t              state = 0x9E3779B97F4A7C15ULL;
    for (auto & value : random)
    {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      value = state;
    }
    Check(cudaMemcpy(m_Input, random.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Memory()
  {
    cudaFree(m_Input);
    cudaFree(m_Output);
  }
  Memory(const Memory &) = delete;
  Memory &
  operator=(const Memory &) = delete;

  /** Puts two images that are like scans where the random bits begin: see MakeScan(). */
  void
  PutScans(const Extent & size, PixelType type)
  {
    if (m_ScanSize == size && m_ScanType == type)
    {
      return;
    }
    m_ScanSize = size;
    m_ScanType = type;
    switch (type)
    {
      case PixelType::UInt8:
        PutScansOf<std::uint8_t>(size);
        break;
      case PixelType::Int16:
        PutScansOf<std::int16_t>(size);
        break;
      case PixelType::Float32:
        PutScansOf<float>(size);
        break;
      case PixelType::Float64:
        PutScansOf<double>(size);
        break;
      default:
        throw std::runtime_error(std::string("no scans of ") + ToString(type));
    }
  }

  /** Image number `index` of those that fit, which follow each other around. */
  const void *
  GetInput(std::size_t index, std::size_t imageBytes) const
  {
    const auto images = std::max<std::size_t>(1, std::min<std::size_t>(m_MostImages, bytes / imageBytes));
    return static_cast<const char *>(m_Input) + index % images * imageBytes;
  }
  void *
  GetOutput() const
  {
    return m_Output;
  }

private:
  template <typename TPixel>
  void
  PutScansOf(const Extent & size)
  {
    m_MostImages = 2;
    for (std::size_t image = 0; image < m_MostImages; ++image)
    {
      const auto pixels = MakeScan<TPixel>(size, image + 1);
      const auto imageBytes = pixels.size() * sizeof(TPixel);
      Check(cudaMemcpy(static_cast<char *>(m_Input) + image * imageBytes,
                       pixels.data(),
                       std::min(imageBytes, bytes - image * imageBytes),
                       cudaMemcpyHostToDevice),
            "cudaMemcpy");
    }
  }

  void *      m_Input{ nullptr };
  void *      m_Output{ nullptr };
  std::size_t m_MostImages{ 8 };
  Extent      m_ScanSize{}; ///< of those that are there
  PixelType   m_ScanType{};
};

inline DeviceTraits
DescribeDevice(const Memory & memory)
{
  auto        device = GetDeviceTraits({ 0 });
  cudaEvent_t events[2];
  Check(cudaEventCreate(&events[0]), "cudaEventCreate");
  Check(cudaEventCreate(&events[1]), "cudaEventCreate");
  // Long enough for the clock to rise.
  float best = 1e9F;
  for (int repeat = 0; repeat < 100; ++repeat)
  {
    Check(cudaEventRecord(events[0]), "cudaEventRecord");
    Check(
      cudaMemcpyAsync(memory.GetOutput(), memory.GetInput(0, Memory::bytes), Memory::bytes, cudaMemcpyDeviceToDevice),
      "cudaMemcpyAsync");
    Check(cudaEventRecord(events[1]), "cudaEventRecord");
    Check(cudaEventSynchronize(events[1]), "cudaEventSynchronize");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, events[0], events[1]), "cudaEventElapsedTime");
    best = std::min(best, milliseconds);
  }
  device.copyBytes = 2.0 * Memory::bytes / (best * 1e-3);
  return device;
}

/** Seconds of a launch: the median of `count` sequences, each of 16 launches one behind the other, or of as many as
 * take two milliseconds. */
template <typename TLaunch>
double
TimeLaunches(int count, const TLaunch & launch)
{
  cudaEvent_t events[2];
  Check(cudaEventCreate(&events[0]), "cudaEventCreate");
  Check(cudaEventCreate(&events[1]), "cudaEventCreate");
  std::size_t next = 0;
  const auto  time = [&](int launches) {
    Check(cudaEventRecord(events[0]), "cudaEventRecord");
    for (int i = 0; i < launches; ++i)
    {
      Check(launch(next++), "launch");
    }
    Check(cudaEventRecord(events[1]), "cudaEventRecord");
    Check(cudaEventSynchronize(events[1]), "cudaEventSynchronize");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, events[0], events[1]), "cudaEventElapsedTime");
    return milliseconds * 1e-3 / launches;
  };
  time(1);
  const auto          launches = static_cast<int>(std::clamp(2e-3 / time(1), 1.0, 16.0));
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i)
  {
    seconds.push_back(time(launches));
  }
  cudaEventDestroy(events[0]);
  cudaEventDestroy(events[1]);
  std::nth_element(seconds.begin(), seconds.begin() + count / 2, seconds.end());
  return seconds[static_cast<std::size_t>(count / 2)];
}

inline KernelArguments
MakeArguments(const Extent & size, const Extent & radius, const PixelKind & pixel)
{
  KernelArguments arguments{};
  arguments.signMask = GetSignMask(pixel.type);
  std::int64_t pitch = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = pitch;
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = static_cast<std::int32_t>(size[axis]);
    arguments.radius[axis] = radius[axis];
    pitch *= size[axis];
  }
  arguments.rank = Window(radius).rank;
  return arguments;
}

/** Compares blocks of a kernel's output with the selecting kernel's. \param rank of the wanted value, -1 for the
 * median's \returns the number of differing pixels. */
template <typename TLaunch>
std::size_t
CountDifferences(const Extent &    radius,
                 const Extent &    size,
                 const PixelKind & pixel,
                 const Memory &    memory,
                 const TLaunch &   launch,
                 std::int64_t      rank = -1)
{
  const auto bytes = PixelBytes(pixel.type);
  const auto pixels = static_cast<std::size_t>(Volume(size));
  auto       arguments = MakeArguments(size, radius, pixel);
  arguments.input = memory.GetInput(0, pixels * bytes);
  arguments.output = memory.GetOutput();
  arguments.rank = rank < 0 ? arguments.rank : rank;
  Check(launch(arguments), "launch");

  std::size_t differences = 0;
  for (const int place : { 0, 1, 2 })
  {
    Extent block;
    Extent origin;
    auto   expected = arguments;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      block[axis] = std::min<std::int64_t>(size[axis], axis < 2 ? 48 : 4);
      origin[axis] = (size[axis] - block[axis]) * place / 2;
      expected.outputExtent[axis] = static_cast<std::int32_t>(block[axis]);
      expected.outputOrigin[axis] = static_cast<std::int32_t>(origin[axis]);
      expected.outputPitch[axis] = axis == 0 ? 1 : expected.outputPitch[axis - 1] * block[axis - 1];
    }
    expected.gridOrigin = expected.outputOrigin[0];
    const auto blockBytes = static_cast<std::size_t>(Volume(block)) * bytes;
    expected.output = static_cast<char *>(memory.GetOutput()) + Memory::bytes - (1 << 20);
    Check(LaunchSelection(expected, pixel.keyFormat, nullptr), "LaunchSelection");
    std::vector<char> reference(blockBytes);
    Check(cudaMemcpy(reference.data(), expected.output, blockBytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto        rowBytes = static_cast<std::size_t>(block[0]) * bytes;
    std::vector<char> row(rowBytes);
    const char *      referenceRow = reference.data();
    for (std::int64_t w = 0; w < block[3]; ++w)
      for (std::int64_t z = 0; z < block[2]; ++z)
        for (std::int64_t y = 0; y < block[1]; ++y, referenceRow += rowBytes)
        {
          const auto offset =
            (((origin[3] + w) * size[2] + origin[2] + z) * size[1] + origin[1] + y) * size[0] + origin[0];
          Check(cudaMemcpy(row.data(),
                           static_cast<const char *>(memory.GetOutput()) + static_cast<std::size_t>(offset) * bytes,
                           rowBytes,
                           cudaMemcpyDeviceToHost),
                "cudaMemcpy");
          for (std::size_t i = 0; i < rowBytes; i += bytes)
          {
            differences += std::memcmp(&row[i], referenceRow + i, bytes) == 0 ? 0 : 1;
          }
        }
  }
  return differences;
}

} // namespace cudamedianbenchmark

#endif
