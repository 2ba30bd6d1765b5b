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
#include "CudaMedianTestPlans.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "ExtremumHostKernels.h"
#include "ExtremumOffers.h"
#include "ExtremumTuning.h"

#include <algorithm>
#include <cstring>

/** Reduction along axes, its kernels' own code run by the host: blocks and threads are loops. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckShape;
using cudamediantest::CheckSlabs;
using cudamediantest::GetReach;
using cudamediantest::RunKernel;

/** A device with so much shared memory for a block. */
DeviceTraits
GetDevice(int sharedBytes)
{
  auto device = GetTraits(*FindDeviceProfile("h200"));
  device.blockSharedBytes = std::min(device.blockSharedBytes, sharedBytes);
  return device;
}

/** Checks least and greatest values with several sizes of shared memory, down to some that take many passes.
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
        EXPECT_LE(shape.warps * shape.warpBytes, sharedBytes);
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

TEST(CudaMedianExtremumKernels, Keys8) { CheckWindows<std::uint8_t, KeyMapping::Integer>(PixelType::Int8); }
TEST(CudaMedianExtremumKernels, Keys16) { CheckWindows<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16); }
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

/** Shared memory is counted in 64 bits: what does not fit is not offered. */
TEST(CudaMedianExtremumKernels, TheLongestWindowsFit)
{
  const auto device = GetH200Traits();
  for (const std::size_t axis : { 0, 1, 2 })
  {
    for (const std::int64_t length : { std::int64_t{ 20000 }, (std::int64_t{ 1 } << 22) + 1, std::int64_t{ 1 } << 23 })
    {
      for (const int bytes : { 1, 4, 8 })
      {
        SCOPED_TRACE(std::to_string(length) + " pixels along axis " + std::to_string(axis) +
                     ", of bytes: " + std::to_string(bytes));
        Extent        extent{ { 1, 1, 1, 1 } };
        ExtremumReach reach;
        extent[axis] = length;
        reach.before[axis] = length - 1;
        reach.behind[axis] = length - 1;
        const auto passes = ChooseExtremumPasses(reach, extent, bytes, device);
        ASSERT_FALSE(passes.shapes.empty());
        std::int64_t covered = 1;
        for (const auto & shape : passes.shapes)
        {
          EXPECT_GE(shape.warpBytes, 0);
          EXPECT_LE(std::int64_t{ shape.warps } * shape.warpBytes, device.blockSharedBytes);
          if (shape.means == ExtremumMeans::Strip)
          {
            EXPECT_LE(std::int64_t{ shape.band } * shape.run * extremumLanes * GetExtremumVectorPixels(shape, bytes) *
                        bytes,
                      std::max<std::int64_t>(shape.warpBytes, std::int64_t{ shape.run } * extremumLanes * 16 * bytes));
          }
          covered += shape.size[axis] - 1;
        }
        EXPECT_EQ(covered, 2 * length - 1);
      }
    }
  }
}

/** Windows that are far longer along an axis than a warp's shared memory have parts. */
TEST(CudaMedianExtremumKernels, LongWindowsHaveParts)
{
  EXPECT_GT((CheckWindow<std::uint16_t, KeyMapping::Integer>(
              { { 9, 900, 1, 1 } }, { { 0, 870, 0, 0 } }, { { 0, 1, 0, 0 } }, PixelType::Int16)),
            1U);
  EXPECT_GT((CheckWindow<std::uint8_t, KeyMapping::Integer>(
              { { 5, 2, 900, 1 } }, { { 0, 0, 810, 0 } }, { { 0, 0, 0, 0 } }, PixelType::UInt8)),
            1U);
  EXPECT_GT((CheckWindow<std::uint32_t, KeyMapping::Float>(
              { { 3, 1, 2, 500 } }, { { 1, 0, 0, 499 } }, { { 0, 0, 0, 1 } }, PixelType::Float32)),
            1U);
  EXPECT_GT((CheckWindow<std::uint64_t, KeyMapping::Integer>(
              { { 700, 2, 1, 1 } }, { { 340, 0, 0, 0 } }, { { 0, 0, 0, 0 } }, PixelType::UInt64)),
            1U);
}

