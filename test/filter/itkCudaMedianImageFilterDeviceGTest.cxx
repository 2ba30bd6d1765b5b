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
// What needs a device: budgets, kernels compiled ahead and at first use, images of more than 2^31 pixels.

#include "CudaMedianTestAgainstItk.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace
{

using cudamediantest::BackendEnum;
using AlgorithmEnum = itk::CudaMedianImageFilterEnums::Algorithm;

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

/** Compares one window with ITK on an image of odd extents. */
template <typename TImage>
cudamedian::ExecutionReport
ExpectEqualToItk(const typename TImage::SizeType & size,
                 const typename TImage::SizeType & radius,
                 AlgorithmEnum                     algorithm,
                 bool                              waitForKernels)
{
  std::ostringstream text;
  text << "size " << size << ", radius " << radius;
  SCOPED_TRACE(text.str());
  const auto image =
    cudamediantest::MakeRandomImage<TImage>(typename TImage::RegionType(size), cudamediantest::Pattern::FullRange);
  const auto filter = itk::CudaMedianImageFilter<TImage>::New();
  filter->SetBackend(BackendEnum::Cuda);
  filter->SetInput(image);
  filter->SetRadius(radius);
  filter->SetAlgorithm(algorithm);
  filter->SetWaitForKernels(waitForKernels);
  filter->Update();
  cudamediantest::ExpectEqualImages(*cudamediantest::ItkMedian(*image, radius), *filter->GetOutput());
  return filter->GetExecutionReport();
}

/** The same with the fastest kernel. \returns the report's name of the algorithm. */
template <typename TImage>
std::string
ExpectKernelEqualToItk(const typename TImage::SizeType & size,
                       const typename TImage::SizeType & radius,
                       AlgorithmEnum                     algorithm = AlgorithmEnum::Automatic)
{
  return ExpectEqualToItk<TImage>(size, radius, algorithm, true).algorithm;
}

/** What reports say of a window that is compiled ahead. Where the device is taken for another
 * (CUDAMEDIAN_PRETEND_DEVICE), it is compiled at first use. */
void
ExpectCompiledAhead(const std::string & algorithm)
{
  const char * const pretended = std::getenv("CUDAMEDIAN_PRETEND_DEVICE");
  if (pretended == nullptr || *pretended == '\0')
  {
    EXPECT_EQ(algorithm, "tile program, compiled ahead");
    return;
  }
  EXPECT_TRUE(algorithm.rfind("tile program, ", 0) == 0 && algorithm != "tile program, interpreted") << algorithm;
}

/** The windows that are compiled ahead for a pixel type, of which local ranks would filter some faster. */
template <typename TPixel>
void
ExpectKernelsAheadEqualToItk(unsigned int largestRadius2D, const std::vector<itk::Size<3>> & radii3D)
{
  for (unsigned int radius = 1; radius <= largestRadius2D; ++radius)
  {
    ExpectCompiledAhead(ExpectKernelEqualToItk<itk::Image<TPixel, 2>>(
      { { 301, 133 } }, { { radius, radius } }, AlgorithmEnum::TileProgram));
  }
  for (const auto & radius : radii3D)
  {
    ExpectCompiledAhead(
      ExpectKernelEqualToItk<itk::Image<TPixel, 3>>({ { 141, 41, 11 } }, radius, AlgorithmEnum::TileProgram));
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

TEST(CudaMedianImageFilterDevice, KernelsCompiledAhead)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const std::vector<itk::Size<3>> radii{ { { 1, 1, 1 } }, { { 2, 2, 1 } }, { { 2, 2, 2 } }, { { 3, 3, 1 } } };
  ExpectKernelsAheadEqualToItk<signed char>(8, radii);
  ExpectKernelsAheadEqualToItk<unsigned short>(8, radii);
  ExpectKernelsAheadEqualToItk<int>(8, radii);
  ExpectKernelsAheadEqualToItk<float>(8, radii);
  ExpectKernelsAheadEqualToItk<double>(3, { { { 1, 1, 1 } } });
  ExpectKernelsAheadEqualToItk<unsigned long long>(3, { { { 1, 1, 1 } } });
}

// The kernel of 3x3 passes columns between the lanes of a warp: strips end at every column, warps within and at the end
// of the image, strips in every row.
TEST(CudaMedianImageFilterDevice, StripsOfEveryWidth)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  for (itk::SizeValueType width = 505; width <= 521; ++width)
  {
    const auto height = width - 490;
    for (const auto & algorithm :
         { ExpectKernelEqualToItk<itk::Image<unsigned char, 2>>({ { width, height } }, { { 1, 1 } }),
           ExpectKernelEqualToItk<itk::Image<signed char, 2>>({ { width, height } }, { { 1, 1 } }),
           ExpectKernelEqualToItk<itk::Image<short, 2>>({ { width, height } }, { { 1, 1 } }),
           ExpectKernelEqualToItk<itk::Image<unsigned short, 2>>({ { width, height } }, { { 1, 1 } }),
           ExpectKernelEqualToItk<itk::Image<float, 2>>({ { width, height } }, { { 1, 1 } }),
           ExpectKernelEqualToItk<itk::Image<double, 2>>({ { width, height } }, { { 1, 1 } }) })
    {
      ExpectCompiledAhead(algorithm);
    }
  }
  ExpectKernelEqualToItk<itk::Image<short, 3>>({ { 301, 1203, 3 } }, { { 1, 1, 0 } });
  ExpectKernelEqualToItk<itk::Image<short, 2>>({ { 37, 7001 } }, { { 1, 1 } });
}

// With NVRTC the kernel is compiled (or comes from the cache on disk); without, something else runs and says so.
TEST(CudaMedianImageFilterDevice, WindowsThatAreNotCompiledAhead)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const std::vector<std::string> algorithms{
    ExpectKernelEqualToItk<itk::Image<short, 2>>({ { 301, 133 } }, { { 6, 0 } }),
    ExpectKernelEqualToItk<itk::Image<unsigned char, 2>>({ { 301, 133 } }, { { 1, 4 } }),
    ExpectKernelEqualToItk<itk::Image<float, 2>>({ { 301, 133 } }, { { 0, 12 } }),
    ExpectKernelEqualToItk<itk::Image<double, 2>>({ { 301, 133 } }, { { 4, 1 } }),
    ExpectKernelEqualToItk<itk::Image<unsigned char, 3>>({ { 61, 41, 21 } }, { { 3, 1, 1 } }),
    ExpectKernelEqualToItk<itk::Image<float, 3>>({ { 61, 41, 21 } }, { { 0, 1, 2 } }),
    ExpectKernelEqualToItk<itk::Image<short, 4>>({ { 17, 13, 9, 7 } }, { { 1, 0, 1, 1 } }),
  };
  for (const auto & algorithm : algorithms)
  {
    EXPECT_TRUE(algorithm.find(", compiled with NVRTC") != std::string::npos ||
                algorithm.find(", from the cache on disk") != std::string::npos ||
                algorithm.find(", interpreted") != std::string::npos || algorithm == "local ranks")
      << algorithm;
    EXPECT_EQ(algorithm.find("compiled ahead"), std::string::npos) << algorithm;
  }
}

