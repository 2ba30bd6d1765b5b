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
// What Backend::Auto decides by, with the rates of one machine.

#include "BackendEstimate.h"
#include "HierarchicalTiling.h"
#include "Planner.h"
#include "ProgramPhases.h"
#include "TileHost.h"
#include "TilePolicy.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace
{

using namespace cudamedian;

constexpr std::size_t budget = std::size_t{ 1 } << 36;

/** The host of benchmark/README.md with so many cores. */
HostTraits
MakeHost(unsigned cores)
{
  return { 9.5e10, 15.7e9, cores };
}

/** Bytes a second over the bus of its device. */
constexpr double bus = 47e9;

MedianRequest
MakeRequest(const Extent & extent, const Extent & radius, unsigned workUnits = 64)
{
  MedianRequest request;
  request.pixelType = PixelType::Int16;
  request.inputExtent = extent;
  request.outputExtent = extent;
  request.radius = radius;
  request.outputPixelBytes = 2;
  request.workUnits = workUnits;
  return request;
}

double
Cpu(const MedianRequest & request, unsigned cores, bool compiledAhead = false)
{
  auto plan = PlanMedian(request, Backend::Cpu, 0);
  if (plan.candidate.algorithm == cudamedian::Algorithm::TileProgram)
  {
    // As if, whatever this build has compiled ahead.
    static cudamedian::RowProgram program;
    cudamedian::TileWork          work;
    work.scheduled = cudamedian::GetScheduledProgram(request.radius, cudamedian::ChooseHostTile(request.radius));
    if (compiledAhead)
    {
      const auto policy = cudamedian::GetRowPolicy(request.radius, PixelBytes(request.pixelType));
      const auto phases = cudamedian::CutIntoPhases(
        cudamedian::BuildHierarchicalTilingProgram(request.radius, policy.tile, policy.tiling), policy.phases);
      program.tile = policy.tile;
      program.operations = 0;
      for (const auto & phase : phases.phases)
      {
        program.operations += phase.program.GetInstructions().size();
      }
      work.rowProgram = &program;
    }
    plan.candidate.onHost = cudamedian::MakeTileMethod(work);
  }
  return EstimateCpuSeconds(request, plan, MakeHost(cores));
}

double
Cuda(const MedianRequest & request, unsigned cores, const ImageMemory & memory = {})
{
  return EstimateCudaSeconds(request, PlanMedian(request, Backend::Cuda, budget), memory, MakeHost(cores), bus);
}

const Extent flat{ { 16384, 32768, 1, 1 } };
const Extent deep{ { 1024, 1024, 512, 1 } };

} // namespace

TEST(CudaMedianBackendEstimate, ManyCoresAreFasterForSmallWindowsOfSmallImages)
{
  for (const Extent & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } } })
  {
    const auto request = MakeRequest({ { 2048, 2048, 1, 1 } }, radius, 16);
    EXPECT_LT(Cpu(request, 16, true), Cuda(request, 16));
    EXPECT_LT(Cuda(MakeRequest(flat, radius, 16), 16), Cpu(MakeRequest(flat, radius, 16), 16, true))
      << "the ring is in the caches, the image is not";
  }
  const auto small = MakeRequest({ { 64, 64, 1, 1 } }, { { 1, 1, 0, 0 } });
  EXPECT_LT(Cpu(small, 2), Cuda(small, 2)) << "done before anything is started on a device";
}

TEST(CudaMedianBackendEstimate, DevicesAreFasterForLargeWindows)
{
  for (const unsigned cores : { 2, 16, 64 })
  {
    for (const auto & request : { MakeRequest(flat, { { 8, 8, 0, 0 } }),
                                  MakeRequest(flat, { { 20, 20, 0, 0 } }),
                                  MakeRequest(deep, { { 2, 2, 2, 0 } }),
                                  MakeRequest(deep, { { 4, 4, 4, 0 } }),
                                  MakeRequest({ { 1024, 1024, 1, 1 } }, { { 200, 200, 0, 0 } }) })
    {
      EXPECT_LT(Cuda(request, cores), Cpu(request, cores)) << request.radius[0] << ", " << cores << " cores";
    }
  }
}

TEST(CudaMedianBackendEstimate, DevicesAreFasterThanTwoCores)
{
  for (const std::int64_t r : { 1, 2, 3, 5, 8 })
  {
    EXPECT_LT(Cuda(MakeRequest(flat, { { r, r, 0, 0 } }), 2), Cpu(MakeRequest(flat, { { r, r, 0, 0 } }), 2)) << r;
  }
  EXPECT_LT(Cuda(MakeRequest(deep, { { 1, 1, 1, 0 } }), 2), Cpu(MakeRequest(deep, { { 1, 1, 1, 0 } }), 2));
}