/** Rows that a strip, a tile or a team reads for an output, about. */
double
CountReads(const ExtremumShape & shape)
{
  const int side = shape.means == ExtremumMeans::Bands  ? shape.run * shape.warps
                   : shape.means == ExtremumMeans::Tile ? shape.run
                                                        : shape.band * shape.run;
  const int window = shape.size[0] * shape.size[shape.along] * shape.size[shape.across];
  return 1 + static_cast<double>(window) / side;
}

/** However long a window is along an axis, what an output costs grows no faster than in proportion to the passes: it
 * was half of the window. */
TEST(CudaMedianExtremumKernels, LongWindowsAreNotReadForEachOutput)
{
  for (const auto & profile : GetDeviceProfiles())
  {
    const auto device = GetTraits(profile);
    for (const std::size_t axis : { 1, 2, 3 })
    {
      for (const int bytes : { 1, 2, 4, 8 })
      {
        double before = 0;
        for (const std::int64_t radius : { 500, 1000, 2000, 4000, 7500, 15000, 30000 })
        {
          SCOPED_TRACE(testing::Message()
                       << device.name << ", axis " << axis << ", " << bytes << " bytes, radius " << radius);
          Extent        extent{ { 4096, 1, 1, 1 } };
          ExtremumReach reach;
          extent[axis] = 60000;
          reach.before[axis] = reach.behind[axis] = radius;
          const auto passes = ChooseExtremumPasses(reach, extent, bytes, device);
          ASSERT_FALSE(passes.shapes.empty());
          for (const auto & shape : passes.shapes)
          {
            EXPECT_EQ(shape.along, static_cast<int>(axis));
            EXPECT_LE(CountReads(shape), 10);
          }
          if (before > 0)
          {
            EXPECT_LT(passes.seconds, 2.6 * before);
          }
          before = passes.seconds;
        }
      }
    }
  }
}

/** Regions of a long window's parts are as long as the window, and narrow, so that they are no halo for the most part.
 */
TEST(CudaMedianExtremumKernels, RegionsOfLongWindowsAreNarrow)
{
  for (const std::size_t axis : { 0, 1, 2 })
  {
    Extent extent{ { 500, 500, 500, 1 } };
    extent[axis] = 20000;
    ExtremumReach reach;
    reach.before[axis] = reach.behind[axis] = 7500;
    const auto passes = ChooseExtremumPasses(reach, extent, 2, GetDevice(99 << 10));
    ASSERT_GT(passes.shapes.size(), 1U);
    const auto scratchBytes = std::size_t{ 64 } << 20;
    const auto region = ChooseExtremumRegion(passes.shapes, extent, extent, 2, scratchBytes);
    ASSERT_GT(Volume(region), 0);
    const auto pixels = CountExtremumBuffer(passes.shapes, region, extent, GetDevicePitch(1, 2));
    EXPECT_LE(2 * 2 * pixels, static_cast<std::int64_t>(scratchBytes));
    EXPECT_LE(static_cast<double>(pixels), 2.0 * static_cast<double>(Volume(region))) << Join(region);
  }
}

/** A row with a shape that the model does not take, for a window of 9x9. */
ExtremumTuningRow
MakeRow(const std::string & device)
{
  return { FindDeviceProfile(device)->name,
           "1234567",
           { { 9, 9, 1, 1 } },
           { { 6720, 4480, 1, 1 } },
           2,
           ExtremumMeans::Strip,
           1,
           1,
           2,
           1,
           3,
           7,
           2,
           5000,
           400 };
}

/** A measured shape is taken for its window, pixels and images as large as the ones it was measured with, on its device
 * or one like it; the model chooses elsewhere. */
