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
// Kernels of programs that find several ranks, of which each output takes its own by a map, run by the host.

#include "CudaMedianHostBlocks.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "KernelCompilation.h"
#include "KernelPolicy.h"
#include "KernelProgram.h"
#include "ProgramEmitter.h"
#include "itkCudaMedianFootprint.h"
#include "emitted/TileProgram_1x7x1x1at2to4_16.h"
#include "emitted/TileProgram_3x3x1x1at0to8_16.h"
#include "emitted/TileProgram_3x3x1x1at3to6_16.h"
#include "emitted/TileProgram_3x3x1x1at3to6_32.h"
#include "emitted/TileProgram_3x3x1x1at3to6_64.h"
#include "emitted/TileProgram_3x3x1x1at3to6_8.h"
#include "emitted/TileProgram_3x3x3x1at9to18_16.h"
#include "emitted/TileProgram_3x3x3x1at9to18_32.h"
#include "emitted/TileProgram_4x4x1x1at6to9_16.h"
#include "emitted/TileProgram_5x5x1x1at10to15_16.h"
#include "emitted/TileProgram_5x5x1x1at10to15_32.h"
#include "emitted/TileProgram_5x5x1x1at10to15_8.h"
#include "emitted/TileProgram_7x7x1x1at21to28_16.h"
#include "emitted/TileProgram_cross3x3x1x1at1to3_16.h"
#include "emitted/TileProgram_ellipsoid5x5x5x1at15to17_16.h"

#include <gtest/gtest.h>

namespace
{

using namespace cudamedian;
using cudamediantest::CheckSlabs;
using cudamediantest::RunEmitted;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;
constexpr auto Pair = KeyPacking::Pair;
constexpr auto HalfPair = KeyPacking::HalfPair;
constexpr auto BFloatPair = KeyPacking::BFloatPair;
constexpr auto Single = KeyPacking::Single;

/** Image sizes: one pixel, one wide, smaller than a tile, not a multiple of anything, wider than a block. */
const Extent sizes[] = { { { 1, 1, 1, 1 } },   { { 1, 7, 1, 1 } },   { { 23, 1, 1, 1 } },  { { 3, 2, 1, 1 } },
                         { { 37, 29, 1, 1 } }, { { 530, 2, 1, 1 } }, { { 13, 11, 7, 1 } }, { { 9, 6, 4, 2 } } };

template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
CheckEmitted(Window window, std::int64_t least, std::int64_t greatest, PixelType type)
{
  window.rank = least;
  window.ranks = greatest - least + 1;
  ASSERT_EQ(window.radius, (Extent{ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } }));
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 12000 } })
    {
      CheckSlabs<TBits, VMapping>(size, window, type, budget, RunEmitted<TProgram, TBits, VMapping, VPacking>);
    }
  }
}

/** All windows of 3x3 zeros and ones, side by side, with one rank for all of them: outputs that are 1. */
template <typename TProgram, KeyPacking VPacking>
void
CheckEveryWindow(std::int64_t least, std::int64_t rank)
{
  constexpr std::size_t      windows = 512;
  constexpr std::size_t      width = 3 * windows;
  std::vector<std::uint16_t> image(3 * width);
  for (std::size_t window = 0; window < windows; ++window)
  {
    for (std::size_t pixel = 0; pixel < 9; ++pixel)
    {
      image[pixel / 3 * width + 3 * window + pixel % 3] = static_cast<std::uint16_t>(window >> pixel & 1);
    }
  }
  const std::vector<std::uint8_t> ranks(image.size(), static_cast<std::uint8_t>(rank - least));
  std::vector<std::uint16_t>      output(image.size());
  KernelArguments                 arguments{};
  arguments.input = image.data();
  arguments.output = output.data();
  arguments.rank = least;
  arguments.rankMap = ranks.data();
  arguments.rankBytes = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = axis == 0 ? width : axis == 1 ? 3 : 1;
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = axis == 0 ? 1 : axis == 1 ? width : 3 * width;
  }
  RunEmitted<TProgram, std::uint16_t, Integer, VPacking>(arguments);
  for (std::size_t window = 0; window < windows; ++window)
  {
    std::int64_t zeros = 0;
    for (std::size_t pixel = 0; pixel < 9; ++pixel)
    {
      zeros += 1 - static_cast<std::int64_t>(window >> pixel & 1);
    }
    ASSERT_EQ(output[width + 3 * window + 1], zeros > rank ? 0 : 1) << "window " << window << ", rank " << rank;
  }
}

} // namespace

