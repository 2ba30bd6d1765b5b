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
#ifndef ExtremumTile_h
#define ExtremumTile_h

#include "ExtremumAcross.h"
#include "ExtremumArguments.h"

namespace cudamedian
{

/** A warp: its lanes own neighbouring vectors of columns, and VRows rows of outputs.
 *
 * A lane first finds the extremes of its columns' windows: all rows share what their windows have in common. Rows that
 * other warps read too come from the nearest cache, so the warps of a block lie one below the other. Then it shares
 * each row with the other lanes, as words of the extremes of so many neighbouring keys as a word has: a window along
 * axis 0 is made of the words within it and of two more at its ends, which may begin at any key. Windows of sizes that
 * the compiler knows stay in registers (ExtremumAcross.h); of tiles of many rows one row at a time does.
 *
 * Windows of 3 to 9 pixels along a third axis: a warp marches along it. Of the last planes it has the extremes of three
 * neighbouring ones, from which windows are made; the older of them lie in shared memory.
 * \tparam VWindow  the window's pixels along axis 0, 0 for any
 * \tparam VMarches whether warps march */
template <typename TPixelBits, KeyMapping VMapping, int VRows, int VWindow = 0, bool VMarches = false>
class ExtremumTile
{
public:
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  static constexpr int  Keys = Words::Keys;
  static constexpr int  Count = static_cast<int>(16 / sizeof(Word)); ///< words of a vector
  static constexpr int  Stride = GetExtremumTileStride(static_cast<int>(sizeof(Word)));
  static constexpr bool IsTeam = false;
  /** Whether rows wait in shared memory until windows along axis 0 are found, so that a loop does that: registers and
   * code are for one row. */
  static constexpr bool IsStaged = IsStagedTile(sizeof(TPixelBits), VRows, VWindow) && !VMarches;
  static constexpr int  Lanes = extremumLanes;
  static constexpr int  MostWarps = mostExtremumWarps;
  /** Blocks for which a multiprocessor has registers, at least: 64 for each lane of short tiles. */
  static constexpr int ResidentBlocks = VMarches                   ? (VRows == 2 ? 3 : 2)
                                        : VRows == 4               ? 4
                                        : IsStaged                 ? 3
                                        : Keys == 4 || VWindow > 0 ? 2
                                                                   : 3;

  using Packs = ExtremumPacks<TPixelBits, VMapping, Count>;
  using Across = ExtremumAcross<Packs, VWindow>;
  using Pack = typename Packs::Pack;
  using Vector = typename Packs::Vector;
  static constexpr int Pixels = Packs::Pixels;

  struct Lane
  {
    const TPixelBits *
      input; ///< its vector in the first row, or any where that is beyond the image; of the first plane
    const TPixelBits *     plane; ///< the same in the plane at hand
    TPixelBits *           output;
    int                    pixels;     ///< of the vector, as far as they are in the image
    int                    outputs[2]; ///< those of it that are outputs: the first, and one beyond the last
    Vector                 rows[VRows];
    Word                   given[1];
    Word                   next[1]; ///< the next lane's first word
    typename Across::State across;
    Pack                   last[VMarches ? 2 : 1][VRows]; ///< extremes of the last two planes
  };

  CUDAMEDIAN_HOST_DEVICE
  ExtremumTile(const ExtremumArguments & arguments, std::int64_t item, Pack * shared)
    : m_Arguments(arguments)
    , m_Packs(arguments.slab, arguments.isLast != 0)
    , m_Shared(reinterpret_cast<Word *>(shared))
  {
    auto       rest = static_cast<std::uint32_t>(item);
    const auto take = [&](int divisor) { return arguments.divisors[divisor].Take(rest); };
    const int  warp = take(0);
    m_Strip = take(1);
    m_Along = (take(2) * arguments.shape.warps + warp) * VRows;
    m_Across = take(3) * (VMarches ? arguments.shape.band : 1);
    m_Other = static_cast<int>(rest);
  }

