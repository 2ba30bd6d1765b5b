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
// Footprints, weights, masks, ignored values and outliers: equal to windows that are listed pixel by pixel.

#include "CudaMedianTestBackends.h"
#include "CudaMedianTestImages.h"
#include "CudaMedianTestRegionSource.h"

#include "itkCudaMedianImageFilter.h"
#include "itkFlatStructuringElement.h"
#include "itkImageRegionConstIteratorWithIndex.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;
using cudamediantest::MakeImage;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;
using Enums = itk::CudaMedianImageFilterEnums;

/** A pixel of a listed window: where it lies, and how often it counts. */
template <unsigned int VDimension>
struct Neighbor
{
  itk::Offset<VDimension> offset;
  itk::SizeValueType      weight;
};

template <unsigned int VDimension>
using Neighbors = std::vector<Neighbor<VDimension>>;

/** All pixels of a box for which a function says how often they count. */
template <unsigned int VDimension, typename TWeight>
Neighbors<VDimension>
ListNeighbors(const itk::Size<VDimension> & radius, const TWeight & getWeight)
{
  itk::Neighborhood<char, VDimension> box;
  box.SetRadius(radius);
  Neighbors<VDimension> neighbors;
  for (itk::SizeValueType i = 0; i < box.Size(); ++i)
  {
    const auto weight = static_cast<itk::SizeValueType>(getWeight(box.GetOffset(i)));
    if (weight > 0)
    {
      neighbors.push_back({ box.GetOffset(i), weight });
    }
  }
  return neighbors;
}

/** Whether a pixel is valid. */
template <typename TImage>
using IsValid = std::function<bool(const typename TImage::IndexType &)>;

