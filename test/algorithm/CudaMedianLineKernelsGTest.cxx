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
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "KernelProgram.h"
#include "LineKernel.h"
#include "LinePolicy.h"
#include "PixelFormat.h"
#include "ProgramEmitter.h"
#include "itkCudaMedianFootprint.h"
#include "emitted/TileProgram_15x1x1x1_16.h"
#include "emitted/TileProgram_15x1x1x1_32.h"
#include "emitted/TileProgram_15x1x1x1_8.h"
#include "emitted/TileProgram_1x15x1x1_16.h"
#include "emitted/TileProgram_1x15x1x1_32.h"
#include "emitted/TileProgram_1x15x1x1_8.h"
#include "emitted/TileProgram_1x1x1x3_8.h"
#include "emitted/TileProgram_1x1x3x1_16.h"
#include "emitted/TileProgram_1x1x3x1_32.h"
#include "emitted/TileProgram_1x21x1x1_8.h"
#include "emitted/TileProgram_1x2x1x1_16.h"
#include "emitted/TileProgram_1x3x1x1_16.h"
#include "emitted/TileProgram_1x3x1x1_32.h"
#include "emitted/TileProgram_1x3x1x1_64.h"
#include "emitted/TileProgram_1x3x1x1_8.h"
#include "emitted/TileProgram_1x6x1x1at1_8.h"
#include "emitted/TileProgram_1x9x1x1at2_16.h"
#include "emitted/TileProgram_2x1x1x1_8.h"
#include "emitted/TileProgram_31x1x1x1_16.h"
#include "emitted/TileProgram_31x1x1x1_32.h"
#include "emitted/TileProgram_3x1x1x1_16.h"
#include "emitted/TileProgram_3x1x1x1_32.h"
#include "emitted/TileProgram_3x1x1x1_64.h"
#include "emitted/TileProgram_3x1x1x1_8.h"
#include "emitted/TileProgram_6x1x1x1_16.h"
#include "emitted/TileProgram_9x1x1x1at8_8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

/** The kernel of windows along one axis (LineKernel.h), run by the host. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckSlabs;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;
constexpr auto Pair = KeyPacking::Pair;
constexpr auto HalfPair = KeyPacking::HalfPair;
constexpr auto Single = KeyPacking::Single;

/** Runs every thread of every block. */
template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
RunLines(KernelArguments arguments)
{
  using Kernel = LineKernel<TProgram, TBits, VMapping, VPacking>;
  const auto count = [&](int axis) {
    const auto before = axis == 0 ? arguments.outputOrigin[0] - arguments.gridOrigin : 0;
    return static_cast<std::uint32_t>(DivideUp(before + arguments.outputExtent[axis], Kernel::Kernel::GetBlock(axis)));
  };
  arguments.blocksZ = count(2);
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  for (std::uint32_t z = 0; z < count(2) * count(3); ++z)
  {
    for (std::uint32_t y = 0; y < count(1); ++y)
    {
      for (std::uint32_t x = 0; x < count(0); ++x)
      {
        for (unsigned int thread = 0; thread < Kernel::Threads; ++thread)
        {
          Kernel::Run(arguments, x, y, z, thread);
        }
      }
    }
  }
}

/** Images smaller and larger than a block, with ends of rows at all places of a vector, in one slab and in several. */
template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking>
void
CheckLines(PixelType type, std::int64_t rank = -1, std::int64_t shorter = 0)
{
  constexpr int axis = LineShape<TProgram>::Axis;
  Extent        fewer{ { 0, 0, 0, 0 } };
  fewer[axis] = shorter;
  const Window window({ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } }, fewer, rank);
  SCOPED_TRACE("size " + std::to_string(window.GetSize(axis)) + " along axis " + std::to_string(axis));
  const std::vector<Extent> sizes{ { { 1, 1, 1, 1 } },   { { 1, 41, 1, 1 } },  { { 3, 2, 1, 1 } },
                                   { { 14, 5, 1, 1 } },  { { 37, 67, 1, 1 } }, { { 64, 3, 2, 2 } },
                                   { { 531, 2, 1, 1 } }, { { 13, 11, 7, 2 } }, { { 18, 2, 35, 1 } },
                                   { { 9, 2, 2, 19 } } };
  for (const auto & size : sizes)
  {
    for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 8000 } })
    {
      CheckSlabs<TBits, VMapping>(size, window, type, budget, RunLines<TProgram, TBits, VMapping, VPacking>);
    }
  }
}

