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
// What a pixel type is made of, and the arithmetic that all rooms share.

#include "CudaMedianTestSeed.h"
#include "DigitSort.h"
#include "DivideUp.h"
#include "ExtremumRows.h"
#include "KeyPairs.h"
#include "LaneInterpreter.h"
#include "PixelFormat.h"
#include "Slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

using namespace cudamedian;

TEST(CudaMedianPixelFormat, TypesDifferAndAgreeWithTheirNames)
{
  std::set<std::pair<KeyFormat, bool>> formats;
  for (const PixelType type : allPixelTypes)
  {
    const PixelFormat format = GetPixelFormat(type);
    const std::string name = ToString(type);
    formats.insert({ format.keys, format.isSigned });
    EXPECT_EQ(format.isSigned, name[0] != 'u') << name;
    EXPECT_EQ(GetKeyMapping(format.keys) == KeyMapping::Float, name[0] == 'f') << name;
    EXPECT_EQ(std::to_string(8 * GetPixelBytes(format.keys)), name.substr(name.find_first_of("0123456789"))) << name;
    EXPECT_EQ(PixelBytes(type), static_cast<std::size_t>(GetPixelBytes(format.keys))) << name;
  }
  EXPECT_EQ(formats.size(), std::size(allPixelTypes));
}

TEST(CudaMedianPixelFormat, KeysAreThoseOfTheFormat)
{
  for (const PixelType type : allPixelTypes)
  {
    const KeyFormat format = GetKeyFormat(type);
    const int       bytes = DispatchKeys(format, [](auto key) { return int{ sizeof(typename decltype(key)::Bits) }; });
    const auto      mapping = DispatchKeys(format, [](auto key) { return decltype(key)::mapping; });
    EXPECT_EQ(bytes, GetPixelBytes(format)) << ToString(type);
    EXPECT_EQ(mapping, GetKeyMapping(format)) << ToString(type);
  }
}

TEST(CudaMedianPixelFormat, BitsAreThoseOfTheWidth)
{
  const auto getBytes = [](auto bits) { return sizeof(bits); };
  for (const PixelType type : allPixelTypes)
  {
    EXPECT_EQ(DispatchBits(GetKeyFormat(type), getBytes), PixelBytes(type)) << ToString(type);
  }
  for (const std::size_t bytes : { 1, 2, 4, 8 })
  {
    EXPECT_EQ(DispatchBytes(bytes, getBytes), bytes);
  }
}

/** What no caller has is not taken for 64 bits. */
TEST(CudaMedianPixelFormat, WhatIsNoneIsAnError)
{
  const auto getText = [](const auto & call) -> std::string {
    try
    {
      call();
    }
    catch (const std::logic_error & error)
    {
      return error.what();
    }
    return "no error";
  };
  const auto ignore = [](auto) {};
  const auto format = static_cast<KeyFormat>(6);
  const auto type = static_cast<PixelType>(12);
  EXPECT_EQ(getText([&] { DispatchKeys(format, ignore); }), "There is no format of keys 6");
  EXPECT_EQ(getText([&] { DispatchBits(format, ignore); }), "There is no format of keys 6");
  EXPECT_EQ(getText([&] { GetPixelBytes(format); }), "There is no format of keys 6");
  EXPECT_EQ(getText([&] { PixelBytes(type); }), "There is no pixel type 12");
  EXPECT_EQ(getText([&] { DispatchBytes(3, ignore); }), "There is no width in bytes 3");

  std::uint8_t keys[8]{};
  const void * rows[] = { keys, keys };
  EXPECT_EQ(getText([&] { TakeExtremes(keys, rows, 1, 1, { 3 }); }), "There is no width in bytes 3");
  EXPECT_EQ(getText([&] { InterpretBytes(ProgramSchedule(), rows, 16, 0); }), "There is no width in bytes 16");
}

TEST(CudaMedianPixelFormat, OnlySignedIntegersHaveASignMask)
{
  EXPECT_EQ(GetSignMask(PixelType::Int8), 0x80U);
  EXPECT_EQ(GetSignMask(PixelType::Int64), std::uint64_t{ 1 } << 63);
  EXPECT_EQ(GetSignMask(PixelType::UInt32), 0U);
  EXPECT_EQ(GetSignMask(PixelType::Float32), 0U);
}

TEST(CudaMedianDivideUp, RoundsUp)
{
  EXPECT_EQ(DivideUp(0, 4), 0);
  EXPECT_EQ(DivideUp(1, 4), 1);
  EXPECT_EQ(DivideUp(4, 4), 1);
  EXPECT_EQ(DivideUp(5, 4), 2);
  EXPECT_EQ(DivideUp(std::int64_t{ 1 } << 40, 3), 366503875926);
  EXPECT_EQ(RoundUp(0, 16), 0);
  EXPECT_EQ(RoundUp(17, 16), 32);
}

