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
#ifndef HostBlockMethod_h
#define HostBlockMethod_h

#include "HostBlock.h"
#include "HostMethod.h"
#include "PixelFormat.h"
#include "RowDealer.h"

namespace cudamedian
{

/** A method of the CPU that deals blocks of a shape to work units.
 * \tparam TRunner runs blocks for a kind of keys */
template <template <typename, KeyMapping> class TRunner>
class HostBlockMethod : public HostMethod
{
public:
  /** What a block takes for pixels of so many bytes, in nanoseconds of one thread. */
  using Estimate = double (*)(const HostBlockShape & shape, int pixelBytes);

  /** \param slowness of blocks beside others that share the caches with them */
  HostBlockMethod(const HostBlockShape & shape, Estimate estimate, double slowness)
    : m_Shape(shape)
    , m_Estimate(estimate)
    , m_Slowness(slowness)
  {}

  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
      RunRows<TRunner<typename decltype(key)::Bits, decltype(key)::mapping>>(
        request, HostBlockWork{ output, m_Shape }, report);
    });
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits &, double) const override
  {
    return m_Slowness * 1e-9 * static_cast<double>(m_Shape.CountBlocks(request.outputExtent)) *
           m_Estimate(m_Shape, static_cast<int>(PixelBytes(request.pixelType)));
  }

private:
  HostBlockShape m_Shape;
  Estimate       m_Estimate;
  double         m_Slowness;
};

} // namespace cudamedian

#endif
