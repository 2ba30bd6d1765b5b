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
#include "Planner.h"

#include "HostMethod.h"
#include "MedianAlgorithm.h"
#include "SlabCutter.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** What was offered, and why by others nothing was. */
struct Offers
{
  std::vector<Candidate>               candidates;
  std::string                          refusals;
  bool                                 anyOutOfUse{ false };
  std::shared_ptr<const AwaitedKernel> awaited;
};

/** What an algorithm does not cover of a request at all, in words; "" where it is to be asked. */
std::string
FindGap(const MedianAlgorithm & algorithm, const MedianRequest & request, Backend backend)
{
  const std::string name = ToString(algorithm.GetAlgorithm());
  const std::string where = std::string(" on ") + ToString(backend);
  if (request.footprint != nullptr && !algorithm.CoversFootprints(backend))
  {
    return "no footprint is covered by " + name + where;
  }
  if (request.rankMap != nullptr && !algorithm.CoversRankMaps(backend))
  {
    return "no map of ranks is covered by " + name + where;
  }
  return "";
}

/** Asks one algorithm. \returns whether that settles the choice. */
bool
Ask(const MedianAlgorithm & algorithm, const Problem & problem, Backend backend, Offers & offers)
{
  const auto gap = FindGap(algorithm, problem.request, backend);
  if (!gap.empty())
  {
    offers.refusals += (offers.refusals.empty() ? "" : "; ") + gap;
    return false;
  }
  auto proposal = backend == Backend::Cuda ? algorithm.ProposeOnDevice(problem) : algorithm.ProposeOnHost(problem);
  offers.awaited = proposal.awaited ? proposal.awaited : offers.awaited;
  if (!proposal.candidate)
  {
    offers.refusals += (offers.refusals.empty() ? "" : "; ") + proposal.whyNot;
    offers.anyOutOfUse = offers.anyOutOfUse || proposal.isOutOfUse;
    return false;
  }
  auto & candidate = *proposal.candidate;
  candidate.algorithm = algorithm.GetAlgorithm();
  if (backend == Backend::Cpu)
  {
    const double threads = std::max(1U, std::min(problem.request.workUnits, problem.host.cores));
    candidate.seconds = candidate.onHost->EstimateWork(problem.request, problem.host, threads) / threads;
  }
  offers.candidates.push_back(candidate);
  return candidate.standing == Standing::Fastest;
}

/** Asks all algorithms, those of last resort where nobody else offers anything. */
Offers
AskAll(const Problem & problem, Backend backend)
{
  Offers offers;
  for (const bool last : { false, true })
  {
    for (const auto * algorithm : GetMedianAlgorithms())
    {
      if (algorithm->IsLastResort() == last && Ask(*algorithm, problem, backend, offers))
      {
        return offers;
      }
    }
    if (!offers.candidates.empty())
    {
      break;
    }
  }
  return offers;
}

/** Asks the one algorithm that is wanted. \throws RequestError when it does not cover the window. */
Offers
AskFor(Algorithm wanted, const Problem & problem, Backend backend)
{
  Offers offers;
  for (const auto * algorithm : GetMedianAlgorithms())
  {
    if (algorithm->GetAlgorithm() == wanted)
    {
      Ask(*algorithm, problem, backend, offers);
    }
  }
  if (offers.candidates.empty() && !offers.anyOutOfUse)
  {
    throw RequestError(offers.refusals);
  }
  return offers;
}

/** Whether the first of two offers, or kernels that are not compiled yet, is faster than the second. */
template <typename TOne, typename TOther>
bool
IsFaster(const TOne & one, const TOther & other)
{
  return one.standing != other.standing ? one.standing < other.standing : one.seconds < other.seconds;
}

std::vector<Candidate>::const_iterator
FindFastest(const Offers & offers)
{
  return std::min_element(offers.candidates.begin(), offers.candidates.end(), [](const auto & one, const auto & other) {
    return IsFaster(one, other);
  });
}

