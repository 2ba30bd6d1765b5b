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
#ifndef ExtremumBands_h
#define ExtremumBands_h

#include "ExtremumArguments.h"
#include "ExtremumPacks.h"

namespace cudamedian
{

/** A team of warps, the ones of a block: windows along an axis other than 0 that are no shorter than the team's rows.
 *
 * The lanes of each warp own the same neighbouring vectors of columns, and each warp has VRows rows of the outputs. All
 * windows of the team share a core. Before it lie as many rows as there are outputs, and behind it too. A lane has the
 * extremes of its warp's rows before the core from the last back to the first in registers, and takes those behind it,
 * as van Herk (1992) and Gil and Werman (1993) do with blocks as long as the window. Only the extremes of all rows of a
 * warp go through shared memory, to the other warps. So all rows are read at once, and most of them twice.
 * \tparam VRows rows of a warp */
template <typename TPixelBits, KeyMapping VMapping, int VRows>
class ExtremumBands
{
public:
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  static constexpr int  Count = static_cast<int>(16 / sizeof(Word)); ///< words of a vector
  static constexpr int  Lanes = extremumLanes;
  static constexpr bool IsTeam = true;
  static constexpr int  MostWarps = GetMostBandWarps(VRows);
  /** Blocks for which a multiprocessor has registers, at least: 80 for each lane of few rows, 128 of many. */
  static constexpr int ResidentBlocks = VRows > 8 ? 1 : 3;

  using Packs = ExtremumPacks<TPixelBits, VMapping, Count>;
  using Pack = typename Packs::Pack;
  using Vector = typename Packs::Vector;
  using Vectors = typename Packs::Vectors;
  static constexpr int Pixels = Packs::Pixels;

  /** What a lane keeps between the steps. */
  struct Lane
  {
    Pack rows[VRows]; ///< extremes of its warp's rows in the windows
    Pack core;        ///< of the rows of the core that its warp reads
  };

  CUDAMEDIAN_HOST_DEVICE
  ExtremumBands(const ExtremumArguments & arguments, std::int64_t item, void * shared)
    : m_Arguments(arguments)
    , m_Packs(arguments.slab, arguments.isLast != 0)
    , m_Shared(static_cast<Pack *>(shared))
  {
    auto       rest = static_cast<std::uint32_t>(item);
    const auto take = [&](int divisor) { return arguments.divisors[divisor].Take(rest); };
    m_FirstVector = arguments.firstVector + take(0) * Lanes;
    m_Along = take(1) * VRows * arguments.shape.warps;
    m_Across = take(2);
    m_Other = static_cast<int>(rest);
  }

