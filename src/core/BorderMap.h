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
#ifndef BorderMap_h
#define BorderMap_h

#include "PixelKey.h"

namespace cudamedian
{

/** What MapBorder() says of a position where no pixel of the image stands. */
constexpr std::int64_t noPixel = -1;

/** The remainder of a division, from 0 on also for negative numbers. */
CUDAMEDIAN_HOST_DEVICE std::int64_t
                       GetRemainder(std::int64_t number, std::int64_t divisor)
{
  const std::int64_t remainder = number % divisor;
  return remainder < 0 ? remainder + divisor : remainder;
}

/** Which of an axis's pixels, 0 to size - 1, stands at a position that may lie beyond them: the definition of borders.
 * The definitions are those of scipy.ndimage. */
CUDAMEDIAN_HOST_DEVICE std::int64_t
                       MapBorder(Border border, std::int64_t position, std::int64_t size)
{
  if (position >= 0 && position < size)
  {
    return position;
  }
  switch (border)
  {
    case Border::ZeroFluxNeumann:
      return position < 0 ? 0 : size - 1;
    case Border::Reflect:
    {
      const auto place = GetRemainder(position, 2 * size);
      return place < size ? place : 2 * size - 1 - place;
    }
    case Border::Mirror:
    {
      if (size == 1)
      {
        return 0;
      }
      const auto place = GetRemainder(position, 2 * (size - 1));
      return place < size ? place : 2 * (size - 1) - place;
    }
    case Border::Wrap:
      return GetRemainder(position, size);
    case Border::Constant:
    case Border::Shrink:
      break;
  }
  return noPixel;
}

} // namespace cudamedian

#endif
