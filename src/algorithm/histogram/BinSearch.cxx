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
#include "BinSearch.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "BinSearch.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "MaskBits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

using Descriptor = hn::ScalableTag<std::uint16_t>;
using Positions = hn::Vec<Descriptor>;
using Inside = hn::Mask<Descriptor>;

/** Windows that pixels have to be looked for in along VAxes axes, the first of `axes`. */
template <int VAxes>
class Finder
{
public:
  HWY_INLINE
  Finder(const SortedBins & sorted, const BinWindow & window, const int * axes, std::size_t shift)
  {
    for (int i = 0; i < VAxes; ++i)
    {
      const int axis = axes[i];
      m_Positions[i] = sorted.positions[axis];
      m_Corner[i] = static_cast<std::uint16_t>(window.corner[axis] + (axis == 0 ? shift : 0));
      m_Size[i] = window.size[axis];
    }
  }

  /** Which of 64 pixels, from a place on, lie in the window. */
  HWY_INLINE std::uint64_t
             Find64(std::uint32_t place) const
  {
    const Descriptor d;
    // Vectors of more than 64 positions are not used as a whole.
    const std::size_t lanes = std::min<std::size_t>(hn::Lanes(d), 64);
    std::uint64_t     bits = 0;
    for (std::size_t first = 0; first < 64; first += lanes)
    {
      Inside inside = IsInside<0>(place + first);
      if constexpr (VAxes > 1)
      {
        inside = hn::And(inside, IsInside<1>(place + first));
      }
      if constexpr (VAxes > 2)
      {
        inside = hn::And(inside, IsInside<2>(place + first));
      }
      if constexpr (VAxes > 3)
      {
        inside = hn::And(inside, IsInside<3>(place + first));
      }
      bits |= GetBits(d, inside, lanes) << first;
    }
    return bits;
  }

private:
  template <int VNumber>
  HWY_INLINE Inside
  IsInside(std::size_t place) const
  {
    const Descriptor d;
    // Positions before the corner become large numbers.
    const auto offset = hn::Sub(hn::LoadU(d, m_Positions[VNumber] + place), hn::Set(d, m_Corner[VNumber]));
    return hn::Gt(hn::Set(d, m_Size[VNumber]), offset);
  }

  const std::uint16_t * m_Positions[VAxes];
  std::uint16_t         m_Corner[VAxes];
  std::uint16_t         m_Size[VAxes];
};

template <int VAxes>
HWY_INLINE void
FindAlong(const SortedBins &    sorted,
          const BinWindow &     window,
          const int *           axes,
          std::size_t           count,
          const std::uint8_t *  bins,
          const std::uint32_t * rests,
          std::uint32_t *       places)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    const Finder<VAxes> finder(sorted, window, axes, i);
    auto                place = sorted.firsts[bins[i]];
    auto                rest = rests[i];
    // Two words at a time: most bins are looked through without a branch that differs from window to window.
    while (true)
    {
      const auto low = finder.Find64(place);
      const auto high = finder.Find64(place + 64);
      const auto inLow = static_cast<std::uint32_t>(hwy::PopCount(low));
      const auto inBoth = inLow + static_cast<std::uint32_t>(hwy::PopCount(high));
      if (rest < inBoth)
      {
        const bool isLow = rest < inLow;
        places[i] = place + (isLow ? 0 : 64) + FindBit(isLow ? low : high, isLow ? rest : rest - inLow);
        break;
      }
      rest -= inBoth;
      place += 128;
    }
  }
}

void
FindAny(const SortedBins &    sorted,
        const BinWindow &     window,
        std::size_t           count,
        const std::uint8_t *  bins,
        const std::uint32_t * rests,
        std::uint32_t *       places)
{
  int axes[SortedBins::axes];
  int number = 0;
  for (int axis = 0; axis < SortedBins::axes; ++axis)
  {
    if (sorted.positions[axis] != nullptr)
    {
      axes[number++] = axis;
    }
  }
  switch (number)
  {
    case 0:
      // One window, which the whole region is.
      places[0] = sorted.firsts[bins[0]] + rests[0];
      return;
    case 1:
      return FindAlong<1>(sorted, window, axes, count, bins, rests, places);
    case 2:
      return FindAlong<2>(sorted, window, axes, count, bins, rests, places);
    case 3:
      return FindAlong<3>(sorted, window, axes, count, bins, rests, places);
    default:
      return FindAlong<4>(sorted, window, axes, count, bins, rests, places);
  }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cudamedian
{

HWY_EXPORT(FindAny);

void
FindInBins(const SortedBins &    sorted,
           const BinWindow &     window,
           std::size_t           count,
           const std::uint8_t *  bins,
           const std::uint32_t * rests,
           std::uint32_t *       places)
{
  HWY_DYNAMIC_DISPATCH(FindAny)(sorted, window, count, bins, rests, places);
}

} // namespace cudamedian
#endif
