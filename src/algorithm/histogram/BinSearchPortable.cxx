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
#include "BinSearch.h"

namespace cudamedian
{

void
FindInBins(const SortedBins &    sorted,
           const BinWindow &     window,
           std::size_t           count,
           const std::uint8_t *  bins,
           const std::uint32_t * rests,
           std::uint32_t *       places)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto isInside = [&](std::uint32_t place) {
      bool inside = true;
      for (int axis = 0; axis < SortedBins::axes; ++axis)
      {
        if (sorted.positions[axis] != nullptr)
        {
          const auto corner = window.corner[axis] + (axis == 0 ? static_cast<std::uint32_t>(i) : 0);
          inside = inside && sorted.positions[axis][place] - corner < window.size[axis];
        }
      }
      return inside;
    };
    auto place = sorted.firsts[bins[i]];
    for (auto rest = rests[i]; !isInside(place) || rest-- > 0;)
    {
      ++place;
    }
    places[i] = place;
  }
}

} // namespace cudamedian
