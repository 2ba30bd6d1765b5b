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
#include "KernelPolicy.h"
#include "MedianAlgorithm.h"
#include "TileDevice.h"
#include "TileHost.h"
#include "TilePolicy.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <set>

namespace cudamedian
{
namespace
{

/** Seconds of a device's kernels, by the operations of the window's program. */
double
EstimateSeconds(const Problem & problem, KernelMeans means)
{
  // A program's operations for a pixel are 2.4 for each pixel of the window in 2D (3x3 17, 5x5 60, 11x11 283, 17x17
  // 772), about twice as many in 3D (3x3x3 107, 5x5x5 638) and half of it along one axis (15 19, 21 26). The rates are
  // those of benchmark/README.md.
  const auto bytes = problem.GetPixelBytes();
  const auto axes = problem.GetWindow().CountAxes();
  // Those of footprints count 2 in a cross of 5, 3.2 in a disk of 13, 3.5 in a disk of 81 and 5.5 in a ball of 33.
  const double each = axes > 2 ? 4.6 : problem.request.footprint != nullptr ? 3.3 : axes == 1 ? 1.3 : 2.4;
  const double single = CountWindowPixels(problem.request) * each;
  // Several ranks: 3x3 with 4 counts 29, 5x5 with 6 88, 11x11 with 12 358, and one of them is chosen for each output.
  const auto   ranks = static_cast<double>(problem.GetWindow().ranks);
  const double operations = ranks > 1 ? 1.4 * single + 2 * ranks : single;
  const bool   isPacked = GetKernelKind(bytes, problem.device.computeCapability).GetPixels() == 2;
  const double rate = bytes == 8 ? 3.2e12 : isPacked ? 30e12 : 15.5e12;
  // An interpreted program fetches each instruction and keeps each value in shared memory.
  const double slower = means == KernelMeans::Interpreter ? 60 : 1;
  // Of what a copy moves, as 3x3 does on an H200.
  const double memory = 2.0 * bytes / (0.7 * problem.device.copyBytes);
  return problem.CountOutputs() * std::max(slower * operations / rate * GetSlowness(problem), memory);
}

/** Seconds that the compilation of a window's kernel takes, about. With NVRTC 13.0 and 16-bit pixels on one core 3x3x3
 * takes 0.4, 9x5x3 2.9, 9x9x3 3.8 and 7x7x5 8.1. */
double
EstimateCompileSeconds(const Window & window)
{
  return 0.3 + 0.02 * static_cast<double>(window.CountPixels());
}

class TileAlgorithm : public MedianAlgorithm
{
public:
  Algorithm
  GetAlgorithm() const override
  {
    return Algorithm::TileProgram;
  }

  bool
  CoversFootprints(Backend) const override
  {
    return true;
  }

  bool
  CoversRankMaps(Backend) const override
  {
    return true;
  }

  Proposal
  ProposeOnHost(const Problem & problem) const override
  {
    const auto window = problem.GetWindow();
    if (!IsCoveredByTilePrograms(window))
    {
      return Refuse(window);
    }
    if (problem.request.rankMap != nullptr)
    {
      return ProposeRanksOnHost(problem);
    }
    const auto pixelBytes = problem.GetPixelBytes();
    TileWork   work;
    work.rowProgram = FindRowProgram(window, static_cast<std::size_t>(pixelBytes));
    if (work.rowProgram == nullptr)
    {
      work.rowProgram = FindComplementProgram(window, static_cast<std::size_t>(pixelBytes));
      work.isComplemented = work.rowProgram != nullptr;
    }
    Candidate candidate;
    candidate.tileReason = "measured";
    if (work.rowProgram == nullptr)
    {
      work.scheduled = window.footprint != nullptr ? GetScheduledFootprintProgram(window)
                                                   : GetScheduledProgram(window, ChooseHostTile(window));
      candidate.tileReason += ", or largest power of two up to half the window";
    }
    if (window.footprint != nullptr)
    {
      candidate.tileReason = "lowest count of operations among the tiles that were tried";
    }
    candidate.standing = work.rowProgram != nullptr || IsTileProgramFastestOnHost(window, pixelBytes)
                           ? Standing::Fastest
                           : Standing::Overtaken;
    candidate.tile = work.GetTile();
    candidate.operations = work.CountOperations();
    candidate.reason = "the window is within the range of tile programs";
    candidate.onHost = MakeTileMethod(work);
    return { candidate, "", false };
  }

