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
#ifndef CudaMedianPythonPlan_h
#define CudaMedianPythonPlan_h

#include "CudaMedianPythonKeys.h"
#include "CudaMedianPythonUpdate.h"

namespace cudamedian::python
{

/** A request for arrays like those of an earlier call. */
class Plan
{
public:
  /** \param prepared what the package keeps of the request (_engine.py), which lives as long as the plan. */
  explicit Plan(nb::object prepared)
    : m_Prepared(std::move(prepared))
  {}
  virtual ~Plan() = default;
  Plan(const Plan &) = delete;
  Plan &
  operator=(const Plan &) = delete;

  /** Filters an array to `output`, or, where that is None, to a new one. \returns that, or nothing where the arrays are
   * not as they were; then nothing has been written. */
  virtual nb::object
  Run(const Array & array, nb::handle output) const = 0;

protected:
  nb::handle
  GetPrepared() const
  {
    return m_Prepared;
  }

  /** A function of the engine's library, which the package has loaded. No other may be linked: a process has one. */
  template <typename TFunction>
  TFunction *
  GetFunction() const
  {
    return reinterpret_cast<TFunction *>(ToAddress(m_Prepared.attr("function")));
  }

private:
  nb::object m_Prepared;
};

} // namespace cudamedian::python

#endif