/** The valid values of the window around a pixel, sorted. */
template <typename TImage>
std::vector<typename TImage::PixelType>
ListWindow(const TImage &                            image,
           const typename TImage::IndexType &        center,
           const Neighbors<TImage::ImageDimension> & neighbors,
           const IsValid<TImage> &                   isValid)
{
  const auto                              region = image.GetLargestPossibleRegion();
  std::vector<typename TImage::PixelType> values;
  for (const auto & neighbor : neighbors)
  {
    auto index = center + neighbor.offset;
    for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
    {
      index[axis] = std::clamp(index[axis], region.GetIndex(axis), region.GetUpperIndex()[axis]);
    }
    if (!isValid || isValid(index))
    {
      values.insert(values.end(), neighbor.weight, image.GetPixel(index));
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

/** The median of each window, the upper one; the input's pixel where none is valid. */
template <typename TImage>
typename TImage::Pointer
ListedMedian(const TImage &                            image,
             const Neighbors<TImage::ImageDimension> & neighbors,
             const IsValid<TImage> &                   isValid = {})
{
  const auto result = MakeImage<TImage>(image.GetLargestPossibleRegion());
  for (itk::ImageRegionConstIteratorWithIndex<TImage> it(&image, image.GetLargestPossibleRegion()); !it.IsAtEnd(); ++it)
  {
    const auto values = ListWindow(image, it.GetIndex(), neighbors, isValid);
    result->SetPixel(it.GetIndex(), values.empty() ? it.Get() : values[values.size() / 2]);
  }
  return result;
}

/** Runs a filter on every backend. */
template <typename TImage>
void
ExpectMedians(const TImage &                                                    image,
              const TImage &                                                    expected,
              const std::function<void(itk::CudaMedianImageFilter<TImage> &)> & configure)
{
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = itk::CudaMedianImageFilter<TImage>::New();
    filter->SetBackend(backend);
    filter->SetInput(&image);
    configure(*filter);
    ASSERT_NO_THROW(filter->Update());
    ExpectEqualImages(expected, *filter->GetOutput());
  }
}

/** The text of the exception of a filter's update; empty where there is none. */
template <typename TFilter>
std::string
Refusal(TFilter & filter)
{
  try
  {
    filter.Update();
  }
  catch (const itk::ExceptionObject & error)
  {
    return error.GetDescription();
  }
  return "";
}

/** A mask that is 0 where a function of the pixel's number says so. */
template <typename TMask, typename TRegion>
typename TMask::Pointer
MakeMask(const TRegion & region, const std::function<bool(std::size_t)> & isValid)
{
  const auto  mask = MakeImage<TMask>(region);
  std::size_t number = 0;
  for (auto * pixel = mask->GetBufferPointer(); number < region.GetNumberOfPixels(); ++number)
  {
    *pixel++ = isValid(number) ? typename TMask::PixelType(1 + number % 100) : typename TMask::PixelType(0);
  }
  return mask;
}

template <typename TPixel>
class CudaMedianImageFilterFootprintTypes : public testing::Test
{};

using PixelTypes = testing::Types<unsigned char, short, float, double>;
TYPED_TEST_SUITE(CudaMedianImageFilterFootprintTypes, PixelTypes);

using ImageType = itk::Image<short, 2>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using RegionType = ImageType::RegionType;
using ByteImage = itk::Image<unsigned char, 2>;

const RegionType someRegion({ { -3, 5 } }, { { 31, 23 } });

} // namespace

/** Disks and balls of more values than programs are made for: local ranks slide by their edges on every backend. */
TYPED_TEST(CudaMedianImageFilterFootprintTypes, LargeDisksAndBalls)
{
  CUDAMEDIAN_TRACE_SEED();
  using Image2 = itk::Image<TypeParam, 2>;
  using Image3 = itk::Image<TypeParam, 3>;
  const auto image2 = MakeRandomImage<Image2>({ { { 4, -6 } }, { { 71, 45 } } }, Pattern::FullRange);
  const auto image3 = MakeRandomImage<Image3>({ { { 1, 2, 3 } }, { { 21, 17, 13 } } }, Pattern::FullRange);
  const auto usesRanks = [](const auto & filter) {
    EXPECT_NE(filter.GetExecutionReport().algorithm.find("local ranks"), std::string::npos)
      << filter.GetExecutionReport().algorithm << ": " << filter.GetExecutionReport().algorithmReason;
  };
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    for (const unsigned int radius : { 7U, 11U })
    {
      const auto disk = itk::FlatStructuringElement<2>::Ball(itk::Size<2>::Filled(radius));
      const auto filter = itk::CudaMedianImageFilter<Image2>::New();
      filter->SetBackend(backend);
      filter->SetInput(image2);
      filter->SetFootprint(disk);
      ASSERT_NO_THROW(filter->Update());
      usesRanks(*filter);
      const auto listed = ListNeighbors<2>(
        disk.GetRadius(), [&](const auto & offset) { return disk[disk.GetNeighborhoodIndex(offset)] ? 1 : 0; });
      ExpectEqualImages(*ListedMedian(*image2, listed), *filter->GetOutput());
    }
    const auto ball = itk::FlatStructuringElement<3>::Ball(itk::Size<3>::Filled(4));
    const auto filter = itk::CudaMedianImageFilter<Image3>::New();
    filter->SetBackend(backend);
    filter->SetInput(image3);
    filter->SetFootprint(ball);
    ASSERT_NO_THROW(filter->Update());
    usesRanks(*filter);
    const auto listed = ListNeighbors<3>(
      ball.GetRadius(), [&](const auto & offset) { return ball[ball.GetNeighborhoodIndex(offset)] ? 1 : 0; });
    ExpectEqualImages(*ListedMedian(*image3, listed), *filter->GetOutput());
  }
}

