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
// The rank filter: all pixels equal to itk::RankImageFilter's, at the border too, where windows are clipped.

#include "CudaMedianTestBackends.h"
#include "CudaMedianTestFailedRegion.h"
#include "CudaMedianTestImages.h"
#include "CudaMedianTestRegionSource.h"

#include "itkCudaMedianChainImageFilter.h"
#include "itkCudaRankImageFilter.h"
#include "itkImageRegionConstIteratorWithIndex.h"
#include "itkStreamingImageFilter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;
using cudamediantest::ExpectEqualPixels;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;

// Among them ranks that no window divides evenly, and one whose product with 8 rounds up in single precision.
constexpr float allRanks[] = { 0.0F, 0.001F, 0.1F, 0.25F, 0.4999F, 0.5F, 0.7F, 0.875F, 0.99F, 1.0F };

template <typename TImage>
typename TImage::Pointer
ItkRank(const TImage & image, const typename TImage::SizeType & radius, float rank)
{
  const auto filter = itk::RankImageFilter<TImage, TImage>::New();
  filter->SetInput(&image);
  filter->SetRadius(radius);
  filter->SetRank(rank);
  filter->Update();
  return filter->GetOutput();
}

/** The definition itself, where ITK's filter is wrong: in images of less than three pixels along an axis. */
template <typename TImage>
typename TImage::Pointer
PlainRank(const TImage & image, const typename TImage::SizeType & radius, float rank)
{
  const auto result = cudamediantest::MakeImage<TImage>(image.GetBufferedRegion());
  for (itk::ImageRegionConstIteratorWithIndex<TImage> it(result, result->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    typename TImage::RegionType window(it.GetIndex(), TImage::SizeType::Filled(1));
    window.PadByRadius(radius);
    window.Crop(image.GetBufferedRegion());
    std::vector<typename TImage::PixelType> values;
    for (itk::ImageRegionConstIteratorWithIndex<TImage> in(&image, window); !in.IsAtEnd(); ++in)
    {
      values.push_back(in.Get());
    }
    std::sort(values.begin(), values.end());
    const auto index = static_cast<std::size_t>(rank * static_cast<float>(values.size() - 1));
    result->SetPixel(it.GetIndex(), values[index]);
  }
  return result;
}

/** Every radius with every size, ranks and patterns taking turns. */
template <typename TPixel, unsigned int VDimension>
void
ExpectEqualToItk(const std::vector<itk::Size<VDimension>> & radii, const std::vector<itk::Size<VDimension>> & sizes)
{
  using ImageType = itk::Image<TPixel, VDimension>;
  std::uint64_t stream = 0;
  for (const auto & radius : radii)
  {
    for (const auto & size : sizes)
    {
      for (int turn = 0; turn < 3; ++turn)
      {
        const Pattern pattern = cudamediantest::AllPatterns[stream % std::size(cudamediantest::AllPatterns)];
        const float   rank = allRanks[stream * 7 % std::size(allRanks)];
        const auto    image = MakeRandomImage<ImageType>(typename ImageType::RegionType(size), pattern, stream);
        const bool    isThin = std::any_of(size.begin(), size.end(), [](auto length) { return length < 3; });
        const auto    expected = isThin ? PlainRank(*image, radius, rank) : ItkRank(*image, radius, rank);
        ++stream;
        for (const auto backend : BackendsUnderTest())
        {
          std::ostringstream text;
          text << BackendText(backend) << ", size " << size << ", radius " << radius << ", rank " << rank << ", "
               << ToString(pattern);
          SCOPED_TRACE(text.str());
          const auto filter = itk::CudaRankImageFilter<ImageType>::New();
          filter->SetBackend(backend);
          filter->SetInput(image);
          filter->SetRadius(radius);
          filter->SetRank(rank);
          ASSERT_NO_THROW(filter->Update());
          ExpectEqualImages(*expected, *filter->GetOutput());
          EXPECT_EQ(filter->GetExecutionReport().backend, backend == cudamediantest::BackendEnum::Cpu ? "CPU" : "CUDA");
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
class CudaRankImageFilterTypes : public testing::Test
{};

using PixelTypes = testing::Types<char,
                                  signed char,
                                  unsigned char,
                                  short,
                                  unsigned short,
                                  int,
                                  unsigned int,
                                  long,
                                  unsigned long,
                                  long long,
                                  unsigned long long,
                                  float,
                                  double>;
TYPED_TEST_SUITE(CudaRankImageFilterTypes, PixelTypes);

using ImageType = itk::Image<short, 2>;
using RegionType = ImageType::RegionType;

} // namespace

TYPED_TEST(CudaRankImageFilterTypes, TwoDimensions)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<2>>;
  ExpectEqualToItk<TypeParam>(Sizes{ { { 1, 1 } }, { { 2, 2 } }, { { 3, 0 } }, { { 1, 4 } }, { { 0, 0 } } },
                              Sizes{ { { 1, 1 } }, { { 13, 1 } }, { { 3, 2 } }, { { 37, 29 } } });
}

TYPED_TEST(CudaRankImageFilterTypes, ThreeDimensions)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<3>>;
  ExpectEqualToItk<TypeParam>(Sizes{ { { 1, 1, 1 } }, { { 2, 1, 0 } }, { { 0, 0, 2 } } },
                              Sizes{ { { 1, 1, 1 } }, { { 3, 9, 2 } }, { { 17, 11, 9 } } });
}

TEST(CudaRankImageFilter, OneAndFourDimensions)
{
  CUDAMEDIAN_TRACE_SEED();
  using Lines = std::vector<itk::Size<1>>;
  ExpectEqualToItk<float>(Lines{ { { 1 } }, { { 5 } } }, Lines{ { { 1 } }, { { 7 } }, { { 64 } } });
  using Sizes = std::vector<itk::Size<4>>;
  ExpectEqualToItk<short>(Sizes{ { { 1, 1, 1, 1 } }, { { 1, 0, 2, 1 } } },
                          Sizes{ { { 7, 5, 4, 3 } }, { { 1, 2, 1, 3 } } });
}

// Windows whose border is left to ITK's moving histogram, and windows larger than the image.
TEST(CudaRankImageFilter, LargeWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<2>>;
  const Sizes radii{ { { 10, 10 } }, { { 30, 40 } } };
  const Sizes sizes{ { { 100, 90 } }, { { 20, 9 } } };
  ExpectEqualToItk<unsigned char>(radii, sizes);
  ExpectEqualToItk<unsigned short>(radii, sizes);
  ExpectEqualToItk<float>(radii, sizes);
}

TEST(CudaRankImageFilter, RequestedSubregions)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>({ { { -5, 100 } }, { { 40, 30 } } }, Pattern::FullRange);
  const std::vector<RegionType> regions{
    { { { -5, 100 } }, { { 1, 1 } } },  // a corner
    { { { 34, 129 } }, { { 1, 1 } } },  // the other corner
    { { { -5, 115 } }, { { 40, 1 } } }, // a row
    { { { 12, 100 } }, { { 1, 30 } } }, // a column
    { { { 3, 107 } }, { { 17, 11 } } }, // the inside
    { { { 20, 119 } }, { { 15, 11 } } } // to the far border
  };
  for (const itk::SizeValueType radius : { 0, 2, 6 })
  {
    const auto whole = ItkRank(*image, itk::Size<2>::Filled(radius), 0.3F);
    for (const auto backend : BackendsUnderTest())
    {
      for (const auto & region : regions)
      {
        SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius));
        const auto filter = itk::CudaRankImageFilter<ImageType>::New();
        filter->SetBackend(backend);
        filter->SetInput(image);
        filter->SetRadius(radius);
        filter->SetRank(0.3F);
        filter->GetOutput()->SetRequestedRegion(region);
        filter->Update();
        EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), region);
        ExpectEqualPixels(*whole, *filter->GetOutput(), region);
      }
    }
  }
}

