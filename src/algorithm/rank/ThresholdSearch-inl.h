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
// Included once per instruction set (Google Highway), or once where there is no Highway, by a source that stands in for
// its macros. TPixels knows vectors, or single pixels: see VectorPixels in ThresholdRows.cxx.
#if defined(ThresholdSearch_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef ThresholdSearch_inl_h
#    undef ThresholdSearch_inl_h
#  else
#    define ThresholdSearch_inl_h
#  endif

#  include "ThresholdRows.h"

#  ifndef CUDAMEDIAN_WITHOUT_HIGHWAY
#    include "hwy/highway.h"
#  endif

#  include <cstddef>
#  include <cstdint>
#  include <initializer_list>

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

/** Looks for the pixels of windows among the ranks of a region.
 * \tparam TWindows which of 64 ranks lie in a window, and how many are below one: Find64() and CountWindow()
 * \tparam VAxes of the region along which pixels have to be looked for, 0 and 1 among them
 * \tparam VHasTwo whether 128 pixels are looked through at first, and not 64: in cubes the next window's pixel is
 * farther away. One thread with AVX-512, random 16-bit pixels: 9x9x9 46 ns for 51, but 31x31 20.7 for 17.9 (0f0a6d2).
 */
template <typename TWindows, typename TPixels, int VAxes, bool VHasTwo>
class RankSearch
{
public:
  HWY_INLINE
  RankSearch(const RankedPixels & pixels, const ThresholdWindows & windows, const int * axes)
    : m_Count(static_cast<int>(pixels.count))
    , m_MostBlocks(2 * windows.size[0] * windows.size[2] * windows.size[3] * (1 + windows.size[1] / 32))
  {
    for (int i = 0; i < VAxes; ++i)
    {
      m_Corner[i] = windows.corner[axes[i]];
    }
  }

  /** The pixel of a window that has `wanted` before it, of which `rest` are not below `rank`; negative where so many
   * too many are. */
  HWY_INLINE int
  Find(std::size_t row, std::size_t column, int rank, int rest, int wanted) const
  {
    // Not bytes, which anything written may be a part of.
    int corner[VAxes];
    for (int i = 0; i < VAxes; ++i)
    {
      corner[i] = m_Corner[i] + static_cast<int>(i == 0 ? column : i == 1 ? row : 0);
    }
    // Masks of all bits or none, for what a branch would be foretold wrongly in many windows.
    const int  isDown = SpreadSign(rest);
    const int  first = rank + (isDown & (VHasTwo ? -128 : -64));
    const auto low = GetWindows().Find64(first, corner);
    const auto high = VHasTwo ? GetWindows().Find64(first + 64, corner) : 0;
    const int  inLow = TPixels::CountBits(low);
    const int  count = VHasTwo ? inLow + TPixels::CountBits(high) : inLow;
    const int  below = rest + (isDown & count);
    if (static_cast<unsigned int>(below) >= static_cast<unsigned int>(count))
    {
      const bool isAbove = isDown == 0;
      const int  further = isAbove ? first + (VHasTwo ? 128 : 64) : first - 128;
      return FindFarther(row, column, further, isAbove, isAbove ? rest - count : below, wanted, corner);
    }
    if constexpr (VHasTwo)
    {
      const int  isHigh = SpreadSign(inLow - 1 - below);
      const auto bits = low ^ ((low ^ high) & static_cast<std::uint64_t>(static_cast<std::int64_t>(isHigh)));
      return first + (isHigh & 64) + static_cast<int>(TPixels::GetPlace(bits, below - (isHigh & inLow)));
    }
    return first + static_cast<int>(TPixels::GetPlace(low, below));
  }

private:
  /** All bits of a negative number, or none: a comparison may become a branch again. */
  static HWY_INLINE int
  SpreadSign(int number)
  {
    return -static_cast<int>(static_cast<unsigned int>(number) >> 31);
  }

  HWY_INLINE const TWindows &
  GetWindows() const
  {
    return static_cast<const TWindows &>(*this);
  }

