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
#include "CudaMedianHostTiles.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "LaunchShape.h"
#include "ScheduledProgram.h"
#include "TilePolicy.h"
#include "ProgramEmitter.h"
#include "emitted/TileProgram_11x11x1x1_16.h"
#include "emitted/TileProgram_1x1x1x1_16.h"
#include "emitted/TileProgram_2x2x1x1_8.h"
#include "emitted/TileProgram_2x2x2x1_32.h"
#include "emitted/TileProgram_3x1x1x5_8.h"
#include "emitted/TileProgram_3x3x1x1_16.h"
#include "emitted/TileProgram_3x3x1x1_32.h"
#include "emitted/TileProgram_3x3x1x1_64.h"
#include "emitted/TileProgram_3x3x1x1_8.h"
#include "emitted/TileProgram_3x3x1x1at2_16.h"
#include "emitted/TileProgram_3x3x3x1_16.h"
#include "emitted/TileProgram_3x3x3x1_32.h"
#include "emitted/TileProgram_3x3x3x1_8.h"
#include "emitted/TileProgram_3x3x3x1at6_32.h"
#include "emitted/TileProgram_5x5x1x1_16.h"
#include "emitted/TileProgram_5x5x1x1_32.h"
#include "emitted/TileProgram_5x5x1x1_8.h"
#include "emitted/TileProgram_3x6x1x1_16.h"
#include "emitted/TileProgram_4x4x1x1_16.h"
#include "emitted/TileProgram_4x4x1x1_32.h"
#include "emitted/TileProgram_4x4x1x1_8.h"
#include "emitted/TileProgram_4x4x1x1at15_16.h"
#include "emitted/TileProgram_4x4x1x1at7_16.h"
#include "emitted/TileProgram_5x5x1x1at0_16.h"
#include "emitted/TileProgram_5x5x1x1at24_8.h"
#include "emitted/TileProgram_5x5x1x1at6_16.h"
#include "emitted/TileProgram_5x5x3x1_16.h"
#include "emitted/TileProgram_5x5x3x1_32.h"
#include "emitted/TileProgram_5x5x3x1_8.h"
#include "emitted/TileProgram_5x5x5x1_32.h"
#include "emitted/TileProgram_7x7x1x1_16.h"
#include "emitted/TileProgram_7x7x1x1_32.h"
#include "emitted/TileProgram_7x7x1x1_8.h"
#include "emitted/TileProgram_9x9x1x1_16.h"
#include "emitted/TileProgram_9x9x1x1_32.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <vector>

#ifdef __linux__
#  include <sys/mman.h>
#endif

/** The kernels' own code, run by the host: blocks and threads are loops, a slab's buffers are vectors with guards. */
namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::CheckSlabs;
using cudamediantest::ForEachOtherWindow;
using cudamediantest::ForEachThread;
using cudamediantest::ForEachWindowOfRanks;
using cudamediantest::GetReferenceMedian;
using cudamediantest::RunByteStrips;
using cudamediantest::RunEmitted;
using cudamediantest::RunInterpreted;
using cudamediantest::RunSelected;
using cudamediantest::RunStrips;

/** Image sizes: one pixel, one wide, smaller than a tile, not a multiple of anything, wider than a block. */
const Extent sizes2D[] = { { { 1, 1, 1, 1 } }, { { 1, 7, 1, 1 } },   { { 23, 1, 1, 1 } },
                           { { 3, 2, 1, 1 } }, { { 37, 29, 1, 1 } }, { { 530, 2, 1, 1 } } };
const Extent sizes3D[] = { { { 1, 1, 1, 1 } }, { { 5, 1, 3, 1 } }, { { 13, 11, 7, 1 } }, { { 9, 6, 4, 2 } } };

template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking, typename TSizes>
void
CheckEmitted(const TSizes & sizes, PixelType type, std::int64_t rank = -1, const Extent & shorter = {})
{
  const Window window(
    { { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } }, shorter, rank);
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<TBits, VMapping>(size, window, type, budget, RunEmitted<TProgram, TBits, VMapping, VPacking>);
    }
  }
}

