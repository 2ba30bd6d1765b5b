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
#ifndef RankSelection_h
#define RankSelection_h

#include "PixelKey.h"

#include <cstddef>

namespace cudamedian
{

/** The clamped window of one pixel: the part inside the image, and how often each coordinate of it counts.
 *
 * A coordinate beyond the border counts for the border pixel, so along each axis the first and the last pixel of the
 * image may count more than once. A window far larger than the image costs no more than the image. */
struct ClampedWindow
{
  std::int64_t first[Dimension]; ///< first and last coordinate inside the image, both included
  std::int64_t last[Dimension];
  std::int64_t before[Dimension]; ///< how many coordinates were clamped up to `first`, beyond itself
  std::int64_t after[Dimension];  ///< how many coordinates were clamped down to `last`, beyond itself

  CUDAMEDIAN_HOST_DEVICE
  ClampedWindow(const std::int64_t * center,
                const std::int64_t * radius,
                const std::int64_t * shorter,
                const std::int64_t * extent)
  {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const std::int64_t low = center[axis] - radius[axis];
      const std::int64_t high = center[axis] + radius[axis] - shorter[axis];
      first[axis] = low < 0 ? 0 : low;
      last[axis] = high > extent[axis] - 1 ? extent[axis] - 1 : high;
      before[axis] = first[axis] - low;
      after[axis] = high - last[axis];
    }
  }

  /** How many coordinates of the window along an axis are clamped to `position`. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetWeight(int axis, std::int64_t position) const
  {
    return 1 + (position == first[axis] ? before[axis] : 0) + (position == last[axis] ? after[axis] : 0);
  }
};

/** The key of a rank in a clamped window, one bit at a time from the top: the largest key with at most so many smaller
 * ones. One pass over the window per bit, no memory.
 *
 * \param rank from 0 to the window's pixels less one. \param getKey getKey(x, y, z, w) is the key of a pixel inside the
 * image. */
template <typename TKey, typename TGetKey>
CUDAMEDIAN_HOST_DEVICE TKey
SelectByCounting(const ClampedWindow & window, std::int64_t rank, const TGetKey & getKey)
{
  TKey result = 0;
  for (int bit = 8 * static_cast<int>(sizeof(TKey)) - 1; bit >= 0; --bit)
  {
    const TKey   trial = static_cast<TKey>(result | (TKey{ 1 } << bit));
    std::int64_t smaller = 0;
    for (std::int64_t w = window.first[3]; w <= window.last[3]; ++w)
    {
      for (std::int64_t z = window.first[2]; z <= window.last[2]; ++z)
      {
        for (std::int64_t y = window.first[1]; y <= window.last[1]; ++y)
        {
          // Along axis 0 only the two ends can weigh more than one.
          std::int64_t row = getKey(window.first[0], y, z, w) < trial ? window.before[0] : 0;
          row += getKey(window.last[0], y, z, w) < trial ? window.after[0] : 0;
          for (std::int64_t x = window.first[0]; x <= window.last[0]; ++x)
          {
            row += getKey(x, y, z, w) < trial ? 1 : 0;
          }
          smaller += row * window.GetWeight(1, y) * window.GetWeight(2, z) * window.GetWeight(3, w);
        }
      }
    }
    result = smaller <= rank ? trial : result;
  }
  return result;
}

/** The same of a footprint's values. \param getKey getKey(i) is the key of its pixel i. \param getWeight getWeight(i)
 * is how often it counts. */
template <typename TKey, typename TGetKey, typename TGetWeight>
CUDAMEDIAN_HOST_DEVICE TKey
SelectOfListed(std::int32_t count, std::int64_t rank, const TGetKey & getKey, const TGetWeight & getWeight)
{
  TKey result = 0;
  for (int bit = 8 * static_cast<int>(sizeof(TKey)) - 1; bit >= 0; --bit)
  {
    const TKey   trial = static_cast<TKey>(result | (TKey{ 1 } << bit));
    std::int64_t smaller = 0;
    for (std::int32_t i = 0; i < count; ++i)
    {
      smaller += getKey(i) < trial ? getWeight(i) : 0;
    }
    result = smaller <= rank ? trial : result;
  }
  return result;
}

} // namespace cudamedian

#endif
