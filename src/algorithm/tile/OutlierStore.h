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
#ifndef OutlierStore_h
#define OutlierStore_h

#include "KernelArguments.h"
#include "OutlierDistance.h"
#include "PackedLanes.h"
#include "PixelVector.h"

#ifndef __CUDACC_RTC__
#  include <cstring>
#endif

/** What kernels write: every median, or those of outliers alone. */
namespace cudamedian
{

/** Every median. */
struct EveryMedian
{
  static constexpr bool areAll = true;
};

/** The value of a float's bits. */
template <typename TBits>
struct FloatOf
{
  using Type = float;
};
template <>
struct FloatOf<std::uint64_t>
{
  using Type = double;
};

/** Medians of pixels that lie farther from them than a distance; the other pixels stay. A kernel that has them no more
 * reads its pixels again when it writes medians: they are in a cache, for its block has just staged them, and the image
 * passes through memory once. Distances are those of PixelArithmetic.h. */
template <typename TPixelBits, KeyMapping VMapping>
class OutliersAlone
{
public:
  static constexpr bool areAll = false;

  CUDAMEDIAN_HOST_DEVICE
  OutliersAlone(const KernelArguments & arguments, const OutlierDistance & distance)
    : m_SignMask(static_cast<TPixelBits>(arguments.signMask))
    , m_Farthest(static_cast<TPixelBits>(distance.farthest))
  {}

  /** The outputs of neighbouring pixels, given as they are. \param own where the first pixel is in the image; those
   * outside skip … columns-1 are not read. `isWhole` says that none is. */
  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE PixelVector<TPixelBits, VCount>
                         KeepNear(const TPixelBits *                      own,
                                  const PixelVector<TPixelBits, VCount> & medians,
                                  bool                                    isWhole,
                                  std::int32_t                            skip,
                                  std::int32_t                            columns) const
  {
    PixelVector<TPixelBits, VCount> pixels{};
    if (isWhole)
    {
      pixels.Load(own);
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        pixels.Set(i, i >= skip && i < columns ? own[i] : TPixelBits{ 0 });
      }
    }
    return KeepNear(Flip(pixels, m_SignMask), Flip(medians, m_SignMask), m_SignMask);
  }

  /** The same of integers that are given without a sign, in whose order they are. \param signs what makes pixels of
   * them
   */
  template <int VCount>
  CUDAMEDIAN_HOST_DEVICE PixelVector<TPixelBits, VCount>
                         KeepNear(const PixelVector<TPixelBits, VCount> & pixels,
                                  const PixelVector<TPixelBits, VCount> & medians,
                                  TPixelBits                              signs) const
  {
    PixelVector<TPixelBits, VCount> outputs{};
    if constexpr (sizeof(TPixelBits) <= 2)
    {
      using Lanes = PackedLanes<TPixelBits>;
      CUDAMEDIAN_UNROLL
      for (std::uint32_t i = 0; i < sizeof(pixels.words) / sizeof(pixels.words[0]); ++i)
      {
        outputs.words[i] = Lanes::KeepNear(pixels.words[i], medians.words[i], m_Farthest * Lanes::ones);
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        outputs.Set(i, IsNear(pixels.Get(i), medians.Get(i)) ? pixels.Get(i) : medians.Get(i));
      }
    }
    return Flip(outputs, signs);
  }

private:
  CUDAMEDIAN_HOST_DEVICE bool
  IsNear(TPixelBits pixel, TPixelBits median) const
  {
    if constexpr (VMapping == KeyMapping::Integer)
    {
      return (pixel < median ? median - pixel : pixel - median) <= m_Farthest;
    }
    else
    {
      // NVRTC has no std::fabs. A NaN is near nothing, and without a number for the median a pixel stays.
      const auto value = ToValue(pixel);
      const auto difference = value - ToValue(median);
      const auto most = ToValue(m_Farthest);
      return value == value && !(difference > most) && !(-difference > most);
    }
  }

  /** Integers with their signs the other way; floats as they are. */
  template <int VCount>
  static CUDAMEDIAN_HOST_DEVICE PixelVector<TPixelBits, VCount>
                                Flip(PixelVector<TPixelBits, VCount> pixels, TPixelBits signs)
  {
    if constexpr (sizeof(TPixelBits) <= 2)
    {
      CUDAMEDIAN_UNROLL
      for (auto & word : pixels.words)
      {
        word ^= signs * PackedLanes<TPixelBits>::ones;
      }
    }
    else if constexpr (VMapping == KeyMapping::Integer)
    {
      const auto given = pixels;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        pixels.Set(i, static_cast<TPixelBits>(given.Get(i) ^ signs));
      }
    }
    return pixels;
  }

  static CUDAMEDIAN_HOST_DEVICE auto
  ToValue(TPixelBits bits)
  {
    typename FloatOf<TPixelBits>::Type value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }

  TPixelBits m_SignMask;
  TPixelBits m_Farthest;
};

} // namespace cudamedian

#endif
