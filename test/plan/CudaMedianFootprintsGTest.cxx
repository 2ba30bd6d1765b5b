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
// Windows with footprints, and maps of ranks, by every algorithm of the CPU, beside a brute force on sorted keys.

#include "CudaMedianTestCases.h"
#include "CudaMedianTestSeed.h"
#include "RankMap.h"
#include "RankPolicy.h"

#include <gtest/gtest.h>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

/** The values of a footprint's window, in their order. */
std::vector<Seen>
SortFootprint(const Case & given, const Extent & place)
{
  const auto & request = given.request;
  const auto   stride = request.inputStride == Extent{} ? GetPackedStride(request.inputExtent) : request.inputStride;
  std::vector<Seen> values;
  for (const auto & pixel : ListPixels(request))
  {
    std::int64_t from = 0;
    bool         isInside = true;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto position = request.outputOrigin[axis] + place[axis] + pixel.offset[axis];
      const auto found = Walk(request.border[axis], position, request.inputExtent[axis]);
      isInside = isInside && found >= 0;
      from += found * stride[axis];
    }
    values.push_back(
      { given.Get(isInside ? request.input : request.borderValue.data(), isInside ? from : 0), pixel.weight });
  }
  SortByKeys(request.pixelType, values, [](const Seen & seen) { return seen.bits; });
  return values;
}

void
CompareFootprint(const Case & given)
{
  const auto & request = given.request;
  const auto   rank = GetWindow(request).rank;
  int          differences = 0;
  std::size_t  output = 0;
  ForEachPosition(request.outputExtent, [&](const Extent & place) {
    const auto wanted =
      request.rankMap == nullptr ? rank : RankRow(request, request.outputOrigin)[static_cast<std::ptrdiff_t>(output)];
    ++output;
    const auto expected = Pick(SortFootprint(given, place), wanted);
    const auto found = given.Get(request.output, GetOffset(place, request.outputStride));
    if (found != expected)
    {
      ++differences;
      ASSERT_LE(differences, 3);
      ADD_FAILURE() << given.text << " at " << Join(place) << ": " << std::hex << found << " for " << expected;
    }
  });
}

/** A footprint of some kind: disks and balls, crosses, rings, half planes, random dots. */
const Footprint *
DrawShape(std::mt19937_64 & random, const Extent & radius)
{
  const auto kind = random() % 5;
  if (kind == 0)
  {
    return Footprint::MakeCross(radius);
  }
  if (kind == 1)
  {
    return DrawFootprint(random, radius);
  }
  std::vector<FootprintPixel> pixels;
  for (const auto & pixel :
       Footprint::MakeEllipsoid({ { radius[0] + 0.3, radius[1] + 0.3, radius[2] + 0.3, radius[3] + 0.3 } })
         ->GetPixels())
  {
    std::int64_t distance = 0;
    for (const auto offset : pixel.offset)
    {
      distance += offset * offset;
    }
    const bool isLeftOut = (kind == 2 && distance < 4) || (kind == 3 && pixel.offset[0] < 0);
    if (!isLeftOut)
    {
      pixels.push_back(pixel);
    }
  }
  pixels.push_back({});
  return Footprint::Make(pixels);
}

/** What an algorithm is to do; false where it does not cover the window. */
bool
RunBy(Algorithm algorithm, MedianRequest & request)
{
  request.algorithm = algorithm;
  try
  {
    const auto report = RunMedian(request);
    EXPECT_EQ(report.footprint, request.footprint == nullptr ? "box" : request.footprint->Describe());
    return true;
  }
  catch (const RequestError &)
  {
    return false;
  }
}

constexpr Algorithm algorithms[] = { Algorithm::TileProgram,
                                     Algorithm::LocalRank,
                                     Algorithm::SlidingHistogram,
                                     Algorithm::Selection,
                                     Algorithm::Automatic };

/** Draws requests whose radius is at most so large, and runs each by all algorithms. \returns runs by algorithm */
std::array<int, 5>
CompareAll(std::mt19937_64 & random, int cases, std::int64_t largestSize, std::int64_t largestRadius, bool hasMap)
{
  std::array<int, 5> runs{};
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i)
  {
    auto   drawn = DrawCase(random, types[random() % std::size(types)], largestSize, largestRadius);
    auto & request = drawn.request;
    request.shift = {};
    for (auto & border : request.border)
    {
      border = border == Border::Shrink || hasMap ? Border::ZeroFluxNeumann : border;
    }
    if (!hasMap || random() % 2 == 0)
    {
      request.footprint = DrawShape(random, request.radius);
      request.radius = request.footprint->GetRadius();
    }
    const auto values = GetWindow(request).CountPixels();
    request.evenMedian = EvenMedian::Upper;
    request.rank = random() % 2 == 0 ? -1 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(values));
    std::vector<std::uint8_t> map;
    if (hasMap)
    {
      const auto span = 1 + random() % static_cast<std::uint64_t>(values);
      const auto least = random() % (static_cast<std::uint64_t>(values) - span + 1);
      request.inputStride = {};
      request.outputStride = GetPackedStride(request.outputExtent);
      request.pixelType = IsHalfFloat(request.pixelType) ? PixelType::Int16 : request.pixelType;
      request.rank = static_cast<std::int64_t>(least);
      request.greatestRank = static_cast<std::int64_t>(least + span - 1);
      std::vector<std::uint64_t> ranks(static_cast<std::size_t>(Volume(request.outputExtent)));
      std::generate(ranks.begin(), ranks.end(), [&] { return least + random() % span; });
      map = PackRanks(ranks, request);
      request.rankMap = map.data();
    }
    request.workUnits = 1 + static_cast<unsigned>(random() % 3);
    request.parallelFor = RunInThreads;
    drawn.text += " " + (request.footprint == nullptr ? "box" : request.footprint->Describe()) + " rank " +
                  std::to_string(request.rank);
    for (std::size_t number = 0; number < std::size(algorithms); ++number)
    {
      SCOPED_TRACE(ToString(algorithms[number]));
      std::fill(drawn.output.begin(), drawn.output.end(), char{ 0x5A });
      if (RunBy(algorithms[number], request))
      {
        ++runs[number];
        CompareFootprint(drawn);
      }
    }
  }
  return runs;
}

} // namespace

