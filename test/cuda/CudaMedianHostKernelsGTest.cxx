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
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "KernelBodies.h"
#include "Planner.h"
#include "ProgramEmitter.h"
#include "TileProgram_11x11x1x1.h"
#include "TileProgram_3x3x1x1.h"
#include "TileProgram_3x3x3x1.h"
#include "TileProgram_5x5x1x1.h"
#include "TileProgram_5x5x5x1.h"
#include "TileProgram_7x7x1x1.h"
#include "TileProgram_9x9x1x1.h"

#include <gtest/gtest.h>

#include <sstream>

/** The kernels' own code, run by the host: blocks and threads are loops, a slab's buffers are vectors with guards. */
namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::ForEachPosition;
using cudamediantest::GetReferenceMedian;

constexpr std::size_t guard = 16;

/** Runs `kernel(arguments, outputExtent)` over every slab of a plan and compares each output pixel. */
template <typename TBits, KeyMapping VMapping, typename TKernel>
void
CheckSlabs(const Extent & extent, const Extent & radius, PixelType type, std::size_t budget, const TKernel & kernel)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64  generator(seed);
  BitsImage<TBits> image(extent);
  image.FillRandomly(generator, generator() % 3 == 0 ? 2 : 0);

  MedianRequest request;
  request.pixelType = type;
  request.inputExtent = extent;
  request.radius = radius;
  request.outputExtent = extent;
  if (extent[0] > 2 && extent[1] > 1)
  {
    request.outputOrigin = { { 1, 1, 0, 0 } };
    request.outputExtent[0] -= 2;
    request.outputExtent[1] -= 1;
  }
  request.algorithm = Algorithm::Selection; // no program bytes: the budget is the slab's alone
  const auto plan = PlanMedian(request, Backend::Cuda, budget);
  for (const auto & slab : plan.slabs)
  {
    std::vector<TBits> input;
    ForEachPosition(slab.input.extent, [&](const Extent & p) {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] = slab.input.origin[axis] + p[axis];
      }
      input.push_back(image.At(position));
    });
    const auto         pixels = static_cast<std::size_t>(Volume(slab.output.extent));
    const auto         unwritten = static_cast<TBits>(0x5A5A5A5A5A5A5A5AULL);
    std::vector<TBits> output(pixels + 2 * guard, unwritten);
    KernelArguments    arguments;
    arguments.input = input.data();
    arguments.output = output.data() + guard;
    arguments.signMask = GetSignMask(type);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      arguments.inputExtent[axis] = slab.input.extent[axis];
      arguments.outputExtent[axis] = slab.output.extent[axis];
      arguments.outputOrigin[axis] = slab.output.origin[axis] - slab.input.origin[axis];
      arguments.radius[axis] = radius[axis];
    }
    kernel(arguments);
    for (std::size_t i = 0; i < guard; ++i)
    {
      ASSERT_EQ(output[i], unwritten);
      ASSERT_EQ(output[guard + pixels + i], unwritten);
    }
    auto result = output.begin() + guard;
    ForEachPosition(slab.output.extent, [&](const Extent & p) {
      Extent center;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        center[axis] = slab.output.origin[axis] + p[axis];
      }
      ASSERT_EQ(*result++,
                (GetReferenceMedian<VMapping>(image, center, radius, static_cast<TBits>(arguments.signMask))))
        << "at " << center[0] << ", " << center[1] << ", " << center[2] << ", " << center[3];
    });
  }
}

template <typename TBody>
void
ForEachThread(const LaunchShape & shape, const TBody & body)
{
  for (std::int64_t block = 0; block < shape.GetNumberOfBlocks(); ++block)
  {
    for (int y = 0; y < shape.blockSize[1]; ++y)
    {
      for (int x = 0; x < shape.blockSize[0]; ++x)
      {
        std::int64_t tile[Dimension];
        if (shape.GetTile(block, x, y, tile))
        {
          body(tile);
        }
      }
    }
  }
}

template <typename TProgram, typename TBits, KeyMapping VMapping>
void
RunEmitted(const KernelArguments & arguments)
{
  const int tile[] = { TProgram::TileX, TProgram::TileY, TProgram::TileZ, TProgram::TileW };
  ForEachThread(GetLaunchShape(arguments.outputExtent, tile, KeyRegister<TBits>::Pixels, 4, 2),
                [&](const std::int64_t * index) { RunEmittedTile<TProgram, TBits, VMapping>(arguments, index); });
}

