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
// Included once per instruction set (Google Highway), or once (MaskRowsPortable.cxx): plain loops, which compilers make
// vectors of.
#if defined(MaskRows_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef MaskRows_inl_h
#    undef MaskRows_inl_h
#  else
#    define MaskRows_inl_h
#  endif

#  include "MaskRows.h"

#  include <algorithm>
#  include <cstring>
#  include <limits>
#  include <type_traits>
#  include <utility>

#  ifdef _MSC_VER
#    define CUDAMEDIAN_ROW __restrict
#  else
#    define CUDAMEDIAN_ROW __restrict__
#  endif

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

using Flags = const std::uint8_t * CUDAMEDIAN_ROW;

template <typename T>
T
ReadPixel(const void * bytes)
{
  T pixel;
  std::memcpy(&pixel, bytes, sizeof(pixel));
  return pixel;
}

template <typename T>
void
Mark(const T * CUDAMEDIAN_ROW mask, std::size_t count, std::uint8_t * CUDAMEDIAN_ROW valid)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    valid[i] = mask[i] != 0 ? 1 : 0;
  }
}

void
MarkAny(const void * mask, std::size_t pixelBytes, std::size_t count, std::uint8_t * valid)
{
  switch (pixelBytes)
  {
    case 1:
      return Mark(static_cast<const std::uint8_t *>(mask), count, valid);
    case 2:
      return Mark(static_cast<const std::uint16_t *>(mask), count, valid);
    case 4:
      return Mark(static_cast<const std::uint32_t *>(mask), count, valid);
    default:
      return Mark(static_cast<const std::uint64_t *>(mask), count, valid);
  }
}

void
PassAny(Flags turns, Flags valid, std::size_t count, std::uint8_t * CUDAMEDIAN_ROW next)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    next[i] = static_cast<std::uint8_t>(turns[i] ^ valid[i] ^ 1);
  }
}

template <typename T>
void
Fill(const void * pixels, Flags valid, Flags turns, const ExtremePixels & extremes, std::size_t count, void * filled)
{
  const T * CUDAMEDIAN_ROW from = static_cast<const T *>(pixels);
  T * CUDAMEDIAN_ROW       to = static_cast<T *>(filled);
  const auto               least = ReadPixel<T>(extremes.least.data());
  const auto               greatest = ReadPixel<T>(extremes.greatest.data());
  for (std::size_t i = 0; i < count; ++i)
  {
    const T own = from[i];
    const T extreme = turns[i] != 0 ? least : greatest;
    to[i] = valid[i] != 0 ? own : extreme;
  }
}

void
FillAny(const void *          pixels,
        std::size_t           pixelBytes,
        const std::uint8_t *  valid,
        const std::uint8_t *  turns,
        const ExtremePixels & extremes,
        std::size_t           count,
        void *                filled)
{
  switch (pixelBytes)
  {
    case 1:
      return Fill<std::uint8_t>(pixels, valid, turns, extremes, count, filled);
    case 2:
      return Fill<std::uint16_t>(pixels, valid, turns, extremes, count, filled);
    case 4:
      return Fill<std::uint32_t>(pixels, valid, turns, extremes, count, filled);
    default:
      return Fill<std::uint64_t>(pixels, valid, turns, extremes, count, filled);
  }
}

template <typename T>
void
Replace(Flags flags, std::uint8_t flag, const void * pixels, bool isOnePixel, std::size_t count, void * row)
{
  T * CUDAMEDIAN_ROW to = static_cast<T *>(row);
  if (isOnePixel)
  {
    const auto pixel = ReadPixel<T>(pixels);
    for (std::size_t i = 0; i < count; ++i)
    {
      const T own = to[i];
      to[i] = flags[i] == flag ? pixel : own;
    }
    return;
  }
  const T * CUDAMEDIAN_ROW from = static_cast<const T *>(pixels);
  for (std::size_t i = 0; i < count; ++i)
  {
    const T own = to[i];
    const T other = from[i];
    to[i] = flags[i] == flag ? other : own;
  }
}

