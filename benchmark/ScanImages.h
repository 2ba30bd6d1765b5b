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
#ifndef ScanImages_h
#define ScanImages_h

#include "Extents.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

/** Images that are like scans, where random bits are like none. */
namespace cudamedianbenchmark
{

using namespace cudamedian;

/** An image of smooth waves, edges, round things and noise, in whole numbers from some -1900 to 3100 as those of a CT,
 * a fifth of it 0. Unsigned pixels are 1900 more, those of 8 bits a twentieth of that.
 *
 * \param seed of the noise. */
template <typename TPixel>
std::vector<TPixel>
MakeScan(const Extent & size, std::uint64_t seed)
{
  // A volume shows its slices smaller, so that it has edges along all axes.
  const bool          isVolume = size[2] > 1;
  const int           scale = isVolume ? 4 : 1;
  constexpr bool      isUnsigned = !(static_cast<TPixel>(-1) < TPixel{ 0 });
  constexpr double    divisor = sizeof(TPixel) == 1 ? 20 : 1;
  std::vector<TPixel> pixels;
  pixels.reserve(static_cast<std::size_t>(Volume(size)));
  // Waves along the rows; a wave askew is a sum of two products.
  std::vector<double> slow;
  std::vector<double> sines;
  std::vector<double> cosines;
  for (std::int64_t x = 0; x < size[0] * scale + 5 * size[2]; ++x)
  {
    slow.push_back(std::sin(static_cast<double>(x) * 0.004));
    sines.push_back(std::sin(static_cast<double>(x) * 0.021));
    cosines.push_back(std::cos(static_cast<double>(x) * 0.021));
  }
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::int64_t z = 0; z < size[2]; ++z)
  {
    for (std::int64_t row = 0; row < size[1]; ++row)
    {
      const auto y = static_cast<int>(row * scale + 3 * z);
      const auto vertical = 900 * std::cos(y * 0.0031);
      const auto sine = 400 * std::sin(y * 0.013);
      const auto cosine = 400 * std::cos(y * 0.013);
      for (std::int64_t column = 0; column < size[0]; ++column)
      {
        const auto x = static_cast<int>(column * scale + 5 * z);
        const auto at = static_cast<std::size_t>(x);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // A sum of four even numbers is nearly normal. Its deviation is 40.
        const auto parts = (state & 0xFFFFU) + (state >> 16 & 0xFFFFU) + (state >> 32 & 0xFFFFU) + (state >> 48);
        const auto noise = static_cast<double>(parts) / 65536 - 2;
        const int  across = x % 1500 - 750;
        const int  down = y % 1200 - 600;
        double     value = 1000 + vertical * slow[at] + sines[at] * cosine + cosines[at] * sine + 69.3 * noise;
        value -= (x / 700 + y / 500) % 3 == 0 ? 1500 : 0;
        value += across * across + down * down < 200 * 200 ? 700 : 0;
        value = y / 900 % 4 == 3 ? 0 : value;
        value = std::floor((isUnsigned ? std::max(0.0, value + 1900) : value) / divisor);
        pixels.push_back(static_cast<TPixel>(value));
      }
    }
  }
  return pixels;
}

} // namespace cudamedianbenchmark

#endif