TEST(CudaMedianImageFilterDevice, WindowsThatTakeLongToCompile)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  // A program of some five thousand instructions: unless it is in the cache, what is ready runs.
  using ImageType = itk::Image<short, 3>;
  const ImageType::SizeType size{ { 61, 41, 9 } };
  const ImageType::SizeType radius{ { 4, 2, 1 } };
  const auto                report = ExpectEqualToItk<ImageType>(size, radius, AlgorithmEnum::Automatic, false);
  if (report.algorithm == "local ranks")
  {
    EXPECT_EQ(report.compiling.empty(), report.algorithmReason.find("it is not compiled yet") == std::string::npos)
      << report.algorithmReason;
  }
  else
  {
    EXPECT_EQ(report.algorithm, "tile program, from the cache on disk");
  }
  // What is being compiled is waited for, and stays.
  const auto algorithm = ExpectKernelEqualToItk<ImageType>(size, radius);
  EXPECT_EQ(algorithm.rfind("tile program, ", 0) == 0, report.algorithm != "local ranks" || !report.compiling.empty())
    << algorithm;
  EXPECT_EQ(ExpectEqualToItk<ImageType>(size, radius, AlgorithmEnum::Automatic, false).algorithm, algorithm);
}

TEST(CudaMedianImageFilterDevice, MoreThan2To31Pixels)
{
  CUDAMEDIAN_NEEDS_GPU();
  using ImageType = itk::Image<unsigned char, 2>;
  constexpr itk::SizeValueType width = 50021;
  constexpr itk::SizeValueType height = 43003; // 2,151,053,063 pixels
  const auto                   image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { width, height } });
  image->Allocate();
  const auto value = [](itk::IndexValueType x, itk::IndexValueType y) {
    const auto clampedX =
      static_cast<std::uint64_t>(std::min<itk::IndexValueType>(std::max<itk::IndexValueType>(x, 0), width - 1));
    const auto clampedY =
      static_cast<std::uint64_t>(std::min<itk::IndexValueType>(std::max<itk::IndexValueType>(y, 0), height - 1));
    return static_cast<unsigned char>((clampedY * width + clampedX) * 0x9E3779B97F4A7C15ULL >> 56);
  };
  auto * pixel = image->GetBufferPointer();
  for (itk::SizeValueType i = 0; i < width * height; ++i)
  {
    *pixel++ = static_cast<unsigned char>(i * 0x9E3779B97F4A7C15ULL >> 56);
  }
  const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetBackend(BackendEnum::Cuda);
  filter->SetInput(image);
  filter->SetRadius(1);
  filter->Update();
  for (itk::IndexValueType y = 0; y < static_cast<itk::IndexValueType>(height); y += y < 3 || y > 43000 ? 1 : 997)
  {
    for (itk::IndexValueType x = 0; x < static_cast<itk::IndexValueType>(width); x += x < 3 || x > 50018 ? 1 : 499)
    {
      std::vector<unsigned char> window;
      for (itk::IndexValueType j = y - 1; j <= y + 1; ++j)
      {
        for (itk::IndexValueType i = x - 1; i <= x + 1; ++i)
        {
          window.push_back(value(i, j));
        }
      }
      std::nth_element(window.begin(), window.begin() + 4, window.end());
      ASSERT_EQ(filter->GetOutput()->GetPixel({ { x, y } }), window[4]) << x << ", " << y;
    }
  }
}
