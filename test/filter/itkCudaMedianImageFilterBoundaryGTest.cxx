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
// Boundaries and windows of even size: equal to windows that are listed pixel by pixel, and to ITK's boundary
// conditions.

#include "CudaMedianTestBackends.h"
#include "CudaMedianTestImages.h"
#include "CudaMedianTestRegionSource.h"

#include "itkConstantBoundaryCondition.h"
#include "itkCudaMedianImageFilter.h"
#include "itkImageRegionConstIteratorWithIndex.h"
#include "itkPeriodicBoundaryCondition.h"
#include "itkStreamingImageFilter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using BoundaryEnum = itk::CudaMedianImageFilterEnums::Boundary;
using EvenMedianEnum = itk::CudaMedianImageFilterEnums::EvenMedian;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;
using cudamediantest::ExpectEqualPixels;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;

constexpr BoundaryEnum allBoundaries[] = {
  BoundaryEnum::ZeroFluxNeumann, BoundaryEnum::Constant, BoundaryEnum::Reflect,
  BoundaryEnum::Mirror,          BoundaryEnum::Wrap,     BoundaryEnum::Shrink
};

/** What a filter is asked for. */
template <unsigned int VDimension>
struct Wanted
{
  itk::Size<VDimension>                radius{ itk::Size<VDimension>::Filled(1) };
  std::array<bool, VDimension>         even{};
  std::array<BoundaryEnum, VDimension> boundary{};
  double                               constant{ 0 };
  EvenMedianEnum                       evenMedian{ EvenMedianEnum::Upper };
};

template <unsigned int VDimension>
std::string
ToText(const Wanted<VDimension> & wanted)
{
  std::ostringstream text;
  text << "radius " << wanted.radius << ", constant " << wanted.constant << ", " << wanted.evenMedian;
  for (unsigned int axis = 0; axis < VDimension; ++axis)
  {
    text << ", " << wanted.boundary[axis] << (wanted.even[axis] ? " even" : " odd");
  }
  return text.str();
}

/** Has a filter do what is wanted. */
template <typename TFilter, unsigned int VDimension>
void
Configure(TFilter & filter, const Wanted<VDimension> & wanted)
{
  filter.SetRadius(wanted.radius);
  for (unsigned int axis = 0; axis < VDimension; ++axis)
  {
    filter.SetBoundaryMode(axis, wanted.boundary[axis]);
    filter.SetEvenWindow(axis, wanted.even[axis]);
  }
  filter.SetBoundaryConstant(static_cast<typename TFilter::InputPixelType>(wanted.constant));
  filter.SetEvenMedian(wanted.evenMedian);
}

/** The position in an axis of `length` pixels that one beyond it is taken for; none where it is no pixel. */
std::optional<itk::IndexValueType>
Map(itk::IndexValueType position, itk::IndexValueType length, BoundaryEnum boundary)
{
  if (position >= 0 && position < length)
  {
    return position;
  }
  const auto modulo = [position](itk::IndexValueType period) { return ((position % period) + period) % period; };
  switch (boundary)
  {
    case BoundaryEnum::ZeroFluxNeumann:
      return std::clamp<itk::IndexValueType>(position, 0, length - 1);
    case BoundaryEnum::Reflect:
      return std::min(modulo(2 * length), 2 * length - 1 - modulo(2 * length));
    case BoundaryEnum::Mirror:
      return length == 1 ? 0 : std::min(modulo(2 * length - 2), 2 * length - 2 - modulo(2 * length - 2));
    case BoundaryEnum::Wrap:
      return modulo(length);
    default:
      return std::nullopt;
  }
}