TEST(CudaMedianFootprints, EveryAlgorithmEqualsBruteForce)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  const auto      runs = CompareAll(random, 160, 14, 2, false);
  EXPECT_GT(runs[0], 90);
  EXPECT_GT(runs[1], 40);
  EXPECT_EQ(runs[2], 0) << "histograms cover no footprint";
  EXPECT_EQ(runs[3], 160);
  EXPECT_EQ(runs[4], 160);
}

TEST(CudaMedianFootprints, LargeOnes)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  const auto      runs = CompareAll(random, 20, 40, 9, false);
  EXPECT_GT(runs[1], 2);
  EXPECT_EQ(runs[4], 20);
}

// Ranks of 32 bits on the CPU.
TEST(CudaMedianFootprints, RegionsOfMorePixelsThanSixteenBitsNumber)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 3);
  const auto *    ball = Footprint::MakeEllipsoid({ { 21, 20.5, 21, 0 } });
  const auto *    tall = Footprint::MakeEllipsoid({ { 66, 0, 270, 0 } });
  for (const auto * footprint : { Footprint::MakeEllipsoid({ { 140.3, 140.3, 0, 0 } }), ball, tall })
  {
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32, PixelType::Float64 })
    {
      auto   drawn = DrawCase(random, type, 5, 1);
      auto & request = drawn.request;
      request.shift = {};
      request.border = {};
      request.footprint = footprint;
      request.radius = footprint->GetRadius();
      request.evenMedian = EvenMedian::Upper;
      request.rank = type == PixelType::Int16
                       ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(footprint->CountValues()))
                       : -1;
      request.parallelFor = RunInThreads;
      RankShape shape{};
      ASSERT_TRUE(
        FindHostRankShape(GetWindow(request), static_cast<int>(PixelBytes(type)), request.outputExtent, 1, shape));
      EXPECT_GT(shape.pixels, mostShortRanks);
      drawn.text += " " + footprint->Describe() + " rank " + std::to_string(request.rank);
      ASSERT_TRUE(RunBy(Algorithm::LocalRank, request));
      CompareFootprint(drawn);
    }
  }
}

TEST(CudaMedianFootprints, MapsOfRanks)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 2);
  const auto      runs = CompareAll(random, 120, 24, 4, true);
  EXPECT_GT(runs[1], 40);
  EXPECT_GT(runs[2], 0);
  EXPECT_EQ(runs[3], 120);
}

TEST(CudaMedianFootprints, EqualOnesAreOneObject)
{
  const auto * disk = Footprint::MakeEllipsoid({ { 2, 2, 0, 0 } });
  EXPECT_EQ(disk->CountValues(), 13);
  auto pixels = disk->GetPixels();
  std::reverse(pixels.begin(), pixels.end());
  EXPECT_EQ(Footprint::Make(pixels), disk);
  EXPECT_EQ(Footprint::MakeEllipsoid({ { 2.1, 2.1, 0.9, 0 } }), disk);
  EXPECT_EQ(Footprint::MakeEllipsoid({ { 2, 2, 2, 0 } })->CountValues(), 33);
  EXPECT_EQ(Footprint::MakeCross({ { 1, 1, 1, 0 } })->CountValues(), 7);
  EXPECT_TRUE(Footprint::MakeBox({ { 2, 1, 0, 0 } })->IsBox());
  EXPECT_FALSE(disk->IsBox());
  EXPECT_TRUE(Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3)->IsCentreWeighted());
  EXPECT_EQ(Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3)->CountValues(), 11);
  EXPECT_EQ(Footprint::MakeFromImage({ { 3, 1, 1, 1 } }, { 1, 0, 2 }, { { 1, 0, 0, 0 } })->Describe(),
            "2 of 3 pixels, 3 values");
}

TEST(CudaMedianFootprints, WhatIsNoFootprintIsRefused)
{
  EXPECT_THROW(Footprint::Make({}), RequestError);
  EXPECT_THROW(Footprint::Make({ { { { 0, 0, 0, 0 } }, 0 } }), RequestError);
  EXPECT_THROW(Footprint::Make({ { { { 0, 0, 0, 0 } }, -1 } }), RequestError);
  EXPECT_THROW(Footprint::MakeEllipsoid({ { -1, 0, 0, 0 } }), RequestError);
  EXPECT_THROW(Footprint::MakeEllipsoid({ { 1e9, 0, 0, 0 } }), RequestError);
  EXPECT_THROW(Footprint::MakeCross({ { -1, 0, 0, 0 } }), RequestError);
  EXPECT_THROW(Footprint::MakeBox({ { 5000, 5000, 0, 0 } }), RequestError);
  EXPECT_THROW(Footprint::MakeFromImage({ { 2, 2, 1, 1 } }, { 1, 1, 1 }, {}), RequestError);
}
