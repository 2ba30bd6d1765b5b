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
#include "itkCudaMedianFootprint.h"

#include "itkCudaMedianEngine.h"
#include "Window.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

namespace cudamedian
{
namespace
{

/** An order of pixels: by their places in memory, then by weight. */
bool
IsBefore(const FootprintPixel & a, const FootprintPixel & b)
{
  for (int axis = Dimension - 1; axis >= 0; --axis)
  {
    if (a.offset[axis] != b.offset[axis])
    {
      return a.offset[axis] < b.offset[axis];
    }
  }
  return a.weight < b.weight;
}

struct IsListBefore
{
  bool
  operator()(const std::vector<FootprintPixel> & a, const std::vector<FootprintPixel> & b) const
  {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), IsBefore);
  }
};

/** Calls body(offset) for all pixels of a box around the output, in the order of memory. */
template <typename TBody>
void
ForEachOffset(const Extent & radius, const TBody & body)
{
  double pixels = 1;
  for (const auto r : radius)
  {
    if (r < 0)
    {
      throw RequestError("A footprint has a radius of " + std::to_string(r) + "; radii start at 0");
    }
    pixels *= 2.0 * static_cast<double>(r) + 1;
  }
  if (pixels > static_cast<double>(Footprint::largestCount))
  {
    throw RequestError("A footprint's box has " + std::to_string(pixels) + " pixels; it may have at most " +
                       std::to_string(Footprint::largestCount));
  }
  Extent offset;
  for (offset[3] = -radius[3]; offset[3] <= radius[3]; ++offset[3])
  {
    for (offset[2] = -radius[2]; offset[2] <= radius[2]; ++offset[2])
    {
      for (offset[1] = -radius[1]; offset[1] <= radius[1]; ++offset[1])
      {
        for (offset[0] = -radius[0]; offset[0] <= radius[0]; ++offset[0])
        {
          body(offset);
        }
      }
    }
  }
}

/** Sorted pixels, each once, without those of no weight. */
std::vector<FootprintPixel>
Normalize(std::vector<FootprintPixel> pixels)
{
  constexpr auto farthest = std::numeric_limits<std::int32_t>::max();
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  std::sort(pixels.begin(), pixels.end(), IsBefore);
  std::vector<FootprintPixel> kept;
  std::int64_t                values = 0;
  for (const auto & pixel : pixels)
  {
    if (pixel.weight < 0 || pixel.weight > most - values)
    {
      throw RequestError("A pixel of the footprint has the weight " + std::to_string(pixel.weight) +
                         "; weights start at 0, and their sum may be at most " + std::to_string(most));
    }
    for (const auto offset : pixel.offset)
    {
      if (offset < -farthest || offset > farthest)
      {
        throw RequestError("A pixel of the footprint lies " + std::to_string(offset) +
                           " pixels from the output; it may be at most " + std::to_string(farthest));
      }
    }
    values += pixel.weight;
    if (!kept.empty() && kept.back().offset == pixel.offset)
    {
      kept.back().weight += pixel.weight;
    }
    else if (pixel.weight > 0)
    {
      kept.push_back(pixel);
    }
  }
  if (kept.empty())
  {
    throw RequestError("The footprint has no pixel; it needs at least one");
  }
  if (kept.size() > Footprint::largestCount)
  {
    throw RequestError("The footprint has " + std::to_string(kept.size()) + " pixels; it may have at most " +
                       std::to_string(Footprint::largestCount));
  }
  return kept;
}

} // namespace

Window::Window(const Footprint * givenFootprint, std::int64_t givenRank)
  : radius(givenFootprint->GetRadius())
  , footprint(givenFootprint)
  , footprintValues(givenFootprint->CountValues())
{
  rank = givenRank < 0 ? footprintValues / 2 : givenRank;
}

Footprint::Footprint(std::vector<FootprintPixel> pixels)
  : m_Pixels(std::move(pixels))
{
  for (const auto & pixel : m_Pixels)
  {
    m_Values += pixel.weight;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      m_Radius[axis] = std::max<std::int64_t>(m_Radius[axis], std::abs(pixel.offset[axis]));
    }
  }
}

const Footprint *
Footprint::Make(const std::vector<FootprintPixel> & pixels)
{
  // Neither the map nor what it points to ever goes: programs and verdicts name footprints by their addresses.
  static auto & mutex = *new std::mutex;
  static auto & known = *new std::map<std::vector<FootprintPixel>, const Footprint *, IsListBefore>;

  auto                              key = Normalize(pixels);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto                        found = known.find(key);
  if (found != known.end())
  {
    return found->second;
  }
  const auto * made = new Footprint(key);
  known.emplace(std::move(key), made);
  return made;
}

