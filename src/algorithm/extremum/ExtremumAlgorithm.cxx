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
#include "ExtremumDevice.h"
#include "ExtremumHost.h"
#include "ExtremumSteps.h"
#include "MedianAlgorithm.h"

namespace cudamedian
{
namespace
{

class ExtremumAlgorithm : public MedianAlgorithm
{
public:
  Algorithm
  GetAlgorithm() const override
  {
    return Algorithm::Extremum;
  }

  Proposal
  ProposeOnHost(const Problem & problem) const override
  {
    if (!IsExtremum(problem))
    {
      return { std::nullopt, GetRefusal(problem), false };
    }
    Candidate candidate;
    candidate.reason = "the window's extreme is that of its rows' extremes, along one axis after the other";
    candidate.tileReason = "no program runs";
    candidate.standing = Standing::Fastest;
    candidate.onHost = MakeExtremumMethod();
    return { candidate, "", false };
  }

  Proposal
  ProposeOnDevice(const Problem & problem) const override
  {
    if (!IsExtremum(problem))
    {
      return { std::nullopt, GetRefusal(problem), false };
    }
    const auto verdict = FindVerdict(problem, KernelMeans::Extremes);
    if (!verdict.empty())
    {
      return { std::nullopt, verdict, true };
    }
    const auto & request = problem.request;
    const auto   passes =
      ChooseExtremumPasses(GetExtremumReach(request), request.outputExtent, problem.GetPixelBytes(), problem.device);
    if (passes.shapes.empty())
    {
      return { std::nullopt, "reduction along axes has no block that fits in the device's shared memory", true };
    }
    Candidate candidate;
    candidate.scratchBytes = GetScratchBytes(problem, passes.shapes);
    if (passes.shapes.size() > 1 && candidate.scratchBytes == 0)
    {
      return { std::nullopt,
               "a quarter of the budget cannot hold what reduction along axes keeps between passes",
               false };
    }
    const auto bytes = 2 * problem.CountOutputs() * problem.GetPixelBytes();
    candidate.seconds = passes.copies * bytes / std::max(1e9, problem.device.copyBytes);
    candidate.standing = Standing::Fastest;
    candidate.reason = "the window's extreme is that of its rows' extremes, along one axis after the other";
    candidate.tileReason = "no program runs";
    candidate.onDevice = MakeExtremumDeviceMethod(passes.shapes);
    return { candidate, "", false };
  }

  /** A self-test filters medians. */
  std::vector<Extent>
  ListHostChecks(PixelType) const override
  {
    return {};
  }

  std::vector<DeviceCheck>
  ListDeviceChecks(PixelType) const override
  {
    return {};
  }

private:
  /** Scratch memory between passes: for all outputs, or a quarter of the budget. 0 where there is but one pass, and
   * where regions would be much smaller than their halo. */
  static std::size_t
  GetScratchBytes(const Problem & problem, const std::vector<ExtremumShape> & shapes)
  {
    if (shapes.size() == 1)
    {
      return 0;
    }
    const auto   pixelBytes = static_cast<std::size_t>(problem.GetPixelBytes());
    const auto   vector = GetDevicePitch(1, pixelBytes);
    const auto & whole = problem.request.outputExtent;
    const auto   buffer = RoundUp(static_cast<std::size_t>(CountExtremumBuffer(shapes, whole, vector)) * pixelBytes,
                                static_cast<std::size_t>(deviceAlignment));
    if (2 * buffer <= problem.budget / 4)
    {
      return 2 * buffer;
    }
    constexpr std::int64_t mostHalo = 8;
    const auto             region = ChooseExtremumRegion(shapes, whole, pixelBytes, problem.budget / 4);
    const bool             isWorthIt = CountExtremumBuffer(shapes, region, vector) < mostHalo * Volume(region);
    return Volume(region) > 0 && (isWorthIt || problem.isForced) ? problem.budget / 4 : 0;
  }

  static bool
  IsExtremum(const Problem & problem)
  {
    const auto window = problem.GetWindow();
    return window.CountPixels() > 1 && (window.rank == 0 || window.rank == window.CountPixels() - 1);
  }

  /** Nothing is said where nobody asked. */
  static std::string
  GetRefusal(const Problem & problem)
  {
    const auto window = problem.GetWindow();
    return problem.request.algorithm != Algorithm::Extremum
             ? ""
             : "Reduction along axes finds the least and the greatest value of a window; the rank is " +
                 std::to_string(window.rank) + " of " + std::to_string(window.CountPixels());
  }
};

} // namespace

const MedianAlgorithm &
GetExtremumAlgorithm()
{
  static const auto & algorithm = *new ExtremumAlgorithm;
  return algorithm;
}

} // namespace cudamedian
