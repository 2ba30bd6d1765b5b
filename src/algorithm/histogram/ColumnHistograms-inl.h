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
// its macros. TBins is 16 counts, with Load, Store, Add, Subtract, and CountUpTo, the number of counts that are at most
// a value.
#if defined(ColumnHistograms_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef ColumnHistograms_inl_h
#    undef ColumnHistograms_inl_h
#  else
#    define ColumnHistograms_inl_h
#  endif

#  include "ColumnHistograms.h"

#  ifndef CUDAMEDIAN_WITHOUT_HIGHWAY
#    include "hwy/highway.h"
#  endif

#  include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

/** What a pixel in a bin adds to running sums of 16 bins. */
struct Steps
{
  alignas(64) std::uint16_t counts[ColumnHistograms::segments][ColumnHistograms::segments];
};

HWY_INLINE Steps
MakeSteps(std::uint16_t times)
{
  Steps steps;
  for (std::size_t bin = 0; bin < ColumnHistograms::segments; ++bin)
  {
    for (std::size_t i = 0; i < ColumnHistograms::segments; ++i)
    {
      steps.counts[bin][i] = i >= bin ? times : std::uint16_t{ 0 };
    }
  }
  return steps;
}

HWY_INLINE std::uint16_t *
           GetFine(const ColumnHistograms & histograms, std::size_t segment, std::size_t column)
{
  return histograms.fine + (segment * histograms.columns + column) * ColumnHistograms::segments;
}

template <typename TBins>
void
AddRow(const ColumnHistograms & histograms, const std::uint8_t * pixels, std::uint16_t times)
{
  const auto steps = MakeSteps(times);
  for (std::size_t column = 0; column < histograms.columns; ++column)
  {
    const std::size_t segment = pixels[column] >> 4;
    auto * const      coarse = histograms.coarse + column * ColumnHistograms::segments;
    auto * const      fine = GetFine(histograms, segment, column);
    Add(TBins::Load(coarse), TBins::Load(steps.counts[segment])).Store(coarse);
    Add(TBins::Load(fine), TBins::Load(steps.counts[pixels[column] & 15])).Store(fine);
  }
}

template <typename TBins>
void
MoveRow(const ColumnHistograms & histograms,
        const std::uint8_t *     entering,
        const std::uint8_t *     leaving,
        std::uint16_t            times)
{
  const auto steps = MakeSteps(times);
  for (std::size_t column = 0; column < histograms.columns; ++column)
  {
    const std::size_t added = entering[column] >> 4;
    const std::size_t removed = leaving[column] >> 4;
    auto * const      coarse = histograms.coarse + column * ColumnHistograms::segments;
    auto * const      to = GetFine(histograms, added, column);
    auto * const      from = GetFine(histograms, removed, column);
    Subtract(Add(TBins::Load(coarse), TBins::Load(steps.counts[added])), TBins::Load(steps.counts[removed]))
      .Store(coarse);
    Add(TBins::Load(to), TBins::Load(steps.counts[entering[column] & 15])).Store(to);
    Subtract(TBins::Load(from), TBins::Load(steps.counts[leaving[column] & 15])).Store(from);
  }
}

/** A window's sums along one row of columns, as far as they have been asked for. TBins are those of the sums. */
template <typename TBins>
class WindowSums
{
public:
  using Count = typename TBins::Count;

  HWY_INLINE
  WindowSums(const ColumnHistograms & histograms, const ColumnWindow & window)
    : m_Histograms(histograms)
    , m_Window(window)
    , m_Last(static_cast<std::int64_t>(histograms.columns) - 1)
  {
    std::fill_n(m_Position, ColumnHistograms::segments + 1, -window.before - window.behind - 2);
  }

  /** Finds the bins at `count` positions, at most 64, from `first` on, and with rests the ranks in them. */
  template <bool VHasRests>
  HWY_INLINE void
  Find(std::int64_t first, int count, std::uint8_t * bins, std::uint32_t * rests)
  {
    const auto begin = m_Window.center + first - m_Window.before - 1;
    const auto end = m_Window.center + first + count + m_Window.behind;
    if (begin >= 0 && end <= m_Last)
    {
      FindIn<true, VHasRests>(first, count, bins, rests);
    }
    else
    {
      FindIn<false, VHasRests>(first, count, bins, rests);
    }
  }

private:
  static constexpr std::size_t segments = ColumnHistograms::segments;
  static constexpr std::size_t coarse = segments; ///< number of the sums over whole segments

  template <bool VInside>
  HWY_INLINE std::size_t
             GetOffset(std::int64_t column) const
  {
    // Not core/Clamp.h: of a call GCC 12 makes other code where there is no Highway, and this is what was measured.
    return static_cast<std::size_t>(VInside ? column : std::min(std::max<std::int64_t>(column, 0), m_Last)) * segments;
  }

