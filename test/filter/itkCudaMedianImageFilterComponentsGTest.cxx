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
// Pixels of several values: each filtered by itself, as images of one value that are split off by hand.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestRegionSource.h"

#include "itkCovariantVector.h"
#include "itkRGBAPixel.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"
#include "itkVectorImage.h"

#include <complex>
#include <string>

namespace
{

using BoundaryEnum = itk::CudaMedianImageFilterEnums::Boundary;
using cudamediantest::BackendEnum;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using itk::CudaMedianFilterDetail::CountValues;
using itk::CudaMedianFilterDetail::GetValues;

template <typename TImage>
using ValueType = typename itk::CudaMedianFilterDetail::ImageTraits<TImage>::ValueType;

template <typename TImage>
using SplitImage = itk::Image<ValueType<TImage>, TImage::ImageDimension>;

/** One value of each pixel. */
template <typename TImage>
typename SplitImage<TImage>::Pointer
Split(const TImage & image, std::int64_t component)
{
  const auto split = cudamediantest::MakeImage<SplitImage<TImage>>(image.GetBufferedRegion());
  for (itk::SizeValueType i = 0; i < image.GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    split->GetBufferPointer()[i] = GetValues(image)[static_cast<std::int64_t>(i) * CountValues(image) + component];
  }
  return split;
}

template <typename TImage>
typename TImage::Pointer
MakeValues(const typename TImage::SizeType & size, unsigned int components)
{
  const auto image = TImage::New();
  image->SetRegions(typename TImage::RegionType(size));
  image->SetNumberOfComponentsPerPixel(components);
  image->Allocate();
  std::mt19937_64 random(cudamediantest::Seed() + components);
  std::generate_n(GetValues(*image),
                  image->GetBufferedRegion().GetNumberOfPixels() * image->GetNumberOfComponentsPerPixel(),
                  [&random] { return cudamediantest::RandomValue<ValueType<TImage>>(random); });
  return image;
}

template <typename TImage>
void
ExpectSplitMedians(const std::vector<typename TImage::SizeType> & radii,
                   const typename TImage::SizeType &              size,
                   unsigned int                                   components = 1)
{
  const auto image = MakeValues<TImage>(size, components);
  for (const auto & radius : radii)
  {
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend));
      const auto filter = itk::CudaMedianImageFilter<TImage>::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(radius);
      ASSERT_NO_THROW(filter->Update());
      EXPECT_EQ(filter->GetExecutionReport().backend, backend == BackendEnum::Cpu ? "CPU" : "CUDA");
      ASSERT_EQ(CountValues(*filter->GetOutput()), CountValues(*image));
      for (std::int64_t i = 0; i < CountValues(*image); ++i)
      {
        SCOPED_TRACE("component " + std::to_string(i));
        const auto one = Split(*image, i);
        const auto expected = cudamediantest::ItkMedian(*one, radius);
        cudamediantest::ExpectEqualImages(*expected, *Split(*filter->GetOutput(), i));
      }
    }
  }
}

using Sizes2 = std::vector<itk::Size<2>>;
using Sizes3 = std::vector<itk::Size<3>>;

const Sizes2 radii2{ { { 1, 1 } }, { { 2, 3 } }, { { 0, 1 } }, { { 0, 0 } }, { { 9, 9 } } };
const Sizes3 radii3{ { { 1, 1, 1 } }, { { 2, 0, 1 } }, { { 2, 3, 2 } } };

} // namespace

TEST(CudaMedianImageFilterComponents, Colours)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSplitMedians<itk::Image<itk::RGBPixel<unsigned char>, 2>>(radii2, { { 37, 23 } });
  ExpectSplitMedians<itk::Image<itk::RGBPixel<unsigned char>, 3>>(radii3, { { 17, 11, 6 } });
  ExpectSplitMedians<itk::Image<itk::RGBAPixel<unsigned short>, 2>>(radii2, { { 37, 23 } });
}

TEST(CudaMedianImageFilterComponents, Vectors)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSplitMedians<itk::Image<itk::Vector<float, 3>, 2>>(radii2, { { 37, 23 } });
  ExpectSplitMedians<itk::Image<itk::CovariantVector<double, 2>, 3>>(radii3, { { 17, 11, 6 } });
  ExpectSplitMedians<itk::Image<itk::FixedArray<int, 5>, 2>>(radii2, { { 13, 9 } });
  ExpectSplitMedians<itk::Image<std::complex<float>, 2>>(radii2, { { 37, 23 } });
}

TEST(CudaMedianImageFilterComponents, VectorImages)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const unsigned int components : { 1u, 2u, 3u, 7u })
  {
    SCOPED_TRACE(std::to_string(components) + " components");
    ExpectSplitMedians<itk::VectorImage<short, 2>>(radii2, { { 37, 23 } }, components);
    ExpectSplitMedians<itk::VectorImage<unsigned char, 3>>(radii3, { { 17, 11, 6 } }, components);
  }
}

