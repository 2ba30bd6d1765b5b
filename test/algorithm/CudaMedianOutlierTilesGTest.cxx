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
#include "CudaMedianHostBlocks.h"
#include "CudaMedianTestSeed.h"
#include "OutlierTileKernel.h"
#include "PixelArithmetic.h"
#include "PixelBits.h"
#include "Slab.h"
#include "emitted/TileProgram_3x3x1x1_64.h"
#include "emitted/TileProgram_3x3x3x1_32.h"
#include "emitted/TileProgram_5x5x1x1_16.h"
#include "emitted/TileProgram_5x5x1x1_32.h"
#include "emitted/TileProgram_5x5x1x1_8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

/** The code of kernels that replace outliers alone, run by the host, beside the same kernels that write all medians. */
namespace
{

using namespace cudamedian;
using namespace cudamediantest;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;

/** An image whose rows are whole vectors, and outputs in a box of it. */
template <typename T>
struct Case
{
  KernelArguments arguments{};
  std::vector<T>  input;
  std::vector<T>  output;
};

template <typename T>
Case<T>
DrawCase(std::mt19937_64 & random, PixelType type)
{
  constexpr std::int64_t vector = 16 / sizeof(T);
  const auto             draw = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  const bool   isSolid = draw(1) == 0;
  const Extent extent{
    { vector * (1 + draw(isSolid ? 4 : 40)), 1 + draw(isSolid ? 9 : 40), 1 + (isSolid ? draw(5) : 0), 1 + draw(1) }
  };
  Case<T>    drawn;
  auto &     arguments = drawn.arguments;
  const auto stride = GetPackedStride(extent);
  drawn.input.resize(static_cast<std::size_t>(Volume(extent)));
  const bool hasNeighbours = draw(1) == 0; // else pixels are any bits
  for (auto & pixel : drawn.input)
  {
    const auto bits = random();
    std::memcpy(&pixel, &bits, sizeof(pixel));
    pixel = hasNeighbours ? static_cast<T>(draw(40)) - static_cast<T>(20) : pixel;
  }
  drawn.output.resize(drawn.input.size());
  arguments.input = drawn.input.data();
  arguments.signMask = GetSignMask(type);
  std::int64_t offset = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = stride[axis];
    arguments.inputExtent[axis] = static_cast<std::int32_t>(extent[axis]);
    const auto first = draw(1) == 0 ? 0 : draw(extent[axis] - 1);
    arguments.outputOrigin[axis] = static_cast<std::int32_t>(first);
    arguments.outputExtent[axis] =
      static_cast<std::int32_t>(draw(1) == 0 ? extent[axis] - first : 1 + draw(extent[axis] - first - 1));
    offset += (axis == 0 ? first / vector * vector : first) * stride[axis];
  }
  arguments.gridOrigin = static_cast<std::int32_t>(arguments.outputOrigin[0] / vector * vector);
  arguments.output = drawn.output.data() + offset;
  return drawn;
}

/** A number of so many bytes without a sign. */
template <std::size_t VBytes>
auto
MakeBits()
{
  if constexpr (VBytes == 1)
  {
    return std::uint8_t{};
  }
  else if constexpr (VBytes == 2)
  {
    return std::uint16_t{};
  }
  else if constexpr (VBytes == 4)
  {
    return std::uint32_t{};
  }
  else
  {
    return std::uint64_t{};
  }
}

/** Thresholds of all sizes, and the least and the greatest. */
double
DrawThreshold(std::mt19937_64 & random)
{
  const double thresholds[] = { 0, 1, 4.5, 100, 3e4, 1e6, 1e18, std::numeric_limits<double>::infinity() };
  return thresholds[random() % std::size(thresholds)];
}