  template <bool VInside>
  HWY_INLINE TBins
  Slide(TBins sum, const std::uint16_t * counts, std::int64_t position) const
  {
    const auto center = m_Window.center + position;
    return Add(sum,
               Subtract(TBins::Load(counts + GetOffset<VInside>(center + m_Window.behind)),
                        TBins::Load(counts + GetOffset<VInside>(center - m_Window.before - 1))));
  }

  /** The sum at a position, from that at an earlier one or, if that is far away, from the columns. */
  HWY_INLINE TBins
  MoveTo(std::int64_t position, const std::uint16_t * counts, std::size_t number) const
  {
    auto  last = m_Position[number];
    TBins sum = TBins::LoadSums(m_Sums[number]);
    if (position - last > m_Window.before)
    {
      const auto center = m_Window.center + position;
      sum = TBins::Load(counts + GetOffset<false>(center - m_Window.before));
      for (auto column = center - m_Window.before + 1; column <= center + m_Window.behind; ++column)
      {
        sum = Add(sum, TBins::Load(counts + GetOffset<false>(column)));
      }
      return sum;
    }
    while (last < position)
    {
      sum = Slide<false>(sum, counts, ++last);
    }
    return sum;
  }

  /** In turn for the segments, and for each of the segments that medians are in along the run of positions from the
   * first to the last of them: whether a position is in another segment is then no branch. */
  template <bool VInside, bool VHasRests>
  HWY_INLINE void
  FindIn(std::int64_t first, int count, std::uint8_t * bins, std::uint32_t * rests)
  {
    std::uint64_t uses[segments] = {};
    Count         ranks[64];
    std::uint32_t used = 0;
    TBins         sum = MoveTo(first, m_Histograms.coarse, coarse);
    for (int i = 0; i < count; ++i)
    {
      sum = i == 0 ? sum : Slide<VInside>(sum, m_Histograms.coarse, first + i);
      // Nothing is below segment 0.
      alignas(64) Count below[1 + segments + 15];
      below[15] = 0;
      sum.StoreSums(below + 16);
      const auto rank = static_cast<Count>(
        m_Window.ranks.IsEmpty() ? m_Window.rank : static_cast<std::uint32_t>(m_Window.ranks[first + i]));
      const auto segment = CountUpTo(sum, rank);
      ranks[i] = static_cast<Count>(rank - below[15 + segment]);
      uses[segment] |= std::uint64_t{ 1 } << i;
      used |= std::uint32_t{ 1 } << segment;
    }
    Keep(coarse, first + count - 1, sum);
    for (std::size_t segment = 0; segment < segments; ++segment)
    {
      if ((used >> segment & 1) != 0)
      {
        FindInSegment<VInside, VHasRests>(segment, uses[segment], first, ranks, bins, rests);
      }
    }
  }

  template <bool VInside, bool VHasRests>
  HWY_INLINE void
  FindInSegment(std::size_t     segment,
                std::uint64_t   uses,
                std::int64_t    first,
                const Count *   ranks,
                std::uint8_t *  bins,
                std::uint32_t * rests)
  {
    const auto * counts = GetFine(m_Histograms, segment, 0);
    int          i = 0;
    for (; (uses & 1) == 0; uses >>= 1)
    {
      ++i;
    }
    TBins sum = MoveTo(first + i, counts, segment);
    while (true)
    {
      const auto bin = CountUpTo(sum, ranks[i]);
      const auto found = static_cast<std::uint8_t>(segment * segments + bin);
      bins[i] = (uses & 1) != 0 ? found : bins[i];
      if constexpr (VHasRests)
      {
        alignas(64) Count below[1 + segments + 15];
        below[15] = 0;
        sum.StoreSums(below + 16);
        rests[i] = (uses & 1) != 0 ? std::uint32_t(ranks[i]) - below[15 + bin] : rests[i];
      }
      uses >>= 1;
      if (uses == 0)
      {
        return Keep(segment, first + i, sum);
      }
      ++i;
      sum = Slide<VInside>(sum, counts, first + i);
    }
  }

  HWY_INLINE void
  Keep(std::size_t number, std::int64_t position, TBins sum)
  {
    m_Position[number] = position;
    sum.StoreSums(m_Sums[number]);
  }

  const ColumnHistograms m_Histograms;
  const ColumnWindow     m_Window;
  const std::int64_t     m_Last; ///< column
  std::int64_t           m_Position[segments + 1];
  alignas(64) Count m_Sums[segments + 1][segments];
};

template <typename TBins, bool VHasRests>
void
SlideAlong(const ColumnHistograms & histograms,
           const ColumnWindow &     window,
           std::size_t              count,
           std::uint8_t *           bins,
           std::uint32_t *          rests)
{
  WindowSums<TBins>     sums(histograms, window);
  constexpr std::size_t most = 64;
  for (std::size_t i = 0; i < count; i += most)
  {
    sums.template Find<VHasRests>(static_cast<std::int64_t>(i),
                                  static_cast<int>(std::min(most, count - i)),
                                  bins + i,
                                  VHasRests ? rests + i : nullptr);
  }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#endif