// The engine's last axis is the image's: one component after the other.
TEST(CudaMedianImageFilterComponents, OneAndFourDimensions)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSplitMedians<itk::VectorImage<short, 1>>({ { { 2 } }, { { 20 } } }, { { 53 } }, 3);
  ExpectSplitMedians<itk::VectorImage<short, 4>>({ { { 1, 1, 1, 0 } }, { { 1, 1, 1, 1 } } }, { { 7, 6, 5, 4 } }, 3);
  ExpectSplitMedians<itk::Image<itk::Vector<float, 2>, 4>>({ { { 1, 0, 2, 1 } } }, { { 7, 6, 5, 4 } });
}

TEST(CudaMedianImageFilterComponents, OutputOfAnotherType)
{
  CUDAMEDIAN_TRACE_SEED();
  using InputType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  using OutputType = itk::VectorImage<float, 2>;
  const auto image = MakeValues<InputType>({ { 31, 19 } }, 1);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = itk::CudaMedianImageFilter<InputType, OutputType>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(2);
    filter->Update();
    ASSERT_EQ(filter->GetOutput()->GetNumberOfComponentsPerPixel(), 3u);
    for (std::int64_t i = 0; i < 3; ++i)
    {
      const auto expected =
        cudamediantest::ItkMedian<itk::Image<unsigned char, 2>, itk::Image<float, 2>>(*Split(*image, i), { { 2, 2 } });
      cudamediantest::ExpectEqualImages(*expected, *Split(*filter->GetOutput(), i));
    }
  }
}

TEST(CudaMedianImageFilterComponents, RequestedSubregionsAndStreaming)
{
  CUDAMEDIAN_TRACE_SEED();
  using VectorType = itk::VectorImage<unsigned short, 3>;
  const auto image = MakeValues<VectorType>({ { 17, 12, 9 } }, 3);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = itk::CudaMedianImageFilter<VectorType>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(2);
    const VectorType::RegionType region({ { 3, 0, 4 } }, { { 11, 5, 5 } });
    filter->GetOutput()->SetRequestedRegion(region);
    filter->Update();
    for (std::int64_t i = 0; i < 3; ++i)
    {
      const auto expected = cudamediantest::ItkMedian(*Split(*image, i), itk::Size<3>::Filled(2));
      cudamediantest::ExpectEqualPixels(*expected, *Split(*filter->GetOutput(), i), region);
    }
    const auto streamer = itk::StreamingImageFilter<VectorType, VectorType>::New();
    streamer->SetInput(filter->GetOutput());
    streamer->SetNumberOfStreamDivisions(4);
    streamer->Update();
    for (std::int64_t i = 0; i < 3; ++i)
    {
      const auto expected = cudamediantest::ItkMedian(*Split(*image, i), itk::Size<3>::Filled(2));
      cudamediantest::ExpectEqualImages(*expected, *Split(*streamer->GetOutput(), i));
    }
  }
}

// Beyond the boundary each component has a constant of its own.
TEST(CudaMedianImageFilterComponents, BoundaryOfSeveralConstants)
{
  CUDAMEDIAN_TRACE_SEED();
  using PixelType = itk::RGBPixel<unsigned char>;
  using ColourType = itk::Image<PixelType, 2>;
  const auto image = MakeValues<ColourType>({ { 21, 13 } }, 1);
  for (const bool equal : { true, false })
  {
    PixelType constant;
    constant.Set(70, equal ? 70 : 100, equal ? 70 : 200);
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend));
      const auto filter = itk::CudaMedianImageFilter<ColourType>::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(2);
      filter->SetBoundaryMode(BoundaryEnum::Constant);
      filter->SetBoundaryConstant(constant);
      filter->Update();
      for (unsigned int i = 0; i < 3; ++i)
      {
        const auto one = itk::CudaMedianImageFilter<itk::Image<unsigned char, 2>>::New();
        one->SetBackend(backend);
        one->SetInput(Split(*image, i));
        one->SetRadius(2);
        one->SetBoundaryMode(BoundaryEnum::Constant);
        one->SetBoundaryConstant(constant[i]);
        one->Update();
        cudamediantest::ExpectEqualImages(*one->GetOutput(), *Split(*filter->GetOutput(), i));
      }
    }
  }
}

TEST(CudaMedianImageFilterComponents, TypesTheEngineHasNotAreAnError)
{
  using VectorType = itk::Image<itk::Vector<long double, 2>, 2>;
  const auto image = VectorType::New();
  image->SetRegions(VectorType::SizeType{ { 5, 5 } });
  image->Allocate(true);
  const auto filter = itk::CudaMedianImageFilter<VectorType>::New();
  filter->SetInput(image);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
}
