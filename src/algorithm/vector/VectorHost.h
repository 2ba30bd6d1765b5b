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
#ifndef VectorHost_h
#define VectorHost_h

#include "VectorPixel.h"

namespace cudamedian
{

/** What of a request tells where pixels lie. */
VectorArguments
GetVectorArguments(const VectorMedianRequest & request);

/** Finds the vector medians of a request on the CPU, with its work units. */
void
RunVectorMedianOnHost(const VectorMedianRequest & request, ExecutionReport & report);

} // namespace cudamedian

#endif
