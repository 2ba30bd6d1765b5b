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
// Windows that are clipped to the image: with what beyond it their medians are right at once, and how few runs they
// take.

#include "CudaMedianTestSeed.h"
#include "Gather.h"
#include "GatheredCopies.h"
#include "GatheredRun.h"
#include "RequestWindow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace
{

using namespace cudamedian;

/** Calls a function with the position of each pixel of a box. */
template <typename TFunction>
void
ForEachPixel(const PixelBox & box, const TFunction & function)
{
  for (std::int64_t row = 0; row < box.extent[1] * box.extent[2] * box.extent[3]; ++row)
  {
    auto position = GetRowOfBox(box, row);
    for (std::int64_t x = 0; x < box.extent[0]; ++x, ++position[0])
    {
      function(position);
    }
  }
}

/** The pixels around an output. */
PixelBox
GetWindowBox(const MedianRequest & request, const Extent & output)
{
  PixelBox box;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    box.origin[axis] = output[axis] + request.shift[axis] - request.radius[axis];
    box.extent[axis] = 2 * request.radius[axis] + 1 - request.shorter[axis];
  }
  return box;
}

/** A request for some outputs of a random image of 16-bit pixels. */
MedianRequest
DrawRequest(std::mt19937_64 & random, std::vector<std::int16_t> & image)
{
  const auto    draw = [&](std::int64_t end) { return static_cast<std::int64_t>(random() % end); };
  MedianRequest request;
  request.pixelType = PixelType::Int16;
  request.outputPixelBytes = 2;
  request.border.fill(Border::Shrink);
  request.inputExtent = request.outputExtent = { { 1, 1, 1, 1 } };
  const auto axes = 1 + draw(3);
  for (int axis = 0; axis < axes; ++axis)
  {
    request.inputExtent[axis] = 1 + draw(axes == 1 ? 40 : axes == 2 ? 16 : 9);
    request.radius[axis] = draw(axes == 1 ? 6 : 4);
    request.shift[axis] = draw(4) == 0 ? draw(2 * request.radius[axis] + 1) - request.radius[axis] : 0;
    request.outputOrigin[axis] = draw(2) * draw(request.inputExtent[axis]);
    request.outputExtent[axis] = 1 + draw(request.inputExtent[axis] - request.outputOrigin[axis]);
  }
  request.outputStride = GetPackedStride(request.outputExtent);
  request.evenMedian = draw(2) == 0 ? EvenMedian::Lower : EvenMedian::Upper;
  image.resize(static_cast<std::size_t>(Volume(request.inputExtent)));
  // Few values, so that many are alike, or all there are.
  const auto values = draw(2) == 0 ? std::int64_t{ 7 } : std::int64_t{ 1 } << 16;
  std::generate(image.begin(), image.end(), [&] { return static_cast<std::int16_t>(draw(values)); });
  request.input = image.data();
  return request;
}

/** The values of a window in the image. */
std::vector<std::int16_t>
ListInside(const MedianRequest & request, const std::vector<std::int16_t> & image, const PixelBox & window)
{
  const auto                stride = GetPackedStride(request.inputExtent);
  std::vector<std::int16_t> inside;
  ForEachPixel(window, [&](const Extent & position) {
    bool isInside = true;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      isInside = isInside && position[axis] >= 0 && position[axis] < request.inputExtent[axis];
    }
    if (isInside)
    {
      inside.push_back(image[static_cast<std::size_t>(GetOffset(position, stride))]);
    }
  });
  return inside;
}

TEST(CudaMedianClippedWindows, ABalancedFillHasTheirMediansAtOnce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  int             filled = 0;
  int             clipped = 0;
  for (int i = 0; i < 3000; ++i)
  {
    std::vector<std::int16_t> image;
    const auto                request = DrawRequest(random, image);
    if (!FindSingleFill(request))
    {
      continue;
    }
    ++filled;
    const PixelBox            outputs{ request.outputOrigin, request.outputExtent };
    const auto                copied = GetInputBox(request, outputs);
    std::vector<std::int16_t> copy(static_cast<std::size_t>(Volume(copied.extent)));
    Gatherer(request).GatherRows(copied, 0, copied.extent[1] * copied.extent[2] * copied.extent[3], copy.data());
    const auto stride = GetPackedStride(copied.extent);
    ForEachPixel(outputs, [&](const Extent & output) {
      const auto                window = GetWindowBox(request, output);
      std::vector<std::int16_t> all;
      ForEachPixel(window, [&](Extent position) {
        for (int axis = 0; axis < Dimension; ++axis)
        {
          position[axis] -= copied.origin[axis];
        }
        all.push_back(copy[static_cast<std::size_t>(GetOffset(position, stride))]);
      });
      auto inside = ListInside(request, image, window);
      clipped += inside.size() < all.size() ? 1 : 0;
      std::sort(all.begin(), all.end());
      std::sort(inside.begin(), inside.end());
      const auto middle = request.evenMedian == EvenMedian::Lower ? (inside.size() - 1) / 2 : inside.size() / 2;
      ASSERT_EQ(all[all.size() / 2], inside[middle])
        << "image " << Join(request.inputExtent) << ", radius " << Join(request.radius) << ", shift "
        << Join(request.shift) << ", output " << Join(output);
    });
    if (HasFailure())
    {
      return;
    }
  }
  EXPECT_GT(filled, 300);
  EXPECT_GT(clipped, 3000);
}

