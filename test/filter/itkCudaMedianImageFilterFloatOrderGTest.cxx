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
// The order of floating point values: -0 before +0, every NaN after +infinity, in every backend alike.

#include "CudaMedianTestBackends.h"
#include "CudaMedianTestImages.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageRegionConstIteratorWithIndex.h"

#include <algorithm>
#include <sstream>

namespace
{

template <typename TFloat>
class CudaMedianImageFilterFloatOrder : public testing::Test
{};

using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaMedianImageFilterFloatOrder, FloatTypes);

/** The documented order. */
template <typename TFloat>
bool
ComesBefore(TFloat left, TFloat right)
{
  if (std::isnan(left) || std::isnan(right))
  {
    return !std::isnan(left) && std::isnan(right);
  }
  if (left == right)
  {
    return std::signbit(left) && !std::signbit(right);
  }
  return left < right;
}

/** Equal, zeros with their sign; every NaN equals every NaN, whose places among themselves are not defined. */
template <typename TFloat>
bool
IsSameValue(TFloat left, TFloat right)
{
  return !ComesBefore(left, right) && !ComesBefore(right, left);
}

/** A NaN with the given sign and payload bits, quiet. */
template <typename TFloat>
TFloat
MakeNaN(bool negative, unsigned int payload)
{
  using BitsType = std::conditional_t<sizeof(TFloat) == 4, std::uint32_t, std::uint64_t>;
  TFloat   value = std::numeric_limits<TFloat>::quiet_NaN();
  BitsType bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits |= BitsType{ payload } | (BitsType{ negative } << (8 * sizeof(bits) - 1));
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

/** Sorts the whole window: slow and plain. */
template <typename TFloat>
TFloat
SortedMedian(const itk::Image<TFloat, 2> & image, const itk::Index<2> & center, const itk::Size<2> & radius)
{
  const auto size = image.GetBufferedRegion().GetSize();
  const auto clamp = [](itk::IndexValueType value, itk::SizeValueType extent) {
    return std::min(std::max<itk::IndexValueType>(value, 0), static_cast<itk::IndexValueType>(extent) - 1);
  };
  const auto          radiusX = static_cast<itk::IndexValueType>(radius[0]);
  const auto          radiusY = static_cast<itk::IndexValueType>(radius[1]);
  std::vector<TFloat> window;
  for (itk::IndexValueType y = center[1] - radiusY; y <= center[1] + radiusY; ++y)
  {
    for (itk::IndexValueType x = center[0] - radiusX; x <= center[0] + radiusX; ++x)
    {
      window.push_back(image.GetPixel({ { clamp(x, size[0]), clamp(y, size[1]) } }));
    }
  }
  std::sort(window.begin(), window.end(), ComesBefore<TFloat>);
  return window[window.size() / 2];
}

/** An image of values drawn from the palette, against the sorting reference, on every backend. */
template <typename TFloat>
void
ExpectDocumentedOrder(const std::vector<TFloat> & palette)
{
  using ImageType = itk::Image<TFloat, 2>;
  const auto image =
    cudamediantest::MakeImage<ImageType>(typename ImageType::RegionType(typename ImageType::SizeType{ { 37, 19 } }));
  std::mt19937_64 random(cudamediantest::Seed());
  std::generate_n(image->GetBufferPointer(), 37 * 19, [&] { return palette[(random() >> 11) % palette.size()]; });

  // Three windows that tile programs cover and two that they do not.
  for (const itk::Size<2> & radius : { itk::Size<2>{ { 1, 1 } },
                                       itk::Size<2>{ { 2, 2 } },
                                       itk::Size<2>{ { 4, 1 } },
                                       itk::Size<2>{ { 7, 7 } },
                                       itk::Size<2>{ { 0, 9 } } })
  {
    for (const auto backend : cudamediantest::BackendsUnderTest())
    {
      std::ostringstream text;
      text << cudamediantest::BackendText(backend) << ", radius " << radius;
      SCOPED_TRACE(text.str());
      const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(radius);
      filter->Update();
      itk::ImageRegionConstIteratorWithIndex<ImageType> it(filter->GetOutput(), image->GetBufferedRegion());
      for (; !it.IsAtEnd(); ++it)
      {
        const TFloat expected = SortedMedian(*image, it.GetIndex(), radius);
        ASSERT_TRUE(IsSameValue(expected, it.Get()))
          << "at " << it.GetIndex() << " expected " << expected << ", got " << it.Get();
      }
    }
  }
}

} // namespace

TYPED_TEST(CudaMedianImageFilterFloatOrder, Zeros)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectDocumentedOrder<TypeParam>({ TypeParam(0), -TypeParam(0) });
}

TYPED_TEST(CudaMedianImageFilterFloatOrder, Infinities)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr auto infinity = std::numeric_limits<TypeParam>::infinity();
  ExpectDocumentedOrder<TypeParam>({ infinity, -infinity });
  ExpectDocumentedOrder<TypeParam>(
    { infinity, -infinity, std::numeric_limits<TypeParam>::max(), std::numeric_limits<TypeParam>::lowest() });
}

TYPED_TEST(CudaMedianImageFilterFloatOrder, SubnormalsAreNotFlushed)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr auto smallest = std::numeric_limits<TypeParam>::denorm_min();
  ExpectDocumentedOrder<TypeParam>({ smallest, 2 * smallest, -smallest, TypeParam(0), -TypeParam(0) });
}

TYPED_TEST(CudaMedianImageFilterFloatOrder, NaNOfEitherSignComesAfterInfinity)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr auto infinity = std::numeric_limits<TypeParam>::infinity();
  ExpectDocumentedOrder<TypeParam>({ MakeNaN<TypeParam>(false, 0), infinity });
  ExpectDocumentedOrder<TypeParam>({ MakeNaN<TypeParam>(true, 0), infinity });
  ExpectDocumentedOrder<TypeParam>({ MakeNaN<TypeParam>(true, 0x2a5), -infinity });
}

TYPED_TEST(CudaMedianImageFilterFloatOrder, NaNEverywhere)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectDocumentedOrder<TypeParam>({ MakeNaN<TypeParam>(false, 1), MakeNaN<TypeParam>(true, 0x1fffff) });
}

TYPED_TEST(CudaMedianImageFilterFloatOrder, AllSpecialValuesTogether)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr auto infinity = std::numeric_limits<TypeParam>::infinity();
  ExpectDocumentedOrder<TypeParam>({ TypeParam(0),
                                     -TypeParam(0),
                                     infinity,
                                     -infinity,
                                     TypeParam(1.5),
                                     TypeParam(-1.5),
                                     std::numeric_limits<TypeParam>::denorm_min(),
                                     MakeNaN<TypeParam>(false, 0),
                                     MakeNaN<TypeParam>(true, 0),
                                     MakeNaN<TypeParam>(false, 0x155),
                                     MakeNaN<TypeParam>(true, 0x1fffff) });
}
