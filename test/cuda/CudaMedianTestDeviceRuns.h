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
#ifndef CudaMedianTestDeviceRuns_h
#define CudaMedianTestDeviceRuns_h

#include "CudaFaults.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestRequests.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace cudamediantest
{

/** Tests on a device. Each leaves neither faults nor memory to the next one. */
class DeviceRuns : public testing::Test
{
protected:
  void
  SetUp() override
  {
    CUDAMEDIAN_NEEDS_GPU();
  }
  void
  TearDown() override
  {
    ClearCudaFaults();
    ReleaseCachedMemory();
  }
};

/** Pixels of few values, so that floats are no NaN and medians differ from their neighbours. */
inline std::vector<char>
MakeFewValues(const Extent & extent, PixelType type)
{
  const auto        bytes = PixelBytes(type);
  std::vector<char> pixels(static_cast<std::size_t>(Volume(extent)) * bytes);
  std::mt19937_64   random(Seed());
  for (std::size_t i = 0; i < pixels.size(); i += bytes)
  {
    const auto value = static_cast<float>(random() % 200);
    const auto small = static_cast<std::uint64_t>(value);
    std::memcpy(&pixels[i], type == PixelType::Float32 ? static_cast<const void *>(&value) : &small, bytes);
  }
  return pixels;
}

/** Draws images of two axes, or of three and four. */
class DrawnImage
{
public:
  explicit DrawnImage(std::mt19937_64 & random)
    : m_Random(random)
    , isDeep(Draw(0, 1) == 1)
  {
    const auto row = Draw(0, 1) == 1 ? 64 : Draw(1, 70);
    extent = isDeep ? Extent{ { row, Draw(1, 24), Draw(1, 40), Draw(1, 2) } } : Extent{ { row, Draw(1, 300), 1, 1 } };
    type = std::vector<PixelType>{
      PixelType::UInt8, PixelType::Int16, PixelType::Float32, PixelType::Int64
    }[static_cast<std::size_t>(Draw(0, 3))];
  }

  std::int64_t
  Draw(std::int64_t first, std::int64_t last)
  {
    return first + static_cast<std::int64_t>(m_Random() % static_cast<std::uint64_t>(last - first + 1));
  }

private:
  std::mt19937_64 & m_Random;

public:
  bool      isDeep;
  Extent    extent{};
  PixelType type{ PixelType::UInt8 };
};

} // namespace cudamediantest

#endif
