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
#include "HostThresholdPolicy.h"
#include "MedianAlgorithm.h"
#include "RankDevice.h"
#include "RankEdges.h"
#include "RankHost.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

class RankAlgorithm : public MedianAlgorithm
{
public:
  Algorithm
  GetAlgorithm() const override
  {
    return Algorithm::LocalRank;
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
    const auto & request = problem.request;
    if (HasWeights(problem))
    {
      return RefuseWeights();
    }
    const auto     units = std::max(1U, request.workUnits);
    HostBlockShape blocks{};
    if (problem.GetWindow().CountAxes() > 1 &&
        FindHostThresholdShape(problem.GetWindow(), problem.GetPixelBytes(), request.outputExtent, units, blocks))
    {
      Candidate candidate;
      candidate.tile = blocks.GetTile();
      candidate.reason = "the window keeps a threshold among the ranks of a block";
      candidate.tileReason = "lowest cost by the model of sorting and sliding";
      candidate.standing =
        request.footprint != nullptr || IsThresholdFastestOnHost(blocks, problem.GetPixelBytes(), request.outputExtent)
          ? Standing::Fastest
          : Standing::Overtaken;
      candidate.onHost = MakeThresholdMethod(blocks);
      return { candidate, "", false };
    }
    RankShape shape{};
    if (!FindHostRankShape(problem.GetWindow(), problem.GetPixelBytes(), request.outputExtent, units, shape))
    {
      const bool isBox = request.footprint == nullptr;
      return Refuse(problem,
                    problem.GetPixelBytes() == 1 || !isBox ? "at most two axes besides the first" : "any axis",
                    isBox ? mostShortRanks : mostRankPixels);
    }
    auto candidate = Offer(shape);
    candidate.onHost = MakeRankMethod(shape);
    return { candidate, "", false };
  }

  Proposal
  ProposeOnDevice(const Problem & problem) const override
  {
    const auto & request = problem.request;
    const auto   pixelBytes = problem.GetPixelBytes();
    if (HasWeights(problem))
    {
      return RefuseWeights();
    }
    RankShape shape{};
    if (!FindRankShape(problem.GetWindow(), pixelBytes, shape, problem.device))
    {
      auto refusal = Refuse(problem, "at most three axes", GetMostRankPixels(pixelBytes));
      refusal.whyNot += ", fewer where a block of the device has less than " +
                        std::to_string(GetMostRankSharedBytes() / 1024) + " KiB of shared memory; this one has " +
                        std::to_string(problem.device.blockSharedBytes) + " bytes";
      return refusal;
    }
    const auto needed = GetRankSharedBytes(shape, GetKeyFormat(request.pixelType));
    const auto limit = static_cast<std::size_t>(problem.device.blockSharedBytes);
    if (needed > limit)
    {
      return { std::nullopt,
               "local ranks take " + std::to_string(needed) +
                 " bytes of shared memory where a block of the device has " + std::to_string(limit),
               true };
    }
    const auto verdict = FindVerdict(problem, KernelMeans::Ranks);
    if (!verdict.empty())
    {
      return { std::nullopt, verdict, true };
    }
    // A quarter of the budget is plenty.
    const auto one = static_cast<std::size_t>(shape.scratchBytes);
    if (!problem.isForced && one > problem.budget / 4)
    {
      return { std::nullopt,
               "a quarter of the budget cannot hold the " + std::to_string(one) + " bytes of local ranks",
               false };
    }
    auto candidate = Offer(shape);
    candidate.seconds = problem.CountOutputs() *
                        EstimateRankPicoseconds(shape, problem.GetWindow(), pixelBytes, problem.device) * 1e-12 *
                        GetSlowness(problem);
    candidate.scratchBytes = GetRankScratchBytes(shape, request.outputExtent, std::max(problem.budget / 4, one));
    const bool keeps = KeepsThresholds(shape);
    // Nothing else slides a footprint's windows.
    const bool isAlone = keeps && request.footprint != nullptr;
    const bool isFastest = keeps ? !LeavesDeviceIdle(shape, request.outputExtent, problem.device)
                                 : IsRankFastestOnDevice(problem.GetWindow(), pixelBytes);
    // Histograms overtake large regions at some 340x340 with 16 bits and 360x360 with float, and earlier or later
    // on other devices.
    candidate.standing = isAlone                         ? Standing::Fastest
                         : !isFastest                    ? Standing::Overtaken
                         : keeps && IsLargeRegion(shape) ? Standing::Unknown
                                                         : Standing::Fastest;
    candidate.programBytes = GetRankListBytes(shape);
    candidate.hasLongBlocks = true;
    candidate.onDevice = MakeRankDeviceMethod(shape);
    return { candidate, "", false };
  }

  std::vector<Extent>
  ListHostChecks(PixelType) const override
  {
    return { { { 10, 10, 0, 0 } }, { { 3, 3, 3, 0 } } };
  }

  std::vector<DeviceCheck>
  ListDeviceChecks(PixelType type) const override
  {
    std::vector<DeviceCheck> checks{ { KernelMeans::Ranks, { { 10, 10, 0, 0 } } },
                                     { KernelMeans::Ranks, { { 3, 3, 3, 0 } } } };
    // Windows that keep a threshold, of a size that blocks of all devices have room for.
    const auto bytes = PixelBytes(type);
    if (bytes == 2)
    {
      checks.push_back({ KernelMeans::Ranks, { { 22, 22, 0, 0 } } });
    }
    else if (bytes == 4)
    {
      checks.push_back({ KernelMeans::Ranks, { { 30, 30, 0, 0 } } });
    }
    return checks;
  }

private:
  static bool
  HasWeights(const Problem & problem)
  {
    return problem.request.footprint != nullptr && problem.request.footprint->HasWeights();
  }

  static Proposal
  RefuseWeights()
  {
    return { std::nullopt, "Local ranks count each pixel of a footprint once", false };
  }

  static Candidate
  Offer(const RankShape & shape)
  {
    Candidate candidate;
    candidate.tile = GetRankTile(shape);
    candidate.reason = "the window's pixels can be sorted by blocks";
    candidate.tileReason = "lowest cost by the model of sorting and sliding";
    return candidate;
  }

  static Proposal
  Refuse(const Problem & problem, const std::string & axes, int pixels)
  {
    return { std::nullopt,
             "No block of local ranks covers a window of radius " + Join(problem.request.radius) + ": " + axes +
               " may have a radius, and the smallest block must touch no more than " + std::to_string(pixels) +
               " pixels",
             false };
  }
};

} // namespace

const MedianAlgorithm &
GetRankAlgorithm()
{
  static const auto & algorithm = *new RankAlgorithm;
  return algorithm;
}

} // namespace cudamedian
