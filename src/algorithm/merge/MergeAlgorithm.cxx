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
#include "MedianAlgorithm.h"
#include "MergeDevice.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

class MergeAlgorithm : public MedianAlgorithm
{
public:
  Algorithm
  GetAlgorithm() const override
  {
    return Algorithm::MergeTiling;
  }

  bool
  IsLastResort() const override
  {
    return true;
  }

  Proposal
  ProposeOnHost(const Problem & problem) const override
  {
    return { std::nullopt, GetRefusal(problem) + " on the CPU backend: it runs on CUDA only", false };
  }

  Proposal
  ProposeOnDevice(const Problem & problem) const override
  {
    const auto & request = problem.request;
    const auto   pixelBytes = problem.GetPixelBytes();
    MergeShape   shape{};
    if (!FindMergeShape(problem.GetWindow(),
                        pixelBytes,
                        request.outputExtent,
                        std::min(mostMergeScratchBytes, problem.budget / 4),
                        shape))
    {
      return { std::nullopt, GetRefusal(problem) + ": " + mergeLimits, false };
    }
    const auto verdict = FindVerdict(problem, KernelMeans::Merges);
    if (!verdict.empty())
    {
      return { std::nullopt, verdict, true };
    }
    Candidate candidate;
    candidate.seconds = problem.CountOutputs() * EstimateMergePicoseconds(shape, request.outputExtent, pixelBytes) *
                        1e-12 * GetSlowness(problem);
    candidate.tile = GetMergeTile(shape);
    candidate.scratchBytes = static_cast<std::size_t>(shape.scratchBytes);
    candidate.hasLongBlocks = true;
    candidate.reason = "sorted rows, columns and cores of the window are merged";
    candidate.tileReason = "lowest number of merges, in regions of " + std::to_string(shape.GetOutputs(0)) + "x" +
                           std::to_string(shape.GetOutputs(1)) + " outputs with " + std::to_string(shape.scratchBytes) +
                           " bytes of sorted lists";
    candidate.onDevice = MakeMergeDeviceMethod(shape);
    return { candidate, "", false };
  }

  std::vector<Extent>
  ListHostChecks(PixelType) const override
  {
    return {};
  }

  std::vector<DeviceCheck>
  ListDeviceChecks(PixelType) const override
  {
    return { { KernelMeans::Merges, { { 15, 15, 0, 0 } } } };
  }

private:
  static std::string
  GetRefusal(const Problem & problem)
  {
    return "Merge tiling does not cover a window of radius " + Join(problem.request.radius);
  }
};

} // namespace

const MedianAlgorithm &
GetMergeAlgorithm()
{
  static const auto & algorithm = *new MergeAlgorithm;
  return algorithm;
}

} // namespace cudamedian
