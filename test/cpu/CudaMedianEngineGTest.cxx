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
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "RowDealer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

/** The engine by itself, without ITK: each backend at hand against the definition of the median. */
namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::ForEachPosition;
using cudamediantest::GetReferenceMedian;

/** Runs body(0) … body(count-1) on threads of its own. */
void
RunOnThreads(std::size_t count, const std::function<void(std::size_t)> & body)
{
  std::vector<std::thread> threads;
  for (std::size_t unit = 0; unit < count; ++unit)
  {
    threads.emplace_back([&body, unit] { body(unit); });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
}

template <typename TBits>
MedianRequest
MakeRequest(BitsImage<TBits> & input, BitsImage<TBits> & output, PixelType type, const Extent & radius)
{
  MedianRequest request;
  request.pixelType = type;
  request.input = input.pixels.data();
  request.inputExtent = input.extent;
  request.radius = radius;
  request.outputExtent = input.extent;
  request.output = output.pixels.data();
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * input.extent[axis - 1];
  }
  request.backend = Backend::Cpu;
  return request;
}

template <typename TBits, KeyMapping VMapping>
void
CheckCpu(PixelType      type,
         const Extent & extent,
         const Extent & radius,
         unsigned       workUnits,
         Algorithm      algorithm = Algorithm::Automatic)
{
  const auto       seed = cudamediantest::Seed();
  std::mt19937_64  generator(seed);
  BitsImage<TBits> input(extent);
  BitsImage<TBits> output(extent);
  input.FillRandomly(generator);
  auto request = MakeRequest(input, output, type, radius);
  request.workUnits = workUnits;
  request.parallelFor = RunOnThreads;
  request.algorithm = algorithm;
  const auto report = RunMedian(request);
  EXPECT_EQ(report.backend, "CPU");
  EXPECT_EQ(report.workUnits, workUnits);
  const auto mask = static_cast<TBits>(GetSignMask(type));
  ForEachPosition(extent, [&](const Extent & p) {
    ASSERT_EQ(output.At(p), (GetReferenceMedian<VMapping>(input, p, radius, mask)))
      << ToString(type) << " at " << p[0] << ", " << p[1] << ", " << p[2] << ", " << p[3] << ", seed " << seed;
  });
}

} // namespace

TEST(CudaMedianCpuBackend, EveryPixelTypeAndManyWindows)
{
  const Extent radii[] = { { { 1, 1, 0, 0 } }, { { 4, 2, 0, 0 } }, { { 1, 2, 1, 0 } }, { { 0, 1, 0, 2 } },
                           { { 6, 1, 0, 0 } }, { { 2, 3, 1, 0 } }, { { 30, 0, 9, 0 } } };
  const Extent extent{ { 45, 7, 5, 3 } };
  for (const auto & radius : radii)
  {
    CheckCpu<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8, extent, radius, 1);
    CheckCpu<std::uint8_t, KeyMapping::Integer>(PixelType::Int8, extent, radius, 2);
    CheckCpu<std::uint16_t, KeyMapping::Integer>(PixelType::Int16, extent, radius, 3);
    CheckCpu<std::uint32_t, KeyMapping::Integer>(PixelType::UInt32, extent, radius, 1);
    CheckCpu<std::uint32_t, KeyMapping::Float>(PixelType::Float32, extent, radius, 2);
    CheckCpu<std::uint64_t, KeyMapping::Integer>(PixelType::Int64, extent, radius, 7);
    CheckCpu<std::uint64_t, KeyMapping::Float>(PixelType::Float64, extent, radius, 1);
  }
}

TEST(CudaMedianCpuBackend, SlidingHistograms)
{
  struct Case
  {
    Extent extent;
    Extent radius;
  };
  const Case cases[] = { { { { 1, 1, 1, 1 } }, { { 7, 7, 7, 0 } } },     { { { 200, 9, 1, 1 } }, { { 40, 12, 0, 0 } } },
                         { { { 3, 40, 1, 1 } }, { { 127, 10, 0, 0 } } }, { { { 1700, 3, 1, 1 } }, { { 90, 4, 0, 0 } } },
                         { { { 65, 6, 4, 3 } }, { { 3, 2, 3, 1 } } },    { { { 70, 2, 9, 2 } }, { { 0, 0, 12, 20 } } },
                         { { { 70, 30, 2, 1 } }, { { 0, 200, 0, 0 } } } };
  for (const auto & [extent, radius] : cases)
  {
    for (const auto algorithm : { Algorithm::SlidingHistogram, Algorithm::Automatic })
    {
      CheckCpu<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8, extent, radius, 2, algorithm);
      CheckCpu<std::uint8_t, KeyMapping::Integer>(PixelType::Int8, extent, radius, 5, algorithm);
    }
  }
}