void
ReplaceAny(const std::uint8_t * flags,
           std::uint8_t         flag,
           const void *         pixels,
           bool                 isOnePixel,
           std::size_t          pixelBytes,
           std::size_t          count,
           void *               row)
{
  switch (pixelBytes)
  {
    case 1:
      return Replace<std::uint8_t>(flags, flag, pixels, isOnePixel, count, row);
    case 2:
      return Replace<std::uint16_t>(flags, flag, pixels, isOnePixel, count, row);
    case 4:
      return Replace<std::uint32_t>(flags, flag, pixels, isOnePixel, count, row);
    default:
      return Replace<std::uint64_t>(flags, flag, pixels, isOnePixel, count, row);
  }
}

/** Adds some rows in one pass, or takes them away. Their number is known, so that their addresses are in registers. */
template <bool VIsTaken, typename TSum, std::size_t... VRows>
void
AddSome(std::index_sequence<VRows...>,
        const std::uint8_t * const * added,
        bool                         goesOn,
        std::size_t                  count,
        TSum * CUDAMEDIAN_ROW        sums)
{
  Flags rows[] = { added[VRows]... };
  for (std::size_t i = 0; i < count && goesOn; ++i)
  {
    const int sum = (rows[VRows][i] + ...);
    sums[i] = static_cast<TSum>(VIsTaken ? sums[i] - sum : sums[i] + sum);
  }
  for (std::size_t i = 0; i < count && !goesOn; ++i)
  {
    const int sum = (rows[VRows][i] + ...);
    sums[i] = static_cast<TSum>(VIsTaken ? -sum : sum);
  }
}

template <bool VIsTaken, typename TSum>
void
AddAll(const std::uint8_t * const * rows, std::size_t count, bool goesOn, std::size_t length, TSum * sums)
{
  std::size_t row = 0;
  for (; row + 3 <= count; row += 3)
  {
    AddSome<VIsTaken>(std::make_index_sequence<3>(), rows + row, goesOn || row > 0, length, sums);
  }
  for (; row < count; ++row)
  {
    AddSome<VIsTaken>(std::make_index_sequence<1>(), rows + row, goesOn || row > 0, length, sums);
  }
}

template <typename TSum>
void
Add(const std::uint8_t * const * added,
    const std::uint8_t * const * taken,
    std::size_t                  addedRows,
    std::size_t                  takenRows,
    bool                         goesOn,
    std::size_t                  count,
    TSum * CUDAMEDIAN_ROW        sums)
{
  std::size_t row = 0;
  for (; row < std::min(addedRows, takenRows); ++row, goesOn = true)
  {
    Flags plus = added[row];
    Flags minus = taken[row];
    if (goesOn)
    {
      for (std::size_t i = 0; i < count; ++i)
      {
        sums[i] = static_cast<TSum>(sums[i] + plus[i] - minus[i]);
      }
      continue;
    }
    for (std::size_t i = 0; i < count; ++i)
    {
      sums[i] = static_cast<TSum>(plus[i] - minus[i]);
    }
  }
  AddAll<false>(added + row, addedRows - row, goesOn, count, sums);
  AddAll<true>(taken + row, takenRows - row, goesOn || row < addedRows, count, sums);
}

template <typename TFunction>
auto
DispatchSums(std::size_t sumBytes, const TFunction & function)
{
  return sumBytes == 1 ? function(std::int8_t()) : sumBytes == 2 ? function(std::int16_t()) : function(std::int32_t());
}

/** Sums of some numbers that follow each other, which lie `step` numbers apart. */
template <typename TSum, std::size_t... VNumbers>
void
SlideSome(std::index_sequence<VNumbers...>,
          const TSum * CUDAMEDIAN_ROW numbers,
          std::size_t                 step,
          std::size_t                 count,
          TSum * CUDAMEDIAN_ROW       sums)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    sums[i] = static_cast<TSum>((numbers[i + VNumbers * step] + ...));
  }
}

