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
#ifndef ExtremumSides_h
#define ExtremumSides_h

#include "DivideUp.h"
#include "PixelKey.h"

namespace cudamedian
{

/** What a lane keeps of rows whose extremes along axis 0 are found: of the windows' parts behind each pixel, and of
 * those before it.
 *
 * Extremes of so many pixels make those of twice as many: each lane takes what it has not from its neighbours. Beyond
 * the first and the last lane keys are neutral: there the image ends, or nobody uses what comes out. */
template <typename TPacks, int VCount, int VRows>
class ExtremumSides
{
public:
  using Words = typename TPacks::Words;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  using Vector = typename TPacks::Vector;
  static constexpr int Count = VCount; ///< words of a vector
  static constexpr int Rows = VRows;
  static constexpr int Keys = Words::Keys;
  static constexpr int Pixels = TPacks::Pixels;

  Vector rows[Rows][2]; ///< behind and before

  /** From single pixels on to those of such lengths, the pixel itself in both. The lanes' member `sides` is one of
   * these.
   */
  template <typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  Reduce(TWarp & warp, int behind, int before)
  {
    const int shorter = behind < before ? behind : before;
    int       reached = 1;
    Double<1>(warp, shorter, reached);
    CUDAMEDIAN_KEEP_LOOP
    for (; reached >= Pixels && 2 * reached <= shorter; reached *= 2)
    {
      StepLanes<true, true>(warp, reached / Pixels);
    }
    if (behind == before)
    {
      Finish<true, true>(warp, behind, reached);
      return;
    }
    Finish<true, false>(warp, behind, reached);
    Finish<false, true>(warp, before, reached);
  }

  /** The same for windows that reach before a pixel no further than one pixel more than behind it: what is before a
   * pixel is behind another. Lanes whose windows begin before the first lane get nothing of use. */
  template <typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  ReduceBehind(TWarp & warp, int behind, int before)
  {
    int reached = 1;
    DoubleBehind<1>(warp, behind, reached);
    Finish<true, false>(warp, behind, reached);
    // Words from one on, of a lane before and the next.
    const int vectors = DivideUp(before, Pixels);
    const int place = vectors * Pixels - before;
    const int rotated = place / Keys;
    warp.ForEach([&](int, auto & lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows; ++i)
      {
        const auto pack = Rotate(TPacks::Join(lane.sides.rows[i][0]), rotated);
        CUDAMEDIAN_UNROLL
        for (int word = 0; word < Count; ++word)
        {
          lane.sides.given[i][0][word] = pack.words[word];
        }
      }
    });
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Rows; ++i)
    {
      warp.FetchRotated(
        -vectors,
        rotated,
        [=](auto & lane) -> auto & { return lane.sides.given[i][0]; },
        [=](auto & lane) -> auto & { return lane.sides.shifted[i]; });
    }
    warp.ForEach([&](int, auto & lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows; ++i)
      {
        CUDAMEDIAN_UNROLL
        for (int word = 0; word < Count; ++word)
        {
          const auto & words = lane.sides.shifted[i];
          lane.sides.rows[i][1].held[word] =
            Words::Hold(Keys == 1 ? words[word] : Words::Shift(words[word], words[word + 1], place % Keys));
        }
      }
    });
  }

