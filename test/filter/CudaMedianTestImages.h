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
#ifndef CudaMedianTestImages_h
#define CudaMedianTestImages_h

#include "CudaMedianTestSeed.h"

#include "itkImage.h"
#include "itkImageRegionConstIteratorWithIndex.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace cudamediantest
{

/** What the pixels of a random image look like. */
enum class Pattern
{
  FullRange, ///< random bits: nearly all values differ, signs and magnitudes mix
  TwoValues, ///< the 0-1 images of sorting networks
  FewValues  ///< many duplicates, the type's limits among them
};

constexpr Pattern AllPatterns[] = { Pattern::FullRange, Pattern::TwoValues, Pattern::FewValues };

inline const char *
ToString(Pattern pattern)
{
  switch (pattern)
  {
    case Pattern::FullRange:
      return "full range";
    case Pattern::TwoValues:
      return "two values";
    default:
      return "few values";
  }
}

/** Any value of the type but NaN, infinities and subnormal numbers included. */
template <typename TValue>
TValue
RandomValue(std::mt19937_64 & random)
{
  for (;;)
  {
    const std::uint64_t bits = random();
    TValue              value;
    std::memcpy(&value, &bits, sizeof(value));
    if constexpr (std::is_floating_point<TValue>::value)
    {
      if (std::isnan(value))
      {
        continue;
      }
    }
    return value;
  }
}

/** The values that a pattern draws from; empty: any value. */
template <typename TValue>
std::vector<TValue>
Palette(Pattern pattern, std::mt19937_64 & random)
{
  switch (pattern)
  {
    case Pattern::FullRange:
      return {};
    case Pattern::TwoValues:
      return { RandomValue<TValue>(random), RandomValue<TValue>(random) };
    default:
      return { std::numeric_limits<TValue>::lowest(),
               std::numeric_limits<TValue>::max(),
               TValue(0),
               TValue(1),
               RandomValue<TValue>(random) };
  }
}

template <typename TImage>
typename TImage::Pointer
MakeImage(const typename TImage::RegionType & region)
{
  const auto image = TImage::New();
  image->SetRegions(region);
  image->Allocate();
  return image;
}

template <typename TImage>
typename TImage::Pointer
MakeRandomImage(const typename TImage::RegionType & region, Pattern pattern, std::uint64_t stream = 0)
{
  using PixelType = typename TImage::PixelType;
  const auto        image = MakeImage<TImage>(region);
  std::mt19937_64   random(Seed() + 0x9e3779b97f4a7c15u * stream);
  const auto        palette = Palette<PixelType>(pattern, random);
  const auto        count = static_cast<std::size_t>(region.GetNumberOfPixels());
  PixelType * const pixels = image->GetBufferPointer();
  for (std::size_t i = 0; i < count; ++i)
  {
    pixels[i] = palette.empty() ? RandomValue<PixelType>(random) : palette[(random() >> 11) % palette.size()];
  }
  return image;
}

/** Every pixel of the region equal; a failure names the number of differing pixels and the first one. */
template <typename TImage>
void
ExpectEqualPixels(const TImage & expected, const TImage & actual, const typename TImage::RegionType & region)
{
  ASSERT_TRUE(expected.GetBufferedRegion().IsInside(region) || region.GetNumberOfPixels() == 0);
  ASSERT_TRUE(actual.GetBufferedRegion().IsInside(region) || region.GetNumberOfPixels() == 0);
  std::size_t                                    differing = 0;
  typename TImage::IndexType                     first{};
  itk::ImageRegionConstIteratorWithIndex<TImage> left(&expected, region);
  itk::ImageRegionConstIteratorWithIndex<TImage> right(&actual, region);
  for (; !left.IsAtEnd(); ++left, ++right)
  {
    if (!(left.Get() == right.Get()) && differing++ == 0)
    {
      first = left.GetIndex();
    }
  }
  if (differing != 0)
  {
    ADD_FAILURE() << differing << " of " << region.GetNumberOfPixels() << " pixels differ; first at " << first
                  << ": expected " << +expected.GetPixel(first) << ", got " << +actual.GetPixel(first);
  }
}

/** The buffered regions and every pixel in them equal. */
template <typename TImage>
void
ExpectEqualImages(const TImage & expected, const TImage & actual)
{
  ASSERT_EQ(expected.GetLargestPossibleRegion(), actual.GetLargestPossibleRegion());
  ASSERT_EQ(expected.GetBufferedRegion(), actual.GetBufferedRegion());
  ExpectEqualPixels(expected, actual, expected.GetBufferedRegion());
}

} // namespace cudamediantest

#endif