template <typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
CheckStrips(PixelType type)
{
  const std::vector<Extent> sizes{ { { 1, 1, 1, 1 } },   { { 1, 7, 1, 1 } },   { { 23, 1, 1, 1 } },
                                   { { 3, 2, 1, 1 } },   { { 9, 18, 1, 1 } },  { { 16, 65, 1, 1 } },
                                   { { 37, 29, 1, 1 } }, { { 261, 5, 1, 1 } }, { { 13, 11, 7, 1 } },
                                   { { 9, 6, 4, 2 } } };
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<TBits, VMapping>(size, { { 1, 1, 0, 0 } }, type, budget, RunStrips<TBits, VMapping, VPacking>);
    }
  }
}

/** Rows that end at every place of a strip, and more columns and rows than a block has. */
void
CheckByteStrips(PixelType type)
{
  std::vector<Extent> sizes{ { { 1, 7, 1, 1 } },    { { 9, 18, 1, 1 } },  { { 37, 29, 1, 1 } },
                             { { 531, 35, 1, 1 } }, { { 13, 11, 7, 1 } }, { { 19, 6, 4, 2 } } };
  for (std::int64_t columns = 14; columns < 36; ++columns)
  {
    sizes.push_back({ { columns, columns % 7 + 1, 1, 1 } });
  }
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<std::uint8_t, KeyMapping::Integer>(size, { { 1, 1, 0, 0 } }, type, budget, RunByteStrips);
    }
  }
}

/** Every window of zeros and ones, each centred on a pixel of its own. */
template <typename TBits, typename TRun>
void
CheckAllZeroOneStrips(const TRun & run)
{
  // Window n is centred on pixel 3n+1 of the middle row.
  std::vector<TBits> image(3 * 3 * 512);
  std::vector<TBits> output(image.size());
  const std::size_t  width = 3 * 512;
  for (std::size_t window = 0; window < 512; ++window)
  {
    for (std::size_t pixel = 0; pixel < 9; ++pixel)
    {
      image[pixel / 3 * width + 3 * window + pixel % 3] = window >> pixel & 1;
    }
  }
  KernelArguments arguments{};
  arguments.input = image.data();
  arguments.output = output.data();
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = axis == 0 ? 3 * 512 : axis == 1 ? 3 : 1;
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = axis == 0 ? 1 : axis == 1 ? 3 * 512 : 9 * 512;
  }
  run(arguments);
  for (std::size_t window = 0; window < 512; ++window)
  {
    std::size_t ones = 0;
    for (std::size_t pixel = 0; pixel < 9; ++pixel)
    {
      ones += window >> pixel & 1;
    }
    EXPECT_EQ(output[width + 3 * window + 1], ones > 4 ? 1 : 0) << "window " << window;
  }
}

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;
constexpr auto Pair = KeyPacking::Pair;
constexpr auto Quad = KeyPacking::Quad;
constexpr auto HalfPair = KeyPacking::HalfPair;
constexpr auto BFloatPair = KeyPacking::BFloatPair;
constexpr auto Single = KeyPacking::Single;

} // namespace

