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
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "ExtremumSteps.h"

#include <algorithm>

/** Reduction along axes, its kernels' own code run by the host: blocks and threads are loops. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckSlabs;

/** Between barriers no thread depends on another's turn. */
struct ReversedThreads
{
  template <typename TFunction>
  void
  ForEachThread(const TFunction & function) const
  {
    for (int thread = extremumThreads - 1; thread >= 0; --thread)
    {
      function(thread);
    }
  }
  void
  Synchronize() const
  {}
};

/** Runs a kernel; its shared memory lies between guards. */
template <typename TBits, KeyMapping VMapping>
bool
RunKernel(const ExtremumArguments & arguments)
{
  using Block = ExtremumBlock<TBits, VMapping>;
  using Word = typename Block::Word;
  constexpr std::size_t guard = 8;
  const auto            unwritten = static_cast<Word>(0x5A5A5A5A5A5A5A5AULL);
  const auto            words = static_cast<std::size_t>(arguments.shape.sharedBytes) / sizeof(Word);
  const auto            blocks = arguments.blocks[0] * arguments.blocks[1] * arguments.blocks[2] * arguments.blocks[3];
  for (std::int64_t number = 0; number < blocks; ++number)
  {
    std::vector<Word> shared(words + 2 * guard, unwritten);
    RunExtremumBlock(ReversedThreads{}, Block(arguments, number, shared.data() + guard));
    const bool isKept =
      std::all_of(shared.begin(), shared.begin() + guard, [=](Word word) { return word == unwritten; }) &&
      std::all_of(shared.end() - guard, shared.end(), [=](Word word) { return word == unwritten; });
    if (!isKept)
    {
      return true;
    }
  }
  return false;
}

/** The reach of a window in an image. */
ExtremumReach
GetReach(const Window & window, const Extent & extent)
{
  MedianRequest request;
  request.inputExtent = extent;
  request.radius = window.radius;
  request.shorter = window.shorter;
  return GetExtremumReach(request);
}

/** A device with so much shared memory for a block. */
DeviceTraits
GetDevice(int sharedBytes)
{
  auto device = GetTraits(*FindDeviceProfile("h200"));
  device.blockSharedBytes = std::min(device.blockSharedBytes, sharedBytes);
  return device;
}

/** Checks least and greatest values with blocks of several sizes, down to some that take many passes.
 *
 * \returns the most passes of them. */
template <typename TBits, KeyMapping VMapping>
std::size_t
CheckWindow(const Extent & extent, const Extent & radius, const Extent & shorter, PixelType type)
{
  std::size_t most = 0;
  for (const int sharedBytes : { 227 << 10, 48 << 10, 3000 })
  {
    for (const bool isMax : { false, true })
    {
      Window window(radius, shorter, 0);
      window.rank = isMax ? window.CountPixels() - 1 : 0;
      const auto passes = ChooseExtremumPasses(GetReach(window, extent), extent, sizeof(TBits), GetDevice(sharedBytes));
      EXPECT_FALSE(passes.shapes.empty());
      most = std::max(most, passes.shapes.size());
      for (const auto & shape : passes.shapes)
      {
        EXPECT_LE(shape.sharedBytes, sharedBytes);
      }
      // All outputs at once, and regions of few.
      const auto least =
        CountExtremumBuffer(passes.shapes, { { 3, 2, 1, 1 } }, extent, GetDevicePitch(1, sizeof(TBits)));
      const auto whole = CountExtremumBuffer(passes.shapes, extent, extent, GetDevicePitch(1, sizeof(TBits)));
      for (const auto pixels : { whole, least })
      {
        const auto         scratchBytes = static_cast<std::size_t>(2 * RoundUp(pixels * sizeof(TBits), 16));
        std::vector<TBits> scratch(scratchBytes / sizeof(TBits), static_cast<TBits>(0x5A5A5A5A5A5A5A5AULL));
        SCOPED_TRACE(testing::Message() << "radius " << Join(radius) << ", " << sharedBytes << " bytes shared, "
                                        << scratchBytes << " scratch, maximum " << isMax);
        CheckSlabs<TBits, VMapping>(extent, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & slab) {
          const ExtremumSteps steps(slab, passes.shapes, sizeof(TBits));
          EXPECT_FALSE(steps.Run(scratch.data(), scratchBytes, true, RunKernel<TBits, VMapping>));
        });
      }
    }
  }
  return most;
}

