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
#include "FuzzWindow.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

namespace cudamedianfuzz
{
namespace
{

/** Calls body(offset) for the offsets of a box, axis 0 fastest. */
template <typename TBody>
void
ForEachOffset(const Extent & radius, const Extent & shorter, const TBody & body)
{
  Extent d;
  for (d[3] = -radius[3]; d[3] <= radius[3] - shorter[3]; ++d[3])
    for (d[2] = -radius[2]; d[2] <= radius[2] - shorter[2]; ++d[2])
      for (d[1] = -radius[1]; d[1] <= radius[1] - shorter[1]; ++d[1])
        for (d[0] = -radius[0]; d[0] <= radius[0] - shorter[0]; ++d[0])
        {
          body(d);
        }
}

/** Where an offset lies in an ellipsoid whose radii are given in parts of a pixel: at its center 0, at its rim 1. Radii
 * below a pixel allow no offset, and the box has none. */
long double
GetPlaceInEllipsoid(const Extent & offset, const Extent & reach, std::int64_t parts)
{
  long double place = 0;
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    if (offset[axis] != 0)
    {
      const auto along = static_cast<long double>(parts * offset[axis]) / static_cast<long double>(reach[axis]);
      place += along * along;
    }
  }
  return place;
}

} // namespace

std::vector<std::int64_t>
ListWeights(const Case & c)
{
  // A rim that is computed is not to be missed.
  constexpr long double     rim = 1 + 1e-9L;
  const auto                radius = c.GetEffectiveRadius();
  std::mt19937_64           random(c.shapeSeed);
  std::vector<std::int64_t> weights;
  ForEachOffset(radius, {}, [&](const Extent & d) {
    const auto   axes = std::count_if(d.begin(), d.end(), [](auto along) { return along != 0; });
    const bool   isOn = static_cast<std::int64_t>((random() >> 11) % 100) < c.shapeShare;
    const auto   some = static_cast<std::int64_t>(1 + (random() >> 11) % 4);
    std::int64_t weight = 1;
    switch (c.shape)
    {
      case Shape::Ellipsoid:
        weight = GetPlaceInEllipsoid(d, c.reach, 4) <= rim ? 1 : 0;
        break;
      case Shape::Cross:
        weight = axes <= 1 ? 1 : 0;
        break;
      case Shape::Ring:
      {
        const auto place = GetPlaceInEllipsoid(d, radius, 1);
        weight = place <= rim && (place > 0.4L || radius == Extent{}) ? 1 : 0;
        break;
      }
      case Shape::Holes:
        weight = isOn ? 1 : 0;
        break;
      case Shape::Weighted:
        weight = isOn ? some : 0;
        break;
      case Shape::Centered:
        weight = axes == 0 ? c.centerWeight : 1;
        break;
      case Shape::List:
        weight = weights.size() < c.weights.size() ? c.weights[weights.size()] : 0;
        break;
      default:
        break;
    }
    weights.push_back(weight);
  });
  if (std::all_of(weights.begin(), weights.end(), [](auto weight) { return weight == 0; }))
  {
    weights.back() = 1;
  }
  return weights;
}

std::vector<WindowPixel>
ListWindow(const Case & c)
{
  std::vector<WindowPixel> pixels;
  if (c.shape == Shape::Box)
  {
    ForEachOffset(c.GetEffectiveRadius(), c.shorter, [&](const Extent & d) {
      pixels.push_back({ { { d[0] + c.shift[0], d[1] + c.shift[1], d[2] + c.shift[2], d[3] + c.shift[3] } }, 1 });
    });
    return pixels;
  }
  const auto  weights = ListWeights(c);
  std::size_t number = 0;
  ForEachOffset(c.GetEffectiveRadius(), {}, [&](const Extent & d) {
    if (weights[number] > 0)
    {
      pixels.push_back({ d, weights[number] });
    }
    ++number;
  });
  return pixels;
}

WindowMeasures
MeasureWindow(const Case & c)
{
  WindowMeasures measures;
  if (c.shape == Shape::Box)
  {
    measures.radius = c.GetEffectiveRadius();
    measures.pixels = measures.values = c.CountWindow();
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      measures.extent[axis] = 2 * measures.radius[axis] + 1 - c.shorter[axis];
    }
    return measures;
  }
  measures.pixels = measures.values = 0;
  for (const auto & pixel : ListWindow(c))
  {
    ++measures.pixels;
    measures.values += pixel.weight;
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      measures.radius[axis] = std::max<std::int64_t>(measures.radius[axis], std::abs(pixel.offset[axis]));
      measures.extent[axis] = 2 * measures.radius[axis] + 1;
    }
  }
  measures.isFootprint = measures.values != measures.pixels || measures.pixels != CountBox(measures.extent);
  return measures;
}

bool
IsAccepted(const Case & c)
{
  const auto radius = c.GetEffectiveRadius();
  const bool isBox = c.shape == Shape::Box;
  const bool isShrunk = c.HasShrunkBorder();
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    if (c.offset[axis] < 0 || c.region[axis] < 0 || c.offset[axis] + c.region[axis] > c.size[axis])
    {
      return false;
    }
    const bool isInside = c.shift[axis] >= c.shorter[axis] - radius[axis] && c.shift[axis] <= radius[axis];
    if (c.shorter[axis] < 0 || c.shorter[axis] > std::min<std::int64_t>(1, radius[axis]) || !isInside ||
        (!isBox && (c.shorter[axis] != 0 || c.shift[axis] != 0)) ||
        (isShrunk && radius[axis] > 0 && c.border[axis] != Border::Shrink))
    {
      return false;
    }
  }
  if (c.shape == Shape::List && static_cast<std::int64_t>(c.weights.size()) != c.CountWindow())
  {
    return false;
  }
  const auto values = isBox ? c.CountWindow() : MeasureWindow(c).values;
  const bool isMedian = c.rank < 0 || c.rank == values / 2;
  const bool isOfFewer = isMedian || c.rank == 0 || c.rank == values - 1;
  return c.rank < values && (isOfFewer || (!isShrunk && !c.HasValidity())) &&
         (isMedian || c.outlierRule == OutlierRule::None) && (isMedian || c.evenMedian != EvenMedian::Mean) &&
         (c.rank < 0 || c.evenMedian != EvenMedian::Lower) && c.threshold >= 0;
}

} // namespace cudamedianfuzz
