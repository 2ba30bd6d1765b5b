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
#ifndef RequestCheck_h
#define RequestCheck_h

#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** "(3, 3, 1, 1)" */
std::string
Describe(const Extent & extent);

/** The border along each axis that windows reach beyond, or one for all. */
std::string
DescribeBorder(const MedianRequest & request);

/** Checks what every backend relies on: the requested box lies inside the input, the window has a number of pixels,
 * there are buffers. \throws RequestError with the value and the limit. */
void
ValidateRequest(const MedianRequest & request);

} // namespace cudamedian

#endif