TEST(CudaRankImageFilter, StreamedEqualsWhole)
{
  using VolumeType = itk::Image<unsigned short, 3>;
  const VolumeType::RegionType region({ { -5, 100, 7 } }, { { 19, 13, 11 } });
  for (const itk::SizeValueType radius : { 1, 2, 6 })
  {
    const auto source = cudamediantest::RegionSource<VolumeType>::New();
    source->SetRegion(region);
    source->Update();
    const auto expected = ItkRank(*source->GetOutput(), itk::Size<3>::Filled(radius), 0.8F);
    for (const auto backend : BackendsUnderTest())
    {
      for (const itk::SizeValueType excess : { 0, 3 })
      {
        SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius));
        const auto streamed = cudamediantest::RegionSource<VolumeType>::New();
        streamed->SetRegion(region);
        streamed->SetExcess(excess);
        const auto filter = itk::CudaRankImageFilter<VolumeType>::New();
        filter->SetBackend(backend);
        filter->SetInput(streamed->GetOutput());
        filter->SetRadius(radius);
        filter->SetRank(0.8F);
        const auto streamer = itk::StreamingImageFilter<VolumeType, VolumeType>::New();
        streamer->SetInput(filter->GetOutput());
        streamer->SetNumberOfStreamDivisions(4);
        streamer->Update();
        ExpectEqualImages(*expected, *streamer->GetOutput());
      }
    }
  }
}

