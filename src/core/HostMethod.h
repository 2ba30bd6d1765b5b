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
#ifndef HostMethod_h
#define HostMethod_h

#include "RuledRows.h"
#include "Slab.h"
#include "Traits.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace cudamedian
{

/** What an algorithm hands to the CPU backend: the run of one candidate. */
class HostMethod
{
public:
  virtual ~HostMethod() = default;

  /** Filters a box of outputs with the request's work units. Reports progress, which may stop it, and adds its scratch
   * memory to the report. */
  virtual void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const = 0;

  /** Whether RunRuled() can run a request. */
  virtual bool
  TakesRuledRows(const MedianRequest &) const
  {
    return false;
  }

  /** The same as Run(), of rows that are made, and of medians some of which are replaced. \throws std::logic_error
   * where it does not take them. */
  virtual void
  RunRuled(const MedianRequest &, const PixelBox &, const RuledRowsMaker &, ExecutionReport &) const
  {
    throw std::logic_error("HostMethod: this one takes no rows but the image's");
  }

  /** Seconds of one thread for all outputs of a request, while so many work side by side. */
  virtual double
  EstimateWork(const MedianRequest & request, const HostTraits & host, double threads) const = 0;

  /** What the report says of how the algorithm is run, such as ", interpreted". */
  virtual std::string
  Describe() const
  {
    return "";
  }
};

} // namespace cudamedian

#endif
