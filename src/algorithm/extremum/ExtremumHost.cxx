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

#include "ExtremumBlockRunner.h"
#include "PixelFormat.h"
#include "RowDealer.h"

#include <cmath>

namespace cudamedian
{
namespace
{

class ExtremumMethod : public HostMethod
{
public:
  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
      RunRows<ExtremumBlockRunner<typename decltype(key)::Bits, decltype(key)::mapping>>(request, output, report);
    });
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits &, double) const override
  {
    // Some four steps to load and store 32 bytes, and one a comparison. On an AVX-512 machine (Zen 5), a20e3f0,
    // 1024x1024 in one thread: 8 bits 3x3 120 us (92 by this), 21x21 242 (186), 16 bits 169 (185), 341 (372), float 299
    // (370), 648 (743).
    const auto window = GetWindow(request);
    double     steps = 4;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      steps += 1.7 * std::log2(static_cast<double>(window.GetSize(axis)));
    }
    const double bytes =
      static_cast<double>(Volume(request.outputExtent)) * static_cast<double>(PixelBytes(request.pixelType));
    return bytes / 32 * steps * 0.3e-9;
  }
};

} // namespace

std::shared_ptr<const HostMethod>
MakeExtremumMethod()
{
  return std::make_shared<ExtremumMethod>();
}

} // namespace cudamedian