private:
  /** The word with such a number first, and those before it last. */
  static CUDAMEDIAN_HOST_DEVICE typename TPacks::Pack
  Rotate(typename TPacks::Pack pack, int words)
  {
    CUDAMEDIAN_UNROLL
    for (int step = Count / 2; step > 0; step /= 2)
    {
      typename TPacks::Pack turned;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        turned.words[i] = pack.words[(i + step) % Count];
      }
      if ((words & step) != 0)
      {
        pack = turned;
      }
    }
    return pack;
  }

  template <int VStep, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  DoubleBehind(TWarp & warp, int length, int & reached)
  {
    if constexpr (VStep < Pixels)
    {
      if (length >= 2 * VStep)
      {
        Step<VStep, true, false>(warp);
        reached = 2 * VStep;
        DoubleBehind<2 * VStep>(warp, length, reached);
      }
    }
  }

  template <int VStep, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  Double(TWarp & warp, int length, int & reached)
  {
    if constexpr (VStep < Pixels)
    {
      if (length >= 2 * VStep)
      {
        Step<VStep, true, true>(warp);
        reached = 2 * VStep;
        Double<2 * VStep>(warp, length, reached);
      }
    }
  }

  /** The rest of the way to a length. No step is longer than what is reached, a power of two. */
  template <bool VBehind, bool VBefore, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  Finish(TWarp & warp, int length, int reached)
  {
    CUDAMEDIAN_KEEP_LOOP
    while (reached < length)
    {
      const int step = reached < length - reached ? reached : length - reached;
      if (step >= Pixels)
      {
        StepLanes<VBehind, VBefore>(warp, step / Pixels);
      }
      FinishBy<Pixels / 2, VBehind, VBefore>(warp, step % Pixels);
      reached += step;
    }
  }

  /** Steps that add up to one of less than a vector. */
  template <int VStep, bool VBehind, bool VBefore, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  FinishBy(TWarp & warp, int rest)
  {
    if constexpr (VStep > 0)
    {
      if ((rest & VStep) != 0)
      {
        Step<VStep, VBehind, VBefore>(warp);
      }
      FinishBy<VStep / 2, VBehind, VBefore>(warp, rest);
    }
  }

  /** Takes what lies so many pixels further in the lanes' vectors and those of their neighbours, on one side or both.
   */
  template <int VStep, bool VBehind, bool VBefore, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  Step(TWarp & warp)
  {
    constexpr int words = VStep < Keys ? 1 : VStep / Keys;
    Exchange<words, VBehind, VBefore>(warp, 1);
    warp.ForEach([&](int, auto & lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows; ++i)
      {
        if (VBehind)
        {
          MinShifted<VStep, true>(lane.sides.rows[i][0], lane.sides.taken[i][0]);
        }
        if (VBefore)
        {
          MinShifted<VStep, false>(lane.sides.rows[i][1], lane.sides.taken[i][1]);
        }
      }
    });
  }

  template <int VStep, bool VIsBehind>
  static CUDAMEDIAN_HOST_DEVICE void
  MinShifted(Vector & vector, const Word * taken)
  {
    constexpr int words = VStep < Keys ? 1 : VStep / Keys;
    Held          all[Count + words];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      all[VIsBehind ? i : i + words] = vector.held[i];
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < words; ++i)
    {
      all[VIsBehind ? i + Count : i] = Words::Hold(taken[i]);
    }
    constexpr int keys = VStep >= Keys ? 0 : VIsBehind ? VStep : Keys - VStep;
    constexpr int further = VStep >= Keys && VIsBehind ? words : 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      vector.held[i] =
        Words::Min(vector.held[i], Words::template ShiftHeld<keys>(all[i + further], all[keys > 0 ? i + 1 : i]));
    }
  }

  /** Takes the vectors of lanes so far away. */
  template <bool VBehind, bool VBefore, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  StepLanes(TWarp & warp, int distance)
  {
    Exchange<Count, VBehind, VBefore>(warp, distance);
    warp.ForEach([&](int, auto & lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows; ++i)
      {
        CUDAMEDIAN_UNROLL
        for (int word = 0; word < Count; ++word)
        {
          if (VBehind)
          {
            auto & held = lane.sides.rows[i][0].held[word];
            held = Words::Min(held, Words::Hold(lane.sides.taken[i][0][word]));
          }
          if (VBefore)
          {
            auto & held = lane.sides.rows[i][1].held[word];
            held = Words::Min(held, Words::Hold(lane.sides.taken[i][1][word]));
          }
        }
      }
    });
  }

  /** Gets the first words of lanes behind, and the last ones of lanes before. */
  template <int VWords, bool VBehind, bool VBefore, typename TWarp>
  static CUDAMEDIAN_HOST_DEVICE void
  Exchange(TWarp & warp, int distance)
  {
    warp.ForEach([&](int, auto & lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows; ++i)
      {
        CUDAMEDIAN_UNROLL
        for (int word = 0; word < VWords; ++word)
        {
          lane.sides.given[i][0][word] = Words::Join(lane.sides.rows[i][0].held[word]);
          lane.sides.given[i][1][word] = Words::Join(lane.sides.rows[i][1].held[Count - VWords + word]);
        }
      }
    });
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Rows; ++i)
    {
      CUDAMEDIAN_UNROLL
      for (int side = 0; side < 2; ++side)
      {
        if (side == 0 ? VBehind : VBefore)
        {
          warp.template Fetch<VWords>(
            side == 0 ? distance : -distance,
            [=](auto & lane) -> Word * { return lane.sides.given[i][side]; },
            [=](auto & lane) -> Word * { return lane.sides.taken[i][side]; });
        }
      }
    }
  }

  Word given[Rows][2][Count];
  Word taken[Rows][2][Count];
  Word shifted[Rows][Count + 1];
};

} // namespace cudamedian

#endif