/** The values of the window around a pixel. */
template <typename TImage>
std::vector<typename TImage::PixelType>
ListWindow(const TImage &                         image,
           const typename TImage::IndexType &     center,
           const Wanted<TImage::ImageDimension> & wanted)
{
  constexpr unsigned int                  dimension = TImage::ImageDimension;
  const auto                              region = image.GetLargestPossibleRegion();
  std::vector<typename TImage::PixelType> values;
  typename TImage::SizeType               size;
  for (unsigned int axis = 0; axis < dimension; ++axis)
  {
    size[axis] = 2 * wanted.radius[axis] + (wanted.even[axis] && wanted.radius[axis] > 0 ? 0 : 1);
  }
  const typename TImage::RegionType window(typename TImage::IndexType{}, size);
  for (itk::SizeValueType i = 0; i < window.GetNumberOfPixels(); ++i)
  {
    typename TImage::IndexType index;
    auto                       rest = i;
    bool                       isConstant = false;
    bool                       isNothing = false;
    for (unsigned int axis = 0; axis < dimension; ++axis)
    {
      const auto offset = static_cast<itk::IndexValueType>(rest % size[axis]);
      rest /= size[axis];
      const auto position =
        center[axis] - region.GetIndex(axis) + offset - static_cast<itk::IndexValueType>(wanted.radius[axis]);
      const auto mapped = Map(position, static_cast<itk::IndexValueType>(region.GetSize(axis)), wanted.boundary[axis]);
      isConstant = isConstant || (!mapped && wanted.boundary[axis] == BoundaryEnum::Constant);
      isNothing = isNothing || (!mapped && wanted.boundary[axis] == BoundaryEnum::Shrink);
      index[axis] = region.GetIndex(axis) + mapped.value_or(0);
    }
    if (!isNothing)
    {
      values.push_back(isConstant ? static_cast<typename TImage::PixelType>(wanted.constant) : image.GetPixel(index));
    }
  }
  return values;
}

template <typename TImage>
typename TImage::Pointer
PlainMedian(const TImage & image, const Wanted<TImage::ImageDimension> & wanted)
{
  using PixelType = typename TImage::PixelType;
  const auto result = cudamediantest::MakeImage<TImage>(image.GetLargestPossibleRegion());
  for (itk::ImageRegionConstIteratorWithIndex<TImage> it(result, result->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    auto values = ListWindow(image, it.GetIndex(), wanted);
    std::sort(values.begin(), values.end());
    auto median = values[values.size() / 2];
    if (wanted.evenMedian == EvenMedianEnum::Mean && values.size() % 2 == 0)
    {
      const auto mean = (static_cast<double>(values[values.size() / 2 - 1]) + static_cast<double>(median)) / 2;
      median = static_cast<PixelType>(std::is_integral<PixelType>::value ? std::floor(mean) : mean);
    }
    result->SetPixel(it.GetIndex(), median);
  }
  return result;
}

/** Random wishes: sizes of both kinds, a boundary for all axes or for each. */
template <unsigned int VDimension>
Wanted<VDimension>
Draw(std::mt19937_64 & random, unsigned int mostRadius, BoundaryEnum boundary)
{
  Wanted<VDimension> wanted;
  for (unsigned int axis = 0; axis < VDimension; ++axis)
  {
    wanted.radius[axis] = random() % (mostRadius + 1);
    wanted.even[axis] = random() % 3 == 0;
    // Windows are clipped along all axes or along none.
    const bool isOther = boundary != BoundaryEnum::Shrink && random() % 4 == 0;
    wanted.boundary[axis] = isOther ? allBoundaries[random() % (std::size(allBoundaries) - 1)] : boundary;
  }
  wanted.constant = static_cast<double>(random() % 100);
  wanted.evenMedian = random() % 2 == 0 ? EvenMedianEnum::Upper : EvenMedianEnum::Mean;
  return wanted;
}

/** Random wishes on all backends, against windows that are listed. */
template <typename TPixel, unsigned int VDimension>
void
ExpectPlainMedians(const std::vector<itk::Size<VDimension>> & sizes, unsigned int mostRadius, int turns)
{
  using ImageType = itk::Image<TPixel, VDimension>;
  std::mt19937_64 random(cudamediantest::Seed() + VDimension);
  std::uint64_t   stream = 0;
  for (const auto & size : sizes)
  {
    for (const auto boundary : allBoundaries)
    {
      for (int turn = 0; turn < turns; ++turn)
      {
        typename ImageType::RegionType region(size);
        region.SetIndex(0, -3);
        auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange, stream++);
        if (std::is_floating_point<TPixel>::value)
        {
          // Numbers whose means are exact.
          std::generate_n(image->GetBufferPointer(), region.GetNumberOfPixels(), [&random] {
            return static_cast<TPixel>(static_cast<int>(random() % 2001) - 1000);
          });
        }
        const auto wanted = Draw<VDimension>(random, mostRadius, boundary);
        const auto expected = PlainMedian(*image, wanted);
        for (const auto backend : BackendsUnderTest())
        {
          std::ostringstream text;
          text << BackendText(backend) << ", size " << size << ", " << ToText(wanted);
          SCOPED_TRACE(text.str());
          const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
          filter->SetBackend(backend);
          filter->SetInput(image);
          Configure(*filter, wanted);
          ASSERT_NO_THROW(filter->Update());
          ExpectEqualImages(*expected, *filter->GetOutput());
          if (testing::Test::HasFailure())
          {
            return;
          }
        }
      }
    }
  }
}

