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

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ThresholdRows.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "MaskBits-inl.h"
#include "ThresholdSearch-inl.h"

#include <vector>

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<std::uint8_t, 64>;
using Words = hn::CappedTag<std::int16_t, 32>;
using Ranks = hn::Vec<Words>;

/** One more in each lane whose pixel is below a threshold. */
HWY_INLINE Ranks
AddBelow(Ranks sum, const std::int16_t * ranks, Ranks threshold)
{
  const Words d;
  const auto  isBelow = hn::Lt(hn::LoadU(d, ranks), threshold);
#if HWY_TARGET <= HWY_AVX3
  // One instruction with a mask, which what a comparison finds is there.
  return hn::IfThenElse(isBelow, hn::Add(sum, hn::Set(d, 1)), sum);
#else
  return hn::Sub(sum, hn::VecFromMask(d, isBelow));
#endif
}

/** The same, and one less for a pixel that leaves. */
HWY_INLINE Ranks
AddChange(Ranks sum, const std::int16_t * entering, const std::int16_t * leaving, Ranks threshold)
{
  const Words d;
  const auto  more = AddBelow(sum, entering, threshold);
  const auto  isBelow = hn::Lt(hn::LoadU(d, leaving), threshold);
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElse(isBelow, hn::Sub(more, hn::Set(d, 1)), more);
#else
  return hn::Add(more, hn::VecFromMask(d, isBelow));
#endif
}

/** Vectors of at most 64 positions and of at most 32 ranks. */
class VectorPixels
{
public:
  using Threshold = Ranks;

  /** \param isFlat whether CountColumns() and AddChanges() are not called */
  HWY_INLINE
  VectorPixels(const RankedPixels & pixels, const ThresholdWindows & windows, bool isFlat)
    : m_Length(windows.size[1])
    , m_ColumnShift(pixels.shift[0])
  {
    if (!isFlat)
    {
      ListVectors(pixels, windows);
    }
  }

  static HWY_INLINE Threshold
  MakeThreshold(int rank)
  {
    return hn::Set(Words(), static_cast<std::int16_t>(rank - RankedPixels::offset));
  }

  /** How many of a column's pixels, which lie side by side, are below a threshold. */
  HWY_INLINE int
  CountBelow(const std::int16_t * ranks, Threshold threshold) const
  {
    const Words       d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t       count = 0;
    std::size_t       i = 0;
    for (; i + lanes <= m_Length; i += lanes)
    {
      count += hn::CountTrue(d, hn::Lt(hn::LoadU(d, ranks + i), threshold));
    }
    if (i < m_Length)
    {
      count += hn::CountTrue(d, hn::And(hn::FirstN(d, m_Length - i), hn::Lt(hn::LoadU(d, ranks + i), threshold)));
    }
    return static_cast<int>(count);
  }

  /** The same of columns with their rims, from a row on. \param first of so many */
  HWY_INLINE int
  CountColumns(const std::int16_t * first, std::size_t columns, std::size_t row, Threshold threshold) const
  {
    auto whole = hn::Zero(Words());
    auto parts = hn::Zero(Words());
    for (std::size_t column = 0; column < columns; ++column)
    {
      const auto * start = first + (column << m_ColumnShift) + row * m_RowStep;
      for (std::size_t i = 0; i < m_Whole; ++i)
      {
        whole = AddBelow(whole, start + m_Vectors[i], threshold);
      }
      for (std::size_t i = m_Whole; i < m_Vectors.size(); ++i)
      {
        parts = AddBelow(parts, start + m_Vectors[i], threshold);
      }
    }
    // More than a signed word holds, where vectors have one lane; never more than 65535, since a threshold is a rank.
    return static_cast<std::uint16_t>(AddLanes(row, whole, parts));
  }

  /** Adds how many more pixels of a column with its rim are below thresholds than of another: in one window, or in four
   * that lie one below the other from a row on. Vectors of comparisons are added up lane by lane, and lanes at the end:
   * to count each of them costs more. */
  HWY_INLINE void
  AddChanges(const std::int16_t * entering,
             const std::int16_t * leaving,
             std::size_t          row,
             const int (&ranks)[1],
             int (&below)[1]) const
  {
    const auto threshold = MakeThreshold(ranks[0]);
    below[0] += CountColumns(entering, 1, row, threshold) - CountColumns(leaving, 1, row, threshold);
  }