TEST(CudaMedianBackendEstimate, MoreCoresNeverTakeLonger)
{
  for (const auto & request : { MakeRequest(flat, { { 1, 1, 0, 0 } }),
                                MakeRequest(flat, { { 8, 8, 0, 0 } }),
                                MakeRequest(deep, { { 4, 4, 4, 0 } }) })
  {
    for (unsigned cores = 1; cores < 128; cores *= 2)
    {
      EXPECT_LE(Cpu(request, 2 * cores), Cpu(request, cores));
      EXPECT_LE(Cuda(request, 2 * cores), Cuda(request, cores));
    }
  }
  const auto radius = Extent{ { 3, 3, 0, 0 } };
  EXPECT_EQ(Cpu(MakeRequest(flat, radius, 2), 64), Cpu(MakeRequest(flat, radius, 64), 2)) << "work units or cores";
}

TEST(CudaMedianBackendEstimate, LargerWindowsTakeLonger)
{
  double cpu = 0;
  double cuda = 0;
  for (const std::int64_t r : { 1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 37, 60, 200 })
  {
    const auto request = MakeRequest({ { 4096, 4096, 1, 1 } }, { { r, r, 0, 0 } });
    EXPECT_GE(Cpu(request, 16), cpu) << r;
    // Sliding histograms cost about the same for any window, and take over from ranks only where they are far ahead.
    EXPECT_GE(Cuda(request, 16), 0.9 * cuda) << r;
    cpu = Cpu(request, 16);
    cuda = Cuda(request, 16);
  }
}

// The measured times of benchmark/README.md, to within a third.
TEST(CudaMedianBackendEstimate, TransfersAreThoseMeasured)
{
  const auto check = [](const MedianRequest & request, const ImageMemory & memory, double seconds) {
    const double estimated = Cuda(request, 16, memory);
    EXPECT_GT(estimated, 0.67 * seconds);
    EXPECT_LT(estimated, 1.5 * seconds);
  };
  check(MakeRequest(flat, { { 1, 1, 0, 0 } }, 16), { true, true }, 21.99e-3);
  check(MakeRequest(flat, { { 5, 5, 0, 0 } }, 16), { true, true }, 22.78e-3);
  check(MakeRequest(deep, { { 2, 2, 2, 0 } }, 16), { true, true }, 22.35e-3);
  check(MakeRequest(flat, { { 1, 1, 0, 0 } }, 16), {}, 25.19e-3);
  check(MakeRequest(deep, { { 1, 1, 1, 0 } }, 16), {}, 28.22e-3);
  check(MakeRequest({ { 512, 512, 64, 1 } }, { { 1, 1, 1, 0 } }, 16), {}, 1.75e-3);
}

