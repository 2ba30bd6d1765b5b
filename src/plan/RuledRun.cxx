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
#include "RuledRun.h"

#include "BackendEstimate.h"
#include "HostMethod.h"
#include "MaskedRequest.h"
#include "PlannedRun.h"
#include "Planner.h"
#include "RowRules.h"

#include <utility>

namespace cudamedian
{
namespace
{

/** Runs a method on the rows of a request with rules. */
class RuledMethod : public HostMethod
{
public:
  RuledMethod(std::shared_ptr<const HostMethod> method, const MedianRequest & ruled)
    : m_Method(std::move(method))
    , m_Ruled(ruled)
  {}

  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    // It is looked for among all distances, which takes as long as some thousand outputs.
    constexpr double manyOutputs = 1 << 18;
    const bool       isWorthwhile = HasDeviations(m_Ruled) && (PixelBytes(m_Ruled.pixelType) == 1 ||
                                                         static_cast<double>(Volume(output.extent)) >= manyOutputs);
    const auto       quick = isWorthwhile
                               ? FindQuickBound(DeviationBound(m_Ruled.outlierThreshold), PixelBytes(m_Ruled.pixelType))
                               : QuickBound();
    m_Method->RunRuled(request, output, [&] { return std::make_unique<RowRules>(m_Ruled, quick); }, report);
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits & host, double threads) const override
  {
    return m_Method->EstimateWork(request, host, threads);
  }

  std::string
  Describe() const override
  {
    return m_Method->Describe();
  }

private:
  std::shared_ptr<const HostMethod> m_Method;
  const MedianRequest &             m_Ruled;
};

} // namespace

std::optional<ExecutionReport>
RunInRuledRows(const MedianRequest & request)
{
  if (!AreRulesOfRows(request))
  {
    return std::nullopt;
  }
  auto inner = AreRowsMade(request) ? MakeCopiedRequest(request) : request;
  inner.outputStride = request.outputStride;
  inner.rank = GetMaskedRanks(request).span.least;
  inner.evenMedian = EvenMedian::Upper;
  inner.outlierRule = OutlierRule::None;
  // Which algorithm finds ranks of a map is chosen among those that do.
  inner.algorithm = inner.rankMap != nullptr ? Algorithm::Automatic : inner.algorithm;
  auto plan = PlanOnHost(inner);
  if (!plan.candidate.onHost->TakesRuledRows(inner))
  {
    return std::nullopt;
  }
  if (inner.mayUseFewerUnits && inner.workUnits > 1)
  {
    inner.workUnits = ChooseWorkUnits(inner, plan);
  }
  plan.candidate.onHost = std::make_shared<RuledMethod>(plan.candidate.onHost, request);
  plan.slabReason += "; rules are applied to rows as they pass";
  ExecutionReport report;
  RunPlanned(GetCpuBackend(), inner, plan, {}, report);
  return report;
}

} // namespace cudamedian