TEST(CudaMedianClippedWindows, PartsBetweenTheEndsHaveASingleFill)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  for (int i = 0; i < 500; ++i)
  {
    std::vector<std::int16_t> image;
    const auto                request = DrawRequest(random, image);
    const PixelBox            whole{ request.outputOrigin, request.outputExtent };
    bool                      isLong = true;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      isLong = isLong && (request.radius[axis] == 0 || whole.extent[axis] >= 2 * (2 * request.radius[axis] + 1));
    }
    std::int64_t pixels = 0;
    for (const auto & part : CutBetweenEnds(request, whole))
    {
      pixels += Volume(part.extent);
      EXPECT_TRUE(!isLong || FindSingleFill(TakeOutputs(request, part)))
        << "image " << Join(request.inputExtent) << ", radius " << Join(request.radius) << ", part at "
        << Join(part.origin) << " of " << Join(part.extent);
    }
    EXPECT_EQ(pixels, Volume(whole.extent));
  }
}

TEST(CudaMedianClippedWindows, PartsEndWhereBlocksDo)
{
  MedianRequest request;
  request.inputExtent = request.outputExtent = { { 6720, 4480, 1, 1 } };
  request.outputStride = GetPackedStride(request.outputExtent);
  request.border.fill(Border::Shrink);
  request.radius = { { 5, 5, 0, 0 } };
  const auto parts = CutBetweenEnds(request, { {}, request.outputExtent });
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].extent, (Extent{ { 3584, 2240, 1, 1 } }));
  EXPECT_EQ(parts[3].extent, (Extent{ { 3136, 2240, 1, 1 } }));
}

/** How many runs windows of 3x3 take on devices that are clipped to an image, and whether each had its border in
 * uploads. */
std::size_t
CountRuns(const Extent & extent, EvenMedian evenMedian, std::int64_t rank = -1)
{
  std::vector<std::int16_t> image(static_cast<std::size_t>(Volume(extent)));
  MedianRequest             request;
  request.pixelType = PixelType::Int16;
  request.outputPixelBytes = 2;
  request.backend = Backend::Cuda;
  request.border.fill(Border::Shrink);
  request.inputExtent = request.outputExtent = extent;
  request.outputStride = GetPackedStride(extent);
  request.radius = { { 1, 1, 0, 0 } };
  request.input = request.output = image.data();
  request.evenMedian = evenMedian;
  request.rank = rank;
  std::size_t runs = 0;
  if (!IsGatheredForCuda(request))
  {
    return 1;
  }
  RunGathered(request, [&](const MedianRequest & part) {
    ++runs;
    EXPECT_TRUE(part.border[0] != Border::Shrink || !IsGatheredForCuda(part));
    return ExecutionReport();
  });
  return runs;
}

TEST(CudaMedianClippedWindows, DevicesTakeFewRuns)
{
  EXPECT_EQ(CountRuns({ { 64, 64, 1, 1 } }, EvenMedian::Upper), 4U) << "a run for each quarter";
  EXPECT_EQ(CountRuns({ { 64, 64, 1, 1 } }, EvenMedian::Lower), 4U);
  EXPECT_EQ(CountRuns({ { 63, 64, 1, 1 } }, EvenMedian::Upper), 2U) << "windows fill the rows";
  EXPECT_EQ(CountRuns({ { 63, 63, 1, 1 } }, EvenMedian::Upper), 1U);
  EXPECT_EQ(CountRuns({ { 64, 64, 1, 1 } }, EvenMedian::Upper, 0), 1U) << "the least value";
  EXPECT_EQ(CountRuns({ { 64, 64, 1, 1 } }, EvenMedian::Upper, 8), 1U);
  // The interior, two halves of the bands above and below, and two bands beside it, each twice.
  EXPECT_EQ(CountRuns({ { 64, 64, 1, 1 } }, EvenMedian::Mean), 13U);
}

} // namespace
