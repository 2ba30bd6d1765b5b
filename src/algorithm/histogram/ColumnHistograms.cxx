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
  using Count = std::uint16_t;
  using Descriptor = hn::CappedTag<Count, ColumnHistograms::segments>;

  static constexpr std::size_t lanes = hn::MaxLanes(Descriptor());
  static constexpr std::size_t parts = ColumnHistograms::segments / lanes;

  hn::Vec<Descriptor> vectors[parts];

  // A default constructor that is not written here would be compiled for the baseline, into which GCC inlines no NEON
  // with its extensions.
  HWY_INLINE
  Bins() {}

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

  static HWY_INLINE Bins
  LoadSums(const std::uint16_t * sums)
  {
    return Load(sums);
  }
  HWY_INLINE void
  StoreSums(std::uint16_t * sums) const
  {
    Store(sums);
  }
};

/** The same for sums of more than 65,535 pixels, of counts that have 16 bits. */
struct LargeBins
{
  using Count = std::uint32_t;
  using Descriptor = hn::CappedTag<Count, ColumnHistograms::segments>;

  static constexpr std::size_t lanes = hn::MaxLanes(Descriptor());
  static constexpr std::size_t parts = ColumnHistograms::segments / lanes;

  hn::Vec<Descriptor> vectors[parts];

  HWY_INLINE
  LargeBins() {}

  static HWY_INLINE LargeBins
  Load(const std::uint16_t * counts)
  {
    const hn::Rebind<std::uint16_t, Descriptor> narrow;
    LargeBins                                   bins;
    for (std::size_t i = 0; i < parts; ++i)
    {
      bins.vectors[i] = hn::PromoteTo(Descriptor(), hn::LoadU(narrow, counts + i * lanes));
    }
    return bins;
  }

  static HWY_INLINE LargeBins
  LoadSums(const std::uint32_t * sums)
  {
    LargeBins bins;
    for (std::size_t i = 0; i < parts; ++i)
    {
      bins.vectors[i] = hn::LoadU(Descriptor(), sums + i * lanes);
    }
    return bins;
  }
  HWY_INLINE void
  StoreSums(std::uint32_t * sums) const
  {
    for (std::size_t i = 0; i < parts; ++i)
    {
      hn::StoreU(vectors[i], Descriptor(), sums + i * lanes);
    }
  }
};

template <typename TBins>
HWY_INLINE TBins
Add(TBins a, TBins b)
{
  for (std::size_t i = 0; i < TBins::parts; ++i)
  {
    a.vectors[i] = hn::Add(a.vectors[i], b.vectors[i]);
  }
  return a;
}

template <typename TBins>
HWY_INLINE TBins
Subtract(TBins a, TBins b)
{
  for (std::size_t i = 0; i < TBins::parts; ++i)
  {
    a.vectors[i] = hn::Sub(a.vectors[i], b.vectors[i]);
  }
  return a;
}

template <typename TBins>
HWY_INLINE std::size_t
           CountUpTo(TBins bins, typename TBins::Count value)
{
  const typename TBins::Descriptor d;
  std::size_t                      count = ColumnHistograms::segments;
  for (std::size_t i = 0; i < TBins::parts; ++i)
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
SlideAny(const ColumnHistograms & histograms,
         const ColumnWindow &     window,
         std::size_t              count,
         std::uint8_t *           bins,
         std::uint32_t *          rests)
{
  if (window.isLarge)
  {
    SlideAlong<LargeBins, true>(histograms, window, count, bins, rests);
  }
  else if (rests != nullptr)
  {
    SlideAlong<Bins, true>(histograms, window, count, bins, rests);
  }
  else
  {
    SlideAlong<Bins, false>(histograms, window, count, bins, rests);
  }
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
                 std::uint8_t *           bins,
                 std::uint32_t *          rests)
{
  HWY_DYNAMIC_DISPATCH(SlideAny)(histograms, window, count, bins, rests);
}

} // namespace cudamedian
#endif