template <typename TPixel>
class CudaMedianImageFilterBoundaryTypes : public testing::Test
{};

using PixelTypes = testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned int, float, double>;
TYPED_TEST_SUITE(CudaMedianImageFilterBoundaryTypes, PixelTypes);

using ImageType = itk::Image<short, 2>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using RegionType = ImageType::RegionType;

} // namespace

TYPED_TEST(CudaMedianImageFilterBoundaryTypes, EqualListedWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectPlainMedians<TypeParam, 2>({ { { 29, 17 } }, { { 5, 2 } }, { { 1, 1 } } }, 4, 3);
  ExpectPlainMedians<TypeParam, 3>({ { { 11, 7, 5 } }, { { 3, 1, 4 } } }, 2, 2);
}

TEST(CudaMedianImageFilterBoundary, OneAndFourDimensions)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectPlainMedians<short, 1>({ { { 40 } }, { { 3 } } }, 9, 3);
  ExpectPlainMedians<short, 4>({ { { 6, 5, 4, 3 } } }, 1, 2);
}

TEST(CudaMedianImageFilterBoundary, LargeWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectPlainMedians<unsigned char, 2>({ { { 40, 30 } } }, 13, 2);
  ExpectPlainMedians<short, 2>({ { { 40, 30 } } }, 13, 2);
  ExpectPlainMedians<float, 2>({ { { 40, 30 } } }, 13, 2);
}

// The names mean what ITK's boundary conditions do.
TEST(CudaMedianImageFilterBoundary, AsItksBoundaryConditions)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>({ { { 4, -7 } }, { { 13, 9 } } }, Pattern::FullRange);
  itk::ConstantBoundaryCondition<ImageType> constant;
  constant.SetConstant(55);
  itk::PeriodicBoundaryCondition<ImageType>                                     periodic;
  const std::pair<BoundaryEnum, const itk::ImageBoundaryCondition<ImageType> *> conditions[] = {
    { BoundaryEnum::Constant, &constant }, { BoundaryEnum::Wrap, &periodic }
  };
  for (const auto & [boundary, condition] : conditions)
  {
    const auto filter = FilterType::New();
    filter->SetInput(image);
    filter->SetRadius(2);
    filter->SetBoundaryMode(boundary);
    filter->SetBoundaryConstant(55);
    filter->Update();
    for (itk::ImageRegionConstIteratorWithIndex<ImageType> it(filter->GetOutput(), image->GetBufferedRegion());
         !it.IsAtEnd();
         ++it)
    {
      std::vector<short> values;
      for (int y = -2; y <= 2; ++y)
      {
        for (int x = -2; x <= 2; ++x)
        {
          const ImageType::OffsetType offset{ { x, y } };
          values.push_back(condition->GetPixel(it.GetIndex() + offset, image));
        }
      }
      std::nth_element(values.begin(), values.begin() + 12, values.end());
      ASSERT_EQ(it.Get(), values[12]) << boundary << " at " << it.GetIndex();
    }
  }
}

