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
// Each algorithm forced in turn, on images that are hard for those that look at data.

#include "CudaMedianTestAgainstItk.h"

#include "itkImageRegionIterator.h"

namespace
{

using cudamediantest::BackendsUnderTest;
using AlgorithmEnum = itk::CudaMedianImageFilterEnums::Algorithm;

constexpr AlgorithmEnum algorithms[] = { AlgorithmEnum::Automatic, AlgorithmEnum::TileProgram,
                                         AlgorithmEnum::LocalRank, AlgorithmEnum::SlidingHistogram,
                                         AlgorithmEnum::Selection, AlgorithmEnum::MergeTiling };

/** Fills an image with f(number of the pixel). */
template <typename TImage, typename TFunction>
typename TImage::Pointer
MakeImage(const typename TImage::SizeType & size, const TFunction & f)
{
  const auto image = TImage::New();
  image->SetRegions(size);
  image->Allocate();
  std::uint64_t number = 0;
  for (itk::ImageRegionIterator<TImage> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(static_cast<typename TImage::PixelType>(f(number++)));
  }
  return image;
}

template <typename TSize>
std::ptrdiff_t
CountAxes(const TSize & radius)
{
  return std::count_if(radius.begin(), radius.end(), [](auto r) { return r > 0; });
}

/** Runs the algorithms that cover a window on every backend; `programs`: CUDA has a tile program for it. */
template <typename TImage>
void
ExpectAllEqualToItk(const TImage &                    image,
                    const typename TImage::SizeType & radius,
                    bool                              programs,
                    const std::string &               what)
{
  const auto expected = cudamediantest::ItkMedian(image, radius);
  for (const auto backend : BackendsUnderTest())
  {
    for (const auto algorithm : algorithms)
    {
      const bool cuda = backend == cudamediantest::BackendEnum::Cuda;
      if ((algorithm == AlgorithmEnum::TileProgram && cuda && !programs) ||
          (algorithm == AlgorithmEnum::SlidingHistogram && !cuda && sizeof(typename TImage::PixelType) > 1) ||
          (algorithm == AlgorithmEnum::MergeTiling && (!cuda || CountAxes(radius) > 2)))
      {
        continue;
      }
      std::ostringstream text;
      text << what << ", " << cudamediantest::BackendText(backend) << ", " << algorithm << ", radius " << radius;
      SCOPED_TRACE(text.str());
      const auto filter = itk::CudaMedianImageFilter<TImage>::New();
      filter->SetInput(&image);
      filter->SetRadius(radius);
      filter->SetBackend(backend);
      filter->SetAlgorithm(algorithm);
      ASSERT_NO_THROW(filter->Update());
      cudamediantest::ExpectEqualImages(*expected, *filter->GetOutput());
      if (algorithm != AlgorithmEnum::Automatic && algorithm != AlgorithmEnum::TileProgram)
      {
        EXPECT_EQ(filter->GetExecutionReport().algorithm,
                  cudamedian::ToString(static_cast<cudamedian::Algorithm>(algorithm)));
      }
    }
  }
}

/** Data that makes sorting and sliding work hard, or that has many equal pixels. */
template <typename TImage>
void
CheckHardImages(const typename TImage::SizeType & size, const typename TImage::SizeType & radius, bool programs)
{
  const auto          width = size[0];
  const std::uint64_t count = itk::ImageRegion<TImage::ImageDimension>(size).GetNumberOfPixels();
  ExpectAllEqualToItk(*MakeImage<TImage>(size, [](std::uint64_t) { return 7; }), radius, programs, "constant");
  ExpectAllEqualToItk(*MakeImage<TImage>(size, [](std::uint64_t n) { return n; }), radius, programs, "sorted");
  ExpectAllEqualToItk(
    *MakeImage<TImage>(size, [&](std::uint64_t n) { return count - n; }), radius, programs, "reverse");
  ExpectAllEqualToItk(
    *MakeImage<TImage>(size, [](std::uint64_t n) { return n * 0x9E3779B97F4A7C15ULL >> 63; }), radius, programs, "two");
  // Rows that alternate between the extremes: every step moves the median across the whole range.
  ExpectAllEqualToItk(
    *MakeImage<TImage>(size, [&](std::uint64_t n) { return n / width % 2 == 0 ? n % 97 : 120 - n % 97; }),
    radius,
    programs,
    "alternating rows");
  ExpectAllEqualToItk(*MakeImage<TImage>(size, [&](std::uint64_t n) { return n % width < width / 2 ? 0 : 100; }),
                      radius,
                      programs,
                      "step");
  // Keys in two narrow ranges far apart: too many for any bucket.
  ExpectAllEqualToItk(*MakeImage<TImage>(size,
                                         [](std::uint64_t n) {
                                           const auto bits = n * 0x9E3779B97F4A7C15ULL;
                                           return (bits >> 63) * 30000 + (bits >> 50 & 7);
                                         }),
                      radius,
                      programs,
                      "clusters");
  ExpectAllEqualToItk(*MakeImage<TImage>(size, [](std::uint64_t n) { return n * 0x9E3779B97F4A7C15ULL >> 48; }),
                      radius,
                      programs,
                      "scattered");
}

} // namespace