TEST(CudaMedianKeyPairs, EachHalfIsComparedByItself)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937 random(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  const auto   draw = [&] {
    constexpr std::uint32_t edges[] = { 0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF };
    return random() % 2 == 0 ? edges[random() % std::size(edges)] : static_cast<std::uint32_t>(random()) & 0xFFFFU;
  };
  for (int i = 0; i < 10000; ++i)
  {
    const std::uint32_t a[] = { draw(), draw() };
    const std::uint32_t b[] = { draw(), draw() };
    const auto          pair = [](std::uint32_t low, std::uint32_t high) { return high << 16 | low; };
    ASSERT_EQ(MinOfPairs(pair(a[0], a[1]), pair(b[0], b[1])), pair(std::min(a[0], b[0]), std::min(a[1], b[1])));
    ASSERT_EQ(MaxOfPairs(pair(a[0], a[1]), pair(b[0], b[1])), pair(std::max(a[0], b[0]), std::max(a[1], b[1])));
  }
}

TEST(CudaMedianInsidePart, HasThePositionsThatTheImageHas)
{
  for (std::int64_t extent = 1; extent < 6; ++extent)
  {
    for (std::int64_t first = -8; first < 8; ++first)
    {
      for (std::int64_t count = 0; count < 12; ++count)
      {
        const InsidePart part(first, count, extent);
        ASSERT_TRUE(0 <= part.begin && part.begin <= part.end && part.end <= count);
        for (std::int64_t i = 0; i < count; ++i)
        {
          const bool isInside = first + i >= 0 && first + i < extent;
          ASSERT_EQ(i >= part.begin && i < part.end, isInside) << first << " + " << i << " of " << extent;
          ASSERT_TRUE(isInside || (first + i < 0) == (i < part.begin));
        }
      }
    }
  }
}

namespace
{

/** Sorts keys of which only some bits differ, and which lie from a least one on. */
template <typename TKey, typename TNumber, bool VKeepsKeys>
void
ExpectNumbersToFollow(std::size_t count, std::uint64_t mask, TKey least, std::mt19937_64 & random)
{
  std::vector<TKey>    keys(count);
  std::vector<TNumber> expected(count);
  std::generate(keys.begin(), keys.end(), [&] { return static_cast<TKey>((random() & mask) + least); });
  std::iota(expected.begin(), expected.end(), TNumber{ 0 });
  const auto given = keys;
  std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return given[a] < given[b]; });

  DigitSort<TKey, TNumber, VKeepsKeys> sort;
  std::vector<std::uint32_t>           places(count, ~0U);
  const auto                           forEachNumber = [count](const auto & body) {
    for (std::size_t number = 0; number < count; ++number)
    {
      body(static_cast<TNumber>(number));
    }
  };
  sort.Sort(keys, forEachNumber, [&](std::uint32_t place, TNumber number) { places[number] = place; });
  for (std::size_t place = 0; place < count; ++place)
  {
    const auto number = expected[place];
    ASSERT_EQ(sort.GetNumbers()[place], number) << place << " of " << count << ", mask " << mask;
    ASSERT_EQ(sort.ToKey(keys[number]), given[number]) << place << " of " << count << ", mask " << mask;
    if constexpr (VKeepsKeys)
    {
      ASSERT_EQ(sort.GetKey(place), given[number]) << place << " of " << count << ", mask " << mask;
    }
    ASSERT_EQ(places[number], place) << place << " of " << count << ", mask " << mask;
  }
}

template <typename TKey, typename TNumber>
void
ExpectNumbersToFollow(std::mt19937_64 & random)
{
  for (const std::size_t count : { std::size_t{ 1 }, std::size_t{ 2 }, 1 + random() % 3000, std::size_t{ 20000 } })
  {
    for (const std::uint64_t mask : { std::uint64_t{ 0 },
                                      std::uint64_t{ 0xFF },
                                      std::uint64_t{ 0xFF00 },
                                      std::uint64_t{ 0x7F0 }, // 7 bits
                                      std::uint64_t{ 0x7FF },
                                      std::uint64_t{ 0xFFF },
                                      std::uint64_t{ 0x1FFF },
                                      std::uint64_t{ 0xFFFF },
                                      std::uint64_t{ 0x3FFFFF },   // two of 11
                                      std::uint64_t{ 0xFFFFFF },   // three of 8
                                      std::uint64_t{ 0x1FFFFFFF }, // three of 11
                                      std::uint64_t{ 0x00FF00FF00FF00FF },
                                      std::uint64_t{ 0x0101010101010101 },
                                      ~std::uint64_t{ 0 } })
    {
      // Beginning below the middle, as signed pixels around zero do, and with low bits that all have.
      const auto middle = static_cast<TKey>(TKey{ 1 } << (8 * sizeof(TKey) - 1));
      for (const TKey least : { TKey{ 0 }, TKey{ 3 }, static_cast<TKey>(middle - 5) })
      {
        ExpectNumbersToFollow<TKey, TNumber, false>(count, mask, least, random);
        ExpectNumbersToFollow<TKey, TNumber, true>(count, mask, least, random);
      }
    }
  }
}

} // namespace

TEST(CudaMedianDigitSort, NumbersFollowTheirKeys)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  ExpectNumbersToFollow<std::uint8_t, std::uint32_t>(random);
  ExpectNumbersToFollow<std::uint16_t, std::uint16_t>(random);
  ExpectNumbersToFollow<std::uint16_t, std::uint32_t>(random);
  ExpectNumbersToFollow<std::uint32_t, std::uint16_t>(random);
  ExpectNumbersToFollow<std::uint64_t, std::uint32_t>(random);
}
