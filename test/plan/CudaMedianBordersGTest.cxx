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
// Borders, strides, shifts, half floats and means of two values, beside a brute force on sorted keys.

#include "CudaMedianTestCases.h"
#include "CudaMedianTestSeed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

/** What a window's result is: the definition. */
std::uint64_t
GetExpected(const Case & given, const Extent & place)
{
  const auto & request = given.request;
  const auto   values = SortWindow(given, place);
  const auto   window = GetWindow(request);
  if (request.rank < 0)
  {
    const auto upper = values[values.size() / 2];
    return values.size() % 2 == 0 && request.evenMedian == EvenMedian::Mean
             ? GetMean(request.pixelType, values[values.size() / 2 - 1], upper)
             : upper;
  }
  if (request.border[0] == Border::Shrink)
  {
    return request.rank == 0                          ? values.front()
           : request.rank == window.CountPixels() - 1 ? values.back()
                                                      : values[values.size() / 2];
  }
  return values[static_cast<std::size_t>(request.rank)];
}

void
Compare(const Case & given)
{
  const auto & request = given.request;
  int          differences = 0;
  ForEachPosition(request.outputExtent, [&](const Extent & place) {
    const auto expected = GetExpected(given, place);
    const auto found = given.Get(request.output, GetOffset(place, request.outputStride));
    // The mean of a NaN is a NaN, whichever.
    const bool isMean = request.evenMedian == EvenMedian::Mean;
    if (found != expected && !(isMean && IsNaN(request.pixelType, found) && IsNaN(request.pixelType, expected)))
    {
      ++differences;
      ASSERT_LE(differences, 3);
      ADD_FAILURE() << given.text << " at " << Join(place) << ": " << std::hex << found << " for " << expected;
    }
  });
}

TEST(CudaMedianBorders, EqualBruteForce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (int i = 0; i < 1500; ++i)
  {
    auto       drawn = DrawCase(random, types[random() % std::size(types)], 9, 2);
    const auto report = RunSomewhere(random, drawn.request);
    Compare(drawn);
    EXPECT_FALSE(report.border.empty());
    if (HasFailure())
    {
      return;
    }
  }
}

TEST(CudaMedianBorders, WindowsLargerThanTheImage)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  for (int i = 0; i < 200 && !HasFailure(); ++i)
  {
    auto drawn = DrawCase(random, types[random() % std::size(types)], 4, 6);
    RunSomewhere(random, drawn.request);
    Compare(drawn);
  }
}

/** Images with an interior, bands around it and rows for several threads. */
TEST(CudaMedianBorders, InteriorsAndBands)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 2);
  for (int i = 0; i < 30 && !HasFailure(); ++i)
  {
    auto drawn = DrawCase(random, types[random() % std::size(types)], 5, 2);
    drawn.request.inputExtent = { { 150 + static_cast<std::int64_t>(random() % 100), 90, 1, 3 } };
    drawn.request.inputStride = {};
    drawn.request.shift = {};
    drawn.request.radius[2] = drawn.request.radius[3] = 0;
    drawn.request.rank = -1;
    drawn.request.outputOrigin = {};
    drawn.request.outputExtent = drawn.request.inputExtent;
    drawn.request.outputStride = GetPackedStride(drawn.request.outputExtent);
    drawn.input.resize(static_cast<std::size_t>(Volume(drawn.request.inputExtent)) * drawn.bytes);
    drawn.output.assign(drawn.input.size(), 0);
    std::generate(drawn.input.begin(), drawn.input.end(), [&] { return static_cast<char>(random()); });
    drawn.request.input = drawn.input.data();
    drawn.request.output = drawn.output.data();
    drawn.request.workUnits = 3;
    drawn.request.parallelFor = RunInThreads;
    float told = 0;
    drawn.request.progress = [&](float fraction) {
      EXPECT_GE(fraction, told);
      told = fraction;
    };
    RunSomewhere(random, drawn.request);
    EXPECT_EQ(told, 1.0F);
    Compare(drawn);
  }
}

TEST(CudaMedianBorders, AnAbortLeavesTheRequestUsable)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 3);
  auto            drawn = DrawCase(random, PixelType::Int16, 9, 2);
  std::int64_t    pixels = 0;
  drawn.request.inputStride = DrawStride(random, drawn.request.inputExtent, pixels);
  drawn.input.assign(static_cast<std::size_t>(pixels) * 2, 7);
  drawn.request.input = drawn.input.data();
  drawn.request.border = {};
  drawn.request.border.fill(Border::Reflect);
  drawn.request.rank = -1;
  drawn.request.progress = [](float) { throw std::logic_error("enough"); };
  EXPECT_THROW(RunMedian(drawn.request), std::logic_error);
  drawn.request.progress = nullptr;
  RunMedian(drawn.request);
  Compare(drawn);
}

