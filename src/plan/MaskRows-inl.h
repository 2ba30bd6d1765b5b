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
#  include <cmath>
#  include <cstring>
#  include <limits>
#  include <type_traits>
#  include <utility>

#  ifdef _MSC_VER
#    define CUDAMEDIAN_ROW __restrict
#  else
#    define CUDAMEDIAN_ROW __restrict__
#  endif

// Before a loop whose rows share no memory, which compilers do not know of arrays of rows.
#  if defined(__GNUC__) && !defined(__clang__)
#    define CUDAMEDIAN_APART _Pragma("GCC ivdep")
#  else
#    define CUDAMEDIAN_APART
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
Fill(const void *                  pixels,
     Flags                         valid,
     Flags                         turns,
     const ExtremePixels &         extremes,
     std::size_t                   count,
     void *                        filled,
     std::uint8_t * CUDAMEDIAN_ROW next)
{
  const T * CUDAMEDIAN_ROW from = static_cast<const T *>(pixels);
  T * CUDAMEDIAN_ROW       to = static_cast<T *>(filled);
  const auto               least = ReadPixel<T>(extremes.least.data());
  const auto               greatest = ReadPixel<T>(extremes.greatest.data());
  const auto               choose = [&](std::size_t i) HWY_ATTR {
    const T own = from[i];
    const T extreme = turns[i] != 0 ? least : greatest;
    return valid[i] != 0 ? own : extreme;
  };
  for (std::size_t i = 0; i < count && next != nullptr; ++i)
  {
    to[i] = choose(i);
    const std::uint8_t turn = turns[i];
    const std::uint8_t other = turn ^ packedTurn;
    next[i] = valid[i] != 0 ? turn : other;
  }
  for (std::size_t i = 0; i < count && next == nullptr; ++i)
  {
    to[i] = choose(i);
  }
}

void
FillAny(const void *          pixels,
        std::size_t           pixelBytes,
        const std::uint8_t *  valid,
        const std::uint8_t *  turns,
        const ExtremePixels & extremes,
        std::size_t           count,
        void *                filled,
        std::uint8_t *        next)
{
  switch (pixelBytes)
  {
    case 1:
      return Fill<std::uint8_t>(pixels, valid, turns, extremes, count, filled, next);
    case 2:
      return Fill<std::uint16_t>(pixels, valid, turns, extremes, count, filled, next);
    case 4:
      return Fill<std::uint32_t>(pixels, valid, turns, extremes, count, filled, next);
    default:
      return Fill<std::uint64_t>(pixels, valid, turns, extremes, count, filled, next);
  }
}

