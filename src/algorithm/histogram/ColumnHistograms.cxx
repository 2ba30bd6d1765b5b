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

// 16 counts of 16 bits are two vectors of NEON, and an array of vectors, which those of SVE without a size cannot make.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ColumnHistograms.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ColumnHistograms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

/** 16 counts in as few vectors as it takes. */
struct Bins
{
  using Descriptor = hn::CappedTag<std::uint16_t, ColumnHistograms::segments>;

  static constexpr std::size_t lanes = hn::MaxLanes(Descriptor());
  static constexpr std::size_t parts = ColumnHistograms::segments / lanes;

  hn::Vec<Descriptor> vectors[parts];

  // A default constructor that is not written here would be compiled for the baseline, into which GCC inlines no NEON
  // with its extensions.
  HWY_INLINE
  Bins()
  {}

  static HWY_INLINE Bins
  Load(const std::uint16_t * counts)
  {
    Bins bins;
    for (std::size_t i = 0; i < parts; ++i)
    {
      bins.vectors[i] = hn::LoadU(Descriptor(), counts + i * lanes);
    }
    return bins;
  }

  HWY_INLINE void
  Store(std::uint16_t * counts) const
  {
    for (std::size_t i = 0; i < parts; ++i)
    {
      hn::StoreU(vectors[i], Descriptor(), counts + i * lanes);
    }
  }
};

HWY_INLINE Bins
Add(Bins a, Bins b)
{
  for (std::size_t i = 0; i < Bins::parts; ++i)
  {
    a.vectors[i] = hn::Add(a.vectors[i], b.vectors[i]);
  }
  return a;
}

HWY_INLINE Bins
Subtract(Bins a, Bins b)
{
  for (std::size_t i = 0; i < Bins::parts; ++i)
  {
    a.vectors[i] = hn::Sub(a.vectors[i], b.vectors[i]);
  }
  return a;
}

HWY_INLINE std::size_t
           CountUpTo(Bins bins, std::uint16_t value)
{
  const Bins::Descriptor d;
  std::size_t            count = ColumnHistograms::segments;
  for (std::size_t i = 0; i < Bins::parts; ++i)
  {
    count -= hn::CountTrue(d, hn::Gt(bins.vectors[i], hn::Set(d, value)));
  }
  return count;
}

// Highway dispatches functions, not templates.
void
AddAny(const ColumnHistograms & histograms, const std::uint8_t * bins, std::uint16_t times)
{
  AddRow<Bins>(histograms, bins, times);
}
void
MoveAny(const ColumnHistograms & histograms,
        const std::uint8_t *     entering,
        const std::uint8_t *     leaving,
        std::uint16_t            times)
{
  MoveRow<Bins>(histograms, entering, leaving, times);
}
void
SlideAny(const ColumnHistograms & histograms, const ColumnWindow & window, std::size_t count, std::uint8_t * bins)
{
  SlideAlong<Bins>(histograms, window, count, bins);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cudamedian
{

HWY_EXPORT(AddAny);
HWY_EXPORT(MoveAny);
HWY_EXPORT(SlideAny);

void
AddToColumns(const ColumnHistograms & histograms, const std::uint8_t * bins, std::uint16_t times)
{
  HWY_DYNAMIC_DISPATCH(AddAny)(histograms, bins, times);
}

void
MoveColumns(const ColumnHistograms & histograms,
            const std::uint8_t *     entering,
            const std::uint8_t *     leaving,
            std::uint16_t            times)
{
  HWY_DYNAMIC_DISPATCH(MoveAny)(histograms, entering, leaving, times);
}

void
SlideOverColumns(const ColumnHistograms & histograms,
                 const ColumnWindow &     window,
                 std::size_t              count,
                 std::uint8_t *           bins)
{
  HWY_DYNAMIC_DISPATCH(SlideAny)(histograms, window, count, bins);
}

} // namespace cudamedian
#endif
