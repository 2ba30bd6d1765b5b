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
// The values of ITK's own tests, and differing input and output pixel types.

#include "CudaMedianTestAgainstItk.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace
{

using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::MakeImage;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;

/** The naturals from 1 on, filtered with radius 1, have these values. */
template <typename TImage>
void
ExpectGoldenValues(const typename TImage::SizeType & size, const std::vector<int> & golden)
{
  const auto image = MakeImage<TImage>(typename TImage::RegionType(size));
  std::iota(image->GetBufferPointer(), image->GetBufferPointer() + golden.size(), typename TImage::PixelType{ 1 });
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = itk::CudaMedianImageFilter<TImage>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->Update();
    const auto * const values = filter->GetOutput()->GetBufferPointer();
    EXPECT_EQ(std::vector<int>(values, values + golden.size()), golden);
  }
}

template <typename TInput, typename TOutput>
void
ExpectConversionAsItk(const std::vector<TInput> & palette)
{
  using InputType = itk::Image<TInput, 2>;
  using OutputType = itk::Image<TOutput, 2>;
  const auto image = MakeImage<InputType>(typename InputType::RegionType(typename InputType::SizeType{ { 29, 17 } }));
  std::mt19937_64 random(cudamediantest::Seed());
  std::generate_n(image->GetBufferPointer(), 29 * 17, [&] { return palette[(random() >> 11) % palette.size()]; });
  for (const itk::SizeValueType radius : { 1, 7 })
  {
    const auto expected = cudamediantest::ItkMedian<InputType, OutputType>(*image, itk::Size<2>::Filled(radius));
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius));
      const auto filter = itk::CudaMedianImageFilter<InputType, OutputType>::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(radius);
      filter->Update();
      cudamediantest::ExpectEqualImages(*expected, *filter->GetOutput());
    }
  }
}

} // namespace

TEST(CudaMedianImageFilterGolden, NaturalsInTwoDimensions)
{
  const std::vector<int> golden{ 2, 3, 3, 4, 5, 6, 7, 7, 8 };
  ExpectGoldenValues<itk::Image<unsigned char, 2>>({ { 3, 3 } }, golden);
  ExpectGoldenValues<itk::Image<short, 2>>({ { 3, 3 } }, golden);
  ExpectGoldenValues<itk::Image<int, 2>>({ { 3, 3 } }, golden);
  ExpectGoldenValues<itk::Image<double, 2>>({ { 3, 3 } }, golden);
}

TEST(CudaMedianImageFilterGolden, NaturalsInThreeDimensions)
{
  const std::vector<int> golden{ 3, 3, 3, 4, 5, 6, 6, 6 };
  ExpectGoldenValues<itk::Image<unsigned char, 3>>({ { 2, 2, 2 } }, golden);
  ExpectGoldenValues<itk::Image<short, 3>>({ { 2, 2, 2 } }, golden);
  ExpectGoldenValues<itk::Image<int, 3>>({ { 2, 2, 2 } }, golden);
  ExpectGoldenValues<itk::Image<double, 3>>({ { 2, 2, 2 } }, golden);
}

TEST(CudaMedianImageFilterGolden, OutputTypeDiffersFromInputType)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectConversionAsItk<short, float>({ -32768, -1, 0, 1, 17, 32767 });
  ExpectConversionAsItk<float, unsigned char>({ 0.0f, 0.75f, 1.5f, 127.99f, 254.5f, 255.0f });
  ExpectConversionAsItk<unsigned char, double>({ 0, 1, 127, 128, 255 });
  ExpectConversionAsItk<double, float>({ -1e30, -0.1, 0.0, 1.0 / 3.0, 1e30 });
  ExpectConversionAsItk<unsigned int, long long>({ 0u, 1u, 2147483648u, 4294967295u });
  ExpectConversionAsItk<int, short>({ -32768, -5, 0, 32767 });
}

// The result of a filter may not depend on whether its input survives, so the input must.
TEST(CudaMedianImageFilterGolden, InputIsLeftAsItWas)
{
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<unsigned short, 2>;
  const ImageType::RegionType region(ImageType::SizeType{ { 31, 23 } });
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
    const auto same = MakeRandomImage<ImageType>(region, Pattern::FullRange);
    const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(2);
    filter->Update();
    cudamediantest::ExpectEqualImages(*same, *image);
  }
}