TYPED_TEST(CudaMedianImageFilterFootprintTypes, StructuringElements)
{
  CUDAMEDIAN_TRACE_SEED();
  using Image2 = itk::Image<TypeParam, 2>;
  using Image3 = itk::Image<TypeParam, 3>;
  const auto image2 = MakeRandomImage<Image2>({ { { 4, -6 } }, { { 37, 21 } } }, Pattern::FullRange);
  const auto image3 = MakeRandomImage<Image3>({ { { 1, 2, 3 } }, { { 11, 9, 7 } } }, Pattern::FullRange);
  for (const unsigned int radius : { 1U, 2U, 3U })
  {
    const auto disk = itk::FlatStructuringElement<2>::Ball(itk::Size<2>::Filled(radius));
    const auto cross = itk::FlatStructuringElement<3>::Cross(itk::Size<3>::Filled(radius));
    const auto inDisk = [&](const auto & offset) { return disk[disk.GetNeighborhoodIndex(offset)]; };
    const auto inCross = [&](const auto & offset) { return cross[cross.GetNeighborhoodIndex(offset)]; };
    ExpectMedians<Image2>(*image2, *ListedMedian(*image2, ListNeighbors(disk.GetRadius(), inDisk)), [&](auto & filter) {
      filter.SetFootprint(disk);
    });
    ExpectMedians<Image3>(*image3,
                          *ListedMedian(*image3, ListNeighbors(cross.GetRadius(), inCross)),
                          [&](auto & filter) { filter.SetFootprint(cross); });
  }
}

TEST(CudaMedianImageFilterFootprint, Weights)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto                               image = MakeRandomImage<ImageType>(someRegion, Pattern::FewValues);
  itk::Neighborhood<itk::SizeValueType, 2> weights;
  weights.SetRadius(2);
  std::mt19937_64 random(cudamediantest::Seed());
  for (itk::SizeValueType i = 0; i < weights.Size(); ++i)
  {
    weights[i] = random() % 4;
  }
  weights[0] = 1;
  const auto getWeight = [&](const auto & offset) { return weights[weights.GetNeighborhoodIndex(offset)]; };
  ExpectMedians<ImageType>(*image,
                           *ListedMedian(*image, ListNeighbors<2>(weights.GetRadius(), getWeight)),
                           [&](auto & filter) { filter.SetWeights(weights); });
  const auto getCenter = [](const auto & offset) { return offset == itk::Offset<2>{} ? 3 : 1; };
  ExpectMedians<ImageType>(*image, *ListedMedian(*image, ListNeighbors<2>({ { 1, 2 } }, getCenter)), [](auto & filter) {
    filter.SetRadius({ { 1, 2 } });
    filter.SetCenterWeight(3);
  });
}

TEST(CudaMedianImageFilterFootprint, PhysicalRadius)
{
  CUDAMEDIAN_TRACE_SEED();
  using Image3 = itk::Image<short, 3>;
  const auto   image = MakeRandomImage<Image3>({ { { 0, 0, 0 } }, { { 13, 11, 8 } } }, Pattern::FullRange);
  const double spacing[] = { 0.5, 1, 2.5 };
  image->SetSpacing(spacing);
  const auto inBall = [&](const auto & offset) {
    return std::hypot(offset[0] * 0.5, offset[1] * 1.0, offset[2] * 2.5) <= 2 + 1e-6;
  };
  ExpectMedians<Image3>(*image, *ListedMedian(*image, ListNeighbors<3>({ { 4, 2, 0 } }, inBall)), [](auto & filter) {
    filter.SetPhysicalRadius(2);
  });
  const auto filter = itk::CudaMedianImageFilter<Image3>::New();
  filter->SetPhysicalRadius(2.5);
  EXPECT_THROW(filter->GetEffectiveRadius(), itk::ExceptionObject) << "there is no spacing yet";
  filter->SetInput(image);
  EXPECT_EQ(filter->GetEffectiveRadius(), (itk::Size<3>{ { 5, 2, 1 } }));
  filter->SliceWiseOn();
  EXPECT_EQ(filter->GetEffectiveRadius(), (itk::Size<3>{ { 5, 2, 0 } }));
  filter->SetPhysicalRadius(-1);
  EXPECT_NE(Refusal(*filter).find("radius of -"), std::string::npos);
}

