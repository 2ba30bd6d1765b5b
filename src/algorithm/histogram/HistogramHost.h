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
#ifndef HistogramHost_h
#define HistogramHost_h

#include "HostHistogramPolicy.h"
#include "HostMethod.h"

namespace cudamedian
{

/** Sliding histograms on the host, of pixels of 8 bits. */
std::shared_ptr<const HostMethod>
MakeHistogramMethod();

/** Sliding histograms on the host, of pixels that are sorted in blocks. */
std::shared_ptr<const HostMethod>
MakeSortedHistogramMethod(const HostBlockShape & shape);

} // namespace cudamedian

#endif