TEST(CudaMedianHostKernels, Emitted3x3)
{
  CheckEmitted<TileProgram_3x3x1x1_8Pair, std::uint8_t, Integer, Pair>(sizes2D, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x1x1_8Quad, std::uint8_t, Integer, Quad>(sizes2D, PixelType::UInt8);
  CheckEmitted<TileProgram_3x3x1x1_8Pair, std::uint8_t, Integer, Pair>(sizes3D, PixelType::UInt8);
  CheckEmitted<TileProgram_3x3x1x1_8Quad, std::uint8_t, Integer, Quad>(sizes3D, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x1x1_8HalfPair, std::uint8_t, Integer, HalfPair>(sizes2D, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x1x1_8Single, std::uint8_t, Integer, Single>(sizes2D, PixelType::UInt8);
  CheckEmitted<TileProgram_3x3x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16);
  CheckEmitted<TileProgram_3x3x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes3D, PixelType::UInt16);
  CheckEmitted<TileProgram_3x3x1x1_16Single, std::uint16_t, Integer, Single>(sizes2D, PixelType::Int16);
  CheckEmitted<TileProgram_3x3x1x1_32Single, std::uint32_t, Integer, Single>(sizes2D, PixelType::Int32);
  CheckEmitted<TileProgram_3x3x1x1_32Single, std::uint32_t, Float, Single>(sizes3D, PixelType::Float32);
  CheckEmitted<TileProgram_3x3x1x1_64Single, std::uint64_t, Integer, Single>(sizes2D, PixelType::UInt64);
  CheckEmitted<TileProgram_3x3x1x1_64Single, std::uint64_t, Float, Single>(sizes3D, PixelType::Float64);
}
TEST(CudaMedianHostKernels, EmittedOfEvenSizes)
{
  const Extent flat{ { 1, 1, 0, 0 } };
  const Extent solid{ { 1, 1, 1, 0 } };
  CheckEmitted<TileProgram_2x2x1x1_8Pair, std::uint8_t, Integer, Pair>(sizes3D, PixelType::Int8, -1, flat);
  CheckEmitted<TileProgram_2x2x1x1_8HalfPair, std::uint8_t, Integer, HalfPair>(sizes2D, PixelType::UInt8, -1, flat);
  CheckEmitted<TileProgram_4x4x1x1_8Pair, std::uint8_t, Integer, Pair>(sizes2D, PixelType::Int8, -1, flat);
  CheckEmitted<TileProgram_4x4x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16, -1, flat);
  CheckEmitted<TileProgram_4x4x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes3D, PixelType::UInt16, -1, flat);
  CheckEmitted<TileProgram_4x4x1x1_16Single, std::uint16_t, Integer, Single>(sizes2D, PixelType::Int16, -1, flat);
  CheckEmitted<TileProgram_4x4x1x1_32Single, std::uint32_t, Float, Single>(sizes2D, PixelType::Float32, -1, flat);
  CheckEmitted<TileProgram_3x6x1x1_16Pair, std::uint16_t, Integer, Pair>(
    sizes2D, PixelType::UInt16, -1, { { 0, 1, 0, 0 } });
  CheckEmitted<TileProgram_2x2x2x1_32Single, std::uint32_t, Float, Single>(sizes3D, PixelType::Float32, -1, solid);
  CheckEmitted<TileProgram_4x4x1x1at7_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16, 7, flat);
  CheckEmitted<TileProgram_4x4x1x1at15_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16, 15, flat);
}
TEST(CudaMedianHostKernels, Strips)
{
  CheckByteStrips(PixelType::Int8);
  CheckByteStrips(PixelType::UInt8);
  CheckStrips<std::uint8_t, Integer, HalfPair>(PixelType::UInt8);
  CheckStrips<std::uint8_t, Integer, Single>(PixelType::UInt8);
  CheckStrips<std::uint16_t, Integer, Pair>(PixelType::Int16);
  CheckStrips<std::uint16_t, Integer, BFloatPair>(PixelType::Int16);
  CheckStrips<std::uint16_t, Integer, Single>(PixelType::UInt16);
  CheckStrips<std::uint32_t, Integer, Single>(PixelType::Int32);
  CheckStrips<std::uint32_t, Float, Single>(PixelType::Float32);
  CheckStrips<std::uint64_t, Integer, Single>(PixelType::UInt64);
  CheckStrips<std::uint64_t, Float, Single>(PixelType::Float64);
}
TEST(CudaMedianHostKernels, StripsOfAllZeroOneWindows)
{
  CheckAllZeroOneStrips<std::uint16_t>(RunStrips<std::uint16_t, Integer, Pair>);
  CheckAllZeroOneStrips<std::uint16_t>(RunStrips<std::uint16_t, Integer, BFloatPair>);
  CheckAllZeroOneStrips<std::uint8_t>(RunByteStrips);
}
TEST(CudaMedianHostKernels, Emitted5x5)
{
  CheckEmitted<TileProgram_5x5x1x1_8Pair, std::uint8_t, Integer, Pair>(sizes2D, PixelType::UInt8);
  CheckEmitted<TileProgram_5x5x1x1_8Quad, std::uint8_t, Integer, Quad>(sizes2D, PixelType::Int8);
  CheckEmitted<TileProgram_5x5x1x1_8HalfPair, std::uint8_t, Integer, HalfPair>(sizes2D, PixelType::UInt8);
  CheckEmitted<TileProgram_5x5x1x1_8Single, std::uint8_t, Integer, Single>(sizes2D, PixelType::Int8);
  CheckEmitted<TileProgram_5x5x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16);
  CheckEmitted<TileProgram_5x5x1x1_32Single, std::uint32_t, Float, Single>(sizes2D, PixelType::Float32);
}
TEST(CudaMedianHostKernels, Emitted7x7)
{
  CheckEmitted<TileProgram_7x7x1x1_8Pair, std::uint8_t, Integer, Pair>(sizes2D, PixelType::UInt8);
  CheckEmitted<TileProgram_7x7x1x1_8Quad, std::uint8_t, Integer, Quad>(sizes2D, PixelType::Int8);
  CheckEmitted<TileProgram_7x7x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::UInt16);
  CheckEmitted<TileProgram_7x7x1x1_32Single, std::uint32_t, Integer, Single>(sizes2D, PixelType::UInt32);
}
TEST(CudaMedianHostKernels, Emitted9x9)
{
  CheckEmitted<TileProgram_9x9x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::UInt16);
  CheckEmitted<TileProgram_9x9x1x1_32Single, std::uint32_t, Float, Single>(sizes2D, PixelType::Float32);
}
TEST(CudaMedianHostKernels, Emitted11x11)
{
  CheckEmitted<TileProgram_11x11x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16);
}
TEST(CudaMedianHostKernels, Emitted3x3x3)
{
  CheckEmitted<TileProgram_3x3x3x1_8Pair, std::uint8_t, Integer, Pair>(sizes3D, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x3x1_8Quad, std::uint8_t, Integer, Quad>(sizes3D, PixelType::UInt8);
  CheckEmitted<TileProgram_3x3x3x1_8HalfPair, std::uint8_t, Integer, HalfPair>(sizes3D, PixelType::Int8);
  CheckEmitted<TileProgram_3x3x3x1_16Pair, std::uint16_t, Integer, Pair>(sizes3D, PixelType::Int16);
  CheckEmitted<TileProgram_3x3x3x1_32Single, std::uint32_t, Float, Single>(sizes3D, PixelType::Float32);
}
TEST(CudaMedianHostKernels, Emitted5x5x3)
{
  CheckEmitted<TileProgram_5x5x3x1_8Pair, std::uint8_t, Integer, Pair>(sizes3D, PixelType::UInt8);
  CheckEmitted<TileProgram_5x5x3x1_8Quad, std::uint8_t, Integer, Quad>(sizes3D, PixelType::Int8);
  CheckEmitted<TileProgram_5x5x3x1_16Pair, std::uint16_t, Integer, Pair>(sizes3D, PixelType::Int16);
  CheckEmitted<TileProgram_5x5x3x1_32Single, std::uint32_t, Integer, Single>(sizes3D, PixelType::Int32);
}
TEST(CudaMedianHostKernels, Emitted5x5x5)
{
  CheckEmitted<TileProgram_5x5x5x1_32Single, std::uint32_t, Float, Single>(sizes3D, PixelType::Float32);
}
TEST(CudaMedianHostKernels, EmittedForOtherRanks)
{
  CheckEmitted<TileProgram_3x3x1x1at2_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::UInt16, 2);
  CheckEmitted<TileProgram_5x5x1x1at0_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16, 0);
  CheckEmitted<TileProgram_5x5x1x1at6_16Pair, std::uint16_t, Integer, Pair>(sizes2D, PixelType::Int16, 6);
  CheckEmitted<TileProgram_5x5x1x1at6_16Single, std::uint16_t, Integer, Single>(sizes2D, PixelType::UInt16, 6);
  CheckEmitted<TileProgram_5x5x1x1at24_8Pair, std::uint8_t, Integer, Pair>(sizes2D, PixelType::Int8, 24);
  CheckEmitted<TileProgram_5x5x1x1at24_8Quad, std::uint8_t, Integer, Quad>(sizes2D, PixelType::UInt8, 24);
  CheckEmitted<TileProgram_5x5x1x1at24_8HalfPair, std::uint8_t, Integer, HalfPair>(sizes2D, PixelType::UInt8, 24);
  CheckEmitted<TileProgram_3x3x3x1at6_32Single, std::uint32_t, Float, Single>(sizes3D, PixelType::Float32, 6);
}
TEST(CudaMedianHostKernels, EmittedAlongSomeAxes)
{
  CheckEmitted<TileProgram_3x1x1x5_8Pair, std::uint8_t, Integer, Pair>(sizes3D, PixelType::UInt8);
  CheckEmitted<TileProgram_3x1x1x5_8Quad, std::uint8_t, Integer, Quad>(sizes3D, PixelType::Int8);
  CheckEmitted<TileProgram_1x1x1x1_16Pair, std::uint16_t, Integer, Pair>(sizes3D, PixelType::Int16);
}

