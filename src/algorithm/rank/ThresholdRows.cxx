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

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

/** Vectors of at most 64 positions and of at most 32 ranks. */
class VectorPixels
{
  using Bytes = hn::CappedTag<std::uint8_t, 64>;
  using Words = hn::CappedTag<std::int16_t, 32>;

public:
  using Threshold = hn::Vec<Words>;

  /** Whether CountChange() is faster than counting one column after the other: not where comparisons are masks. */
  static constexpr bool addsComparisons = HWY_TARGET > HWY_AVX3;

  /** \param length pixels of a column side by side \param shift of the next column behind those, in a rim */
  HWY_INLINE
  VectorPixels(std::size_t length, int shift)
    : m_Length(length)
    , m_Shift(shift)
    , m_Together(hn::Lanes(Words()) >> shift)
  {}

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

  /** The same of columns one behind the other, from a row of theirs on: a vector has several where they are short. */
  HWY_INLINE int
  CountBelow(const std::int16_t * ranks, std::size_t row, std::size_t columns, Threshold threshold) const
  {
    std::size_t column = 0;
    std::size_t count = 0;
    if (m_Together > 1)
    {
      const Words d;
      const auto  inside = IsInColumn(row);
      for (; column < columns; column += m_Together)
      {
        const auto present = hn::FirstN(d, (columns - column) << m_Shift);
        const auto below = hn::Lt(hn::LoadU(d, ranks + (column << m_Shift)), threshold);
        count += hn::CountTrue(d, hn::And(hn::And(inside, present), below));
      }
    }
    for (; column < columns; ++column)
    {
      count += static_cast<std::size_t>(CountBelow(ranks + (column << m_Shift) + row, threshold));
    }
    return static_cast<int>(count);
  }

  /** How many more of a slab's pixels are below a threshold than of another's.
   *
   * \param entering \param leaving of either slab the first of its columns, which lie as those of CountBelow() do.
   * \param slabs of columns that each of the two has, 2^`shift` pixels apart.
   *
   * Vectors of comparisons are added up lane by lane, and lanes at the end: to count each of them costs more. */
  HWY_INLINE int
  CountChange(const std::int16_t * entering,
              const std::int16_t * leaving,
              std::size_t          row,
              std::size_t          columns,
              std::size_t          slabs,
              int                  shift,
              Threshold            threshold) const
  {
    const Words       d;
    const std::size_t lanes = hn::Lanes(d);
    const auto        change = [&](const Threshold & sum, std::size_t place) HWY_ATTR {
      const auto in = hn::VecFromMask(d, hn::Lt(hn::LoadU(d, entering + place), threshold));
      const auto out = hn::VecFromMask(d, hn::Lt(hn::LoadU(d, leaving + place), threshold));
      return hn::Add(hn::Sub(sum, in), out);
    };
    auto sum = hn::Zero(d);
    auto partial = hn::Zero(d);
    if (m_Together > 1)
    {
      const std::size_t left = columns % m_Together;
      for (std::size_t slab = 0; slab < slabs; ++slab)
      {
        const auto  first = slab << shift;
        std::size_t column = 0;
        for (; column + m_Together <= columns; column += m_Together)
        {
          sum = change(sum, first + (column << m_Shift));
        }
        partial = left > 0 ? change(partial, first + (column << m_Shift)) : partial;
      }
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, left << m_Shift), partial));
      sum = hn::IfThenElseZero(IsInColumn(row), sum);
    }
    else
    {
      const std::size_t left = m_Length % lanes;
      for (std::size_t slab = 0; slab < slabs; ++slab)
      {
        for (std::size_t column = 0; column < columns; ++column)
        {
          const auto  first = (slab << shift) + (column << m_Shift) + row;
          std::size_t i = 0;
          for (; i + lanes <= m_Length; i += lanes)
          {
            sum = change(sum, first + i);
          }
          partial = left > 0 ? change(partial, first + i) : partial;
        }
      }
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, left), partial));
    }
    return AddLanes(sum);
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
  /** Which pixels of a vector of columns are in them, from a row of theirs on. */
  HWY_INLINE hn::Mask<Words>
             IsInColumn(std::size_t row) const
  {
    const Words d;
    const auto  last = hn::Set(d, static_cast<std::int16_t>((1 << m_Shift) - 1));
    const auto  place = hn::Sub(hn::And(hn::Iota(d, 0), last), hn::Set(d, static_cast<std::int16_t>(row)));
    return hn::AndNot(hn::Lt(place, hn::Zero(d)), hn::Lt(place, hn::Set(d, static_cast<std::int16_t>(m_Length))));
  }

  static HWY_INLINE int
  AddLanes(const Threshold & words)
  {
#if HWY_TARGET == HWY_SCALAR
    return hn::GetLane(words);
#else
    const hn::RepartitionToWide<Words> d;
    const auto                         pairs = hn::BitCast(d, words);
    const auto                         even = hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs));
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, hn::ShiftRight<16>(pairs))));
#endif
  }

  static HWY_INLINE hn::Mask<Bytes>
                    IsInside(const std::uint8_t * positions, int corner, int size)
  {
    // Positions before the corner become large numbers.
    const Bytes d;
    return hn::Lt(hn::Sub(hn::LoadU(d, positions), hn::Set(d, static_cast<std::uint8_t>(corner))),
                  hn::Set(d, static_cast<std::uint8_t>(size)));
  }

  std::size_t m_Length;
  int         m_Shift;
  std::size_t m_Together; ///< columns of a vector
};

void
FindAll(const RankedPixels &     pixels,
        const ThresholdWindows & windows,
        const std::uint16_t *    wanted,
        std::uint16_t &          nearest,
        std::uint16_t *          found)
{
  FindInWindows<VectorPixels>(pixels, windows, wanted, nearest, found);
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