TEST(CudaMedianImageFilterAlgorithms, HardImages2D)
{
  using Image8 = itk::Image<unsigned char, 2>;
  using Image16 = itk::Image<short, 2>;
  using ImageFloat = itk::Image<float, 2>;
  using ImageDouble = itk::Image<double, 2>;
  CheckHardImages<Image8>({ { 83, 61 } }, { { 10, 10 } }, false);
  CheckHardImages<Image16>({ { 83, 61 } }, { { 10, 10 } }, false);
  CheckHardImages<ImageFloat>({ { 83, 61 } }, { { 3, 12 } }, false);
  CheckHardImages<ImageDouble>({ { 83, 61 } }, { { 5, 5 } }, true);
  CheckHardImages<Image16>({ { 83, 61 } }, { { 2, 2 } }, true);
  CheckHardImages<Image16>({ { 40, 70 } }, { { 15, 14 } }, false);
}

TEST(CudaMedianImageFilterAlgorithms, HardImages3D)
{
  using Image8 = itk::Image<signed char, 3>;
  using Image16 = itk::Image<unsigned short, 3>;
  using ImageFloat = itk::Image<float, 3>;
  CheckHardImages<Image8>({ { 23, 17, 21 } }, { { 3, 3, 3 } }, false);
  CheckHardImages<Image16>({ { 23, 17, 21 } }, { { 4, 2, 3 } }, false);
  CheckHardImages<ImageFloat>({ { 23, 17, 21 } }, { { 2, 2, 2 } }, true);
  CheckHardImages<ImageFloat>({ { 13, 17, 11 } }, { { 4, 4, 4 } }, false);
}

TEST(CudaMedianImageFilterAlgorithms, WindowsOfRanksOnly)
{
  CUDAMEDIAN_TRACE_SEED();
  cudamediantest::ExpectEqualToItk<short>(std::vector<itk::Size<2>>{ { { 40, 40 } }, { { 17, 3 } }, { { 0, 31 } } },
                                          std::vector<itk::Size<2>>{ { { 97, 103 } }, { { 5, 3 } } });
  cudamediantest::ExpectEqualToItk<unsigned char>(
    std::vector<itk::Size<3>>{ { { 7, 7, 1 } }, { { 2, 5, 6 } }, { { 6, 6, 6 } } },
    std::vector<itk::Size<3>>{ { { 31, 23, 19 } }, { { 5, 3, 1 } } });
  cudamediantest::ExpectEqualToItk<float>(std::vector<itk::Size<3>>{ { { 5, 4, 6 } } },
                                          std::vector<itk::Size<3>>{ { { 31, 23, 19 } } });
}

