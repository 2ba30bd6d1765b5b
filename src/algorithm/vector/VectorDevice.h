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
#ifndef VectorDevice_h
#define VectorDevice_h

#include "itkCudaMedianVectorMedian.h"

namespace cudamedian
{

/** Finds the vector medians of a request on its devices, slab by slab.
 * \throws RequestError where the budget cannot hold the smallest slab. \throws DeviceError */
void
RunVectorMedianOnDevices(const VectorMedianRequest & request, ExecutionReport & report);

} // namespace cudamedian

#endif
