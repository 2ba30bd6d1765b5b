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
#ifndef CudaMedianCFootprint_h
#define CudaMedianCFootprint_h

#include "CudaMedianCInterface.h"
#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace cudamedian
{

/** Throws where what a request says of a footprint is none. The box around it holds at most as many pixels as the
 * engine counts in a window. */
inline void
ValidateFootprint(const CudaMedianRequest & given)
{
  if (given.footprintPixels > Footprint::largestCount || given.footprint == nullptr)
  {
    throw RequestError("The footprint has " + std::to_string(given.footprintPixels) + " pixels" +
                       (given.footprint == nullptr ? " and is null" : "") + "; it may have at most " +
                       std::to_string(Footprint::largestCount));
  }
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  std::int64_t   boxPixels = 1;
  for (int axis = 0; axis < 4; ++axis)
  {
    const auto ofAxis = " along axis " + std::to_string(axis);
    const auto largest = (most / boxPixels - 1) / 2;
    if (given.radius[axis] != 0 || given.shorter[axis] != 0 || given.shift[axis] != 0)
    {
      throw RequestError("A footprint says itself where its pixels lie; the radius" + ofAxis + " is to be 0");
    }
    std::int64_t reach = 0;
    for (std::uint64_t pixel = 0; pixel < given.footprintPixels; ++pixel)
    {
      const auto offset = given.footprint[5 * pixel + axis];
      if (offset < -largest || offset > largest)
      {
        throw RequestError("An offset of the footprint" + ofAxis + " is " + std::to_string(offset) +
                           "; it may be from " + std::to_string(-largest) + " to " + std::to_string(largest));
      }
      reach = std::max(reach, std::abs(offset));
    }
    boxPixels *= 2 * reach + 1;
  }
}

/** The footprint of a request, null where the window is a box. */
inline const Footprint *
ToFootprint(const CudaMedianRequest & given)
{
  if (given.footprintPixels == 0)
  {
    return nullptr;
  }
  std::vector<FootprintPixel> pixels(given.footprintPixels);
  const auto *                numbers = given.footprint;
  for (auto & pixel : pixels)
  {
    std::copy(numbers, numbers + 4, pixel.offset.begin());
    pixel.weight = numbers[4];
    numbers += 5;
  }
  return Footprint::Make(pixels);
}

} // namespace cudamedian

#endif
