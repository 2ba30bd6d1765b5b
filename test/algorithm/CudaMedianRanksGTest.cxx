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
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "DeviceProfiles.h"
#include "HistogramPolicy.h"
#include "HostHistogramPolicy.h"
#include "KernelPolicy.h"
#include "MergePolicy.h"
#include "RankPolicy.h"
#include "RequestWindow.h"
#include "TilePolicy.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

/** Ranks that are not the median's, through the whole engine: every algorithm, pixel type and backend at hand. */
namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::ForEachOtherRank;
using cudamediantest::ForEachPosition;
using cudamediantest::GetReferenceMedian;

constexpr Algorithm everyAlgorithm[] = { Algorithm::Automatic,        Algorithm::TileProgram, Algorithm::LocalRank,
                                         Algorithm::SlidingHistogram, Algorithm::Selection,   Algorithm::MergeTiling };

constexpr PixelType everyType[] = { PixelType::Int8,    PixelType::UInt8,  PixelType::Int16, PixelType::UInt16,
                                    PixelType::Int32,   PixelType::UInt32, PixelType::Int64, PixelType::UInt64,
                                    PixelType::Float32, PixelType::Float64 };

struct Case
{
  Extent extent;
  Extent radius;
};

const Case cases[] = {
  { { { 67, 1, 1, 1 } }, { { 3, 0, 0, 0 } } },  // 1D
  { { { 45, 37, 1, 1 } }, { { 1, 1, 0, 0 } } }, // 2D: what medians have a kernel of their own for
  { { { 45, 37, 1, 1 } }, { { 2, 2, 0, 0 } } },
  { { { 45, 37, 1, 1 } }, { { 5, 1, 0, 0 } } }, // asymmetric
  { { { 45, 37, 1, 1 } }, { { 0, 4, 0, 0 } } },
  { { { 23, 19, 1, 1 } }, { { 17, 12, 0, 0 } } }, // as large as the image, and beyond programs
  { { { 23, 11, 7, 1 } }, { { 1, 1, 1, 0 } } },   // 3D
  { { { 23, 11, 7, 2 } }, { { 2, 0, 3, 0 } } },
};

/** Filters an image at a window's rank and compares every pixel with the definition. */
template <typename TBits, KeyMapping VMapping>
void
CheckRank(const Extent & extent, const Window & window, PixelType type, Backend backend, Algorithm algorithm)
{
  std::mt19937_64  generator(cudamediantest::Seed());
  BitsImage<TBits> input(extent);
  BitsImage<TBits> output(extent);
  // Few values now and then: equal pixels at the ends of the sorted list.
  input.FillRandomly(generator, window.rank % 3 == 1 ? 5 : 0);
  MedianRequest request;
  request.pixelType = type;
  request.input = input.pixels.data();
  request.inputExtent = request.outputExtent = extent;
  request.radius = window.radius;
  request.rank = window.rank;
  request.output = output.pixels.data();
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * extent[axis - 1];
  }
  request.backend = backend;
  request.algorithm = algorithm;
  const auto report = RunMedian(request);
  EXPECT_EQ(report.backend, ToString(backend));
  if (algorithm != Algorithm::Automatic)
  {
    EXPECT_EQ(report.algorithm.rfind(ToString(algorithm), 0), 0U) << report.algorithm;
  }
  EXPECT_TRUE(backend == Backend::Cpu || report.algorithm.find("compiled ahead") == std::string::npos)
    << "kernels compiled ahead are for medians only: " << report.algorithm;
  const auto mask = static_cast<TBits>(GetSignMask(type));
  ForEachPosition(extent, [&](const Extent & p) {
    ASSERT_EQ(output.At(p), (GetReferenceMedian<VMapping>(input, p, window, mask)))
      << "at " << p[0] << ", " << p[1] << ", " << p[2] << ", " << p[3];
  });
}

