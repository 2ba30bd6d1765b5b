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
#ifndef ExtremumStrip_h
#define ExtremumStrip_h

#include "ExtremumArguments.h"
#include "ExtremumPacks.h"
#include "ExtremumRuns.h"
#include "ExtremumSides.h"

namespace cudamedian
{

/** A warp: its lanes own neighbouring vectors of columns, and march along an axis together. */
template <typename TPixelBits, KeyMapping VMapping, int VRun, bool VIsWide>
class ExtremumStrip
{
public:
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  static constexpr int  Keys = Words::Keys;
  static constexpr int  Count = VIsWide ? static_cast<int>(16 / sizeof(Word)) : 1; ///< words of a vector
  static constexpr int  Pixels = Count * Keys;
  static constexpr int  Ahead = VRun > 1 ? 1 : VIsWide ? 4 : 16;   ///< rows that are read before they are needed
  static constexpr int  Batch = VRun > 1 ? VRun : VIsWide ? 2 : 1; ///< rows of outputs that are found at once
  static constexpr int  Rows = Batch < 2 ? 1 : 2;                  ///< of these, those reduced along axis 0 at once
  static constexpr int  Lanes = extremumLanes;
  static constexpr bool IsTeam = false;
  static constexpr int  MostWarps = mostExtremumWarps;
  static constexpr int  ResidentBlocks = 1; ///< for which a multiprocessor has registers, at least

  using Packs = ExtremumPacks<TPixelBits, VMapping, Count>;
  using Pack = typename Packs::Pack;
  using Vector = typename Packs::Vector;
  using Sides = ExtremumSides<Packs, Count, Rows>;

  /** What a lane keeps in registers. */
  struct Lane
  {
    const TPixelBits * input; ///< its vector in the first row, where that is not beyond the image
    TPixelBits *       output;
    Pack *             slots;      ///< its places of the band
    int                pixels;     ///< of the vector, as far as they are in the image
    int                outputs[2]; ///< those of it that are outputs: the first, and one beyond the last
    Pack               ahead[Ahead];
    Pack               current[Ahead];
    Pack               kept[Ahead * VRun];
    Vector             behind[VRun]; ///< the extremes of rows behind the band
    Vector             found[Batch];
    Sides              sides;
  };

  CUDAMEDIAN_HOST_DEVICE
  ExtremumStrip(const ExtremumArguments & arguments, std::int64_t item, Pack * shared)
    : m_Arguments(arguments)
    , m_Packs(arguments.slab, arguments.isLast != 0)
    , m_Shared(shared)
  {
    const auto & shape = arguments.shape;
    m_Strip = static_cast<int>(item % arguments.strips);
    item /= arguments.strips;
    const int group = static_cast<int>(item % arguments.groups);
    item /= arguments.groups;
    const int segment = static_cast<int>(item % arguments.segments);
    m_Other = static_cast<int>(item / arguments.segments);
    m_Along = segment * shape.band * shape.bands;
    m_Across = group * VRun;
    m_Pitch = arguments.slab.inputPitch[shape.along];
    m_AcrossPitch = arguments.slab.inputPitch[shape.across];
  }

