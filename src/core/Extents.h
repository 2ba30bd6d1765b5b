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
#ifndef Extents_h
#define Extents_h

#include "itkCudaMedianExtent.h"

#include <string>

namespace cudamedian
{

/** Number of pixels in a box of the given extent. */
inline std::int64_t
Volume(const Extent & extent)
{
  std::int64_t volume = 1;
  for (const auto size : extent)
  {
    volume *= size;
  }
  return volume;
}

/** Pixels from one position along each axis to the next, in an image without gaps. */
inline Extent
GetPackedStride(const Extent & extent)
{
  Extent stride{ { 1, 0, 0, 0 } };
  for (int axis = 1; axis < Dimension; ++axis)
  {
    stride[axis] = stride[axis - 1] * extent[axis - 1];
  }
  return stride;
}

/** Pixels from the first one of an image to that at a position. */
inline std::int64_t
GetOffset(const Extent & position, const Extent & stride)
{
  std::int64_t offset = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    offset += position[axis] * stride[axis];
  }
  return offset;
}

/** "3x3x1x1" */
inline std::string
Join(const Extent & extent)
{
  std::string text;
  for (const auto value : extent)
  {
    text += (text.empty() ? "" : "x") + std::to_string(value);
  }
  return text;
}

/** Calls function(position) with that of the first pixel of each row of a box that begins at 0. */
template <typename TFunction>
void
ForEachRow(const Extent & extent, const TFunction & function)
{
  Extent row{};
  for (row[3] = 0; row[3] < extent[3]; ++row[3])
  {
    for (row[2] = 0; row[2] < extent[2]; ++row[2])
    {
      for (row[1] = 0; row[1] < extent[1]; ++row[1])
      {
        function(row);
      }
    }
  }
}

} // namespace cudamedian

#endif
