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
#ifndef HistogramFunction_h
#define HistogramFunction_h

#include "HistogramRegion.h"

namespace cudamedian
{

/** A kernel of histograms, a block for each block of a launch's regions. */
using HistogramFunction = void (*)(HistogramArguments);

/** The kernel for a shape (HistogramKernels.h).
 *
 * \param hasMap whether each output has a rank of its own. */
HistogramFunction
GetHistogramKernel(const HistogramShape & shape, bool hasMap);

} // namespace cudamedian

#endif