template <typename TBits, KeyMapping VMapping>
void
RunInterpreted(const KernelArguments & arguments, const CompiledProgram & compiled)
{
  using Keys = typename KeyRegister<TBits>::Type;
  InterpretedProgram program;
  program.instructions = compiled.schedule.instructions.data();
  program.outputs = compiled.schedule.outputs.data();
  program.numberOfInstructions = static_cast<std::uint32_t>(compiled.schedule.instructions.size());
  program.numberOfInputs = compiled.schedule.numberOfInputs;
  program.numberOfSlots = compiled.schedule.numberOfSlots;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    program.tile[axis] = static_cast<std::int32_t>(compiled.program.GetTile()[axis]);
    program.footprint[axis] = static_cast<std::int32_t>(compiled.program.GetFootprint()[axis]);
  }
  constexpr int     stride = 3;
  std::vector<Keys> slots(static_cast<std::size_t>(stride) * program.numberOfSlots);
  ForEachThread(GetLaunchShape(arguments.outputExtent, program.tile, KeyRegister<TBits>::Pixels, 4, 1),
                [&](const std::int64_t * index) {
                  RunInterpretedTile<TBits, VMapping>(arguments, program, index, slots.data(), stride);
                });
}

template <typename TBits, KeyMapping VMapping>
void
RunSelected(const KernelArguments & arguments)
{
  const int single[] = { 1, 1, 1, 1 };
  ForEachThread(GetLaunchShape(arguments.outputExtent, single, 1, 5, 1),
                [&](const std::int64_t * index) { RunSelectedPixel<TBits, VMapping>(arguments, index); });
}

/** Image sizes: one pixel, one wide, smaller than a tile, not a multiple of anything. */
const Extent sizes2D[] = { { { 1, 1, 1, 1 } },
                           { { 1, 7, 1, 1 } },
                           { { 23, 1, 1, 1 } },
                           { { 3, 2, 1, 1 } },
                           { { 37, 29, 1, 1 } } };
const Extent sizes3D[] = { { { 1, 1, 1, 1 } }, { { 5, 1, 3, 1 } }, { { 13, 11, 7, 1 } }, { { 9, 6, 4, 2 } } };

template <typename TProgram, typename TSizes>
void
CheckEmitted(const Extent & radius, const TSizes & sizes)
{
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 6000 } })
    {
      CheckSlabs<std::uint8_t, KeyMapping::Integer>(
        size, radius, PixelType::Int8, budget, RunEmitted<TProgram, std::uint8_t, KeyMapping::Integer>);
      CheckSlabs<std::uint16_t, KeyMapping::Integer>(
        size, radius, PixelType::UInt16, budget, RunEmitted<TProgram, std::uint16_t, KeyMapping::Integer>);
      CheckSlabs<std::uint32_t, KeyMapping::Float>(
        size, radius, PixelType::Float32, budget, RunEmitted<TProgram, std::uint32_t, KeyMapping::Float>);
    }
  }
}

} // namespace

TEST(CudaMedianHostKernels, Emitted3x3)
{
  CheckEmitted<TileProgram_3x3x1x1>({ { 1, 1, 0, 0 } }, sizes2D);
  CheckEmitted<TileProgram_3x3x1x1>({ { 1, 1, 0, 0 } }, sizes3D);
}
TEST(CudaMedianHostKernels, Emitted5x5)
{
  CheckEmitted<TileProgram_5x5x1x1>({ { 2, 2, 0, 0 } }, sizes2D);
}
TEST(CudaMedianHostKernels, Emitted7x7)
{
  CheckEmitted<TileProgram_7x7x1x1>({ { 3, 3, 0, 0 } }, sizes2D);
}
TEST(CudaMedianHostKernels, Emitted9x9)
{
  CheckEmitted<TileProgram_9x9x1x1>({ { 4, 4, 0, 0 } }, sizes2D);
}
TEST(CudaMedianHostKernels, Emitted11x11)
{
  CheckEmitted<TileProgram_11x11x1x1>({ { 5, 5, 0, 0 } }, sizes2D);
}
TEST(CudaMedianHostKernels, Emitted3x3x3)
{
  CheckEmitted<TileProgram_3x3x3x1>({ { 1, 1, 1, 0 } }, sizes3D);
}
TEST(CudaMedianHostKernels, Emitted5x5x5)
{
  CheckEmitted<TileProgram_5x5x5x1>({ { 2, 2, 2, 0 } }, sizes3D);
}
TEST(CudaMedianHostKernels, EmittedWideKeys)
{
  for (const auto & size : sizes2D)
  {
    CheckSlabs<std::uint64_t, KeyMapping::Float>(size,
                                                 { { 1, 1, 0, 0 } },
                                                 PixelType::Float64,
                                                 1 << 20,
                                                 RunEmitted<TileProgram_3x3x1x1, std::uint64_t, KeyMapping::Float>);
    CheckSlabs<std::uint64_t, KeyMapping::Integer>(size,
                                                   { { 2, 2, 0, 0 } },
                                                   PixelType::Int64,
                                                   1 << 20,
                                                   RunEmitted<TileProgram_5x5x1x1, std::uint64_t, KeyMapping::Integer>);
  }
}

