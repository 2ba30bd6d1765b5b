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
#ifndef ChainLaunch_h
#define ChainLaunch_h

#include "DeviceContext.h"
#include "Slab.h"

#include <vector>

namespace cudamedian
{

/** Runs the steps of a chain on slabs in device memory, one after the other.
 *
 * A slab's input reaches beyond its outputs as far as all windows together. Each step filters all of it, as if it were
 * an image. Where that is cut out of a larger one, what lies near the cut is wrong: after each step as far again as the
 * step's window reaches, so that after the last one the slab's outputs are right. */
class ChainLaunch
{
public:
  /** \param steps outlive this.
   * \param imageBytes of an image between two steps; the context's scratch memory has room for two. */
  ChainLaunch(const std::vector<MedianRequest> & steps, std::size_t imageBytes, DeviceContext & context);

  /** Launches all steps, and copies the slab's outputs to its place. \throws DeviceError, RequestError */
  void
  Launch(const Slab & slab, const DeviceContext::Place & place, cudaStream_t stream);

  /** What ran, for each step: of its first slab, but for the memory, which is the most of all. */
  const std::vector<ExecutionReport> &
  GetReports() const
  {
    return m_Reports;
  }

private:
  const std::vector<MedianRequest> & m_Steps;
  std::size_t                        m_ImageBytes;
  DeviceContext &                    m_Context;
  std::vector<ExecutionReport>       m_Reports;
};

} // namespace cudamedian

#endif