#ifdef __linux__
TEST(CudaMedianHostKernels, OffsetsBeyond31Bits)
{
  // Five rows of a small image, each more than 2^31 pixels after the last, in memory that is not there until touched.
  constexpr std::int64_t pitch = (std::int64_t{ 1 } << 31) + 64;
  constexpr std::int32_t width = 20;
  constexpr std::int32_t height = 5;
  const std::size_t      bytes = static_cast<std::size_t>(pitch) * height;
  const auto             reserve = [bytes] {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void * const input = reserve();
  void * const output = reserve();
  if (input == MAP_FAILED || output == MAP_FAILED)
  {
    GTEST_SKIP() << "the system does not reserve " << bytes << " bytes of addresses";
  }
  const auto              seed = cudamediantest::Seed();
  std::mt19937_64         generator(seed);
  BitsImage<std::uint8_t> image(Extent{ { width, height, 1, 1 } });
  image.FillRandomly(generator, 0);
  auto * const pixels = static_cast<std::uint8_t *>(input);
  for (std::int32_t y = 0; y < height; ++y)
  {
    for (std::int32_t x = 0; x < width; ++x)
    {
      pixels[y * pitch + x] = image.At({ { x, y, 0, 0 } });
    }
  }
  KernelArguments arguments{};
  arguments.input = input;
  arguments.output = output;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = axis == 0 ? width : axis == 1 ? height : 1;
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = axis == 0 ? 1 : axis == 1 ? pitch : pitch * height;
    arguments.radius[axis] = axis < 2 ? 1 : 0;
  }
  RunEmitted<TileProgram_3x3x1x1_8Pair, std::uint8_t, Integer, Pair>(arguments);
  const auto * medians = static_cast<const std::uint8_t *>(output);
  for (std::int32_t y = 0; y < height; ++y)
  {
    for (std::int32_t x = 0; x < width; ++x)
    {
      ASSERT_EQ(
        medians[y * pitch + x],
        (GetReferenceMedian<KeyMapping::Integer>(image, { { x, y, 0, 0 } }, { { 1, 1, 0, 0 } }, std::uint8_t{ 0 })))
        << "seed " << seed << " at " << x << ", " << y;
    }
  }
  ::munmap(input, bytes);
  ::munmap(output, bytes);
}
#endif

