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
#include "RequestWindow.h"

#include <gtest/gtest.h>

#include <set>

/** Windows of even size, and mixed ones, through the whole engine: every algorithm, pixel type and backend at hand. */
namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::ForEachPosition;
using cudamediantest::GetReferenceMedian;

constexpr Algorithm everyAlgorithm[] = { Algorithm::Automatic,        Algorithm::TileProgram, Algorithm::LocalRank,
                                         Algorithm::SlidingHistogram, Algorithm::Selection,   Algorithm::MergeTiling };

constexpr PixelType everyType[] = { PixelType::Int8,    PixelType::UInt8,  PixelType::Int16, PixelType::UInt16,
                                    PixelType::Int32,   PixelType::UInt32, PixelType::Int64, PixelType::UInt64,
                                    PixelType::Float32, PixelType::Float64 };

/** The window of so many pixels along each axis, which lies as those of scipy.ndimage do: size/2 pixels before the
 * output. */
Window
MakeWindow(const Extent & size, std::int64_t rank)
{
  Extent radius;
  Extent shorter;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    radius[axis] = size[axis] / 2;
    shorter[axis] = 1 - size[axis] % 2;
  }
  return { radius, shorter, rank };
}

/** Filters an image and compares every pixel with the definition. \returns false where an algorithm does not cover the
 * window, and says so. */
template <typename TBits, KeyMapping VMapping>
bool
IsRight(const Extent & extent, const Window & window, PixelType type, Backend backend, Algorithm algorithm)
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
  request.shorter = window.shorter;
  request.rank = window.rank;
  request.output = output.pixels.data();
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * extent[axis - 1];
  }
  request.backend = backend;
  request.algorithm = algorithm;
  request.workUnits = 2;
  try
  {
    const auto report = RunMedian(request);
    EXPECT_EQ(report.window, window.GetExtent());
  }
  catch (const RequestError &)
  {
    EXPECT_NE(algorithm, Algorithm::Automatic);
    EXPECT_NE(algorithm, Algorithm::Selection);
    return false;
  }
  const auto mask = static_cast<TBits>(GetSignMask(type));
  ForEachPosition(extent, [&](const Extent & p) {
    ASSERT_EQ(output.At(p), (GetReferenceMedian<VMapping>(input, p, window, mask)))
      << "at " << p[0] << ", " << p[1] << ", " << p[2] << ", " << p[3];
  });
  return true;
}

class Checker
{
public:
  explicit Checker(Backend backend)
    : m_Backend(backend)
  {}

  /** A window of so many pixels along each axis with every algorithm, at some ranks. Each call takes other types. */
  void
  Check(const Extent & extent, const Extent & size)
  {
    const auto pixels = MakeWindow(size, 0).CountPixels();
    for (const auto rank :
         { std::int64_t{ 0 }, pixels / 4, std::max<std::int64_t>(0, pixels / 2 - 1), pixels / 2, pixels - 1 })
    {
      const auto window = MakeWindow(size, rank);
      const auto type = everyType[m_Count++ % std::size(everyType)];
      for (const auto algorithm : everyAlgorithm)
      {
        if (testing::Test::HasFatalFailure())
        {
          return;
        }
        SCOPED_TRACE(std::string(ToString(type)) + ", " + ToString(algorithm) + ", " + std::to_string(size[0]) + "x" +
                     std::to_string(size[1]) + "x" + std::to_string(size[2]) + "x" + std::to_string(size[3]) +
                     ", rank " + std::to_string(rank));
        DispatchKeys(GetKeyFormat(type), [&](auto key) {
          if (IsRight<typename decltype(key)::Bits, decltype(key)::mapping>(extent, window, type, m_Backend, algorithm))
          {
            m_Ran.insert(algorithm);
          }
        });
      }
    }
  }

  /** Every algorithm but those that this backend lacks has been run. */
  void
  ExpectAll() const
  {
    for (const auto algorithm : everyAlgorithm)
    {
      const bool lacks = m_Backend == Backend::Cpu && algorithm == Algorithm::MergeTiling;
      EXPECT_EQ(m_Ran.count(algorithm), lacks ? 0U : 1U) << ToString(algorithm);
    }
  }

private:
  Backend             m_Backend;
  std::size_t         m_Count{ 0 };
  std::set<Algorithm> m_Ran;
};