// The boundary is that of the whole image, whatever is requested of it.
TEST(CudaMedianImageFilterBoundary, RequestedSubregions)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64  random(cudamediantest::Seed());
  const RegionType whole({ { -5, 100 } }, { { 40, 30 } });
  const RegionType regions[] = { { { { -5, 100 } }, { { 1, 1 } } },  { { { 34, 129 } }, { { 1, 1 } } },
                                 { { { -5, 115 } }, { { 40, 1 } } }, { { { 12, 100 } }, { { 1, 30 } } },
                                 { { { 3, 107 } }, { { 17, 11 } } }, { { { 20, 119 } }, { { 15, 11 } } },
                                 { { { -3, 101 } }, { { 30, 20 } } } };
  for (const auto boundary : allBoundaries)
  {
    const auto source = cudamediantest::RegionSource<ImageType>::New();
    source->SetRegion(whole);
    source->Update();
    const auto wanted = Draw<2>(random, 5, boundary);
    const auto expected = PlainMedian(*source->GetOutput(), wanted);
    for (const auto backend : BackendsUnderTest())
    {
      for (const auto & region : regions)
      {
        std::ostringstream text;
        text << BackendText(backend) << ", " << ToText(wanted) << ", " << region;
        SCOPED_TRACE(text.str());
        // The source buffers no more than it is asked for.
        const auto part = cudamediantest::RegionSource<ImageType>::New();
        part->SetRegion(whole);
        const auto filter = FilterType::New();
        filter->SetBackend(backend);
        filter->SetInput(part->GetOutput());
        Configure(*filter, wanted);
        filter->GetOutput()->SetRequestedRegion(region);
        filter->Update();
        EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), region);
        ExpectEqualPixels(*expected, *filter->GetOutput(), region);
      }
    }
  }
}

TEST(CudaMedianImageFilterBoundary, StreamedEqualsWhole)
{
  CUDAMEDIAN_TRACE_SEED();
  using VolumeType = itk::Image<unsigned short, 3>;
  const VolumeType::RegionType whole({ { -5, 100, 7 } }, { { 13, 9, 11 } });
  std::mt19937_64              random(cudamediantest::Seed());
  for (const auto boundary : allBoundaries)
  {
    const auto source = cudamediantest::RegionSource<VolumeType>::New();
    source->SetRegion(whole);
    source->Update();
    const auto wanted = Draw<3>(random, 3, boundary);
    const auto expected = PlainMedian(*source->GetOutput(), wanted);
    for (const auto backend : BackendsUnderTest())
    {
      for (const unsigned int divisions : { 1u, 3u, 11u })
      {
        SCOPED_TRACE(BackendText(backend) + ", " + ToText(wanted) + ", divisions " + std::to_string(divisions));
        const auto streamed = cudamediantest::RegionSource<VolumeType>::New();
        streamed->SetRegion(whole);
        const auto filter = itk::CudaMedianImageFilter<VolumeType>::New();
        filter->SetBackend(backend);
        filter->SetInput(streamed->GetOutput());
        Configure(*filter, wanted);
        const auto streamer = itk::StreamingImageFilter<VolumeType, VolumeType>::New();
        streamer->SetInput(filter->GetOutput());
        streamer->SetNumberOfStreamDivisions(divisions);
        streamer->Update();
        ExpectEqualImages(*expected, *streamer->GetOutput());
      }
    }
  }
}