TEST(CudaMedianImageFilterAlgorithms, WindowsOfSlidingHistogramsOnly)
{
  CUDAMEDIAN_TRACE_SEED();
  using Sizes = std::vector<itk::Size<2>>;
  cudamediantest::ExpectEqualToItk<unsigned char>(Sizes{ { { 65, 70 } }, { { 140, 20 } } }, Sizes{ { { 150, 37 } } });
  cudamediantest::ExpectEqualToItk<short>(Sizes{ { { 65, 70 } }, { { 3, 140 } } }, Sizes{ { { 150, 37 } } });
  cudamediantest::ExpectEqualToItk<float>(Sizes{ { { 65, 70 } } }, Sizes{ { { 150, 37 } } });
  cudamediantest::ExpectEqualToItk<unsigned char>(std::vector<itk::Size<3>>{ { { 13, 12, 14 } } },
                                                  std::vector<itk::Size<3>>{ { { 21, 13, 9 } } });
  cudamediantest::ExpectEqualToItk<short>(std::vector<itk::Size<3>>{ { { 13, 12, 14 } } },
                                          std::vector<itk::Size<3>>{ { { 21, 13, 9 } } });
}

TEST(CudaMedianImageFilterAlgorithms, MergeTilingOfWindowsAndBudgets)
{
  CUDAMEDIAN_TRACE_SEED();
  // Slice by slice, lines, windows larger than the image or than shared memory has room for, and regions of one tile.
  const auto check = [](const auto & image, const auto & radius, std::size_t budget) {
    using ImageType = std::decay_t<decltype(image)>;
    for (const auto backend : BackendsUnderTest())
    {
      if (backend == cudamediantest::BackendEnum::Cuda)
      {
        const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
        filter->SetInput(&image);
        filter->SetRadius(radius);
        filter->SetBackend(backend);
        filter->SetAlgorithm(AlgorithmEnum::MergeTiling);
        filter->SetDeviceMemoryBudget(budget);
        ASSERT_NO_THROW(filter->Update());
        cudamediantest::ExpectEqualImages(*cudamediantest::ItkMedian(image, radius), *filter->GetOutput());
        EXPECT_EQ(filter->GetExecutionReport().algorithm, cudamedian::ToString(cudamedian::Algorithm::MergeTiling));
      }
    }
  };
  constexpr std::size_t large = std::size_t{ 1 } << 30;
  using Flat = itk::Image<short, 2>;
  using Deep = itk::Image<unsigned char, 3>;
  using FlatDouble = itk::Image<double, 2>;
  const auto flat =
    cudamediantest::MakeRandomImage<Flat>(itk::Size<2>{ { 150, 87 } }, cudamediantest::Pattern::FullRange);
  const auto deep =
    cudamediantest::MakeRandomImage<Deep>(itk::Size<3>{ { 21, 37, 9 } }, cudamediantest::Pattern::FewValues);
  const auto wide =
    cudamediantest::MakeRandomImage<FlatDouble>(itk::Size<2>{ { 70, 61 } }, cudamediantest::Pattern::FullRange);
  check(*flat, itk::Size<2>{ { 20, 20 } }, large);
  check(*flat, itk::Size<2>{ { 20, 20 } }, std::size_t{ 3 } << 20);
  check(*flat, itk::Size<2>{ { 90, 75 } }, large);
  check(*flat, itk::Size<2>{ { 0, 41 } }, large);
  check(*flat, itk::Size<2>{ { 230, 1 } }, large);
  check(*flat, itk::Size<2>{ { 0, 0 } }, large);
  check(*deep, itk::Size<3>{ { 4, 7, 0 } }, large);
  check(*deep, itk::Size<3>{ { 0, 3, 6 } }, large);
  check(*wide, itk::Size<2>{ { 40, 38 } }, large);
}

TEST(CudaMedianImageFilterAlgorithms, AnAlgorithmThatDoesNotCoverTheWindowSaysSo)
{
  using ImageType = itk::Image<short, 2>;
  const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetInput(MakeImage<ImageType>({ { 30, 20 } }, [](std::uint64_t n) { return n % 13; }));
  filter->SetBackend(cudamediantest::BackendEnum::Cpu);
  filter->SetRadius(300);
  filter->SetAlgorithm(AlgorithmEnum::LocalRank);
  try
  {
    filter->Update();
    FAIL() << "no exception";
  }
  catch (const itk::ExceptionObject & error)
  {
    const std::string text = error.GetDescription();
    EXPECT_NE(text.find("300x300"), std::string::npos) << text;
    EXPECT_NE(text.find("65536"), std::string::npos) << text;
  }
  filter->SetRadius(2);
  EXPECT_NO_THROW(filter->Update());
}
