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
#ifndef KeyLines_h
#define KeyLines_h

#include "DivideUp.h"
#include "PixelFormat.h"

#include <cstddef>
#include <cstdint>

namespace cudamedian
{

/** Bytes of a block. Both functions below move whole blocks of each line. */
constexpr std::size_t lineBlockBytes = 64;

/** Keys of a type in a block. */
template <typename TKey>
constexpr auto lineBlockKeys = static_cast<std::int64_t>(lineBlockBytes / sizeof(TKey));

/** Rounds a number of keys up to whole blocks. */
template <typename TKey>
constexpr std::int64_t
RoundUpToBlocks(std::int64_t keys)
{
  return RoundUp(keys, lineBlockKeys<TKey>);
}

/** What keys of a format are exclusive-ored with besides PixelKey.h's mapping: the sign mask of integers, and all bits
 * where keys are to be complemented, which turns their order around. */
constexpr std::uint64_t
GetKeyMask(const PixelFormat & format, bool isComplemented)
{
  return GetSignMask(format) ^ (isComplemented ? ~std::uint64_t{ 0 } : 0);
}

/** Turns a row of pixels into lines of keys, one for each column of a tile: line c gets the keys of pixels c, c +
 * number, c + 2 number, ...
 *
 * \param pixels number * count pixels
 * \param lines `number` pointers, each to `count` keys
 * \param count a multiple of lineBlockBytes' worth of keys
 * \param isComplemented whether lines get the complements of keys */
void
PixelsToLines(const PixelFormat & format,
              const void *        pixels,
              void * const *      lines,
              int                 number,
              std::size_t         count,
              bool                isComplemented = false);

/** Turns lines of keys into a row of pixels. */
void
LinesToPixels(const PixelFormat & format, const void * const * lines, void * pixels, int number, std::size_t count);

} // namespace cudamedian

#endif
