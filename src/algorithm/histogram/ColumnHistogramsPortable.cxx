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

/** 16 counts that the compiler may keep in vectors. */
struct Bins
{
  std::uint16_t counts[ColumnHistograms::segments];

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
};

inline Bins
Add(Bins a, const Bins & b)
{
  for (std::size_t i = 0; i < ColumnHistograms::segments; ++i)
  {
    a.counts[i] = static_cast<std::uint16_t>(a.counts[i] + b.counts[i]);
  }
  return a;
}

inline Bins
Subtract(Bins a, const Bins & b)
{
  for (std::size_t i = 0; i < ColumnHistograms::segments; ++i)
  {
    a.counts[i] = static_cast<std::uint16_t>(a.counts[i] - b.counts[i]);
  }
  return a;
}

inline std::size_t
CountUpTo(const Bins & bins, std::uint16_t value)
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
  Portable::AddRow<Bins>(histograms, bins, times);
}

void
MoveColumns(const ColumnHistograms & histograms,
            const std::uint8_t *     entering,
            const std::uint8_t *     leaving,
            std::uint16_t            times)
{
  Portable::MoveRow<Bins>(histograms, entering, leaving, times);
}

void
SlideOverColumns(const ColumnHistograms & histograms,
                 const ColumnWindow &     window,
                 std::size_t              count,
                 std::uint8_t *           bins)
{
  Portable::SlideAlong<Bins>(histograms, window, count, bins);
}

} // namespace cudamedian
