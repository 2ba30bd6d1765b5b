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
#ifndef RankBodies_h
#define RankBodies_h

#include "FlagBodies.h"

#include <type_traits>

/** The body of the kernel that finds out of flags which rank each output has, and whose windows have no valid pixel. */
namespace cudamedian
{

/** Columns are words of 32 outputs.
 *
 * A run of a window begins where it is one key's turn, and behind it, it is one key's turn again. What the greatest
 * key's turns behind runs are more than those before them is how many more keys of the window are the least than are
 * the greatest. So the rank of a window of N values and R runs is floor((N - R + S) / 2), S being the sum of the turns
 * behind runs and of those that it is not before them; and less the least of all ranks it is half of S and of a number
 * that is the same for all.
 * \tparam VDigits in which S has room; 0: no ranks are wanted. */
template <int VDigits>
struct RankBody : PixelsOf<RankArguments>
{
  using PixelsOf<RankArguments>::PixelsOf;

  struct Row
  {
    std::int64_t    first; ///< the bit of its first output
    std::uint32_t * empty;
    std::int64_t    ranks; ///< how far those of the row lie from the first
  };

  static constexpr int columnsOfThread = 2;

  /** Ranks are written up to the next row: kernels look at those beside the rows too, and must not load memory that
   * nobody has written. */
  std::int64_t
  GetWidth() const
  {
    return (arguments.rowRanks + bitsOfWord - 1) / bitsOfWord;
  }

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    const RowPlace place(arguments.extent, y, slice);
    return { arguments.first + place.GetOffset(arguments.invalid.stride) * bitsOfWord,
             arguments.empty.words + place.GetOffset(arguments.empty.stride),
             place.GetOffset(arguments.stride) };
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const auto                              column = x * bitsOfWord;
    const auto                              inside = GetLowBits(arguments.extent[0] - column);
    DigitWords<(VDigits > 0 ? VDigits : 1)> sums{};
    std::uint32_t                           empty = 0;
    if (inside != 0 && arguments.members == nullptr && arguments.axis == 0 && arguments.window[0] <= bitsOfWord)
    {
      empty = SumRows(row.first + column, sums) & inside;
    }
    else if (inside != 0)
    {
      if constexpr (VDigits > 0)
      {
        // Before anything is stored, so that all words may be on their way at once.
        sums = SumTurns(row.first + column);
      }
      empty = FindEmpty(row.first + column) & inside;
    }
    if (inside != 0)
    {
      row.empty[x] = empty;
    }
    if constexpr (VDigits > 0)
    {
      CUDAMEDIAN_UNROLL
      for (auto & digit : sums.digits)
      {
        digit &= inside & ~empty; // windows without any valid pixel have no rank, and no other than there may be
      }
      Store(sums, row.ranks + column, arguments.rowRanks - column);
    }
  }

private:
  /** How many bits a pixel's flag lies behind another's. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetPlace(const std::int32_t (&offset)[Dimension]) const
  {
    const auto * stride = arguments.invalid.stride;
    return (offset[3] * stride[3] + offset[2] * stride[2] + offset[1] * stride[1]) * bitsOfWord + offset[0];
  }

  /** What is added to all sums. */
  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE void
  StartSums(DigitWords<VCount> & sums) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      sums.digits[i] = 0U - (static_cast<std::uint32_t>(arguments.added) >> i & 1U);
    }
  }

  /** The turns of a box's lines, which are rows of up to 32 pixels, and the flags of 32 windows that have no valid
   * pixel: a row's flags are looked at once. */
  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         SumRows(std::int64_t place, DigitWords<VCount> & sums) const
  {
    const auto    size = static_cast<unsigned int>(arguments.window[0]);
    const auto    shift = static_cast<unsigned int>(place) % bitsOfWord;
    const auto    end = shift + size;
    const bool    hasThird = end > bitsOfWord + 1; // of the words that have the flags of all windows
    const auto *  stride = arguments.invalid.stride;
    const auto    first = place >> 5;
    std::uint32_t lower = ~0U;
    std::uint32_t upper = ~0U;
    StartSums(sums);
    for (std::int64_t w = 0, volume = first; w < arguments.window[3]; ++w, volume += stride[3])
    {
      for (std::int64_t z = 0, slice = volume; z < arguments.window[2]; ++z, slice += stride[2])
      {
        const auto * invalid = arguments.invalid.words + slice;
        const auto * turns = arguments.turns.words + slice;
        CUDAMEDIAN_KEEP_LOOP
        for (auto left = arguments.window[1]; left > 0; --left, invalid += stride[1], turns += stride[1])
        {
          if constexpr (VDigits > 0)
          {
            const auto * ends = turns + end / bitsOfWord;
            sums.AddPair(ShiftWords(ends[0], ends[1], end % bitsOfWord), ~ShiftWords(turns[0], turns[1], shift));
          }
          lower &= ShiftWords(invalid[0], invalid[1], shift);
          upper &= hasThird ? ShiftWords(invalid[1], invalid[2], shift) : invalid[1] >> shift;
        }
      }
    }
    auto         columns = std::uint64_t{ upper } << bitsOfWord | lower;
    unsigned int joined = 1;
    for (; 2 * joined <= size; joined *= 2)
    {
      columns &= columns >> joined;
    }
    return static_cast<std::uint32_t>(columns & columns >> (size - joined));
  }

  CUDAMEDIAN_HOST_DEVICE DigitWords<VDigits>
                         SumTurns(std::int64_t place) const
  {
    DigitWords<VDigits> sums{};
    StartSums(sums);
    const auto * turns = arguments.turns.words;
    if (arguments.runs != nullptr)
    {
      for (std::int64_t i = 0; i < arguments.runCount; ++i)
      {
        const auto & run = arguments.runs[i];
        const auto   begin = place + GetPlace(run.offset);
        const auto   step = arguments.axis == 0 ? 1 : arguments.turns.stride[arguments.axis] * bitsOfWord;
        sums.Add(GetFlags(turns, begin + run.length * step), run.weight);
        sums.Add(~GetFlags(turns, begin), run.weight);
      }
      return sums;
    }
    const auto * stride = arguments.turns.stride;
    const auto   getCount = [this](int axis) { return axis == arguments.axis ? 1 : arguments.window[axis]; };
    for (std::int64_t w = 0; w < getCount(3); ++w)
    {
      for (std::int64_t z = 0; z < getCount(2); ++z)
      {
        for (std::int64_t y = 0; y < getCount(1); ++y)
        {
          const auto * words = turns + (place >> 5) + w * stride[3] + z * stride[2] + y * stride[1];
          AddLines(words, place & (bitsOfWord - 1), sums);
        }
      }
    }
    return sums;
  }

  /** Adds the turns at both ends of lines that begin in a row of the window. */
  CUDAMEDIAN_HOST_DEVICE void
  AddLines(const std::uint32_t * words, std::int64_t first, DigitWords<VDigits> & sums) const
  {
    const auto size = arguments.window[arguments.axis];
    if (arguments.axis == 0)
    {
      sums.AddPair(GetFlags(words, first + size), ~GetFlags(words, first));
      return;
    }
    const auto * ends = words + size * arguments.turns.stride[arguments.axis];
    auto         shift = static_cast<int>(first);
    for (auto left = arguments.window[0]; left > 0; shift = 0, ++words, ++ends)
    {
      const auto begin = JoinWords(words);
      const auto end = JoinWords(ends);
      CUDAMEDIAN_KEEP_LOOP
      for (; left > 0 && shift < bitsOfWord; --left, ++shift)
      {
        sums.AddPair(static_cast<std::uint32_t>(end >> shift), ~static_cast<std::uint32_t>(begin >> shift));
      }
    }
  }

  /** The flags of 32 windows that have no valid pixel. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindEmpty(std::int64_t place) const
  {
    std::uint32_t empty = ~0U;
    if (arguments.members != nullptr)
    {
      for (std::int64_t i = 0; i < arguments.memberCount && empty != 0; ++i)
      {
        empty &= GetFlags(arguments.invalid.words, place + GetPlace(arguments.members[i].offset));
      }
      return empty;
    }
    // The flags of whole columns first, whose words stay where they are.
    const auto * words = arguments.invalid.words + (place >> 5);
    auto         shift = static_cast<int>(place & (bitsOfWord - 1));
    for (auto left = arguments.window[0]; left > 0 && empty != 0; shift = 0, ++words)
    {
      const auto columns = JoinColumns(words);
      CUDAMEDIAN_KEEP_LOOP
      for (; left > 0 && shift < bitsOfWord; --left, ++shift)
      {
        empty &= static_cast<std::uint32_t>(columns >> shift);
      }
    }
    return empty;
  }

  /** The flags of two words that are set in all rows of a window. */
  CUDAMEDIAN_HOST_DEVICE std::uint64_t
                         JoinColumns(const std::uint32_t * words) const
  {
    const auto *  stride = arguments.invalid.stride;
    std::uint64_t joined = ~std::uint64_t{ 0 };
    for (std::int64_t w = 0; w < arguments.window[3] && joined != 0; ++w)
    {
      for (std::int64_t z = 0; z < arguments.window[2] && joined != 0; ++z)
      {
        const auto * row = words + w * stride[3] + z * stride[2];
        for (auto left = arguments.window[1]; left > 0 && joined != 0; --left, row += stride[1])
        {
          joined &= JoinWords(row);
        }
      }
    }
    return joined;
  }

  /** Writes half of each number, for up to 32 outputs. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(const DigitWords<VDigits> & sums, std::int64_t offset, std::int64_t count) const
  {
    if (arguments.rankBytes != 1)
    {
      StoreSingly(sums, static_cast<std::int32_t *>(arguments.ranks) + offset, count);
      return;
    }
    auto * ranks = static_cast<std::uint8_t *>(arguments.ranks) + offset;
    if constexpr (VDigits <= 8)
    {
      if (count >= bitsOfWord && GetVectorShift(ranks) == 0)
      {
        StoreVectors(sums, ranks);
        return;
      }
    }
    StoreSingly(sums, ranks, count);
  }

  static CUDAMEDIAN_HOST_DEVICE void
  StoreVectors(const DigitWords<VDigits> & sums, std::uint8_t * ranks)
  {
    CUDAMEDIAN_UNROLL
    for (int some = 0; some < bitsOfWord; some += 16)
    {
      Vector bytes{};
      CUDAMEDIAN_UNROLL
      for (int digit = 1; digit < VDigits; ++digit)
      {
        const auto flags = sums.digits[digit] >> some;
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Vector::count; ++i)
        {
          bytes.words[i] += SpreadBits(flags >> (4 * i)) << (digit - 1);
        }
      }
      *reinterpret_cast<Vector *>(ranks + some) = bytes;
    }
  }

  template <typename TRank>
  CUDAMEDIAN_HOST_DEVICE void
  StoreSingly(const DigitWords<VDigits> & sums, TRank * ranks, std::int64_t count) const
  {
    CUDAMEDIAN_KEEP_LOOP
    for (int i = 0; i < bitsOfWord && i < count; ++i)
    {
      std::uint32_t rank = 0;
      CUDAMEDIAN_UNROLL
      for (int digit = 1; digit < VDigits; ++digit)
      {
        rank |= (sums.digits[digit] >> i & 1U) << (digit - 1);
      }
      ranks[i] = static_cast<TRank>(rank);
    }
  }
};

/** Calls launch(body) with what these arguments ask for. */
template <typename TLaunch>
auto
DispatchRanks(const RankArguments & arguments, const TLaunch & launch)
{
  switch (arguments.ranks == nullptr ? 0 : arguments.digits)
  {
    case 0:
      return launch(RankBody<0>(arguments));
    case 4:
      return launch(RankBody<4>(arguments));
    case 8:
      return launch(RankBody<8>(arguments));
    default:
      return launch(RankBody<32>(arguments));
  }
}

} // namespace cudamedian

#endif
