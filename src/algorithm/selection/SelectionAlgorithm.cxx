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
#include "SelectionDevice.h"
#include "SelectionHost.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** What an output takes on an H200, in picoseconds. */
double
EstimatePicoseconds(const MedianRequest & request)
{
  // 220e9 pixels of windows a second at 16 bits.
  return CountWindowPixels(request) * static_cast<double>(PixelBytes(request.pixelType)) / 2 / 0.22;
}

class SelectionAlgorithm : public MedianAlgorithm
{
public:
  Algorithm
  GetAlgorithm() const override
  {
    return Algorithm::Selection;
  }

  bool
  IsLastResort() const override
  {
    return true;
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
  ProposeOnHost(const Problem &) const override
  {
    auto candidate = Offer();
    candidate.onHost = MakeSelectionMethod();
    return { candidate, "", false };
  }

  Proposal
  ProposeOnDevice(const Problem & problem) const override
  {
    const auto verdict = FindVerdict(problem, KernelMeans::Selection);
    if (!verdict.empty())
    {
      return { std::nullopt, verdict, true };
    }
    auto candidate = Offer();
    candidate.seconds = problem.CountOutputs() * EstimatePicoseconds(problem.request) * 1e-12 * GetSlowness(problem);
    candidate.mostPixels = GetSelectedPixels(problem.request);
    candidate.hasLongBlocks = true;
    candidate.onDevice = MakeSelectionDeviceMethod();
    if (problem.request.footprint != nullptr)
    {
      candidate.onDevice = MakeFootprintSelectionMethod();
      candidate.programBytes = GetFootprintBytes(*problem.request.footprint);
    }
    return { candidate, "", false };
  }

  std::vector<Extent>
  ListHostChecks(PixelType) const override
  {
    return { { { 10, 10, 0, 0 } }, { { 3, 3, 3, 0 } } };
  }

  std::vector<DeviceCheck>
  ListDeviceChecks(PixelType) const override
  {
    return { { KernelMeans::Selection, { { 1, 1, 0, 0 } } }, { KernelMeans::Selection, { { 1, 1, 1, 0 } } } };
  }

private:
  static Candidate
  Offer()
  {
    Candidate candidate;
    candidate.reason = "selection covers every window";
    candidate.tileReason = "no program runs";
    return candidate;
  }
};

} // namespace

std::int64_t
GetSelectedPixels(const MedianRequest & request)
{
  return std::max<std::int64_t>(1024, static_cast<std::int64_t>(0.02e12 / EstimatePicoseconds(request)));
}

const MedianAlgorithm &
GetSelectionAlgorithm()
{
  static const auto & algorithm = *new SelectionAlgorithm;
  return algorithm;
}

} // namespace cudamedian