  Proposal
  ProposeOnDevice(const Problem & problem) const override
  {
    const auto window = problem.GetWindow();
    if (window.ranks > mostKernelRanks)
    {
      return { std::nullopt,
               "kernels of tile programs find at most " + std::to_string(mostKernelRanks) + " ranks; " +
                 std::to_string(window.ranks) + " may be wanted",
               false };
    }
    const bool isInterpreted = window.ranks == 1 && IsInterpretedOnDevices(window);
    if (!isInterpreted && !IsCoveredByKernels(window))
    {
      return Refuse(window);
    }
    const auto means = ChooseTileMeans(problem, isInterpreted ? ScheduleForDevices(window) : nullptr);
    const bool isFastest = IsTileProgramFastestOnDevice(window, problem.GetPixelBytes(), problem.device);
    const auto awaited = means.compile ? Await(problem, isFastest, means.compile) : nullptr;
    if (!means.means)
    {
      return { std::nullopt, "no kernel of the window's tile program (" + means.missing + ")", true, awaited };
    }
    Candidate candidate;
    // What was measured is not of the interpreter.
    candidate.standing = *means.means == KernelMeans::Interpreter ? Standing::Unknown
                         : isFastest                              ? Standing::Fastest
                                                                  : Standing::Overtaken;
    candidate.seconds = EstimateSeconds(problem, *means.means);
    candidate.reason = "the window is within the range of tile programs";
    candidate.shortcoming =
      means.missing.empty() ? "" : "no faster kernel of the window's tile program (" + means.missing + ")";
    candidate.tileReason = "lowest count of instructions among the tiles whose values fit in registers";
    if (*means.means == KernelMeans::Interpreter)
    {
      const auto scheduled = ScheduleForDevices(window);
      candidate.tile = scheduled->program.GetTile();
      candidate.operations = scheduled->program.GetInstructions().size();
      candidate.programBytes = GetDeviceProgramBytes(scheduled->schedule);
      candidate.tileReason = "largest power of two up to half the window, within the live values a thread can hold";
    }
    candidate.onDevice = means.method;
    return { candidate, "", false, awaited };
  }

  PreparedKernel
  PrepareKernel(const Problem & problem) const override
  {
    const auto window = problem.GetWindow();
    return IsCoveredByKernels(window) && IsTileProgramFastestOnDevice(window, problem.GetPixelBytes(), problem.device)
             ? PrepareTileKernel(problem)
             : PreparedKernel{};
  }

  std::vector<Extent>
  ListHostChecks(PixelType) const override
  {
    std::set<Extent> windows{ { { 2, 1, 0, 0 } }, { { 0, 2, 1, 0 } }, { { 1, 1, 1, 0 } } };
    for (const auto & program : GetRowPrograms())
    {
      if (program.window == Window(program.window.radius))
      {
        windows.insert(program.window.radius);
      }
    }
    return { windows.begin(), windows.end() };
  }

  std::vector<DeviceCheck>
  ListDeviceChecks(PixelType type) const override
  {
    return ListTileChecks(type);
  }

private:
  /** The kernel that is not compiled yet. */
  static std::shared_ptr<const AwaitedKernel>
  Await(const Problem & problem, bool isFastest, const std::function<void()> & compile)
  {
    AwaitedKernel awaited;
    awaited.name = "the kernel of the window's tile program";
    awaited.standing = isFastest ? Standing::Fastest : Standing::Overtaken;
    awaited.seconds = EstimateSeconds(problem, KernelMeans::AtFirstUse);
    awaited.compileSeconds = EstimateCompileSeconds(problem.GetWindow());
    awaited.compile = compile;
    return std::make_shared<const AwaitedKernel>(std::move(awaited));
  }

  /** What finds all the ranks of a map at once, of which each output takes its own. */
  static Proposal
  ProposeRanksOnHost(const Problem & problem)
  {
    const auto window = problem.GetWindow();
    if (window.CountPixels() > largestFootprint)
    {
      return { std::nullopt,
               "tile programs find several ranks of at most " + std::to_string(largestFootprint) + " values",
               false };
    }
    TileWork work;
    work.ranks = problem.request.greatestRank - window.rank + 1;
    work.rowProgram = FindRowProgram(window, static_cast<std::size_t>(problem.GetPixelBytes()));
    if (work.rowProgram == nullptr)
    {
      work.scheduled = GetScheduledRanksProgram(window, ChooseHostTile(window), work.ranks);
    }
    Candidate candidate;
    candidate.standing = Standing::Fastest;
    candidate.tile = work.GetTile();
    candidate.tileReason = "that of the median";
    candidate.operations = work.CountOperations();
    candidate.reason = "the window is within the range of tile programs";
    candidate.onHost = MakeTileMethod(work);
    return { candidate, "", false };
  }

  /** The program that devices interpret. */
  static std::shared_ptr<const ScheduledProgram>
  ScheduleForDevices(const Window & window)
  {
    return window.footprint != nullptr ? GetScheduledFootprintProgram(window)
                                       : GetScheduledProgram(window, ChooseTile(window));
  }

  static Proposal
  Refuse(const Window & window)
  {
    if (window.footprint != nullptr)
    {
      return { std::nullopt,
               "No tile program covers a footprint of " + window.footprint->Describe() + ": at most " +
                 std::to_string(largestHostFootprint) + " values on the CPU and " + std::to_string(largestFootprint) +
                 " on CUDA, with a radius of up to 15 on at most two axes, or 5 on three",
               false };
    }
    return { std::nullopt,
             "No tile program covers a window of radius " + Join(window.radius) +
               ": on the CPU at most two axes of radius up to 15, or three of radius up to 4, or up to 7 and at most " +
               std::to_string(largestDeepHostWindow) + " pixels; on CUDA radii up to " +
               std::to_string(largestKernelRadius) + " and at most " + std::to_string(largestKernelWindow) + " pixels",
             false };
  }
};

} // namespace

const MedianAlgorithm &
GetTileAlgorithm()
{
  static const auto & algorithm = *new TileAlgorithm;
  return algorithm;
}

} // namespace cudamedian