TEST(CudaMedianHostKernels, Interpreted)
{
  const Extent radii[] = { { { 0, 0, 0, 0 } }, { { 1, 0, 0, 0 } }, { { 0, 3, 0, 0 } }, { { 5, 2, 0, 0 } },
                           { { 0, 1, 2, 1 } }, { { 2, 1, 0, 2 } }, { { 2, 2, 2, 0 } }, { { 4, 0, 3, 0 } } };
  const Extent sizes[] = { { { 1, 1, 1, 1 } }, { { 13, 5, 3, 2 } }, { { 6, 7, 5, 3 } } };
  for (const auto & radius : radii)
  {
    const auto compiled = GetCompiledProgram(radius);
    for (const auto & size : sizes)
    {
      for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 3000 } })
      {
        CheckSlabs<std::uint8_t, KeyMapping::Integer>(
          size, radius, PixelType::UInt8, budget, [&](const KernelArguments & arguments) {
            RunInterpreted<std::uint8_t, KeyMapping::Integer>(arguments, *compiled);
          });
        CheckSlabs<std::uint64_t, KeyMapping::Float>(
          size, radius, PixelType::Float64, 8 * budget, [&](const KernelArguments & arguments) {
            RunInterpreted<std::uint64_t, KeyMapping::Float>(arguments, *compiled);
          });
      }
    }
  }
}

TEST(CudaMedianHostKernels, Selected)
{
  const Extent radii[] = {
    { { 0, 0, 0, 0 } }, { { 6, 6, 0, 0 } }, { { 3, 1, 2, 0 } }, { { 1, 1, 1, 1 } }, { { 20, 1, 9, 3 } }
  };
  const Extent sizes[] = { { { 1, 1, 1, 1 } }, { { 11, 5, 3, 2 } }, { { 6, 7, 5, 1 } } };
  for (const auto & radius : radii)
  {
    for (const auto & size : sizes)
    {
      for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 2500 } })
      {
        CheckSlabs<std::uint8_t, KeyMapping::Integer>(
          size, radius, PixelType::Int8, budget, RunSelected<std::uint8_t, KeyMapping::Integer>);
        CheckSlabs<std::uint16_t, KeyMapping::Integer>(
          size, radius, PixelType::UInt16, budget, RunSelected<std::uint16_t, KeyMapping::Integer>);
        CheckSlabs<std::uint32_t, KeyMapping::Float>(
          size, radius, PixelType::Float32, 4 * budget, RunSelected<std::uint32_t, KeyMapping::Float>);
      }
    }
  }
}

TEST(CudaMedianHostKernels, LaunchShapeVisitsEveryTileOnce)
{
  const std::int64_t extent[] = { 17, 9, 3, 2 };
  const int          tile[] = { 2, 2, 2, 1 };
  const auto         shape = GetLaunchShape(extent, tile, 2, 4, 2);
  std::vector<int>   visits(5 * 5 * 2 * 2, 0);
  ForEachThread(shape, [&](const std::int64_t * index) {
    ++visits.at(static_cast<std::size_t>(((index[3] * 2 + index[2]) * 5 + index[1]) * 5 + index[0]));
  });
  for (const auto count : visits)
  {
    EXPECT_EQ(count, 1);
  }
}

TEST(CudaMedianProgramEmitter, WritesLoadsOperationsAndStores)
{
  TileProgram program({ { 1, 0, 0, 0 } }, { { 1, 1, 1, 1 } });
  const auto  low = program.Append(TileProgram::Operation::Min, 2, 0);
  program.SetOutputs({ program.Append(TileProgram::Operation::Max, low, 1) });
  std::ostringstream text;
  EmitProgram(program, text);
  EXPECT_NE(text.str().find("struct TileProgram_3x1x1x1"), std::string::npos);
  EXPECT_NE(text.str().find("    const auto v2 = access.Load(2, 0, 0, 0);\n"
                            "    const auto v0 = access.Load(0, 0, 0, 0);\n"
                            "    const auto v3 = TRegister::Min(v2, v0);\n"
                            "    const auto v1 = access.Load(1, 0, 0, 0);\n"
                            "    const auto v4 = TRegister::Max(v3, v1);\n"
                            "    access.Store(0, 0, 0, 0, v4);\n"),
            std::string::npos)
    << text.str();
}
