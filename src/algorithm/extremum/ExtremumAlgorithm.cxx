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
#include "ExtremumHost.h"
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
    return { std::nullopt, IsExtremum(problem) ? "Reduction along axes has no kernel" : GetRefusal(problem), false };
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
