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
#ifndef Gather_h
#define Gather_h

#include "BorderMap.h"
#include "Slab.h"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace cudamedian
{

/** Whether an algorithm can read a request's input and write its output where they are: rows of pixels without gaps,
 * windows around their outputs, and pixels that are compared as they are stored. */
bool
IsPlain(const MedianRequest & request);

/** Whether an input can be transferred from where it lies, as rows of pixels without gaps that are compared as they are
 * stored, and without a border that copies have to hold. */
bool
IsReadAsItIs(const MedianRequest & request);

/** Whether results are pixels of the output, or what its rows are converted from, next to each other in rows. */
bool
IsWrittenInRows(const MedianRequest & request);

/** Pixels from one to the next along each axis of a request's input. */
Extent
GetInputStride(const MedianRequest & request);

/** The same for its mask. */
Extent
GetMaskStride(const MedianRequest & request);

/** Whether windows are clipped to the image along some axis. */
bool
HasShrunkBorder(const MedianRequest & request);

/** Whether some pixel that a window sees may not be valid. */
bool
HasInvalidPixels(const MedianRequest & request);

/** A pixel with the least key of all, or the greatest; of half floats as they lie in memory. */
std::array<unsigned char, 8>
GetExtremePixel(PixelType type, bool isGreatest);

/** The outputs whose windows lie inside the image along every axis whose border is not zero-flux Neumann. */
PixelBox
GetInterior(const MedianRequest & request);

/** What stands beyond the image along axes with Border::Shrink: the least and the greatest key. */
enum class ShrinkFill : std::uint8_t
{
  Chessboard,         ///< both in turn
  OppositeChessboard, ///< the same, exchanged
  Balanced,           ///< so that the median of each window is the upper middle value of its pixels in the image
  OppositeBalanced,   ///< the lower one
  Least,
  Greatest
};

/** Whether windows of a request's outputs are clipped at both ends of an axis, where chessboards that begin at either
 * end are not the same. */
bool
IsClippedAtBothEnds(const MedianRequest & request, int axis);

/** The fill with which a request's windows, clipped to the image, have their results at once. There is none for means
 * of two middle values, for even windows but their extremes, and for outputs whose windows reach beyond both ends of an
 * axis: those near either end have one, as halves of the image have. */
std::optional<ShrinkFill>
FindSingleFill(const MedianRequest & request);

/** Copies boxes of a request's image, which may reach beyond it, to rows without gaps, and medians back.
 *
 * Border and strides are done with then: algorithms see a box that has its whole halo, in the order of pixels that they
 * know. Half floats become signed 16-bit integers of the same order on the way, and medians half floats again.
 *
 * With Border::Shrink the image is continued like a chessboard. Of whatever part of a window lies beyond, as many
 * pixels have the least key as have the greatest, or one more of either. So the window's median is a middle value of
 * what lies inside, and with both exchanged it is the other one. Along an axis of odd windows the board goes on behind
 * the image with the colour of its last pixel, without which windows that reach over both ends would not be balanced.
 *
 * ShrinkFill::Balanced takes one run for two, with odd windows. The chessboard begins anew after each window's size, in
 * the image too: so the keys of any box as large as the window, with signs by their colours, add up to 1. What lies in
 * the image of a window that is clipped to n pixels begins a board at the image's end, and adds up to 1 where n is odd,
 * and else to 0. So what lies beyond has as many least keys as greatest where n is odd, and else one greatest more. The
 * board is counted from the end that the request's windows reach over.
 */
class Gatherer
{
public:
  /** \param fill by default that of FindSingleFill(), where there is one */
  explicit Gatherer(const MedianRequest & request, std::optional<ShrinkFill> fill = std::nullopt);

  /** Copies rows of a box, first to before last of all, to memory without gaps. Rows are numbered along axis 1 first.
   */
  void
  GatherRows(const PixelBox & box, std::int64_t first, std::int64_t last, void * target) const;

  /** Copies rows of results, which lie in memory without gaps, to their places in the output. */
  void
  ScatterRows(const PixelBox & box, std::int64_t first, std::int64_t last, const void * source) const;

  /** Copies one row from a position on. */
  void
  GatherRow(const Extent & position, std::int64_t count, void * target) const;

  /** A row as GatherRow() copies it: in the image, where it lies there as it is, else in the scratch memory. */
  const void *
  GetRow(const Extent & position, std::int64_t count, std::vector<char> & scratch) const;

  /** Calls function(first, count, pixels) for the pieces of such a row, one after the other: what lies in the image as
   * it is, unless that is short, and the rest in the scratch memory. */
  template <typename TFunction>
  void
  VisitRow(const Extent & position, std::int64_t count, std::vector<char> & scratch, const TFunction & function) const
  {
    const InsidePart inside = FindPieces(position, count);
    const auto       copied = [&](std::int64_t begin, std::int64_t end) {
      if (begin < end)
      {
        auto place = position;
        place[0] += begin;
        scratch.resize(static_cast<std::size_t>(end - begin) * m_PixelBytes);
        GatherRow(place, end - begin, scratch.data());
        function(begin, end - begin, static_cast<const void *>(scratch.data()));
      }
    };
    copied(0, inside.begin);
    if (inside.begin < inside.end)
    {
      auto place = position;
      place[0] += inside.begin;
      function(inside.begin, inside.end - inside.begin, GetPixel(place));
    }
    copied(inside.end, count);
  }

  /** Copies one row of results to its place. The scratch memory has room for the row, and is written to. */
  void
  ScatterRow(const Extent & position, std::int64_t count, const void * source, std::vector<char> & scratch) const;

private:
  /** The part of a row that VisitRow() reads in the image; empty: none. */
  InsidePart
  FindPieces(const Extent & position, std::int64_t count) const;
  /** Where the pixel of a row lies in the image, by a position that borders may map to it along other axes than 0. */
  const void *
  GetPixel(const Extent & position) const;
  void
  FillBeyond(const Extent & position, std::int64_t count, void * target) const;
  bool
  IsDark(const Extent & position) const;
  /** Where a position is along an axis of the balanced board that it is on. */
  std::int64_t
  GetBoardPlace(const Extent & position, int axis) const;
  template <typename TPixel>
  void
  FillBalanced(const Extent & position, std::int64_t count, const TPixel (&colours)[2], TPixel * pixels) const;

  const MedianRequest &        m_Request;
  std::size_t                  m_PixelBytes;
  Extent                       m_Stride;
  ShrinkFill                   m_Fill;
  std::array<unsigned char, 8> m_Least{};
  std::array<unsigned char, 8> m_Greatest{};
  bool                         m_IsShrunk;
  std::array<bool, Dimension>  m_FromBehind{}; ///< whether a balanced board is counted from the last pixel of an axis
};

} // namespace cudamedian

#endif
