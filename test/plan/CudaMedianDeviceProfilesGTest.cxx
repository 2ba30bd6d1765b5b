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
// What policies choose for GPUs that are not at hand: every block fits, and every window has one.

#include "CudaMedianTestSeed.h"
#include "DeviceProfiles.h"
#include "HistogramPolicy.h"
#include "KernelProgram.h"
#include "MergePolicy.h"
#include "RankPolicy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace
{

using namespace cudamedian;

constexpr int widths[] = { 1, 2, 4, 8 };

/** All profiles, and a device that gives a block no more than what every one does without asking. */
std::vector<DeviceTraits>
ListDevices()
{
  std::vector<DeviceTraits> devices;
  for (const auto & profile : GetDeviceProfiles())
  {
    devices.push_back(GetTraits(profile));
  }
  devices.push_back(GetArchitectureTraits(75));
  devices.back().name = "48 KiB";
  devices.back().blockSharedBytes = 48 << 10;
  return devices;
}

void
ExpectKernelFits(const Window & window, int pixelBytes, const DeviceTraits & device)
{
  const auto kind = GetKernelKind(pixelBytes, device.computeCapability);
  const auto policy = GetKernelPolicy(window, kind, device);
  const auto shape = GetKernelShape(window, policy, kind, BuildKernelProgram(window, policy, kind));
  const auto what = device.name + ", " + std::to_string(window.GetSize(0)) + "x" + std::to_string(window.GetSize(1)) +
                    "x" + std::to_string(window.GetSize(2)) + ", " + std::to_string(pixelBytes) + " bytes";
  EXPECT_LE(shape.sharedBytes, device.blockSharedBytes) << what;
  EXPECT_GE(shape.threads, 4) << what;
  EXPECT_LE(shape.threads, device.warps * 32) << what;
  // Threads stage whole lines of vectors (TileKernel.h).
  const int stagePixels = pixelBytes == 1 ? 8 : 16 / pixelBytes;
  EXPECT_EQ(shape.block[0] % stagePixels, 0) << what;
  EXPECT_EQ(shape.threads % std::max(1, shape.block[0] / stagePixels), 0) << what;
  EXPECT_TRUE(device.pipes.mostSumPercent > 0 || policy.lowering.sumPercent == 0) << what;
  EXPECT_TRUE(device.pipes.threeInput || !policy.lowering.threeInput) << what;
}

TEST(CudaMedianDeviceProfiles, KernelsFitTheBlocksOfEveryDevice)
{
  std::set<std::string> architectures;
  for (const auto & device : ListDevices())
  {
    // Devices of an architecture have the same kernels.
    if (!architectures.insert(std::to_string(device.computeCapability) + "/" + std::to_string(device.blockSharedBytes))
           .second)
    {
      continue;
    }
    ExpectKernelFits(Extent{ { 5, 5, 0, 0 } }, 2, device);
    ExpectKernelFits(Extent{ { 8, 8, 0, 0 } }, 2, device);
    ExpectKernelFits(Extent{ { 2, 2, 2, 0 } }, 4, device);
    ExpectKernelFits(Extent{ { 1, 1, 15, 0 } }, 8, device);
  }
}

TEST(CudaMedianDeviceProfiles, KernelsOfRandomWindowsFit)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  const auto      devices = ListDevices();
  for (int i = 0; i < 24; ++i)
  {
    Extent radius{ { 0, 0, 0, 0 } };
    do
    {
      for (int axis = 0; axis < 3; ++axis)
      {
        radius[axis] = std::uniform_int_distribution<std::int64_t>(0, axis < 2 ? 7 : 2)(random);
      }
    } while (!IsCoveredByKernels(radius));
    const auto & device = devices[std::uniform_int_distribution<std::size_t>(0, devices.size() - 1)(random)];
    ExpectKernelFits(radius, widths[i % 4], device);
  }
}

