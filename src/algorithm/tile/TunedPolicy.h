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
#ifndef TunedPolicy_h
#define TunedPolicy_h

#include "KernelPolicy.h"

#include <optional>

/** Policies that were measured: the rows of TileTuning.inc. */
namespace cudamedian
{

/** The measured row that a window's policy follows, and whether the device is like that one's: all that policies depend
 * on besides the numbers of the traits. Empty where there is no row. */
std::string
DescribeTuning(const Window & window, const KernelKind & kind, const DeviceTraits & traits);

/** The policy of a row of TileTuning.inc, measured on the device or on another that it suits. Its block may take more
 * shared memory than there is. */
std::optional<KernelPolicy>
FindTunedPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits);

} // namespace cudamedian

#endif
