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
#include "WindowSums.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <limits>

namespace cudamedian
{
namespace
{

using Sums = std::vector<std::int32_t>;

/** Sums of so many values that follow each other in a row. */
template <typename TSum>
void
SumRow(const TSum * from, TSum * to, std::int64_t sums, std::int64_t size)
{
  // Several sums at once take vectors, and one after the other a step each.
  constexpr std::int64_t fewValues = 16;
  if (size <= fewValues)
  {
    for (std::int64_t k = 0; k < size; ++k)
    {
      for (std::int64_t x = 0; x < sums; ++x)
      {
        to[x] = static_cast<TSum>((k == 0 ? TSum{ 0 } : to[x]) + from[x + k]);
      }
    }
    return;
  }
  TSum sum = 0;
  for (std::int64_t k = 0; k + 1 < size; ++k)
  {
    sum = static_cast<TSum>(sum + from[k]);
  }
  for (std::int64_t x = 0; x < sums; ++x)
  {
    sum = static_cast<TSum>(sum + from[x + size - 1]);
    to[x] = sum;
    sum = static_cast<TSum>(sum - from[x]);
  }
}

/** Replaces values by the sums of so many that follow each other along an axis. The extent loses size - 1 there. */
template <typename TSum>
std::vector<TSum>
SumAlong(const std::vector<TSum> & values, Extent & extent, int axis, std::int64_t size)
{
  std::int64_t inner = 1;
  std::int64_t outer = 1;
  for (int other = 0; other < Dimension; ++other)
  {
    (other < axis ? inner : outer) *= other == axis ? 1 : extent[other];
  }
  const auto        length = extent[axis];
  const auto        sums = length - size + 1;
  std::vector<TSum> result(static_cast<std::size_t>(inner * sums * outer));
  for (std::int64_t block = 0; block < outer; ++block)
  {
    const auto * from = values.data() + block * length * inner;
    auto *       to = result.data() + block * sums * inner;
    if (axis == 0)
    {
      SumRow(from, to, sums, size);
      continue;
    }
    for (std::int64_t i = 0; i < size; ++i)
    {
      std::transform(
        to, to + inner, from + i * inner, to, [](TSum sum, TSum value) { return static_cast<TSum>(sum + value); });
    }
    for (std::int64_t i = 1; i < sums; ++i)
    {
      const auto * leaving = from + (i - 1) * inner;
      const auto * entering = from + (i + size - 1) * inner;
      const auto * before = to + (i - 1) * inner;
      auto *       after = to + i * inner;
      for (std::int64_t k = 0; k < inner; ++k)
      {
        after[k] = static_cast<TSum>(before[k] + entering[k] - leaving[k]);
      }
    }
  }
  extent[axis] = sums;
  return result;
}

template <typename TSum>
Sums
SumBoxes(const std::vector<std::int8_t> & values, const Window & window, Extent extent)
{
  std::vector<TSum> sums(values.begin(), values.end());
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (window.GetSize(axis) > 1)
    {
      sums = SumAlong(sums, extent, axis, window.GetSize(axis));
    }
  }
  return Sums(sums.begin(), sums.end());
}

/** A stretch of a footprint's row whose pixels have the same weight. */
struct Stretch
{
  Extent       first;
  std::int64_t length;
  std::int64_t weight;
};

std::vector<Stretch>
ListStretches(const Footprint & footprint)
{
  std::vector<Stretch> stretches;
  for (const auto & pixel : footprint.GetPixels())
  {
    if (!stretches.empty())
    {
      auto next = stretches.back().first;
      next[0] += stretches.back().length;
      if (next == pixel.offset && stretches.back().weight == pixel.weight)
      {
        ++stretches.back().length;
        continue;
      }
    }
    stretches.push_back({ pixel.offset, 1, pixel.weight });
  }
  return stretches;
}

Sums
SumFootprints(const std::vector<std::int8_t> & values,
              const Window &                   window,
              const Extent &                   extent,
              const Extent &                   outputs)
{
  // Sums of all values before each, row by row: a stretch is a difference of two.
  const auto rows = extent[1] * extent[2] * extent[3];
  const auto pitch = extent[0] + 1;
  Sums       before(static_cast<std::size_t>(rows * pitch));
  for (std::int64_t row = 0; row < rows; ++row)
  {
    for (std::int64_t x = 0; x < extent[0]; ++x)
    {
      before[row * pitch + x + 1] = before[row * pitch + x] + values[row * extent[0] + x];
    }
  }
  Sums sums(static_cast<std::size_t>(Volume(outputs)));
  for (const auto & stretch : ListStretches(*window.footprint))
  {
    auto * to = sums.data();
    Extent place;
    for (place[3] = 0; place[3] < outputs[3]; ++place[3])
    {
      for (place[2] = 0; place[2] < outputs[2]; ++place[2])
      {
        for (place[1] = 0; place[1] < outputs[1]; ++place[1])
        {
          std::int64_t row = 0;
          for (int axis = Dimension - 1; axis >= 1; --axis)
          {
            row = row * extent[axis] + place[axis] + window.radius[axis] + stretch.first[axis];
          }
          const auto * from = before.data() + row * pitch + window.radius[0] + stretch.first[0];
          for (std::int64_t x = 0; x < outputs[0]; ++x)
          {
            to[x] += static_cast<std::int32_t>(stretch.weight) * (from[x + stretch.length] - from[x]);
          }
          to += outputs[0];
        }
      }
    }
  }
  return sums;
}

} // namespace

std::vector<std::int32_t>
SumWindows(const std::vector<std::int8_t> & values, const Window & window, const Extent & outputs)
{
  const auto extent = window.GetFootprint(outputs);
  // No part of a sum is larger than the window, and the shorter the numbers the more of them are in a vector.
  const auto most = window.CountBoxPixels();
  return window.footprint != nullptr                        ? SumFootprints(values, window, extent, outputs)
         : most <= std::numeric_limits<std::int8_t>::max()  ? SumBoxes<std::int8_t>(values, window, extent)
         : most <= std::numeric_limits<std::int16_t>::max() ? SumBoxes<std::int16_t>(values, window, extent)
                                                            : SumBoxes<std::int32_t>(values, window, extent);
}

} // namespace cudamedian