TEST(CudaMedianDeviceProfiles, RanksFitTheBlocksOfEveryDevice)
{
  for (const auto & device : ListDevices())
  {
    for (const Extent & radius :
         { Extent{ { 1, 1, 0, 0 } }, Extent{ { 9, 9, 0, 0 } }, Extent{ { 25, 25, 0, 0 } }, Extent{ { 3, 3, 3, 0 } } })
    {
      for (const int bytes : widths)
      {
        const auto what = device.name + ", radius " + std::to_string(radius[0]) + ", " + std::to_string(bytes);
        RankShape  shape{};
        if (!FindRankShape(radius, bytes, shape, device))
        {
          // The pixels of 51x51 and a block of outputs, with all that sorting takes.
          EXPECT_TRUE(radius[0] == 25 && device.blockSharedBytes < 64 << 10) << what;
          continue;
        }
        EXPECT_LE(shape.sharedBytes, device.blockSharedBytes) << what;
        EXPECT_LE(GetRegionSortBytes(shape, bytes), device.blockSharedBytes) << what;
      }
    }
  }
}

/** Windows up to 1001x1001 and 87x87x87, with 8 bits 255x255x255, have a block of ranks or of histograms on every
 * device, and those of two axes lists to merge: none is selected pixel by pixel. */
TEST(CudaMedianDeviceProfiles, NoWindowIsLeftToSelection)
{
  for (const auto & device : ListDevices())
  {
    for (const std::int64_t r : { 9, 15, 25, 43, 45, 61, 75, 127, 202, 203, 500 })
    {
      for (const int bytes : widths)
      {
        RankShape      ranks{};
        HistogramShape histograms{};
        const Window   planar(Extent{ { r, r, 0, 0 } });
        const auto     what = device.name + ", radius " + std::to_string(r) + ", " + std::to_string(bytes);
        EXPECT_TRUE(FindRankShape(planar, bytes, ranks, device) ||
                    FindHistogramShape(planar, bytes, histograms, device))
          << what;
        const Window solid(Extent{ { r, r, r, 0 } });
        if (r <= (bytes == 1 ? 127 : 43))
        {
          EXPECT_TRUE(FindRankShape(solid, bytes, ranks, device) ||
                      FindHistogramShape(solid, bytes, histograms, device))
            << what << " in 3D";
        }
        EXPECT_LE(histograms.sharedBytes, device.blockSharedBytes) << what;
        EXPECT_LE(GetLeastHistogramScratchBytes(histograms), std::size_t{ 160 } << 20) << what;
      }
    }
    MergeShape merges{};
    EXPECT_TRUE(FindMergeShape(
      Window(Extent{ { 500, 500, 0, 0 } }), 2, Extent{ { 2000, 2000, 1, 1 } }, std::size_t{ 1 } << 30, merges));
  }
  EXPECT_EQ(unaskedSharedBytes, 48 << 10);
}

TEST(CudaMedianDeviceProfiles, AProfileIsFoundByItsKeyAndItsName)
{
  std::set<std::string> names;
  for (const auto & profile : GetDeviceProfiles())
  {
    EXPECT_EQ(FindDeviceProfile(profile.key), &profile);
    EXPECT_EQ(FindDeviceProfile(profile.name), &profile);
    EXPECT_TRUE(names.insert(profile.key).second && names.insert(profile.name).second) << profile.key;
    const auto traits = GetTraits(profile);
    EXPECT_GT(traits.CountBlocks(traits.blockSharedBytes, 128), 0) << profile.key;
    EXPECT_EQ(traits.CountBlocks(0, 1024), traits.warps / 32) << profile.key;
  }
  EXPECT_EQ(FindDeviceProfile("voodoo2"), nullptr);
  EXPECT_EQ(GetH200Traits().blockSharedBytes, 232448);
  EXPECT_EQ(GetH200Traits().cacheBytes, 62914560U);
}

/** What is known of sm_90 holds for code that is run on its successors where no row says other. */
TEST(CudaMedianDeviceProfiles, AnUnknownArchitectureHasTheTraitsOfTheOneBefore)
{
  EXPECT_EQ(GetArchitectureTraits(121).blockSharedBytes, GetArchitectureTraits(120).blockSharedBytes);
  EXPECT_EQ(GetArchitectureTraits(103).blockSharedBytes, GetArchitectureTraits(100).blockSharedBytes);
  EXPECT_EQ(GetArchitectureTraits(70).blockSharedBytes, GetArchitectureTraits(75).blockSharedBytes);
  for (std::size_t i = 1; i < GetArchitectureRows().size(); ++i)
  {
    EXPECT_LT(GetArchitectureRows()[i - 1].architecture, GetArchitectureRows()[i].architecture);
  }
}

} // namespace
