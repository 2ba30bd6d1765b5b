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
#ifndef MiddleValues_h
#define MiddleValues_h

#include "Gather.h"

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace cudamedian
{

/** Values of one of the two ranks next to the middle: of two ways to fill what lies beyond the image, the lesser or the
 * greater value is right. Where there is one way, its value is. */
struct Middle
{
  std::int64_t            rank{ 0 };
  std::vector<ShrinkFill> fills{ ShrinkFill::Chessboard };
  bool                    isGreater{ false };
};

/** What makes up the result of a box: one value, or the mean of two. */
struct Recipe
{
  Middle upper;
  Middle lower;
  bool   isMean{ false };
};

/** What a request's recipe is, for all of its outputs. */
Recipe
GetRecipe(const MedianRequest & request);

/** Memory that is all written before it is read, so that nobody has to clear it. */
template <typename T>
struct UnwrittenMemory : std::allocator<T>
{
  /** The same for another type, as containers ask for it. */
  template <typename TOther>
  struct rebind
  {
    using other = UnwrittenMemory<TOther>;
  };
  template <typename TOther>
  void
  construct(TOther * place) noexcept
  {
    ::new (static_cast<void *>(place)) TOther;
  }
};

/** Pixels of a copy, without gaps; half floats as integers of their order. */
using Pixels = std::vector<char, UnwrittenMemory<char>>;

/** Keeps the greater or the lesser of each two values. */
void
KeepOne(PixelType type, Pixels & kept, const Pixels & other, bool isGreater);

/** Takes the mean of each two values: of integers rounded down. */
void
TakeMeans(PixelType type, Pixels & kept, const Pixels & other);

} // namespace cudamedian

#endif
