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
#ifndef LinePolicy_h
#define LinePolicy_h

#include "KernelPolicy.h"

/** What is chosen for windows along one axis (LineKernel.h). */
namespace cudamedian
{

/** The policy of such a window: the longest tile that is worth its registers, and the program with the fewest
 * instructions. \pre IsFilteredInLines(window) */
KernelPolicy
GetLinePolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits);

/** The launch shape of such a policy: what LineKernel computes from the same numbers. */
KernelShape
GetLineShape(const Window & window, const KernelPolicy & policy, const KernelKind & kind);

} // namespace cudamedian

#endif