template <typename TBits, KeyMapping VMapping>
void
CheckWindows(PixelType type)
{
  const std::vector<std::pair<Extent, Extent>> cases{
    { { { 1, 1, 1, 1 } }, { { 9, 9, 0, 0 } } },    { { { 41, 37, 1, 1 } }, { { 1, 1, 0, 0 } } },
    { { { 67, 41, 1, 1 } }, { { 9, 9, 0, 0 } } },  { { { 41, 37, 1, 1 } }, { { 0, 6, 0, 0 } } },
    { { { 41, 37, 1, 1 } }, { { 7, 0, 0, 0 } } },  { { { 3, 4, 1, 1 } }, { { 15, 12, 0, 0 } } },
    { { { 150, 9, 1, 1 } }, { { 36, 2, 0, 0 } } }, { { { 9, 90, 1, 1 } }, { { 2, 35, 0, 0 } } },
    { { { 13, 9, 11, 2 } }, { { 2, 2, 3, 0 } } },  { { { 5, 9, 4, 8 } }, { { 2, 0, 0, 3 } } },
    { { { 7, 6, 5, 4 } }, { { 1, 1, 1, 1 } } },    { { { 1, 5, 33, 2 } }, { { 0, 0, 5, 0 } } }
  };
  std::size_t most = 0;
  for (const auto & [extent, radius] : cases)
  {
    most = std::max(most, CheckWindow<TBits, VMapping>(extent, radius, {}, type));
    Extent shorter{};
    for (int axis = 0; axis < Dimension; ++axis)
    {
      shorter[axis] = radius[axis] > 0 ? 1 : 0;
    }
    CheckWindow<TBits, VMapping>(extent, radius, shorter, type);
  }
  EXPECT_GT(most, 1U) << "no window took several passes";
}

TEST(CudaMedianExtremumKernels, Keys8)
{
  CheckWindows<std::uint8_t, KeyMapping::Integer>(PixelType::Int8);
}
TEST(CudaMedianExtremumKernels, Keys16)
{
  CheckWindows<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16);
}
TEST(CudaMedianExtremumKernels, Keys32)
{
  CheckWindows<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckWindows<std::uint32_t, KeyMapping::Integer>(PixelType::Int32);
}
TEST(CudaMedianExtremumKernels, Keys64)
{
  CheckWindows<std::uint64_t, KeyMapping::Integer>(PixelType::Int64);
  CheckWindows<std::uint64_t, KeyMapping::Float>(PixelType::Float64);
}

/** Windows far longer than a block's shared memory have parts, several along one axis. */
TEST(CudaMedianExtremumKernels, LongWindowsHaveParts)
{
  EXPECT_GT((CheckWindow<std::uint16_t, KeyMapping::Integer>(
              { { 9, 900, 1, 1 } }, { { 0, 870, 0, 0 } }, { { 0, 1, 0, 0 } }, PixelType::Int16)),
            2U);
  EXPECT_GT((CheckWindow<std::uint64_t, KeyMapping::Integer>(
              { { 700, 2, 1, 1 } }, { { 340, 0, 0, 0 } }, { { 0, 0, 0, 0 } }, PixelType::UInt64)),
            1U);
}

/** Every size of a window along an axis: what lies in words changes with each. */
TEST(CudaMedianExtremumKernels, EverySize)
{
  for (std::int64_t radius = 1; radius <= 36; ++radius)
  {
    CheckWindow<std::uint8_t, KeyMapping::Integer>(
      { { 83, 2, 1, 1 } }, { { radius, 0, 0, 0 } }, { { radius % 2, 0, 0, 0 } }, PixelType::UInt8);
    CheckWindow<std::uint16_t, KeyMapping::Integer>(
      { { 83, 2, 1, 1 } }, { { radius, 0, 0, 0 } }, { { radius % 3 % 2, 0, 0, 0 } }, PixelType::Int16);
    CheckWindow<std::uint16_t, KeyMapping::Integer>(
      { { 3, 79, 1, 1 } }, { { 0, radius, 0, 0 } }, { { 0, radius % 2, 0, 0 } }, PixelType::UInt16);
  }
}

/** Too little scratch memory is said, and nothing is launched. */
TEST(CudaMedianExtremumKernels, ScratchMemoryIsAsked)
{
  const Extent extent{ { 64, 64, 1, 1 } };
  const auto   passes = ChooseExtremumPasses(GetReach(Extent{ { 20, 20, 0, 0 } }, extent), extent, 2, GetDevice(3000));
  ASSERT_GT(passes.shapes.size(), 1U);
  EXPECT_EQ(Volume(ChooseExtremumRegion(passes.shapes, extent, extent, 2, 64)), 0);
  KernelArguments slab{};
  std::copy(extent.begin(), extent.end(), slab.inputExtent);
  std::copy(extent.begin(), extent.end(), slab.outputExtent);
  int launches = 0;
  EXPECT_TRUE(ExtremumSteps(slab, passes.shapes, 2).Run(nullptr, 64, true, [&](const ExtremumArguments &) {
    ++launches;
    return false;
  }));
  EXPECT_EQ(launches, 0);
}

/** Windows that the device can take whole have one kernel. */
TEST(CudaMedianExtremumKernels, SmallWindowsTakeOnePass)
{
  const Extent flat{ { 6720, 4480, 1, 1 } };
  const Extent deep{ { 512, 512, 256, 1 } };
  for (const int pixelBytes : { 1, 2, 4 })
  {
    for (const std::int64_t radius : { 1, 2, 3, 7, 15 })
    {
      const auto passes =
        ChooseExtremumPasses(GetReach(Extent{ { radius, radius, 0, 0 } }, flat), flat, pixelBytes, GetDevice(1 << 20));
      EXPECT_EQ(passes.shapes.size(), 1U) << pixelBytes << " bytes, radius " << radius;
    }
    const auto passes =
      ChooseExtremumPasses(GetReach(Extent{ { 1, 1, 1, 0 } }, deep), deep, pixelBytes, GetDevice(1 << 20));
    EXPECT_EQ(passes.shapes.size(), 1U) << pixelBytes << " bytes";
  }
}