  /** All of a team's outputs. */
  template <typename TTeam>
  CUDAMEDIAN_HOST_DEVICE void
  Run(TTeam & team) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    first = slab.outputOrigin[shape.along] + m_Along - shape.before[shape.along];
    const int    rows = VRows * shape.warps + shape.size[shape.along];
    // Whether all rows are in the image, and of each lane's pixels all or none.
    const int  place = slab.inputExtent[0] / Pixels - m_FirstVector;
    const bool isInner = first >= 0 && first + rows <= slab.inputExtent[shape.along] &&
                         (slab.inputExtent[0] % Pixels == 0 || place < 0 || place >= Lanes);
    team.ForEach([&](int warp, int index, Lane & lane) {
      isInner ? Find<true>(lane, warp, index, first) : Find<false>(lane, warp, index, first);
    });
    if (shape.warps > 1)
    {
      team.Synchronize();
    }
    team.ForEach([&](int warp, int index, Lane & lane) { Finish(lane, warp, index); });
  }

private:
  /** Extremes of what a warp reads itself.
   * \tparam VIsInner whether all rows are in the image, and all of a lane's pixels or none */
  template <bool VIsInner>
  CUDAMEDIAN_HOST_DEVICE void
  Find(Lane & lane, int warp, int index, int first) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    other = 6 - shape.along - shape.across;
    const int    column = (m_FirstVector + index) * Pixels;
    const int    left = slab.inputExtent[0] - column;
    const int    last = slab.inputExtent[shape.along] - 1;
    const auto   pitch = slab.inputPitch[shape.along];
    const auto   begin = static_cast<const TPixelBits *>(slab.input) + (left > 0 ? column : 0) +
                       (slab.outputOrigin[shape.across] + m_Across) * slab.inputPitch[shape.across] +
                       (slab.outputOrigin[other] + m_Other) * slab.inputPitch[other];
    const auto load = [&](const TPixelBits * rows, int from, int i) {
      if constexpr (VIsInner)
      {
        return *reinterpret_cast<const Pack *>(rows + i * pitch);
      }
      // Rows beyond the image are taken for the nearest one, which all windows have that reach there.
      const int row = from + i < 0 ? 0 : from + i > last ? last : from + i;
      return left > 0 ? m_Packs.Load(begin + row * pitch, left) : m_Packs.GetNeutralPixels();
    };
    const int  window = shape.size[shape.along];
    const int  band = VRows * shape.warps;
    const int  before = first + warp * VRows;
    const auto beforeRows = begin + before * pitch;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRows; ++i)
    {
      lane.rows[i] = load(beforeRows, before, i);
    }
    auto least = Packs::Hold(m_Packs.ToKeys(lane.rows[VRows - 1]));
    lane.rows[VRows - 1] = Packs::Join(least);
    CUDAMEDIAN_UNROLL
    for (int i = VRows - 2; i >= 0; --i)
    {
      least = Packs::Min(least, Packs::Hold(m_Packs.ToKeys(lane.rows[i])));
      lane.rows[i] = Packs::Join(least);
    }
    // Of the core each warp reads a part.
    const int  share = (window - band + shape.warps - 1) / shape.warps;
    const int  middle = first + band + warp * share;
    const int  end = first + window - middle < share ? first + window - middle : share;
    const auto coreRows = begin + middle * pitch;
    auto       core = Packs::GetNeutralVector();
    int        next = 0;
    CUDAMEDIAN_KEEP_LOOP
    for (; next + 4 <= end; next += 4)
    {
      Pack four[4];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; ++i)
      {
        four[i] = load(coreRows, middle, next + i);
      }
      core = Vectors::Min(core, Packs::Hold(m_Packs.ToKeys(four[0])), Packs::Hold(m_Packs.ToKeys(four[1])));
      core = Vectors::Min(core, Packs::Hold(m_Packs.ToKeys(four[2])), Packs::Hold(m_Packs.ToKeys(four[3])));
    }
    CUDAMEDIAN_KEEP_LOOP
    for (; next < end; ++next)
    {
      core = Packs::Min(core, Packs::Hold(m_Packs.ToKeys(load(coreRows, middle, next))));
    }
    if (shape.warps > 1)
    {
      m_Shared[2 * warp * Lanes + index] = Packs::Join(Packs::Min(least, core));
    }
    const int  behind = before + window;
    const auto behindRows = begin + behind * pitch;
    least = Packs::Hold(m_Packs.ToKeys(load(behindRows, behind, 0)));
    CUDAMEDIAN_UNROLL
    for (int i = 1; i < VRows; ++i)
    {
      lane.rows[i] = Packs::Join(Packs::Min(Packs::Hold(lane.rows[i]), least));
      least = Packs::Min(least, Packs::Hold(m_Packs.ToKeys(load(behindRows, behind, i))));
    }
    if (shape.warps > 1)
    {
      m_Shared[(2 * warp + 1) * Lanes + index] = Packs::Join(Packs::Min(least, core));
    }
    lane.core = Packs::Join(core);
  }

  /** Takes what other warps have found: rows before the core of those behind, and rows behind it of those before. */
  CUDAMEDIAN_HOST_DEVICE void
  Finish(Lane & lane, int warp, int index) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    auto         core = Packs::Hold(lane.core);
    CUDAMEDIAN_UNROLL_4
    for (int i = 0; i < shape.warps; ++i)
    {
      if (i != warp)
      {
        core = Packs::Min(core, Packs::Hold(m_Shared[(2 * i + (i < warp ? 1 : 0)) * Lanes + index]));
      }
    }
    const int  other = 6 - shape.along - shape.across;
    const int  column = (m_FirstVector + index) * Pixels;
    const int  place = m_Along + warp * VRows;
    const int  from = slab.outputOrigin[0] - column;
    const int  beyond = from + slab.outputExtent[0];
    const int  rows = slab.outputExtent[shape.along] - place;
    const auto pitch = slab.outputPitch[shape.along];
    const auto output = static_cast<TPixelBits *>(slab.output) + (column - slab.gridOrigin) + place * pitch +
                        m_Across * slab.outputPitch[shape.across] + m_Other * slab.outputPitch[other];
    if (beyond <= 0)
    {
      return;
    }
    const bool isWhole = from <= 0 && beyond >= Pixels;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRows; ++i)
    {
      if (i < rows)
      {
        const auto found = Packs::Join(Packs::Min(core, Packs::Hold(lane.rows[i])));
        isWhole ? m_Packs.Store(output + i * pitch, found) : m_Packs.Store(output + i * pitch, found, from, beyond);
      }
    }
  }

  const ExtremumArguments & m_Arguments;
  Packs                     m_Packs;
  Pack *                    m_Shared; ///< for each warp and lane two
  int                       m_FirstVector;
  int                       m_Along; ///< the first row, and the place along the other axes
  int                       m_Across;
  int                       m_Other;
};

} // namespace cudamedian

#endif