/** Writes pixels over those of a stretch whose flag is `flag`. */
template <typename T>
void
ReplaceSome(Flags                    flags,
            std::uint8_t             flag,
            const T * CUDAMEDIAN_ROW from,
            T                        pixel,
            std::size_t              count,
            T * CUDAMEDIAN_ROW       to)
{
  if (from == nullptr)
  {
    for (std::size_t i = 0; i < count; ++i)
    {
      const T own = to[i];
      to[i] = flags[i] == flag ? pixel : own;
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
  {
    const T own = to[i];
    const T other = from[i];
    to[i] = flags[i] == flag ? other : own;
  }
}

template <typename T>
void
Replace(const std::uint8_t * flags,
        std::uint8_t         flag,
        const void *         pixels,
        bool                 isOnePixel,
        std::size_t          count,
        void *               row)
{
  // Of a stretch where one is found all are looked at, so that many that lie close together take few searches.
  constexpr std::size_t stretch = 64;
  const auto *          from = isOnePixel ? nullptr : static_cast<const T *>(pixels);
  const T               pixel = isOnePixel ? ReadPixel<T>(pixels) : T();
  T *                   to = static_cast<T *>(row);
  for (std::size_t first = 0; first < count;)
  {
    const auto * found = static_cast<const std::uint8_t *>(std::memchr(flags + first, flag, count - first));
    if (found == nullptr)
    {
      return;
    }
    first = static_cast<std::size_t>(found - flags);
    const auto length = std::min(stretch, count - first);
    ReplaceSome(flags + first, flag, from == nullptr ? from : from + first, pixel, length, to + first);
    first += length;
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

/** Whether the windows of a column have a valid pixel there, in the lowest bits, and above them by how much its lines
 * are out of balance. */
template <std::size_t... VRows, std::size_t... VLines>
void
PackColumns(std::index_sequence<VRows...>,
            std::index_sequence<VLines...>,
            const WindowFlags &           window,
            std::size_t                   count,
            std::uint8_t * CUDAMEDIAN_ROW packed)
{
  Flags valid[] = { window.valid[VRows]... };
  Flags before[] = { window.before[VLines]... };
  Flags behind[] = { window.behind[VLines]... };
  CUDAMEDIAN_APART
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto some = static_cast<std::uint8_t>((valid[VRows][i] | ...));
    packed[i] =
      static_cast<std::uint8_t>(some + (static_cast<std::uint8_t>(before[VLines][i] - behind[VLines][i]) + ...));
  }
}

/** The same, row by row. */
void
PackAnyColumns(const WindowFlags & window, std::size_t count, std::uint8_t * CUDAMEDIAN_ROW packed)
{
  std::memset(packed, 0, count);
  for (std::size_t row = 0; row < window.rows; ++row)
  {
    Flags valid = window.valid[row];
    for (std::size_t i = 0; i < count; ++i)
    {
      packed[i] = static_cast<std::uint8_t>(packed[i] | valid[i]);
    }
  }
  for (std::size_t line = 0; line < window.lines; ++line)
  {
    Flags before = window.before[line];
    Flags behind = window.behind[line];
    for (std::size_t i = 0; i < count; ++i)
    {
      packed[i] = static_cast<std::uint8_t>(packed[i] + before[i] - behind[i]);
    }
  }
}

template <std::size_t... VColumns>
bool
CountColumns(std::index_sequence<VColumns...>,
             const std::uint8_t * CUDAMEDIAN_ROW packed,
             const RankRule &                    rule,
             std::size_t                         count,
             std::uint8_t * CUDAMEDIAN_ROW       ranks,
             std::uint8_t * CUDAMEDIAN_ROW       isEmpty)
{
  // Twice a rank is what it has besides the balance, added to that, with a bit that is rounded off.
  const auto   added = static_cast<std::uint8_t>((rule.values - 2 * rule.first) * packedTurn);
  std::uint8_t some = 0;
  CUDAMEDIAN_APART
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto         sum = static_cast<std::uint8_t>((packed[i + VColumns] + ...));
    const auto         twice = static_cast<std::uint8_t>(sum + added);
    const std::uint8_t empty = (sum & (packedTurn - 1)) == 0 ? 1 : 0;
    some |= empty;
    ranks[i] = static_cast<std::uint8_t>(twice >> (packedFlagBits + 1));
    isEmpty[i] = empty;
  }
  return some != 0;
}

bool
CountInBytes(const WindowFlags & window,
             const RankRule &    rule,
             std::size_t         count,
             std::uint8_t *      scratch,
             std::uint8_t *      ranks,
             std::uint8_t *      isEmpty)
{
  const auto numbers = count + window.width - 1;
  const auto is = [&window](std::size_t rows, std::size_t lines) {
    return window.rows == rows && window.lines == lines;
  };
  using One = std::make_index_sequence<1>;
  is(3, 1)   ? PackColumns(std::make_index_sequence<3>(), One(), window, numbers, scratch)
  : is(5, 1) ? PackColumns(std::make_index_sequence<5>(), One(), window, numbers, scratch)
  : is(7, 1) ? PackColumns(std::make_index_sequence<7>(), One(), window, numbers, scratch)
  : is(9, 3) ? PackColumns(std::make_index_sequence<9>(), std::make_index_sequence<3>(), window, numbers, scratch)
             : PackAnyColumns(window, numbers, scratch);
  const auto columns = [&](auto indices)
                         HWY_ATTR { return CountColumns(indices, scratch, rule, count, ranks, isEmpty); };
  switch (window.width)
  {
    case 1:
      return columns(std::make_index_sequence<1>());
    case 2:
      return columns(std::make_index_sequence<2>());
    case 3:
      return columns(std::make_index_sequence<3>());
    case 4:
      return columns(std::make_index_sequence<4>());
    case 5:
      return columns(std::make_index_sequence<5>());
    case 6:
      return columns(std::make_index_sequence<6>());
    default:
      return columns(std::make_index_sequence<7>());
  }
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

template <typename T>
bool
IsNearIn(T value, T first, T span)
{
  if constexpr (std::is_floating_point_v<T>)
  {
    return std::fabs(value - first) <= span;
  }
  else
  {
    return static_cast<T>(value - first) <= span;
  }
}

/** Counts values of some rows in one pass. */
template <typename T, typename TCount, bool VIsAllValid, std::size_t... VRows>
void
CountSome(std::index_sequence<VRows...>,
          const WindowRows &       window,
          std::size_t              row,
          const T * CUDAMEDIAN_ROW firsts,
          const T * CUDAMEDIAN_ROW spans,
          std::size_t              count,
          TCount * CUDAMEDIAN_ROW  counts)
{
  const T * CUDAMEDIAN_ROW rows[] = { static_cast<const T *>(window.values[row + VRows])... };
  Flags                    valid[] = { VIsAllValid ? nullptr : window.valid[row + VRows]... };
  for (std::size_t i = 0; i < count; ++i)
  {
    const T first = firsts[i];
    const T span = spans[i];
    TCount  near = counts[i];
    ((near = static_cast<TCount>(
        near + static_cast<TCount>(IsNearIn(rows[VRows][i], first, span) && (VIsAllValid || valid[VRows][i] != 0)))),
     ...);
    counts[i] = near;
  }
}

template <typename T, typename TCount, bool VIsAllValid>
void
CountRows(const WindowRows & window, const void * firsts, const void * spans, std::size_t count, void * counts)
{
  constexpr std::size_t atOnce = VIsAllValid ? 8 : 4;
  const auto            some = [&](auto indices, std::size_t row) HWY_ATTR {
    CountSome<T, TCount, VIsAllValid>(indices,
                                      window,
                                      row,
                                      static_cast<const T *>(firsts),
                                      static_cast<const T *>(spans),
                                      count,
                                      static_cast<TCount *>(counts));
  };
  std::size_t row = 0;
  for (; row + atOnce <= window.rows; row += atOnce)
  {
    some(std::make_index_sequence<atOnce>(), row);
  }
  for (; row < window.rows; ++row)
  {
    some(std::make_index_sequence<1>(), row);
  }
}

/** Calls function(value, count) with types of values and of their numbers. */
template <typename TFunction>
void
DispatchValues(const ValueKind & kind, const TFunction & function)
{
  switch (kind.bytes)
  {
    case 1:
      return function(std::uint8_t(), std::uint8_t());
    case 2:
      return function(std::uint16_t(), std::uint16_t());
    case 4:
      return kind.isFloat ? function(float(), std::uint32_t()) : function(std::uint32_t(), std::uint32_t());
    default:
      return kind.isFloat ? function(double(), std::uint64_t()) : function(std::uint64_t(), std::uint64_t());
  }
}

void
CountNearOfAny(const ValueKind &  kind,
               const WindowRows & window,
               const void *       firsts,
               const void *       spans,
               std::size_t        count,
               void *             counts)
{
  DispatchValues(kind, [&](auto value, auto number) HWY_ATTR {
    using Value = decltype(value);
    using Count = decltype(number);
    return window.valid == nullptr ? CountRows<Value, Count, true>(window, firsts, spans, count, counts)
                                   : CountRows<Value, Count, false>(window, firsts, spans, count, counts);
  });
}

template <typename T>
void
Clear(const T * CUDAMEDIAN_ROW values, T same, std::size_t count, std::uint8_t * CUDAMEDIAN_ROW valid)
{
  if (same != same)
  {
    for (std::size_t i = 0; i < count; ++i)
    {
      const std::uint8_t isNumber = values[i] == values[i] ? 1 : 0;
      valid[i] &= isNumber;
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
  {
    const std::uint8_t isOther = values[i] != same ? 1 : 0;
    valid[i] &= isOther;
  }
}

void
ClearAny(const ValueKind & kind, const void * values, const void * same, std::size_t count, std::uint8_t * valid)
{
  DispatchValues(kind, [&](auto value, auto) HWY_ATTR {
    using Value = decltype(value);
    Clear(static_cast<const Value *>(values), ReadPixel<Value>(same), count, valid);
  });
}

template <typename T, bool VIsAllValid>
void
KeepNear(const T * CUDAMEDIAN_ROW own, Flags valid, T signs, T most, std::size_t count, T * CUDAMEDIAN_ROW medians)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    const T bits = own[i];
    const T median = medians[i];
    bool    isNear;
    if constexpr (std::is_floating_point_v<T>)
    {
      isNear = bits == bits && !(std::fabs(bits - median) > most);
    }
    else
    {
      // In numbers as wide as values, so that vectors hold as many.
      const T a = bits ^ signs;
      const T b = median ^ signs;
      const T greater = a < b ? b : a;
      const T lesser = a < b ? a : b;
      const T distance = static_cast<T>(greater - lesser);
      isNear = distance <= most;
    }
    medians[i] = isNear && (VIsAllValid || valid[i] != 0) ? bits : median;
  }
}

void
KeepNearOfAny(const ValueKind &    kind,
              const void *         own,
              const std::uint8_t * valid,
              const void *         most,
              std::size_t          count,
              void *               medians)
{
  DispatchValues(kind, [&](auto value, auto) HWY_ATTR {
    using Value = decltype(value);
    const auto * from = static_cast<const Value *>(own);
    const auto   signs = static_cast<Value>(kind.signMask);
    const auto   distance = ReadPixel<Value>(most);
    auto *       to = static_cast<Value *>(medians);
    valid == nullptr ? KeepNear<Value, true>(from, valid, signs, distance, count, to)
                           : KeepNear<Value, false>(from, valid, signs, distance, count, to);
  });
}

/** The bound of a distance; that of 0 is 0. */
template <typename T>
T
GetBound(const DeviationBound & bound, T distance)
{
  // That of the least one above 0 is found in place of that of 0, so that there is no branch.
  const T some = distance > 0 ? distance : T{ 1 };
  const T found = bound.Get(some);
  return distance > 0 ? found : T{ 0 };
}

/** How bounds are found. */
enum class BoundKind
{
  Exact,
  OfFloats,
  OfIntegers
};

template <typename T, BoundKind VKind>
void
FindNear(const T * CUDAMEDIAN_ROW own,
         const T * CUDAMEDIAN_ROW medians,
         T                        signs,
         const DeviationBound &   given,
         const QuickBound &       quick,
         std::size_t              count,
         T * CUDAMEDIAN_ROW       firsts,
         T * CUDAMEDIAN_ROW       spans)
{
  const DeviationBound bound = given; // which no row that is written can change
  const float          factor = quick.factor;
  const float          offset = quick.offset;
  const std::uint16_t  multiplier = quick.multiplier;
  const std::uint16_t  addend = quick.addend;
  for (std::size_t i = 0; i < count; ++i)
  {
    if constexpr (std::is_floating_point_v<T>)
    {
      firsts[i] = medians[i];
      spans[i] = GetBound(bound, std::fabs(own[i] - medians[i]));
    }
    else
    {
      const T value = own[i] ^ signs;
      const T median = medians[i] ^ signs;
      const T above = static_cast<T>(~median);
      const T distance = static_cast<T>(value < median ? median - value : value - median);
      T       bounded;
      if constexpr (VKind == BoundKind::OfIntegers)
      {
        bounded = static_cast<T>(static_cast<std::uint16_t>(distance * multiplier + addend) >> 8U);
      }
      else if constexpr (VKind == BoundKind::OfFloats)
      {
        bounded = static_cast<T>(static_cast<std::int32_t>(static_cast<float>(distance) * factor + offset));
      }
      else
      {
        bounded = GetBound(bound, distance);
      }
      const T below = bounded < median ? bounded : median;
      firsts[i] = static_cast<T>(median - below) ^ signs;
      spans[i] = static_cast<T>(below + (bounded < above ? bounded : above));
    }
  }
}

void
FindNearOfAny(const ValueKind &      kind,
              const void *           own,
              const void *           medians,
              const DeviationBound & bound,
              const QuickBound &     quick,
              std::size_t            count,
              void *                 firsts,
              void *                 spans)
{
  DispatchValues(kind, [&](auto value, auto) HWY_ATTR {
    using Value = decltype(value);
    const auto find = [&](auto boundKind) HWY_ATTR {
      FindNear<Value, decltype(boundKind)::value>(static_cast<const Value *>(own),
                                                  static_cast<const Value *>(medians),
                                                  static_cast<Value>(kind.signMask),
                                                  bound,
                                                  quick,
                                                  count,
                                                  static_cast<Value *>(firsts),
                                                  static_cast<Value *>(spans));
    };
    if constexpr (std::is_same_v<Value, std::uint8_t>)
    {
      if (quick.isOfIntegers)
      {
        return find(std::integral_constant<BoundKind, BoundKind::OfIntegers>());
      }
    }
    if constexpr (std::is_integral_v<Value> && sizeof(Value) <= 2)
    {
      if (quick.isOfFloats)
      {
        return find(std::integral_constant<BoundKind, BoundKind::OfFloats>());
      }
    }
    find(std::integral_constant<BoundKind, BoundKind::Exact>());
  });
}

template <typename T, typename TCount>
void
KeepInliers(const T * CUDAMEDIAN_ROW      own,
            const TCount * CUDAMEDIAN_ROW near,
            TCount                        most,
            std::size_t                   count,
            T * CUDAMEDIAN_ROW            medians)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    // A distance that is no number is not above 0.
    const T value = own[i];
    const T median = medians[i];
    bool    isApart = value != median;
    if constexpr (std::is_floating_point_v<T>)
    {
      isApart = std::fabs(value - median) > 0;
    }
    medians[i] = value != value || (isApart && near[i] > most) ? median : value;
  }
}

void
KeepInliersOfAny(const ValueKind & kind,
                 const void *      own,
                 const void *      near,
                 std::size_t       most,
                 std::size_t       count,
                 void *            medians)
{
  DispatchValues(kind, [&](auto value, auto number) HWY_ATTR {
    using Value = decltype(value);
    using Number = decltype(number);
    KeepInliers(static_cast<const Value *>(own),
                static_cast<const Number *>(near),
                static_cast<Number>(most),
                count,
                static_cast<Value *>(medians));
  });
}

template <typename T>
void
FindOutliers(const T * CUDAMEDIAN_ROW            own,
             const T * CUDAMEDIAN_ROW            medians,
             const std::int32_t * CUDAMEDIAN_ROW near,
             const std::int32_t * CUDAMEDIAN_ROW valid,
             std::size_t                         count,
             std::uint8_t * CUDAMEDIAN_ROW       isOutlier)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    // A distance that is no number is not above 0.
    const T    value = own[i];
    const bool isApart =
      std::is_floating_point_v<T> ? std::fabs(static_cast<double>(value - medians[i])) > 0 : value != medians[i];
    isOutlier[i] = value != value || (isApart && near[i] > valid[i] / 2) ? 1 : 0;
  }
}

void
FindOutliersOfAny(const ValueKind &    kind,
                  const void *         own,
                  const void *         medians,
                  const std::int32_t * near,
                  const std::int32_t * valid,
                  std::size_t          count,
                  std::uint8_t *       isOutlier)
{
  DispatchValues(kind, [&](auto value, auto) HWY_ATTR {
    using Value = decltype(value);
    FindOutliers(static_cast<const Value *>(own), static_cast<const Value *>(medians), near, valid, count, isOutlier);
  });
}

const MaskRows &
GetRows()
{
  static constexpr MaskRows rows{ MarkAny,       PassAny,       ClearAny,       FillAny,          ReplaceAny,
                                  AddAny,        SlideAny,      RankAny,        CountInBytes,     FindZerosOfAny,
                                  KeepNearOfAny, FindNearOfAny, CountNearOfAny, KeepInliersOfAny, FindOutliersOfAny };
  return rows;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#  undef CUDAMEDIAN_ROW
#  undef CUDAMEDIAN_APART
#endif