  HWY_INLINE void
  AddChanges(const std::int16_t * entering,
             const std::int16_t * leaving,
             std::size_t          row,
             const int (&ranks)[4],
             int (&below)[4]) const
  {
    // Not arrays: vectors of SVE have no size.
    const auto t0 = MakeThreshold(ranks[0]);
    const auto t1 = MakeThreshold(ranks[1]);
    const auto t2 = MakeThreshold(ranks[2]);
    const auto t3 = MakeThreshold(ranks[3]);
    const auto step = m_RowStep;
    auto       whole0 = hn::Zero(Words());
    auto       whole1 = whole0;
    auto       whole2 = whole0;
    auto       whole3 = whole0;
    for (std::size_t i = 0; i < m_Whole; ++i)
    {
      const auto * in = entering + m_Vectors[i] + row * step;
      const auto * out = leaving + m_Vectors[i] + row * step;
      whole0 = AddChange(whole0, in, out, t0);
      whole1 = AddChange(whole1, in + step, out + step, t1);
      whole2 = AddChange(whole2, in + 2 * step, out + 2 * step, t2);
      whole3 = AddChange(whole3, in + 3 * step, out + 3 * step, t3);
    }
    auto parts0 = hn::Zero(Words());
    auto parts1 = parts0;
    auto parts2 = parts0;
    auto parts3 = parts0;
    for (std::size_t i = m_Whole; i < m_Vectors.size(); ++i)
    {
      const auto * in = entering + m_Vectors[i] + row * step;
      const auto * out = leaving + m_Vectors[i] + row * step;
      parts0 = AddChange(parts0, in, out, t0);
      parts1 = AddChange(parts1, in + step, out + step, t1);
      parts2 = AddChange(parts2, in + 2 * step, out + 2 * step, t2);
      parts3 = AddChange(parts3, in + 3 * step, out + 3 * step, t3);
    }
    below[0] += AddLanes(row, whole0, parts0);
    below[1] += AddLanes(row + 1, whole1, parts1);
    below[2] += AddLanes(row + 2, whole2, parts2);
    below[3] += AddLanes(row + 3, whole3, parts3);
  }

  /** Which of 64 pixels, from one on, lie in a window. */
  template <int VAxes>
  static HWY_INLINE std::uint64_t
                    Find64(const std::uint8_t * const (&positions)[VAxes],
                           std::ptrdiff_t first,
                           const int (&corner)[VAxes],
                           const int (&size)[VAxes])
  {
    const Bytes       d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint64_t     bits = 0;
    for (std::size_t i = 0; i < 64; i += lanes)
    {
      auto inside = IsInside(positions[0] + first + i, corner[0], size[0]);
      for (int axis = 1; axis < VAxes; ++axis)
      {
        inside = hn::And(inside, IsInside(positions[axis] + first + i, corner[axis], size[axis]));
      }
      bits |= GetBits(d, inside, lanes) << i;
    }
    return bits;
  }

  static HWY_INLINE int
  CountBits(std::uint64_t bits)
  {
    return static_cast<int>(hwy::PopCount(bits));
  }

  static HWY_INLINE std::uint32_t
                    GetPlace(std::uint64_t bits, int below)
  {
    return FindBit(bits, static_cast<std::uint32_t>(below));
  }

private:
  /** Where vectors of a column of the windows lie: those whose lanes are all pixels of it first. Where columns are
   * short a vector has several that lie one behind the other, from their first row on. */
  void
  ListVectors(const RankedPixels & pixels, const ThresholdWindows & windows)
  {
    const std::size_t lanes = hn::Lanes(Words());
    const std::size_t slices = windows.size[2];
    // One slice's shift may be that of no bits.
    const std::size_t together = slices > 1 ? lanes >> pixels.shift[2] : 1;
    m_RowBits = pixels.shift[2];
    m_RowStep = together > 1 ? 0 : 1;
    m_InPart = together > 1 ? slices % together << m_RowBits : m_Length % lanes;
    const std::size_t columns = together > 1 ? together : 1;
    for (const bool isWhole : { true, false })
    {
      for (std::size_t volume = 0; volume < windows.size[3]; ++volume)
      {
        for (std::size_t slice = 0; slice < slices; slice += columns)
        {
          const auto first = (volume << pixels.shift[3]) + (slice << pixels.shift[2]);
          if (together > 1)
          {
            AddVector(isWhole == (slice + columns <= slices), first);
          }
          for (std::size_t i = 0; together <= 1 && i < m_Length; i += lanes)
          {
            AddVector(isWhole == (i + lanes <= m_Length), first + i);
          }
        }
      }
      m_Whole = isWhole ? m_Vectors.size() : m_Whole;
    }
  }

