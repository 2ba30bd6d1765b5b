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
#ifndef Window_h
#define Window_h

#include "itkCudaMedianExtent.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace cudamedian
{

class Footprint;

/** The largest radius of windows that kernels count in 32 bits: products of two sizes of a window are below 2^31. */
constexpr std::int64_t largestCountedRadius = 8192;

/** What is filtered with: the pixels around an output, and the rank among their sorted values that is wanted.
 *
 * The one place that knows how a radius becomes sizes, pixels and axes. A radius alone is the window of the median.
 * With a footprint the window is some pixels of its box, which may count several times. */
struct Window
{
  Extent       radius{ { 0, 0, 0, 0 } };  ///< pixels before the output along each axis
  Extent       shorter{ { 0, 0, 0, 0 } }; ///< 1 where there is one pixel fewer behind it: an even size; else 0
  std::int64_t rank{ 0 };                 ///< of the wanted value among the sorted ones, from 0 to CountPixels() - 1
  std::int64_t ranks{ 1 }; ///< that may be wanted, the least of which is `rank`: more than one where outputs have a map
  /** Which pixels of the box count; null: all, once each. Equal footprints are one object. */
  const Footprint * footprint{ nullptr };
  std::int64_t      footprintValues{ 0 }; ///< the sum of their weights; 0 without a footprint

  /** A single pixel. */
  constexpr Window() = default;

  /** The window of the median, or of another rank; -1 is the median's. Not explicit: a radius says it all. */
  constexpr Window(const Extent & givenRadius, std::int64_t givenRank = -1)
    : radius(givenRadius)
    , rank(givenRank < 0 ? CountBoxPixels() / 2 : givenRank)
  {}

  /** The same where sizes may be even. */
  constexpr Window(const Extent & givenRadius, const Extent & givenShorter, std::int64_t givenRank)
    : radius(givenRadius)
    , shorter(givenShorter)
    , rank(givenRank < 0 ? CountBoxPixels() / 2 : givenRank)
  {}

  /** A footprint's. */
  Window(const Footprint * givenFootprint, std::int64_t givenRank);

  /** Pixels along an axis: 2r+1, or 2r where it is shorter. */
  constexpr std::int64_t
  GetSize(int axis) const
  {
    const auto i = static_cast<std::size_t>(axis);
    return 2 * radius[i] + 1 - shorter[i];
  }

  /** Pixels behind the output along an axis. */
  constexpr std::int64_t
  CountBehind(int axis) const
  {
    const auto i = static_cast<std::size_t>(axis);
    return radius[i] - shorter[i];
  }

  /** Whether some size is even. */
  constexpr bool
  HasEvenSize() const
  {
    for (const auto fewer : shorter)
    {
      if (fewer != 0)
      {
        return true;
      }
    }
    return false;
  }

  /** Pixels along each axis. */
  constexpr Extent
  GetExtent() const
  {
    return { { GetSize(0), GetSize(1), GetSize(2), GetSize(3) } };
  }

  /** Pixels along each axis that the windows of a tile of outputs have together. */
  constexpr Extent
  GetFootprint(const Extent & tile) const
  {
    Extent together{};
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto i = static_cast<std::size_t>(axis);
      together[i] = tile[i] + GetSize(axis) - 1;
    }
    return together;
  }

  /** Values of the window: the pixels of its box, or those of its footprint as often as they count. */
  constexpr std::int64_t
  CountPixels() const
  {
    return footprint != nullptr ? footprintValues : CountBoxPixels();
  }

  /** Pixels of the box, or the largest number there is where they are more; 0 where a radius is negative, or is 0
   * and is to be shorter. */
  constexpr std::int64_t
  CountBoxPixels() const
  {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    std::int64_t   pixels = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto r = radius[static_cast<std::size_t>(axis)];
      if (r < shorter[static_cast<std::size_t>(axis)] || r < 0)
      {
        return 0;
      }
      pixels = r > (most / pixels - 1) / 2 ? most : pixels * GetSize(axis);
    }
    return pixels;
  }

  /** Values of a lower rank than the wanted one, and of a higher one. */
  constexpr std::int64_t
  CountBelow() const
  {
    return rank;
  }
  constexpr std::int64_t
  CountAbove() const
  {
    return CountPixels() - 1 - rank;
  }

  /** The greatest rank that may be wanted. */
  constexpr std::int64_t
  GetGreatestRank() const
  {
    return rank + ranks - 1;
  }

  /** Axes along which the window has more than one pixel. */
  constexpr int
  CountAxes() const
  {
    int axes = 0;
    for (const auto r : radius)
    {
      axes += r > 0 ? 1 : 0;
    }
    return axes;
  }

  /** The largest radius along any axis. */
  constexpr std::int64_t
  GetLargestRadius() const
  {
    std::int64_t largest = 0;
    for (const auto r : radius)
    {
      largest = r > largest ? r : largest;
    }
    return largest;
  }

  constexpr bool
  IsMedian() const
  {
    return rank == CountPixels() / 2 && ranks == 1;
  }

  bool
  operator==(const Window & other) const
  {
    return radius == other.radius && shorter == other.shorter && rank == other.rank && ranks == other.ranks &&
           footprint == other.footprint;
  }
  bool
  operator!=(const Window & other) const
  {
    return !(*this == other);
  }
  /** An order for maps. */
  bool
  operator<(const Window & other) const
  {
    return radius != other.radius     ? radius < other.radius
           : shorter != other.shorter ? shorter < other.shorter
           : rank != other.rank       ? rank < other.rank
           : ranks != other.ranks     ? ranks < other.ranks
                                      : std::less<const Footprint *>()(footprint, other.footprint);
  }
};

} // namespace cudamedian

#endif
