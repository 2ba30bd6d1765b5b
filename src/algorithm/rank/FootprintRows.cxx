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
#include "FootprintRows.h"

#include "DivideUp.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>

namespace cudamedian
{

std::optional<FootprintRows>
ListFootprintRows(const Footprint & footprint, const int (&axes)[Dimension])
{
  constexpr std::int64_t most = 255;
  const auto             radius = footprint.GetRadius();
  const auto             getRadius = [&](int i) { return radius[static_cast<std::size_t>(axes[i])]; };
  if (footprint.HasWeights() || getRadius(2) > 0 || getRadius(3) > 0 || 2 * getRadius(0) + 1 > most ||
      2 * getRadius(1) + 1 > most)
  {
    return std::nullopt;
  }
  const auto       rows = static_cast<std::size_t>(RoundUp(2 * getRadius(1) + 1, std::int64_t{ 16 }));
  std::vector<int> first(rows, static_cast<int>(most));
  std::vector<int> last(rows, -1);
  std::vector<int> count(rows, 0);
  for (const auto & pixel : footprint.GetPixels())
  {
    const auto place = [&](int i) {
      return static_cast<int>(pixel.offset[static_cast<std::size_t>(axes[i])] + getRadius(i));
    };
    const auto row = static_cast<std::size_t>(place(1));
    first[row] = std::min(first[row], place(0));
    last[row] = std::max(last[row], place(0));
    ++count[row];
  }
  FootprintRows list;
  for (std::size_t row = 0; row < rows; ++row)
  {
    if (count[row] > 0 && last[row] - first[row] + 1 != count[row])
    {
      return std::nullopt;
    }
    list.first.push_back(static_cast<std::uint8_t>(count[row] > 0 ? first[row] : 0));
    list.length.push_back(static_cast<std::uint8_t>(count[row]));
  }
  return list;
}

} // namespace cudamedian
