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
#ifndef ExtremumColumns_h
#define ExtremumColumns_h

#include "ExtremumArguments.h"
#include "ExtremumPacks.h"

namespace cudamedian
{

/** A team of warps, the ones of a block: windows along axis 0 that are no shorter than the columns of a lane.
 *
 * A lane has some columns of as many rows as a word has keys, and makes words of them that have a column each, so that
 * all rows are compared at once. Lanes lie side by side along a row, or a part of one, with as many around the outputs
 * as windows reach; more rows follow behind it. A window has the last columns of a lane, those of whole lanes, and the
 * first ones of another lane, as van Herk (1992) and Gil and Werman (1993) have blocks: the blocks are lanes. Extremes
 * of several whole lanes come of doubling. A lane finds windows that begin in its columns; others store them. Columns
 * lie one behind the other in shared memory, so that there are no bank conflicts.
 * \tparam VWarps the most warps of a team */
template <typename TPixelBits, KeyMapping VMapping, int VWarps>
class ExtremumColumns
{
public:
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  static constexpr int  Keys = Words::Keys;                           ///< rows of a lane
  static constexpr int  Columns = GetLaneColumns(sizeof(TPixelBits)); ///< of a lane
  static constexpr int  Count = static_cast<int>(16 / sizeof(Word));  ///< words of a vector
  static constexpr int  Vectors = Columns / (Count * Keys);           ///< of a lane's row
  static constexpr bool IsTeam = true;
  static constexpr int  MostWarps = VWarps;
  static constexpr int  ResidentBlocks = 32 / VWarps; ///< for which there are registers, at least: 64 for each lane
  /** Words from a column to the next: two more than there are lanes, so that there are no bank conflicts. */
  static constexpr int Stride = extremumLanes * VWarps + columnPadding;

  using Packs = ExtremumPacks<TPixelBits, VMapping, Count>;
  using Pack = typename Packs::Pack;
  static constexpr int Pixels = Packs::Pixels;

  /** What a lane keeps between the steps. */
  struct Lane
  {
    Word ends[Columns]; ///< extremes of its last columns, from one on
    Word whole;         ///< of all its columns, and then of those of lanes that follow
  };

  CUDAMEDIAN_HOST_DEVICE
  ExtremumColumns(const ExtremumArguments & arguments, std::int64_t item, void * shared)
    : m_Arguments(arguments)
    , m_Packs(arguments.slab, arguments.isLast != 0)
    , m_Lanes(extremumLanes * arguments.shape.warps)
    , m_Begins(static_cast<Word *>(shared))
    , m_Windows(m_Begins + Columns * Stride)
    , m_Whole(m_Windows + Columns * Stride)
  {
    auto      group = static_cast<std::uint32_t>(item);
    const int part = arguments.divisors[0].Take(group);
    m_Outputs = arguments.staged - arguments.halo[0] - arguments.halo[1];
    m_FirstColumn = arguments.firstVector * Pixels + (part * m_Outputs - arguments.halo[0]) * Columns;
    m_FirstRow = static_cast<int>(group) * arguments.rows * Keys;
  }

  /** All of a team's outputs. */
  template <typename TTeam>
  CUDAMEDIAN_HOST_DEVICE void
  Run(TTeam & team) const
  {
    team.ForEach([&](int warp, int index, Lane & lane) { Read(lane, warp * extremumLanes + index); });
    team.Synchronize();
    // Extremes of so many lanes, a power of two: two of them, which may overlap, are all between the ends.
    const int lanes = (m_Arguments.shape.size[0] - 1) / Columns;
    int       reached = 1;
    int       from = 0;
    CUDAMEDIAN_KEEP_LOOP
    for (; 2 * reached < lanes; reached *= 2)
    {
      team.ForEach([&](int warp, int index, Lane & lane) {
        const int  place = warp * extremumLanes + index;
        const auto further = Words::Hold(GetWhole(from, place + reached));
        lane.whole = Words::Join(Words::Min(Words::Hold(lane.whole), further));
        m_Whole[m_Lanes - from + place] = lane.whole;
      });
      team.Synchronize();
      from = m_Lanes - from;
    }
    team.ForEach(
      [&](int warp, int index, Lane & lane) { FindWindows(lane, warp * extremumLanes + index, lanes, reached, from); });
    team.Synchronize();
    team.ForEach([&](int warp, int index, Lane &) { Store(warp * extremumLanes + index); });
  }

private:
  /** A lane's first row, and the place of that along the other axes. */
  struct Place
  {
    int row;      ///< among the slab's outputs
    int lane;     ///< among those of the row's part
    int along[3]; ///< of axes 1 to 3
  };

