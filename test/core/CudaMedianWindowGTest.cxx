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
#include "RequestWindow.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <type_traits>

namespace
{

using cudamedian::Extent;
using cudamedian::GetWindow;
using cudamedian::Window;

constexpr auto most = std::numeric_limits<std::int64_t>::max();

} // namespace

TEST(CudaMedianWindow, ARadiusIsTheWindowOfTheMedian)
{
  static_assert(std::is_convertible_v<Extent, Window>, "callers pass radii");
  const Window window = Extent{ { 2, 0, 1, 0 } };
  EXPECT_EQ(window.GetExtent(), (Extent{ { 5, 1, 3, 1 } }));
  EXPECT_EQ(window.GetSize(2), 3);
  EXPECT_EQ(window.CountPixels(), 15);
  EXPECT_EQ(window.CountAxes(), 2);
  EXPECT_EQ(window.GetLargestRadius(), 2);
  EXPECT_EQ(window.rank, 7);
  EXPECT_TRUE(window.IsMedian());
  EXPECT_EQ(window.CountBelow(), window.CountAbove());
}

TEST(CudaMedianWindow, ASinglePixelIsItsOwnMedian)
{
  const Window window;
  EXPECT_EQ(window.CountPixels(), 1);
  EXPECT_EQ(window.CountAxes(), 0);
  EXPECT_EQ(window.rank, 0);
  EXPECT_TRUE(window.IsMedian());
  EXPECT_EQ(window, Window(Extent{}));
}

TEST(CudaMedianWindow, AnotherRankIsAnotherWindow)
{
  const Extent radius{ { 1, 1, 0, 0 } };
  const Window first(radius, 0);
  const Window last(radius, 8);
  EXPECT_FALSE(first.IsMedian());
  EXPECT_EQ(first.CountBelow(), 0);
  EXPECT_EQ(first.CountAbove(), 8);
  EXPECT_EQ(last.CountBelow(), 8);
  EXPECT_EQ(last.CountAbove(), 0);
  EXPECT_EQ(Window(radius, 4), Window(radius));
  EXPECT_NE(first, last);
  std::map<Window, int> numbers;
  numbers[first] = 1;
  numbers[last] = 2;
  numbers[radius] = 3;
  numbers[Extent{ { 0, 2, 0, 0 } }] = 4;
  EXPECT_EQ(numbers.size(), 4U);
  EXPECT_EQ(numbers[Window(radius, 8)], 2);
  EXPECT_EQ(numbers[Window(radius, 4)], 3);
}

TEST(CudaMedianWindow, TheFootprintOfATileHasTheWindowBesidesTheFirstOutput)
{
  const Window window(Extent{ { 2, 1, 0, 3 } });
  EXPECT_EQ(window.GetFootprint({ { 4, 2, 3, 1 } }), (Extent{ { 8, 4, 3, 7 } }));
}

TEST(CudaMedianWindow, HugeRadiiDoNotWrapAround)
{
  const auto huge = std::int64_t{ 1 } << 30;
  EXPECT_EQ(Window(Extent{ { huge, 0, 0, 0 } }).CountPixels(), 2 * huge + 1);
  EXPECT_EQ(Window(Extent{ { huge, 1 << 29, 0, 0 } }).CountPixels(), (2 * huge + 1) * (huge + 1));
  EXPECT_EQ(Window(Extent{ { huge, huge, huge, 0 } }).CountPixels(), most);
  EXPECT_EQ(Window(Extent{ { huge, huge, huge, huge } }).CountPixels(), most);
  EXPECT_EQ(Window(Extent{ { most, 0, 0, 0 } }).CountPixels(), most);
  EXPECT_EQ(Window(Extent{ { 0, most, most, 1 } }).CountPixels(), most);
  EXPECT_EQ(Window(Extent{ { (most - 1) / 2, 0, 0, 0 } }).CountPixels(), most);
  EXPECT_EQ(Window(Extent{ { (most - 1) / 2 - 1, 0, 0, 0 } }).CountPixels(), most - 2);
  EXPECT_EQ(Window(Extent{ { -1, 2, 0, 0 } }).CountPixels(), 0);
}

TEST(CudaMedianWindow, AnEvenSizeHasOnePixelFewerBehind)
{
  const Extent radius{ { 2, 1, 0, 3 } };
  const Window window(radius, { { 1, 0, 0, 1 } }, -1);
  EXPECT_EQ(window.GetExtent(), (Extent{ { 4, 3, 1, 6 } }));
  EXPECT_EQ(window.CountPixels(), 72);
  EXPECT_EQ(window.CountAxes(), 3);
  EXPECT_EQ(window.CountBehind(0), 1);
  EXPECT_EQ(window.CountBehind(1), 1);
  EXPECT_EQ(window.CountBehind(3), 2);
  EXPECT_EQ(window.rank, 36);
  EXPECT_TRUE(window.IsMedian());
  EXPECT_TRUE(window.HasEvenSize());
  EXPECT_FALSE(Window(radius).HasEvenSize());
  EXPECT_EQ(window.GetFootprint({ { 2, 2, 1, 1 } }), (Extent{ { 5, 4, 1, 6 } }));
  EXPECT_EQ(Window(radius, Extent{}, -1), Window(radius));
  EXPECT_NE(window, Window(radius, Extent{}, 36));
  std::map<Window, int> numbers;
  numbers[window] = 1;
  numbers[Window(radius, Extent{}, 36)] = 2;
  numbers[Window(radius, { { 0, 0, 0, 1 } }, 36)] = 3;
  EXPECT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers[window], 1);
  EXPECT_EQ(Window(Extent{ { 1, 0, 0, 0 } }, { { 0, 1, 0, 0 } }, -1).CountPixels(), 0);
}

TEST(CudaMedianWindow, OfARequest)
{
  cudamedian::MedianRequest request;
  request.radius = { { 1, 2, 0, 0 } };
  EXPECT_EQ(GetWindow(request), Window(request.radius));
  request.shorter = { { 0, 1, 0, 0 } };
  EXPECT_EQ(GetWindow(request), Window(request.radius, request.shorter, 6));
  request.shorter = {};
  request.rank = 3;
  EXPECT_EQ(GetWindow(request), Window(request.radius, 3));
  EXPECT_FALSE(GetWindow(request).IsMedian());
}
