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
#include "KeyLines.h"

namespace cudamedian
{
namespace
{

template <typename TKey, KeyMapping VMapping, std::size_t VNumber>
void
SplitBy(const void * row, void * const * lines, std::size_t number, std::size_t count, TKey keyMask)
{
  const auto *      pixels = static_cast<const TKey *>(row);
  const std::size_t stride = VNumber == 0 ? number : VNumber;
  for (std::size_t column = 0; column < stride; ++column)
  {
    auto * line = static_cast<TKey *>(lines[column]);
    for (std::size_t i = 0; i < count; ++i)
    {
      line[i] = static_cast<TKey>(PixelKey<TKey, VMapping>::FromBits(pixels[i * stride + column], 0) ^ keyMask);
    }
  }
}

template <typename TKey, KeyMapping VMapping, std::size_t VNumber>
void
JoinBy(const void * const * lines, void * row, std::size_t number, std::size_t count, TKey signMask)
{
  auto *            pixels = static_cast<TKey *>(row);
  const std::size_t stride = VNumber == 0 ? number : VNumber;
  for (std::size_t column = 0; column < stride; ++column)
  {
    const auto * line = static_cast<const TKey *>(lines[column]);
    for (std::size_t i = 0; i < count; ++i)
    {
      pixels[i * stride + column] = PixelKey<TKey, VMapping>::ToBits(line[i], signMask);
    }
  }
}

} // namespace

void
PixelsToLines(const PixelFormat & format,
              const void *        pixels,
              void * const *      lines,
              int                 number,
              std::size_t         count,
              bool                isComplemented)
{
  DispatchKeys(format.keys, [&](auto pixelKey) {
    using Key = typename decltype(pixelKey)::Bits;
    constexpr auto mapped = decltype(pixelKey)::mapping;
    const auto     columns = static_cast<std::size_t>(number);
    const auto     mask = static_cast<Key>(GetKeyMask(format, isComplemented));
    number == 1   ? SplitBy<Key, mapped, 1>(pixels, lines, columns, count, mask)
        : number == 2 ? SplitBy<Key, mapped, 2>(pixels, lines, columns, count, mask)
        : number == 4 ? SplitBy<Key, mapped, 4>(pixels, lines, columns, count, mask)
                      : SplitBy<Key, mapped, 0>(pixels, lines, columns, count, mask);
  });
}

void
LinesToPixels(const PixelFormat & format, const void * const * lines, void * pixels, int number, std::size_t count)
{
  DispatchKeys(format.keys, [&](auto pixelKey) {
    using Key = typename decltype(pixelKey)::Bits;
    constexpr auto mapped = decltype(pixelKey)::mapping;
    const auto     columns = static_cast<std::size_t>(number);
    const auto     mask = static_cast<Key>(GetSignMask(format));
    number == 1   ? JoinBy<Key, mapped, 1>(lines, pixels, columns, count, mask)
        : number == 2 ? JoinBy<Key, mapped, 2>(lines, pixels, columns, count, mask)
        : number == 4 ? JoinBy<Key, mapped, 4>(lines, pixels, columns, count, mask)
                      : JoinBy<Key, mapped, 0>(lines, pixels, columns, count, mask);
  });
}

} // namespace cudamedian
