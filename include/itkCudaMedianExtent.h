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
#ifndef itkCudaMedianExtent_h
#define itkCudaMedianExtent_h

#include <array>
#include <cstdint>

namespace cudamedian
{

/** Axes of the engine's image model. Images of fewer dimensions have extent 1 and radius 0 on the rest. */
constexpr int Dimension = 4;

/** A number of pixels or an offset along each axis; axis 0 is contiguous in memory. */
using Extent = std::array<std::int64_t, Dimension>;

} // namespace cudamedian

#endif
