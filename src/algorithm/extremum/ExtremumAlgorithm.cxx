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

#include <algorithm>

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
    Candidate  candidate;
    const auto scratch = FindScratch(problem, passes.shapes);
    if (!scratch)
    {
      return { std::nullopt,
               "a quarter of the budget cannot hold what reduction along axes keeps between passes",
               false };
    }
    candidate.scratchBytes = scratch->bytes;
    candidate.seconds = scratch->halo * passes.seconds;
    // Where regions are much smaller than their halo, another may be faster.
    constexpr double mostHalo = 8;
    candidate.standing = IsLeftToPrograms(problem, passes.shapes) ? Standing::Overtaken
                         : scratch->halo < mostHalo               ? Standing::Fastest
                                                                  : Standing::Unknown;
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
  /** Memory between passes, and how much more of it is worked on than there are outputs. */
  struct Scratch
  {
    std::size_t bytes{ 0 };
    double      halo{ 1 };
  };

  /** Whether tile programs find a small window's extremes faster, or may: they were measured beside kernels that know
   * the window (benchmark/README.md). */
  static bool
  IsLeftToPrograms(const Problem & problem, const std::vector<ExtremumShape> & shapes)
  {
    constexpr std::int64_t few = 25;
    constexpr std::int64_t fewest = 9;
    const auto             pixels = problem.GetWindow().CountPixels();
    const bool             isKnown = shapes.size() == 1 && KnowsTileWindow(shapes[0], problem.GetPixelBytes());
    return pixels < fewest || (pixels < few && !isKnown);
  }

  /** For all outputs, or in a quarter of the budget for regions of them. \returns nothing where none fits. */
  static std::optional<Scratch>
  FindScratch(const Problem & problem, const std::vector<ExtremumShape> & shapes)
  {
    if (shapes.size() == 1)
    {
      return Scratch{};
    }
    const auto & request = problem.request;
    const auto   pixelBytes = PixelBytes(request.pixelType);
    const auto   vector = GetDevicePitch(1, pixelBytes);
    Extent       inputs = request.inputExtent;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      inputs[axis] += HasCopiedBorder(request, axis) ? GetHaloBefore(request, axis) + GetHalo(request, axis) : 0;
    }
    const auto buffer = CountExtremumBuffer(shapes, request.outputExtent, inputs, vector);
    const auto whole = 2 * static_cast<std::size_t>(buffer) * pixelBytes;
    if (whole <= problem.budget / 4)
    {
      return Scratch{ whole, 1 };
    }
    const auto region = ChooseExtremumRegion(shapes, request.outputExtent, inputs, pixelBytes, problem.budget / 4);
    if (Volume(region) == 0)
    {
      return std::nullopt;
    }
    const auto pixels = static_cast<double>(CountExtremumBuffer(shapes, region, inputs, vector));
    return Scratch{ problem.budget / 4, pixels / static_cast<double>(Volume(region)) };
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