  /** Goes on from one pixel on, or before the 128 behind it. */
  HWY_NOINLINE int
  FindFarther(std::size_t row,
              std::size_t column,
              int         first,
              bool        isAbove,
              int         rest,
              int         wanted,
              const int (&corner)[VAxes]) const
  {
    for (int i = 0; i < m_MostBlocks; ++i)
    {
      const auto low = GetWindows().Find64(first, corner);
      const auto high = GetWindows().Find64(first + 64, corner);
      const int  inLow = TPixels::CountBits(low);
      const int  count = inLow + TPixels::CountBits(high);
      const int  below = isAbove ? rest : rest + count;
      if (below >= 0 && below < count)
      {
        return first + static_cast<int>(below < inLow ? TPixels::GetPlace(low, below)
                                                      : 64 + TPixels::GetPlace(high, below - inLow));
      }
      rest = isAbove ? rest - count : below;
      first += isAbove ? 128 : -128;
    }
    return FindByHalves(row, column, wanted);
  }

  /** The last rank that has no more of the window's pixels below it. */
  int
  FindByHalves(std::size_t row, std::size_t column, int wanted) const
  {
    int low = 0;
    int high = m_Count - 1;
    while (low < high)
    {
      const int middle = (low + high + 1) / 2;
      if (GetWindows().CountWindow(row, column, middle) <= wanted)
      {
        low = middle;
      }
      else
      {
        high = middle - 1;
      }
    }
    return low;
  }

  int m_Count;      ///< pixels of the region
  int m_MostBlocks; ///< of 128 pixels, which take as long as to find a rank by halves
  int m_Corner[VAxes];
};

/** Windows that are boxes.
 * \tparam VIsFlat whether they have one pixel along the other axes than VAxes, and so one vector or two to a column */
template <typename TPixels, int VAxes, bool VIsFlat>
class ThresholdSearch : public RankSearch<ThresholdSearch<TPixels, VAxes, VIsFlat>, TPixels, VAxes, !VIsFlat>
{
  using Threshold = typename TPixels::Threshold;
  using Search = RankSearch<ThresholdSearch, TPixels, VAxes, !VIsFlat>;

public:
  HWY_INLINE
  ThresholdSearch(const RankedPixels & pixels, const ThresholdWindows & windows, const int * axes)
    : Search(pixels, windows, axes)
    , m_Pixels(pixels, windows, VIsFlat)
    , m_Outputs(windows.columns)
    , m_Row(windows.corner[1])
    , m_Columns(windows.size[0])
    , m_ColumnShift(pixels.shift[0])
  {
    for (int i = 0; i < VAxes; ++i)
    {
      m_Positions[i] = pixels.positions[axes[i]];
      m_Size[i] = windows.size[axes[i]];
    }
    m_First = pixels.ranks;
    for (const int axis : { 0, 2, 3 })
    {
      m_First += static_cast<std::size_t>(windows.corner[axis]) << pixels.shift[axis];
    }
  }

  /** VRows rows at a time from one on, since the steps of one row wait for each other.
   * \returns the rank of the first window. */
  template <int VRows>
  HWY_INLINE std::uint16_t
             FindRows(std::size_t row, int nearest, const std::uint16_t * wanted, std::uint16_t * found)
  {
    const auto columns = m_Outputs;
    int        rank[VRows];
    int        below[VRows];
    for (int r = 0; r < VRows; ++r)
    {
      rank[r] = nearest;
      below[r] = CountWindow(row + r, 0, nearest);
    }
    for (std::size_t column = 0; column < columns; ++column)
    {
      if (column > 0)
      {
        AddChanges(row, column, rank, below);
      }
#  ifdef __GNUC__
#    pragma GCC unroll 4
#  endif
      for (int r = 0; r < VRows; ++r)
      {
        const auto place = (row + r) * columns + column;
        rank[r] = this->Find(row + r, column, rank[r], wanted[place] - below[r], wanted[place]);
        below[r] = wanted[place];
        found[place] = static_cast<std::uint16_t>(rank[r]);
      }
    }
    return found[row * columns];
  }