TEST(CudaMedianExtremumKernels, MeasuredShapesAreTaken)
{
  const auto   h100 = GetTraits(*FindDeviceProfile("h100"));
  const Extent flat{ { 6720, 4480, 1, 1 } };
  const auto   isTaken = [&](const Extent &       radius,
                           const Extent &       extent,
                           int                  pixelBytes,
                           const DeviceTraits & device,
                           const std::string &  measuredOn) {
    const auto passes =
      ChooseExtremumPasses(GetReach(radius, extent), extent, pixelBytes, device, { MakeRow(measuredOn) });
    return passes.isMeasured && passes.shapes.size() == 1 && passes.shapes[0].band == 3 &&
           passes.shapes[0].bands == 7 && passes.shapes[0].warps == 2;
  };
  EXPECT_TRUE(isTaken({ { 4, 4, 0, 0 } }, flat, 2, h100, "h100"));
  EXPECT_TRUE(isTaken({ { 4, 4, 0, 0 } }, flat, 2, h100, "h200")) << "a device like it";
  EXPECT_TRUE(isTaken({ { 4, 4, 0, 0 } }, { { 20000, 20000, 1, 1 } }, 2, h100, "h100"));
  EXPECT_FALSE(isTaken({ { 4, 4, 0, 0 } }, flat, 2, h100, "rtx4090"));
  EXPECT_FALSE(isTaken({ { 4, 4, 0, 0 } }, flat, 1, h100, "h100"));
  EXPECT_FALSE(isTaken({ { 4, 5, 0, 0 } }, flat, 2, h100, "h100"));
  EXPECT_FALSE(isTaken({ { 4, 4, 0, 0 } }, { { 512, 512, 1, 1 } }, 2, h100, "h100")) << "a small image";
  EXPECT_FALSE(isTaken({ { 4, 4, 0, 0 } }, { { 512, 512, 256, 1 } }, 2, h100, "h100")) << "a volume";
  EXPECT_FALSE(isTaken({ { 4, 4, 0, 0 } }, flat, 2, GetDevice(1000), "h200")) << "no room for it";
  // The device's own row comes before one of a device like it, wherever it stands.
  auto own = MakeRow("h100");
  own.bands = 2;
  const auto passes = ChooseExtremumPasses(
    GetReach(Extent{ { 4, 4, 0, 0 } }, flat), flat, 2, h100, { MakeRow("h200"), own, MakeRow("h200") });
  ASSERT_EQ(passes.shapes.size(), 1U);
  EXPECT_EQ(passes.shapes[0].bands, 2);
}

/** Passes that were all measured are taken before those of the model, whatever that says; among them the fastest. */
TEST(CudaMedianExtremumKernels, MeasuredPassesComeFirst)
{
  const auto   h100 = GetTraits(*FindDeviceProfile("h100"));
  const Extent flat{ { 6720, 4480, 1, 1 } };
  const auto   reach = GetReach(Extent{ { 4, 4, 0, 0 } }, flat);
  auto         whole = MakeRow("h100");
  whole.rate = 1; // far slower than the model has others
  EXPECT_TRUE(ChooseExtremumPasses(reach, flat, 2, h100, { whole }).isMeasured);
  auto rows = MakeRow("h100");
  rows.window = { { 9, 1, 1, 1 } };
  rows.band = 1;
  auto columns = MakeRow("h100");
  columns.window = { { 1, 9, 1, 1 } };
  const auto passes = ChooseExtremumPasses(reach, flat, 2, h100, { whole, rows, columns });
  EXPECT_TRUE(passes.isMeasured);
  EXPECT_EQ(passes.shapes.size(), 2U);
  EXPECT_NEAR(passes.seconds, 2 * 6720 * 4480 / 5000e9, 1e-9);
  whole.rate = 3000;
  EXPECT_EQ(ChooseExtremumPasses(reach, flat, 2, h100, { whole, rows, columns }).shapes.size(), 1U);
}