TEST(CudaMedianHostKernels, Interpreted)
{
  const Extent radii[] = { { { 0, 0, 0, 0 } }, { { 1, 0, 0, 0 } }, { { 0, 3, 0, 0 } }, { { 5, 2, 0, 0 } },
                           { { 0, 1, 2, 1 } }, { { 2, 1, 0, 2 } }, { { 2, 2, 2, 0 } }, { { 4, 0, 3, 0 } } };
  const Extent sizes[] = { { { 1, 1, 1, 1 } }, { { 13, 5, 3, 2 } }, { { 6, 7, 5, 3 } } };
  for (const auto & radius : radii)
  {
    const auto compiled = GetScheduledProgram(radius, ChooseTile(radius));
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

TEST(CudaMedianHostKernels, InterpretedAndSelectedForOtherRanks)
{
  const Extent radii[] = {
    { { 1, 0, 0, 0 } }, { { 5, 2, 0, 0 } }, { { 0, 1, 2, 1 } }, { { 2, 2, 2, 0 } }, { { 4, 4, 0, 0 } }
  };
  for (const auto & radius : radii)
  {
    ForEachWindowOfRanks(radius, [&](const Window & window) {
      for (const Extent & size : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 13, 5, 3, 2 } } })
      {
        const auto budget = std::size_t{ 1 } << 30;
        CheckSlabs<std::uint8_t, KeyMapping::Integer>(
          size, window, PixelType::Int8, budget, RunSelected<std::uint8_t, KeyMapping::Integer>);
        CheckSlabs<std::uint64_t, KeyMapping::Float>(
          size, window, PixelType::Float64, budget, RunSelected<std::uint64_t, KeyMapping::Float>);
      }
    });
    ForEachOtherWindow(radius, [&](const Window & window) {
      const auto compiled = GetScheduledProgram(window, ChooseTile(window));
      for (const Extent & size : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 13, 5, 3, 2 } } })
      {
        const auto budget = std::size_t{ 1 } << 30;
        CheckSlabs<std::uint8_t, KeyMapping::Integer>(
          size, window, PixelType::Int8, budget, [&](const KernelArguments & arguments) {
            RunInterpreted<std::uint8_t, KeyMapping::Integer>(arguments, *compiled);
          });
        CheckSlabs<std::uint64_t, KeyMapping::Float>(
          size, window, PixelType::Float64, budget, [&](const KernelArguments & arguments) {
            RunInterpreted<std::uint64_t, KeyMapping::Float>(arguments, *compiled);
          });
        CheckSlabs<std::uint16_t, KeyMapping::Integer>(
          size, window, PixelType::UInt16, budget, RunSelected<std::uint16_t, KeyMapping::Integer>);
        CheckSlabs<std::uint32_t, KeyMapping::Float>(
          size, window, PixelType::Float32, budget, RunSelected<std::uint32_t, KeyMapping::Float>);
      }
    });
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
  const std::int32_t extent[] = { 17, 9, 3, 2 };
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