/** Whether a backend covers a window with an algorithm, as the planner asks. */
bool
IsCovered(const Extent & extent, const Window & window, PixelType type, Backend backend, Algorithm algorithm)
{
  const bool     cuda = backend == Backend::Cuda;
  const auto     pixelBytes = static_cast<int>(PixelBytes(type));
  RankShape      rank{};
  HistogramShape histogram{};
  MergeShape     merge{};
  switch (algorithm)
  {
    case Algorithm::TileProgram:
      return cuda ? IsCoveredByKernels(window) || IsInterpretedOnDevices(window) : IsCoveredByTilePrograms(window);
    case Algorithm::LocalRank:
      return cuda ? FindRankShape(window, pixelBytes, rank, GetH200Traits())
                  : FindHostRankShape(window, pixelBytes, extent, 1, rank);
    case Algorithm::SlidingHistogram:
      return cuda ? FindHistogramShape(window, pixelBytes, histogram, GetH200Traits())
                  : IsCoveredByHostHistograms(window, pixelBytes);
    case Algorithm::MergeTiling:
      return cuda && FindMergeShape(window, pixelBytes, extent, mostMergeScratchBytes, merge);
    default:
      return true;
  }
}

/** Every case that a backend covers. \returns the algorithms that ran. */
std::set<Algorithm>
CheckRanks(Backend backend)
{
  std::set<Algorithm> ran;
  for (const auto & [extent, radius] : cases)
  {
    for (const auto type : everyType)
    {
      for (const auto algorithm : everyAlgorithm)
      {
        ForEachOtherRank(radius, [&, &extent = extent](const Window & window) {
          if (!IsCovered(extent, window, type, backend, algorithm) || testing::Test::HasFatalFailure())
          {
            return;
          }
          SCOPED_TRACE(std::string(ToString(type)) + ", " + ToString(algorithm) + ", rank " +
                       std::to_string(window.rank) + " of " + std::to_string(window.CountPixels()) + " pixels");
          DispatchKeys(GetKeyFormat(type), [&](auto key) {
            CheckRank<typename decltype(key)::Bits, decltype(key)::mapping>(extent, window, type, backend, algorithm);
          });
          ran.insert(algorithm);
        });
      }
    }
  }
  return ran;
}

} // namespace

TEST(CudaMedianRanks, EveryAlgorithmOnTheCpu)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto ran = CheckRanks(Backend::Cpu);
  for (const auto algorithm : everyAlgorithm)
  {
    EXPECT_EQ(ran.count(algorithm), algorithm == Algorithm::MergeTiling ? 0U : 1U) << ToString(algorithm);
  }
}

TEST(CudaMedianRanks, EveryAlgorithmOnCuda)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto ran = CheckRanks(Backend::Cuda);
  for (const auto algorithm : everyAlgorithm)
  {
    EXPECT_EQ(ran.count(algorithm), 1U) << ToString(algorithm);
  }
}

TEST(CudaMedianRanks, TheMiddleIsTheMedianWhateverItIsCalled)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64         generator(cudamediantest::Seed());
  BitsImage<std::uint8_t> input(Extent{ { 31, 17, 1, 1 } });
  input.FillRandomly(generator);
  std::optional<std::vector<std::uint8_t>> unnamed;
  for (const std::int64_t rank : { -1, 12 })
  {
    BitsImage<std::uint8_t> output(input.extent);
    MedianRequest           request;
    request.input = input.pixels.data();
    request.inputExtent = request.outputExtent = input.extent;
    request.outputStride = { { 1, 31, 31 * 17, 31 * 17 } };
    request.output = output.pixels.data();
    request.radius = { { 2, 2, 0, 0 } };
    request.rank = rank;
    request.backend = Backend::Cpu;
    RunMedian(request);
    unnamed = unnamed.value_or(output.pixels);
    EXPECT_EQ(output.pixels, *unnamed);
  }
}

TEST(CudaMedianRanks, ARankBeyondTheWindowIsAnError)
{
  const std::uint8_t pixel = 7;
  std::uint8_t       result = 0;
  for (const std::int64_t rank : { -2, 15, 1 << 20 })
  {
    MedianRequest request;
    request.input = &pixel;
    request.output = &result;
    request.inputExtent = request.outputExtent = { { 1, 1, 1, 1 } };
    request.radius = { { 1, 2, 0, 0 } };
    request.rank = rank;
    request.backend = Backend::Cpu;
    try
    {
      RunMedian(request);
      ADD_FAILURE() << "rank " << rank << " was taken";
    }
    catch (const RequestError & error)
    {
      EXPECT_NE(std::string(error.what()).find("rank is " + std::to_string(rank)), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("from 0 to 14"), std::string::npos) << error.what();
    }
  }
}