/** All sizes from 1 to 7 along one axis and two, and random ones along three and four. */
void
CheckSmallWindows(Backend backend)
{
  Checker         checker(backend);
  std::mt19937_64 generator(cudamediantest::Seed());
  const auto      draw = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + generator() % most); };
  for (std::int64_t x = 1; x <= 7; ++x)
  {
    checker.Check({ { 83, 1, 1, 1 } }, { { x, 1, 1, 1 } });
    checker.Check({ { 5, 1, 19, 1 } }, { { 1, 1, x, 1 } });
    for (std::int64_t y = 1; y <= 7; ++y)
    {
      checker.Check({ { 37, 11, 1, 1 } }, { { x, y, 1, 1 } });
    }
  }
  for (int i = 0; i < 12; ++i)
  {
    checker.Check({ { 21, 9, 6, 1 } }, { { draw(5), draw(5), draw(5), 1 } });
    checker.Check({ { 19, 7, 3, 4 } }, { { draw(4), draw(3), 1, draw(4) } });
    checker.Check({ { 11, 5, 3, 3 } }, { { draw(3), draw(3), draw(3), draw(3) } });
  }
  checker.Check({ { 21, 9, 6, 1 } }, { { 6, 7, 4, 1 } });
  checker.ExpectAll();
}

/** Sizes up to 40, which leave the image on both sides, and images as small as can be. */
void
CheckLargeWindows(Backend backend)
{
  Checker checker(backend);
  for (const auto & [extent, size] : { std::pair<Extent, Extent>{ { { 61, 23, 1, 1 } }, { { 16, 16, 1, 1 } } },
                                       { { { 45, 17, 1, 1 } }, { { 32, 1, 1, 1 } } },
                                       { { { 45, 17, 1, 1 } }, { { 1, 32, 1, 1 } } },
                                       { { { 33, 12, 1, 1 } }, { { 21, 18, 1, 1 } } },
                                       { { { 23, 19, 1, 1 } }, { { 32, 32, 1, 1 } } },
                                       { { { 13, 11, 1, 1 } }, { { 40, 31, 1, 1 } } },
                                       { { { 14, 9, 5, 1 } }, { { 8, 7, 6, 1 } } },
                                       { { { 12, 5, 7, 2 } }, { { 10, 1, 8, 2 } } },
                                       { { { 1, 1, 1, 1 } }, { { 2, 4, 1, 1 } } },
                                       { { { 3, 2, 1, 1 } }, { { 12, 12, 1, 1 } } } })
  {
    checker.Check(extent, size);
  }
}

} // namespace

TEST(CudaMedianEvenWindows, SmallOnesOnTheCpu)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckSmallWindows(Backend::Cpu);
}

TEST(CudaMedianEvenWindows, LargeOnesOnTheCpu)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckLargeWindows(Backend::Cpu);
}

TEST(CudaMedianEvenWindows, SmallOnesOnCuda)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  CheckSmallWindows(Backend::Cuda);
}

TEST(CudaMedianEvenWindows, LargeOnesOnCuda)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  CheckLargeWindows(Backend::Cuda);
}

TEST(CudaMedianEvenWindows, AnEvenSizeNeedsARadius)
{
  const std::uint8_t pixel = 7;
  std::uint8_t       result = 0;
  for (const std::int64_t shorter : { -1, 1, 2 })
  {
    MedianRequest request;
    request.input = &pixel;
    request.output = &result;
    request.inputExtent = request.outputExtent = { { 1, 1, 1, 1 } };
    request.radius = { { 1, shorter == 1 ? 0 : 2, 0, 0 } };
    request.shorter = { { 0, shorter, 0, 0 } };
    request.backend = Backend::Cpu;
    EXPECT_THROW(RunMedian(request), RequestError) << shorter;
  }
}
