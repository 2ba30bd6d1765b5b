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
#ifndef ExtremumModel_h
#define ExtremumModel_h

#include "ExtremumPolicy.h"

namespace cudamedian
{

/** How long a pass takes by the model, in seconds: by the memory that it moves and the instructions of its warps. */
double
EstimateExtremumSeconds(const ExtremumShape & shape,
                        const Extent &        outputExtent,
                        int                   pixelBytes,
                        const DeviceTraits &  device);

} // namespace cudamedian

#endif
