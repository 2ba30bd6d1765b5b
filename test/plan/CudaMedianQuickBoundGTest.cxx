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
#include "CudaMedianTestSeed.h"
#include "MaskRows.h"
#include "itkCudaMedianEngine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace
{

using namespace cudamedian;

/** Values near to medians, as they are found with some bounds. */
template <typename T>
struct Near
{
  Near(const std::vector<T> & own, const std::vector<T> & medians, double times, const QuickBound & quick)
    : firsts(own.size())
    , spans(own.size())
  {
    GetMaskRows().findNear(GetValueKind<T>(),
                           own.data(),
                           medians.data(),
                           DeviationBound(times),
                           quick,
                           own.size(),
                           firsts.data(),
                           spans.data());
  }

  std::vector<T> firsts;
  std::vector<T> spans;
};

/** Of all distances from both ends of a type, and of random pairs. */
template <typename T>
void
CheckBounds(double times, const QuickBound & quick)
{
  std::mt19937_64 random(cudamediantest::Seed());
  std::vector<T>  own;
  std::vector<T>  medians;
  for (int i = 0; i < 1 << (8 * sizeof(T)); ++i)
  {
    own.insert(own.end(), { static_cast<T>(i), static_cast<T>(i), static_cast<T>(random()) });
    medians.insert(medians.end(),
                   { std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), static_cast<T>(random()) });
  }
  const Near<T> exact(own, medians, times, {});
  const Near<T> found(own, medians, times, quick);
  EXPECT_EQ(found.firsts, exact.firsts) << times;
  EXPECT_EQ(found.spans, exact.spans) << times;
}

TEST(CudaMedianQuickBound, IsTheBoundOfEachDistance)
{
  CUDAMEDIAN_TRACE_SEED();
  int ofIntegers = 0;
  for (const double times :
       { 0.0, 1e-300, 0.3, 1.0, 1.4826, 2.0, 2.5, 3.0, 3.5, 4.4478, 5.0, 6.0, 20.0, 255.0, 1e9, 1e300 })
  {
    for (const std::size_t bytes : { 1, 2 })
    {
      auto quick = FindQuickBound(DeviationBound(times), bytes);
      // Quotients of 16 bits are told from whole numbers by halves and thirds, and by fractions of 8 bits.
      const bool isSimple = bytes == 1 || 2 * times == std::floor(2 * times);
      EXPECT_TRUE(quick.isOfFloats || times < 1 || times > 255 || !isSimple) << times << ' ' << bytes;
      ofIntegers += quick.isOfIntegers ? 1 : 0;
      for (int kind = 0; kind < 2; ++kind, quick.isOfIntegers = false)
      {
        bytes == 1 ? CheckBounds<std::uint8_t>(times, quick) : CheckBounds<std::uint16_t>(times, quick);
        bytes == 1 ? CheckBounds<std::int8_t>(times, quick) : CheckBounds<std::int16_t>(times, quick);
      }
    }
  }
  EXPECT_GT(ofIntegers, 0);
  const auto wide = FindQuickBound(DeviationBound(3), 4);
  EXPECT_FALSE(wide.isOfFloats || wide.isOfIntegers);
}

// An image of so many outputs that bounds are looked for beforehand, and the same in parts that are too small.
TEST(CudaMedianQuickBound, LargeImagesHaveTheResultsOfTheirParts)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64            random(cudamediantest::Seed());
  const Extent               extent{ { 1021, 300, 1, 1 } };
  const auto                 count = static_cast<std::size_t>(1021 * 300);
  std::vector<std::uint16_t> image(count);
  std::vector<std::uint16_t> whole(count);
  std::vector<std::uint16_t> parts(count);
  for (auto & pixel : image)
  {
    pixel = static_cast<std::uint16_t>(random() % 8 == 0 ? random() : random() % 1000);
  }
  MedianRequest request;
  request.pixelType = PixelType::UInt16;
  request.backend = Backend::Cpu;
  request.input = image.data();
  request.inputExtent = request.outputExtent = extent;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] } };
  request.radius = { { 1, 1, 0, 0 } };
  request.outlierRule = OutlierRule::Deviations;
  for (const double times : { 1.4826, 3.0 })
  {
    request.outlierThreshold = times;
    request.output = whole.data();
    request.outputOrigin = {};
    request.outputExtent = extent;
    RunMedian(request);
    for (std::int64_t row = 0; row < extent[1]; row += 100)
    {
      request.output = parts.data() + row * extent[0];
      request.outputOrigin[1] = row;
      request.outputExtent[1] = 100;
      RunMedian(request);
    }
    EXPECT_EQ(whole, parts) << times;
    EXPECT_NE(whole, image);
  }
}

} // namespace
