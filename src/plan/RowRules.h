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
#ifndef RowRules_h
#define RowRules_h

#include "AlignedVector.h"
#include "Gather.h"
#include "MaskRows.h"
#include "RowResults.h"
#include "RuledRows.h"
#include "ValidPixels.h"

#include <optional>
#include <vector>

namespace cudamedian
{

/** Whether the rules of a request can be applied to rows as they pass: valid pixels and windows by one rank each, of
 * few ranks, and outliers by distance. */
bool
AreRulesOfRows(const MedianRequest & request);

/** Whether rows are made, and not the image's: then positions are those of MakeCopiedRequest(). */
bool
AreRowsMade(const MedianRequest & request);

/** Applies a request's rules to rows. Pixels that are not valid get extreme keys in turn along axis 1, and ranks follow
 * from them (ValidCounts.h). */
class RowRules : public RuledRows
{
public:
  /** \param quick of its deviations, if there is one
   * \pre AreRulesOfRows() */
  RowRules(const MedianRequest & request, const QuickBound & quick);

  bool
  HasRows() const override;
  std::size_t
  GetScratchBytes() const override;
  void
  Start(const PixelBox & outputs, const Extent & tile, std::int64_t padding) override;
  const void *
  GetRow(std::int64_t y, std::int64_t z, std::int64_t w) override;
  const std::uint8_t *
  FindRanks(const Extent & output, std::size_t number) override;
  void
  Finish(const Extent & output, std::size_t number, void * medians) override;

private:
  /** Rows of a plane of the box that are kept: the last ones, or all. */
  struct Plane
  {
    std::int64_t place{ -1 };     ///< along axes 2 and 3 together; -1: nothing
    std::int64_t loaded{ 0 };     ///< rows, from the box's first on
    std::size_t  firstRow{ 0 };   ///< of the rows of all planes, in memory
    std::size_t  firstTurns{ 0 }; ///< the same of turns, of which there is a row more
  };

  /** How many rows of a plane, and of turns, are kept, and which bits of a row's number tell its place among them. */
  struct Kept
  {
    std::int64_t rows{ 0 };
    std::int64_t turns{ 0 };
    std::int64_t rowMask{ 0 };
    std::int64_t turnMask{ 0 };
  };

  /** What was found of a row of a tile. */
  struct OutputRow
  {
    AlignedVector<std::uint8_t> ranks;
    AlignedVector<std::uint8_t> empty;
    bool                        hasEmpty{ false };
  };

  /** Where the windows of a row of outputs begin, among the positions of the box that they see. */
  Extent
  GetWindowPlace(const Extent & output) const;
  Plane &
  FindPlane(std::int64_t z, std::int64_t w);
  void
  LoadRow(Plane & plane, const Extent & place);
  std::size_t
  GetSlot(const Plane & plane, std::int64_t row) const;
  std::uint8_t *
  GetTurns(const Plane & plane, std::int64_t row);
  const std::uint8_t *
  GetOwnFlags(const Extent & output);
  /** Puts values in their medians' place that are no outliers by deviations. */
  void
  KeepByDeviations(const Extent & output, void * medians);

  const MedianRequest &        m_Request;
  Window                       m_Window;
  Gatherer                     m_Image;
  bool                         m_HasInvalid;
  Extent                       m_Further; ///< than the image\'s are positions of the request that is run
  ExtremePixels                m_Extremes;
  RankRule                     m_Rule;
  std::size_t                  m_PixelBytes;
  RowExceptions                m_Exceptions;
  PixelBox                     m_Copied; ///< what the box's windows see, in the image
  std::int64_t                 m_Width{ 0 };
  std::size_t                  m_Pitch{ 0 };
  Kept                         m_Kept;
  Extent                       m_KeptPlanes{}; ///< along axes 2 and 3
  std::vector<Plane>           m_Planes;
  std::optional<ValidRows>     m_ValidRows;
  AlignedVector<unsigned char> m_Pixels; ///< of kept rows; those that are not valid have extreme keys
  AlignedVector<std::uint8_t>  m_Valid;  ///< their flags
  AlignedVector<std::uint8_t>  m_Turns;  ///< and whose turn it is at each, and behind the last
  AlignedVector<std::uint8_t>  m_Packed;
  std::vector<OutputRow>       m_Rows;
  std::vector<char>            m_Scratch;

  std::vector<const std::uint8_t *> m_WindowFlags;
  std::vector<const std::uint8_t *> m_Before;
  std::vector<const std::uint8_t *> m_Behind;

  DeviationBound              m_Bound;
  QuickBound                  m_Quick;
  AlignedVector<std::uint8_t> m_Firsts; ///< of a stretch of a row: see MaskRows::findNear
  AlignedVector<std::uint8_t> m_Spans;
  AlignedVector<std::uint8_t> m_Near;
  std::vector<const void *>   m_Values;
};

} // namespace cudamedian

#endif