  /** All of a tile. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  Run(TWarp & warp) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    if (m_Along >= slab.outputExtent[shape.along])
    {
      return;
    }
    const int  first = slab.outputOrigin[shape.along] + m_Along - shape.before[shape.along];
    const bool isInner =
      first >= 0 && first + VRows + shape.size[shape.along] - 1 <= slab.inputExtent[shape.along] && HasWholeVectors();
    warp.ForEach([&](int index, Lane & lane) { Begin(index, lane); });
    if constexpr (VMarches)
    {
      March(warp, first, isInner);
    }
    else
    {
      const int plane = slab.outputOrigin[shape.across] + m_Across;
      FindPlane(warp, plane, first, isInner);
      if constexpr (IsStaged)
      {
        const bool hasEnds = m_Strip == 0 || m_Strip == m_Arguments.strips - 1;
        hasEnds ? FinishRows<true>(warp) : FinishRows<false>(warp);
      }
      else
      {
        CUDAMEDIAN_UNROLL
        for (int row = 0; row < VRows; ++row)
        {
          if (m_Along + row < slab.outputExtent[shape.along])
          {
            ReduceRow(warp, row);
            warp.ForEach([&](int, Lane & lane) { Store(lane, row, 0); });
          }
        }
      }
    }
  }

private:
  CUDAMEDIAN_HOST_DEVICE int
  GetFirstVector() const
  {
    return m_Arguments.firstVector + m_Strip * (Lanes - m_Arguments.halo[0] - m_Arguments.halo[1]);
  }

  /** Whether of each lane's pixels all are in the image, or none. */
  CUDAMEDIAN_HOST_DEVICE bool
  HasWholeVectors() const
  {
    const int extent = m_Arguments.slab.inputExtent[0];
    const int place = extent / Pixels - GetFirstVector();
    return extent % Pixels == 0 || place < 0 || place >= Lanes;
  }

  /** Finds a lane's place. */
  CUDAMEDIAN_HOST_DEVICE void
  Begin(int index, Lane & lane) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    column = (GetFirstVector() + index) * Pixels;
    const int    other = 6 - shape.along - shape.across;
    const int    left = slab.inputExtent[0] - column;
    lane.pixels = left < 0 ? 0 : left < Pixels ? left : Pixels;
    lane.input = static_cast<const TPixelBits *>(slab.input) + (left > 0 ? column : 0) +
                 static_cast<std::int64_t>(slab.outputOrigin[other] + m_Other) * slab.inputPitch[other];
    lane.output = static_cast<TPixelBits *>(slab.output) + (column - slab.gridOrigin) +
                  m_Along * slab.outputPitch[shape.along] + m_Across * slab.outputPitch[shape.across] +
                  m_Other * slab.outputPitch[other];
    // Lanes of the halo have no outputs, but where the image ends there is none.
    const bool isInner = (m_Strip == 0 || index >= m_Arguments.halo[0]) &&
                         (m_Strip == m_Arguments.strips - 1 || index < Lanes - m_Arguments.halo[1]);
    const int first = slab.outputOrigin[0] - column;
    const int beyond = first + slab.outputExtent[0];
    lane.outputs[0] = first < 0 ? 0 : first;
    lane.outputs[1] = !isInner ? 0 : beyond < Pixels ? beyond : Pixels;
  }

  /** Extremes along the columns of a plane; what lies beyond the image is taken for its nearest plane. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  FindPlane(TWarp & warp, int plane, int first, bool isInner) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    last = slab.inputExtent[shape.across] - 1;
    const auto   offset = (plane < 0 ? 0 : plane > last ? last : plane) * slab.inputPitch[shape.across];
    warp.ForEach([&](int index, Lane & lane) {
      lane.plane = lane.input + offset;
      isInner ? FindRows<true>(lane, index, first) : FindRows<false>(lane, index, first);
      if (VWindow == 0 && shape.size[0] > 1)
      {
        ClearEnds(index);
      }
    });
    warp.Synchronize();
  }

  /** Extremes of one plane after the other, and of windows as soon as their last plane is there. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  March(TWarp & warp, int first, bool isInner) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    window = shape.size[shape.across];
    const int    left = slab.outputExtent[shape.across] - m_Across;
    const int    outputs = left < shape.band ? left : shape.band;
    const int    begin = slab.outputOrigin[shape.across] + m_Across - shape.before[shape.across];
    const int    slots = window - 3; // the oldest extremes that are kept lie where the newest come
    int          slot = 0;
    warp.ForEach([&](int, Lane & lane) {
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < VRows; ++row)
      {
        lane.last[0][row] = lane.last[1][row] = Packs::Join(Packs::GetNeutralVector());
      }
    });
    CUDAMEDIAN_KEEP_LOOP
    for (int step = 1 - window; step < outputs; ++step)
    {
      FindPlane(warp, begin + step + window - 1, first, isInner);
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < VRows; ++row)
      {
        ReduceRow(warp, row);
        warp.ForEach([&](int index, Lane & lane) {
          TakeLast(lane, row);
          if (slots > 0)
          {
            TakeOlder(lane, index, row, slot, slots, step >= 0);
          }
          if (step >= 0 && m_Along + row < slab.outputExtent[shape.along])
          {
            Store(lane, row, step);
          }
        });
      }
      slot = slot + 1 < slots ? slot + 1 : 0;
    }
  }

  /** Extremes of a row in the last three planes. */
  CUDAMEDIAN_HOST_DEVICE void
  TakeLast(Lane & lane, int row) const
  {
    const auto found = Packs::Join(lane.rows[row]);
    lane.rows[row] =
      Packs::Vectors::Min(lane.rows[row], Packs::Hold(lane.last[0][row]), Packs::Hold(lane.last[1][row]));
    lane.last[1][row] = lane.last[0][row];
    lane.last[0][row] = found;
  }

