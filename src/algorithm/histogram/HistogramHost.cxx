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
#include "HistogramHost.h"

#include "HistogramRowRunner.h"
#include "HostBlockMethod.h"
#include "HostHistogramPolicy.h"
#include "PixelFormat.h"
#include "RowDealer.h"
#include "SortedHistogramRunner.h"

namespace cudamedian
{
namespace
{

class HistogramMethod : public HostMethod
{
public:
  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    RunRows<HistogramRowRunner<KeyMapping::Integer>>(request, output, report);
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits & host, double) const override
  {
    // The window slides, and a row down, where there are further axes, more than one pixel enters each column: as long
    // as so many bytes are compared.
    const auto window = GetWindow(request);
    const auto rim = window.GetSize(2) * window.GetSize(3);
    return static_cast<double>(Volume(request.outputExtent)) * (1200 + 900 * static_cast<double>(rim)) / host.laneBytes;
  }
};

} // namespace

std::shared_ptr<const HostMethod>
MakeHistogramMethod()
{
  return std::make_shared<HistogramMethod>();
}

std::shared_ptr<const HostMethod>
MakeSortedHistogramMethod(const HostBlockShape & shape)
{
  return std::make_shared<HostBlockMethod<SortedHistogramRunner>>(shape, EstimateHostHistogramNanoseconds, 1);
}

} // namespace cudamedian