TEST(CudaRankImageFilter, OutputOfAnotherType)
{
  CUDAMEDIAN_TRACE_SEED();
  using OutputType = itk::Image<double, 2>;
  const auto image = MakeRandomImage<ImageType>(RegionType(ImageType::SizeType{ { 31, 23 } }), Pattern::FullRange);
  const auto itkFilter = itk::RankImageFilter<ImageType, OutputType>::New();
  itkFilter->SetInput(image);
  itkFilter->SetRadius(2);
  itkFilter->SetRank(0.2F);
  itkFilter->Update();
  for (const auto backend : BackendsUnderTest())
  {
    const auto filter = itk::CudaRankImageFilter<ImageType, OutputType>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(2);
    filter->SetRank(0.2F);
    filter->Update();
    ExpectEqualImages(*itkFilter->GetOutput(), *filter->GetOutput());
  }
}

// ITK's filter has no place for NaN; here it orders last, in clipped windows too.
TEST(CudaRankImageFilter, NaNOrdersLast)
{
  CUDAMEDIAN_TRACE_SEED();
  using FloatImage = itk::Image<float, 2>;
  const FloatImage::RegionType region(FloatImage::SizeType{ { 23, 17 } });
  const auto                   image = MakeRandomImage<FloatImage>(region, Pattern::FewValues);
  std::mt19937_64              random(cudamediantest::Seed() + 5);
  for (itk::SizeValueType i = 0; i < region.GetNumberOfPixels(); ++i)
  {
    if (random() % 3 == 0)
    {
      image->GetBufferPointer()[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = itk::CudaRankImageFilter<FloatImage>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(1);
    filter->SetRank(0.6F);
    filter->Update();
    for (itk::ImageRegionConstIteratorWithIndex<FloatImage> it(filter->GetOutput(), region); !it.IsAtEnd(); ++it)
    {
      FloatImage::RegionType window(it.GetIndex(), FloatImage::SizeType{ { 1, 1 } });
      window.PadByRadius(1);
      window.Crop(region);
      std::vector<float> values;
      for (itk::ImageRegionConstIteratorWithIndex<FloatImage> w(image, window); !w.IsAtEnd(); ++w)
      {
        values.push_back(w.Get());
      }
      std::sort(values.begin(), values.end(), [](float one, float other) {
        return std::isnan(one) || std::isnan(other) ? !std::isnan(one) && std::isnan(other) : one < other;
      });
      const float expected = values[static_cast<std::size_t>(0.6F * static_cast<float>(values.size() - 1))];
      ASSERT_TRUE(expected == it.Get() || (std::isnan(expected) && std::isnan(it.Get()))) << "at " << it.GetIndex();
    }
  }
}

// Kernels of other shapes, with ranks of all kinds.
TEST(CudaRankImageFilter, OtherKernelsEqualItk)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(RegionType(ImageType::SizeType{ { 31, 23 } }), Pattern::FullRange);
  using KernelType = itk::FlatStructuringElement<2>;
  KernelType::RadiusType wide;
  wide[0] = 5;
  wide[1] = 2;
  const auto filter = itk::CudaRankImageFilter<ImageType>::New();
  filter->SetInput(image);
  for (const auto backend : BackendsUnderTest())
  {
    for (const auto & kernel : { KernelType::Ball(KernelType::RadiusType::Filled(3)),
                                 KernelType::Ball(wide),
                                 KernelType::Cross(KernelType::RadiusType::Filled(2)),
                                 KernelType::Annulus(KernelType::RadiusType::Filled(4), 2) })
    {
      for (const float rank : { 0.0F, 0.25F, 0.5F, 0.8F, 1.0F })
      {
        std::ostringstream text;
        text << BackendText(backend) << ", radius " << kernel.GetRadius() << ", rank " << rank;
        SCOPED_TRACE(text.str());
        const auto itkFilter = itk::RankImageFilter<ImageType, ImageType>::New();
        itkFilter->SetInput(image);
        itkFilter->SetKernel(kernel);
        itkFilter->SetRank(rank);
        itkFilter->Update();
        filter->SetBackend(backend);
        filter->SetKernel(kernel);
        filter->SetRank(rank);
        ASSERT_NO_THROW(filter->Update());
        EXPECT_NE(filter->GetExecutionReport().footprint, "box");
        ExpectEqualImages(*itkFilter->GetOutput(), *filter->GetOutput());
      }
    }
  }
  // The same object takes a box again.
  filter->SetKernel(KernelType::Box(KernelType::RadiusType::Filled(2)));
  filter->SetBackend(cudamediantest::BackendEnum::Cpu);
  filter->SetRank(0.4F);
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().footprint, "box");
  ExpectEqualImages(*ItkRank(*image, itk::Size<2>::Filled(2), 0.4F), *filter->GetOutput());
}

