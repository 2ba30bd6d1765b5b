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
// Images in pinned memory: with a device and without, where they lie in ordinary memory.

#include "CudaMedianTestAgainstItk.h"

#include "itkCudaMedianPinnedImageContainer.h"

namespace
{

using ImageType = itk::Image<short, 2>;
using ContainerType = itk::CudaMedianPinnedImageContainer<itk::SizeValueType, short>;

} // namespace

TEST(CudaMedianPinnedImageContainer, FiltersLikeAnyOther)
{
  CUDAMEDIAN_TRACE_SEED();
  const ImageType::RegionType region(ImageType::SizeType{ { 301, 203 } });
  const auto ordinary = cudamediantest::MakeRandomImage<ImageType>(region, cudamediantest::Pattern::FullRange);
  const auto pinned = ImageType::New();
  pinned->SetPixelContainer(ContainerType::New());
  pinned->SetRegions(region);
  pinned->Allocate();
  std::copy_n(ordinary->GetBufferPointer(), region.GetNumberOfPixels(), pinned->GetBufferPointer());
  const auto expected = cudamediantest::ItkMedian(*ordinary, ImageType::SizeType::Filled(2));
  for (const auto backend : cudamediantest::BackendsUnderTest())
  {
    const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
    filter->SetBackend(backend);
    filter->SetInput(pinned);
    filter->SetRadius(2);
    filter->GetOutput()->SetPixelContainer(ContainerType::New());
    filter->Update();
    cudamediantest::ExpectEqualImages(*expected, *filter->GetOutput());
    EXPECT_NE(dynamic_cast<const ContainerType *>(filter->GetOutput()->GetPixelContainer()), nullptr);
  }
}

TEST(CudaMedianPinnedImageContainer, GrowsShrinksAndStartsAnew)
{
  const auto container = ContainerType::New();
  container->Reserve(1000);
  for (itk::SizeValueType i = 0; i < 1000; ++i)
  {
    (*container)[i] = static_cast<short>(i);
  }
  container->Reserve(5000);
  ASSERT_EQ(container->Size(), 5000U);
  for (itk::SizeValueType i = 0; i < 1000; ++i)
  {
    ASSERT_EQ((*container)[i], static_cast<short>(i)) << "growing keeps what was there";
  }
  container->Reserve(10);
  EXPECT_EQ(container->Size(), 10U);
  container->Squeeze();
  EXPECT_EQ(container->Capacity(), 10U);
  EXPECT_EQ((*container)[9], 9);
  container->Initialize();
  EXPECT_EQ(container->Size(), 0U);
  container->Reserve(3, true);
  EXPECT_EQ((*container)[2], 0);
}

TEST(CudaMedianPinnedImageContainer, MemoryOfOthersIsNotFreed)
{
  short      pixels[4] = { 1, 2, 3, 4 };
  const auto container = ContainerType::New();
  container->Reserve(100);
  container->SetImportPointer(pixels, 4, false);
  EXPECT_EQ((*container)[3], 4);
  container->Initialize();
  EXPECT_EQ(pixels[3], 4);
}