/** The launch shape that the host computes is the one the kernel has. */
template <typename TProgram, typename TBits, KeyPacking VPacking>
void
CheckShape(int computeCapability, const Extent & shorter = {}, bool isForFamily = false)
{
  using Kernel = TileKernel<TProgram, TBits, Integer, VPacking, TProgram::BlockX, TProgram::BlockY>;
  const Window window({ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } }, shorter, -1);
  const auto   kind = GetKernelKind(static_cast<int>(sizeof(TBits)), computeCapability, isForFamily);
  const auto   policy = GetKernelPolicy(window, kind, GetArchitectureTraits(computeCapability));
  const auto   shape = GetKernelShape(window, policy, kind, BuildKernelProgram(window, policy, kind));
  EXPECT_EQ(static_cast<int>(kind.packing), static_cast<int>(VPacking));
  EXPECT_EQ(shape.threads, static_cast<int>(Kernel::Threads));
  EXPECT_EQ(shape.block[0], static_cast<int>(Kernel::BlockWidth));
  EXPECT_EQ(shape.block[1], static_cast<int>(Kernel::BlockHeight));
  EXPECT_EQ(shape.block[2], static_cast<int>(TProgram::TileZ));
  EXPECT_EQ(shape.block[3], static_cast<int>(TProgram::TileW));
  EXPECT_EQ(shape.sharedBytes, static_cast<int>(Kernel::SharedBytes));
}

