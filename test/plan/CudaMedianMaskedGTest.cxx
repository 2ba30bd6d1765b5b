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
// Masks, ignored values, omitted NaN, footprints, weights and outliers, beside a brute force on sorted keys.

#include "CudaMedianTestMaskedCases.h"
#include "CudaMedianTestSeed.h"
#include "LentMemory.h"
#include "RowPrograms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

} // namespace

TEST(CudaMedianMasked, EqualBruteForce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (int i = 0; i < 1500 && !HasFailure(); ++i)
  {
    auto drawn = DrawMaskedCase(random, types[random() % std::size(types)], 9, 2);
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunSomewhere(random, drawn.base.request));
    CompareValid(drawn.base);
  }
}

TEST(CudaMedianMasked, InThreads)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  for (int i = 0; i < 60 && !HasFailure(); ++i)
  {
    auto   drawn = DrawMaskedCase(random, types[random() % std::size(types)], 40, 3);
    auto & request = drawn.base.request;
    float  told = -1;
    request.workUnits = 1 + static_cast<unsigned>(random() % 4);
    request.parallelFor = RunInThreads;
    request.progress = [&told](float fraction) {
      EXPECT_GE(fraction, told);
      told = fraction;
    };
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunMedian(request));
    EXPECT_EQ(told, 1.0F);
    CompareValid(drawn.base);
  }
}

// Windows whose programs find all ranks that there are, in rows of more than one vector, by threads that share an
// image.
TEST(CudaMedianMasked, RulesOfRowsThatPass)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr Extent radii[] = { { { 1, 1, 0, 0 } }, { { 2, 2, 0, 0 } }, { { 3, 3, 0, 0 } }, { { 1, 1, 1, 0 } } };
  std::mt19937_64  random(cudamediantest::Seed() + 3);
  int              passed = 0;
  for (int i = 0; i < 150 && !HasFailure(); ++i)
  {
    auto   drawn = DrawMaskedCase(random, types[random() % std::size(types)], i % 4 == 0 ? 170 : 25, 2);
    auto & request = drawn.base.request;
    request.footprint = nullptr;
    request.radius = radii[random() % std::size(radii)];
    request.shorter = {};
    for (int axis = 0; axis < Dimension; ++axis)
    {
      request.shift[axis] = std::clamp(request.shift[axis], -request.radius[axis], request.radius[axis]);
    }
    request.rank = -1;
    request.evenMedian = EvenMedian::Upper;
    if (Volume(request.outputExtent) > 40000)
    {
      continue;
    }
    request.backend = Backend::Cpu;
    request.workUnits = 1 + static_cast<unsigned>(random() % 4);
    request.parallelFor = RunInThreads;
    SCOPED_TRACE(drawn.base.text);
    ExecutionReport report;
    ASSERT_NO_THROW(report = RunMedian(request));
    passed += report.slabReason.find("as they pass") == std::string::npos ? 0 : 1;
    CompareValid(drawn.base);
  }
  const bool hasProgram = FindRowProgram(Window({ { 1, 1, 0, 0 } }, {}, -1), 1) != nullptr;
  EXPECT_EQ(passed > 0, hasProgram) << passed;
}

// Of any type and size, one after the other.
TEST(CudaMedianMasked, CallsLeaveMemoryForThoseToCome)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 2);
  ReleaseCachedMemory();
  EXPECT_EQ(GetKeptBytes(), 0U);
  for (int i = 0; i < 20 && !HasFailure(); ++i)
  {
    auto drawn = DrawMaskedCase(random, types[random() % std::size(types)], i % 2 == 0 ? 40 : 9, 2);
    SCOPED_TRACE(drawn.base.text);
    drawn.base.request.backend = Backend::Cpu;
    ASSERT_NO_THROW(RunMedian(drawn.base.request));
    CompareValid(drawn.base);
    EXPECT_LE(GetKeptBytes(), mostKeptBytes);
  }
  EXPECT_GT(GetKeptBytes(), 0U);
  std::size_t kept = 0;
  {
    const LentMemory lent;
    kept = GetKeptBytes();
    (*lent).copy.resize(mostKeptBytes + 1);
  }
  EXPECT_EQ(GetKeptBytes(), kept) << "more than is kept";
  ReleaseCachedMemory();
  EXPECT_EQ(GetKeptBytes(), 0U);
}

// Windows whose ranks are too many to be found one by one.
TEST(CudaMedianMasked, LargeWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 2);
  for (int i = 0; i < 40 && !HasFailure(); ++i)
  {
    auto   drawn = DrawMaskedCase(random, types[random() % std::size(types)], 24, 7);
    auto & request = drawn.base.request;
    if (GetWindow(request).CountPixels() > 1500)
    {
      continue;
    }
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunSomewhere(random, request));
    CompareValid(drawn.base);
  }
}