  void
  AddVector(bool isWanted, std::size_t place)
  {
    if (isWanted)
    {
      m_Vectors.push_back(static_cast<std::int32_t>(place));
    }
  }

  /** The sum of the lanes that are pixels of a column from a row on. \param parts of vectors that end behind it */
  HWY_INLINE int
  AddLanes(std::size_t row, Threshold whole, Threshold parts) const
  {
    const Words d;
    auto        sum = hn::Add(whole, hn::IfThenElseZero(hn::FirstN(d, m_InPart), parts));
    if (m_RowStep == 0)
    {
      sum = hn::IfThenElseZero(IsInColumn(row), sum);
    }
#if HWY_TARGET == HWY_SCALAR
    return hn::GetLane(sum);
#else
    const hn::RepartitionToWide<Words> wide;
    auto                               odd = hn::Zero(wide);
    const auto                         even = hn::ReorderWidenMulAccumulate(wide, sum, hn::Set(d, 1), odd, odd);
    return hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd)));
#endif
  }

  /** Which lanes of a vector of several columns are in them, from a row of theirs on. */
  HWY_INLINE hn::Mask<Words>
             IsInColumn(std::size_t row) const
  {
    const Words d;
    const auto  last = hn::Set(d, static_cast<std::int16_t>((1 << m_RowBits) - 1));
    const auto  place = hn::Sub(hn::And(hn::Iota(d, 0), last), hn::Set(d, static_cast<std::int16_t>(row)));
    return hn::AndNot(hn::Lt(place, hn::Zero(d)), hn::Lt(place, hn::Set(d, static_cast<std::int16_t>(m_Length))));
  }

  static HWY_INLINE hn::Mask<Bytes>
                    IsInside(const std::uint8_t * positions, int corner, int size)
  {
    // Positions before the corner become large numbers.
    const Bytes d;
    return hn::Lt(hn::Sub(hn::LoadU(d, positions), hn::Set(d, static_cast<std::uint8_t>(corner))),
                  hn::Set(d, static_cast<std::uint8_t>(size)));
  }

  std::size_t               m_Length; ///< of a column along axis 1
  int                       m_ColumnShift;
  int                       m_RowBits{ 0 };
  std::size_t               m_RowStep{ 1 }; ///< what vectors of the next row lie further, if not in other lanes
  std::size_t               m_InPart{ 0 };  ///< lanes of a vector that ends behind a column
  std::size_t               m_Whole{ 0 };   ///< vectors that do not
  std::vector<std::int32_t> m_Vectors;
};

/** Vectors of the pixels of as many windows of a footprint. */
class VectorFootprint
{
public:
  static constexpr int mostTogether = 32;

  VectorFootprint(const RankedPixels & pixels, const ThresholdWindows & windows)
    : m_Windows(windows)
    , m_ColumnShift(pixels.shift[0])
  {
    for (int axis = 0; axis < 2; ++axis)
    {
      m_Positions[axis] = pixels.positions[axis];
    }
    for (std::size_t row = 0; row < windows.size[1]; ++row)
    {
      if (windows.length[row] > 0)
      {
        const auto first = (static_cast<std::size_t>(windows.first[row]) << m_ColumnShift) + row;
        m_Leaving.push_back(static_cast<std::int32_t>(first));
        m_Entering.push_back(
          static_cast<std::int32_t>(first + (static_cast<std::size_t>(windows.length[row]) << m_ColumnShift)));
      }
    }
  }

  static HWY_INLINE std::size_t
                    CountTogether()
  {
    return hn::Lanes(Words());
  }

  /** How many pixels of windows, the first of which starts at a place, are below thresholds. */
  HWY_INLINE void
  CountWindows(const std::int16_t * ranks, const std::int16_t * thresholds, std::int16_t * counts) const
  {
    const Words d;
    const auto  threshold = hn::Load(d, thresholds);
    auto        sum = hn::Zero(d);
    for (std::size_t i = 0; i < m_Leaving.size(); ++i)
    {
      for (auto place = m_Leaving[i]; place != m_Entering[i]; place += 1 << m_ColumnShift)
      {
        sum = AddBelow(sum, ranks + place, threshold);
      }
    }
    hn::Store(sum, d, counts);
  }

