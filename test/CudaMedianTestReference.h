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
#ifndef CudaMedianTestReference_h
#define CudaMedianTestReference_h

#include "PixelFormat.h"
#include "Window.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <random>
#include <vector>

/** What the engine's tests compare with: the definition of a window's median or other rank, written as plainly as it
 * can be. */
namespace cudamediantest
{

using cudamedian::Dimension;
using cudamedian::Extent;
using cudamedian::KeyMapping;
using cudamedian::PixelKey;
using cudamedian::Window;

/** Pixels of an image as unsigned bits, axis 0 fastest. */
template <typename TBits>
struct BitsImage
{
  Extent             extent;
  std::vector<TBits> pixels;

  explicit BitsImage(const Extent & size)
    : extent(size)
    , pixels(static_cast<std::size_t>(size[0] * size[1] * size[2] * size[3]))
  {}

  TBits &
  At(const Extent & p)
  {
    return pixels[static_cast<std::size_t>(((p[3] * extent[2] + p[2]) * extent[1] + p[1]) * extent[0] + p[0])];
  }

  /** Full-range values, or a few distinct ones. */
  void
  FillRandomly(std::mt19937_64 & generator, std::uint64_t distinct = 0)
  {
    for (auto & pixel : pixels)
    {
      const auto value = generator();
      pixel = static_cast<TBits>(distinct == 0 ? value : value % distinct * 0x9E3779B97F4A7C15ULL);
    }
  }
};

template <typename TBody>
void
ForEachPosition(const Extent & extent, const TBody & body)
{
  Extent p;
  for (p[3] = 0; p[3] < extent[3]; ++p[3])
  {
    for (p[2] = 0; p[2] < extent[2]; ++p[2])
    {
      for (p[1] = 0; p[1] < extent[1]; ++p[1])
      {
        for (p[0] = 0; p[0] < extent[0]; ++p[0])
        {
          body(p);
        }
      }
    }
  }
}

/** Calls body(window) for ranks that are not the median's: of the smallest pixel, the first quarter, the one as far
 * from the other end, the largest. */
template <typename TBody>
void
ForEachOtherRank(const Extent & radius, const TBody & body)
{
  const auto pixels = Window(radius).CountPixels();
  for (const auto rank : { std::int64_t{ 0 }, pixels / 4, pixels - 1 - pixels / 4, pixels - 1 })
  {
    body(Window(radius, rank));
  }
}

/** The same, and windows of even size along the axes that have a radius, or along the last of them. */
template <typename TBody>
void
ForEachOtherWindow(const Extent & radius, const TBody & body)
{
  ForEachOtherRank(radius, body);
  Extent all{ { 0, 0, 0, 0 } };
  Extent last{ { 0, 0, 0, 0 } };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    all[axis] = radius[axis] > 0 ? 1 : 0;
    last = radius[axis] > 0 ? Extent{ { axis == 0, axis == 1, axis == 2, axis == 3 } } : last;
  }
  const auto pixels = Window(radius, all, 0).CountPixels();
  for (const auto rank : { pixels / 4, pixels / 2, pixels - 1 })
  {
    body(Window(radius, all, rank));
  }
  body(Window(radius, last, -1));
}

/** Calls body with windows of a radius whose outputs have ranks of their own: some around the middle, the last ones,
 * and all there are. */
template <typename TBody>
void
ForEachWindowOfRanks(const Extent & radius, const TBody & body)
{
  const auto run = [&body](Window window, std::int64_t least, std::int64_t greatest) {
    const auto pixels = window.CountPixels();
    window.rank = std::max<std::int64_t>(least, 0);
    window.ranks = std::min(greatest, pixels - 1) - window.rank + 1;
    body(window);
  };
  const Window odd(radius);
  const auto   pixels = odd.CountPixels();
  run(odd, pixels / 2 - 2, pixels / 2 + 1);
  run(odd, pixels - 3, pixels - 1);
  run(odd, 0, pixels - 1);
  Extent shorter{ { 0, 0, 0, 0 } };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    shorter[axis] = radius[axis] > 0 ? 1 : 0;
  }
  const Window even(radius, shorter, 0);
  run(even, even.CountPixels() / 2 - 3, even.CountPixels() / 2 + 3);
}

/** The window's value of its rank around `center`, every coordinate clamped to the image, by selecting among keys. */
template <KeyMapping VMapping, typename TBits>
TBits
GetReferenceMedian(BitsImage<TBits> & image, const Extent & center, const Window & window, TBits signMask)
{
  std::vector<TBits> keys;
  keys.reserve(static_cast<std::size_t>(window.CountPixels()));
  const auto clamp = [&](int axis, std::int64_t position) {
    return std::min(std::max<std::int64_t>(position, 0), image.extent[axis] - 1);
  };
  const auto add = [&](TBits bits, std::int64_t times) {
    keys.insert(keys.end(), static_cast<std::size_t>(times), PixelKey<TBits, VMapping>::FromBits(bits, signMask));
  };
  if (window.footprint != nullptr)
  {
    for (const auto & pixel : window.footprint->GetPixels())
    {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] = clamp(axis, center[axis] + pixel.offset[axis]);
      }
      add(image.At(position), pixel.weight);
    }
  }
  else
  {
    // Row by row, since tests spend most of their time here.
    auto rows = window.GetExtent();
    rows[0] = 1;
    ForEachPosition(rows, [&](const Extent & place) {
      Extent position{ { 0, 0, 0, 0 } };
      for (int axis = 1; axis < Dimension; ++axis)
      {
        position[axis] = clamp(axis, center[axis] - window.radius[axis] + place[axis]);
      }
      const TBits * row = &image.At(position);
      const auto    first = center[0] - window.radius[0];
      for (std::int64_t x = first; x < first + window.GetSize(0); ++x)
      {
        add(row[clamp(0, x)], 1);
      }
    });
  }
  const auto wanted = keys.begin() + static_cast<std::ptrdiff_t>(window.rank);
  std::nth_element(keys.begin(), wanted, keys.end());
  return PixelKey<TBits, VMapping>::ToBits(*wanted, signMask);
}

} // namespace cudamediantest

#endif
