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

#include "Gather.h"
#include "MaskRows.h"
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

/** Finds which pixels of a box that is copied are valid, row by row. */
class ValidRows
{
public:
  /** \param image of the request */
  ValidRows(const MedianRequest & request, const PixelBox & copied, const Gatherer & image);

  /** \param place of the row in the box */
  void
  Find(const Extent & place, std::uint8_t * valid);

private:
  static MedianRequest
  MakeMaskRequest(const MedianRequest & request);
  void
  MarkBeyond(const Extent & position, std::uint8_t * valid) const;
  void
  MarkIgnored(const Extent & position, std::uint8_t * valid);

  const MedianRequest & m_Request;
  PixelBox              m_Copied;
  const Gatherer &      m_Image;
  MedianRequest         m_MaskRequest; ///< which has the mask for its image
  Gatherer              m_Mask;
  std::vector<char>     m_Scratch;
};

/** Which of two keys, the least (1) and the greatest (0), the next pixel that is not valid gets, at each pixel of a box
 * and behind the last one of each of its lines along an axis. It is the other one's turn behind each such pixel, and at
 * the beginning of neighbouring lines. */
class Turns
{
public:
  /** \param turns memory for them, which lives as long */
  Turns(const Extent & extent, int axis, PixelFlags & turns);

  int
  GetAxis() const
  {
    return m_Axis;
  }

  /** Finds the turns behind the pixels of a row. Rows are given along the lines, from their first pixels on. */
  void
  PassRow(const Extent & position, const std::uint8_t * valid);

  /** The turns of a row, whose position along the lines' axis may be one behind the box. */
  const std::uint8_t *
  GetRow(const Extent & position) const
  {
    return m_Turns.data() + GetOffset(position, m_Stride);
  }

private:
  std::int64_t m_Width;
  int          m_Axis;
  Extent       m_Stride;
  PixelFlags & m_Turns;
};

/** The pixels in copies with the least key of all and with the greatest. */
ExtremePixels
GetExtremes(PixelType type);

} // namespace cudamedian

#endif