// A box by another name runs as a box, and what is taken back is gone.
TEST(CudaMedianImageFilterFootprint, ShapesTakeEachOthersPlaces)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(someRegion, Pattern::FullRange);
  const auto filter = FilterType::New();
  filter->SetInput(image);
  filter->SetRadius(1);
  filter->SetFootprint(itk::FlatStructuringElement<2>::Box({ { 2, 1 } }));
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().footprint, "box");
  EXPECT_EQ(filter->GetEffectiveRadius(), (itk::Size<2>{ { 2, 1 } }));
  filter->SetFootprint(itk::FlatStructuringElement<2>::Cross({ { 1, 1 } }));
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().footprint, "5 of 9 pixels");
  filter->SetCenterWeight(5);
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().footprint, "9 of 9 pixels, 13 values");
  filter->ClearFootprint();
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().footprint, "box");
  EXPECT_EQ(filter->GetCenterWeight(), 1U);
}

TEST(CudaMedianImageFilterFootprint, StreamedInPieces)
{
  CUDAMEDIAN_TRACE_SEED();
  using Image3 = itk::Image<short, 3>;
  using Mask3 = itk::Image<unsigned short, 3>;
  using SourceType = cudamediantest::RegionSource<Image3>;
  const auto ball = itk::FlatStructuringElement<3>::Ball(itk::Size<3>::Filled(2));
  const auto region = Image3::RegionType({ { 3, -4, 9 } }, { { 19, 17, 15 } });
  const auto source = SourceType::New();
  source->SetRegion(region);
  source->Update();
  const auto inBall = [&](const auto & offset) { return ball[ball.GetNeighborhoodIndex(offset)]; };
  const auto neighbors = ListNeighbors(ball.GetRadius(), inBall);
  const auto mask = MakeMask<Mask3>(region, [](std::size_t number) { return number * number % 7 > 2; });
  const auto isValid = [&](const auto & index) { return mask->GetPixel(index) != 0; };
  const auto expected = ListedMedian<Image3>(*source->GetOutput(), neighbors, isValid);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto pieces = SourceType::New();
    pieces->SetRegion(region);
    pieces->SetExcess(1);
    const auto filter = itk::CudaMedianImageFilter<Image3>::New();
    filter->SetBackend(backend);
    filter->SetInput(pieces->GetOutput());
    filter->SetFootprint(ball);
    filter->SetMaskImage(mask);
    const auto streamer = itk::StreamingImageFilter<Image3, Image3>::New();
    streamer->SetInput(filter->GetOutput());
    streamer->SetNumberOfStreamDivisions(5);
    ASSERT_NO_THROW(streamer->Update());
    ExpectEqualImages(*expected, *streamer->GetOutput());
  }
}

TYPED_TEST(CudaMedianImageFilterFootprintTypes, MasksOfEveryIntegerType)
{
  CUDAMEDIAN_TRACE_SEED();
  using Image2 = itk::Image<TypeParam, 2>;
  const auto image = MakeRandomImage<Image2>(someRegion, Pattern::FullRange);
  const auto box = ListNeighbors<2>({ { 1, 2 } }, [](const auto &) { return 1; });
  const auto expectMasked = [&](auto value, unsigned int share) {
    using MaskType = itk::Image<decltype(value), 2>;
    const auto mask =
      MakeMask<MaskType>(someRegion, [share](std::size_t number) { return number * 2654435761U % 100 < share; });
    const auto isValid = [&](const auto & index) { return mask->GetPixel(index) != 0; };
    ExpectMedians<Image2>(*image, *ListedMedian<Image2>(*image, box, isValid), [&](auto & filter) {
      filter.SetRadius({ { 1, 2 } });
      filter.SetMaskImage(mask);
    });
  };
  expectMasked(static_cast<unsigned char>(0), 95);
  expectMasked(static_cast<signed char>(0), 50);
  expectMasked(static_cast<unsigned short>(0), 20);
  expectMasked(static_cast<short>(0), 5);
  expectMasked(0U, 0);
  expectMasked(0, 70);
  expectMasked(0UL, 30);
  expectMasked(0L, 100);
}

