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
#include "BFloatRegisters.h"
#include "CudaMedianHostBlocks.h"
#include "CudaMedianTestNumberedKeys.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "KernelPolicy.h"
#include "KernelProgram.h"
#include "emitted/TileProgram_1x1x1x1_16.h"
#include "emitted/TileProgram_3x3x1x1_16.h"
#include "emitted/TileProgram_3x3x3x1_16.h"
#include "emitted/TileProgram_5x5x1x1_16.h"
#include "emitted/TileProgram_5x5x1x1at0_16.h"
#include "emitted/TileProgram_5x5x1x1at6_16.h"
#include "emitted/TileProgram_7x7x1x1_16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

/** 16-bit keys that are compared as numbers of bfloat16. */
namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::BlockCounts;
using cudamediantest::CheckImage;
using cudamediantest::CheckSlabs;
using cudamediantest::MakeNumberedImages;
using cudamediantest::RunBlocks;
using cudamediantest::RunStrips;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto BFloatPair = KeyPacking::BFloatPair;

/** The number that a pattern of bfloat16 is: the upper half of a float. */
float
GetNumber(std::uint32_t pattern)
{
  const std::uint32_t bits = pattern << 16;
  float               number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

/** Whether a pattern stands before another one in the order of numbers, with -0 below +0. */
bool
IsBelow(std::uint32_t a, std::uint32_t b)
{
  const auto x = GetNumber(a);
  const auto y = GetNumber(b);
  return x < y || (x == y && std::signbit(x) && !std::signbit(y));
}

/** The least key of those with a number, and the greatest. */
std::uint32_t
ClampKey(std::uint32_t key, bool isHigh)
{
  return isHigh ? std::max(key, std::uint32_t{ 254 }) : std::min(key, std::uint32_t{ 65281 });
}

/** Keys at which something happens. */
const std::vector<std::uint32_t> specialKeys{ 0,     1,     126,   127,   128,   253,   254,   255,   32640, 32641,
                                              32642, 32767, 32768, 32769, 65280, 65281, 65282, 65408, 65409, 65535 };

NumberedKeys
MakeNumbering(bool isHigh)
{
  NumberedKeys numbered;
  numbered.isHigh = isHigh;
  numbered.isClamped = true;
  return numbered;
}

} // namespace

TEST(CudaMedianBFloat, KeysThatHaveANumberAreInItsOrder)
{
  for (const bool isHigh : { false, true })
  {
    const auto    numbered = MakeNumbering(isHigh);
    std::uint32_t before = 0;
    for (std::uint32_t key = 0; key < 65536; ++key)
    {
      const auto number = numbered.Clamp(NumberedKeys::NumberLow(key)) & 0xFFFFU;
      ASSERT_FALSE(std::isnan(GetNumber(number))) << key;
      ASSERT_EQ(numbered.GetKeys(number) & 0xFFFFU, ClampKey(key, isHigh)) << key;
      if (key > 0)
      {
        ASSERT_EQ(IsBelow(before, number), ClampKey(key - 1, isHigh) != ClampKey(key, isHigh)) << key;
        ASSERT_FALSE(IsBelow(number, before)) << key;
      }
      before = number;
    }
  }
}