const Footprint *
Footprint::MakeBox(const Extent & radius)
{
  return MakeCentreWeighted(radius, 1);
}

const Footprint *
Footprint::MakeCentreWeighted(const Extent & radius, std::int64_t weight)
{
  std::vector<FootprintPixel> pixels;
  ForEachOffset(radius, [&](const Extent & offset) { pixels.push_back({ offset, offset == Extent{} ? weight : 1 }); });
  return Make(pixels);
}

const Footprint *
Footprint::MakeCross(const Extent & radius)
{
  std::vector<FootprintPixel> pixels{ FootprintPixel{} };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (radius[axis] < 0 || radius[axis] > static_cast<std::int64_t>(largestCount))
    {
      throw RequestError("A cross has a radius of " + std::to_string(radius[axis]) + "; it may be from 0 to " +
                         std::to_string(largestCount));
    }
    for (std::int64_t distance = 1; distance <= radius[axis]; ++distance)
    {
      for (const auto offset : { -distance, distance })
      {
        FootprintPixel pixel;
        pixel.offset[axis] = offset;
        pixels.push_back(pixel);
      }
    }
  }
  return Make(pixels);
}

const Footprint *
Footprint::MakeEllipsoid(const std::array<double, Dimension> & radius)
{
  constexpr double longest = 1e6;
  Extent           box{};
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (!(radius[axis] >= 0 && radius[axis] <= longest))
    {
      throw RequestError("An ellipsoid has a radius of " + std::to_string(radius[axis]) + "; it may be from 0 to " +
                         std::to_string(longest));
    }
    // A radius that was computed, such as 3 millimetres by 0.1, is not to miss its last pixel.
    box[axis] = static_cast<std::int64_t>(std::floor(radius[axis] * (1 + 1e-9)));
  }
  std::vector<FootprintPixel> pixels;
  ForEachOffset(box, [&](const Extent & offset) {
    double distance = 0;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if (offset[axis] != 0)
      {
        const double along = static_cast<double>(offset[axis]) / radius[axis];
        distance += along * along;
      }
    }
    if (distance <= 1 + 1e-9)
    {
      pixels.push_back({ offset, 1 });
    }
  });
  return Make(pixels);
}

const Footprint *
Footprint::MakeFromImage(const Extent & extent, const std::vector<std::int64_t> & weights, const Extent & center)
{
  std::size_t count = 1;
  for (const auto size : extent)
  {
    if (size < 1 || static_cast<std::size_t>(size) > largestCount / count)
    {
      throw RequestError("An image of a footprint has " + std::to_string(size) +
                         " pixels along an axis; it needs at least 1, and all its axes together may have at most " +
                         std::to_string(largestCount));
    }
    count *= static_cast<std::size_t>(size);
  }
  if (weights.size() != count)
  {
    throw RequestError("An image of a footprint has " + std::to_string(count) + " pixels by its size, and " +
                       std::to_string(weights.size()) + " weights");
  }
  std::vector<FootprintPixel> pixels;
  for (std::size_t index = 0; index < count; ++index)
  {
    FootprintPixel pixel;
    auto           rest = static_cast<std::int64_t>(index);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      pixel.offset[axis] = rest % extent[axis] - center[axis];
      rest /= extent[axis];
    }
    pixel.weight = weights[index];
    pixels.push_back(pixel);
  }
  return Make(pixels);
}

bool
Footprint::FillsItsBox() const
{
  std::int64_t pixels = 1;
  for (const auto r : m_Radius)
  {
    pixels *= 2 * r + 1;
    if (pixels > static_cast<std::int64_t>(m_Pixels.size()))
    {
      return false;
    }
  }
  return pixels == static_cast<std::int64_t>(m_Pixels.size());
}

bool
Footprint::IsBox() const
{
  return FillsItsBox() && !HasWeights();
}

bool
Footprint::IsCentreWeighted() const
{
  const auto isRight = [](const FootprintPixel & pixel) { return pixel.weight == 1 || pixel.offset == Extent{}; };
  return FillsItsBox() && std::all_of(m_Pixels.begin(), m_Pixels.end(), isRight);
}

std::string
Footprint::Describe() const
{
  double pixels = 1;
  for (const auto r : m_Radius)
  {
    pixels *= 2.0 * static_cast<double>(r) + 1;
  }
  return std::to_string(m_Pixels.size()) + " of " + std::to_string(static_cast<std::int64_t>(pixels)) + " pixels" +
         (HasWeights() ? ", " + std::to_string(m_Values) + " values" : "");
}

} // namespace cudamedian