  CUDAMEDIAN_HOST_DEVICE Place
  FindPlace(int index) const
  {
    const auto group = m_Arguments.divisors[1].Divide(static_cast<std::uint32_t>(index));
    const bool isRow = static_cast<int>(group) < m_Arguments.rows;
    const auto row =
      static_cast<std::uint32_t>(isRow ? m_FirstRow + static_cast<int>(group) * Keys : m_Arguments.segments);
    const auto planes = m_Arguments.divisors[2].Divide(row);
    const auto blocks = m_Arguments.divisors[3].Divide(planes);
    return { static_cast<int>(row),
             index - static_cast<int>(group) * m_Arguments.staged,
             { static_cast<int>(row - planes * m_Arguments.divisors[2].divisor),
               static_cast<int>(planes - blocks * m_Arguments.divisors[3].divisor),
               static_cast<int>(blocks) } };
  }

  /** Goes to the next row. */
  CUDAMEDIAN_HOST_DEVICE void
  Advance(Place & place) const
  {
    ++place.row;
    if (++place.along[0] == m_Arguments.slab.outputExtent[1])
    {
      place.along[0] = 0;
      if (++place.along[1] == m_Arguments.slab.outputExtent[2])
      {
        place.along[1] = 0;
        ++place.along[2];
      }
    }
  }

  /** Reads a lane's columns, and finds their extremes from both ends. */
  CUDAMEDIAN_HOST_DEVICE void
  Read(Lane & lane, int index) const
  {
    const auto & slab = m_Arguments.slab;
    auto         place = FindPlace(index);
    const int    column = m_FirstColumn + place.lane * Columns;
    Pack         packs[Keys][Vectors];
    CUDAMEDIAN_UNROLL
    for (int row = 0; row < Keys; ++row)
    {
      const auto pixels = static_cast<const TPixelBits *>(slab.input) +
                          (place.along[0] + slab.outputOrigin[1]) * slab.inputPitch[1] +
                          (place.along[1] + slab.outputOrigin[2]) * slab.inputPitch[2] +
                          (place.along[2] + slab.outputOrigin[3]) * slab.inputPitch[3];
      const int left = place.row < m_Arguments.segments ? slab.inputExtent[0] - column : 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Vectors; ++i)
      {
        const int  first = column + i * Pixels;
        const bool isInside = first >= 0 && left > i * Pixels;
        packs[row][i] = isInside ? m_Packs.Load(pixels + first, left - i * Pixels) : m_Packs.GetNeutralPixels();
      }
      Advance(place);
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Vectors; ++i)
    {
      CUDAMEDIAN_UNROLL
      for (int word = 0; word < Count; ++word)
      {
        Word words[Keys];
        CUDAMEDIAN_UNROLL
        for (int row = 0; row < Keys; ++row)
        {
          words[row] = packs[row][i].words[word];
        }
        Words::Transpose(words);
        CUDAMEDIAN_UNROLL
        for (int key = 0; key < Keys; ++key)
        {
          lane.ends[(i * Count + word) * Keys + key] = m_Packs.ToKeys(words[key]);
        }
      }
    }
    Held begins = Words::Hold(lane.ends[0]);
    m_Begins[index] = lane.ends[0];
    CUDAMEDIAN_UNROLL
    for (int i = 1; i < Columns; ++i)
    {
      begins = Words::Min(begins, Words::Hold(lane.ends[i]));
      m_Begins[i * Stride + index] = Words::Join(begins);
    }
    lane.whole = Words::Join(begins);
    m_Whole[index] = lane.whole;
    Held ends = Words::Hold(lane.ends[Columns - 1]);
    CUDAMEDIAN_UNROLL
    for (int i = Columns - 2; i >= 0; --i)
    {
      ends = Words::Min(ends, Words::Hold(lane.ends[i]));
      lane.ends[i] = Words::Join(ends);
    }
  }

  /** Extremes of whole lanes; of what lies behind the last one nothing is asked. */
  CUDAMEDIAN_HOST_DEVICE Word
  GetWhole(int from, int lane) const
  {
    return m_Whole[from + (lane < m_Lanes ? lane : m_Lanes - 1)];
  }