TEST(CudaMedianBFloat, SignedPixelsAreInTheOrderOfTheirNumbers)
{
  const auto   clamp = [](std::int32_t pixel) { return std::min(std::max(pixel, -32641), 32640); };
  NumberedKeys numbered;
  numbered.isMiddle = true;
  std::uint32_t before = 0;
  for (std::int32_t pixel = -32768; pixel < 32768; ++pixel)
  {
    for (const auto other : specialKeys)
    {
      // Halves do not disturb each other.
      const auto half = static_cast<std::uint32_t>(pixel) & 0xFFFFU;
      const auto otherNumber = NumberedKeys::NumberMiddle(other) & 0xFFFFU;
      const auto number = NumberedKeys::NumberMiddle(half | other << 16);
      ASSERT_EQ(number >> 16, otherNumber) << pixel << ", " << other;
      ASSERT_EQ(NumberedKeys::NumberMiddle(other | half << 16), number >> 16 | number << 16) << pixel << ", " << other;
    }
    const auto number = NumberedKeys::NumberMiddle(static_cast<std::uint16_t>(pixel)) & 0xFFFFU;
    ASSERT_FALSE(std::isnan(GetNumber(number))) << pixel;
    const std::uint32_t numbers[] = { number, number << 16, number | 0x12340000U, 0 };
    ASSERT_EQ(static_cast<std::int16_t>(numbered.MakePixels(numbers, 0, 0x8000).Get(0)), clamp(pixel));
    ASSERT_EQ(static_cast<std::int16_t>(numbered.MakePixels(numbers, 1, 0x8000).Get(1)), clamp(pixel));
    ASSERT_EQ(static_cast<std::int16_t>(numbered.MakePixels(numbers, 0, 0x8000).Get(2)), clamp(pixel));
    // Whatever the sign of what was seen before, a limit is seen, and nothing else.
    for (const std::uint32_t seen : { 0x00000000U, 0x80008000U, 0x7F7FFF7FU })
    {
      const bool isLimit = clamp(pixel) == -32641 || clamp(pixel) == 32640;
      ASSERT_EQ(NumberedKeys::IsAtLimit(numbered.GetMoreExtreme(seen, number)), isLimit) << pixel;
      ASSERT_EQ(NumberedKeys::IsAtLimit(numbered.GetMoreExtreme(seen, number << 16)), isLimit) << pixel;
    }
    if (pixel > -32768)
    {
      ASSERT_EQ(IsBelow(before, number), clamp(pixel - 1) != clamp(pixel)) << pixel;
    }
    before = number;
  }
}

TEST(CudaMedianBFloat, OtherKeysAreNaN)
{
  for (std::uint32_t key = 0; key < 65536; ++key)
  {
    const auto isNaN = key > NumberedKeys::highestOfLow;
    ASSERT_EQ(std::isnan(GetNumber(NumberedKeys::NumberLow(key) & 0xFFFFU)), isNaN) << key;
    ASSERT_EQ(bfloat::HasNaN(NumberedKeys::NumberLow(key)), isNaN) << key;
    ASSERT_EQ(bfloat::HasNaN(NumberedKeys::NumberLow(key << 16)), isNaN) << key;
  }
}

TEST(CudaMedianBFloat, HalvesDoNotDisturbEachOther)
{
  for (std::uint32_t key = 0; key < 65536; ++key)
  {
    for (const auto other : specialKeys)
    {
      for (const auto keys : { key | other << 16, other | key << 16 })
      {
        const auto low = NumberedKeys::NumberLow(keys);
        if (!bfloat::HasNaN(low))
        {
          ASSERT_EQ(NumberedKeys{}.GetKeys(low), keys);
        }
        for (const bool isHigh : { false, true })
        {
          const auto numbered = MakeNumbering(isHigh);
          ASSERT_EQ(numbered.GetKeys(numbered.Clamp(low)),
                    ClampKey(keys & 0xFFFFU, isHigh) | ClampKey(keys >> 16, isHigh) << 16)
            << keys;
        }
      }
    }
  }
}

TEST(CudaMedianBFloat, ComparesAsTheInstructionsDo)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64            generator(cudamediantest::Seed());
  std::vector<std::uint32_t> patterns{ 0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x7F7F,
                                       0xFF7F, 0x7F80, 0xFF80, 0x7F81, 0xFF81, 0x7FC0, 0x7FFF, 0xFFFF };
  for (int i = 0; i < 500; ++i)
  {
    patterns.push_back(static_cast<std::uint32_t>(generator() & 0xFFFFU));
  }
  const KeyRegisters<std::uint16_t, BFloatPair> registers(KernelArguments{});
  for (const auto a : patterns)
  {
    for (const auto b : patterns)
    {
      const bool isNaN[] = { std::isnan(GetNumber(a)), std::isnan(GetNumber(b)) };
      const auto min = isNaN[0] && isNaN[1] ? 0x7FFFU : isNaN[0] ? b : isNaN[1] ? a : IsBelow(b, a) ? b : a;
      const auto max = isNaN[0] && isNaN[1] ? 0x7FFFU : isNaN[0] ? b : isNaN[1] ? a : IsBelow(b, a) ? a : b;
      // The other halves the other way round.
      ASSERT_EQ(registers.Min(a | b << 16, b | a << 16), min | min << 16) << a << ", " << b;
      ASSERT_EQ(registers.Max(a | b << 16, b | a << 16), max | max << 16) << a << ", " << b;
      ASSERT_EQ(bfloat::HasNaN(bfloat::KeepNaN(a, b)), isNaN[0] || isNaN[1]) << a << ", " << b;
      const auto positive = b & 0x7FFFU;
      if (positive <= 0x7F80U)
      {
        const auto limited = std::min(a & 0x7FFFU, positive) | (a & 0x8000U);
        ASSERT_EQ(bfloat::LimitMagnitudes(a | a << 16, positive | positive << 16), limited | limited << 16)
          << a << ", " << b;
        const auto greater = isNaN[0] ? positive : std::max(a & 0x7FFFU, positive);
        ASSERT_EQ(bfloat::GetGreaterMagnitudes(a, b) & 0x7FFFU, greater) << a << ", " << b;
      }
    }
  }
}