/** Runs one of the masks of 3x3 pixels and compares. */
void
CheckMaskOf3x3(std::mt19937_64 & random, unsigned bits, EvenMedian evenMedian, Backend backend)
{
  Case   given;
  auto & request = given.request;
  given.bytes = 1;
  given.input.resize(9);
  given.output.resize(9);
  std::generate(given.input.begin(), given.input.end(), [&] { return static_cast<char>(random()); });
  std::array<unsigned char, 9> mask{};
  for (unsigned i = 0; i < 9; ++i)
  {
    mask[i] = static_cast<unsigned char>(bits >> i & 1);
  }
  request.input = given.input.data();
  request.output = given.output.data();
  request.inputExtent = request.outputExtent = { { 3, 3, 1, 1 } };
  request.outputStride = { { 1, 3, 9, 9 } };
  request.radius = { { 1, 1, 0, 0 } };
  request.backend = backend;
  request.evenMedian = evenMedian;
  request.validity.mask = mask.data();
  request.validity.emptyWindow = static_cast<EmptyWindow>(bits % 2);
  request.validity.emptyValue.fill(77);
  RunMedian(request);
  given.text = std::string(ToString(backend)) + " mask " + std::to_string(bits) + " " + ToString(evenMedian);
  CompareValid(given);
}

// Every mask of a window of 3x3, with every rule for even counts and empty windows.
TEST(CudaMedianMasked, EveryMaskOf3x3)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 3);
  for (const auto backend : { Backend::Cpu, Backend::Cuda })
  {
    if (backend == Backend::Cuda && !QueryCudaDevice().usable)
    {
      continue;
    }
    for (unsigned bits = 0; bits < 512; ++bits)
    {
      for (const auto evenMedian : { EvenMedian::Upper, EvenMedian::Mean, EvenMedian::Lower })
      {
        CheckMaskOf3x3(random, bits, evenMedian, backend);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

// One mask for all components: it has no stride along their axis.
TEST(CudaMedianMasked, ComponentsShareAMask)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 4);
  Case            given;
  auto &          request = given.request;
  given.bytes = 2;
  given.input.resize(2 * 3 * 20 * 15);
  given.output.resize(given.input.size());
  std::generate(given.input.begin(), given.input.end(), [&] { return static_cast<char>(random()); });
  std::vector<std::uint16_t> mask(20 * 15);
  std::generate(mask.begin(), mask.end(), [&] { return static_cast<std::uint16_t>(random() % 2 << 9); });
  request.pixelType = PixelType::Int16;
  request.input = given.input.data();
  request.output = given.output.data();
  request.inputExtent = request.outputExtent = { { 20, 15, 1, 3 } };
  request.inputStride = request.outputStride = { { 3, 60, 900, 1 } };
  request.radius = { { 2, 1, 0, 0 } };
  request.backend = Backend::Cpu;
  request.validity.mask = mask.data();
  request.validity.maskPixelBytes = 2;
  request.validity.maskStride = { { 1, 20, 300, 0 } };
  const auto report = RunMedian(request);
  EXPECT_EQ(report.validity, "those of a mask");
  CompareValid(given);
}

TEST(CudaMedianMasked, LowerMiddleWithoutRules)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 5);
  for (int i = 0; i < 300 && !HasFailure(); ++i)
  {
    auto   drawn = DrawMaskedCase(random, types[random() % std::size(types)], 9, 2);
    auto & request = drawn.base.request;
    request.validity = {};
    request.outlierRule = OutlierRule::None;
    request.rank = -1;
    request.evenMedian = EvenMedian::Lower;
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunSomewhere(random, request));
    CompareValid(drawn.base);
  }
}

// Of two pixels the greatest has the rank of the median, which may be given, and whose mean is wanted all the same.
TEST(CudaMedianMasked, MeanOfTwoPixelsByTheirRank)
{
  const std::vector<std::uint8_t> input{ 1, 20, 5, 40, 9 };
  std::vector<std::uint8_t>       output(input.size());
  MedianRequest                   request;
  request.input = input.data();
  request.output = output.data();
  request.inputExtent = request.outputExtent = { { 5, 1, 1, 1 } };
  request.outputStride = { { 1, 5, 5, 5 } };
  request.radius = { { 1, 0, 0, 0 } };
  request.shorter = { { 1, 0, 0, 0 } };
  request.backend = Backend::Cpu;
  request.rank = 1;
  request.evenMedian = EvenMedian::Mean;
  request.validity.hasIgnoredValue = true;
  request.validity.ignoredValue[0] = 5;
  RunMedian(request);
  EXPECT_EQ(output, (std::vector<std::uint8_t>{ 1, 10, 20, 40, 24 }));
  request.validity = {};
  request.outlierRule = OutlierRule::Absolute;
  RunMedian(request);
  EXPECT_EQ(output, (std::vector<std::uint8_t>{ 1, 10, 12, 22, 24 }));
}