  /** All of a strip's segment. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  Run(TWarp & warp) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    window = shape.size[shape.along];
    const int    left = slab.outputExtent[shape.along] - m_Along;
    const int    whole = shape.band * shape.bands;
    const int    outputs = left < whole ? left : whole;
    // The first row that the first output's window has.
    const int  first = slab.outputOrigin[shape.along] + m_Along - shape.before[shape.along];
    const bool isKept = shape.band == window && shape.bands > 1;
    warp.ForEach([&](int index, Lane & lane) { Begin(index, lane); });
    for (int done = 0; done < outputs; done += shape.band)
    {
      const int count = outputs - done < shape.band ? outputs - done : shape.band;
      const int next = first + done + window; // the row that the second output's window has, and the first's has not
      warp.ForEach([&](int, Lane & lane) {
        ReadAhead(lane, next, 0, count);
        if (isKept && done > 0)
        {
          SweepKept(lane);
        }
        else
        {
          Sweep(lane, first + done);
        }
        CUDAMEDIAN_UNROLL
        for (int run = 0; run < VRun; ++run)
        {
          lane.behind[run] = Packs::GetNeutralVector();
        }
      });
      CUDAMEDIAN_KEEP_LOOP
      for (int begin = 0; begin < count; begin += Ahead)
      {
        RunRows(warp, next, begin, count, isKept, m_Along + done);
      }
    }
  }

private:
  /** Some rows of outputs; those that will be needed next are read meanwhile. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  RunRows(TWarp & warp, int next, int begin, int count, bool isKept, int outputRow) const
  {
    warp.ForEach([&](int, Lane & lane) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Ahead; ++i)
      {
        lane.current[i] = lane.ahead[i];
        CUDAMEDIAN_UNROLL
        for (int run = 0; run < VRun && begin + i < count; ++run)
        {
          lane.kept[i * VRun + run] = lane.slots[((begin + i) * VRun + run) * Lanes];
        }
      }
      ReadAhead(lane, next, begin + Ahead, count);
    });
    constexpr int rows = Batch / VRun;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Ahead; i += rows)
    {
      if (begin + i < count)
      {
        warp.ForEach([&](int, Lane & lane) {
          CUDAMEDIAN_UNROLL
          for (int row = 0; row < rows; ++row)
          {
            AddRow(lane, next, begin, i + row, row, count, isKept);
          }
        });
        ReduceRows(warp);
        warp.ForEach([&](int, Lane & lane) {
          CUDAMEDIAN_UNROLL
          for (int n = 0; n < Batch; ++n)
          {
            if (begin + i + n / VRun < count)
            {
              Store(lane, outputRow + begin + i + n / VRun, n % VRun, lane.found[n]);
            }
          }
        });
      }
    }
  }

  /** The extremes of a row's outputs along the march, and the next row. */
  CUDAMEDIAN_HOST_DEVICE void
  AddRow(Lane & lane, int next, int begin, int number, int place, int count, bool isKept) const
  {
    const int row = begin + number;
    Vector    added[VRun];
    if constexpr (VRun == 1)
    {
      added[0] = ToVector(lane.current[number]);
    }
    else
    {
      LoadRun(lane, next + row, added);
    }
    CUDAMEDIAN_UNROLL
    for (int run = 0; run < VRun; ++run)
    {
      lane.found[place * VRun + run] = Packs::Min(Packs::Hold(lane.kept[number * VRun + run]), lane.behind[run]);
      lane.behind[run] = Packs::Min(lane.behind[run], added[run]);
      if (isKept && row < count)
      {
        lane.slots[(row * VRun + run) * Lanes] = Packs::Join(added[run]);
      }
    }
  }

  /** Finds a lane's place. */
  CUDAMEDIAN_HOST_DEVICE void
  Begin(int index, Lane & lane) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    step = Lanes - m_Arguments.halo[0] - m_Arguments.halo[1];
    const int    column = (m_Arguments.firstVector + m_Strip * step + index) * Pixels;
    const int    other = 6 - shape.along - shape.across;
    const int    left = slab.inputExtent[0] - column;
    lane.pixels = column < 0 || left < 0 ? 0 : left < Pixels ? left : Pixels;
    lane.slots = m_Shared + index;
    lane.input = static_cast<const TPixelBits *>(slab.input) + column +
                 static_cast<std::int64_t>(slab.outputOrigin[other] + m_Other) * slab.inputPitch[other];
    lane.output =
      static_cast<TPixelBits *>(slab.output) + (column - slab.gridOrigin) + m_Other * slab.outputPitch[other];
    // Lanes of the halo have no outputs, but where the image ends there is none.
    const bool isInner = (m_Strip == 0 || index >= m_Arguments.halo[0]) &&
                         (m_Strip == m_Arguments.strips - 1 || index < Lanes - m_Arguments.halo[1]);
    const int first = slab.outputOrigin[0] - column;
    const int beyond = first + slab.outputExtent[0];
    lane.outputs[0] = first < 0 ? 0 : first;
    lane.outputs[1] = !isInner ? 0 : beyond < Pixels ? beyond : Pixels;
  }

  CUDAMEDIAN_HOST_DEVICE Vector
  ToVector(const Pack & pixels) const
  {
    return Packs::Hold(m_Packs.ToKeys(pixels));
  }