TEST(CudaMedianRankMapKernels, Windows3x3)
{
  const Window window(Extent{ { 1, 1, 0, 0 } });
  CheckEmitted<TileProgram_3x3x1x1at3to6_8Pair, std::uint8_t, Integer, Pair>(window, 3, 6, PixelType::UInt8);
  CheckEmitted<TileProgram_3x3x1x1at3to6_8HalfPair, std::uint8_t, Integer, HalfPair>(window, 3, 6, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x1x1at3to6_8Single, std::uint8_t, Integer, Single>(window, 3, 6, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x1x1at3to6_16Pair, std::uint16_t, Integer, Pair>(window, 3, 6, PixelType::Int16);
  CheckEmitted<TileProgram_3x3x1x1at3to6_16BFloatPair, std::uint16_t, Integer, BFloatPair>(
    window, 3, 6, PixelType::UInt16);
  CheckEmitted<TileProgram_3x3x1x1at3to6_32Single, std::uint32_t, Float, Single>(window, 3, 6, PixelType::Float32);
  CheckEmitted<TileProgram_3x3x1x1at3to6_64Single, std::uint64_t, Float, Single>(window, 3, 6, PixelType::Float64);
  CheckEmitted<TileProgram_3x3x1x1at0to8_16Pair, std::uint16_t, Integer, Pair>(window, 0, 8, PixelType::UInt16);
}

TEST(CudaMedianRankMapKernels, OtherWindows)
{
  const Window flat(Extent{ { 2, 2, 0, 0 } });
  CheckEmitted<TileProgram_5x5x1x1at10to15_8Pair, std::uint8_t, Integer, Pair>(flat, 10, 15, PixelType::Int8);
  CheckEmitted<TileProgram_5x5x1x1at10to15_16Pair, std::uint16_t, Integer, Pair>(flat, 10, 15, PixelType::UInt16);
  CheckEmitted<TileProgram_5x5x1x1at10to15_16BFloatPair, std::uint16_t, Integer, BFloatPair>(
    flat, 10, 15, PixelType::Int16);
  CheckEmitted<TileProgram_5x5x1x1at10to15_32Single, std::uint32_t, Float, Single>(flat, 10, 15, PixelType::Float32);
  const Window solid(Extent{ { 1, 1, 1, 0 } });
  CheckEmitted<TileProgram_3x3x3x1at9to18_16Pair, std::uint16_t, Integer, Pair>(solid, 9, 18, PixelType::Int16);
  CheckEmitted<TileProgram_3x3x3x1at9to18_32Single, std::uint32_t, Integer, Single>(solid, 9, 18, PixelType::UInt32);
  const Window large(Extent{ { 3, 3, 0, 0 } });
  CheckEmitted<TileProgram_7x7x1x1at21to28_16Pair, std::uint16_t, Integer, Pair>(large, 21, 28, PixelType::Int16);
  const Window column(Extent{ { 0, 3, 0, 0 } });
  CheckEmitted<TileProgram_1x7x1x1at2to4_16Pair, std::uint16_t, Integer, Pair>(column, 2, 4, PixelType::Int16);
  const Window even(Extent{ { 2, 2, 0, 0 } }, Extent{ { 1, 1, 0, 0 } }, -1);
  CheckEmitted<TileProgram_4x4x1x1at6to9_16Pair, std::uint16_t, Integer, Pair>(even, 6, 9, PixelType::UInt16);
}

TEST(CudaMedianRankMapKernels, Footprints)
{
  const Window cross(Footprint::MakeCross({ { 1, 1, 0, 0 } }), -1);
  CheckEmitted<TileProgram_cross3x3x1x1at1to3_16Pair, std::uint16_t, Integer, Pair>(cross, 1, 3, PixelType::Int16);
  const Window ball(Footprint::MakeEllipsoid({ { 2, 2, 2, 0 } }), -1);
  CheckEmitted<TileProgram_ellipsoid5x5x5x1at15to17_16Pair, std::uint16_t, Integer, Pair>(
    ball, 15, 17, PixelType::UInt16);
}

// By the 0-1 principle this proves the programs and what chooses of their values.
TEST(CudaMedianRankMapKernels, EveryWindowOfZerosAndOnes)
{
  for (std::int64_t rank = 3; rank <= 6; ++rank)
  {
    CheckEveryWindow<TileProgram_3x3x1x1at3to6_16Pair, Pair>(3, rank);
    CheckEveryWindow<TileProgram_3x3x1x1at3to6_16Single, Single>(3, rank);
  }
  for (std::int64_t rank = 0; rank <= 8; ++rank)
  {
    CheckEveryWindow<TileProgram_3x3x1x1at0to8_16Pair, Pair>(0, rank);
    CheckEveryWindow<TileProgram_3x3x1x1at0to8_16BFloatPair, BFloatPair>(0, rank);
  }
}

TEST(CudaMedianRankMapKernels, SourcesTellRanksApart)
{
  // The cache on disk finds kernels by their sources.
  std::vector<std::string> sources;
  const KernelKind         kind = GetKernelKind(2, 90);
  for (const auto & [least, greatest] : { std::pair{ 4, 4 }, std::pair{ 3, 5 }, std::pair{ 3, 6 }, std::pair{ 2, 5 } })
  {
    Window window(Extent{ { 1, 1, 0, 0 } }, least);
    window.ranks = greatest - least + 1;
    const auto     policy = GetKernelPolicy(window, kind, GetH200Traits());
    EmittedProgram count;
    const auto     source = MakeKernelSource(BuildKernelProgram(window, policy, kind), policy, kind, false, count);
    EXPECT_EQ(std::count(sources.begin(), sources.end(), source), 0);
    sources.push_back(source);
  }
}

// The ranks that masks make occur, in windows of up to 11x11 and 3x3x3 pixels: the compiler is done in seconds.
TEST(CudaMedianRankMapKernels, ProgramsAreShort)
{
  constexpr std::size_t mostInstructions = 4000;
  for (const Extent & radius : { Extent{ { 1, 1, 0, 0 } },
                                 Extent{ { 2, 2, 0, 0 } },
                                 Extent{ { 3, 3, 0, 0 } },
                                 Extent{ { 5, 5, 0, 0 } },
                                 Extent{ { 1, 1, 1, 0 } } })
  {
    for (const int pixelBytes : { 1, 2, 4 })
    {
      Window     window(radius);
      const auto lines = window.CountPixels() / window.GetSize(0);
      window.rank = (window.CountPixels() - lines) / 2;
      window.ranks = lines + 1;
      const KernelKind kind = GetKernelKind(pixelBytes, 90);
      const auto       policy = GetKernelPolicy(window, kind, GetH200Traits());
      EmittedProgram   count;
      MakeKernelSource(BuildKernelProgram(window, policy, kind), policy, kind, false, count);
      EXPECT_LE(count.instructions, mostInstructions)
        << Join(radius) << ", " << pixelBytes << " bytes, tile " << Join(policy.tile);
    }
  }
}
