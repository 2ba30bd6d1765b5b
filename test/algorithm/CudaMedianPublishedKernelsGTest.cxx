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
// Published methods through the library's kernels and vectors, run by the host.

#include "CudaMedianHostBlocks.h"
#include "CudaMedianHostTiles.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "KernelProgram.h"
#include "PublishedPrograms.h"
#include "TileHost.h"
#include "emitted/TileProgram_bitonicof3x3x1x1_64.h"
#include "emitted/TileProgram_forgetful1x1of3x3x1x1_8.h"
#include "emitted/TileProgram_forgetful1x2of5x5x1x1_16.h"
#include "emitted/TileProgram_forgetful1x2of5x5x1x1_8.h"
#include "emitted/TileProgram_forgetful2x2of3x3x1x1_32.h"
#include "emitted/TileProgram_network99of5x5x1x1_16.h"
#include "emitted/TileProgram_partialsortof3x3x1x1_16.h"
#include "emitted/TileProgram_steps22of3x3x1x1_16.h"

#include <gtest/gtest.h>

#include <random>

namespace
{

using namespace cudamedian;
using cudamediantest::CheckSlabs;
using cudamediantest::RunEmitted;
using cudamediantest::RunInterpreted;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;
constexpr auto Pair = KeyPacking::Pair;
constexpr auto Single = KeyPacking::Single;

/** Image sizes: one pixel, one wide, smaller than a tile, not a multiple of anything, wider than a block. */
const Extent sizes[] = { { { 1, 1, 1, 1 } }, { { 1, 7, 1, 1 } },   { { 23, 1, 1, 1 } },
                         { { 3, 2, 1, 1 } }, { { 37, 29, 3, 1 } }, { { 530, 2, 1, 1 } } };

template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
CheckEmitted(PixelType type)
{
  const Window window = Extent{ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } };
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<TBits, VMapping>(size, window, type, budget, RunEmitted<TProgram, TBits, VMapping, VPacking>);
    }
  }
}

} // namespace

TEST(CudaMedianPublishedKernels, EmittedPrograms)
{
  CheckEmitted<TileProgram_forgetful1x1of3x3x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8);
  CheckEmitted<TileProgram_forgetful2x2of3x3x1x1_32Single, std::uint32_t, Float, Single>(PixelType::Float32);
  CheckEmitted<TileProgram_forgetful1x2of5x5x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8);
  CheckEmitted<TileProgram_forgetful1x2of5x5x1x1_16Single, std::uint16_t, Integer, Single>(PixelType::UInt16);
  CheckEmitted<TileProgram_forgetful1x2of5x5x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16);
  CheckEmitted<TileProgram_network99of5x5x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16);
  CheckEmitted<TileProgram_steps22of3x3x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16);
  CheckEmitted<TileProgram_partialsortof3x3x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16);
  CheckEmitted<TileProgram_bitonicof3x3x1x1_64Single, std::uint64_t, Float, Single>(PixelType::Float64);
}

TEST(CudaMedianPublishedKernels, InterpretedPrograms)
{
  for (const auto & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
  {
    for (const auto & name : ListPublishedPrograms(radius))
    {
      SCOPED_TRACE(name);
      auto                   program = BuildPublishedProgram(name, radius);
      auto                   schedule = ScheduleProgram(program);
      const ScheduledProgram scheduled{ std::move(program), std::move(schedule) };
      CheckSlabs<std::uint16_t, Integer>(
        { { 21, 9, 2, 1 } }, radius, PixelType::Int16, 4000, [&](const KernelArguments & arguments) {
          RunInterpreted<std::uint16_t, Integer>(arguments, scheduled);
        });
    }
  }
}

/** Rows of the CPU backend, against the window's own program. */
TEST(CudaMedianPublishedKernels, RowsOfTheCpu)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937  generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  const Extent  extent{ { 131, 23, 2, 1 } };
  const auto    pixels = static_cast<std::size_t>(Volume(extent));
  MedianRequest request;
  request.pixelType = PixelType::UInt16;
  request.inputExtent = request.outputExtent = extent;
  request.inputStride = request.outputStride = { { 1, extent[0], extent[0] * extent[1], Volume(extent) } };
  request.outputPixelBytes = PixelBytes(request.pixelType);
  request.backend = Backend::Cpu;
  std::vector<std::uint16_t> input(pixels);
  for (auto & value : input)
  {
    value = static_cast<std::uint16_t>(generator() % 500);
  }
  request.input = input.data();
  for (const auto & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 3, 3, 0, 0 } } })
  {
    request.radius = radius;
    request.rank = Window(radius).rank;
    std::vector<std::uint16_t> expected(pixels);
    request.output = expected.data();
    request.algorithm = Algorithm::Selection;
    RunMedian(request);
    for (const auto & name : ListPublishedPrograms(radius))
    {
      auto     program = BuildPublishedProgram(name, radius);
      auto     schedule = ScheduleProgram(program);
      TileWork work;
      work.scheduled =
        std::make_shared<const ScheduledProgram>(ScheduledProgram{ std::move(program), std::move(schedule) });
      std::vector<std::uint16_t> actual(pixels);
      request.output = actual.data();
      ExecutionReport report;
      MakeTileMethod(work)->Run(request, { request.outputOrigin, extent }, report);
      EXPECT_EQ(actual, expected) << name << ", radius " << radius[0];
    }
  }
}

TEST(CudaMedianPublishedKernels, APolicyIsForTheProgramsTile)
{
  const Extent radius{ { 2, 2, 0, 0 } };
  const auto   kind = GetKernelKind(2, 90);
  const auto   program = BuildPublishedProgram("forgetful1x2", radius);
  const auto   chosen = GetKernelPolicy(radius, kind, GetH200Traits());
  EXPECT_THROW(BuildKernelProgram(program, chosen, kind), std::invalid_argument);
  const auto policy = AdaptPolicy(chosen, program);
  const auto built = BuildKernelProgram(program, policy, kind);
  EXPECT_EQ(built.phases.phases.size(), 1U);
  EXPECT_EQ(GetKernelShape(radius, policy, kind, built).block[1], policy.blockY * 2 * 2);
}
