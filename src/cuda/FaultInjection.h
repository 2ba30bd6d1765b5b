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
#ifndef FaultInjection_h
#define FaultInjection_h

#include "CudaMedianExport.h"

namespace cudamedian
{

/** Lets some allocations or copies of this process fail, so that tests see what follows: `count` of them from number
 * `first` on, where 1 is the next. None fail with a count of 0, as at the start. */
CudaMedian_EXPORT void
SetAllocationFaults(int first, int count);
CudaMedian_EXPORT void
SetCopyFaults(int first, int count);

/** Counts an allocation or a copy. \returns whether it is to fail. */
bool
InjectAllocationFault();
bool
InjectCopyFault();

} // namespace cudamedian

#endif