/** \param all runs the kernel that writes all medians, outliers the one that replaces outliers alone. */
template <typename T, typename TAll, typename TOutliers>
void
Check(PixelType type, int cases, const TAll & all, const TOutliers & outliers)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(Seed());
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i)
  {
    auto                  drawn = DrawCase<T>(random, type);
    const OutlierDistance distance{ GetFarthest(type, DrawThreshold(random)) };
    Distance<T>           farthest;
    std::memcpy(&farthest, &distance.farthest, sizeof(farthest));
    const auto run = [&](int pattern, const auto & kernel) {
      std::memset(drawn.output.data(), pattern, drawn.output.size() * sizeof(T));
      kernel(drawn.arguments);
      return drawn.output;
    };
    // What is not written shows the pattern.
    const auto once = run(0x55, all);
    const auto medians = run(0xAA, all);
    const auto found = run(0xAA, [&](const KernelArguments & arguments) { outliers(arguments, distance); });
    for (std::size_t pixel = 0; pixel < found.size(); ++pixel)
    {
      const bool isWritten = std::memcmp(&once[pixel], &medians[pixel], sizeof(T)) == 0;
      const bool stays = isWritten && IsNear(drawn.input[pixel], medians[pixel], farthest);
      const T &  wanted = stays ? drawn.input[pixel] : medians[pixel];
      ASSERT_EQ(std::memcmp(&found[pixel], &wanted, sizeof(T)), 0)
        << "case " << i << ", pixel " << pixel << " of " << found.size() << ", farthest " << +farthest;
    }
  }
}

template <typename T, typename TProgram, KeyMapping VMapping, KeyPacking VPacking>
void
CheckTiles(PixelType type, int cases = 60)
{
  using Bits = decltype(MakeBits<sizeof(T)>());
  using Tiles = ProgramKernel<TProgram, Bits, VMapping, VPacking>;
  using Kernel = OutlierTileKernel<Tiles>;
  Check<T>(type,
           cases,
           RunEmitted<TProgram, Bits, VMapping, VPacking>,
           [](const KernelArguments & arguments, const OutlierDistance & distance) {
             RunBlocksOf<Kernel>(
               arguments, [&](const KernelArguments & completed, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
                 return Kernel::GetBlock(completed, distance, x, y, z);
               });
           });
}

template <typename T, typename TKernel>
void
CheckStrips(PixelType type, int cases = 100)
{
  Check<T>(
    type,
    cases,
    [](const KernelArguments & arguments) { RunStripsOf<TKernel>(arguments); },
    [](const KernelArguments & arguments, const OutlierDistance & distance) {
      RunStripsOf<TKernel>(arguments, typename TKernel::Outliers(arguments, distance));
    });
}

} // namespace

// Arithmetic in lanes: every two values of 8 bits, and some of 16.
TEST(CudaMedianOutlierTiles, Lanes)
{
  const auto check = [](auto bits, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    using Bits = decltype(bits);
    using Lanes = PackedLanes<Bits>;
    const auto get = [](std::uint32_t word, int lane) { return static_cast<Bits>(word >> (lane * Lanes::bitsOfLane)); };
    const auto lesser = Lanes::GetLesser(a, b);
    const auto distance = Lanes::GetDistance(a, b);
    const auto chosen = Lanes::Choose(Lanes::IsAtLeast(a, b), b, c);
    const auto negated = Lanes::Negate(a);
    for (int lane = 0; lane < Lanes::perWord; ++lane)
    {
      const Bits x = get(a, lane);
      const Bits y = get(b, lane);
      const Bits z = get(c, lane);
      ASSERT_EQ(get(lesser, lane), std::min(x, y));
      ASSERT_EQ(get(distance, lane), static_cast<Bits>(x < y ? y - x : x - y));
      ASSERT_EQ(get(chosen, lane), x >= y ? y : z);
      ASSERT_EQ(get(negated, lane), static_cast<Bits>(0 - x));
      if constexpr (Lanes::hasPairs)
      {
        ASSERT_EQ(get(Lanes::GetGreaterOfSum(a, b, c), lane), std::max(static_cast<Bits>(x + y), z));
        ASSERT_EQ(get(Lanes::GetLesserOfSum(a, b, c), lane), std::min(static_cast<Bits>(x + y), z));
      }
    }
  };
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937 random(static_cast<std::mt19937::result_type>(Seed()));
  for (std::uint32_t a = 0; a < 256; ++a)
  {
    for (std::uint32_t b = 0; b < 256; ++b)
    {
      // Beside it lanes that could borrow or carry.
      check(std::uint8_t{}, a << 8 | (random() & 0xFFFF00FFU), b << 8 | (random() & 0xFFFF00FFU), random());
      const std::uint32_t edges[] = { 0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF };
      check(std::uint16_t{},
            edges[a % 6] << 16 | (random() & 0xFFFFU),
            edges[b % 6] << 16 | (random() & 0xFFFFU),
            random());
      check(std::uint16_t{}, random(), random(), random());
    }
  }
}

