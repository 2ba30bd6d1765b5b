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
#ifndef MaskRows_h
#define MaskRows_h

#include "DeviationBound.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/** What is done to rows of a copy some of whose pixels are not valid (MaskedCopy.h), in vectors of the processor at
 * hand. Flags are bytes of 0 or 1, one for each pixel. Rows that are written share no memory with those that are read.
 */
namespace cudamedian
{

/** The least and the greatest key, as pixels. */
struct ExtremePixels
{
  std::array<unsigned char, 8> least;
  std::array<unsigned char, 8> greatest;
};

/** Bytes of the numbers that count a window's values: the fewer, the more of them are in a vector. */
constexpr std::size_t
CountSumBytes(std::int64_t values)
{
  return values <= 127 ? 1 : values <= 32767 ? 2 : 4;
}

/** How the ranks of a window's valid pixels follow from how many more of the keys are the least than are the greatest.
 */
struct RankRule
{
  std::int64_t values;    ///< of a window, less one where the lower one of two middle values is wanted
  std::int64_t first;     ///< ranks are written as numbers from this one on
  std::size_t  rankBytes; ///< 1 or 4
};

/** The least and the greatest of some ranks as they are written. */
struct RankBounds
{
  std::int64_t least;
  std::int64_t greatest;
};

/** Bits of a byte that count how many columns of a window have a valid pixel; the others hold how far its lines are out
 * of balance. */
constexpr unsigned int packedFlagBits = 3;

/** A turn as such bytes are made of. */
constexpr std::uint8_t packedTurn = 1U << packedFlagBits;

/** Whether a byte has room for what the columns of such windows add up to: a flag each, and by how much each line is
 * out of balance, and one more. There is still room for one, to round. */
constexpr bool
CanCountInBytes(std::size_t width, std::size_t lines)
{
  return width < packedTurn && 2 * width * lines + 1 < 256U / packedTurn;
}

/** Rows of flags that windows see, and of packed turns before and behind their lines, which lie across rows: from the
 * first column of the first window on. */
struct WindowFlags
{
  const std::uint8_t * const * valid;
  std::size_t                  rows;
  const std::uint8_t * const * before;
  const std::uint8_t * const * behind;
  std::size_t                  lines;
  std::size_t                  width; ///< of a window
};

/** What values are: integers in the order of those without a sign when exclusive-ored with the mask, or floats. */
struct ValueKind
{
  std::size_t   bytes;
  bool          isFloat;
  std::uint64_t signMask;
};

/** That of a type of pixels. */
template <typename T>
constexpr ValueKind
GetValueKind()
{
  return { sizeof(T),
           std::is_floating_point_v<T>,
           std::is_integral_v<T> && std::is_signed_v<T> ? std::uint64_t{ 1 } << (8 * sizeof(T) - 1) : 0 };
}

/** How bounds of distances of 8 or 16 bits follow from a product and a sum that are rounded down: of distances of 8
 * bits in 256ths, as integers of 16 bits, or of either in floats. */
struct QuickBound
{
  bool          isOfFloats{ false };   ///< whether they follow for all distances …
  bool          isOfIntegers{ false }; ///< … and whether they do so in integers
  float         factor{ 0 };
  float         offset{ 0 };
  std::uint16_t multiplier{ 0 };
  std::uint16_t addend{ 0 };
};

/** Rows of values of windows that are compared with the windows' medians: each has a value of every window, and, unless
 * all are valid, a flag of it. */
struct WindowRows
{
  const void * const *         values;
  const std::uint8_t * const * valid; ///< null: all are
  std::size_t                  rows;
};

/** How many values of a window countNear() counts at once: as many as bytes can. */
constexpr std::size_t mostNear = 255;

/** The steps, of one instruction set. */
struct MaskRows
{
  /** Writes for each pixel of a mask, of 1, 2, 4 or 8 bytes, whether it is not 0. */
  void (*mark)(const void * mask, std::size_t pixelBytes, std::size_t count, std::uint8_t * valid);

  /** Writes whose turn it is one pixel further along lines: of the other key behind each pixel that is not valid. */
  void (*passTurns)(const std::uint8_t * turns, const std::uint8_t * valid, std::size_t count, std::uint8_t * next);

  /** Clears the flags of values that are the same as one: of floats -0 and +0 are, and every two NaN. */
  void (
    *clear)(const ValueKind & kind, const void * values, const void * same, std::size_t count, std::uint8_t * valid);

