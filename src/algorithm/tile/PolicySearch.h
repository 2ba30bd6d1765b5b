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
#ifndef PolicySearch_h
#define PolicySearch_h

#include "KernelPolicy.h"

/** The policy of a window that was not measured: a model of a device counts what candidates cost. */
namespace cudamedian
{

/** The limit of KernelPolicy::registers for a program with so many live values: 0 where they all fit. */
std::size_t
GetRegisterLimit(const KernelKind & kind, std::size_t liveValues);

/** Numbers what SearchPolicy() finds, since policies are kept on disk: goes up with every change that makes it find
 * others. */
constexpr int policySearch = 4;

/** The policy with the lowest score. Searched are root tiles, rows of them, orders of merging, phases, and shares of
 * maxima by sums. Its block may take more shared memory than there is. \pre IsCoveredByKernels(window) */
KernelPolicy
SearchPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits);

} // namespace cudamedian

#endif
