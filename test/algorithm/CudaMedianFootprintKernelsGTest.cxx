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
// Kernels of footprints, run by the host: programs that are emitted, interpreted ones, and selection.

#include "CudaMedianHostBlocks.h"
#include "CudaMedianHostTiles.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "KernelCompilation.h"
#include "KernelPolicy.h"
#include "KernelProgram.h"
#include "ProgramEmitter.h"
#include "itkCudaMedianFootprint.h"
#include "emitted/TileProgram_centre33x3x1x1_16.h"
#include "emitted/TileProgram_cross3x3x1x1_16.h"
#include "emitted/TileProgram_cross3x3x1x1_32.h"
#include "emitted/TileProgram_cross3x3x1x1_64.h"
#include "emitted/TileProgram_cross3x3x1x1_8.h"
#include "emitted/TileProgram_cross3x3x3x1_16.h"
#include "emitted/TileProgram_cross3x3x3x1_32.h"
#include "emitted/TileProgram_cross3x3x3x1_8.h"
#include "emitted/TileProgram_ellipsoid5x5x1x1_16.h"
#include "emitted/TileProgram_ellipsoid5x5x1x1_32.h"
#include "emitted/TileProgram_ellipsoid5x5x1x1_8.h"
#include "emitted/TileProgram_ellipsoid5x5x5x1_16.h"
#include "emitted/TileProgram_ellipsoid5x5x5x1_32.h"

#include <gtest/gtest.h>

#include <random>

namespace
{

using namespace cudamedian;
using cudamediantest::CheckSlabs;
using cudamediantest::RunEmitted;
using cudamediantest::RunInterpreted;
using cudamediantest::RunSelected;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;
constexpr auto Pair = KeyPacking::Pair;
constexpr auto Single = KeyPacking::Single;

/** Image sizes: one pixel, one wide, smaller than a tile, not a multiple of anything, wider than a block. */
const Extent sizes[] = { { { 1, 1, 1, 1 } },   { { 1, 7, 1, 1 } },   { { 23, 1, 1, 1 } },  { { 3, 2, 1, 1 } },
                         { { 37, 29, 1, 1 } }, { { 530, 2, 1, 1 } }, { { 13, 11, 7, 1 } }, { { 9, 6, 4, 2 } } };

template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
CheckEmitted(const Footprint * footprint, PixelType type)
{
  const Window window(footprint, -1);
  ASSERT_EQ(window.radius, (Extent{ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } }));
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<TBits, VMapping>(size, window, type, budget, RunEmitted<TProgram, TBits, VMapping, VPacking>);
    }
  }
}

/** A few pixels of a box of radius 2, which need not have the output in their middle. */
const Footprint *
DrawFootprint(std::mt19937_64 & random)
{
  std::vector<FootprintPixel> pixels;
  const auto                  count = 1 + random() % 12;
  const auto                  heaviest = 1 + random() % 3;
  const auto                  axes = 2 + random() % 2;
  for (std::size_t i = 0; i < count; ++i)
  {
    FootprintPixel pixel;
    for (std::size_t axis = 0; axis < axes; ++axis)
    {
      pixel.offset[axis] = static_cast<std::int64_t>(random() % 5) - 2;
    }
    pixel.weight = static_cast<std::int64_t>(1 + random() % heaviest);
    pixels.push_back(pixel);
  }
  return Footprint::Make(pixels);
}

} // namespace

TEST(CudaMedianFootprintKernels, EmittedCrosses)
{
  const auto * flat = Footprint::MakeCross({ { 1, 1, 0, 0 } });
  CheckEmitted<TileProgram_cross3x3x1x1_8Pair, std::uint8_t, Integer, Pair>(flat, PixelType::UInt8);
  CheckEmitted<TileProgram_cross3x3x1x1_8Single, std::uint8_t, Integer, Single>(flat, PixelType::Int8);
  CheckEmitted<TileProgram_cross3x3x1x1_16Pair, std::uint16_t, Integer, Pair>(flat, PixelType::Int16);
  CheckEmitted<TileProgram_cross3x3x1x1_16Single, std::uint16_t, Integer, Single>(flat, PixelType::UInt16);
  CheckEmitted<TileProgram_cross3x3x1x1_32Single, std::uint32_t, Float, Single>(flat, PixelType::Float32);
  CheckEmitted<TileProgram_cross3x3x1x1_64Single, std::uint64_t, Float, Single>(flat, PixelType::Float64);
  const auto * solid = Footprint::MakeCross({ { 1, 1, 1, 0 } });
  CheckEmitted<TileProgram_cross3x3x3x1_8Pair, std::uint8_t, Integer, Pair>(solid, PixelType::Int8);
  CheckEmitted<TileProgram_cross3x3x3x1_16Pair, std::uint16_t, Integer, Pair>(solid, PixelType::UInt16);
  CheckEmitted<TileProgram_cross3x3x3x1_32Single, std::uint32_t, Integer, Single>(solid, PixelType::Int32);
}

