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
#ifndef RowBodies_h
#define RowBodies_h

#include "FillBodies.h"
#include "MarkBodies.h"

namespace cudamedian
{

/** The lanes that prepare a row: a single one, as the host's tests have it. Each lane has every `count`-th column. */
struct SingleLane
{
  static constexpr int number = 0;
  static constexpr int count = 1;

  /** Whether it is the greatest key's turn where a lane's word begins. Each lane calls this at once.
   * \param isOdd whether the word has an odd number of flags
   * \param turn  all bits of whose turn it is before the words of all lanes; behind them afterwards */
  static std::uint32_t
  TakeTurn(bool isOdd, std::uint32_t & turn)
  {
    const auto own = turn;
    turn ^= isOdd ? ~0U : 0U;
    return own;
  }

  /** Waits until all lanes see what each has stored. */
  static void
  Synchronize()
  {}
};

#ifdef __CUDACC__
/** Lanes of a warp, as many as a power of two, that begin at a multiple of it. */
struct WarpLanes
{
  int number;
  int count;

  __device__ std::uint32_t
             TakeTurn(bool isOdd, std::uint32_t & turn) const
  {
    const auto odd = (__ballot_sync(GetMask(), isOdd) & GetMask()) >> GetFirst();
    const auto before = odd & ((1U << number) - 1);
    const auto own = turn ^ (0U - (static_cast<std::uint32_t>(__popc(before)) & 1U));
    turn ^= 0U - (static_cast<std::uint32_t>(__popc(odd)) & 1U);
    return own;
  }

  __device__ void
  Synchronize() const
  {
    __syncwarp(GetMask());
  }

private:
  /** The first of them in its warp. Threads of a block are numbered along axis 0, which has `count` of them. */
  __device__ unsigned int
  GetFirst() const
  {
    return threadIdx.y * static_cast<unsigned int>(count) % 32;
  }

  __device__ unsigned int
  GetMask() const
  {
    return (count == 32 ? ~0U : (1U << count) - 1) << GetFirst();
  }
};
#endif

/** Finds the pixels of a row that are not valid and whose turn it is where, and copies the row by that: what MarkBody,
 * TurnBody and FillBody do along axis 0, in one pass over the image and its mask. */
template <typename TBits>
struct RowBody
{
  static constexpr int threadsOfBlock = 256;

  CUDAMEDIAN_HOST_DEVICE explicit RowBody(const RowsArguments & given)
    : marks(given.marks)
    , filling(given.filling)
    , turns(given.turns)
  {}

  /** Of rows, in words of flags. */
  std::int64_t
  GetWidth() const
  {
    return marks.GetWidth();
  }

  std::int64_t
  GetHeight() const
  {
    return marks.GetHeight();
  }

  std::int64_t
  CountSlices() const
  {
    return marks.CountSlices();
  }

  template <typename TLanes>
  CUDAMEDIAN_HOST_DEVICE void
  operator()(const TLanes & lanes, std::int64_t y, std::int64_t slice) const
  {
    MarkRow(lanes, y, slice);
    lanes.Synchronize();
    const auto row = filling.GetRow(y, slice);
    for (std::int64_t x = lanes.number; x < filling.arguments.stride[1] / FillBody<TBits>::atOnce; x += lanes.count)
    {
      filling(row, x);
    }
  }

private:
  template <typename TLanes>
  CUDAMEDIAN_HOST_DEVICE void
  MarkRow(const TLanes & lanes, std::int64_t y, std::int64_t slice) const
  {
    const auto row = marks.GetRow(y, slice);
    const auto words = marks.arguments.invalid.stride[1];
    auto * turnsOfRow = turns.words == nullptr ? nullptr : turns.words + (row.words - marks.arguments.invalid.words);
    auto   turn = GetFirstTurn(y, slice);
    for (std::int64_t first = 0; first < words; first += lanes.count)
    {
      const auto x = first + lanes.number;
      const auto word = x < words ? marks.FindWord(row, x) : 0U;
      const auto odd = CountOdd(word);
      const auto own = lanes.TakeTurn((odd >> (bitsOfWord - 1)) != 0, turn);
      if (x < words)
      {
        row.words[x] = word;
        if (turnsOfRow != nullptr)
        {
          turnsOfRow[x] = own ^ (odd << 1);
        }
      }
    }
  }

  /** Of rows next to each other one starts with either key. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetFirstTurn(std::int64_t y, std::int64_t slice) const
  {
    const RowPlace place(marks.arguments.extent, y, slice);
    const auto     sum = place.place[1] + place.place[2] + place.place[3];
    return 0U - (static_cast<std::uint32_t>(sum) & 1U);
  }

  MarkBody<TBits> marks;
  FillBody<TBits> filling;
  Flags           turns;
};

/** Calls launch(body) with the body of pixels as wide as these. */
template <typename TLaunch>
auto
DispatchRows(const RowsArguments & arguments, const TLaunch & launch)
{
  return DispatchBytes(PixelBytes(arguments.marks.pixelType),
                       [&](auto bits) { return launch(RowBody<decltype(bits)>(arguments)); });
}

} // namespace cudamedian

#endif
