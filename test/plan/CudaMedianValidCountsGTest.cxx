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
#include "ValidCounts.h"
#include "ValidRanks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace cudamedian;

/** A box some of whose pixels are valid, with the turns of its lines. */
struct Box
{
  Box(const Window & givenWindow, const Extent & givenOutputs, unsigned percent, std::mt19937_64 & random)
    : window(givenWindow)
    , outputs(givenOutputs)
    , extent(window.GetFootprint(outputs))
    , valid(static_cast<std::size_t>(Volume(extent)))
  {
    for (auto & flag : valid)
    {
      flag = random() % 100 < percent ? 1 : 0;
    }
  }

  /** How many pixels of an output's window are valid, and how many more of the others get the least key. */
  std::pair<std::int64_t, std::int64_t>
  Count(const Extent & output, const Turns & turns) const
  {
    std::pair<std::int64_t, std::int64_t> counts{ 0, 0 };
    ForEachBox(window.GetExtent(), { { 1, 1, 1, 1 } }, [&](const PixelBox & pixel) {
      Extent place;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        place[axis] = output[axis] + pixel.origin[axis];
      }
      const bool isValid = valid[static_cast<std::size_t>(GetOffset(place, GetPackedStride(extent)))] != 0;
      counts.first += isValid ? 1 : 0;
      counts.second += isValid ? 0 : *turns.GetRow(place) != 0 ? 1 : -1;
    });
    return counts;
  }

  void
  Check() const
  {
    PixelFlags memory;
    Turns      turns(extent, GetFilledAxis(window), memory);
    ForEachRow(extent,
               [&](const Extent & row) { turns.PassRow(row, valid.data() + GetOffset(row, GetPackedStride(extent))); });
    const auto  values = window.CountPixels();
    PixelFlags  empty(static_cast<std::size_t>(Volume(outputs)));
    FoundRanks  upper;
    FoundRanks  lower;
    ValidCounts found(window, outputs, valid, turns);
    found.StartRanks(false, upper);
    found.StartRanks(true, lower);
    bool hasFoundEmpty = false;
    ForEachRow(outputs, [&](const Extent & row) {
      auto * flags = empty.data() + GetOffset(row, GetPackedStride(outputs));
      hasFoundEmpty = found.FindEmpty(row, flags) || hasFoundEmpty;
      found.FindRanks(row, false, upper);
      found.FindRanks(row, true, lower);
    });
    bool        hasEmpty = false;
    RankBounds  bounds{ values, 0 };
    std::size_t number = 0;
    ForEachRow(outputs, [&](const Extent & row) {
      for (auto output = row; output[0] < outputs[0]; ++output[0], ++number)
      {
        const auto counts = Count(output, turns);
        hasEmpty = hasEmpty || counts.first == 0;
        ASSERT_EQ(empty[number] != 0, counts.first == 0) << number;
        const auto rank = GetRankOfValid(values, counts.second, false);
        ASSERT_EQ(upper.Get(number), rank) << number;
        ASSERT_EQ(lower.Get(number), GetRankOfValid(values, counts.second, true)) << number;
        bounds = { std::min(bounds.least, rank), std::max(bounds.greatest, rank) };
        // The middle one of the valid pixels, where some are.
        const auto least = (values - counts.first + counts.second) / 2;
        ASSERT_TRUE(counts.first == 0 || upper.Get(number) == least + counts.first / 2) << number;
      }
    });
    EXPECT_EQ(hasFoundEmpty, hasEmpty);
    EXPECT_EQ(upper.bounds.least, bounds.least);
    EXPECT_EQ(upper.bounds.greatest, bounds.greatest);
    CheckOtherNumbers(upper);
  }

  /** The same ranks as numbers from another one on. */
  static void
  CheckOtherNumbers(const FoundRanks & ranks)
  {
    auto       other = ranks;
    const auto first = ranks.bounds.least;
    Renumber(first, ranks.bounds.greatest - first < 256 ? 1 : 4, other);
    ASSERT_EQ(other.bytes.size() / other.rankBytes, ranks.bytes.size() / ranks.rankBytes);
    for (std::size_t i = 0; i < other.bytes.size() / other.rankBytes; ++i)
    {
      ASSERT_EQ(other.Get(i), ranks.Get(i));
    }
  }

  Window     window;
  Extent     outputs;
  Extent     extent;
  PixelFlags valid;
};

// All lengths of lines, with rows along any axis, and sums of 8, 16 and 32 bits.
TEST(CudaMedianValidCounts, AreThoseOfEachWindow)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto      draw = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int number = 0; number < 120; ++number)
  {
    Extent radius{ { draw(4), draw(4), draw(3), draw(2) } };
    Extent outputs{ { 1 + draw(150), 1 + draw(6), 1 + draw(3), 1 + draw(2) } };
    if (number % 3 == 0)
    {
      radius = { { draw(4), 1 + draw(5), draw(2), 0 } }; // what bytes have room for, mostly
    }
    if (number % 8 == 7)
    {
      radius = { { draw(25), draw(12), 0, 0 } };
      outputs = { { 1 + draw(40), 1 + draw(4), 1, 1 } };
    }
    Extent shorter{};
    for (int axis = 0; axis < Dimension; ++axis)
    {
      shorter[axis] = radius[axis] > 0 ? draw(2) : 0;
    }
    const Window window(radius, shorter, -1);
    if (window.CountPixels() == 1)
    {
      continue; // has no ranks
    }
    SCOPED_TRACE("window " + std::to_string(window.GetSize(0)) + "x" + std::to_string(window.GetSize(1)) + "x" +
                 std::to_string(window.GetSize(2)) + "x" + std::to_string(window.GetSize(3)));
    Box(window, outputs, static_cast<unsigned>(draw(101)), random).Check();
  }
}

TEST(CudaMedianValidCounts, OfLargeWindowsTakeLongerNumbers)
{
  std::mt19937_64 random(7);
  // More than 32,767 values, and more than 256 ranks.
  Box({ { 150, 60, 0, 0 } }, { { 3, 2, 1, 1 } }, 50, random).Check();
  Box({ { 12, 150, 1, 0 } }, { { 2, 2, 2, 1 } }, 0, random).Check();
  Box({ { 150, 150, 0, 0 } }, { { 2, 1, 1, 1 } }, 100, random).Check();
}

} // namespace