// Where one backend was measured to be a fifth or more faster, with 16 threads, it is chosen. Times below half a
// millisecond vary by as much from run to run.
TEST(CudaMedianBackendEstimate, TheFasterIsChosen)
{
  struct Measured
  {
    PixelType type;
    Extent    extent;
    Extent    radius;
    double    cpuMilliseconds;
    double    cudaMilliseconds;
  };
  for (const auto & [type, extent, radius, cpuMilliseconds, cudaMilliseconds] :
       { Measured{ PixelType::UInt8, { { 4096, 4096, 1, 1 } }, { { 1, 1, 0, 0 } }, 0.358, 1.051 },
         Measured{ PixelType::UInt8, { { 12288, 12288, 1, 1 } }, { { 1, 1, 0, 0 } }, 3.342, 4.158 },
         Measured{ PixelType::UInt8, { { 4096, 4096, 1, 1 } }, { { 2, 2, 0, 0 } }, 0.739, 1.100 },
         Measured{ PixelType::UInt8, { { 4096, 4096, 1, 1 } }, { { 5, 5, 0, 0 } }, 3.049, 1.173 },
         Measured{ PixelType::UInt8, { { 12288, 12288, 1, 1 } }, { { 5, 5, 0, 0 } }, 23.221, 4.518 },
         Measured{ PixelType::UInt8, { { 1024, 1024, 1, 1 } }, { { 12, 12, 0, 0 } }, 3.142, 0.431 },
         Measured{ PixelType::UInt8, { { 2048, 2048, 1, 1 } }, { { 30, 30, 0, 0 } }, 6.771, 0.983 },
         Measured{ PixelType::UInt8, { { 256, 256, 128, 1 } }, { { 2, 2, 2, 0 } }, 3.801, 1.061 },
         Measured{ PixelType::UInt8, { { 512, 512, 256, 1 } }, { { 1, 1, 1, 0 } }, 4.432, 2.185 },
         Measured{ PixelType::UInt8, { { 128, 128, 128, 1 } }, { { 4, 4, 4, 0 } }, 13.111, 0.614 },
         Measured{ PixelType::Int16, { { 4096, 4096, 1, 1 } }, { { 1, 1, 0, 0 } }, 0.670, 1.332 },
         Measured{ PixelType::Int16, { { 4096, 4096, 1, 1 } }, { { 2, 2, 0, 0 } }, 1.299, 1.743 },
         Measured{ PixelType::Int16, { { 12288, 12288, 1, 1 } }, { { 2, 2, 0, 0 } }, 11.309, 7.801 },
         Measured{ PixelType::Int16, { { 1024, 1024, 1, 1 } }, { { 5, 5, 0, 0 } }, 0.543, 0.427 },
         Measured{ PixelType::Int16, { { 4096, 4096, 1, 1 } }, { { 5, 5, 0, 0 } }, 5.818, 1.499 },
         Measured{ PixelType::Int16, { { 12288, 12288, 1, 1 } }, { { 5, 5, 0, 0 } }, 47.803, 7.384 },
         Measured{ PixelType::Int16, { { 1024, 1024, 1, 1 } }, { { 12, 12, 0, 0 } }, 6.498, 0.478 },
         Measured{ PixelType::Int16, { { 2048, 2048, 1, 1 } }, { { 30, 30, 0, 0 } }, 100.393, 1.518 },
         Measured{ PixelType::Int16, { { 64, 64, 64, 1 } }, { { 2, 2, 2, 0 } }, 0.501, 0.176 },
         Measured{ PixelType::Int16, { { 256, 256, 128, 1 } }, { { 2, 2, 2, 0 } }, 8.802, 1.115 },
         Measured{ PixelType::Int16, { { 512, 512, 256, 1 } }, { { 1, 1, 1, 0 } }, 10.688, 4.229 },
         Measured{ PixelType::Int16, { { 128, 128, 128, 1 } }, { { 4, 4, 4, 0 } }, 57.328, 1.020 },
         Measured{ PixelType::Float32, { { 1024, 1024, 1, 1 } }, { { 1, 1, 0, 0 } }, 0.205, 0.583 },
         Measured{ PixelType::Float32, { { 12288, 12288, 1, 1 } }, { { 1, 1, 0, 0 } }, 19.242, 14.466 },
         Measured{ PixelType::Float32, { { 1024, 1024, 1, 1 } }, { { 2, 2, 0, 0 } }, 0.256, 0.560 },
         Measured{ PixelType::Float32, { { 4096, 4096, 1, 1 } }, { { 2, 2, 0, 0 } }, 2.669, 2.019 },
         Measured{ PixelType::Float32, { { 12288, 12288, 1, 1 } }, { { 2, 2, 0, 0 } }, 28.304, 15.028 },
         Measured{ PixelType::Float32, { { 1024, 1024, 1, 1 } }, { { 5, 5, 0, 0 } }, 0.925, 0.656 },
         Measured{ PixelType::Float32, { { 4096, 4096, 1, 1 } }, { { 5, 5, 0, 0 } }, 10.571, 2.177 },
         Measured{ PixelType::Float32, { { 12288, 12288, 1, 1 } }, { { 5, 5, 0, 0 } }, 97.055, 15.900 },
         Measured{ PixelType::Float32, { { 1024, 1024, 1, 1 } }, { { 12, 12, 0, 0 } }, 11.356, 0.807 },
         Measured{ PixelType::Float32, { { 2048, 2048, 1, 1 } }, { { 30, 30, 0, 0 } }, 108.184, 2.063 },
         Measured{ PixelType::Float32, { { 256, 256, 128, 1 } }, { { 1, 1, 1, 0 } }, 2.777, 1.354 },
         Measured{ PixelType::Float32, { { 64, 64, 64, 1 } }, { { 2, 2, 2, 0 } }, 0.685, 0.287 },
         Measured{ PixelType::Float32, { { 256, 256, 128, 1 } }, { { 2, 2, 2, 0 } }, 15.108, 1.421 },
         Measured{ PixelType::Float32, { { 512, 512, 256, 1 } }, { { 1, 1, 1, 0 } }, 19.231, 7.423 },
         Measured{ PixelType::Float32, { { 128, 128, 128, 1 } }, { { 4, 4, 4, 0 } }, 68.226, 1.294 } })
  {
    auto request = MakeRequest(extent, radius, 16);
    request.pixelType = type;
    request.outputPixelBytes = PixelBytes(type);
    const double cpu = Cpu(request, 16, true);
    const double cuda = Cuda(request, 16);
    EXPECT_EQ(cpu < cuda, cpuMilliseconds < cudaMilliseconds)
      << ToString(type) << ", " << extent[0] << ", radius " << radius[0] << ": " << cpu * 1e3 << " and " << cuda * 1e3
      << " for " << cpuMilliseconds << " and " << cudaMilliseconds << " ms";
  }
}

TEST(CudaMedianBackendEstimate, SlowerBusesAndDevicesTakeLonger)
{
  const auto request = MakeRequest(flat, { { 8, 8, 0, 0 } });
  const auto estimate = [&](double copyBytes, double speed, int computeCapability) {
    PlanLimits limits;
    limits.budget = budget;
    limits.device.clockKilohertz = static_cast<int>(speed * limits.device.clockKilohertz);
    limits.device.computeCapability = computeCapability;
    return EstimateCudaSeconds(
      request, PlanMedian(request, Backend::Cuda, limits), { true, true }, MakeHost(16), copyBytes);
  };
  EXPECT_GT(estimate(6e9, 1, 90), 2 * estimate(50e9, 1, 90));
  EXPECT_GT(estimate(50e9, 0.1, 90), 2 * estimate(50e9, 1, 90));
  EXPECT_GT(estimate(50e9, 0.1, 75), 1.5 * estimate(50e9, 0.1, 90));
}