/** Of runs of a length sums of two, or of three, runs are made, until one more number is wanted or none. */
template <typename TSum>
void
Slide(const TSum * numbers, std::size_t size, std::size_t count, TSum * scratch, TSum * sums)
{
  switch (size)
  {
    case 1:
      std::copy_n(numbers, count, sums);
      return;
    case 2:
      return SlideSome(std::make_index_sequence<2>(), numbers, 1, count, sums);
    case 3:
      return SlideSome(std::make_index_sequence<3>(), numbers, 1, count, sums);
    case 5:
      return SlideSome(std::make_index_sequence<5>(), numbers, 1, count, sums);
    case 7:
      return SlideSome(std::make_index_sequence<7>(), numbers, 1, count, sums);
    default:
      break;
  }
  const auto half = size / 2;
  // The sums of the first half of each are those of the second half of others.
  Slide(numbers, half, count + half, sums, scratch);
  SlideSome(std::make_index_sequence<2>(), scratch, half, count, sums);
  if (size % 2 != 0)
  {
    const TSum * CUDAMEDIAN_ROW last = numbers + size - 1;
    TSum * CUDAMEDIAN_ROW       to = sums;
    for (std::size_t i = 0; i < count; ++i)
    {
      to[i] = static_cast<TSum>(to[i] + last[i]);
    }
  }
}

template <typename TSum, typename TRank>
RankBounds
Rank(const TSum * CUDAMEDIAN_ROW balance, const RankRule & rule, std::size_t count, TRank * CUDAMEDIAN_ROW ranks)
{
  using Unsigned = std::make_unsigned_t<TSum>;
  const auto values = static_cast<Unsigned>(rule.values);
  const auto first = static_cast<Unsigned>(rule.first);
  // Of the sums, which have no sign: compilers make vectors of their minimum and maximum.
  auto     least = std::numeric_limits<Unsigned>::max();
  Unsigned greatest = 0;
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto sum = static_cast<Unsigned>(values + static_cast<Unsigned>(balance[i]));
    const auto rank = static_cast<Unsigned>((sum >> 1) - first);
    least = rank < least ? rank : least;
    greatest = rank > greatest ? rank : greatest;
    ranks[i] = static_cast<TRank>(rank);
  }
  return { least, greatest };
}

template <typename TSum>
bool
FindZerosOf(const TSum * CUDAMEDIAN_ROW sums, std::size_t count, std::uint8_t * CUDAMEDIAN_ROW isZero)
{
  std::uint8_t some = 0;
  for (std::size_t i = 0; i < count; ++i)
  {
    const std::uint8_t flag = sums[i] == 0 ? 1 : 0;
    isZero[i] = flag;
    some |= flag;
  }
  return some != 0;
}

void
AddAny(std::size_t                  sumBytes,
       const std::uint8_t * const * added,
       const std::uint8_t * const * taken,
       std::size_t                  addedRows,
       std::size_t                  takenRows,
       bool                         goesOn,
       std::size_t                  count,
       void *                       sums)
{
  DispatchSums(sumBytes, [&](auto sum) HWY_ATTR {
    Add(added, taken, addedRows, takenRows, goesOn, count, static_cast<decltype(sum) *>(sums));
  });
}

void
SlideAny(std::size_t sumBytes, const void * numbers, std::size_t size, std::size_t count, void * scratch, void * sums)
{
  DispatchSums(sumBytes, [&](auto sum) HWY_ATTR {
    using Sum = decltype(sum);
    Slide(static_cast<const Sum *>(numbers), size, count, static_cast<Sum *>(scratch), static_cast<Sum *>(sums));
  });
}

RankBounds
RankAny(std::size_t sumBytes, const void * balance, const RankRule & rule, std::size_t count, void * ranks)
{
  return DispatchSums(sumBytes, [&](auto sum) HWY_ATTR {
    const auto * from = static_cast<const decltype(sum) *>(balance);
    return rule.rankBytes == 1 ? Rank(from, rule, count, static_cast<std::uint8_t *>(ranks))
                               : Rank(from, rule, count, static_cast<std::int32_t *>(ranks));
  });
}

bool
FindZerosOfAny(std::size_t sumBytes, const void * sums, std::size_t count, std::uint8_t * isZero)
{
  return DispatchSums(
    sumBytes, [&](auto sum) HWY_ATTR { return FindZerosOf(static_cast<const decltype(sum) *>(sums), count, isZero); });
}

const MaskRows &
GetRows()
{
  static constexpr MaskRows rows{ MarkAny, PassAny, FillAny, ReplaceAny, AddAny, SlideAny, RankAny, FindZerosOfAny };
  return rows;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#  undef CUDAMEDIAN_ROW
#endif
