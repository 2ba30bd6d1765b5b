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
#include "CudaMedianTestMaskedCases.h"
#include "CudaMedianTestSeed.h"
#include "DeviceProfiles.h"
#include "KernelPolicy.h"
#include "KernelProgram.h"
#include "MaskedRequest.h"
#include "MaskedTileKernel.h"
#include "MaskedTiles.h"
#include "emitted/TileProgram_3x3x1x1at0to4_16.h"
#include "emitted/TileProgram_3x3x1x1at0to4_32.h"
#include "emitted/TileProgram_3x3x1x1at0to4_8.h"
#include "emitted/TileProgram_3x3x1x1at2to5_16.h"
#include "emitted/TileProgram_3x3x1x1at3to6_16.h"
#include "emitted/TileProgram_3x3x1x1at3to6_32.h"
#include "emitted/TileProgram_3x3x1x1at3to6_8.h"
#include "emitted/TileProgram_3x3x3x1at0to13_16.h"
#include "emitted/TileProgram_3x3x3x1at0to13_32.h"
#include "emitted/TileProgram_3x3x3x1at9to18_16.h"
#include "emitted/TileProgram_3x3x3x1at9to18_32.h"
#include "emitted/TileProgram_5x5x1x1at10to15_16.h"
#include "emitted/TileProgram_5x5x1x1at10to15_32.h"
#include "emitted/TileProgram_5x5x1x1at10to15_8.h"
#include "emitted/TileProgram_7x7x1x1at21to28_16.h"

#include <gtest/gtest.h>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

constexpr auto Integer = KeyMapping::Integer;
constexpr auto Float = KeyMapping::Float;
constexpr auto Pair = KeyPacking::Pair;
constexpr auto HalfPair = KeyPacking::HalfPair;
constexpr auto Single = KeyPacking::Single;

/** A type as a value. */
template <typename TKernel>
struct KernelType
{
  using Type = TKernel;
};

/** Runs every block over a box of outputs. */
template <typename TKernel>
void
RunBox(KernelArguments arguments, const MaskRules & rules, const Extent & origin, const Extent & extent)
{
  constexpr auto                vector = 16 / static_cast<std::int32_t>(sizeof(typename TKernel::PixelBits));
  std::vector<std::uint32_t>    shared(TKernel::SharedBytes / 4);
  HostThreads<TKernel::Threads> threads;
  std::int64_t                  offset = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.outputOrigin[axis] = static_cast<std::int32_t>(origin[axis]);
    arguments.outputExtent[axis] = static_cast<std::int32_t>(extent[axis]);
    offset += (axis == 0 ? origin[0] / vector * vector : origin[axis]) * arguments.outputPitch[axis];
  }
  arguments.gridOrigin = arguments.outputOrigin[0] / vector * vector;
  arguments.output = static_cast<typename TKernel::PixelBits *>(arguments.output) + offset;
  arguments.blocksZ = CountBlocks(extent[2], TKernel::Program::TileZ);
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  const auto blocksX = CountBlocks(origin[0] + extent[0] - arguments.gridOrigin, TKernel::BlockWidth);
  for (std::uint32_t z = 0; z < arguments.blocksZ * CountBlocks(extent[3], TKernel::Program::TileW); ++z)
  {
    for (std::uint32_t y = 0; y < CountBlocks(extent[1], TKernel::BlockHeight); ++y)
    {
      for (std::uint32_t x = 0; x < blocksX; ++x)
      {
        const auto block = TKernel::GetBlock(arguments, rules, x, y, z);
        RunMaskedTileBlock<TKernel>(threads, arguments, block, shared.data());
      }
    }
  }
}

