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
#ifndef ExtremumAcross_h
#define ExtremumAcross_h

#include "ExtremumPacks.h"

namespace cudamedian
{

/** Extremes along axis 0 of windows whose size the compiler knows, an odd one with as many pixels before an output as
 * behind it, in the registers of a warp.
 *
 * The lanes own neighbouring vectors of a row. Windows of 3 and 5 keys are made of what lies next to an output. Longer
 * ones: a lane finds the extremes of as many neighbouring keys as a word has, from each of its keys on. It gets those
 * of its neighbours, makes longer pieces of them a word at a time, and a window of two or three pieces, which overlap.
 * \tparam VWindow its keys; 0 where the compiler does not know */
template <typename TPacks, int VWindow>
class ExtremumAcross
{
public:
  using Words = typename TPacks::Words;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  using Vector = typename TPacks::Vector;
  static constexpr int  Keys = Words::Keys;
  static constexpr int  Count = TPacks::Pixels / Keys; ///< words of a vector
  static constexpr int  Reach = VWindow / 2;
  static constexpr bool IsFew = Keys > 1 && VWindow <= 5;
  /** Words of a piece: so few that three pieces are enough. */
  static constexpr int PieceWords = (VWindow + 3 * Keys - 1) / (3 * Keys);
  static constexpr int PieceKeys = PieceWords * Keys;
  /** Words before a lane's vector and behind it that its windows begin in and end with. */
  static constexpr int Before = (Reach + Keys - 1) / Keys;
  static constexpr int LastWords = (Reach + 1 - PieceKeys + Keys - 1) / Keys;
  /** Whether a lane makes its own pieces, and gives those. */
  static constexpr bool IsJoined = Keys > 1 && Before <= Count;
  static constexpr int  Behind = IsFew ? 1 : IsJoined ? LastWords : LastWords + PieceWords - 1;
  static_assert(VWindow % 2 == 1 && (Before <= 2 * Count || Keys == 1), "two lanes ask for a word before the image");
  /** Whether windows are so long, in words of one key, that they have the extremes of whole vectors: so many on either
   * side, and so many words of the next vector at most. */
  static constexpr bool HasVectors = Keys == 1 && Reach > Count;
  static constexpr int  Vectors = (Reach - Count + 1) / Count;
  static constexpr int  MostWords = Reach - Vectors * Count;
  static constexpr int  NearWords = MostWords < Count ? MostWords : Count;
  static constexpr int  FarWords = MostWords - NearWords;

  /** What a lane gives to others and gets. */
  struct State
  {
    Word given[Count];
    Word before[Before];
    Word behind[Behind > 0 ? Behind : 1];
    Word next[PieceWords]; ///< the next lane's first words, or what is in the last one before the image
    Word begun[Before];    ///< what is in words before the image
    Held first;            ///< the lane's first word
    Word sums[2][Count];   ///< extremes of its last words, and of its first ones
    Word totals[2][Vectors > 0 ? Vectors : 1];
    Word near[2][NearWords > 0 ? NearWords : 1];
    Word far[2][FarWords > 0 ? FarWords : 1];
  };

