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
#ifndef BackendEstimate_h
#define BackendEstimate_h

#include "Planner.h"

/** How long the backends would take: what Backend::Auto decides by. */
namespace cudamedian
{

/** What the host gets through. */
struct HostRates
{
  double laneBytes{
    0
  }; ///< bytes of keys that a thread of the interpreter compares in a second while each core has one
  double   copyBytes{ 0 }; ///< bytes that one thread copies in a second, past the caches
  unsigned cores{ 1 };
};

/** What the devices of a request get through together. */
struct DeviceRates
{
  double busBytes{ 0 };         ///< bytes a second in either direction, both at once, from and to pinned memory
  double kernelSpeed{ 1 };      ///< of the kernels, as a multiple of an H200's
  bool   hasPackedKeys{ true }; ///< two 16-bit keys are compared by one instruction
};

/** Where the images of a request lie: pinned memory is transferred without a copy by the host. */
struct ImageMemory
{
  bool pinnedInput{ false };
  bool pinnedOutput{ false };
};

/** Seconds that the CPU backend takes for a plan with the request's work units, or as many as there are cores. */
double
EstimateCpuSeconds(const MedianRequest & request, const Plan & plan, const HostRates & host);

/** Seconds that the CUDA backend takes for a plan: copies between the image and pinned memory, transfers and kernels,
 * which overlap as far as there are slabs, and what starting costs. Neither the creation of a context nor the
 * compilation of a kernel at first use counts: they happen once in a process. */
double
EstimateCudaSeconds(const MedianRequest & request,
                    const Plan &          plan,
                    const ImageMemory &   memory,
                    const HostRates &     host,
                    const DeviceRates &   devices);

} // namespace cudamedian

#endif