TEST(CudaMedianImageFilterBoundary, WrapAsksForWholeAxes)
{
  const RegionType whole({ { -5, 100 } }, { { 40, 30 } });
  const auto       source = cudamediantest::RegionSource<ImageType>::New();
  source->SetRegion(whole);
  const auto filter = FilterType::New();
  filter->SetInput(source->GetOutput());
  filter->SetRadius(ImageType::SizeType{ { 3, 2 } });
  filter->SetBoundaryMode(BoundaryEnum::Wrap);
  const auto requested = [&](const RegionType & region) {
    filter->GetOutput()->SetRequestedRegion(region);
    filter->GetOutput()->PropagateRequestedRegion();
    return source->GetOutput()->GetRequestedRegion();
  };
  filter->UpdateOutputInformation();
  // Windows inside of the image, beyond it along axis 0, and along both axes.
  EXPECT_EQ(requested({ { { 3, 110 } }, { { 6, 5 } } }), RegionType({ { 0, 108 } }, { { 12, 9 } }));
  EXPECT_EQ(requested({ { { -4, 110 } }, { { 6, 5 } } }), RegionType({ { -5, 108 } }, { { 40, 9 } }));
  EXPECT_EQ(requested({ { { 30, 129 } }, { { 5, 1 } } }), whole);
  filter->SliceWiseOn();
  EXPECT_EQ(requested({ { { -4, 110 } }, { { 6, 5 } } }), RegionType({ { -5, 110 } }, { { 40, 5 } }));
}

TEST(CudaMedianImageFilterBoundary, PropertiesAreKeptAndPrinted)
{
  const auto filter = FilterType::New();
  EXPECT_EQ(filter->GetBoundaryMode(), BoundaryEnum::ZeroFluxNeumann);
  EXPECT_FALSE(filter->GetEvenWindow());
  EXPECT_EQ(filter->GetEvenMedian(), EvenMedianEnum::Upper);
  EXPECT_EQ(filter->GetBoundaryConstant(), 0);
  filter->SetBoundaryMode(BoundaryEnum::Mirror);
  filter->SetBoundaryMode(1, BoundaryEnum::Wrap);
  EXPECT_EQ(filter->GetBoundaryMode(0), BoundaryEnum::Mirror);
  EXPECT_EQ(filter->GetBoundaryMode(1), BoundaryEnum::Wrap);
  filter->SetEvenWindow(1, true);
  EXPECT_FALSE(filter->GetEvenWindow(0));
  EXPECT_TRUE(filter->GetEvenWindow(1));
  filter->SetEvenMedian(EvenMedianEnum::Mean);
  filter->SetBoundaryConstant(-7);
  std::ostringstream text;
  filter->Print(text);
  for (const char * const part : { "[mirror, wrap]", "BoundaryConstant: -7", "EvenWindow: [0, 1]", "EvenMedian: mean" })
  {
    EXPECT_NE(text.str().find(part), std::string::npos) << part << " is not in " << text.str();
  }
  EXPECT_THROW(filter->SetBoundaryMode(2, BoundaryEnum::Wrap), itk::ExceptionObject);
  EXPECT_THROW(filter->SetEvenWindow(2, true), itk::ExceptionObject);
  EXPECT_THROW(filter->GetBoundaryMode(2), itk::ExceptionObject);
  const auto time = filter->GetMTime();
  filter->SetBoundaryMode(1, BoundaryEnum::Wrap);
  filter->SetEvenWindow(1, true);
  filter->SetBoundaryConstant(-7);
  EXPECT_EQ(filter->GetMTime(), time) << "setting the same values again is no modification";
  filter->SetBoundaryMode(0, BoundaryEnum::Shrink);
  EXPECT_GT(filter->GetMTime(), time);
}

// Where ITK's own filter would run it has no such boundary.
TEST(CudaMedianImageFilterBoundary, OfTypesTheEngineHasNotIsAnError)
{
  using LongImage = itk::Image<long double, 2>;
  const auto image = cudamediantest::MakeImage<LongImage>(LongImage::RegionType(LongImage::SizeType{ { 8, 8 } }));
  image->FillBuffer(1);
  const auto filter = itk::CudaMedianImageFilter<LongImage>::New();
  filter->SetInput(image);
  EXPECT_NO_THROW(filter->Update());
  filter->SetBoundaryMode(BoundaryEnum::Reflect);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  filter->SetBoundaryMode(BoundaryEnum::ZeroFluxNeumann);
  filter->SetEvenWindow(true);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
}
