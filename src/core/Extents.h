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
#ifndef Extents_h
#define Extents_h

#include "itkCudaMedianExtent.h"

#include <string>

namespace cudamedian
{

/** Number of pixels in a box of the given extent. */
inline std::int64_t
Volume(const Extent & extent)
{
  std::int64_t volume = 1;
  for (const auto size : extent)
  {
    volume *= size;
  }
  return volume;
}

/** "3x3x1x1" */
inline std::string
Join(const Extent & extent)
{
  std::string text;
  for (const auto value : extent)
  {
    text += (text.empty() ? "" : "x") + std::to_string(value);
  }
  return text;
}

} // namespace cudamedian

#endif
