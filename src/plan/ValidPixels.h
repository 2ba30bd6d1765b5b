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
#ifndef ValidPixels_h
#define ValidPixels_h

#include "MiddleValues.h"
#include "Slab.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cudamedian
{

/** Whether a request's medians are those of valid pixels, or are not for all pixels. */
bool
HasRules(const MedianRequest & request);

/** Which pixels are valid, in words. */
std::string
DescribeValidity(const MedianRequest & request);

/** Flags of pixels, bytes of 0 or 1. */
using PixelFlags = std::vector<std::uint8_t, UnwrittenMemory<std::uint8_t>>;

/** Finds which pixels of a box that was copied are valid.
 * \param pixels the copy */
void
FindValidPixels(const MedianRequest & request, const PixelBox & copied, const Pixels & pixels, PixelFlags & valid);

/** Which of two keys, the least (1) and the greatest (0), the next pixel that is not valid gets, at each pixel of a box
 * and behind the last one of each of its lines along an axis. It is the other one's turn behind each such pixel, and at
 * the beginning of neighbouring lines. */
class Turns
{
public:
  /** \param turns memory for them, which lives as long */
  Turns(const Extent & extent, int axis, const PixelFlags & valid, PixelFlags & turns);

  int
  GetAxis() const
  {
    return m_Axis;
  }

  /** The turns of a row, whose position along the lines' axis may be one behind the box. */
  const std::uint8_t *
  GetRow(const Extent & position) const
  {
    return m_Turns.data() + GetOffset(position, m_Stride);
  }

private:
  void
  FillAlongRows(const Extent & extent, const PixelFlags & valid);
  void
  FillAcrossRows(const Extent & extent, const PixelFlags & valid);

  int          m_Axis;
  Extent       m_Stride;
  PixelFlags & m_Turns;
};

/** Copies pixels of a box, but for those that are not valid: they get extreme keys. \param turns which of both; null:
 * all get the one that is never taken, since the least or the greatest value is wanted. */
void
FillInvalidPixels(const MedianRequest & request,
                  const Extent &        extent,
                  const PixelFlags &    valid,
                  const Turns *         turns,
                  const Pixels &        pixels,
                  Pixels &              filled);

} // namespace cudamedian

#endif
