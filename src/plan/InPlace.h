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
#ifndef InPlace_h
#define InPlace_h

#include "itkCudaMedianEngine.h"

#include <string>

namespace cudamedian
{

/** Why the outputs of a request cannot be written over its input, whatever the device; empty where they can. */
std::string
FindInPlaceObstacle(const MedianRequest & request);

} // namespace cudamedian

#endif
