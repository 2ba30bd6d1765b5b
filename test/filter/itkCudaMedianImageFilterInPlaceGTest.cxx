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
// The output in the input's memory: where CUDA filters a whole image, and where not as without it. Where ITK's own
// build runs the tests, on devices that are threads of the host, and on a GPU.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestRegionSource.h"

#include "itkRGBPixel.h"

#include <string>

namespace
{

using cudamediantest::BackendEnum;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;
using Enums = itk::CudaMedianImageFilterEnums;
using ImageType = itk::Image<short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using SourceType = cudamediantest::RegionSource<ImageType>;

const ImageType::RegionType region({ { 5, -3, 0 } }, { { 37, 29, 23 } });

SourceType::Pointer
MakeSource()
{
  const auto source = SourceType::New();
  source->SetRegion(region);
  return source;
}

/** What ITK's filter makes of the source. */
ImageType::Pointer
MakeExpected(itk::SizeValueType radius)
{
  const auto source = MakeSource();
  source->Update();
  return cudamediantest::ItkMedian(*source->GetOutput(), ImageType::SizeType::Filled(radius));
}

FilterType::Pointer
MakeFilter(BackendEnum backend, itk::SizeValueType radius)
{
  const auto filter = FilterType::New();
  EXPECT_FALSE(filter->GetInPlace());
  filter->InPlaceOn();
  filter->SetBackend(backend);
  filter->SetRadius(radius);
  return filter;
}

} // namespace

TEST(CudaMedianImageFilterInPlace, TheOutputTakesTheMemoryOfTheInput)
{
  const auto expected = MakeExpected(2);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto source = MakeSource();
    const auto filter = MakeFilter(backend, 2);
    filter->SetInput(source->GetOutput());
    source->Update();
    const void * memory = source->GetOutput()->GetBufferPointer();
    filter->Update();
    ExpectEqualImages(*expected, *filter->GetOutput());
    const bool isInPlace = backend == BackendEnum::Cuda;
    EXPECT_EQ(filter->IsFilteredInPlace(), isInPlace) << filter->GetInPlaceReason();
    EXPECT_EQ(filter->GetInPlaceReason().empty(), isInPlace);
    EXPECT_EQ(filter->GetOutput()->GetBufferPointer() == memory, isInPlace);
    EXPECT_EQ(source->GetOutput()->GetBufferedRegion().GetNumberOfPixels() == 0, isInPlace);
    EXPECT_NE(filter->GetExecutionReportAsString().find("In place: "), std::string::npos);
    // The input is made again where it is needed.
    filter->SetRadius(1);
    filter->Update();
    ExpectEqualImages(*MakeExpected(1), *filter->GetOutput());
    EXPECT_EQ(filter->IsFilteredInPlace(), isInPlace) << filter->GetInPlaceReason();
  }
}

TEST(CudaMedianImageFilterInPlace, NothingIsDoneWhereItIsNotAskedFor)
{
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto source = MakeSource();
    const auto filter = MakeFilter(backend, 1);
    filter->InPlaceOff();
    filter->SetInput(source->GetOutput());
    filter->Update();
    EXPECT_EQ(source->GetOutput()->GetBufferedRegion(), region);
    EXPECT_FALSE(filter->IsFilteredInPlace());
    EXPECT_EQ(filter->GetInPlaceReason(), "");
    EXPECT_EQ(filter->GetExecutionReportAsString().find("In place"), std::string::npos);
    ExpectEqualImages(*MakeExpected(1), *filter->GetOutput());
  }
}

