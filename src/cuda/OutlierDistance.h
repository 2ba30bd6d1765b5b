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
#ifndef OutlierDistance_h
#define OutlierDistance_h

#include "PixelKey.h"

namespace cudamedian
{

/** How far from its median a pixel may lie and stay, as kernels are told that replace outliers alone (OutlierStore.h).
 * Plain data, passed by value. */
struct OutlierDistance
{
  std::uint64_t farthest; ///< the bits of a float, or an integer without a sign: see GetFarthest()
};

} // namespace cudamedian

#endif