  /** Extremes of a row in all planes of a window, from those in three, which are kept. */
  CUDAMEDIAN_HOST_DEVICE void
  TakeOlder(Lane & lane, int index, int row, int slot, int slots, bool isWhole) const
  {
    Pack * const kept = reinterpret_cast<Pack *>(m_Shared) + row * Lanes + index;
    const auto   three = Packs::Join(lane.rows[row]);
    if (isWhole)
    {
      const auto oldest = Packs::Hold(kept[slot * VRows * Lanes]);
      if (slots > 3)
      {
        const int between = slot < 3 ? slot + slots - 3 : slot - 3;
        lane.rows[row] = Packs::Vectors::Min(lane.rows[row], oldest, Packs::Hold(kept[between * VRows * Lanes]));
      }
      else
      {
        lane.rows[row] = Packs::Min(lane.rows[row], oldest);
      }
    }
    kept[slot * VRows * Lanes] = three;
  }

  /** Extremes along the columns.
   * \tparam VIsInner whether all rows are in the image, and all of a lane's pixels or none */
  template <bool VIsInner>
  CUDAMEDIAN_HOST_DEVICE void
  FindRows(Lane & lane, [[maybe_unused]] int index, int first) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    last = slab.inputExtent[shape.along] - 1;
    const auto   pitch = slab.inputPitch[shape.along];
    const auto   begin = lane.plane + first * pitch;
    const bool   isBeyond = lane.pixels <= 0;
    // Rows beyond the image are taken for the nearest one, which all windows have that reach there.
    const auto clampRow = [last](int row) { return row < 0 ? 0 : row > last ? last : row; };
    const auto load = [&](int i) {
      if constexpr (VIsInner)
      {
        return Packs::Hold(m_Packs.ToKeys(*reinterpret_cast<const Pack *>(begin + i * pitch), isBeyond));
      }
      const auto row = clampRow(first + i);
      return Packs::Hold(m_Packs.ToKeys(lane.pixels > 0 ? m_Packs.Load(lane.plane + row * pitch, lane.pixels)
                                                        : m_Packs.GetNeutralPixels()));
    };
    if constexpr (IsStaged)
    {
      Pack * const staged = reinterpret_cast<Pack *>(m_Shared) + index;
      const int    window = shape.size[shape.along];
      const auto   hold = [&](const Pack & pixels) { return Packs::Hold(m_Packs.ToKeys(pixels, isBeyond)); };
      if (VIsInner)
      {
        const auto get = [&](int i) { return *reinterpret_cast<const Pack *>(begin + i * pitch); };
        StageRows(window, get, hold, staged);
      }
      else if (HasWholeVectors())
      {
        const auto get = [&](int i) {
          return *reinterpret_cast<const Pack *>(lane.plane + clampRow(first + i) * pitch);
        };
        StageRows(window, get, hold, staged);
      }
      else
      {
        StageCutRows(window, load, staged);
      }
    }
    else
    {
      const auto take = [&](const Vector * extremes) {
        CUDAMEDIAN_UNROLL
        for (int row = 0; row < VRows; ++row)
        {
          lane.rows[row] = extremes[row];
        }
      };
      if constexpr (VIsInner && VWindow > 0)
      {
        if (shape.size[shape.along] == VWindow)
        {
          RunKnownExtremes<typename Packs::Vectors, VRows, VWindow>(load, take);
          return;
        }
      }
      // Long runs are for windows that are no shorter.
      constexpr int few = VRows <= 4 ? VRows - 1 : 0;
      using Vectors = typename Packs::Vectors;
      if (!RunFewExtremes<Vectors, VRows, few>(shape.size[shape.along], load, take))
      {
        RunExtremes<Vectors, VRows>(shape.size[shape.along], load, take);
      }
    }
  }

  /** Extremes of windows of so many rows, no fewer than the tile has, as ExtendCore() finds them. They lie Lanes packs
   * apart, those of the rows before the core first, so that few are in registers. */
  template <typename TGet, typename THold>
  static CUDAMEDIAN_HOST_DEVICE void
  StageRows(int window, const TGet & get, const THold & hold, Pack * staged)
  {
    // The compiler does not read past a store: the rows before the core are asked for at once.
    Vector rows[VRows];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRows; ++i)
    {
      rows[i] = hold(get(i));
    }
    auto least = rows[VRows - 2];
    staged[(VRows - 2) * Lanes] = Packs::Join(least);
    CUDAMEDIAN_UNROLL
    for (int i = VRows - 3; i >= 0; --i)
    {
      least = Packs::Min(least, rows[i]);
      staged[i * Lanes] = Packs::Join(least);
    }
    auto          core = rows[VRows - 1];
    int           next = VRows;
    constexpr int batch = Keys == 1 ? 4 : 8; // keys of one register each leave fewer
    CUDAMEDIAN_KEEP_LOOP
    for (; next + batch <= window; next += batch)
    {
      Pack read[batch];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < batch; ++i)
      {
        read[i] = get(next + i);
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < batch; i += 2)
      {
        core = Packs::Vectors::Min(core, hold(read[i]), hold(read[i + 1]));
      }
    }
    CUDAMEDIAN_KEEP_LOOP
    for (; next + 2 <= window; next += 2)
    {
      const Pack two[]{ get(next), get(next + 1) };
      core = Packs::Vectors::Min(core, hold(two[0]), hold(two[1]));
    }
    if (next < window)
    {
      core = Packs::Min(core, hold(get(next)));
    }
    staged[0] = Packs::Join(Packs::Min(core, Packs::Hold(staged[0])));
    least = hold(get(window));
    CUDAMEDIAN_UNROLL
    for (int i = 1; i < VRows - 1; ++i)
    {
      staged[i * Lanes] = Packs::Join(Packs::Vectors::Min(core, Packs::Hold(staged[i * Lanes]), least));
      least = Packs::Min(least, hold(get(window + i)));
    }
    staged[(VRows - 1) * Lanes] = Packs::Join(Packs::Min(core, least));
  }

  /** The same, four rows at a time, where loads have much code. */
  template <typename TLoad>
  static CUDAMEDIAN_HOST_DEVICE void
  StageCutRows(int window, const TLoad & load, Pack * staged)
  {
    static_assert(VRows % 4 == 0, "loops of four rows");
    CUDAMEDIAN_KEEP_LOOP
    for (int row = 0; row < VRows; row += 4)
    {
      const Vector four[]{ load(row), load(row + 1), load(row + 2), load(row + 3) };
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; ++i)
      {
        staged[(row + i) * Lanes] = Packs::Join(four[i]);
      }
    }
    auto core = Packs::Hold(staged[(VRows - 1) * Lanes]);
    auto least = core;
    CUDAMEDIAN_KEEP_LOOP
    for (int row = VRows - 2; row >= 0; --row)
    {
      least = Packs::Min(least, Packs::Hold(staged[row * Lanes]));
      staged[row * Lanes] = Packs::Join(least);
    }
    CUDAMEDIAN_KEEP_LOOP
    for (int next = VRows; next < window; next += 4)
    {
      // The last row may be read several times.
      const auto   get = [&](int row) { return load(row < window ? row : window - 1); };
      const Vector four[]{ get(next), get(next + 1), get(next + 2), get(next + 3) };
      core = Packs::Vectors::Min(Packs::Vectors::Min(core, four[0], four[1]), four[2], four[3]);
    }
    least = core;
    CUDAMEDIAN_KEEP_LOOP
    for (int row = 0; row < VRows; row += 4)
    {
      const int    behind = window + row;
      const Vector four[]{ load(behind), load(behind + 1), load(behind + 2), load(behind + 3) };
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; ++i)
      {
        Pack & pack = staged[(row + i) * Lanes];
        pack = Packs::Join(Packs::Min(least, Packs::Hold(pack)));
        least = Packs::Min(least, four[i]);
      }
    }
  }

  /** Extremes along axis 0 of rows that wait in shared memory.
   * \tparam VHasEnds whether the strip is the first or the last one */
  template <bool VHasEnds, typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  FinishRows(TWarp & warp) const
  {
    const auto & slab = m_Arguments.slab;
    const auto   staged = reinterpret_cast<const Pack *>(m_Shared);
    const int    along = m_Arguments.shape.along;
    const int    left = slab.outputExtent[along] - m_Along;
    const int    rows = left < VRows ? left : VRows;
    CUDAMEDIAN_KEEP_LOOP
    for (int row = 0; row < rows; ++row)
    {
      warp.ForEach([&](int index, Lane & lane) {
        // A copy is read at once, and not a word at a time.
        const Pack pack = staged[row * Lanes + index];
        lane.rows[0] = Packs::Hold(pack);
      });
      Across::template Reduce<VHasEnds>(
        warp, m_Strip == 0 && m_Arguments.halo[0] > 0, [](Lane & lane) -> Vector & { return lane.rows[0]; });
      warp.ForEach([&](int, Lane & lane) {
        Store(lane, 0, 0);
        lane.output += slab.outputPitch[along];
      });
    }
  }

  /** Before the first lane and behind the last the image ends, or nobody uses what comes out. */
  CUDAMEDIAN_HOST_DEVICE void
  ClearEnds(int index) const
  {
    const int before = m_Arguments.halo[0] * Stride;
    const int both = before + m_Arguments.halo[1] * Stride;
    CUDAMEDIAN_KEEP_LOOP
    for (int i = index; i < both; i += Lanes)
    {
      m_Shared[i < before ? i : i + Lanes * Stride] = Packs::GetNeutral();
    }
  }

  /** Extremes of a row along axis 0. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  ReduceRow(TWarp & warp, int row) const
  {
    if constexpr (VWindow > 0)
    {
      Across::Reduce(
        warp, m_Strip == 0 && m_Arguments.halo[0] > 0, [=](Lane & lane) -> Vector & { return lane.rows[row]; });
    }
    else if (m_Arguments.shape.size[0] > 1)
    {
      ShareRow(warp, row);
    }
  }

  /** The same by way of shared memory. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  ShareRow(TWarp & warp, int row) const
  {
    // There are two shared rows, since some lanes write the next one while others still read.
    Word * const shared = m_Shared + row % 2 * Count;
    if constexpr (Keys > 1)
    {
      warp.ForEach([&](int, Lane & lane) { lane.given[0] = Words::Join(lane.rows[row].held[0]); });
      warp.template Fetch<1>(
        1, [](auto & lane) -> Word * { return lane.given; }, [](auto & lane) -> Word * { return lane.next; });
    }
    warp.ForEach([&](int index, Lane & lane) {
      const auto & held = lane.rows[row].held;
      Word * const words = shared + (index + m_Arguments.halo[0]) * Stride;
      Held         further = Words::Hold(Packs::GetNeutral());
      if constexpr (Keys > 1)
      {
        // Windows that begin in the last word before the image go on in its first.
        if (index == 0 && m_Strip == 0 && m_Arguments.halo[0] > 0)
        {
          words[Count - 1 - Stride] = Words::Join(FindNear(further, held[0]));
        }
        further = Words::Hold(lane.next[0]);
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        words[i] = Words::Join(FindNear(held[i], i + 1 < Count ? held[i + 1] : further));
      }
    });
    warp.Synchronize();
    warp.ForEach([&](int index, Lane & lane) { lane.rows[row] = FindAcross(shared + index * Stride); });
  }

  /** Extremes of each key of a word and those that follow it, so many as a word has, or the window. */
  CUDAMEDIAN_HOST_DEVICE Held
  FindNear(const Held & held, const Held & next) const
  {
    if constexpr (Keys == 1)
    {
      return held;
    }
    else
    {
      const auto pairs = Words::Min(held, Words::template ShiftHeld<1>(held, next));
      if constexpr (Keys == 4)
      {
        const int window = m_Arguments.shape.size[0];
        // What lies in the word after the next is not asked.
        const auto nextPairs = Words::Min(next, Words::template ShiftHeld<1>(next, next));
        return window > 3   ? Words::Min(pairs, Words::template ShiftHeld<2>(pairs, nextPairs))
               : window > 2 ? Words::Min(pairs, Words::template ShiftHeld<1>(pairs, nextPairs))
                            : pairs;
      }
      return pairs;
    }
  }

  /** Where a shared row has words from one on: the first of them, and the ones Stride further for each Count. */
  struct Places
  {
    const Word * first[Count];

    CUDAMEDIAN_HOST_DEVICE Held
    Load(int word) const
    {
      return Words::Hold(first[word % Count][word / Count * Stride]);
    }
  };

  /** \param words those of the lane, of the ends before the first lane as many as lie before it
   * \param word so far behind the lane's first */
  CUDAMEDIAN_HOST_DEVICE Places
  GetPlaces(const Word * words, int word) const
  {
    const auto         behind = static_cast<unsigned int>(word + m_Arguments.halo[0] * Count);
    const auto         part = behind % Count;
    const Word * const begin = words + behind / Count * Stride + part;
    Places             places;
    CUDAMEDIAN_UNROLL
    for (unsigned int i = 0; i < Count; ++i)
    {
      places.first[i] = begin + i + (part + i < Count ? 0 : Stride - Count);
    }
    return places;
  }

  /** Extremes of neighbouring keys, from so many keys behind a lane's first on. */
  CUDAMEDIAN_HOST_DEVICE Vector
  FindShifted(const Word * words, int keys) const
  {
    const int    word = keys < 0 ? -((Keys - 1 - keys) / Keys) : keys / Keys;
    const Places places = GetPlaces(words, word);
    Word         taken[Count + 1];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i <= Count; ++i)
    {
      taken[i] = places.first[i % Count][i / Count * Stride];
    }
    Vector shifted;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      shifted.held[i] = Words::Hold(Words::Shift(taken[i], taken[i + 1], keys - word * Keys));
    }
    return shifted;
  }

  /** The least of what was found and of windows of so many words, from one on. */
  CUDAMEDIAN_HOST_DEVICE void
  TakeMiddle(Vector & found, const Word * words, int word, int window) const
  {
    Places     places = GetPlaces(words, word);
    const auto load = [&](int i) { return places.Load(i); };
    const auto take = [&](const Held * extremes) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        found.held[i] = Words::Min(found.held[i], extremes[i]);
      }
    };
    if (RunFewExtremes<Words, Count, Count - 1>(window, load, take))
    {
      return;
    }
    Held before[Count];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count; ++i)
    {
      before[i] = load(i);
    }
    // Words of the core that follow, a vector at a time.
    auto core = before[Count - 1];
    int  left = window - Count;
    CUDAMEDIAN_KEEP_LOOP
    for (; left >= Count; left -= Count)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; i += 2)
      {
        core = Words::Min(core, places.Load(Count + i), places.Load(Count + i + 1));
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Count; ++i)
      {
        places.first[i] += Stride;
      }
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Count - 1; ++i)
    {
      if (i < left)
      {
        core = Words::Min(core, places.Load(Count + i));
      }
    }
    const Places behind = GetPlaces(words, word + window);
    ExtendCore<Words, Count>(core, [&](int i) { return before[i]; }, [&](int i) { return behind.Load(i); }, take);
  }

  /** Extremes of a lane's windows along axis 0.
   * \param words of the shared row, so far behind its first as the lane is behind the first lane */
  CUDAMEDIAN_HOST_DEVICE Vector
  FindAcross(const Word * words) const
  {
    const int  window = m_Arguments.shape.size[0];
    const int  before = m_Arguments.shape.before[0];
    const int  part = before % Keys;
    const bool hasMiddle = Keys == 1 || window > 2 * Keys;
    auto       found = Packs::GetNeutralVector();
    if constexpr (Keys > 1)
    {
      if (!hasMiddle || part != 0)
      {
        found = FindShifted(words, -before);
      }
      if (window > Keys && (!hasMiddle || (window - part) % Keys != 0))
      {
        found = Packs::Min(found, FindShifted(words, window - Keys - before));
      }
    }
    if (hasMiddle)
    {
      TakeMiddle(found, words, -(before / Keys), (window - part) / Keys);
    }
    return found;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Store(const Lane & lane, int row, int plane) const
  {
    const auto & pitch = m_Arguments.slab.outputPitch;
    const auto & shape = m_Arguments.shape;
    if (lane.outputs[0] < lane.outputs[1])
    {
      m_Packs.Store(lane.output + row * pitch[shape.along] + plane * pitch[shape.across],
                    Packs::Join(lane.rows[row]),
                    lane.outputs[0],
                    lane.outputs[1]);
    }
  }

  const ExtremumArguments & m_Arguments;
  Packs                     m_Packs;
  Word *                    m_Shared;
  int                       m_Strip;
  int                       m_Along; ///< the first row, and the place along the other axes
  int                       m_Across;
  int                       m_Other;
};

} // namespace cudamedian

#endif