/** A request for least or greatest values of a whole image. */
MedianRequest
MakeRequest(PixelType type, const Extent & extent, const Extent & radius, bool isMax)
{
  MedianRequest request;
  request.pixelType = type;
  request.inputExtent = request.outputExtent = extent;
  request.outputStride = GetPackedStride(extent);
  request.radius = radius;
  request.rank = isMax ? Window(radius).CountPixels() - 1 : 0;
  return request;
}

/** Images and windows, and a budget that does not hold the largest image and its extremes at once. */
const std::vector<std::pair<Extent, Extent>> deviceCases{
  { { { 1013, 517, 1, 1 } }, { { 2, 2, 0, 0 } } },    { { { 1013, 517, 1, 1 } }, { { 15, 15, 0, 0 } } },
  { { { 1013, 517, 1, 1 } }, { { 60, 200, 0, 0 } } }, { { { 1013, 517, 1, 1 } }, { { 900, 3, 0, 0 } } },
  { { { 131, 67, 45, 1 } }, { { 4, 4, 4, 0 } } },     { { { 131, 67, 45, 1 } }, { { 0, 20, 30, 0 } } },
  { { { 31, 23, 9, 7 } }, { { 1, 1, 1, 1 } } },       { { { 3, 2, 1, 1 } }, { { 40, 1, 0, 0 } } }
};
constexpr std::size_t smallBudget = std::size_t{ 6 } << 20;

/** The planner takes it for each window but small ones, and what it keeps between passes is within the budget. */
TEST(CudaMedianExtremumKernels, PlansTakeIt)
{
  std::size_t mostSlabs = 0;
  for (const auto type : allPixelTypes)
  {
    for (const auto & [extent, radius] : deviceCases)
    {
      for (const auto budget : { std::size_t{ 1 } << 30, smallBudget })
      {
        const auto plan = PlanMedian(MakeRequest(type, extent, radius, true), Backend::Cuda, budget);
        // A small window's tile program is faster.
        const bool isSmall = radius == Extent{ { 2, 2, 0, 0 } };
        EXPECT_EQ(plan.candidate.algorithm, isSmall ? Algorithm::TileProgram : Algorithm::Extremum)
          << ToString(type) << " " << Join(extent) << " radius " << Join(radius) << ": " << plan.algorithmReason;
        EXPECT_LE(plan.GetDeviceBytes(), budget);
        mostSlabs = std::max(mostSlabs, plan.slabs.size());
      }
    }
  }
  EXPECT_GT(mostSlabs, 1U);
  // Other ranks are refused in words.
  auto request = MakeRequest(PixelType::UInt8, { { 64, 64, 1, 1 } }, { { 1, 1, 0, 0 } }, false);
  request.rank = 3;
  request.algorithm = Algorithm::Extremum;
  EXPECT_THROW(PlanMedian(request, Backend::Cuda, std::size_t{ 1 } << 30), RequestError);
}

/** Extremes of a random image, found on a backend. */
template <typename TBits>
std::vector<TBits>
Filter(const std::vector<TBits> & input, MedianRequest request, Backend backend)
{
  std::vector<TBits> output(input.size());
  request.input = input.data();
  request.output = output.data();
  request.backend = backend;
  const auto report = RunMedian(request);
  EXPECT_EQ(report.backend, ToString(backend));
  EXPECT_EQ(report.algorithm.rfind(ToString(Algorithm::Extremum), 0), 0U) << report.algorithmReason;
  return output;
}

/** Takes a GPU: every pixel type, in one pass and in several, in one slab and in several. */
TEST(CudaMedianExtremumKernels, OnADeviceEqualsTheHost)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto type : allPixelTypes)
  {
    DispatchKeys(GetKeyFormat(type), [&](auto key) {
      using Bits = typename decltype(key)::Bits;
      for (const auto & [extent, radius] : deviceCases)
      {
        std::vector<Bits> input(static_cast<std::size_t>(Volume(extent)));
        std::generate(input.begin(), input.end(), [&] { return static_cast<Bits>(random()); });
        for (const bool isMax : { false, true })
        {
          auto request = MakeRequest(type, extent, radius, isMax);
          request.algorithm = Algorithm::Extremum; // a small window's tile program is faster
          const auto expected = Filter(input, request, Backend::Cpu);
          EXPECT_TRUE(Filter(input, request, Backend::Cuda) == expected)
            << ToString(type) << " " << Join(extent) << " radius " << Join(radius) << " maximum " << isMax;
          request.deviceMemoryBudget = smallBudget;
          EXPECT_TRUE(Filter(input, request, Backend::Cuda) == expected)
            << ToString(type) << " " << Join(extent) << " radius " << Join(radius) << " maximum " << isMax << ", slabs";
        }
      }
    });
  }
}

} // namespace