  /** Replaces rows by their windows' extremes. Lanes beyond the warp have keys that are never less than others.
   * \tparam VHasEnds whether the image begins before the warp's last lane, or ends behind its first; elsewhere what
   * lanes around the outputs find is of no use
   * \param begins whether the warp's first lane is the image's first one
   * \param row    row(lane) is its vector; the lane's member `across` is a State */
  template <bool VHasEnds = true, typename TWarp, typename TRow>
  static CUDAMEDIAN_HOST_DEVICE void
  Reduce(TWarp & warp, bool begins, const TRow & row)
  {
    if constexpr (IsFew)
    {
      warp.ForEach([&](int, auto & lane) {
        lane.across.given[0] = Words::Join(row(lane).held[0]);
        lane.across.given[Count - 1] = Words::Join(row(lane).held[Count - 1]);
      });
      FetchSides<VHasEnds>(warp);
      warp.ForEach([&](int, auto & lane) { FindFew(lane.across, row(lane)); });
    }
    else if constexpr (HasVectors)
    {
      ReduceVectors<VHasEnds>(warp, row);
    }
    else
    {
      if constexpr (Keys > 1)
      {
        FindPieces<VHasEnds>(warp, row);
      }
      if constexpr (IsJoined)
      {
        JoinPieces<VHasEnds>(warp, begins, row);
      }
      warp.ForEach([&](int, auto & lane) {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Count; ++i)
        {
          lane.across.given[i] = Words::Join(row(lane).held[i]);
        }
      });
      FetchSides<VHasEnds>(warp);
      if constexpr (Keys > 1)
      {
        if (VHasEnds && begins)
        {
          BeginImage(warp);
        }
      }
      warp.ForEach([&](int, auto & lane) { row(lane) = FindWindows(lane.across, row(lane)); });
    }
  }

private:
  /** Gets the words on both sides, of one lane after the other. */
  template <bool VHasEnds, int VDistance = 1, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  FetchSides(TWarp & warp)
  {
    constexpr int had = (VDistance - 1) * Count;
    if constexpr (had < Before)
    {
      constexpr int words = Before - had < Count ? Before - had : Count;
      warp.template Fetch<words, VHasEnds>(
        -VDistance,
        [](auto & lane) -> Word * { return lane.across.given + (Count - words); },
        [](auto & lane) -> Word * { return lane.across.before + (Before - had - words); });
    }
    if constexpr (had < Behind)
    {
      constexpr int words = Behind - had < Count ? Behind - had : Count;
      warp.template Fetch<words, VHasEnds>(
        VDistance,
        [](auto & lane) -> Word * { return lane.across.given; },
        [](auto & lane) -> Word * { return lane.across.behind + had; });
    }
    if constexpr (had + Count < (Before > Behind ? Before : Behind))
    {
      FetchSides<VHasEnds, VDistance + 1>(warp);
    }
  }

