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
// Regions: what the filter asks of its input, what it computes of its output, and where the border is.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestRegionSource.h"

#include "itkStreamingImageFilter.h"

#include <string>

namespace
{

using ImageType = itk::Image<short, 2>;
using VolumeType = itk::Image<unsigned short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using ItkFilterType = itk::MedianImageFilter<ImageType, ImageType>;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;
using cudamediantest::ExpectEqualPixels;
using cudamediantest::MakeImage;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;

} // namespace

TEST(CudaMedianImageFilterRegions, IndexNotAtZero)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>({ { { -5, 100 } }, { { 33, 21 } } }, Pattern::FullRange);
  for (const itk::SizeValueType radius : { 1, 3, 7 })
  {
    const auto expected = cudamediantest::ItkMedian(*image, itk::Size<2>::Filled(radius));
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend));
      const auto filter = FilterType::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(radius);
      filter->Update();
      EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), image->GetBufferedRegion());
      ExpectEqualImages(*expected, *filter->GetOutput());
    }
  }
}

TEST(CudaMedianImageFilterRegions, RequestedSubregions)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>({ { { -5, 100 } }, { { 40, 30 } } }, Pattern::FullRange);
  const std::vector<ImageType::RegionType> regions{
    { { { -5, 100 } }, { { 1, 1 } } },  // a corner
    { { { 34, 129 } }, { { 1, 1 } } },  // the other corner
    { { { -5, 115 } }, { { 40, 1 } } }, // a row
    { { { 12, 100 } }, { { 1, 30 } } }, // a column
    { { { 3, 107 } }, { { 17, 11 } } }, // the inside
    { { { 20, 119 } }, { { 15, 11 } } } // to the far border
  };
  for (const itk::SizeValueType radius : { 0, 2, 6 })
  {
    const auto whole = cudamediantest::ItkMedian(*image, itk::Size<2>::Filled(radius));
    for (const auto backend : BackendsUnderTest())
    {
      for (const auto & region : regions)
      {
        SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius));
        const auto filter = FilterType::New();
        filter->SetBackend(backend);
        filter->SetInput(image);
        filter->SetRadius(radius);
        filter->GetOutput()->SetRequestedRegion(region);
        filter->Update();
        EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), region);
        ExpectEqualPixels(*whole, *filter->GetOutput(), region);
      }
    }
  }
}

// After a small request the same filter serves a larger one, into a larger buffer.
TEST(CudaMedianImageFilterRegions, RequestedRegionGrows)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image =
    MakeRandomImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 40, 30 } }), Pattern::FullRange);
  const auto whole = cudamediantest::ItkMedian(*image, itk::Size<2>::Filled(2));
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = FilterType::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(2);
    filter->GetOutput()->SetRequestedRegion(ImageType::RegionType({ { 7, 9 } }, { { 5, 4 } }));
    filter->Update();
    filter->UpdateLargestPossibleRegion();
    ExpectEqualImages(*whole, *filter->GetOutput());
  }
}

TEST(CudaMedianImageFilterRegions, InputRequestIsPaddedByTheRadiusAndCropped)
{
  const auto source = cudamediantest::RegionSource<ImageType>::New();
  source->SetRegion({ { { -5, 100 } }, { { 40, 30 } } });
  const auto filter = FilterType::New();
  filter->SetInput(source->GetOutput());
  filter->SetRadius(ImageType::SizeType{ { 3, 2 } });
  filter->GetOutput()->SetRequestedRegion(ImageType::RegionType({ { -4, 110 } }, { { 6, 5 } }));
  filter->Update();
  EXPECT_EQ(source->GetOutput()->GetBufferedRegion(), ImageType::RegionType({ { -5, 108 } }, { { 10, 9 } }));

  filter->SliceWiseOn();
  filter->Update();
  EXPECT_EQ(source->GetOutput()->GetRequestedRegion(), ImageType::RegionType({ { -5, 110 } }, { { 10, 5 } }));
}

TEST(CudaMedianImageFilterRegions, StreamedEqualsWhole)
{
  for (const itk::SizeValueType radius : { 1, 2, 6 })
  {
    const auto source = cudamediantest::RegionSource<VolumeType>::New();
    source->SetRegion({ { { -5, 100, 7 } }, { { 19, 13, 11 } } });
    const auto itkFilter = itk::MedianImageFilter<VolumeType, VolumeType>::New();
    itkFilter->SetInput(source->GetOutput());
    itkFilter->SetRadius(radius);
    itkFilter->Update();
    for (const auto backend : BackendsUnderTest())
    {
      for (const unsigned int divisions : { 1u, 2u, 3u, 7u, 11u })
      {
        SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius) + ", divisions " +
                     std::to_string(divisions));
        const auto streamed = cudamediantest::RegionSource<VolumeType>::New();
        streamed->SetRegion({ { { -5, 100, 7 } }, { { 19, 13, 11 } } });
        const auto filter = itk::CudaMedianImageFilter<VolumeType>::New();
        filter->SetBackend(backend);
        filter->SetInput(streamed->GetOutput());
        filter->SetRadius(radius);
        const auto streamer = itk::StreamingImageFilter<VolumeType, VolumeType>::New();
        streamer->SetInput(filter->GetOutput());
        streamer->SetNumberOfStreamDivisions(divisions);
        streamer->Update();
        ExpectEqualImages(*itkFilter->GetOutput(), *streamer->GetOutput());
      }
    }
  }
}