// Pixels of more than 8 bits are sorted in blocks: several of them along each axis, windows wider than the image, and
// windows that are flat along axis 0 or along all others.
TEST(CudaMedianCpuBackend, SlidingHistogramsOfSortedPixels)
{
  struct Case
  {
    Extent extent;
    Extent radius;
  };
  const Case cases[] = { { { { 1, 1, 1, 1 } }, { { 7, 7, 7, 0 } } },    { { { 200, 9, 1, 1 } }, { { 40, 12, 0, 0 } } },
                         { { { 3, 40, 1, 1 } }, { { 30, 10, 0, 0 } } }, { { { 700, 67, 1, 1 } }, { { 2, 1, 0, 0 } } },
                         { { { 65, 6, 4, 3 } }, { { 3, 2, 3, 1 } } },   { { { 70, 2, 9, 2 } }, { { 0, 0, 12, 3 } } },
                         { { { 70, 30, 2, 1 } }, { { 0, 50, 0, 0 } } }, { { { 300, 3, 1, 1 } }, { { 60, 0, 0, 0 } } } };
  for (const auto & [extent, radius] : cases)
  {
    constexpr auto algorithm = Algorithm::SlidingHistogram;
    CheckCpu<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16, extent, radius, 1, algorithm);
    CheckCpu<std::uint16_t, KeyMapping::Integer>(PixelType::Int16, extent, radius, 5, algorithm);
    CheckCpu<std::uint32_t, KeyMapping::Integer>(PixelType::Int32, extent, radius, 2, algorithm);
    CheckCpu<std::uint32_t, KeyMapping::Float>(PixelType::Float32, extent, radius, 3, algorithm);
    CheckCpu<std::uint64_t, KeyMapping::Integer>(PixelType::UInt64, extent, radius, 1, algorithm);
    CheckCpu<std::uint64_t, KeyMapping::Float>(PixelType::Float64, extent, radius, 2, algorithm);
  }
}

// 90,601 pixels, which 16 bits do not count.
TEST(CudaMedianCpuBackend, SlidingHistogramsOfLargeWindows)
{
  const Extent extent{ { 20, 7, 1, 1 } };
  const Extent radius{ { 150, 150, 0, 0 } };
  for (const auto algorithm : { Algorithm::SlidingHistogram, Algorithm::Automatic })
  {
    CheckCpu<std::uint8_t, KeyMapping::Integer>(PixelType::Int8, extent, radius, 2, algorithm);
    CheckCpu<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16, extent, radius, 1, algorithm);
    CheckCpu<std::uint32_t, KeyMapping::Float>(PixelType::Float32, extent, radius, 2, algorithm);
  }
}

/** All pixels of a window have one value: no sum may wrap around. */
template <typename TBits>
void
CheckEqualPixels(PixelType type, const Extent & radius)
{
  for (const std::uint8_t value : { 0, 15, 16, 255 })
  {
    const Extent     extent{ { 130, 20, 1, 1 } };
    BitsImage<TBits> input(extent);
    BitsImage<TBits> output(extent);
    std::fill(input.pixels.begin(), input.pixels.end(), value);
    auto request = MakeRequest(input, output, type, radius);
    request.algorithm = Algorithm::SlidingHistogram;
    RunMedian(request);
    EXPECT_EQ(output.pixels, input.pixels);
  }
}

/** The largest window that 16 bits count, and the next that they do not. */
TEST(CudaMedianCpuBackend, SlidingHistogramsOf65025EqualPixels)
{
  for (const std::int64_t radius : { 127, 128 })
  {
    CheckEqualPixels<std::uint8_t>(PixelType::UInt8, { { radius, radius, 0, 0 } });
    CheckEqualPixels<std::uint16_t>(PixelType::UInt16, { { radius, radius, 0, 0 } });
  }
}

// Segments hold 512 bytes of lanes per slot: widths around one and two segments, and every remainder of a vector.
TEST(CudaMedianCpuBackend, EveryLaneRemainder)
{
  for (std::int64_t width = 1; width <= 70; ++width)
  {
    CheckCpu<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16, { { width, 3, 1, 1 } }, { { 1, 1, 0, 0 } }, 1);
  }
  for (const std::int64_t width : { 511, 512, 513, 1023, 1024, 1025, 1026, 2049 })
  {
    CheckCpu<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16, { { width, 3, 1, 1 } }, { { 1, 1, 0, 0 } }, 1);
    CheckCpu<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8, { { width, 5, 1, 1 } }, { { 3, 3, 0, 0 } }, 1);
  }
}

