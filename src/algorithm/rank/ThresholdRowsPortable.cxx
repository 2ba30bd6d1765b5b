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
#include "ThresholdRows.h"

// What Highway has for functions of an instruction set: here there is one, the compiler's.
#define CUDAMEDIAN_WITHOUT_HIGHWAY
#define HWY_INLINE inline
#define HWY_NOINLINE
#define HWY_NAMESPACE Portable
#define HWY_BEFORE_NAMESPACE() static_assert(true, "")
#define HWY_AFTER_NAMESPACE() static_assert(true, "")
#include "ThresholdSearch-inl.h"

namespace cudamedian
{
namespace
{

/** As VectorPixels. */
class SinglePixels
{
public:
  using Threshold = int;

  SinglePixels(const RankedPixels & pixels, const ThresholdWindows & windows, bool)
    : m_Pixels(pixels)
    , m_Windows(windows)
  {}

  static Threshold
  MakeThreshold(int rank)
  {
    return rank - RankedPixels::offset;
  }

  int
  CountBelow(const std::int16_t * ranks, Threshold threshold) const
  {
    int count = 0;
    for (std::size_t i = 0; i < m_Windows.size[1]; ++i)
    {
      count += ranks[i] < threshold ? 1 : 0;
    }
    return count;
  }

  int
  CountColumns(const std::int16_t * first, std::size_t columns, std::size_t row, Threshold threshold) const
  {
    int count = 0;
    for (std::size_t column = 0; column < columns; ++column)
    {
      count += CountColumn(first + (column << m_Pixels.shift[0]) + row, threshold);
    }
    return count;
  }

  template <int VRows>
  void
  AddChanges(const std::int16_t * entering,
             const std::int16_t * leaving,
             std::size_t          row,
             const int (&ranks)[VRows],
             int (&below)[VRows]) const
  {
    for (int r = 0; r < VRows; ++r)
    {
      const auto threshold = MakeThreshold(ranks[r]);
      below[r] += CountColumn(entering + row + r, threshold) - CountColumn(leaving + row + r, threshold);
    }
  }

  template <int VAxes>
  static std::uint64_t
  Find64(const std::uint8_t * const (&positions)[VAxes],
         std::ptrdiff_t first,
         const int (&corner)[VAxes],
         const int (&size)[VAxes])
  {
    std::uint64_t bits = 0;
    for (int i = 0; i < 64; ++i)
    {
      bool inside = true;
      for (int axis = 0; axis < VAxes; ++axis)
      {
        inside = inside && static_cast<std::uint8_t>(positions[axis][first + i] - corner[axis]) < size[axis];
      }
      bits |= std::uint64_t{ inside } << i;
    }
    return bits;
  }

  static int
  CountBits(std::uint64_t bits)
  {
    int count = 0;
    for (; bits != 0; bits &= bits - 1)
    {
      ++count;
    }
    return count;
  }

  static std::uint32_t
  GetPlace(std::uint64_t bits, int below)
  {
    for (; below > 0; --below)
    {
      bits &= bits - 1;
    }
    std::uint32_t place = 0;
    for (; (bits >> place & 1) == 0; ++place)
    {
    }
    return place;
  }

private:
  /** How many of the pixels of a column with its rim are below a threshold. */
  int
  CountColumn(const std::int16_t * first, Threshold threshold) const
  {
    int count = 0;
    for (std::size_t volume = 0; volume < m_Windows.size[3]; ++volume)
    {
      for (std::size_t slice = 0; slice < m_Windows.size[2]; ++slice)
      {
        count += CountBelow(first + (volume << m_Pixels.shift[3]) + (slice << m_Pixels.shift[2]), threshold);
      }
    }
    return count;
  }

  const RankedPixels &     m_Pixels;
  const ThresholdWindows & m_Windows;
};

/** As VectorFootprint. */
class SingleFootprint
{
public:
  static constexpr int mostTogether = 4;

  SingleFootprint(const RankedPixels & pixels, const ThresholdWindows & windows)
    : m_Pixels(pixels)
    , m_Windows(windows)
  {}

  static std::size_t
  CountTogether()
  {
    return mostTogether;
  }

  void
  CountWindows(const std::int16_t * ranks, const std::int16_t * thresholds, std::int16_t * counts) const
  {
    ForEach(counts, [&](std::size_t window, std::size_t row) {
      int count = 0;
      for (int column = 0; column < m_Windows.length[row]; ++column)
      {
        count += IsBelow(ranks, row, m_Windows.first[row] + column, window, thresholds);
      }
      return count;
    });
  }

  void
  CountChanges(const std::int16_t * ranks, const std::int16_t * thresholds, std::int16_t * changes) const
  {
    ForEach(changes, [&](std::size_t window, std::size_t row) {
      const int first = m_Windows.first[row];
      return IsBelow(ranks, row, first + m_Windows.length[row], window, thresholds) -
             IsBelow(ranks, row, first, window, thresholds);
    });
  }

  std::uint64_t
  Find64(std::ptrdiff_t first, const int (&corner)[2]) const
  {
    std::uint64_t bits = 0;
    for (int i = 0; i < 64; ++i)
    {
      const auto column = static_cast<std::uint8_t>(m_Pixels.positions[0][first + i] - corner[0]);
      const auto row = static_cast<std::uint8_t>(m_Pixels.positions[1][first + i] - corner[1]);
      const bool inside =
        row < m_Windows.size[1] && static_cast<std::uint8_t>(column - m_Windows.first[row]) < m_Windows.length[row];
      bits |= std::uint64_t{ inside } << i;
    }
    return bits;
  }

  static int
  CountBits(std::uint64_t bits)
  {
    return SinglePixels::CountBits(bits);
  }

  static std::uint32_t
  GetPlace(std::uint64_t bits, int below)
  {
    return SinglePixels::GetPlace(bits, below);
  }

private:
  int
  IsBelow(const std::int16_t * ranks, std::size_t row, int column, std::size_t window, const std::int16_t * thresholds)
    const
  {
    return ranks[(static_cast<std::size_t>(column) << m_Pixels.shift[0]) + row + window] < thresholds[window] ? 1 : 0;
  }

  /** Adds up body(window, row) of all rows, for each window. */
  template <typename TBody>
  void
  ForEach(std::int16_t * sums, const TBody & body) const
  {
    for (std::size_t window = 0; window < mostTogether; ++window)
    {
      int sum = 0;
      for (std::size_t row = 0; row < m_Windows.size[1]; ++row)
      {
        sum += body(window, row);
      }
      sums[window] = static_cast<std::int16_t>(sum);
    }
  }

  const RankedPixels &     m_Pixels;
  const ThresholdWindows & m_Windows;
};

} // namespace

void
FindByThresholds(const RankedPixels &     pixels,
                 const ThresholdWindows & windows,
                 const std::uint16_t *    wanted,
                 std::uint16_t &          nearest,
                 std::uint16_t *          found)
{
  Portable::FindInWindows<SinglePixels, SingleFootprint>(pixels, windows, wanted, nearest, found);
}

} // namespace cudamedian