  /** A window's pixels below a rank. */
  int
  CountWindow(std::size_t row, std::size_t column, int rank) const
  {
    const auto * first = m_First + (column << m_ColumnShift);
    const auto   threshold = TPixels::MakeThreshold(rank);
    if constexpr (VIsFlat)
    {
      int count = 0;
      for (std::size_t i = 0; i < m_Columns; ++i)
      {
        count += m_Pixels.CountBelow(first + (i << m_ColumnShift) + m_Row + row, threshold);
      }
      return count;
    }
    else
    {
      return m_Pixels.CountColumns(first, m_Columns, m_Row + row, threshold);
    }
  }

  HWY_INLINE std::uint64_t
             Find64(int first, const int (&corner)[VAxes]) const
  {
    return TPixels::template Find64<VAxes>(m_Positions, first, corner, m_Size);
  }

private:
  /** Adds how many more of windows' pixels are below ranks, one of each, than of the windows before them in their rows.
   */
  template <int VRows>
  HWY_INLINE void
  AddChanges(std::size_t row, std::size_t column, const int (&ranks)[VRows], int (&below)[VRows]) const
  {
    const auto * leaving = m_First + ((column - 1) << m_ColumnShift);
    const auto * entering = leaving + (m_Columns << m_ColumnShift);
    if constexpr (VIsFlat)
    {
#  ifdef __GNUC__
#    pragma GCC unroll 4
#  endif
      for (int r = 0; r < VRows; ++r)
      {
        const auto threshold = TPixels::MakeThreshold(ranks[r]);
        const auto first = m_Row + row + static_cast<std::size_t>(r);
        below[r] += m_Pixels.CountBelow(entering + first, threshold) - m_Pixels.CountBelow(leaving + first, threshold);
      }
    }
    else
    {
      m_Pixels.AddChanges(entering, leaving, m_Row + row, ranks, below);
    }
  }

  TPixels              m_Pixels;
  std::size_t          m_Outputs; ///< windows of a row
  std::size_t          m_Row;     ///< of the first window
  std::size_t          m_Columns; ///< of a window
  int                  m_ColumnShift;
  const std::uint8_t * m_Positions[VAxes];
  int                  m_Size[VAxes];
  const std::int16_t * m_First; ///< column of the first window
};

/** Windows of a footprint. Those that lie side by side along axis 1 are counted together: a vector has a pixel of each.
 */
template <typename TPixels>
class FootprintSearch : public RankSearch<FootprintSearch<TPixels>, TPixels, 2, false>
{
  using Search = RankSearch<FootprintSearch, TPixels, 2, false>;

public:
  HWY_INLINE
  FootprintSearch(const RankedPixels & pixels, const ThresholdWindows & windows, const int * axes)
    : Search(pixels, windows, axes)
    , m_Pixels(pixels, windows)
    , m_First(pixels.ranks + windows.corner[1])
    , m_Outputs(windows.columns)
    , m_ColumnShift(pixels.shift[0])
  {
    for (const int axis : { 0, 2, 3 })
    {
      m_First += static_cast<std::size_t>(windows.corner[axis]) << pixels.shift[axis];
    }
  }

  /** Rows of windows that are found together at most. */
  HWY_INLINE std::size_t
             CountTogether() const
  {
    return m_Pixels.CountTogether();
  }

  /** Some rows from one on. \returns the rank of the first window. */
  HWY_INLINE std::uint16_t
  FindRows(std::size_t row, std::size_t rows, int nearest, const std::uint16_t * wanted, std::uint16_t * found)
  {
    alignas(64) std::int16_t thresholds[TPixels::mostTogether];
    alignas(64) std::int16_t changes[TPixels::mostTogether];
    int                      below[TPixels::mostTogether] = {};
    for (auto & threshold : thresholds)
    {
      threshold = static_cast<std::int16_t>(nearest - RankedPixels::offset);
    }
    const auto * first = m_First + row;
    m_Pixels.CountWindows(first, thresholds, changes);
    for (std::size_t r = 0; r < rows; ++r)
    {
      // More than a signed word holds; never more than 65535.
      below[r] = static_cast<std::uint16_t>(changes[r]);
      changes[r] = 0;
    }
    for (std::size_t column = 0; column < m_Outputs; ++column)
    {
      if (column > 0)
      {
        m_Pixels.CountChanges(first + ((column - 1) << m_ColumnShift), thresholds, changes);
      }
      for (std::size_t r = 0; r < rows; ++r)
      {
        const auto place = (row + r) * m_Outputs + column;
        const int  rest = wanted[place] - below[r] - changes[r];
        const int  rank = this->Find(row + r, column, thresholds[r] + RankedPixels::offset, rest, wanted[place]);
        below[r] = wanted[place];
        thresholds[r] = static_cast<std::int16_t>(rank - RankedPixels::offset);
        found[place] = static_cast<std::uint16_t>(rank);
      }
    }
    return found[row * m_Outputs];
  }