TEST(CudaMedianBorders, HalfFloatsAreRounded)
{
  for (const auto type : { PixelType::Float16, PixelType::BFloat16 })
  {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    {
      const auto half = static_cast<std::uint16_t>(bits);
      const auto value = GetHalfFloat(type, half);
      if (std::isnan(value))
      {
        EXPECT_TRUE(std::isnan(GetHalfFloat(type, RoundToHalfFloat(type, value))));
      }
      else
      {
        ASSERT_EQ(RoundToHalfFloat(type, value), half);
      }
      ASSERT_EQ(DecodeHalfFloat(type, EncodeHalfFloat(type, half)), half);
    }
  }
  // Halfway goes to the even neighbour, and beyond the largest number lies infinity.
  EXPECT_EQ(RoundToHalfFloat(PixelType::Float16, 2049), 0x6800);
  EXPECT_EQ(RoundToHalfFloat(PixelType::Float16, 2051), 0x6802);
  EXPECT_EQ(RoundToHalfFloat(PixelType::Float16, 65519), 0x7BFF);
  EXPECT_EQ(RoundToHalfFloat(PixelType::Float16, 65520), 0x7C00);
  EXPECT_EQ(RoundToHalfFloat(PixelType::Float16, 1e300), 0x7C00);
}

// Of two pixels the greatest has the rank of the median, which may be given: at the image's end one of them is left.
TEST(CudaMedianBorders, MeanOfTwoClippedPixelsByTheirRank)
{
  const std::vector<std::uint8_t> input{ 1, 20, 5, 40 };
  std::vector<std::uint8_t>       output(input.size());
  MedianRequest                   request;
  request.input = input.data();
  request.output = output.data();
  request.inputExtent = request.outputExtent = { { 4, 1, 1, 1 } };
  request.outputStride = { { 1, 4, 4, 4 } };
  request.radius = { { 1, 0, 0, 0 } };
  request.shorter = { { 1, 0, 0, 0 } };
  request.border = { { Border::Shrink, Border::Shrink, Border::Shrink, Border::Shrink } };
  request.backend = Backend::Cpu;
  request.evenMedian = EvenMedian::Mean;
  for (const std::int64_t rank : { -1, 1 })
  {
    request.rank = rank;
    request.shift = {};
    RunMedian(request);
    EXPECT_EQ(output, (std::vector<std::uint8_t>{ 1, 10, 12, 22 })) << rank;
    request.shift = { { 1, 0, 0, 0 } };
    RunMedian(request);
    EXPECT_EQ(output, (std::vector<std::uint8_t>{ 10, 12, 22, 40 })) << rank;
  }
}

TEST(CudaMedianBorders, WhatHasNoMeaningIsRefused)
{
  std::vector<std::uint8_t> pixels(64);
  std::vector<std::uint8_t> result(64);
  MedianRequest             good;
  good.backend = Backend::Cpu;
  good.input = pixels.data();
  good.output = result.data();
  good.inputExtent = good.outputExtent = { { 8, 8, 1, 1 } };
  good.radius = { { 1, 1, 0, 0 } };
  good.outputStride = { { 1, 8, 64, 64 } };
  EXPECT_NO_THROW(RunMedian(good));
  const auto refuse = [&](const char * word, const auto & change) {
    auto bad = good;
    change(bad);
    try
    {
      RunMedian(bad);
      ADD_FAILURE() << "not refused: " << word;
    }
    catch (const RequestError & error)
    {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refuse("2 pixels shorter", [](auto & bad) { bad.shorter[0] = 2; });
  refuse("1 pixels shorter", [](auto & bad) { bad.shorter[2] = 1; });
  refuse("shifted by 2", [](auto & bad) { bad.shift[1] = 2; });
  refuse("shrink", [](auto & bad) { bad.border[0] = Border::Shrink; });
  refuse("rank is 3", [](auto & bad) {
    bad.border.fill(Border::Shrink);
    bad.rank = 3;
  });
  refuse("mean of the two", [](auto & bad) {
    bad.evenMedian = EvenMedian::Mean;
    bad.rank = 3;
  });
  refuse("share places", [](auto & bad) { bad.outputStride = { { 1, 7, 64, 64 } }; });
  refuse("share places", [](auto & bad) { bad.outputStride = { { 0, 8, 64, 64 } }; });
  EXPECT_NO_THROW(RunMedian(good));
}

} // namespace
