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
#ifndef ExtremumLine_h
#define ExtremumLine_h

#include "ExtremumArguments.h"
#include "ExtremumPacks.h"

namespace cudamedian
{

/** A warp and a part of a row, whose windows lie along axis 0. The keys are staged; a lane finds the extremes of
 * outputs that follow each other.
 *
 * It first takes words as they are: extremes of keys that lie words apart. Those of neighbouring keys come last. */
template <typename TPixelBits, KeyMapping VMapping>
class ExtremumLine
{
public:
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  static constexpr int Keys = Words::Keys;
  static constexpr int Count = static_cast<int>(16 / sizeof(Word)); ///< words of a vector
  using Packs = ExtremumPacks<TPixelBits, VMapping, Count>;
  using Pack = typename Packs::Pack;
  static constexpr int Lanes = extremumLanes;
  static constexpr int ResidentBlocks = 1; ///< for which a multiprocessor has registers, at least
  static constexpr int More = GetExtremumLineMore(static_cast<int>(sizeof(TPixelBits)));

  CUDAMEDIAN_HOST_DEVICE
  ExtremumLine(const ExtremumArguments & arguments, std::int64_t item, Pack * shared)
    : m_Arguments(arguments)
    , m_Packs(arguments.slab, arguments.isLast != 0)
    , m_Shared(shared)
  {
    const auto & slab = arguments.slab;
    const auto & shape = arguments.shape;
    m_Column = slab.gridOrigin + static_cast<int>(item % arguments.strips) * Lanes * shape.laneWords * Keys;
    auto         row = item / arguments.strips;
    std::int64_t offset = 0;
    std::int64_t outputOffset = m_Column - slab.gridOrigin;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const int place = static_cast<int>(row % slab.outputExtent[axis]);
      row /= slab.outputExtent[axis];
      offset += (place + slab.outputOrigin[axis]) * slab.inputPitch[axis];
      outputOffset += place * slab.outputPitch[axis];
    }
    m_Row = static_cast<const TPixelBits *>(slab.input) + offset;
    m_Output = static_cast<TPixelBits *>(slab.output) + outputOffset;
    const int first = m_Column - shape.before[0];
    const int below = (first % Packs::Pixels + Packs::Pixels) % Packs::Pixels;
    m_First = first - below;
    m_Words = below / Keys;
    m_Keys = below % Keys;
  }

  /** What a lane keeps between the steps: nothing. */
  struct Lane
  {};

  /** All of a row's part. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  Run(TWarp & warp) const
  {
    warp.ForEach([&](int index, Lane &) { Stage(index); });
    warp.Synchronize();
    warp.ForEach([&](int index, Lane &) { Reduce(index); });
    warp.Synchronize();
    warp.ForEach([&](int index, Lane &) { Store(index); });
  }

private:
  CUDAMEDIAN_HOST_DEVICE void
  Stage(int index) const
  {
    const int extent = m_Arguments.slab.inputExtent[0];
    CUDAMEDIAN_UNROLL_4
    for (int i = index; i < m_Arguments.shape.staged; i += Lanes)
    {
      const int column = m_First + i * Packs::Pixels;
      m_Shared[i] = m_Packs.ToKeys(column < 0 || column >= extent ? m_Packs.GetNeutralPixels()
                                                                  : m_Packs.Load(m_Row + column, extent - column));
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  Reduce(int index) const
  {
    const int          run = m_Arguments.shape.laneWords;
    const int          window = m_Arguments.shape.size[0] / Keys;
    const Word * const words = reinterpret_cast<const Word *>(m_Shared) + m_Words + index * run;
    Word * const       kept = reinterpret_cast<Word *>(m_Shared + m_Arguments.shape.staged) + index * run;
    // From the last word of the first window to the first.
    Held least = Words::Hold(words[window - 1]);
    CUDAMEDIAN_UNROLL_4
    for (int i = window - 2; i >= run + More; --i)
    {
      least = Words::Min(least, Words::Hold(words[i]));
    }
    Held more[More + 1];
    CUDAMEDIAN_UNROLL
    for (int i = More - 1; i >= 0; --i)
    {
      least = Words::Min(least, Words::Hold(words[run + i]));
      more[i] = least;
    }
    CUDAMEDIAN_UNROLL_4
    for (int i = run - 1; i >= 0; --i)
    {
      least = Words::Min(least, Words::Hold(words[i]));
      kept[i] = Words::Join(least);
    }
    Tail tail{ {}, {}, {}, Words::Hold(Packs::GetNeutral()) };
    CUDAMEDIAN_UNROLL_4
    for (int i = 0; i < run; ++i)
    {
      Add(tail, Words::Hold(kept[i]), words[window + i], i, kept);
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < More; ++i)
    {
      Add(tail, more[i], words[window + run + i], run + i, kept);
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  Store(int index) const
  {
    const auto &       slab = m_Arguments.slab;
    const Pack * const kept = m_Shared + m_Arguments.shape.staged;
    const int          first = slab.outputOrigin[0] - m_Column;
    for (int i = index; i < Lanes * m_Arguments.shape.laneWords / Count; i += Lanes)
    {
      const int before = first - i * Packs::Pixels;
      m_Packs.Store(m_Output + i * Packs::Pixels, kept[i], before, before + slab.outputExtent[0]);
    }
  }

  /** What the next outputs of a lane need of the last. */
  struct Tail
  {
    Held whole; ///< extremes of words
    Word first; ///< extremes of neighbouring keys, of two words
    Word second;
    Held behind; ///< of what is behind the first window
  };

  CUDAMEDIAN_HOST_DEVICE void
  Add(Tail & tail, const Held & least, Word next, int number, Word * kept) const
  {
    const auto whole = Words::Min(least, tail.behind);
    tail.behind = Words::Min(tail.behind, Words::Hold(next));
    if constexpr (Keys == 1)
    {
      kept[number] = Words::Join(whole);
    }
    else
    {
      auto near = Words::Min(tail.whole, Words::template ShiftHeld<1>(tail.whole, whole));
      if constexpr (Keys == 4)
      {
        near = Words::Min(
          near,
          Words::Min(Words::template ShiftHeld<2>(tail.whole, whole), Words::template ShiftHeld<3>(tail.whole, whole)));
      }
      const Word third = Words::Join(near);
      if (number >= More)
      {
        const int  last = m_Keys + m_Arguments.shape.size[0] % Keys;
        const Word from = Words::Shift(tail.first, tail.second, m_Keys);
        const Word to =
          last < Keys ? Words::Shift(tail.first, tail.second, last) : Words::Shift(tail.second, third, last - Keys);
        kept[number - More] = Words::Join(Words::Min(Words::Hold(from), Words::Hold(to)));
      }
      tail.whole = whole;
      tail.first = tail.second;
      tail.second = third;
    }
  }

  const ExtremumArguments & m_Arguments;
  Packs                     m_Packs;
  Pack *                    m_Shared;
  const TPixelBits *        m_Row;
  TPixelBits *              m_Output;
  int                       m_Column; ///< of the first output
  int                       m_First;  ///< column that is staged first
  int                       m_Words;  ///< words and keys of what is staged before the first window
  int                       m_Keys;
};

} // namespace cudamedian

#endif