/** Programs are emitted for sm_75, sm_80 and sm_90, and those of 8 bits for sm_120f; the name without a number is the
 * oldest one's. */
TEST(CudaMedianHostKernels, ShapeIsThatOfThePolicy)
{
  CheckShape<TileProgram_3x3x1x1_8Single, std::uint8_t, Single>(75);
  CheckShape<TileProgram_3x3x1x1_8HalfPair, std::uint8_t, HalfPair>(89);
  CheckShape<TileProgram_3x3x1x1_8Pair, std::uint8_t, Pair>(90);
  CheckShape<TileProgram_3x3x1x1_8Quad, std::uint8_t, Quad>(120, {}, true);
  CheckShape<TileProgram_5x5x3x1_8Quad, std::uint8_t, Quad>(121, {}, true);
  CheckShape<TileProgram_5x5x1x1_16Pair, std::uint16_t, Pair>(90);
  CheckShape<TileProgram_5x5x3x1_32Single, std::uint32_t, Single>(75);
  CheckShape<TileProgram_3x3x1x1_64Single, std::uint64_t, Single>(75);
  CheckShape<TileProgram_3x1x1x5_8Pair, std::uint8_t, Pair>(90);
  CheckShape<TileProgram_1x1x1x1_16Pair, std::uint16_t, Pair>(90);
  CheckShape<TileProgram_4x4x1x1_16Pair, std::uint16_t, Pair>(90, { { 1, 1, 0, 0 } });
  CheckShape<TileProgram_3x6x1x1_16Single, std::uint16_t, Single>(75, { { 0, 1, 0, 0 } });
}

TEST(CudaMedianProgramEmitter, WritesLoadsOperationsAndStores)
{
  KernelPolicy policy;
  policy.tile = policy.tiling.root = { { 1, 1, 1, 1 } };
  std::ostringstream text;
  const auto         kind = GetKernelKind(4, 90);
  EmitProgram(BuildKernelProgram({ { 1, 0, 0, 0 } }, policy, kind), policy, kind, "TileProgram_3", text);
  EXPECT_NE(text.str().find("struct TileProgram_3\n"), std::string::npos);
  EXPECT_NE(text.str().find("const auto p0_1 = access.Load(0, 0, 0, 0);\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(" = registers.Min(p0_"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(".Get(0)"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("access.Store(0, 0, 0, row0);\n"), std::string::npos) << text.str();
}

TEST(CudaMedianProgramEmitter, ReadsFourKeysAtOnceFromBeforeTheFootprint)
{
  KernelPolicy policy;
  policy.tile = policy.tiling.root = { { 4, 1, 1, 1 } };
  policy.tiling.root[0] = 1;
  std::ostringstream text;
  const auto         kind = GetKernelKind(2, 90);
  EmitProgram(BuildKernelProgram({ { 1, 0, 0, 0 } }, policy, kind), policy, kind, "Program", text);
  // Column 0 of the footprint is the last of a vector that starts three columns before it.
  EXPECT_NE(text.str().find("p0_1 = access.Load(-3, 0, 0, 0);\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("p0_5 = access.Load(1, 0, 0, 0);\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("p0_9 = access.Load(5, 0, 0, 0);\n"), std::string::npos) << text.str();
  EXPECT_EQ(text.str().find("p0_13"), std::string::npos) << text.str();
}