  /** Windows that begin in a lane's columns: they have so many whole lanes, or one fewer. */
  CUDAMEDIAN_HOST_DEVICE void
  FindWindows(const Lane & lane, int index, int lanes, int reached, int from) const
  {
    const auto & shape = m_Arguments.shape;
    const int    output = index + shape.before[0] / Columns;
    if (output >= m_Lanes)
    {
      return; // nobody has the outputs
    }
    Held fewer = Words::Hold(Packs::GetNeutral());
    if (lanes > 1)
    {
      fewer = Words::Min(Words::Hold(GetWhole(from, index + 1)), Words::Hold(GetWhole(from, index + lanes - reached)));
    }
    const auto all = lanes > 0 ? Words::Min(fewer, Words::Hold(GetWhole(from, index + 1 + lanes - reached))) : fewer;
    const int  last = (shape.size[0] - 1) % Columns;
    const int  first = shape.before[0] % Columns;
    // Two lanes have what is behind, or have the outputs. What lies behind the last lane nobody needs; there is room.
    const auto limit = [this](int lane) { return lane < m_Lanes ? lane : m_Lanes; };
    const int  nearBegins = FindBytes(last, limit(index + lanes));
    const int  farBegins = FindBytes(last - Columns, limit(index + lanes + 1));
    const int  nearWindows = FindBytes(first, output);
    const int  farWindows = FindBytes(first - Columns, output + 1);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Columns; ++i)
    {
      const bool isFar = i + last >= Columns;
      const auto begins = Words::Hold(At(m_Begins + i * Stride, isFar ? farBegins : nearBegins));
      const auto found = Words::Min(Words::Hold(lane.ends[i]), begins, Words::Choose(isFar, all, fewer));
      At(m_Windows + i * Stride, i + first >= Columns ? farWindows : nearWindows) = Words::Join(found);
    }
  }

  /** Where a lane's word of a column is, so many bytes behind the first word. The compiler is to add them up once: it
   * would choose between summands, and add for each use. */
  static CUDAMEDIAN_HOST_DEVICE int
  FindBytes(int column, int lane)
  {
    int bytes = (column * Stride + lane) * static_cast<int>(sizeof(Word));
#ifdef __CUDA_ARCH__
    asm("" : "+r"(bytes));
#endif
    return bytes;
  }

  static CUDAMEDIAN_HOST_DEVICE Word &
  At(Word * words, int bytes)
  {
    return *reinterpret_cast<Word *>(reinterpret_cast<char *>(words) + bytes);
  }

  /** Stores vectors side by side. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(int index) const
  {
    const auto & slab = m_Arguments.slab;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Vectors; ++i)
    {
      const int vector = index + i * m_Lanes;
      auto      place = FindPlace(vector / Vectors);
      const int output = place.lane - m_Arguments.halo[0];
      if (place.row >= m_Arguments.segments || output < 0 || output >= m_Outputs)
      {
        continue;
      }
      const Word * const windows = m_Windows + vector % Vectors * Pixels * Stride + vector / Vectors;
      Pack               found[Keys];
      CUDAMEDIAN_UNROLL
      for (int word = 0; word < Count; ++word)
      {
        Word words[Keys];
        CUDAMEDIAN_UNROLL
        for (int key = 0; key < Keys; ++key)
        {
          words[key] = windows[(word * Keys + key) * Stride];
        }
        Words::Transpose(words);
        CUDAMEDIAN_UNROLL
        for (int row = 0; row < Keys; ++row)
        {
          found[row].words[word] = words[row];
        }
      }
      const int column = m_FirstColumn + place.lane * Columns + vector % Vectors * Pixels;
      const int first = slab.outputOrigin[0] - column;
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < Keys; ++row)
      {
        if (place.row < m_Arguments.segments)
        {
          m_Packs.Store(static_cast<TPixelBits *>(slab.output) + place.along[0] * slab.outputPitch[1] +
                          place.along[1] * slab.outputPitch[2] + place.along[2] * slab.outputPitch[3] +
                          (column - slab.gridOrigin),
                        found[row],
                        first,
                        first + slab.outputExtent[0]);
        }
        Advance(place);
      }
    }
  }

  const ExtremumArguments & m_Arguments;
  Packs                     m_Packs;
  int                       m_Lanes;   ///< of the team
  Word *                    m_Begins;  ///< in shared memory: extremes of the first columns of lanes
  Word *                    m_Windows; ///< of windows, where their outputs belong
  Word *                    m_Whole;   ///< of whole lanes, twice: some lanes write while others read
  int                       m_Outputs; ///< lanes of a row's part that have outputs
  int                       m_FirstColumn;
  int                       m_FirstRow;
};

} // namespace cudamedian

#endif