TEST(CudaMedianBFloat, MaximaAreSumsToo)
{
  KernelArguments arguments{};
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  const KeyRegisters<std::uint16_t, BFloatPair> registers(arguments);
  for (const auto first : specialKeys)
  {
    for (const auto second : specialKeys)
    {
      const auto a = MakeNumbering(false).Clamp(NumberedKeys::NumberLow(first | second << 16));
      const auto b = MakeNumbering(false).Clamp(NumberedKeys::NumberLow(second | first << 16));
      ASSERT_EQ(registers.MaxBySum(a, b, registers.Min(a, b)), registers.Max(a, b)) << first << ", " << second;
    }
  }
}

namespace
{

/** Runs a program over all images, which have blocks of all kinds. A window of one pixel always finds its limits. */
template <typename TProgram>
void
CheckNumbered(PixelType type, std::int64_t rank = -1)
{
  const Window window({ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } }, rank);
  BlockCounts  sum;
  for (auto & named : MakeNumberedImages(type, TProgram::RadiusZ > 0))
  {
    SCOPED_TRACE(named.name);
    CheckImage<std::uint16_t, Integer>(
      named.image, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
        const auto counts = RunBlocks<TProgram, std::uint16_t, Integer, BFloatPair>(arguments);
        if (!named.isSigned)
        {
          EXPECT_EQ(counts.clamped > 0, named.HasBrightKeys()) << counts.clamped << " of " << counts.all;
        }
        sum.all += counts.all;
        sum.middle += counts.middle;
        sum.repeatedForLimits += counts.repeatedForLimits;
        sum.clamped += counts.clamped;
        sum.repeatedForBright += counts.repeatedForBright;
        sum.repeatedForDark += counts.repeatedForDark;
      });
  }
  EXPECT_GT(sum.repeatedForBright, 0);
  if (window.CountPixels() > 1)
  {
    EXPECT_GT(sum.repeatedForDark, 0);
    EXPECT_GT(sum.clamped, sum.repeatedForBright + sum.repeatedForDark);
  }
  EXPECT_GT(sum.all, sum.clamped);
  if (GetSignMask(type) != 0)
  {
    EXPECT_GT(sum.middle, 0);
    EXPECT_EQ(sum.middle + sum.repeatedForLimits, sum.all);
    EXPECT_GT(sum.repeatedForLimits, sum.clamped);
  }
}

} // namespace

TEST(CudaMedianBFloat, BlocksOnEitherSideOfTheLimit)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto type : { PixelType::UInt16, PixelType::Int16 })
  {
    CheckNumbered<TileProgram_5x5x1x1_16BFloatPair>(type);
  }
}
TEST(CudaMedianBFloat, OtherWindowsOnEitherSideOfTheLimit)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckNumbered<TileProgram_1x1x1x1_16BFloatPair>(PixelType::UInt16);
  CheckNumbered<TileProgram_3x3x1x1_16BFloatPair>(PixelType::UInt16);
  CheckNumbered<TileProgram_7x7x1x1_16BFloatPair>(PixelType::Int16);
  CheckNumbered<TileProgram_3x3x3x1_16BFloatPair>(PixelType::UInt16);
}
TEST(CudaMedianBFloat, OtherRanksOnEitherSideOfTheLimit)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckNumbered<TileProgram_5x5x1x1at0_16BFloatPair>(PixelType::UInt16, 0);
  CheckNumbered<TileProgram_5x5x1x1at6_16BFloatPair>(PixelType::Int16, 6);
}