  /** A vector of a row, or what is neutral where the image has none. */
  CUDAMEDIAN_HOST_DEVICE Pack
  LoadPack(const Lane & lane, int along, int across) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    if (lane.pixels <= 0 || along < 0 || along >= slab.inputExtent[shape.along] || across < 0 ||
        across >= slab.inputExtent[shape.across])
    {
      return m_Packs.GetNeutralPixels();
    }
    return m_Packs.Load(lane.input + along * m_Pitch + across * m_AcrossPitch, lane.pixels);
  }

  CUDAMEDIAN_HOST_DEVICE void
  ReadAhead(Lane & lane, int next, int begin, int count) const
  {
    if constexpr (VRun == 1)
    {
      const int across = m_Arguments.slab.outputOrigin[m_Arguments.shape.across] + m_Across;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Ahead; ++i)
      {
        if (begin + i < count)
        {
          lane.ahead[i] = LoadPack(lane, next + begin + i, across);
        }
      }
    }
  }

  /** The extremes of a row's windows along the second axis. */
  CUDAMEDIAN_HOST_DEVICE void
  LoadRun(const Lane & lane, int along, Vector * found) const
  {
    const auto & shape = m_Arguments.shape;
    const int    across = m_Arguments.slab.outputOrigin[shape.across] + m_Across - shape.before[shape.across];
    RunExtremes<typename Packs::Vectors, VRun>(
      shape.size[shape.across],
      [&](int i) { return ToVector(LoadPack(lane, along, across + i)); },
      [&](const Vector * extremes) {
        CUDAMEDIAN_UNROLL
        for (int run = 0; run < VRun; ++run)
        {
          found[run] = extremes[run];
        }
      });
  }

  /** Extremes from each row of the band to the window's end, from the last row on. */
  CUDAMEDIAN_HOST_DEVICE void
  Sweep(const Lane & lane, int first) const
  {
    const auto & shape = m_Arguments.shape;
    const int    window = shape.size[shape.along];
    Vector       least[VRun];
    CUDAMEDIAN_UNROLL
    for (int run = 0; run < VRun; ++run)
    {
      least[run] = Packs::GetNeutralVector();
    }
    CUDAMEDIAN_KEEP_LOOP
    for (int begin = window - 1; begin >= 0; begin -= Ahead)
    {
      Pack      packs[Ahead];
      const int across = m_Arguments.slab.outputOrigin[shape.across] + m_Across;
      if constexpr (VRun == 1)
      {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Ahead; ++i)
        {
          packs[i] = LoadPack(lane, begin - i >= 0 ? first + begin - i : -1, across);
        }
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Ahead; ++i)
      {
        Vector added[VRun];
        if constexpr (VRun == 1)
        {
          added[0] = ToVector(packs[i]);
        }
        else
        {
          LoadRun(lane, first + begin - i, added);
        }
        CUDAMEDIAN_UNROLL
        for (int run = 0; run < VRun; ++run)
        {
          least[run] = Packs::Min(least[run], added[run]);
          if (begin - i < shape.band && begin - i >= 0)
          {
            lane.slots[((begin - i) * VRun + run) * Lanes] = Packs::Join(least[run]);
          }
        }
      }
    }
  }

  /** The same of rows that are kept in their places. */
  CUDAMEDIAN_HOST_DEVICE void
  SweepKept(const Lane & lane) const
  {
    Vector least[VRun];
    CUDAMEDIAN_UNROLL
    for (int run = 0; run < VRun; ++run)
    {
      least[run] = Packs::GetNeutralVector();
    }
    constexpr int batch = VIsWide ? 4 : 16; // read at once: stores would keep later reads waiting
    CUDAMEDIAN_KEEP_LOOP
    for (int last = m_Arguments.shape.band * VRun - 1; last >= 0; last -= batch)
    {
      Pack kept[batch];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < batch; ++i)
      {
        kept[i] = lane.slots[(last - i >= 0 ? last - i : 0) * Lanes];
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < batch; ++i)
      {
        if (last - i >= 0)
        {
          Vector & extremes = least[VRun - 1 - i % VRun];
          extremes = Packs::Min(extremes, Packs::Hold(kept[i]));
          lane.slots[(last - i) * Lanes] = Packs::Join(extremes);
        }
      }
    }
  }

  /** Extremes along axis 0. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  ReduceRows(TWarp & warp) const
  {
    if constexpr (VIsWide)
    {
      const auto & shape = m_Arguments.shape;
      if (shape.size[0] == 1)
      {
        return;
      }
      CUDAMEDIAN_UNROLL
      for (int first = 0; first < Batch; first += Rows)
      {
        warp.ForEach([&](int, Lane & lane) {
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Rows; ++i)
          {
            lane.sides.rows[i][0] = lane.sides.rows[i][1] = lane.found[first + i];
          }
        });
        if (m_Arguments.isOneSided != 0)
        {
          Sides::ReduceBehind(warp, shape.size[0] - shape.before[0], shape.before[0]);
        }
        else
        {
          Sides::Reduce(warp, shape.size[0] - shape.before[0], shape.before[0] + 1);
        }
        warp.ForEach([&](int, Lane & lane) {
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Rows; ++i)
          {
            lane.found[first + i] = Packs::Min(lane.sides.rows[i][0], lane.sides.rows[i][1]);
          }
        });
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  Store(const Lane & lane, int row, int run, const Vector & extremes) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    if (lane.outputs[0] >= lane.outputs[1] || m_Across + run >= slab.outputExtent[shape.across])
    {
      return;
    }
    TPixelBits * const pixels =
      lane.output + row * slab.outputPitch[shape.along] + (m_Across + run) * slab.outputPitch[shape.across];
    m_Packs.Store(pixels, Packs::Join(extremes), lane.outputs[0], lane.outputs[1]);
  }

  const ExtremumArguments & m_Arguments;
  Packs                     m_Packs;
  Pack *                    m_Shared;
  int                       m_Strip;
  int                       m_Other;
  int                       m_Along;
  int                       m_Across;
  std::int64_t              m_Pitch; ///< of the input, along the march and the runs
  std::int64_t              m_AcrossPitch;
};

} // namespace cudamedian

#endif