/** The launch shape that the host computes is the one the kernel has. */
template <typename TProgram, typename TBits, KeyPacking VPacking>
void
CheckShape(int computeCapability)
{
  using Kernel = typename LineKernel<TProgram, TBits, Integer, VPacking>::Kernel;
  const Window window(Extent{ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } });
  ASSERT_TRUE(IsFilteredInLines(window));
  const auto kind = GetKernelKind(static_cast<int>(sizeof(TBits)), computeCapability);
  const auto policy = GetKernelPolicy(window, kind, GetArchitectureTraits(computeCapability));
  const auto shape = GetKernelShape(window, policy, kind, BuildKernelProgram(window, policy, kind));
  EXPECT_EQ(static_cast<int>(GetLinePacking(kind.packing)), static_cast<int>(VPacking));
  EXPECT_EQ(shape.threads, static_cast<int>(Kernel::Threads));
  EXPECT_EQ(shape.sharedBytes, 0);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    EXPECT_EQ(shape.block[axis], Kernel::GetBlock(axis)) << axis;
  }
}

/** Filters an image by a backend, and says how. */
std::string
Filter(MedianRequest                      request,
       Backend                            backend,
       const std::vector<unsigned char> & image,
       std::vector<unsigned char> &       result)
{
  result.assign(image.size(), 0);
  request.backend = backend;
  request.algorithm = Algorithm::TileProgram;
  request.input = image.data();
  request.output = result.data();
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * request.outputExtent[axis - 1];
  }
  return RunMedian(request).algorithm;
}

} // namespace

TEST(CudaMedianLineKernels, AlongRows)
{
  CheckLines<TileProgram_3x1x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8);
  CheckLines<TileProgram_3x1x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8);
  CheckLines<TileProgram_3x1x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16);
  CheckLines<TileProgram_3x1x1x1_32Single, std::uint32_t, Float, Single>(PixelType::Float32);
  CheckLines<TileProgram_3x1x1x1_64Single, std::uint64_t, Float, Single>(PixelType::Float64);
  CheckLines<TileProgram_15x1x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8);
  CheckLines<TileProgram_15x1x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16);
  CheckLines<TileProgram_15x1x1x1_32Single, std::uint32_t, Integer, Single>(PixelType::UInt32);
  CheckLines<TileProgram_31x1x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16);
  CheckLines<TileProgram_31x1x1x1_32Single, std::uint32_t, Float, Single>(PixelType::Float32);
}

TEST(CudaMedianLineKernels, AcrossRows)
{
  CheckLines<TileProgram_1x3x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8);
  CheckLines<TileProgram_1x3x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8);
  CheckLines<TileProgram_1x3x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16);
  CheckLines<TileProgram_1x3x1x1_32Single, std::uint32_t, Float, Single>(PixelType::Float32);
  CheckLines<TileProgram_1x3x1x1_64Single, std::uint64_t, Integer, Single>(PixelType::Int64);
  CheckLines<TileProgram_1x15x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8);
  CheckLines<TileProgram_1x15x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16);
  CheckLines<TileProgram_1x15x1x1_32Single, std::uint32_t, Integer, Single>(PixelType::Int32);
  CheckLines<TileProgram_1x21x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8);
}

TEST(CudaMedianLineKernels, AcrossSlicesAndVolumes)
{
  CheckLines<TileProgram_1x1x3x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16);
  CheckLines<TileProgram_1x1x3x1_32Single, std::uint32_t, Float, Single>(PixelType::Float32);
  CheckLines<TileProgram_1x1x1x3_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8);
}

// Code for sm_75 and sm_80.
TEST(CudaMedianLineKernels, OtherPackings)
{
  CheckLines<TileProgram_3x1x1x1_8HalfPair, std::uint8_t, Integer, HalfPair>(PixelType::Int8);
  CheckLines<TileProgram_3x1x1x1_8Single, std::uint8_t, Integer, Single>(PixelType::UInt8);
  CheckLines<TileProgram_3x1x1x1_16BFloatPair, std::uint16_t, Integer, Single>(PixelType::Int16);
  CheckLines<TileProgram_1x3x1x1_8HalfPair, std::uint8_t, Integer, HalfPair>(PixelType::UInt8);
  CheckLines<TileProgram_1x15x1x1_8HalfPair, std::uint8_t, Integer, HalfPair>(PixelType::Int8);
  CheckLines<TileProgram_1x15x1x1_8Single, std::uint8_t, Integer, Single>(PixelType::Int8);
  CheckLines<TileProgram_1x15x1x1_16BFloatPair, std::uint16_t, Integer, Single>(PixelType::UInt16);
}

TEST(CudaMedianLineKernels, OtherRanksAndEvenSizes)
{
  CheckLines<TileProgram_9x1x1x1at8_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8, 8);
  CheckLines<TileProgram_1x9x1x1at2_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16, 2);
  CheckLines<TileProgram_2x1x1x1_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8, -1, 1);
  CheckLines<TileProgram_6x1x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16, -1, 1);
  CheckLines<TileProgram_1x2x1x1_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16, -1, 1);
  CheckLines<TileProgram_1x6x1x1at1_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8, 1, 1);
}

