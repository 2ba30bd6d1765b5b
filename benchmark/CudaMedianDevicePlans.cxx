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
// Prints what the planner chooses on GPUs that are not at hand, as documentation/devices.md has it. Needs no GPU.

#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "HistogramPolicy.h"
#include "KernelProgram.h"
#include "Planner.h"
#include "RankPolicy.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using namespace cudamedian;

const std::vector<Extent> windows{
  { { 1, 1, 0, 0 } },   { { 2, 2, 0, 0 } },     { { 3, 3, 0, 0 } },     { { 4, 4, 0, 0 } },    { { 5, 5, 0, 0 } },
  { { 6, 6, 0, 0 } },   { { 7, 7, 0, 0 } },     { { 8, 8, 0, 0 } },     { { 10, 10, 0, 0 } },  { { 25, 25, 0, 0 } },
  { { 61, 61, 0, 0 } }, { { 100, 100, 0, 0 } }, { { 202, 202, 0, 0 } }, { { 1, 1, 1, 0 } },    { { 2, 2, 1, 0 } },
  { { 2, 2, 2, 0 } },   { { 3, 3, 1, 0 } },     { { 3, 3, 3, 0 } },     { { 11, 11, 11, 0 } },
};

constexpr PixelType types[] = { PixelType::UInt8, PixelType::Int16, PixelType::Float32 };

std::string
Join(const Extent & extent)
{
  std::ostringstream text;
  text << extent[0] << "x" << extent[1];
  if (extent[2] > 1)
  {
    text << "x" << extent[2];
  }
  return text.str();
}

std::string
InKibibytes(int bytes)
{
  return std::to_string(DivideUp(bytes, 1024)) + " KiB";
}

/** The kernel of the algorithm that was chosen: its packing, tile, block, shared memory and instructions. */
std::string
DescribeKernel(const MedianRequest & request, Algorithm algorithm, const DeviceTraits & device)
{
  const Window window(request.radius);
  const auto   pixelBytes = static_cast<int>(PixelBytes(request.pixelType));
  char         text[160] = "";
  if (algorithm == Algorithm::TileProgram)
  {
    const auto kind = GetKernelKind(pixelBytes, device.computeCapability);
    const auto policy = GetKernelPolicy(window, kind, device);
    const auto cost = CountPhases(BuildKernelPhases(window, policy), policy.lowering, policy.blockX).cost;
    const auto shape = GetKernelShape(window, policy, kind, BuildKernelProgram(window, policy, kind));
    std::snprintf(text,
                  sizeof(text),
                  "program %s %s, %dx%d, %s, %.0f",
                  ToString(kind.packing),
                  Join(policy.tile).c_str(),
                  policy.blockX,
                  policy.blockY,
                  IsFilteredInStrips(window) ? "0 KiB" : InKibibytes(shape.sharedBytes).c_str(),
                  (cost.minMax + cost.multiplyAdd) / kind.GetPixels());
  }
  else if (algorithm == Algorithm::LocalRank)
  {
    RankShape shape{};
    FindRankShape(window, pixelBytes, shape, device);
    std::snprintf(text,
                  sizeof(text),
                  "ranks %dx%dx%d, %d, %s",
                  shape.tile[0],
                  shape.tile[1],
                  shape.tile[2],
                  shape.threads,
                  InKibibytes(std::max(shape.sharedBytes, GetRegionSortBytes(shape, pixelBytes))).c_str());
  }
  else if (algorithm == Algorithm::SlidingHistogram)
  {
    HistogramShape shape{};
    FindHistogramShape(window, pixelBytes, shape, device);
    std::snprintf(text,
                  sizeof(text),
                  "histograms %dx%d, %d, %s%s",
                  shape.width,
                  shape.rows,
                  shape.GetThreads(),
                  InKibibytes(shape.sharedBytes).c_str(),
                  shape.columnsInScratch ? ", columns apart" : "");
  }
  else
  {
    return algorithm == Algorithm::MergeTiling ? "merges" : "each window by itself";
  }
  return text;
}

void
PrintCell(const Extent & radius, PixelType type, const DeviceTraits & device)
{
  MedianRequest request;
  request.pixelType = type;
  request.outputPixelBytes = PixelBytes(type);
  request.radius = radius;
  request.inputExtent = radius[2] > 0 ? Extent{ { 512, 512, 256, 1 } } : Extent{ { 8192, 8192, 1, 1 } };
  request.outputExtent = request.inputExtent;
  PlanLimits limits;
  limits.budget = std::size_t{ 4 } << 30;
  limits.device = device;
  const auto   plan = PlanMedian(request, Backend::Cuda, limits);
  const double rate = static_cast<double>(Volume(request.outputExtent)) / plan.candidate.seconds * 1e-9;
  std::printf(" %s: %.3g |", DescribeKernel(request, plan.candidate.algorithm, device).c_str(), rate);
}

void
PrintProfile(const DeviceProfile & profile)
{
  const auto device = GetTraits(profile);
  std::printf("\n## %s\n\n`%s`: sm_%d, %d multiprocessors at %.2f GHz, %s of shared memory a block, %.2f TB/s\n\n",
              profile.name,
              profile.key,
              device.computeCapability,
              device.multiprocessors,
              device.kilohertz * 1e-6,
              InKibibytes(device.blockSharedBytes).c_str(),
              device.copyBytes * 1e-12);
  std::printf("| window | 8 bits | 16 bits | float |\n| --- | --- | --- | --- |\n");
  for (const auto & radius : windows)
  {
    std::printf("| %s |", Join(Window(radius).GetExtent()).c_str());
    for (const auto type : types)
    {
      PrintCell(radius, type, device);
    }
    std::printf("\n");
  }
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    bool found = argc == 1;
    for (const auto & profile : GetDeviceProfiles())
    {
      if (argc == 1 || std::strcmp(argv[1], profile.key) == 0)
      {
        PrintProfile(profile);
        found = true;
      }
    }
    if (!found)
    {
      std::fprintf(stderr, "usage: CudaMedianDevicePlans [key of a device]\nno device %s\n", argv[1]);
    }
    return found ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "CudaMedianDevicePlans: %s\n", error.what());
    return 1;
  }
}