TEST(CudaRankImageFilter, ProgressRisesAndAbortStops)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(RegionType(ImageType::SizeType{ { 200, 150 } }), Pattern::FullRange);
  const auto filter = itk::CudaRankImageFilter<ImageType>::New();
  filter->SetBackend(cudamediantest::BackendEnum::Cpu);
  filter->SetInput(image);
  filter->SetRadius(3);
  filter->SetRank(0.9F);
  float most = 0;
  bool  falls = false;
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
    falls = falls || filter->GetProgress() < most;
    most = std::max(most, filter->GetProgress());
  });
  filter->Update();
  EXPECT_FALSE(falls);
  EXPECT_EQ(most, 1.0F);
  filter->RemoveAllObservers();
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { filter->AbortGenerateDataOn(); });
  filter->Modified();
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  filter->RemoveAllObservers();
  filter->Update();
  ExpectEqualImages(*ItkRank(*image, itk::Size<2>::Filled(3), 0.9F), *filter->GetOutput());
}

TEST(CudaRankImageFilter, PropertiesAndReport)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto filter = itk::CudaRankImageFilter<ImageType>::New();
  EXPECT_EQ(filter->GetRank(), 0.5F);
  EXPECT_EQ(filter->GetBackend(), cudamediantest::BackendEnum::Auto);
  EXPECT_TRUE(filter->GetExecutionReport().backend.empty());
  filter->SetDevices({ 1 });
  filter->SetDeviceMemoryBudget(1000);
  filter->SetHostMemoryBudget(2000);
  std::ostringstream text;
  filter->Print(text);
  for (const char * const part : { "Devices: 1", "DeviceMemoryBudget: 1000", "HostMemoryBudget: 2000", "Rank: 0.5" })
  {
    EXPECT_NE(text.str().find(part), std::string::npos) << text.str();
  }
  filter->SetInput(MakeRandomImage<ImageType>(RegionType(ImageType::SizeType{ { 20, 10 } }), Pattern::FullRange));
  filter->SetBackend(cudamediantest::BackendEnum::Cpu);
  filter->SetDevices({});
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().window, (cudamedian::Extent{ { 3, 3, 1, 1 } }));
  EXPECT_NE(filter->GetExecutionReportAsString().find("56 pixels with clipped windows"), std::string::npos)
    << filter->GetExecutionReportAsString();
  EXPECT_EQ(filter->GetExecutionReport().border, "shrink");
  filter->SetAlgorithm(itk::CudaMedianImageFilterEnums::Algorithm::Selection);
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().algorithm.rfind("selection", 0), 0u) << filter->GetExecutionReport().algorithm;
}

