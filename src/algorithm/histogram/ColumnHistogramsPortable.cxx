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
#include "ColumnHistograms.h"

// What Highway has for functions of an instruction set: here there is one, the compiler's.
#define CUDAMEDIAN_WITHOUT_HIGHWAY
#define HWY_INLINE inline
#define HWY_NAMESPACE Portable
#define HWY_BEFORE_NAMESPACE() static_assert(true, "")
#define HWY_AFTER_NAMESPACE() static_assert(true, "")
#include "ColumnHistograms-inl.h"

namespace cudamedian
{
namespace
{

/** 16 counts that the compiler may keep in vectors; TCount is the type of their sums. */
template <typename TCount>
struct Bins
{
  using Count = TCount;

  Count counts[ColumnHistograms::segments];

  static Bins
  Load(const std::uint16_t * counts)
  {
    Bins bins;
    std::copy_n(counts, ColumnHistograms::segments, bins.counts);
    return bins;
  }

  void
  Store(std::uint16_t * to) const
  {
    std::copy_n(counts, ColumnHistograms::segments, to);
  }

  static Bins
  LoadSums(const Count * sums)
  {
    Bins bins;
    std::copy_n(sums, ColumnHistograms::segments, bins.counts);
    return bins;
  }

  void
  StoreSums(Count * to) const
  {
    std::copy_n(counts, ColumnHistograms::segments, to);
  }
};

template <typename TCount>
inline Bins<TCount>
Add(Bins<TCount> a, const Bins<TCount> & b)
{
  for (std::size_t i = 0; i < ColumnHistograms::segments; ++i)
  {
    a.counts[i] = static_cast<TCount>(a.counts[i] + b.counts[i]);
  }
  return a;
}

template <typename TCount>
inline Bins<TCount>
Subtract(Bins<TCount> a, const Bins<TCount> & b)
{
  for (std::size_t i = 0; i < ColumnHistograms::segments; ++i)
  {
    a.counts[i] = static_cast<TCount>(a.counts[i] - b.counts[i]);
  }
  return a;
}

template <typename TCount>
inline std::size_t
CountUpTo(const Bins<TCount> & bins, TCount value)
{
  std::size_t count = 0;
  for (const auto sum : bins.counts)
  {
    count += sum <= value ? 1 : 0;
  }
  return count;
}

} // namespace

void
AddToColumns(const ColumnHistograms & histograms, const std::uint8_t * bins, std::uint16_t times)
{
  Portable::AddRow<Bins<std::uint16_t>>(histograms, bins, times);
}

void
MoveColumns(const ColumnHistograms & histograms,
            const std::uint8_t *     entering,
            const std::uint8_t *     leaving,
            std::uint16_t            times)
{
  Portable::MoveRow<Bins<std::uint16_t>>(histograms, entering, leaving, times);
}

void
SlideOverColumns(const ColumnHistograms & histograms,
                 const ColumnWindow &     window,
                 std::size_t              count,
                 std::uint8_t *           bins,
                 std::uint32_t *          rests)
{
  if (window.isLarge)
  {
    Portable::SlideAlong<Bins<std::uint32_t>, true>(histograms, window, count, bins, rests);
  }
  else if (rests != nullptr)
  {
    Portable::SlideAlong<Bins<std::uint16_t>, true>(histograms, window, count, bins, rests);
  }
  else
  {
    Portable::SlideAlong<Bins<std::uint16_t>, false>(histograms, window, count, bins, rests);
  }
}

} // namespace cudamedian
