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
#include "ValidRanks.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <map>

namespace cudamedian
{

Wanted
GetWanted(const Window & window)
{
  // Of two pixels the rank of the greatest is the median's too, and may be asked for with the mean of both.
  return window.IsMedian() ? Wanted::Middle : window.rank == 0 ? Wanted::Least : Wanted::Greatest;
}

int
GetFilledAxis(const Window & window)
{
  int longest = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const bool isLonger =
      longest == 0 ? window.GetSize(axis) >= window.GetSize(longest) : window.GetSize(axis) > window.GetSize(longest);
    longest = isLonger && window.GetSize(axis) > 1 ? axis : longest;
  }
  return longest;
}

std::int64_t
CountLines(const Window & window, int axis)
{
  if (window.footprint == nullptr)
  {
    return window.CountPixels() / window.GetSize(axis);
  }
  std::map<Extent, std::int64_t> weights;
  for (const auto & pixel : window.footprint->GetPixels())
  {
    weights[pixel.offset] = pixel.weight;
  }
  std::int64_t lines = 0;
  for (const auto & pixel : window.footprint->GetPixels())
  {
    auto before = pixel.offset;
    --before[axis];
    const auto found = weights.find(before);
    lines += std::max<std::int64_t>(pixel.weight - (found == weights.end() ? 0 : found->second), 0);
  }
  return lines;
}

RankSpan
GetRanksOfValid(const Window & window, bool isLower)
{
  const auto values = window.CountPixels();
  const auto lines = CountLines(window, GetFilledAxis(window));
  return { GetRankOfValid(values, -lines, isLower), GetRankOfValid(values, lines, isLower) };
}

} // namespace cudamedian