  /** Copies a row of pixels of 1, 2, 4 or 8 bytes. Those that are not valid get the least key where the turn is not 0,
   * and else the greatest. \param next unless it is null, gets packed turns as passTurns() has others */
  void (*fill)(const void *          pixels,
               std::size_t           pixelBytes,
               const std::uint8_t *  valid,
               const std::uint8_t *  turns,
               const ExtremePixels & extremes,
               std::size_t           count,
               void *                filled,
               std::uint8_t *        next);

  /** Writes other pixels over those whose flag is `flag`: those of a row, or all the same one. It is soon done where
   * there are few. */
  void (*replace)(const std::uint8_t * flags,
                  std::uint8_t         flag,
                  const void *         pixels,
                  bool                 isOnePixel,
                  std::size_t          pixelBytes,
                  std::size_t          count,
                  void *               row);

  /** Adds rows of flags to sums, and takes others from them. Without sums to go on with they begin with 0. */
  void (*add)(std::size_t                  sumBytes,
              const std::uint8_t * const * added,
              const std::uint8_t * const * taken,
              std::size_t                  addedRows,
              std::size_t                  takenRows,
              bool                         goesOn,
              std::size_t                  count,
              void *                       sums);

  /** Sums of `size` numbers that follow each other, from each of `count` on. The scratch memory and that of the sums
   * have as many as there are numbers: count + size - 1. */
  void (*slide)(std::size_t  sumBytes,
                const void * numbers,
                std::size_t  size,
                std::size_t  count,
                void *       scratch,
                void *       sums);

  /** Writes a row of ranks, floor((values + balance) / 2) - first. */
  RankBounds (
    *writeRanks)(std::size_t sumBytes, const void * balance, const RankRule & rule, std::size_t count, void * ranks);

  /** Finds ranks, of one byte, and which windows have no valid pixel. \pre CanCountInBytes()
   * \param scratch has as many bytes as there are flags in a row: count + width - 1
   * \returns whether some have none */
  bool (*countInBytes)(const WindowFlags & window,
                       const RankRule &    rule,
                       std::size_t         count,
                       std::uint8_t *      scratch,
                       std::uint8_t *      ranks,
                       std::uint8_t *      isEmpty);

  /** Writes which sums are 0. \returns whether some are. */
  bool (*findZeros)(std::size_t sumBytes, const void * sums, std::size_t count, std::uint8_t * isZero);

  /** Writes values over their medians: those that are valid and no farther from them than a distance. Without flags all
   * are valid. */
  void (*keepNear)(const ValueKind &    kind,
                   const void *         own,
                   const std::uint8_t * valid,
                   const void *         most,
                   std::size_t          count,
                   void *               medians);

  /** Writes what values are near to each median of a row: of integers those up to `spans` above `firsts`, which go on
   * with the least one behind the greatest; of floats those no farther from `firsts`, the medians, than `spans`. None
   * is farther from its median than the bound of the distance of the window's own pixel. */
  void (*findNear)(const ValueKind &      kind,
                   const void *           own,
                   const void *           medians,
                   const DeviationBound & bound,
                   const QuickBound &     quick,
                   std::size_t            count,
                   void *                 firsts,
                   void *                 spans);

  /** Adds to counts, which have as many bytes as values, how many valid values of each window are near. */
  void (*countNear)(const ValueKind &  kind,
                    const WindowRows & window,
                    const void *       firsts,
                    const void *       spans,
                    std::size_t        count,
                    void *             counts);

  /** Writes values over their medians, but for those that are apart from them while more than so many values of their
   * windows are near, and those that are no number. \param near as many as countNear() counted */
  void (*keepInliers)(const ValueKind & kind,
                      const void *      own,
                      const void *      near,
                      std::size_t       most,
                      std::size_t       count,
                      void *            medians);

  /** Writes of which windows more than half of the valid values are near, of those whose own pixel is not the median;
   * and of which their own pixel is no number. */
  void (*findOutliers)(const ValueKind &    kind,
                       const void *         own,
                       const void *         medians,
                       const std::int32_t * near,
                       const std::int32_t * valid,
                       std::size_t          count,
                       std::uint8_t *       isOutlier);
};

/** How bounds of distances of so many bytes can be found soon: not at all where they have more than two. */
QuickBound
FindQuickBound(const DeviationBound & bound, std::size_t bytes);

/** The steps for the processor at hand. */
const MaskRows &
GetMaskRows();

} // namespace cudamedian

#endif
