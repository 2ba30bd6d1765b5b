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
#include "PlannedRun.h"

#include "RequestWindow.h"
#include "TrialImage.h"

#include <optional>
#include <utility>

namespace cudamedian
{
namespace
{

/** A plan with half the staging memory, or null where that would not be worth it. */
std::optional<Plan>
PlanWithLessStaging(const Planning & planning, const Plan & plan, PlanLimits & limits)
{
  constexpr std::size_t worthPinning = std::size_t{ 4 } << 20;
  const auto            half = plan.GetStagedBytes() / 2;
  if (half < worthPinning)
  {
    return std::nullopt;
  }
  auto less = limits;
  less.staging.budget = half;
  try
  {
    auto smaller = planning(less);
    limits = less;
    return smaller;
  }
  catch (const RequestError &)
  {
    return std::nullopt;
  }
}

/** Plans and reserves until a plan can be run. */
class Reservation
{
public:
  Reservation(const MedianBackend &       backend,
              std::unique_ptr<BackendRun> run,
              const MedianRequest &       request,
              const Planning &            planning,
              Plan                        plan,
              PlanLimits                  limits)
    : m_Backend(backend)
    , m_Request(request)
    , m_Planning(planning)
    , m_Plan(std::move(plan))
    , m_Limits(std::move(limits))
    , m_GivenBudget(m_Limits.budget)
    , m_Run(std::move(run))
  {}

  /** \throws RequestError, DeviceError where no plan is left. */
  void
  Reserve()
  {
    for (;;)
    {
      const auto obstacle = m_Run->Reserve(m_Plan, m_HasOrdinaryStaging, m_Limits.only.has_value());
      switch (obstacle.kind)
      {
        case Obstacle::Kind::None:
          return;
        case Obstacle::Kind::DeviceMemory:
          PlanWithLessMemory();
          break;
        case Obstacle::Kind::HostMemory:
          PlanWithLessStaging();
          break;
        case Obstacle::Kind::Kernel:
          PlanWithout(obstacle, obstacle.text);
          break;
        case Obstacle::Kind::Proof:
          Prove(obstacle);
          break;
      }
    }
  }

  void
  Execute(ExecutionReport & report)
  {
    DescribePlan(m_Plan, report);
    report.slabReason += m_Problems.empty() ? "" : ", after " + m_Problems;
    CompileAwaited(m_Plan, report);
    m_Run->Execute(m_Plan, report);
  }

private:
  void
  PlanWithLessMemory()
  {
    const auto needed = m_Plan.GetDeviceBytes();
    m_Problems = "an allocation of " + std::to_string(needed) + " bytes of device memory failed";
    m_Limits.budget = needed / 2;
    try
    {
      m_Plan = m_Planning(m_Limits);
    }
    catch (const RequestError &)
    {
      throw DeviceError("Allocating " + std::to_string(needed) +
                        " bytes of device memory, which the smallest slab needs, failed; the budget is " +
                        std::to_string(m_GivenBudget) + " bytes, and " +
                        std::to_string(m_Backend.GetFreeMemory(m_Request.devices)) + " are free now");
    }
  }

  void
  PlanWithLessStaging()
  {
    const auto staged = std::to_string(m_Plan.GetStagedBytes());
    if (m_HasOrdinaryStaging)
    {
      throw DeviceError("Allocating " + staged + " bytes of the host's memory, pinned or not, failed");
    }
    m_Problems = staged + " bytes of pinned memory of the host were not to be had";
    const auto smaller = cudamedian::PlanWithLessStaging(m_Planning, m_Plan, m_Limits);
    m_HasOrdinaryStaging = !smaller;
    m_Plan = smaller ? *smaller : m_Plan;
    m_Problems += m_HasOrdinaryStaging ? ", so that slabs pass through ordinary memory" : "";
  }

  /** Plans without a kernel that a device does not have. */
  void
  PlanWithout(const Obstacle & obstacle, const std::string & why)
  {
    if (m_Limits.only)
    {
      throw DeviceError(why);
    }
    SetVerdict(GetSubject(obstacle), why);
    m_Plan = m_Planning(m_Limits);
  }

