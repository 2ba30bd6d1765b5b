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
#ifndef ExtremumRows_h
#define ExtremumRows_h

#include <cstddef>

namespace cudamedian
{

/** The most rows that are taken together. */
constexpr int mostExtremumRows = 5;

/** What rows of pixels are compared as. */
enum class ExtremumOrder
{
  Unsigned, ///< integers, or keys
  Signed,   ///< integers
  Float     ///< floating point, by the keys of PixelKey.h, which are unsigned
};

/** A step of a search for extremes. */
struct ExtremumRowStep
{
  std::size_t   keyBytes{ 1 }; ///< 1, 2, 4 or 8
  bool          isMax{ false };
  ExtremumOrder order{ ExtremumOrder::Unsigned };
  bool          readsPixels{ false };  ///< of floating point: rows are pixels, and not keys
  bool          writesPixels{ false }; ///< the same of the target
};

/** Writes the least, or the greatest, of what rows have at each place. The target may be the first row, also where the
 * others begin behind it in the same memory.
 *
 * \param rows their number is 1 to mostExtremumRows
 * \param count places of a row */
void
TakeExtremes(void * target, const void * const * rows, int number, std::size_t count, const ExtremumRowStep & step);

} // namespace cudamedian

#endif
