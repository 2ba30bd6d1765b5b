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
#ifndef BenchmarkTiming_h
#define BenchmarkTiming_h

#include "itkProcessObject.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace cudamedianbenchmark
{

/** The middle of some values. */
inline double
Median(std::vector<double> values)
{
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/** Seconds of one run of the filter into the output it already has. */
inline double
TimedUpdate(itk::ProcessObject & filter)
{
  filter.Modified();
  const auto start = std::chrono::steady_clock::now();
  filter.Update();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/** Random bits, floating point exponents kept below that of NaN and infinity. */
template <typename TImage>
void
FillRandomly(TImage & image, std::uint64_t seed)
{
  using PixelType = typename TImage::PixelType;
  std::mt19937_64     random(seed);
  PixelType * const   pixels = image.GetBufferPointer();
  const std::size_t   bytes = image.GetBufferedRegion().GetNumberOfPixels() * sizeof(PixelType);
  char * const        raw = reinterpret_cast<char *>(pixels);
  constexpr bool      isFloat = std::is_floating_point<PixelType>::value;
  const std::uint64_t mask = isFloat ? 0xbfffffffbfffffffu : ~std::uint64_t{ 0 };
  for (std::size_t i = 0; i < bytes; i += sizeof(mask))
  {
    const std::uint64_t bits = random() & mask;
    std::memcpy(raw + i, &bits, std::min(sizeof(bits), bytes - i));
  }
}

} // namespace cudamedianbenchmark

#endif
