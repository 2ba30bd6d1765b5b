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
#include "ChainPlan.h"

#include "SlabCutter.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace cudamedian
{
namespace
{

/** The most pixels that slabs may have together for each pixel of the image. One step after the other transfers more,
 * and filters less. */
constexpr std::int64_t mostFiltered = 3;

/** The lesser of two budgets, of which 0 is none. */
std::size_t
GetLesserBudget(std::size_t one, std::size_t other)
{
  return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
}

/** Cuts the slabs of a plan within a budget. Images between steps are as large as the input of a slab, and two of them
 * are there at a time. */
void
CutWithin(std::size_t budget, const MedianRequest & images, Plan & plan)
{
  plan.slabs.clear();
  plan.slabsInFlight = 1;
  plan.candidate.scratchBytes = 0;
  plan.deviceMemoryBudget = budget;
  CutIntoDeviceSlabs(images, plan);
  plan.candidate.scratchBytes = 2 * plan.deviceInputBytes;
}

} // namespace

MedianRequest
MakeChainRequest(const std::vector<MedianRequest> & steps)
{
  auto images = steps.front();
  images.radius = {};
  images.shorter = {};
  images.shift = {};
  images.border = {};
  images.evenMedian = EvenMedian::Upper;
  images.rank = -1;
  images.footprint = nullptr;
  images.algorithm = Algorithm::Automatic;
  for (const auto & step : steps)
  {
    images.deviceMemoryBudget = GetLesserBudget(images.deviceMemoryBudget, step.deviceMemoryBudget);
    images.hostMemoryBudget = GetLesserBudget(images.hostMemoryBudget, step.hostMemoryBudget);
    images.backend = step.backend == Backend::Auto ? images.backend : step.backend;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      // Beyond the whole image there is nothing that a slab could have.
      const auto most = images.inputExtent[axis];
      const auto reach = std::min(step.radius[axis], most) + std::min(std::abs(step.shift[axis]), most);
      images.radius[axis] = std::min(images.radius[axis] + reach, most);
    }
  }
  return images;
}

MedianRequest
MakeStepAlone(const MedianRequest & images, const MedianRequest & step)
{
  auto alone = step;
  alone.input = images.input;
  alone.inputExtent = images.inputExtent;
  alone.inputStride = images.inputStride;
  alone.output = images.output;
  alone.outputOrigin = images.outputOrigin;
  alone.outputExtent = images.outputExtent;
  alone.outputStride = images.outputStride;
  alone.outputPixelBytes = images.outputPixelBytes;
  alone.convertRow = nullptr;
  alone.workUnits = images.workUnits;
  alone.devices = images.devices;
  return alone;
}

Plan
PlanChain(const MedianRequest & images, const std::vector<MedianRequest> & steps, const PlanLimits & limits)
{
  Plan plan;
  plan.backend = Backend::Cuda;
  plan.staging = limits.staging;
  // The more a slab has, the less is its halo, which is filtered once more for each slab.
  plan.candidate.hasLongBlocks = true;
  for (const auto & step : steps)
  {
    const auto candidate = PlanMedian(MakeStepAlone(images, step), Backend::Cuda, limits).candidate;
    plan.candidate.seconds += candidate.seconds;
    plan.candidate.mostPixels = std::min(plan.candidate.mostPixels, candidate.mostPixels);
  }
  CutWithin(limits.budget, images, plan);
  if (plan.GetDeviceBytes() > limits.budget)
  {
    // What is between steps takes at most twice what slabs on their way do.
    CutWithin(limits.budget / 3, images, plan);
  }
  plan.deviceMemoryBudget = limits.budget;
  std::int64_t filtered = 0;
  std::int64_t wanted = 0;
  for (const auto & slab : plan.slabs)
  {
    filtered += Volume(slab.input.extent);
    wanted += Volume(slab.output.extent);
  }
  plan.candidate.seconds *= static_cast<double>(filtered) / static_cast<double>(wanted);
  const auto once = Volume(GetInputBox(images, { images.outputOrigin, images.outputExtent }).extent);
  if (filtered / mostFiltered > once)
  {
    throw RequestError("A device memory budget of " + std::to_string(limits.budget) +
                       " bytes for the slabs of a chain makes them so small that " + std::to_string(filtered) +
                       " pixels are filtered for " + std::to_string(once) + "; the limit is " +
                       std::to_string(mostFiltered) + " times as many");
  }
  return plan;
}

} // namespace cudamedian