  int
  CountWindow(std::size_t row, std::size_t column, int rank) const
  {
    alignas(64) std::int16_t thresholds[TPixels::mostTogether];
    alignas(64) std::int16_t counts[TPixels::mostTogether];
    for (auto & threshold : thresholds)
    {
      threshold = static_cast<std::int16_t>(rank - RankedPixels::offset);
    }
    m_Pixels.CountWindows(m_First + (column << m_ColumnShift) + row, thresholds, counts);
    return static_cast<std::uint16_t>(counts[0]);
  }

  HWY_INLINE std::uint64_t
             Find64(int first, const int (&corner)[2]) const
  {
    return m_Pixels.Find64(first, corner);
  }

private:
  TPixels              m_Pixels;
  const std::int16_t * m_First; ///< pixel of the first window's box
  std::size_t          m_Outputs;
  int                  m_ColumnShift;
};

template <typename TPixels>
void
FindInFootprints(const RankedPixels &     pixels,
                 const ThresholdWindows & windows,
                 const std::uint16_t *    wanted,
                 std::uint16_t &          nearest,
                 std::uint16_t *          found)
{
  constexpr int            axes[] = { 0, 1 };
  FootprintSearch<TPixels> search(pixels, windows, axes);
  const auto               together = search.CountTogether();
  std::uint16_t            first = nearest;
  for (std::size_t row = 0; row < windows.rows; row += together)
  {
    const auto left = windows.rows - row;
    first = search.FindRows(row, left < together ? left : together, first, wanted, found);
    nearest = row == 0 ? first : nearest;
  }
}

template <typename TPixels, int VAxes, bool VIsFlat>
void
FindAlong(const RankedPixels &     pixels,
          const ThresholdWindows & windows,
          const int *              axes,
          const std::uint16_t *    wanted,
          std::uint16_t &          nearest,
          std::uint16_t *          found)
{
  ThresholdSearch<TPixels, VAxes, VIsFlat> search(pixels, windows, axes);
  constexpr int                            together = 4;
  std::size_t                              row = 0;
  std::uint16_t                            first = nearest;
  const auto                               keep = [&](std::uint16_t rank) {
    nearest = row == 0 ? rank : nearest;
    first = rank;
  };
  for (; row + together <= windows.rows; row += together)
  {
    keep(search.template FindRows<together>(row, first, wanted, found));
  }
  for (; row < windows.rows; ++row)
  {
    keep(search.template FindRows<1>(row, first, wanted, found));
  }
}

/** See FindByThresholds(). */
template <typename TPixels, typename TFootprint>
void
FindInWindows(const RankedPixels &     pixels,
              const ThresholdWindows & windows,
              const std::uint16_t *    wanted,
              std::uint16_t &          nearest,
              std::uint16_t *          found)
{
  if (windows.length != nullptr)
  {
    return FindInFootprints<TFootprint>(pixels, windows, wanted, nearest, found);
  }
  int axes[RankedPixels::axes] = { 0, 1 };
  int count = 2;
  for (int axis = 2; axis < RankedPixels::axes; ++axis)
  {
    if (pixels.positions[axis] != nullptr)
    {
      axes[count++] = axis;
    }
  }
  switch (count)
  {
    case 2:
      return windows.size[2] == 1 && windows.size[3] == 1
               ? FindAlong<TPixels, 2, true>(pixels, windows, axes, wanted, nearest, found)
               : FindAlong<TPixels, 2, false>(pixels, windows, axes, wanted, nearest, found);
    case 3:
      return FindAlong<TPixels, 3, false>(pixels, windows, axes, wanted, nearest, found);
    default:
      return FindAlong<TPixels, 4, false>(pixels, windows, axes, wanted, nearest, found);
  }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#endif