TEST(CudaMedianImageFilterRegions, InputBuffersMoreThanIsAskedFor)
{
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto source = cudamediantest::RegionSource<ImageType>::New();
    source->SetRegion({ { { -5, 100 } }, { { 40, 30 } } });
    source->SetExcess(3);
    const ImageType::RegionType requested({ { 4, 112 } }, { { 9, 8 } });
    const auto                  itkFilter = ItkFilterType::New();
    itkFilter->SetInput(source->GetOutput());
    itkFilter->SetRadius(2);
    itkFilter->GetOutput()->SetRequestedRegion(requested);
    itkFilter->Update();
    const auto filter = FilterType::New();
    filter->SetBackend(backend);
    filter->SetInput(source->GetOutput());
    filter->SetRadius(2);
    filter->GetOutput()->SetRequestedRegion(requested);
    filter->Update();
    ExpectEqualImages(*itkFilter->GetOutput(), *filter->GetOutput());
  }
}

// The border is that of the buffered region, wherever the largest possible region ends.
TEST(CudaMedianImageFilterRegions, BorderIsThatOfTheBufferedRegion)
{
  const ImageType::RegionType available({ { 2, 105 } }, { { 17, 12 } });
  for (const itk::SizeValueType radius : { 1, 4, 8 })
  {
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius));
      const auto source = cudamediantest::RegionSource<ImageType>::New();
      source->SetRegion({ { { -5, 100 } }, { { 40, 30 } } });
      source->SetAvailable(available);
      const auto itkFilter = ItkFilterType::New();
      itkFilter->SetInput(source->GetOutput());
      itkFilter->SetRadius(radius);
      itkFilter->GetOutput()->SetRequestedRegion(available);
      itkFilter->Update();
      ASSERT_EQ(source->GetOutput()->GetBufferedRegion(), available);
      const auto filter = FilterType::New();
      filter->SetBackend(backend);
      filter->SetInput(source->GetOutput());
      filter->SetRadius(radius);
      filter->GetOutput()->SetRequestedRegion(available);
      filter->Update();
      ExpectEqualImages(*itkFilter->GetOutput(), *filter->GetOutput());
    }
  }
}

TEST(CudaMedianImageFilterRegions, EmptyImageGivesEmptyOutput)
{
  for (const auto backend : BackendsUnderTest())
  {
    for (const ImageType::SizeType & size : { ImageType::SizeType{ { 0, 0 } }, ImageType::SizeType{ { 4, 0 } } })
    {
      SCOPED_TRACE(BackendText(backend));
      const auto image = MakeImage<ImageType>(ImageType::RegionType(size));
      const auto filter = FilterType::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(1);
      EXPECT_NO_THROW(filter->Update());
      EXPECT_EQ(filter->GetOutput()->GetBufferedRegion().GetSize(), size);
    }
  }
}

TEST(CudaMedianImageFilterRegions, EmptyImageWithRadiusZeroThrowsAsItkDoes)
{
  const auto image = MakeImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 0, 0 } }));
  const auto itkFilter = ItkFilterType::New();
  itkFilter->SetInput(image);
  itkFilter->SetRadius(0);
  EXPECT_THROW(itkFilter->Update(), itk::InvalidRequestedRegionError);
  const auto filter = FilterType::New();
  filter->SetInput(image);
  filter->SetRadius(0);
  EXPECT_THROW(filter->Update(), itk::InvalidRequestedRegionError);
}

TEST(CudaMedianImageFilterRegions, RequestOutsideTheImageThrows)
{
  const auto image = MakeImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 8, 8 } }));
  const auto filter = FilterType::New();
  filter->SetInput(image);
  filter->GetOutput()->SetRequestedRegion(ImageType::RegionType({ { 100, 100 } }, { { 2, 2 } }));
  EXPECT_THROW(filter->Update(), itk::InvalidRequestedRegionError);
}

TEST(CudaMedianImageFilterRegions, NoInputThrowsWithItksText)
{
  const auto filter = FilterType::New();
  try
  {
    filter->Update();
    FAIL() << "no exception";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_NE(std::string(error.GetDescription()).find("Input Primary is required but not set."), std::string::npos)
      << error.GetDescription();
  }
}
