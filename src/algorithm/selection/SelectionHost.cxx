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
#include "SelectionHost.h"

#include "MedianAlgorithm.h"
#include "PixelFormat.h"
#include "RowDealer.h"
#include "SelectionRowRunner.h"

namespace cudamedian
{
namespace
{

class SelectionMethod : public HostMethod
{
public:
  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
      RunRows<SelectionRowRunner<typename decltype(key)::Bits, decltype(key)::mapping>>(request, output, report);
    });
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits &, double) const override
  {
    // Windows are listed and partly sorted, or counted once per bit of a key where most of them is clamped.
    const Window window = GetWindow(request);
    const auto   listed =
      static_cast<double>(window.footprint != nullptr ? window.footprint->GetPixels().size() : window.CountBoxPixels());
    const double counted = CountWindowPixels(request) * 8 * static_cast<double>(PixelBytes(request.pixelType));
    return static_cast<double>(Volume(request.outputExtent)) * (listed > counted ? 0.4 * counted : 10 * listed) * 1e-9;
  }
};

} // namespace

std::shared_ptr<const HostMethod>
MakeSelectionMethod()
{
  return std::make_shared<SelectionMethod>();
}

} // namespace cudamedian