TEST(CudaMedianImageFilterInPlace, APartOfTheImageHasMemoryOfItsOwn)
{
  const auto expected = MakeExpected(1);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto source = MakeSource();
    const auto filter = MakeFilter(backend, 1);
    filter->SetInput(source->GetOutput());
    filter->UpdateOutputInformation();
    const ImageType::RegionType part({ { 15, 8, 10 } }, { { 11, 7, 4 } });
    filter->GetOutput()->SetRequestedRegion(part);
    filter->Update();
    EXPECT_FALSE(filter->IsFilteredInPlace());
    EXPECT_NE(filter->GetInPlaceReason(), "");
    EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), part);
    cudamediantest::ExpectEqualPixels(*expected, *filter->GetOutput(), part);
    EXPECT_GT(source->GetOutput()->GetBufferedRegion().GetNumberOfPixels(), 0U);
  }
}

TEST(CudaMedianImageFilterInPlace, OtherSettingsAndTypesSayWhyNot)
{
  const auto check = [](auto filter, auto image, const std::string & text) {
    using TImage = typename decltype(image)::ObjectType;
    image->SetRegions(itk::ImageRegion<2>(itk::Size<2>{ { 20, 30 } }));
    image->Allocate();
    image->FillBuffer(typename TImage::PixelType());
    filter->InPlaceOn();
    filter->SetInput(image);
    filter->Update();
    EXPECT_NE(filter->GetInPlaceReason().find(text), std::string::npos) << filter->GetInPlaceReason();
    EXPECT_GT(image->GetBufferedRegion().GetNumberOfPixels(), 0U);
  };
  using ByteImage = itk::Image<unsigned char, 2>;
  using RgbImage = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  check(itk::CudaMedianImageFilter<RgbImage>::New(), RgbImage::New(), "several values");
  check(itk::CudaMedianImageFilter<ByteImage, itk::Image<short, 2>>::New(), ByteImage::New(), "of one type");
  const auto mirrored = itk::CudaMedianImageFilter<ByteImage>::New();
  mirrored->SetBoundaryMode(Enums::Boundary::Mirror);
  check(mirrored, ByteImage::New(), "the nearest pixel");
  const auto masked = itk::CudaMedianImageFilter<ByteImage>::New();
  const auto mask = ByteImage::New();
  mask->SetRegions(itk::ImageRegion<2>(itk::Size<2>{ { 20, 30 } }));
  mask->Allocate();
  mask->FillBuffer(1);
  masked->SetMaskImage(mask);
  check(masked, ByteImage::New(), "a mask");
}

// Neither image is half written. What is before the filter makes its image again.
TEST(CudaMedianImageFilterInPlace, AnAbortLeavesNeitherImage)
{
  const auto expected = MakeExpected(1);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto source = MakeSource();
    const auto filter = MakeFilter(backend, 1);
    filter->SetInput(source->GetOutput());
    bool stops = true;
    filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
      if (stops && filter->GetProgress() > 0)
      {
        filter->AbortGenerateDataOn();
      }
    });
    EXPECT_THROW(filter->Update(), itk::ProcessAborted);
    EXPECT_EQ(filter->GetOutput()->GetBufferedRegion().GetNumberOfPixels(), 0U);
    EXPECT_EQ(source->GetOutput()->GetBufferedRegion().GetNumberOfPixels() == 0, backend == BackendEnum::Cuda);
    stops = false;
    filter->Update();
    ExpectEqualImages(*expected, *filter->GetOutput());
  }
}

// An image without a source is lost, as in itk::InPlaceImageFilter. That is an exception, and no filtered garbage.
TEST(CudaMedianImageFilterInPlace, AnImageThatNothingMakesIsNotReadAgain)
{
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto source = MakeSource();
    source->Update();
    const ImageType::Pointer image = source->GetOutput();
    image->DisconnectPipeline();
    const auto filter = MakeFilter(backend, 1);
    filter->SetInput(image);
    filter->Update();
    filter->SetRadius(2);
    if (backend == BackendEnum::Cuda)
    {
      EXPECT_THROW(filter->Update(), itk::ExceptionObject);
      source->Update();
      filter->SetInput(source->GetOutput());
    }
    filter->Update();
    ExpectEqualImages(*MakeExpected(2), *filter->GetOutput());
  }
}