TEST(CudaMedianImageFilterFootprint, MasksThatDoNotFitAreRefused)
{
  const auto image = MakeRandomImage<ImageType>(someRegion, Pattern::FullRange);
  const auto filter = FilterType::New();
  filter->SetInput(image);
  const auto wrong = [&](const itk::ImageBase<2> * mask, const std::string & text) {
    filter->SetMaskImage(mask);
    const auto refusal = Refusal(*filter);
    EXPECT_NE(refusal.find(text), std::string::npos) << refusal;
  };
  auto other = someRegion;
  other.SetSize(0, 30);
  wrong(MakeMask<ByteImage>(other, [](std::size_t) { return true; }), "[30, 23]");
  const auto   moved = MakeMask<ByteImage>(someRegion, [](std::size_t) { return true; });
  const double origin[] = { 40, 0 };
  moved->SetOrigin(origin);
  wrong(moved, "same physical space");
  const auto real = MakeImage<itk::Image<float, 2>>(someRegion);
  wrong(real, "no integers");
  filter->SetMaskImage(nullptr);
  EXPECT_EQ(Refusal(*filter), "");
  EXPECT_EQ(filter->GetMaskImage(), nullptr);
}

TEST(CudaMedianImageFilterFootprint, IgnoredValuesAndWhatStandsIn)
{
  CUDAMEDIAN_TRACE_SEED();
  auto image = MakeRandomImage<ImageType>(someRegion, Pattern::FewValues);
  image->FillBuffer(0);
  for (int y = 5; y < 28; y += 2)
  {
    image->SetPixel({ { y % 7, y } }, static_cast<short>(y));
  }
  const auto expected = MakeImage<ImageType>(someRegion);
  const auto box = ListNeighbors<2>({ { 1, 1 } }, [](const auto &) { return 1; });
  const auto isValid = [&](const auto & index) { return image->GetPixel(index) != 0; };
  for (itk::ImageRegionConstIteratorWithIndex<ImageType> it(image, someRegion); !it.IsAtEnd(); ++it)
  {
    const auto values = ListWindow<ImageType>(*image, it.GetIndex(), box, isValid);
    expected->SetPixel(it.GetIndex(), it.Get() == 0 ? -5 : values.empty() ? -7 : values[values.size() / 2]);
  }
  ExpectMedians<ImageType>(*image, *expected, [](auto & filter) {
    filter.SetIgnoredValue(0);
    filter.SetEmptyWindow(Enums::EmptyWindow::Value);
    filter.SetEmptyValue(-7);
    filter.SetInvalidOutput(Enums::InvalidOutput::Value);
    filter.SetInvalidValue(-5);
  });
}

TEST(CudaMedianImageFilterFootprint, OmittedNaN)
{
  CUDAMEDIAN_TRACE_SEED();
  using FloatImage = itk::Image<float, 2>;
  const auto image = MakeRandomImage<FloatImage>(someRegion, Pattern::FullRange);
  for (std::size_t i = 0; i < someRegion.GetNumberOfPixels(); i += 3)
  {
    image->GetBufferPointer()[i] = std::numeric_limits<float>::quiet_NaN();
  }
  const auto isValid = [&](const auto & index) { return !std::isnan(image->GetPixel(index)); };
  const auto box = ListNeighbors<2>({ { 2, 2 } }, [](const auto &) { return 1; });
  ExpectMedians<FloatImage>(*image, *ListedMedian<FloatImage>(*image, box, isValid), [](auto & filter) {
    filter.SetRadius(2);
    filter.SetNaNPolicy(Enums::NaNPolicy::Omit);
  });
}

