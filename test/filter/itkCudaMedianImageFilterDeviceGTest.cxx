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
// The device memory budget: any budget gives the same pixels, in slabs that keep to it.

#include "CudaMedianTestAgainstItk.h"

#include <string>

namespace
{

using cudamediantest::BackendEnum;

template <typename TImage>
void
ExpectSlabsEqualToItk(const typename TImage::SizeType &       size,
                      const typename TImage::SizeType &       radius,
                      const std::vector<itk::SizeValueType> & kibibytes)
{
  const auto image =
    cudamediantest::MakeRandomImage<TImage>(typename TImage::RegionType(size), cudamediantest::Pattern::FullRange);
  const auto expected = cudamediantest::ItkMedian(*image, radius);
  const auto filter = itk::CudaMedianImageFilter<TImage>::New();
  filter->SetBackend(BackendEnum::Cuda);
  filter->SetInput(image);
  filter->SetRadius(radius);
  for (const auto budget : kibibytes)
  {
    std::ostringstream text;
    text << "size " << size << ", radius " << radius << ", budget " << budget << " KiB";
    SCOPED_TRACE(text.str());
    filter->SetDeviceMemoryBudget(budget * 1024);
    ASSERT_NO_THROW(filter->Update());
    cudamediantest::ExpectEqualImages(*expected, *filter->GetOutput());
    const auto & report = filter->GetExecutionReport();
    EXPECT_EQ(report.deviceMemoryBudget, budget * 1024);
    EXPECT_GT(report.deviceBytes, 0u);
    EXPECT_LE(report.deviceBytes, budget * 1024);
    // Input and output together do not fit.
    const auto imageBytes = image->GetBufferedRegion().GetNumberOfPixels() * sizeof(typename TImage::PixelType);
    if (2 * imageBytes > budget * 1024)
    {
      EXPECT_GT(report.numberOfSlabs, 1u);
    }
  }
}

} // namespace

// Stands for all tests that had no GPU to run on: their results went through the CPU alone.
TEST(CudaMedianImageFilterDevice, DeviceIsUsable)
{
  CUDAMEDIAN_NEEDS_GPU();
  EXPECT_FALSE(cudamediantest::Device().description.empty());
}

TEST(CudaMedianImageFilterDevice, BudgetInTwoDimensions)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using ByteImage = itk::Image<unsigned char, 2>;
  using ShortImage = itk::Image<short, 2>;
  using DoubleImage = itk::Image<double, 2>;
  ExpectSlabsEqualToItk<ByteImage>({ { 401, 299 } }, { { 1, 1 } }, { 64, 100, 200, 1024 });
  ExpectSlabsEqualToItk<ShortImage>({ { 401, 299 } }, { { 3, 2 } }, { 64, 100, 200, 1024 });
  ExpectSlabsEqualToItk<DoubleImage>({ { 201, 149 } }, { { 2, 2 } }, { 64, 100, 200, 1024 });
  ExpectSlabsEqualToItk<ShortImage>({ { 201, 149 } }, { { 8, 9 } }, { 64, 100 });
}

TEST(CudaMedianImageFilterDevice, BudgetInThreeDimensions)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using ByteImage = itk::Image<unsigned char, 3>;
  using FloatImage = itk::Image<float, 3>;
  ExpectSlabsEqualToItk<ByteImage>({ { 67, 45, 41 } }, { { 1, 1, 1 } }, { 64, 100, 200, 1024 });
  ExpectSlabsEqualToItk<FloatImage>({ { 45, 33, 31 } }, { { 1, 2, 1 } }, { 128, 200, 300 });
}

TEST(CudaMedianImageFilterDevice, BudgetInFourDimensions)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using ShortImage = itk::Image<short, 4>;
  ExpectSlabsEqualToItk<ShortImage>({ { 21, 17, 11, 9 } }, { { 1, 0, 1, 1 } }, { 128, 200 });
  ExpectSlabsEqualToItk<ShortImage>({ { 21, 17, 11, 9 } }, { { 2, 1, 1, 0 } }, { 64, 100 });
}

TEST(CudaMedianImageFilterDevice, BudgetTooSmallThrowsAndTheFilterIsReusable)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<short, 2>;
  const auto image = cudamediantest::MakeRandomImage<ImageType>(
    ImageType::RegionType(ImageType::SizeType{ { 301, 99 } }), cudamediantest::Pattern::FullRange);
  const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetBackend(BackendEnum::Cuda);
  filter->SetInput(image);
  filter->SetDeviceMemoryBudget(1);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  filter->SetDeviceMemoryBudget(0);
  ASSERT_NO_THROW(filter->Update());
  cudamediantest::ExpectEqualImages(*cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(1)),
                                    *filter->GetOutput());
}
