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

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

/** Windows whose pixels have to be looked for along VAxes axes of a region, 0 and 1 among them. */
template <typename TPixels, int VAxes>
class ThresholdSearch
{
  using Threshold = typename TPixels::Threshold;

public:
  HWY_INLINE
  ThresholdSearch(const RankedPixels & pixels, const ThresholdWindows & windows, const int * axes)
    : m_Ranked(pixels)
    , m_Windows(windows)
    , m_Pixels(windows.size[1], pixels.shift[2])
    , m_MostBlocks(2 * windows.size[0] * windows.size[2] * windows.size[3] * (1 + windows.size[1] / 32))
  {
    for (int i = 0; i < VAxes; ++i)
    {
      m_Positions[i] = pixels.positions[axes[i]];
      m_Corner[i] = windows.corner[axes[i]];
      m_Size[i] = windows.size[axes[i]];
    }
    m_First = pixels.ranks;
    for (int axis = 0; axis < RankedPixels::axes; ++axis)
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
    const auto columns = m_Windows.columns;
    int        rank[VRows];
    int        below[VRows];
    for (int r = 0; r < VRows; ++r)
    {
      rank[r] = nearest;
      below[r] = CountWindow(row + r, 0, nearest);
    }
    for (std::size_t column = 0; column < columns; ++column)
    {
#  ifdef __GNUC__
#    pragma GCC unroll 4
#  endif
      for (int r = 0; r < VRows; ++r)
      {
        if (column > 0)
        {
          const auto threshold = TPixels::MakeThreshold(rank[r]);
          below[r] += CountColumn(row + r, column - 1 + m_Windows.size[0], threshold) -
                      CountColumn(row + r, column - 1, threshold);
        }
        const auto place = (row + r) * columns + column;
        rank[r] = Find(row + r, column, rank[r], wanted[place] - below[r], wanted[place]);
        below[r] = wanted[place];
        found[place] = static_cast<std::uint16_t>(rank[r]);
      }
    }
    return found[row * columns];
  }

private:
  /** A column's pixels below a threshold, by its number from the first window's first on. */
  HWY_INLINE int
  CountColumn(std::size_t row, std::size_t column, Threshold threshold) const
  {
    const auto * first = m_First + (column << m_Ranked.shift[0]);
    // Most windows have two axes: no loops around one vector or two.
    if (VAxes == 2 && m_Windows.size[2] == 1 && m_Windows.size[3] == 1)
    {
      return m_Pixels.CountBelow(first + row, threshold);
    }
    int count = 0;
    for (std::size_t d = 0; d < m_Windows.size[3]; ++d, first += std::size_t{ 1 } << m_Ranked.shift[3])
    {
      count += m_Pixels.CountBelow(first, row, m_Windows.size[2], threshold);
    }
    return count;
  }

  /** A window's pixels below a rank. */
  int
  CountWindow(std::size_t row, std::size_t column, int rank) const
  {
    const auto threshold = TPixels::MakeThreshold(rank);
    int        count = 0;
    for (std::size_t i = 0; i < m_Windows.size[0]; ++i)
    {
      count += CountColumn(row, column + i, threshold);
    }
    return count;
  }

  /** The pixel of a window that has `wanted` before it, of which `rest` are not below `rank`; negative where so many
   * too many are. */
  HWY_INLINE int
  Find(std::size_t row, std::size_t column, int rank, int rest, int wanted) const
  {
    std::uint8_t corner[VAxes];
    for (int i = 0; i < VAxes; ++i)
    {
      corner[i] = static_cast<std::uint8_t>(m_Corner[i] + (i == 0 ? column : i == 1 ? row : 0));
    }
    const bool isAbove = rest >= 0;
    const int  first = isAbove ? rank : rank - 64;
    const auto bits = Find64(first, corner);
    const int  count = TPixels::CountBits(bits);
    const int  below = isAbove ? rest : rest + count;
    return below >= 0 && below < count
             ? first + static_cast<int>(TPixels::GetPlace(bits, below))
             : FindFarther(row, column, first, isAbove, isAbove ? rest - count : below, wanted, corner);
  }

  /** Goes on behind or before 64 pixels. */
  HWY_NOINLINE int
  FindFarther(std::size_t row,
              std::size_t column,
              int         first,
              bool        isAbove,
              int         rest,
              int         wanted,
              const std::uint8_t (&corner)[VAxes]) const
  {
    first += isAbove ? 64 : -128;
    for (int i = 0; i < m_MostBlocks; ++i)
    {
      const auto low = Find64(first, corner);
      const auto high = Find64(first + 64, corner);
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
    int high = static_cast<int>(m_Ranked.count) - 1;
    while (low < high)
    {
      const int middle = (low + high + 1) / 2;
      if (CountWindow(row, column, middle) <= wanted)
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

  HWY_INLINE std::uint64_t
             Find64(int first, const std::uint8_t (&corner)[VAxes]) const
  {
    return TPixels::template Find64<VAxes>(m_Positions, first, corner, m_Size);
  }

  const RankedPixels &     m_Ranked;
  const ThresholdWindows & m_Windows;
  TPixels                  m_Pixels;
  int                      m_MostBlocks; ///< of 128 pixels, which take as long as to find a rank by halves
  const std::uint8_t *     m_Positions[VAxes];
  std::uint8_t             m_Corner[VAxes];
  std::uint8_t             m_Size[VAxes];
  const std::int16_t *     m_First; ///< pixel of the first window
};

template <typename TPixels, int VAxes>
void
FindAlong(const RankedPixels &     pixels,
          const ThresholdWindows & windows,
          const int *              axes,
          const std::uint16_t *    wanted,
          std::uint16_t &          nearest,
          std::uint16_t *          found)
{
  ThresholdSearch<TPixels, VAxes> search(pixels, windows, axes);
  constexpr int                   together = 4;
  std::size_t                     row = 0;
  std::uint16_t                   first = nearest;
  const auto                      keep = [&](std::uint16_t rank) {
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
template <typename TPixels>
void
FindInWindows(const RankedPixels &     pixels,
              const ThresholdWindows & windows,
              const std::uint16_t *    wanted,
              std::uint16_t &          nearest,
              std::uint16_t *          found)
{
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
      return FindAlong<TPixels, 2>(pixels, windows, axes, wanted, nearest, found);
    case 3:
      return FindAlong<TPixels, 3>(pixels, windows, axes, wanted, nearest, found);
    default:
      return FindAlong<TPixels, 4>(pixels, windows, axes, wanted, nearest, found);
  }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#endif