  /** How many more the windows have that come after these along axis 0. */
  HWY_INLINE void
  CountChanges(const std::int16_t * ranks, const std::int16_t * thresholds, std::int16_t * changes) const
  {
    const Words d;
    const auto  threshold = hn::Load(d, thresholds);
    auto        sum = hn::Zero(d);
    for (std::size_t i = 0; i < m_Leaving.size(); ++i)
    {
      sum = AddChange(sum, ranks + m_Entering[i], ranks + m_Leaving[i], threshold);
    }
    hn::Store(sum, d, changes);
  }

  /** Which of 64 pixels, from one on, lie in a window. */
  HWY_INLINE std::uint64_t
             Find64(std::ptrdiff_t first, const int (&corner)[2]) const
  {
    const Bytes       d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint64_t     bits = 0;
    for (std::size_t i = 0; i < 64; i += lanes)
    {
      const auto row =
        hn::Sub(hn::LoadU(d, m_Positions[1] + first + i), hn::Set(d, static_cast<std::uint8_t>(corner[1])));
      auto start = hn::Zero(d);
      auto length = hn::Zero(d);
      LookUp(row, start, length);
      // Positions before the first one become large numbers.
      const auto column =
        hn::Sub(hn::LoadU(d, m_Positions[0] + first + i), hn::Set(d, static_cast<std::uint8_t>(corner[0])));
      bits |= GetBits(d, hn::Lt(hn::Sub(column, start), length), lanes) << i;
    }
    return bits;
  }

  static HWY_INLINE int
  CountBits(std::uint64_t bits)
  {
    return VectorPixels::CountBits(bits);
  }

  static HWY_INLINE std::uint32_t
                    GetPlace(std::uint64_t bits, int below)
  {
    return VectorPixels::GetPlace(bits, below);
  }

private:
  using Positions = hn::Vec<Bytes>;

  /** Of rows the first positions and the lengths; 0 for those beyond the window. */
  HWY_INLINE void
  LookUp(Positions row, Positions & start, Positions & length) const
  {
    const Bytes d;
#if HWY_TARGET == HWY_SCALAR
    const std::size_t i = hn::GetLane(row);
    start = hn::Set(d, i < m_Windows.size[1] ? m_Windows.first[i] : std::uint8_t{ 0 });
    length = hn::Set(d, i < m_Windows.size[1] ? m_Windows.length[i] : std::uint8_t{ 0 });
#else
    for (std::size_t i = 0; i < m_Windows.size[1]; i += 16)
    {
      // Rows of other tables get the highest bit, for which a table has 0.
      const auto index = hn::SaturatedAdd(hn::Sub(row, hn::Set(d, static_cast<std::uint8_t>(i))), hn::Set(d, 112));
      start = hn::Or(start, hn::TableLookupBytesOr0(hn::LoadDup128(d, m_Windows.first + i), index));
      length = hn::Or(length, hn::TableLookupBytesOr0(hn::LoadDup128(d, m_Windows.length + i), index));
    }
#endif
  }

  const ThresholdWindows &  m_Windows;
  int                       m_ColumnShift;
  const std::uint8_t *      m_Positions[2];
  std::vector<std::int32_t> m_Entering; ///< of each row, from the first place of a window's box on
  std::vector<std::int32_t> m_Leaving;
};

void
FindAll(const RankedPixels &     pixels,
        const ThresholdWindows & windows,
        const std::uint16_t *    wanted,
        std::uint16_t &          nearest,
        std::uint16_t *          found)
{
  FindInWindows<VectorPixels, VectorFootprint>(pixels, windows, wanted, nearest, found);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cudamedian
{

HWY_EXPORT(FindAll);

void
FindByThresholds(const RankedPixels &     pixels,
                 const ThresholdWindows & windows,
                 const std::uint16_t *    wanted,
                 std::uint16_t &          nearest,
                 std::uint16_t *          found)
{
  HWY_DYNAMIC_DISPATCH(FindAll)(pixels, windows, wanted, nearest, found);
}

} // namespace cudamedian
#endif