  /** Has a kernel prove itself, and plans without it where it does not. */
  void
  Prove(const Obstacle & obstacle)
  {
    const auto  subject = GetSubject(obstacle);
    std::string wrong;
    try
    {
      wrong = TryOutKernel(m_Backend, subject);
    }
    catch (const NoMemoryForProof & error)
    {
      // Which says nothing about the kernel: it is without use this time alone.
      m_Limits.excluded.push_back({ obstacle.means, error.what() });
      m_Plan = m_Planning(m_Limits);
      return;
    }
    if (wrong.empty())
    {
      SetVerdict(subject, "");
      return;
    }
    PlanWithout(obstacle,
                std::string(ToString(obstacle.means)) +
                  " is out of use, since a small image was filtered wrong with it: " + wrong);
  }

  KernelSubject
  GetSubject(const Obstacle & obstacle) const
  {
    return { obstacle.device, obstacle.means, GetWindow(m_Request), m_Request.pixelType };
  }

  const MedianBackend &       m_Backend;
  const MedianRequest &       m_Request;
  const Planning &            m_Planning;
  Plan                        m_Plan;
  PlanLimits                  m_Limits;
  std::size_t                 m_GivenBudget;
  std::unique_ptr<BackendRun> m_Run;
  bool                        m_HasOrdinaryStaging{ false };
  std::string                 m_Problems;
};

/** More than any plan for the small image takes. */
constexpr std::size_t proofBudget = std::size_t{ 256 } << 20;

std::string
Compare(const MedianBackend & backend, const KernelSubject & subject)
{
  TrialImage image(subject.window, subject.type);
  auto &     request = image.request;
  request.backend = Backend::Cpu;
  RunMedian(request);
  std::vector<char> expected(image.result.size(), 0);
  expected.swap(image.result);
  request.output = image.result.data();

  request.backend = Backend::Cuda;
  request.devices = { subject.device };
  PlanLimits limits;
  limits.budget = proofBudget;
  limits.device = backend.GetTraits(request.devices);
  limits.devices = request.devices;
  limits.only = subject.means;
  const auto plan = PlanMedian(request, Backend::Cuda, limits);
  const auto run = backend.Start(request, plan.slabs.size());
  const auto obstacle = run->Reserve(plan, false, true);
  if (obstacle.kind == Obstacle::Kind::Kernel)
  {
    return obstacle.text;
  }
  if (obstacle.kind != Obstacle::Kind::None)
  {
    throw NoMemoryForProof(std::string(ToString(subject.means)) + " was not tried out, since allocating " +
                           std::to_string(plan.GetDeviceBytes()) + " bytes for that failed");
  }
  ExecutionReport report;
  run->Execute(plan, report);
  return image.Compare(expected);
}

} // namespace

void
CompileAwaited(const Plan & plan, ExecutionReport & report)
{
  if (plan.awaited)
  {
    plan.awaited->compile();
    report.compiling = plan.awaited->name;
  }
}

void
RunPlanned(const MedianBackend &       backend,
           std::unique_ptr<BackendRun> run,
           const MedianRequest &       request,
           const Planning &            planning,
           Plan                        plan,
           PlanLimits                  limits,
           ExecutionReport &           report)
{
  Reservation reservation(backend, std::move(run), request, planning, std::move(plan), std::move(limits));
  reservation.Reserve();
  reservation.Execute(report);
}

void
RunPlanned(const MedianBackend &       backend,
           std::unique_ptr<BackendRun> run,
           const MedianRequest &       request,
           Plan                        plan,
           PlanLimits                  limits,
           ExecutionReport &           report)
{
  const auto planned = plan.backend;
  RunPlanned(
    backend,
    std::move(run),
    request,
    [&request, planned](const PlanLimits & given) { return PlanMedian(request, planned, given); },
    std::move(plan),
    std::move(limits),
    report);
}

void
RunPlanned(const MedianBackend & backend,
           const MedianRequest & request,
           const Plan &          plan,
           const PlanLimits &    limits,
           ExecutionReport &     report)
{
  RunPlanned(backend, backend.Start(request, plan.slabs.size()), request, plan, limits, report);
}

std::string
TryOutKernel(const MedianBackend & backend, const KernelSubject & subject)
{
  try
  {
    return Compare(backend, subject);
  }
  catch (const RequestError & error)
  {
    return error.what();
  }
  catch (const DeviceError & error)
  {
    // An error that stays is thrown again, and is nothing about the kernel.
    backend.Synchronize(subject.device);
    return error.what();
  }
}

} // namespace cudamedian