/** Columns count rows in 32 bits, and are for images of no more. */
TEST(CudaMedianExtremumKernels, ColumnsAreNotForTooManyRows)
{
  const auto takesColumns = [](const Extent & extent) {
    ExtremumReach reach;
    reach.before[0] = reach.behind[0] = 40;
    const auto passes = ChooseExtremumPasses(reach, extent, 1, GetTraits(*FindDeviceProfile("h100")));
    EXPECT_FALSE(passes.shapes.empty());
    return std::any_of(passes.shapes.begin(), passes.shapes.end(), [](const auto & shape) {
      return shape.means == ExtremumMeans::Columns;
    });
  };
  EXPECT_TRUE(takesColumns({ { 6720, 4480, 1, 1 } }));
  EXPECT_TRUE(takesColumns({ { 600, 1 << 15, 1 << 15, 1 } }));
  EXPECT_FALSE(takesColumns({ { 600, 1 << 16, 1 << 15, 1 } }));
  EXPECT_FALSE(takesColumns({ { 600, 1 << 16, 1, 1 << 15 } }));
}

/** A random shape, whether a policy would take it or not, and the radius and what it is shorter by. */
template <typename TBits>
ExtremumShape
MakeAnyShape(std::mt19937_64 & random, Extent & radius, Extent & shorter)
{
  const auto    draw = [&](int end) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(end)); };
  constexpr int bytes = sizeof(TBits);
  ExtremumShape shape{};
  const int     means = draw(6);
  shape.means = means == 0   ? ExtremumMeans::Columns
                : means == 1 ? ExtremumMeans::Bands
                : means < 4  ? ExtremumMeans::Tile
                             : ExtremumMeans::Strip;
  shape.along = 1 + draw(3);
  shape.across = 1 + (shape.along + draw(2)) % 3;
  const bool isTile = shape.means == ExtremumMeans::Tile;
  shape.run = isTile ? 4 << draw(2) : 1 + draw(2);
  shape.isWide = shape.run > 1 || draw(2) == 0 ? 1 : 0;
  shape.warps = draw(2) == 0 ? 1 : mostExtremumWarps;
  const bool isColumns = shape.means == ExtremumMeans::Columns;
  const bool isBands = shape.means == ExtremumMeans::Bands;
  if (isColumns || isBands)
  {
    shape.run = isColumns ? 4 << draw(2) : 8 << draw(2);
    shape.isWide = 1;
    shape.warps = 1 + draw(3);
  }
  radius[0] = isColumns ? 9 + draw(90) : !isBands && shape.isWide != 0 ? draw(25) : 0;
  // A run of 8 may not be longer than the window, nor may a team's rows.
  radius[shape.along] = isColumns                  ? 0
                        : isBands                  ? (shape.run * shape.warps + 1) / 2 + draw(9)
                        : isTile && shape.run == 8 ? 4 + draw(9)
                                                   : draw(5);
  radius[shape.across] = isColumns || isBands || isTile || shape.run == 1 ? 0 : (shape.run + 1) / 2 + draw(3);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    // An even window may not be shorter than a run.
    shorter[axis] = radius[axis] > 0 && axis != shape.across ? draw(2) : 0;
    shape.before[axis] = static_cast<std::int32_t>(radius[axis]);
    shape.size[axis] = static_cast<std::int32_t>(2 * radius[axis] + 1 - shorter[axis]);
  }
  if (isColumns || isBands || isTile)
  {
    const int warps = shape.warps;
    EXPECT_TRUE(FitExtremumShape(shape, bytes, GetH200Traits()));
    shape.warps = warps;
  }
  else
  {
    const int window = shape.size[shape.along];
    shape.band = draw(2) == 0 ? window : 1 + draw(window);
    shape.bands = 1 + draw(4);
    shape.warpBytes = shape.band * shape.run * extremumLanes * GetExtremumVectorPixels(shape, bytes) * bytes;
  }
  return shape;
}

