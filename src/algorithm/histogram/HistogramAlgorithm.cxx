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
#include "HistogramDevice.h"
#include "HistogramHost.h"
#include "MedianAlgorithm.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

class HistogramAlgorithm : public MedianAlgorithm
{
public:
  Algorithm
  GetAlgorithm() const override
  {
    return Algorithm::SlidingHistogram;
  }

  bool
  CoversRankMaps(Backend) const override
  {
    return true;
  }

  Proposal
  ProposeOnHost(const Problem & problem) const override
  {
    const auto & request = problem.request;
    const auto   pixelBytes = problem.GetPixelBytes();
    if (!IsCoveredByHostHistograms(problem.GetWindow(), pixelBytes))
    {
      return Refuse(problem, hostHistogramLimits);
    }
    Candidate candidate;
    candidate.reason = "the window slides over histograms of columns";
    if (pixelBytes == 1)
    {
      candidate.tileReason = "a row of pixels at a time";
      candidate.standing = Standing::Fastest; // beyond the windows whose tile program is the fastest (TilePolicy.h)
      candidate.onHost = MakeHistogramMethod();
      return { candidate, "", false };
    }
    HostBlockShape shape{};
    if (!FindHostHistogramShape(
          problem.GetWindow(), pixelBytes, request.outputExtent, std::max(1U, request.workUnits), shape))
    {
      return Refuse(problem, hostHistogramLimits);
    }
    candidate.tile = shape.GetTile();
    candidate.tileReason = "lowest cost by the model of sorting a region and sliding";
    // Of one axis, columns have a pixel each or the window is a column, and nothing is shared.
    candidate.standing = problem.GetWindow().CountAxes() > 1 ? Standing::Fastest : Standing::Overtaken;
    candidate.onHost = MakeSortedHistogramMethod(shape);
    return { candidate, "", false };
  }

  Proposal
  ProposeOnDevice(const Problem & problem) const override
  {
    const auto &   request = problem.request;
    const auto     pixelBytes = problem.GetPixelBytes();
    HistogramShape shape{};
    if (!FindHistogramShape(problem.GetWindow(), pixelBytes, shape, problem.device, request.outputExtent))
    {
      return Refuse(problem, histogramLimits);
    }
    if (shape.sharedBytes > problem.device.blockSharedBytes)
    {
      return { std::nullopt,
               "sliding histograms take " + std::to_string(shape.sharedBytes) +
                 " bytes of shared memory where a block of the device has " +
                 std::to_string(problem.device.blockSharedBytes),
               true };
    }
    const auto verdict = FindVerdict(problem, KernelMeans::Histograms);
    if (!verdict.empty())
    {
      return { std::nullopt, verdict, true };
    }
    const auto least = GetLeastHistogramScratchBytes(shape);
    if (!problem.isForced && least > problem.budget / 4)
    {
      return { std::nullopt,
               "a quarter of the budget cannot hold the " + std::to_string(least) +
                 " bytes of a region of sliding histograms",
               false };
    }
    Candidate  candidate;
    const auto each = EstimateHistogramPicoseconds(shape, problem.device, request.outputExtent);
    candidate.seconds = problem.CountOutputs() * each * 1e-12 * GetSlowness(problem) *
                        GetHistogramSpread(pixelBytes, shape.window[2] == 1);
    candidate.tile = GetHistogramTile(shape);
    candidate.scratchBytes = GetHistogramScratchBytes(shape, request.outputExtent, std::max(problem.budget / 4, least));
    candidate.hasLongBlocks = true;
    candidate.reason = "the window slides over histograms of columns";
    candidate.tileReason = pixelBytes == 1 ? "pixels of 8 bits are sorted by their bins"
                                           : "lowest cost by the model of sorting a region and sliding";
    candidate.onDevice = MakeHistogramDeviceMethod(shape);
    return { candidate, "", false };
  }

  std::vector<Extent>
  ListHostChecks(PixelType type) const override
  {
    std::vector<Extent> windows;
    for (const auto & radius : { Extent{ { 10, 10, 0, 0 } }, Extent{ { 3, 3, 3, 0 } } })
    {
      if (IsCoveredByHostHistograms(radius, static_cast<int>(PixelBytes(type))))
      {
        windows.push_back(radius);
      }
    }
    return windows;
  }

  std::vector<DeviceCheck>
  ListDeviceChecks(PixelType) const override
  {
    return { { KernelMeans::Histograms, { { 50, 50, 0, 0 } } }, { KernelMeans::Histograms, { { 7, 7, 7, 0 } } } };
  }

private:
  static Proposal
  Refuse(const Problem & problem, const char * limits)
  {
    return { std::nullopt,
             "Sliding histograms do not cover a window of radius " + Join(problem.request.radius) + ": " + limits,
             false };
  }
};

} // namespace

const MedianAlgorithm &
GetHistogramAlgorithm()
{
  static const auto & algorithm = *new HistogramAlgorithm;
  return algorithm;
}

} // namespace cudamedian