TEST(CudaMedianOutlierTiles, StripsOf8Bits)
{
  CheckStrips<std::uint8_t, ByteStripKernel>(PixelType::UInt8);
  CheckStrips<std::int8_t, ByteStripKernel>(PixelType::Int8);
  CheckStrips<std::uint8_t, StripKernel<std::uint8_t, Integer, KeyPacking::HalfPair>>(PixelType::UInt8);
  CheckStrips<std::int8_t, StripKernel<std::uint8_t, Integer, KeyPacking::HalfPair>>(PixelType::Int8);
}

TEST(CudaMedianOutlierTiles, StripsOf16Bits)
{
  CheckStrips<std::uint16_t, StripKernel<std::uint16_t, Integer, KeyPacking::Pair>>(PixelType::UInt16);
  CheckStrips<std::int16_t, StripKernel<std::uint16_t, Integer, KeyPacking::Pair>>(PixelType::Int16);
  CheckStrips<std::uint16_t, StripKernel<std::uint16_t, Integer, KeyPacking::BFloatPair>>(PixelType::UInt16);
  CheckStrips<std::int16_t, StripKernel<std::uint16_t, Integer, KeyPacking::BFloatPair>>(PixelType::Int16);
}

TEST(CudaMedianOutlierTiles, StripsOf32And64Bits)
{
  CheckStrips<std::uint32_t, StripKernel<std::uint32_t, Integer, KeyPacking::Single>>(PixelType::UInt32);
  CheckStrips<std::int32_t, StripKernel<std::uint32_t, Integer, KeyPacking::Single>>(PixelType::Int32);
  CheckStrips<float, StripKernel<std::uint32_t, Float, KeyPacking::Single>>(PixelType::Float32);
  CheckStrips<std::int64_t, StripKernel<std::uint64_t, Integer, KeyPacking::Single>>(PixelType::Int64);
  CheckStrips<double, StripKernel<std::uint64_t, Float, KeyPacking::Single>>(PixelType::Float64);
}

// One, two and four keys to a register.
TEST(CudaMedianOutlierTiles, Tiles)
{
  CheckTiles<std::uint8_t, TileProgram_5x5x1x1_8Single, Integer, KeyPacking::Single>(PixelType::UInt8);
  CheckTiles<std::int8_t, TileProgram_5x5x1x1_8HalfPair, Integer, KeyPacking::HalfPair>(PixelType::Int8);
  CheckTiles<std::uint8_t, TileProgram_5x5x1x1_8Pair, Integer, KeyPacking::Pair>(PixelType::UInt8);
  CheckTiles<std::int8_t, TileProgram_5x5x1x1_8Quad, Integer, KeyPacking::Quad>(PixelType::Int8);
  CheckTiles<std::uint16_t, TileProgram_5x5x1x1_16Pair, Integer, KeyPacking::Pair>(PixelType::UInt16);
  CheckTiles<std::int16_t, TileProgram_5x5x1x1_16Pair, Integer, KeyPacking::Pair>(PixelType::Int16);
  CheckTiles<float, TileProgram_5x5x1x1_32Single, Float, KeyPacking::Single>(PixelType::Float32);
  CheckTiles<double, TileProgram_3x3x1x1_64Single, Float, KeyPacking::Single>(PixelType::Float64);
}

// Blocks that go on in steps, along rows and along slices.
TEST(CudaMedianOutlierTiles, MarchingTiles)
{
  static_assert(TileProgram_5x5x1x1_32Single_90::MarchAxis == 1 && TileProgram_3x3x3x1_32Single_90::MarchAxis == 2);
  CheckTiles<float, TileProgram_5x5x1x1_32Single_90, Float, KeyPacking::Single>(PixelType::Float32);
  CheckTiles<std::int32_t, TileProgram_5x5x1x1_32Single_90, Integer, KeyPacking::Single>(PixelType::Int32);
  CheckTiles<float, TileProgram_3x3x3x1_32Single_90, Float, KeyPacking::Single>(PixelType::Float32);
}