TEST(CudaMedianMasked, WhatHasNoMeaningIsRefused)
{
  Case   given;
  auto & request = given.request;
  given.input.resize(100, 3);
  given.output.resize(100);
  request.input = given.input.data();
  request.output = given.output.data();
  request.inputExtent = request.outputExtent = { { 10, 10, 1, 1 } };
  request.outputStride = { { 1, 10, 100, 100 } };
  request.radius = { { 1, 1, 0, 0 } };
  request.backend = Backend::Cpu;
  const auto refusal = [](const MedianRequest & wrong) -> std::string {
    try
    {
      RunMedian(wrong);
    }
    catch (const RequestError & error)
    {
      return error.what();
    }
    return "";
  };
  const auto expect = [&](const std::function<void(MedianRequest &)> & change, const std::string & words) {
    auto wrong = request;
    change(wrong);
    const auto text = refusal(wrong);
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  EXPECT_EQ(refusal(request), "");
  expect(
    [&](auto & wrong) {
      wrong.validity.mask = given.input.data();
      wrong.validity.maskPixelBytes = 3;
    },
    "3 bytes");
  expect(
    [](auto & wrong) {
      wrong.validity.hasIgnoredValue = true;
      wrong.rank = 2;
    },
    "rank is 2 of 9");
  expect(
    [](auto & wrong) {
      wrong.outlierRule = OutlierRule::Absolute;
      wrong.outlierThreshold = -2;
    },
    "-2");
  expect(
    [](auto & wrong) {
      wrong.outlierRule = OutlierRule::Deviations;
      wrong.outlierThreshold = std::numeric_limits<double>::quiet_NaN();
    },
    "nan");
  expect(
    [](auto & wrong) {
      wrong.outlierRule = OutlierRule::Absolute;
      wrong.rank = 0;
    },
    "distance from the median");
  expect(
    [](auto & wrong) {
      wrong.evenMedian = EvenMedian::Lower;
      wrong.rank = 3;
    },
    "rank is 3");
  expect([](auto & wrong) { wrong.footprint = Footprint::MakeCross({ { 2, 1, 0, 0 } }); }, "(2, 1, 0, 0)");
  const std::vector<std::uint8_t> map(100, 9);
  expect(
    [&](auto & wrong) {
      wrong.rankMap = map.data();
      wrong.rank = 0;
      wrong.greatestRank = 8;
    },
    "holds 9");
}

// Progress may stop a run, and the exception is the caller's.
TEST(CudaMedianMasked, Aborts)
{
  std::vector<std::uint8_t> input(600 * 400, 5);
  std::vector<std::uint8_t> output(input.size());
  std::vector<std::uint8_t> mask(input.size(), 1);
  mask[70000] = 0;
  MedianRequest request;
  request.input = input.data();
  request.output = output.data();
  request.inputExtent = request.outputExtent = { { 600, 400, 1, 1 } };
  request.outputStride = { { 1, 600, 240000, 240000 } };
  request.radius = { { 1, 1, 0, 0 } };
  request.backend = Backend::Cpu;
  request.validity.mask = mask.data();
  request.progress = [](float fraction) {
    if (fraction > 0.1F)
    {
      throw std::logic_error("stop");
    }
  };
  EXPECT_THROW(RunMedian(request), std::logic_error);
  request.progress = nullptr;
  EXPECT_NO_THROW(RunMedian(request));
  EXPECT_EQ(output[70000], 5);
}

// Counting the values next to a median is half of the work: it tells how far it is, and may be stopped.
TEST(CudaMedianMasked, CountingAborts)
{
  const Extent              extent{ { 300, 200, 1, 1 } };
  std::vector<std::int16_t> input(static_cast<std::size_t>(Volume(extent)));
  std::iota(input.begin(), input.end(), std::int16_t{ -30000 });
  std::vector<std::int16_t> output(input.size());
  MedianRequest             request;
  request.pixelType = PixelType::Int16;
  request.input = input.data();
  request.output = output.data();
  request.inputExtent = request.outputExtent = extent;
  request.outputStride = GetPackedStride(extent);
  request.radius = { { 30, 30, 0, 0 } };
  request.backend = Backend::Cpu;
  request.outlierRule = OutlierRule::Deviations;
  request.outlierThreshold = 3;
  std::vector<float> told;
  request.progress = [&told](float fraction) { told.push_back(fraction); };
  RunMedian(request);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), 1);
  EXPECT_GT(std::count_if(told.begin(), told.end(), [](float fraction) { return fraction > 0.5F; }), 8);
  const auto expected = output;
  for (const unsigned int units : { 1U, 2U, 3U }) // of two copies, one for each of two threads
  {
    request.workUnits = units;
    request.parallelFor = RunInThreads;
    int late = 0;
    request.progress = [&late](float fraction) {
      if (fraction > 0.6F)
      {
        ++late;
        throw std::logic_error("stop");
      }
    };
    EXPECT_THROW(RunMedian(request), std::logic_error);
    EXPECT_EQ(late, 1) << "told after it was stopped";
    request.progress = nullptr;
    std::fill(output.begin(), output.end(), std::int16_t{ 0 });
    RunMedian(request);
    EXPECT_EQ(output, expected);
  }
}
