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
// One and four dimensions, one pixel type per key kind: all pixels equal to itk::MedianImageFilter's.

#include "CudaMedianTestAgainstItk.h"

namespace
{

template <typename TPixel>
class CudaMedianImageFilterAgainstItk1D4D : public testing::Test
{};

using PixelTypes = testing::Types<unsigned char, short, float, double>;
TYPED_TEST_SUITE(CudaMedianImageFilterAgainstItk1D4D, PixelTypes);

} // namespace

TYPED_TEST(CudaMedianImageFilterAgainstItk1D4D, OneDimension)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<1>>;
  const Sizes radii{ { { 0 } }, { { 1 } }, { { 2 } }, { { 5 } }, { { 13 } }, { { 70 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 1 } }, { { 2 } }, { { 7 } }, { { 64 } }, { { 331 } } });
}

TYPED_TEST(CudaMedianImageFilterAgainstItk1D4D, FourDimensionsWithAtMostThreeRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<4>>;
  const Sizes radii{
    { { 0, 0, 0, 0 } }, { { 1, 1, 1, 0 } }, { { 0, 1, 2, 1 } }, { { 1, 0, 0, 2 } }, { { 2, 1, 0, 1 } }
  };
  cudamediantest::ExpectEqualToItk<TypeParam>(
    radii, Sizes{ { { 1, 1, 1, 1 } }, { { 11, 5, 3, 4 } }, { { 1, 6, 2, 3 } }, { { 7, 1, 5, 1 } } });
}

TYPED_TEST(CudaMedianImageFilterAgainstItk1D4D, FourRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<4>>;
  cudamediantest::ExpectEqualToItk<TypeParam>(
    Sizes{ { { 1, 1, 1, 1 } }, { { 1, 2, 1, 1 } }, { { 2, 3, 2, 1 } }, { { 9, 1, 1, 9 } } },
    Sizes{ { { 7, 4, 3, 5 } }, { { 1, 2, 1, 3 } }, { { 12, 6, 7, 9 } } });
}

TEST(CudaMedianImageFilterAgainstItk4D, TheEngineTakesFourRadii)
{
  using ImageType = itk::Image<short, 4>;
  const auto image = cudamediantest::MakeImage<ImageType>(ImageType::RegionType(ImageType::SizeType::Filled(5)));
  image->FillBuffer(3);
  const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetInput(image);
  filter->Update();
  EXPECT_NE(filter->GetExecutionReport().backend, "ITK") << filter->GetExecutionReportAsString();
}