TEST(CudaMedianBFloat, StripsOnEitherSideOfTheLimit)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto type : { PixelType::UInt16, PixelType::Int16 })
  {
    for (auto & named : MakeNumberedImages(type, false))
    {
      SCOPED_TRACE(named.name);
      CheckImage<std::uint16_t, Integer>(named.image,
                                         Extent{ { 1, 1, 0, 0 } },
                                         type,
                                         std::size_t{ 1 } << 30,
                                         RunStrips<std::uint16_t, Integer, BFloatPair>);
    }
  }
}

TEST(CudaMedianBFloat, SlabsOfImagesOfAllSizes)
{
  CUDAMEDIAN_TRACE_SEED();
  const Extent sizes[] = { { { 1, 1, 1, 1 } },   { { 1, 7, 1, 1 } },   { { 23, 1, 1, 1 } }, { { 3, 2, 1, 1 } },
                           { { 37, 29, 1, 1 } }, { { 530, 2, 1, 1 } }, { { 9, 6, 4, 2 } } };
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<std::uint16_t, Integer>(
        size, Extent{ { 2, 2, 0, 0 } }, PixelType::UInt16, budget, [](const KernelArguments & arguments) {
          RunBlocks<TileProgram_5x5x1x1_16BFloatPair, std::uint16_t, Integer, BFloatPair>(arguments);
        });
      CheckSlabs<std::uint16_t, Integer>(
        size, Extent{ { 1, 1, 1, 0 } }, PixelType::Int16, budget, [](const KernelArguments & arguments) {
          RunBlocks<TileProgram_3x3x3x1_16BFloatPair, std::uint16_t, Integer, BFloatPair>(arguments);
        });
    }
  }
}

TEST(CudaMedianBFloat, ShapeIsThatOfThePolicy)
{
  using Program = TileProgram_5x5x1x1_16BFloatPair;
  using Kernel = TileKernel<Program, std::uint16_t, Integer, BFloatPair, Program::BlockX, Program::BlockY>;
  const Extent radius{ { 2, 2, 0, 0 } };
  for (const int architecture : { 80, 86, 89 })
  {
    const auto kind = GetKernelKind(2, architecture);
    const auto policy = GetKernelPolicy(radius, kind, GetH200Traits());
    const auto shape = GetKernelShape(radius, policy, kind, BuildKernelProgram(radius, policy, kind));
    EXPECT_EQ(kind.packing, BFloatPair);
    EXPECT_FALSE(policy.lowering.threeInput);
    EXPECT_EQ(shape.threads, static_cast<int>(Kernel::Threads));
    EXPECT_EQ(shape.block[0], static_cast<int>(Kernel::BlockWidth));
    EXPECT_EQ(shape.block[1], static_cast<int>(Kernel::BlockHeight));
    EXPECT_EQ(shape.sharedBytes, static_cast<int>(Kernel::SharedBytes));
  }
}

/** 24 warps where the program's values and the shared memory allow as many. */
TEST(CudaMedianBFloat, BlocksThatMayRunTwiceAreHeldToRegisters)
{
  const auto countBlocks = [](const Extent & radius, int architecture) {
    const auto kind = GetKernelKind(2, architecture);
    return GetKernelPolicy(radius, kind, GetArchitectureTraits(architecture)).residentBlocks;
  };
  for (const int architecture : { 80, 86, 89 })
  {
    EXPECT_EQ(countBlocks({ { 2, 2, 0, 0 } }, architecture), 6); // of 4 warps
    EXPECT_EQ(countBlocks({ { 1, 1, 1, 0 } }, architecture), 3); // of 8 warps
    EXPECT_EQ(countBlocks({ { 2, 2, 1, 0 } }, architecture), 0) << "157 values";
  }
  EXPECT_EQ(countBlocks({ { 3, 3, 0, 0 } }, 86), 2) << "38 KiB of shared memory";
  EXPECT_EQ(countBlocks({ { 2, 2, 0, 0 } }, 75), 0);
  EXPECT_EQ(countBlocks({ { 2, 2, 0, 0 } }, 90), 0);
}