TEST(CudaMedianImageFilterFootprint, OutliersAlone)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(someRegion, Pattern::FullRange);
  const auto box = ListNeighbors<2>({ { 1, 1 } }, [](const auto &) { return 1; });
  const auto absolute = MakeImage<ImageType>(someRegion);
  const auto byDeviation = MakeImage<ImageType>(someRegion);
  for (itk::ImageRegionConstIteratorWithIndex<ImageType> it(image, someRegion); !it.IsAtEnd(); ++it)
  {
    auto      values = ListWindow<ImageType>(*image, it.GetIndex(), box, {});
    const int median = values[4];
    int       deviations[9];
    std::transform(values.begin(), values.end(), deviations, [median](int value) { return std::abs(value - median); });
    std::sort(deviations, deviations + 9);
    const int distance = std::abs(it.Get() - median);
    absolute->SetPixel(it.GetIndex(), distance > 9000.5 ? static_cast<short>(median) : it.Get());
    byDeviation->SetPixel(it.GetIndex(), distance > 1.5 * deviations[4] ? static_cast<short>(median) : it.Get());
  }
  ExpectMedians<ImageType>(*image, *absolute, [](auto & filter) {
    filter.SetOutlierRule(Enums::OutlierRule::Absolute);
    filter.SetOutlierThreshold(9000.5);
  });
  ExpectMedians<ImageType>(*image, *byDeviation, [](auto & filter) {
    filter.SetOutlierRule(Enums::OutlierRule::Deviations);
    filter.SetOutlierThreshold(1.5);
  });
}

// One mask for all components.
TEST(CudaMedianImageFilterFootprint, MasksOfColourImages)
{
  CUDAMEDIAN_TRACE_SEED();
  using Colour = itk::RGBPixel<unsigned char>;
  using ColourImage = itk::Image<Colour, 2>;
  const auto image = MakeImage<ColourImage>(someRegion);
  const auto mask = MakeMask<ByteImage>(someRegion, [](std::size_t number) { return number % 5 != 0; });
  const auto isValid = [&](const auto & index) { return mask->GetPixel(index) != 0; };
  const auto expected = MakeImage<ColourImage>(someRegion);
  const auto box = ListNeighbors<2>({ { 1, 1 } }, [](const auto &) { return 1; });
  for (unsigned int component = 0; component < 3; ++component)
  {
    const auto one = MakeRandomImage<ByteImage>(someRegion, Pattern::FullRange, component);
    const auto medians = ListedMedian<ByteImage>(*one, box, isValid);
    for (std::size_t i = 0; i < someRegion.GetNumberOfPixels(); ++i)
    {
      image->GetBufferPointer()[i][component] = one->GetBufferPointer()[i];
      expected->GetBufferPointer()[i][component] = medians->GetBufferPointer()[i];
    }
  }
  for (const auto backend : BackendsUnderTest())
  {
    const auto filter = itk::CudaMedianImageFilter<ColourImage>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetMaskImage(mask);
    ASSERT_NO_THROW(filter->Update());
    for (std::size_t i = 0; i < someRegion.GetNumberOfPixels(); ++i)
    {
      ASSERT_EQ(expected->GetBufferPointer()[i], filter->GetOutput()->GetBufferPointer()[i]) << "pixel " << i;
    }
  }
}

TEST(CudaMedianImageFilterFootprint, WhatHasNoMeaningIsRefused)
{
  const auto image = MakeRandomImage<itk::Image<short, 3>>({ { { 0, 0, 0 } }, { { 6, 6, 6 } } }, Pattern::FullRange);
  const auto filter = itk::CudaMedianImageFilter<itk::Image<short, 3>>::New();
  filter->SetInput(image);
  filter->SetFootprint(itk::FlatStructuringElement<3>::Cross({ { 1, 1, 1 } }));
  filter->SliceWiseOn();
  EXPECT_NE(Refusal(*filter).find("along the last axis"), std::string::npos);
  filter->SliceWiseOff();
  filter->SetEvenWindow(true);
  EXPECT_NE(Refusal(*filter).find("footprint"), std::string::npos);
  filter->SetEvenWindow(false);
  itk::Neighborhood<itk::SizeValueType, 3> nothing;
  nothing.SetRadius(1);
  std::fill(nothing.Begin(), nothing.End(), 0);
  EXPECT_THROW(filter->SetWeights(nothing), itk::ExceptionObject);
  filter->SetOutlierRule(Enums::OutlierRule::Absolute);
  filter->SetOutlierThreshold(-1);
  EXPECT_NE(Refusal(*filter).find("-1"), std::string::npos);
  filter->SetOutlierRule(Enums::OutlierRule::None);
  EXPECT_EQ(Refusal(*filter), "");
}
