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
#ifndef Planner_h
#define Planner_h

#include "KernelMeans.h"
#include "Plan.h"
#include "Traits.h"

#include <optional>

namespace cudamedian
{

/** What a plan has to keep to, and where it is to run. */
struct PlanLimits
{
  std::size_t                budget{ 0 }; ///< bytes of device memory, with each of the devices; used for `Cuda` only
  Staging                    staging;     ///< the same for the host's memory that slabs pass through
  DeviceTraits               device;      ///< what can be relied upon on each of the devices; used for `Cuda` only
  std::vector<int>           devices;     ///< their numbers; empty for a plan that is not run
  std::optional<KernelMeans> only;        ///< the one kind of kernel to take, whatever is known of it
  std::vector<KernelRefusal> excluded;    ///< kinds that are without use this time
};

/** Plans a request for a backend (not `Auto`): asks the algorithms what they offer, takes the fastest, and cuts slabs.
 * An algorithm that is asked for is the only one that is asked; where all its kernels are out of use the others are
 * asked, and the plan says so.
 *
 * \throws RequestError when the algorithm asked for cannot run the window, when a budget cannot hold the smallest slab
 * (one tile with its halo; the text gives the smallest budget that does), or when that slab is longer along an axis
 * than kernels can count.
 * \throws DeviceError when no kernel is left that gives right results on the devices. */
Plan
PlanMedian(const MedianRequest & request, Backend backend, const PlanLimits & limits);

/** The same for the CPU. */
Plan
PlanOnHost(const MedianRequest & request);

/** Writes into a report what a plan is: the backend, the algorithm, the tile, the operations and the slabs, each with
 * its reason. The tile is a program's, or the outputs of one thread block of ranks or histograms. */
void
DescribePlan(const Plan & plan, ExecutionReport & report);

} // namespace cudamedian

#endif