TEST(CudaMedianLineKernels, ShapeIsThatOfThePolicy)
{
  CheckShape<TileProgram_3x1x1x1_8Pair, std::uint8_t, Pair>(90);
  CheckShape<TileProgram_3x1x1x1_8Single, std::uint8_t, Single>(75);
  CheckShape<TileProgram_15x1x1x1_16Pair, std::uint16_t, Pair>(90);
  CheckShape<TileProgram_15x1x1x1_16BFloatPair, std::uint16_t, Single>(80);
  CheckShape<TileProgram_3x1x1x1_64Single, std::uint64_t, Single>(90);
  CheckShape<TileProgram_1x15x1x1_8Pair, std::uint8_t, Pair>(90);
  CheckShape<TileProgram_1x1x3x1_32Single, std::uint32_t, Single>(90);
  CheckShape<TileProgram_1x1x1x3_8HalfPair, std::uint8_t, HalfPair>(80);
}

TEST(CudaMedianLineKernels, WindowsAlongOneAxisAreFilteredInLines)
{
  EXPECT_TRUE(IsFilteredInLines(Extent{ { 0, 31, 0, 0 } }));
  EXPECT_TRUE(IsFilteredInLines(Window(Extent{ { 0, 0, 1, 0 } }, Extent{ { 0, 0, 1, 0 } }, 0)));
  EXPECT_FALSE(IsFilteredInLines(Extent{ { 32, 0, 0, 0 } }));
  EXPECT_FALSE(IsFilteredInLines(Extent{ { 1, 1, 0, 0 } }));
  EXPECT_FALSE(IsFilteredInLines(Extent{ { 0, 0, 0, 0 } }));
  EXPECT_FALSE(IsFilteredInLines(Window(Footprint::MakeCross({ { 0, 2, 0, 0 } }), -1)));
}

TEST(CudaMedianLineKernels, SourceNamesTheKernelAndThePacking)
{
  const auto write = [](const Extent & radius, int pixelBytes, int architecture, bool isForFamily) {
    const auto     kind = GetKernelKind(pixelBytes, architecture, isForFamily);
    const auto     policy = GetKernelPolicy(radius, kind, GetH200Traits());
    EmittedProgram count;
    return MakeKernelSource(BuildKernelProgram(radius, policy, kind), policy, kind, false, count);
  };
  EXPECT_NE(write({ { 0, 2, 0, 0 } }, 2, 90, false)
              .find("LineKernel<Program, std::uint16_t, KeyMapping::Integer, KeyPacking::Pair>"),
            std::string::npos);
  EXPECT_NE(write({ { 2, 0, 0, 0 } }, 2, 86, false).find("KeyPacking::Single>"), std::string::npos);
  EXPECT_NE(write({ { 2, 0, 0, 0 } }, 1, 120, true).find("KeyPacking::Pair>"), std::string::npos);
  EXPECT_EQ(write({ { 2, 2, 0, 0 } }, 2, 90, false).find("LineKernel"), std::string::npos);
}

// Compiled at first use where there is NVRTC, in slabs, with borders that copies hold and those that kernels clamp to.
TEST(CudaMedianLineKernels, DevicesFindWhatTheHostFinds)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto type :
       { PixelType::UInt8, PixelType::Int8, PixelType::Int16, PixelType::Float32, PixelType::Float64 })
  {
    for (const Extent & radius : { Extent{ { 1, 0, 0, 0 } },
                                   Extent{ { 7, 0, 0, 0 } },
                                   Extent{ { 0, 4, 0, 0 } },
                                   Extent{ { 0, 0, 2, 0 } },
                                   Extent{ { 0, 0, 0, 1 } } })
    {
      MedianRequest request;
      request.pixelType = type;
      request.radius = radius;
      request.inputExtent = { { 270 + static_cast<std::int64_t>(random() % 40), 67, 9, 3 } };
      request.outputOrigin = { { static_cast<std::int64_t>(random() % 20), 3, 1, 0 } };
      request.outputExtent = { { 233, 61, 7, 3 } };
      request.rank = random() % 2 == 0 ? -1 : 1;
      request.deviceMemoryBudget = random() % 2 == 0 ? 0 : std::size_t{ 1 } << 20;
      if (random() % 3 == 0)
      {
        request.border.fill(Border::Reflect);
      }
      std::vector<unsigned char> image(static_cast<std::size_t>(Volume(request.inputExtent)) * PixelBytes(type));
      for (auto & byte : image)
      {
        byte = static_cast<unsigned char>(random());
      }
      std::vector<unsigned char> expected;
      std::vector<unsigned char> found;
      Filter(request, Backend::Cpu, image, expected);
      const auto how = Filter(request, Backend::Cuda, image, found);
      EXPECT_EQ(how.find("tile program"), 0U) << how;
      EXPECT_TRUE(found == expected) << ToString(type) << ", radius " << radius[0] << "x" << radius[1] << "x"
                                     << radius[2] << "x" << radius[3] << ", rank " << request.rank << ", " << how;
    }
  }
}
