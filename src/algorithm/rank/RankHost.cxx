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
#include "RankHost.h"

#include "HostBlockMethod.h"
#include "HostThresholdPolicy.h"
#include "PixelFormat.h"
#include "RankBlockRunner.h"
#include "RequestWindow.h"
#include "RowDealer.h"
#include "ThresholdRunner.h"

namespace cudamedian
{
namespace
{

class RankMethod : public HostMethod
{
public:
  explicit RankMethod(const RankShape & shape)
    : m_Shape(shape)
  {}

  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
      using Key = decltype(key);
      const RankWork work{ output, m_Shape };
      if (m_Shape.pixels <= mostShortRanks)
      {
        RunRows<RankBlockRunner<typename Key::Bits, Key::mapping, std::uint16_t>>(request, work, report);
      }
      else
      {
        RunRows<RankBlockRunner<typename Key::Bits, Key::mapping, std::uint32_t>>(request, work, report);
      }
    });
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits &, double) const override
  {
    // The model that shapes are chosen by leaves out what all shapes have in common.
    return 1.6e-9 * static_cast<double>(CountRankBlocks(m_Shape, request.outputExtent)) *
           EstimateHostRankNanoseconds(m_Shape, GetWindow(request), static_cast<int>(PixelBytes(request.pixelType)));
  }

private:
  RankShape m_Shape;
};

} // namespace

std::shared_ptr<const HostMethod>
MakeThresholdMethod(const HostBlockShape & shape)
{
  // The model that shapes are chosen by is of one thread with the caches to itself.
  constexpr double slowness = 2.7;
  return std::make_shared<HostBlockMethod<ThresholdRunner>>(shape, EstimateHostThresholdNanoseconds, slowness);
}

std::shared_ptr<const HostMethod>
MakeRankMethod(const RankShape & shape)
{
  return std::make_shared<RankMethod>(shape);
}

} // namespace cudamedian
