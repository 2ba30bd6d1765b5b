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
// SliceWise: ITK's result with radius 0 along the last axis, whichever implementation runs.

#include "CudaMedianTestAgainstItk.h"

namespace
{

template <typename TPixel, unsigned int VDimension>
void
ExpectSliceWiseAsItk(const itk::Size<VDimension> &                    size,
                     const itk::Size<VDimension> &                    radius,
                     const std::vector<cudamediantest::BackendEnum> & backends = cudamediantest::BackendsUnderTest())
{
  using ImageType = itk::Image<TPixel, VDimension>;
  const auto image = cudamediantest::MakeRandomImage<ImageType>(typename ImageType::RegionType(size),
                                                                cudamediantest::Pattern::FullRange);
  auto       flat = radius;
  flat[VDimension - 1] = 0;
  const auto expected = cudamediantest::ItkMedian(*image, flat);
  for (const auto backend : backends)
  {
    std::ostringstream text;
    text << cudamediantest::BackendText(backend) << ", radius " << radius;
    SCOPED_TRACE(text.str());
    const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->SetRadius(radius);
    filter->SliceWiseOn();
    filter->Update();
    cudamediantest::ExpectEqualImages(*expected, *filter->GetOutput());
    EXPECT_EQ(filter->GetRadius(), radius) << "SliceWise must not change the radius";
  }
}

} // namespace

TEST(CudaMedianImageFilterSliceWise, SmallWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSliceWiseAsItk<short, 3>({ { 31, 17, 7 } }, { { 1, 1, 1 } });
  ExpectSliceWiseAsItk<unsigned char, 3>({ { 31, 17, 7 } }, { { 5, 3, 2 } });
  ExpectSliceWiseAsItk<float, 3>({ { 31, 17, 1 } }, { { 2, 2, 2 } });
}

TEST(CudaMedianImageFilterSliceWise, LargeWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSliceWiseAsItk<short, 3>({ { 23, 19, 5 } }, { { 7, 8, 7 } });
  ExpectSliceWiseAsItk<double, 3>({ { 23, 19, 5 } }, { { 12, 0, 3 } });
}

TEST(CudaMedianImageFilterSliceWise, OtherDimensions)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSliceWiseAsItk<short, 1>({ { 31 } }, { { 3 } });
  ExpectSliceWiseAsItk<short, 2>({ { 31, 17 } }, { { 3, 3 } });
  ExpectSliceWiseAsItk<short, 4>({ { 9, 7, 5, 4 } }, { { 1, 1, 1, 1 } });
}

// Four radii are left, more than the engine takes: ITK's own implementation must use the effective radius too.
TEST(CudaMedianImageFilterSliceWise, ItksOwnImplementation)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectSliceWiseAsItk<short, 5>({ { 5, 4, 3, 3, 4 } },
                                 { { 1, 1, 1, 1, 1 } },
                                 { cudamediantest::BackendEnum::Cpu, cudamediantest::BackendEnum::Auto });
}

TEST(CudaMedianImageFilterSliceWise, MoreThanFourDimensionsRunItksOwnImplementation)
{
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<short, 5>;
  const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetInput(cudamediantest::MakeRandomImage<ImageType>(
    ImageType::RegionType(ImageType::SizeType{ { 5, 4, 3, 3, 4 } }), cudamediantest::Pattern::FullRange));
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().backend, "ITK");
  EXPECT_FALSE(filter->GetExecutionReport().algorithmReason.empty());
}