TEST(CudaMedianEngine, BadRequestsSayWhatIsWrong)
{
  BitsImage<std::uint8_t> input(Extent{ { 4, 4, 1, 1 } });
  BitsImage<std::uint8_t> output(Extent{ { 4, 4, 1, 1 } });
  const auto              good = MakeRequest(input, output, PixelType::UInt8, { { 1, 1, 0, 0 } });
  EXPECT_NO_THROW(RunMedian(good));
  auto outside = good;
  outside.outputOrigin[0] = 1;
  EXPECT_THROW(RunMedian(outside), RequestError);
  auto negative = good;
  negative.radius[1] = -1;
  EXPECT_THROW(RunMedian(negative), RequestError);
  // A window of more pixels than can be counted, whichever axes it lies along.
  constexpr std::int64_t large = std::int64_t{ 1 } << 40;
  for (const Extent & radius : { Extent{ { large, large, 0, 0 } }, Extent{ { 0, 0, large, large } } })
  {
    auto enormous = good;
    enormous.radius = radius;
    EXPECT_THROW(RunMedian(enormous), RequestError);
  }
  auto null = good;
  null.input = nullptr;
  EXPECT_THROW(RunMedian(null), RequestError);
  auto strided = good;
  strided.outputStride[0] = 2;
  EXPECT_THROW(RunMedian(strided), RequestError);
  EXPECT_NO_THROW(RunMedian(good));
}

TEST(CudaMedianEngine, ARadiusOfBillionsCostsNoMoreThanTheImage)
{
  BitsImage<std::uint8_t> input(Extent{ { 3, 1, 1, 1 } });
  BitsImage<std::uint8_t> output(Extent{ { 3, 1, 1, 1 } });
  input.pixels = { 10, 20, 30 };
  auto request = MakeRequest(input, output, PixelType::UInt8, { { 4000000000, 0, 0, 0 } });
  RunMedian(request);
  // Left of the centre 10 counts most; at the centre 20 decides; right of it 30.
  EXPECT_EQ(output.pixels, (std::vector<std::uint8_t>{ 10, 20, 30 }));
}

TEST(CudaMedianEngine, ProgressRisesToOneAndMayStopTheRun)
{
  BitsImage<std::uint8_t> input(Extent{ { 16, 64, 1, 1 } });
  BitsImage<std::uint8_t> output(Extent{ { 16, 64, 1, 1 } });
  auto                    request = MakeRequest(input, output, PixelType::UInt8, { { 1, 1, 0, 0 } });
  std::vector<float>      fractions;
  request.progress = [&](float fraction) { fractions.push_back(fraction); };
  RunMedian(request);
  ASSERT_GT(fractions.size(), 2U);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_EQ(fractions.back(), 1.0F);
  request.progress = [](float) { throw std::runtime_error("stop"); };
  EXPECT_THROW(RunMedian(request), std::runtime_error);
}

/** Work of a thousand rows that take a while. */
struct SlowRunner
{
  SlowRunner(const MedianRequest &, int) {}

  static std::size_t
  CountRows(const MedianRequest &, int)
  {
    return 1000;
  }

  std::size_t
  GetScratchBytes() const
  {
    return 0;
  }

  void
  Run(std::size_t)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
};

// A twentieth of the rows would take 150 ms and more.
TEST(CudaMedianEngine, ProgressIsToldSoonWhereRowsAreSlow)
{
  MedianRequest   request;
  ExecutionReport report;
  float           first = 0;
  request.progress = [&first](float fraction) {
    first = fraction;
    throw std::runtime_error("stop");
  };
  EXPECT_THROW((RunRows<SlowRunner>(request, 0, report)), std::runtime_error);
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 0.05);
}

// Rows of large windows are selected in pieces, of one output and of several, of which the last is shorter.
TEST(CudaMedianCpuBackend, SelectionInPiecesOfRows)
{
  constexpr auto selection = Algorithm::Selection;
  CheckCpu<std::uint8_t, KeyMapping::Integer>(
    PixelType::UInt8, { { 3, 2, 1, 1 } }, { { 600, 900, 0, 0 } }, 2, selection);
  CheckCpu<std::uint8_t, KeyMapping::Integer>(
    PixelType::UInt8, { { 7, 1, 1, 2 } }, { { 300, 700, 0, 0 } }, 1, selection);
}

TEST(CudaMedianEngine, CudaWithoutADeviceSaysWhatWasFound)
{
  const auto device = QueryCudaDevice();
  if (device.usable)
  {
    GTEST_SKIP() << "a device is usable: " << device.description;
  }
  BitsImage<std::uint8_t> input(Extent{ { 4, 4, 1, 1 } });
  BitsImage<std::uint8_t> output(Extent{ { 4, 4, 1, 1 } });
  auto                    request = MakeRequest(input, output, PixelType::UInt8, { { 1, 1, 0, 0 } });
  request.backend = Backend::Cuda;
  try
  {
    RunMedian(request);
    FAIL() << "no exception";
  }
  catch (const DeviceError & error)
  {
    EXPECT_NE(std::string(error.what()).find(device.description), std::string::npos) << error.what();
  }
  request.backend = Backend::Auto;
  const auto report = RunMedian(request);
  EXPECT_EQ(report.backend, "CPU");
  EXPECT_NE(report.backendReason.find(device.description), std::string::npos);
}