TEST(CudaMedianFootprintKernels, EmittedDiskAndBall)
{
  const auto * disk = Footprint::MakeEllipsoid({ { 2, 2, 0, 0 } });
  CheckEmitted<TileProgram_ellipsoid5x5x1x1_8Pair, std::uint8_t, Integer, Pair>(disk, PixelType::UInt8);
  CheckEmitted<TileProgram_ellipsoid5x5x1x1_16Pair, std::uint16_t, Integer, Pair>(disk, PixelType::Int16);
  CheckEmitted<TileProgram_ellipsoid5x5x1x1_32Single, std::uint32_t, Float, Single>(disk, PixelType::Float32);
  const auto * ball = Footprint::MakeEllipsoid({ { 2, 2, 2, 0 } });
  CheckEmitted<TileProgram_ellipsoid5x5x5x1_16Pair, std::uint16_t, Integer, Pair>(ball, PixelType::Int16);
  CheckEmitted<TileProgram_ellipsoid5x5x5x1_32Single, std::uint32_t, Float, Single>(ball, PixelType::Float32);
}

TEST(CudaMedianFootprintKernels, EmittedWithAHeavyCentre)
{
  const auto * weighted = Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3);
  CheckEmitted<TileProgram_centre33x3x1x1_16Pair, std::uint16_t, Integer, Pair>(weighted, PixelType::Int16);
}

TEST(CudaMedianFootprintKernels, InterpretedAndSelected)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (int i = 0; i < 60 && !HasFailure(); ++i)
  {
    const auto * footprint = DrawFootprint(random);
    const Window window(footprint, static_cast<std::int64_t>(random() % footprint->CountValues()));
    const auto   scheduled = GetScheduledFootprintProgram(window);
    for (const Extent & size : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 13, 5, 3, 2 } }, Extent{ { 41, 17, 1, 1 } } })
    {
      for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 4000 } })
      {
        CheckSlabs<std::uint8_t, Integer>(
          size, window, PixelType::UInt8, budget, [&](const KernelArguments & arguments) {
            RunInterpreted<std::uint8_t, Integer>(arguments, *scheduled);
          });
        CheckSlabs<std::uint64_t, Float>(
          size, window, PixelType::Float64, 8 * budget, [&](const KernelArguments & arguments) {
            RunInterpreted<std::uint64_t, Float>(arguments, *scheduled);
          });
        CheckSlabs<std::uint16_t, Integer>(size, window, PixelType::Int16, budget, RunSelected<std::uint16_t, Integer>);
        CheckSlabs<std::uint32_t, Float>(
          size, window, PixelType::Float32, 4 * budget, RunSelected<std::uint32_t, Float>);
      }
    }
  }
}

TEST(CudaMedianFootprintKernels, SourcesTellFootprintsApart)
{
  // The cache on disk finds kernels by their sources.
  std::vector<std::string> sources;
  const KernelKind         kind = GetKernelKind(2, 90);
  for (const auto * footprint :
       { Footprint::MakeBox({ { 1, 1, 0, 0 } }),
         Footprint::MakeCross({ { 1, 1, 0, 0 } }),
         Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3),
         Footprint::MakeFromImage({ { 3, 3, 1, 1 } }, { 1, 0, 1, 0, 1, 0, 1, 0, 1 }, { { 1, 1, 0, 0 } }) })
  {
    const Window   window(footprint, -1);
    const auto     policy = GetKernelPolicy(window, kind, GetH200Traits());
    EmittedProgram count;
    const auto     source = MakeKernelSource(BuildKernelProgram(window, policy, kind), policy, kind, false, count);
    EXPECT_EQ(source, MakeKernelSource(BuildKernelProgram(window, policy, kind), policy, kind, false, count));
    EXPECT_EQ(std::count(sources.begin(), sources.end(), source), 0);
    sources.push_back(source);
  }
}

/** Some three seconds of a compiler. */
TEST(CudaMedianFootprintKernels, ProgramsAreCompiledAtFirstUse)
{
  constexpr std::size_t mostInstructions = 4000;
  for (const auto * footprint : { Footprint::MakeEllipsoid({ { 3, 3, 0, 0 } }),
                                  Footprint::MakeEllipsoid({ { 5, 5, 0, 0 } }),
                                  Footprint::MakeEllipsoid({ { 2.5, 2.5, 2.5, 0 } }),
                                  Footprint::MakeCentreWeighted({ { 2, 2, 0, 0 } }, 3),
                                  Footprint::MakeCentreWeighted({ { 4, 4, 0, 0 } }, 5) })
  {
    for (const int pixelBytes : { 1, 2, 4 })
    {
      const Window     window(footprint, -1);
      const KernelKind kind = GetKernelKind(pixelBytes, 90);
      const auto       policy = GetKernelPolicy(window, kind, GetH200Traits());
      EmittedProgram   count;
      MakeKernelSource(BuildKernelProgram(window, policy, kind), policy, kind, false, count);
      EXPECT_LE(count.instructions, mostInstructions)
        << footprint->Describe() << ", " << pixelBytes << " bytes, tile " << Join(policy.tile);
    }
  }
}