/** Asks all algorithms, and once more for kernels that are worth waiting for: those whose compilation takes less than
 * they save. */
Offers
AskAllOrWait(Problem & problem, Backend backend)
{
  auto offers = AskAll(problem, backend);
  if (offers.awaited && (offers.candidates.empty() ||
                         offers.awaited->seconds + offers.awaited->compileSeconds < FindFastest(offers)->seconds))
  {
    problem.waits = true;
    offers = AskAll(problem, backend);
  }
  return offers;
}

/** Takes the fastest of what was offered, and says why. */
Candidate
TakeFastest(const Offers & offers, std::string & reason)
{
  const auto fastest = FindFastest(offers);
  reason = fastest->reason;
  for (const auto & other : offers.candidates)
  {
    reason += &other == &*fastest ? "" : std::string(", and is faster than ") + ToString(other.algorithm);
  }
  for (const auto & candidate : offers.candidates)
  {
    reason += (candidate.shortcoming.empty() ? "" : "; ") + candidate.shortcoming;
  }
  reason += (offers.refusals.empty() ? "" : "; ") + offers.refusals;
  return *fastest;
}

/** Chooses an algorithm and how it is run. */
void
ChooseCandidate(Problem & problem, Plan & plan)
{
  const auto wanted = problem.request.algorithm;
  Offers     offers;
  problem.isForced = wanted != Algorithm::Automatic || problem.only;
  problem.waits = problem.isForced || problem.request.compilation == Compilation::Wait;
  if (wanted != Algorithm::Automatic)
  {
    offers = AskFor(wanted, problem, plan.backend);
    problem.isForced = false;
  }
  if (!offers.candidates.empty())
  {
    plan.candidate = offers.candidates.front();
    const auto & shortcoming = plan.candidate.shortcoming;
    plan.algorithmReason = "asked for" + (shortcoming.empty() ? "" : "; " + shortcoming);
    return;
  }
  const auto missing = offers.refusals;
  problem.waits = problem.only || problem.request.compilation == Compilation::Wait;
  offers = AskAllOrWait(problem, plan.backend);
  if (offers.candidates.empty())
  {
    throw DeviceError("No kernel gives right results on this device: " + offers.refusals);
  }
  plan.candidate = TakeFastest(offers, plan.algorithmReason);
  if (offers.awaited && IsFaster(*offers.awaited, plan.candidate))
  {
    plan.awaited = offers.awaited;
  }
  if (!missing.empty())
  {
    plan.algorithmReason = missing;
  }
}

} // namespace

Plan
PlanMedian(const MedianRequest & request, Backend backend, const PlanLimits & limits)
{
  Plan plan;
  plan.backend = backend;
  Problem problem{ request, limits.device, limits.devices,  limits.budget, GetH200HostTraits(),
                   false,   limits.only,   limits.excluded, false };
  ChooseCandidate(problem, plan);
  if (backend == Backend::Cuda)
  {
    plan.deviceMemoryBudget = limits.budget;
    plan.staging = limits.staging;
    CutIntoDeviceSlabs(request, plan);
  }
  else
  {
    CutIntoHostSlabs(request, plan);
  }
  return plan;
}

Plan
PlanOnHost(const MedianRequest & request)
{
  return PlanMedian(request, Backend::Cpu, PlanLimits());
}

void
DescribePlan(const Plan & plan, ExecutionReport & report)
{
  report.backend = ToString(plan.backend);
  report.algorithm = ToString(plan.candidate.algorithm);
  report.algorithmReason = plan.algorithmReason;
  report.tileReason = plan.candidate.tileReason;
  report.numberOfSlabs = plan.slabs.size();
  report.slabReason = plan.slabReason;
  report.tile = plan.candidate.tile;
  report.operations = plan.candidate.operations;
}

} // namespace cudamedian