TEST(CudaRankImageFilter, ARegionThatFailedIsGeneratedWhenItIsAskedForAgain)
{
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<short, 2>;
  const auto image =
    MakeRandomImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 200, 120 } }), Pattern::FullRange);
  const auto expected = ItkRank(*image, ImageType::SizeType{ { 2, 2 } }, 0.3F);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = itk::CudaRankImageFilter<ImageType>::New();
    filter->SetInput(image);
    filter->SetBackend(backend);
    filter->SetRadius(2);
    filter->SetRank(0.3F);
    cudamediantest::ExpectFailedRegionIsGeneratedAgain(*filter, true);
    ExpectEqualPixels<ImageType>(*expected, *filter->GetOutput(), filter->GetOutput()->GetBufferedRegion());
  }
}

// Minima and maxima of boxes stay on the device between the filters of a chain; other ranks are clipped on the host.
TEST(CudaRankImageFilter, InAChain)
{
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<short, 3>;
  using FilterType = itk::CudaRankImageFilter<ImageType>;
  const auto radius = ImageType::SizeType{ { 2, 1, 1 } };
  const auto image =
    MakeRandomImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 33, 26, 9 } }), Pattern::FullRange);
  for (const float last : { 1.0F, 0.25F })
  {
    const auto expected = ItkRank(*ItkRank(*image, radius, 0), radius, last);
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend) + ", rank " + std::to_string(last));
      const auto chain = itk::CudaMedianChainImageFilter<ImageType>::New();
      for (const float rank : { 0.0F, last })
      {
        const auto filter = FilterType::New();
        filter->SetRadius(radius);
        filter->SetRank(rank);
        filter->SetBackend(backend);
        chain->AddFilter(filter);
      }
      chain->SetInput(image);
      chain->Update();
      EXPECT_EQ(chain->IsKeptOnDevice(), backend == cudamediantest::BackendEnum::Cuda && last == 1)
        << chain->GetReason();
      if (last != 1)
      {
        EXPECT_EQ(chain->GetReason(),
                  "filter 1, CudaRankImageFilter: In device memory no windows are clipped as ITK's are");
      }
      ExpectEqualImages(*expected, *chain->GetOutput());
    }
  }
}

// A byte of 0 or 1 is a number like others. This did not compile once.
TEST(CudaRankImageFilter, BooleansHaveRanks)
{
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<bool, 2>;
  const auto   image = cudamediantest::MakeImage<ImageType>(ImageType::RegionType({ { 0, 0 } }, { { 83, 61 } }));
  std::mt19937 generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  std::generate_n(image->GetBufferPointer(), 83 * 61, [&generator] { return generator() % 2 == 1; });
  for (const itk::SizeValueType radius : { 1, 2, 5 })
  {
    const auto expected = ItkRank(*image, ImageType::SizeType::Filled(radius), 0.25F);
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius));
      const auto filter = itk::CudaRankImageFilter<ImageType>::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(radius);
      filter->SetRank(0.25F);
      filter->Update();
      ExpectEqualImages(*expected, *filter->GetOutput());
    }
  }
}