/** A random image whose rows are whole vectors, with rules that kernels can be told. */
MaskedCase
DrawRequest(std::mt19937_64 & random, PixelType type, const Extent & radius, EvenMedian even)
{
  const auto draw = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  MaskedCase drawn;
  auto &     request = drawn.base.request;
  drawn.base.bytes = PixelBytes(type);
  request.pixelType = type;
  const bool isSolid = radius[2] > 0 || draw(3) == 0;
  request.inputExtent = { { 16 * (1 + draw(isSolid ? 5 : 20)),
                            1 + draw(isSolid ? 12 : 40),
                            isSolid ? 1 + draw(6) : 1,
                            isSolid ? 1 + draw(1) : 1 } };
  request.radius = radius;
  request.evenMedian = even;
  request.border.fill(draw(1) == 0 ? Border::ZeroFluxNeumann : Border::Shrink);
  drawn.base.input.resize(static_cast<std::size_t>(Volume(request.inputExtent)) * drawn.base.bytes);
  std::generate(drawn.base.input.begin(), drawn.base.input.end(), [&] { return static_cast<char>(random()); });
  if (draw(1) == 0)
  {
    DrawFewValues(random, drawn.base);
  }
  request.input = drawn.base.input.data();
  DrawRules(random, drawn);
  auto & rules = request.validity;
  rules.maskStride = {};
  if (rules.mask != nullptr)
  {
    // Of bytes, in some images all zeros or ones but for stretches.
    drawn.mask.resize(static_cast<std::size_t>(Volume(request.inputExtent)));
    const bool isLong = draw(1) == 0;
    char       last = 0;
    for (auto & byte : drawn.mask)
    {
      last = !isLong || draw(20) == 0 ? static_cast<char>(draw(2) == 0 ? random() : 0) : last;
      byte = last;
    }
    rules.mask = drawn.mask.data();
    rules.maskPixelBytes = 1;
  }
  else if (!rules.hasIgnoredValue && !rules.omitsNaN)
  {
    request.border.fill(Border::Shrink);
  }
  request.outputExtent = request.inputExtent;
  request.outputStride = GetPackedStride(request.inputExtent);
  drawn.base.output.assign(drawn.base.input.size(), 0);
  request.output = drawn.base.output.data();
  drawn.base.text = std::string(ToString(type)) + " extent " + Join(request.inputExtent) + " radius " + Join(radius) +
                    " border " + ToString(request.border[0]) + " even " + ToString(request.evenMedian) + " mask " +
                    std::to_string(rules.mask != nullptr) + " ignored " + std::to_string(rules.hasIgnoredValue) +
                    " NaN " + std::to_string(rules.omitsNaN) + " empty " + ToString(rules.emptyWindow) + " invalid " +
                    ToString(rules.invalidOutput);
  return drawn;
}

/** Runs a case in one box of outputs, or in four. */
template <typename TKernel>
void
Run(std::mt19937_64 & random, const MedianRequest & request)
{
  KernelArguments arguments{};
  const auto      stride = GetPackedStride(request.inputExtent);
  arguments.input = request.input;
  arguments.output = request.output;
  arguments.signMask = GetSignMask(request.pixelType);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = stride[axis];
    arguments.inputExtent[axis] = static_cast<std::int32_t>(request.inputExtent[axis]);
  }
  ASSERT_TRUE(AreReadByTiles(request));
  const auto rules = MakeMaskRules(request);
  const auto cut = random() % 2 == 0 ? request.outputExtent[0] : 1 + static_cast<std::int64_t>(random() % 40);
  const auto cutRow = random() % 2 == 0 ? request.outputExtent[1] : 1 + static_cast<std::int64_t>(random() % 10);
  for (std::int64_t x = 0; x < request.outputExtent[0]; x = x == 0 ? cut : request.outputExtent[0])
  {
    for (std::int64_t y = 0; y < request.outputExtent[1]; y = y == 0 ? cutRow : request.outputExtent[1])
    {
      auto extent = request.outputExtent;
      extent[0] = x == 0 ? std::min(cut, extent[0]) : extent[0] - x;
      extent[1] = y == 0 ? std::min(cutRow, extent[1]) : extent[1] - y;
      RunBox<TKernel>(arguments, rules, { { x, y, 0, 0 } }, extent);
    }
  }
}

template <typename TProgram, typename TBits, KeyMapping VMapping, KeyPacking VPacking, bool VHasTurns = true>
void
Check(PixelType type, int cases, EvenMedian even = EvenMedian::Upper)
{
  using Kernel = MaskedTileKernel<TProgram, TBits, VMapping, VPacking, VHasTurns>;
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  const Extent    radius{ { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } };
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i)
  {
    auto drawn = DrawRequest(random, type, radius, even);
    SCOPED_TRACE(drawn.base.text);
    Run<Kernel>(random, drawn.base.request);
    CompareValid(drawn.base);
  }
}

} // namespace

// The host allows a kernel the shared memory that it counts.
TEST(CudaMedianMaskedTiles, HostCountsTheSharedMemory)
{
  const auto check = [](auto kernel, const Window & window, int pixelBytes) {
    using Kernel = typename decltype(kernel)::Type;
    const KernelKind kind = GetKernelKind(pixelBytes, 90);
    const auto       policy = GetKernelPolicy(window, kind, GetH200Traits());
    const auto       program = BuildKernelProgram(window, policy, kind);
    ASSERT_TRUE(CanReadMasks(window, policy, kind, program));
    const auto shape = GetMaskedShape(window, policy, kind, program);
    EXPECT_EQ(shape.sharedBytes, Kernel::SharedBytes);
    EXPECT_EQ(shape.threads, Kernel::Threads);
    EXPECT_EQ(shape.block[0], Kernel::BlockWidth);
    EXPECT_EQ(shape.block[1], Kernel::BlockHeight);
  };
  const auto getWindow = [](const Extent & radius) {
    Window     window(radius);
    const auto lines = window.CountPixels() / window.GetSize(0);
    window.rank = (window.CountPixels() - lines) / 2;
    window.ranks = lines + 1;
    return GetMaskedWindow(window);
  };
  check(KernelType<MaskedTileKernel<TileProgram_3x3x1x1at0to4_8Pair, std::uint8_t, Integer, Pair, false>>(),
        getWindow({ { 1, 1, 0, 0 } }),
        1);
  check(KernelType<MaskedTileKernel<TileProgram_3x3x3x1at0to13_32Single, std::uint32_t, Float, Single, false>>(),
        getWindow({ { 1, 1, 1, 0 } }),
        4);
  check(KernelType<MaskedTileKernel<TileProgram_5x5x1x1at10to15_32Single, std::uint32_t, Float, Single, true>>(),
        getWindow({ { 2, 2, 0, 0 } }),
        4);
  check(KernelType<MaskedTileKernel<TileProgram_7x7x1x1at21to28_16Pair, std::uint16_t, Integer, Pair, true>>(),
        getWindow({ { 3, 3, 0, 0 } }),
        2);
}