  /** Replaces rows by the extremes of as many keys as a word has. */
  template <bool VHasEnds, typename TWarp, typename TRow>
  static CUDAMEDIAN_HOST_DEVICE void
  FindPieces(TWarp & warp, const TRow & row)
  {
    warp.ForEach([&](int, auto & lane) { lane.across.given[0] = Words::Join(row(lane).held[0]); });
    warp.template Fetch<1, VHasEnds>(
      1,
      [](auto & lane) -> Word * { return lane.across.given; },
      [](auto & lane) -> Word * { return lane.across.next; });
    warp.ForEach([&](int, auto & lane) {
      auto & held = row(lane).held;
      lane.across.first = held[0];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        held[i] = Words::FindPiece(held[i], i + 1 < Count ? held[i + 1] : Words::Hold(lane.across.next[0]));
      }
    });
  }

  /** Makes longer pieces. Those that begin before the image go on in its first words, but no lane has them. */
  template <bool VHasEnds, typename TWarp, typename TRow>
  static CUDAMEDIAN_HOST_DEVICE void
  JoinPieces(TWarp & warp, bool begins, const TRow & row)
  {
    if (VHasEnds && begins)
    {
      warp.ForEach([&](int index, auto & lane) {
        if (index == 0)
        {
          Held pieces[Before + PieceWords - 1];
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Before + PieceWords - 1; ++i)
          {
            pieces[i] = i < Before ? Words::Hold(TPacks::GetNeutral()) : row(lane).held[i < Before ? 0 : i - Before];
          }
          pieces[Before - 1] = Words::FindPiece(Words::Hold(TPacks::GetNeutral()), lane.across.first);
          ReduceFew<Words, PieceWords>(pieces);
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Before; ++i)
          {
            lane.across.begun[i] = Words::Join(pieces[i]);
          }
        }
      });
    }
    if constexpr (PieceWords > 1)
    {
      warp.ForEach([&](int, auto & lane) {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < PieceWords - 1; ++i)
        {
          lane.across.given[i] = Words::Join(row(lane).held[i]);
        }
      });
      warp.template Fetch<PieceWords - 1, VHasEnds>(
        1,
        [](auto & lane) -> Word * { return lane.across.given; },
        [](auto & lane) -> Word * { return lane.across.next; });
      warp.ForEach([&](int, auto & lane) {
        Held pieces[Count + PieceWords - 1];
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Count + PieceWords - 1; ++i)
        {
          pieces[i] =
            i < Count ? row(lane).held[i < Count ? i : 0] : Words::Hold(lane.across.next[i < Count ? 0 : i - Count]);
        }
        ReduceFew<Words, PieceWords>(pieces);
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Count; ++i)
        {
          row(lane).held[i] = pieces[i];
        }
      });
    }
  }

  /** Pieces that begin in the last word before the image go on in its first. No lane has that word. */
  template <typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  BeginImage(TWarp & warp)
  {
    if constexpr (IsJoined)
    {
      warp.ForEach([&](int index, auto & lane) {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Before; ++i)
        {
          lane.across.before[i] = index == 0 ? lane.across.begun[i] : lane.across.before[i];
        }
      });
      return;
    }
    warp.ForEach([&](int index, auto & lane) {
      if (index == 0)
      {
        const auto piece = Words::FindPiece(Words::Hold(TPacks::GetNeutral()), lane.across.first);
        lane.across.before[Before - 1] = Words::Join(piece);
      }
    });
    if constexpr (Before > Count)
    {
      warp.ForEach([&](int, auto & lane) { lane.across.given[0] = lane.across.before[Before - 1]; });
      warp.template Fetch<1>(
        -1,
        [](auto & lane) -> Word * { return lane.across.given; },
        [](auto & lane) -> Word * { return lane.across.next; });
      warp.ForEach([&](int index, auto & lane) {
        if (index == 1)
        {
          lane.across.before[Before - 1 - Count] = lane.across.next[0];
        }
      });
    }
  }

  /** Windows of words of one key, from the extremes of whole vectors and of the words that are left at both ends, as
   * van Herk (1992) and Gil and Werman (1993) have them: the blocks are the lanes' vectors. */
  template <bool VHasEnds, typename TWarp, typename TRow>
  static CUDAMEDIAN_HOST_DEVICE void
  ReduceVectors(TWarp & warp, const TRow & row)
  {
    warp.ForEach([&](int, auto & lane) {
      const auto & held = row(lane).held;
      Held         last = held[Count - 1];
      Held         first = held[0];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        last = i > 0 ? Words::Min(last, held[Count - 1 - i]) : last;
        first = i > 0 ? Words::Min(first, held[i]) : first;
        lane.across.sums[0][i] = Words::Join(last);
        lane.across.sums[1][i] = Words::Join(first);
      }
    });
    FetchTotals<VHasEnds>(warp);
    FetchEnds<VHasEnds, 0>(warp);
    FetchEnds<VHasEnds, 1>(warp);
    warp.ForEach([&](int, auto & lane) {
      const auto & state = lane.across;
      Held         core = Words::Hold(state.sums[0][Count - 1]);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Vectors; ++i)
      {
        core = Words::Min(core, Words::Hold(state.totals[0][i]), Words::Hold(state.totals[1][i]));
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        row(lane).held[i] = TakeWords(TakeWords(core, state.near[0], state.far[0], MostWords - i),
                                      state.near[1],
                                      state.far[1],
                                      MostWords - (Count - 1 - i));
      }
    });
  }

  template <bool VHasEnds, int VDistance = 1, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  FetchTotals(TWarp & warp)
  {
    if constexpr (VDistance <= Vectors)
    {
      warp.template Fetch<1, VHasEnds>(
        -VDistance,
        [](auto & lane) -> Word * { return lane.across.sums[0] + (Count - 1); },
        [](auto & lane) -> Word * { return lane.across.totals[0] + (VDistance - 1); });
      warp.template Fetch<1, VHasEnds>(
        VDistance,
        [](auto & lane) -> Word * { return lane.across.sums[0] + (Count - 1); },
        [](auto & lane) -> Word * { return lane.across.totals[1] + (VDistance - 1); });
      FetchTotals<VHasEnds, VDistance + 1>(warp);
    }
  }

  /** Gets what is left at one end. */
  template <bool VHasEnds, int VEnd, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  FetchEnds(TWarp & warp)
  {
    constexpr int distance = VEnd == 0 ? -(Vectors + 1) : Vectors + 1;
    // No output needs fewer words than the last one does.
    constexpr int fewest = MostWords - Count + 1 > 1 ? MostWords - Count + 1 : 1;
    warp.template Fetch<NearWords - fewest + 1, VHasEnds>(
      distance,
      [](auto & lane) -> Word * { return lane.across.sums[VEnd] + (fewest - 1); },
      [](auto & lane) -> Word * { return lane.across.near[VEnd] + (fewest - 1); });
    if constexpr (FarWords > 0)
    {
      warp.template Fetch<FarWords, VHasEnds>(
        VEnd == 0 ? distance - 1 : distance + 1,
        [](auto & lane) -> Word * { return lane.across.sums[VEnd]; },
        [](auto & lane) -> Word * { return lane.across.far[VEnd]; });
    }
  }

  /** The least of what was found and of so many words at one end. */
  static CUDAMEDIAN_HOST_DEVICE Held
  TakeWords(const Held & found, const Word * near, const Word * far, int words)
  {
    return words <= 0       ? found
           : words <= Count ? Words::Min(found, Words::Hold(near[words - 1]))
                            : Words::Min(found, Words::Hold(near[Count - 1]), Words::Hold(far[words - Count - 1]));
  }

  /** Windows of 3 or 5 keys. */
  static CUDAMEDIAN_HOST_DEVICE void
  FindFew(const State & state, Vector & row)
  {
    Held held[Count + 2];
    held[0] = Words::Hold(state.before[0]);
    held[Count + 1] = Words::Hold(state.behind[0]);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      held[i + 1] = row.held[i];
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      row.held[i] = Words::template FindNear<VWindow>(held[i], held[i + 1], held[i + 2]);
    }
  }

  /** Windows of a lane's vector from pieces, its own and its neighbours'. */
  static CUDAMEDIAN_HOST_DEVICE Vector
  FindWindows(const State & state, const Vector & row)
  {
    // Shifts look at one word more, but take nothing of it that counts.
    Held pieces[Before + Count + Behind + 1];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Before; ++i)
    {
      pieces[i] = Words::Hold(state.before[i]);
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      pieces[Before + i] = row.held[i];
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Behind; ++i)
    {
      pieces[Before + Count + i] = Words::Hold(state.behind[i]);
    }
    pieces[Before + Count + Behind] = Words::Hold(TPacks::GetNeutral());
    if constexpr (!IsJoined)
    {
      ReduceFew<Words, PieceWords>(pieces);
    }
    Vector windows;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      const auto first = Take<-Reach>(pieces, i);
      const auto last = Take<Reach + 1 - PieceKeys>(pieces, i);
      if constexpr (2 * PieceKeys >= VWindow)
      {
        windows.held[i] = Words::Min(first, last);
      }
      else
      {
        windows.held[i] = Words::Min(first, Take<PieceKeys - Reach>(pieces, i), last);
      }
    }
    return windows;
  }

  /** What begins so many keys behind those of a word. */
  template <int VKeys>
  static CUDAMEDIAN_HOST_DEVICE Held
  Take(const Held * pieces, int word)
  {
    constexpr int key = (VKeys % Keys + Keys) % Keys;
    constexpr int whole = (VKeys - key) / Keys;
    if constexpr (Keys == 1)
    {
      return pieces[Before + word + whole];
    }
    else
    {
      const Held * const held = pieces + Before + word + whole;
      return Words::template ShiftHeld<key>(held[0], held[key > 0 ? 1 : 0]);
    }
  }
};

/** Nothing is known. */
template <typename TPacks>
class ExtremumAcross<TPacks, 0>
{
public:
  struct State
  {};
};

} // namespace cudamedian

#endif