template <typename TBits, KeyMapping VMapping>
void
CheckShapes(PixelType type)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + sizeof(TBits));
  for (int i = 0; i < 80; ++i)
  {
    Extent       radius{};
    Extent       shorter{};
    const auto   shape = MakeAnyShape<TBits>(random, radius, shorter);
    const Extent extent{ { static_cast<std::int64_t>(1 + random() % (i % 2 == 0 ? 60 : 900)),
                           static_cast<std::int64_t>(1 + random() % 9),
                           static_cast<std::int64_t>(1 + random() % 4),
                           static_cast<std::int64_t>(1 + random() % 2) } };
    Window       window(radius, shorter, 0);
    window.rank = i % 3 == 0 ? window.CountPixels() - 1 : 0;
    if (window.CountPixels() == 1)
    {
      continue;
    }
    SCOPED_TRACE(testing::Message() << ToString(shape.means) << " along " << shape.along << " across " << shape.across
                                    << " run " << shape.run << " wide " << shape.isWide << " band " << shape.band
                                    << " x " << shape.bands << " warps " << shape.warps << " extent " << Join(extent)
                                    << " radius " << Join(radius) << " shorter " << Join(shorter));
    CheckShape<TBits, VMapping>(shape, extent, window, type);
  }
}

/** Shapes that no policy would choose are right too. */
TEST(CudaMedianExtremumKernels, AnyShape)
{
  CheckShapes<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8);
  CheckShapes<std::uint16_t, KeyMapping::Integer>(PixelType::Int16);
  CheckShapes<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckShapes<std::uint64_t, KeyMapping::Integer>(PixelType::Int64);
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

/** Small windows have one kernel. Wide ones have two, which were faster. */
TEST(CudaMedianExtremumKernels, SmallWindowsTakeOnePass)
{
  const Extent flat{ { 6720, 4480, 1, 1 } };
  const Extent deep{ { 512, 512, 256, 1 } };
  for (const int pixelBytes : { 1, 2, 4 })
  {
    for (const std::int64_t radius : { 1, 2, 3, 7, 100 })
    {
      const auto passes =
        ChooseExtremumPasses(GetReach(Extent{ { radius, radius, 0, 0 } }, flat), flat, pixelBytes, GetDevice(1 << 20));
      EXPECT_EQ(passes.shapes.size(), radius < 100 ? 1U : 2U) << pixelBytes << " bytes, radius " << radius;
    }
    for (const std::int64_t radius : { 1, 2, 4, 7 })
    {
      const auto passes = ChooseExtremumPasses(
        GetReach(Extent{ { radius, radius, radius, 0 } }, deep), deep, pixelBytes, GetDevice(1 << 20));
      EXPECT_EQ(passes.shapes.size(), radius < 7 ? 1U : 2U) << pixelBytes << " bytes, radius " << radius;
    }
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
  { { { 1013, 517, 1, 1 } }, { { 1, 1, 0, 0 } } },   { { { 1013, 517, 1, 1 } }, { { 2, 2, 0, 0 } } },
  { { { 1013, 517, 1, 1 } }, { { 15, 15, 0, 0 } } }, { { { 1013, 517, 1, 1 } }, { { 60, 200, 0, 0 } } },
  { { { 1013, 517, 1, 1 } }, { { 900, 3, 0, 0 } } }, { { { 131, 67, 45, 1 } }, { { 4, 4, 4, 0 } } },
  { { { 131, 67, 45, 1 } }, { { 0, 20, 30, 0 } } },  { { { 31, 23, 9, 7 } }, { { 1, 1, 1, 1 } } },
  { { { 3, 2, 1, 1 } }, { { 40, 1, 0, 0 } } }
};
constexpr std::size_t smallBudget = std::size_t{ 6 } << 20;

/** The planner takes it for each window but small ones of wide pixels, and what it keeps between passes is within the
 * budget. */
TEST(CudaMedianExtremumKernels, PlansTakeIt)
{
  std::size_t mostSlabs = 0;
  for (const auto type : allPixelTypes)
  {
    for (const auto & [extent, radius] : deviceCases)
    {
      for (const auto budget : { std::size_t{ 1 } << 30, smallBudget })
      {
        const auto plan = cudamediantest::PlanOnH200(MakeRequest(type, extent, radius, true), Backend::Cuda, budget);
        // A small window's tile program is faster, but for windows that kernels know.
        const bool isSmall = radius == Extent{ { 1, 1, 0, 0 } } && PixelBytes(type) == 8;
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
  EXPECT_THROW(cudamediantest::PlanOnH200(request, Backend::Cuda, std::size_t{ 1 } << 30), RequestError);
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