// Kernels that could not be are refused.
TEST(CudaMedianMaskedTiles, OtherPrograms)
{
  const auto canRead = [](const Window & window, int pixelBytes, int architecture) {
    const KernelKind kind = GetKernelKind(pixelBytes, architecture);
    const auto       policy = GetKernelPolicy(window, kind, GetH200Traits());
    return CanReadMasks(window, policy, kind, BuildKernelProgram(window, policy, kind));
  };
  Window window(Extent{ { 1, 1, 0, 0 } });
  EXPECT_FALSE(canRead(window, 2, 90)); // one rank
  window.rank = 3;
  window.ranks = 4;
  EXPECT_TRUE(canRead(window, 2, 90));
  EXPECT_FALSE(canRead(window, 8, 90));
  EXPECT_FALSE(canRead(window, 2, 80)); // keys that are numbered
  EXPECT_TRUE(canRead(window, 2, 75));
  window.ranks = 3;
  EXPECT_FALSE(canRead(window, 2, 90));
  EXPECT_TRUE(canRead(GetMaskedWindow(window), 2, 90));
}

TEST(CudaMedianMaskedTiles, Windows3x3)
{
  Check<TileProgram_3x3x1x1at3to6_8Pair, std::uint8_t, Integer, Pair>(PixelType::UInt8, 60);
  Check<TileProgram_3x3x1x1at3to6_8HalfPair, std::uint8_t, Integer, HalfPair>(PixelType::Int8, 30);
  Check<TileProgram_3x3x1x1at3to6_8Single, std::uint8_t, Integer, Single>(PixelType::Int8, 30);
  Check<TileProgram_3x3x1x1at3to6_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16, 60);
  Check<TileProgram_3x3x1x1at3to6_16Single, std::uint16_t, Integer, Single>(PixelType::UInt16, 30);
  Check<TileProgram_3x3x1x1at2to5_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16, 30, EvenMedian::Lower);
  Check<TileProgram_3x3x1x1at3to6_32Single, std::uint32_t, Float, Single>(PixelType::Float32, 60);
  Check<TileProgram_3x3x1x1at3to6_32Single, std::uint32_t, Integer, Single>(PixelType::Int32, 30);
}

TEST(CudaMedianMaskedTiles, GreatestKeysAlone)
{
  constexpr auto lower = EvenMedian::Lower;
  Check<TileProgram_3x3x1x1at0to4_8Pair, std::uint8_t, Integer, Pair, false>(PixelType::UInt8, 60);
  Check<TileProgram_3x3x1x1at0to4_8HalfPair, std::uint8_t, Integer, HalfPair, false>(PixelType::Int8, 30);
  Check<TileProgram_3x3x1x1at0to4_8Single, std::uint8_t, Integer, Single, false>(PixelType::Int8, 30);
  Check<TileProgram_3x3x1x1at0to4_16Pair, std::uint16_t, Integer, Pair, false>(PixelType::Int16, 60);
  Check<TileProgram_3x3x1x1at0to4_16Pair, std::uint16_t, Integer, Pair, false>(PixelType::UInt16, 60, lower);
  Check<TileProgram_3x3x1x1at0to4_32Single, std::uint32_t, Float, Single, false>(PixelType::Float32, 60);
  Check<TileProgram_3x3x3x1at0to13_16Pair, std::uint16_t, Integer, Pair, false>(PixelType::Int16, 30, lower);
  Check<TileProgram_3x3x3x1at0to13_32Single, std::uint32_t, Float, Single, false>(PixelType::Float32, 30);
}

TEST(CudaMedianMaskedTiles, OtherWindows)
{
  Check<TileProgram_5x5x1x1at10to15_8Pair, std::uint8_t, Integer, Pair>(PixelType::Int8, 30);
  Check<TileProgram_5x5x1x1at10to15_16Pair, std::uint16_t, Integer, Pair>(PixelType::UInt16, 30);
  Check<TileProgram_5x5x1x1at10to15_32Single, std::uint32_t, Float, Single>(PixelType::Float32, 30);
  Check<TileProgram_7x7x1x1at21to28_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16, 20);
  Check<TileProgram_3x3x3x1at9to18_16Pair, std::uint16_t, Integer, Pair>(PixelType::Int16, 30);
  Check<TileProgram_3x3x3x1at9to18_32Single, std::uint32_t, Float, Single>(PixelType::Float32, 30);
}
