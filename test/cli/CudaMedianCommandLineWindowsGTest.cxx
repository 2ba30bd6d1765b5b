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
// The command line's windows beside the median of a radius, and images whose pixels have several components.

#include "CommandLineProgram.h"
#include "CudaMedianTestSeed.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMedianImageFilter.h"
#include "itkRGBAPixel.h"
#include "itkRGBPixel.h"
#include "itkVectorImage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <random>
#include <set>

namespace
{

namespace fs = std::filesystem;
using cudamediantest::ProgramResult;
using cudamediantest::RunProgram;
using itk::CudaMedianFilterDetail::CountValues;
using itk::CudaMedianFilterDetail::GetValues;
using BoundaryEnum = itk::CudaMedianImageFilterEnums::Boundary;
using EvenMedianEnum = itk::CudaMedianImageFilterEnums::EvenMedian;

template <typename TImage>
using ValueType = typename itk::CudaMedianFilterDetail::ImageTraits<TImage>::ValueType;

using SliceType = itk::Image<short, 2>;

/** An image of random values. */
template <typename TImage>
typename TImage::Pointer
RandomImage(const typename TImage::SizeType & size, unsigned int components = 1)
{
  const auto image = TImage::New();
  image->SetRegions(typename TImage::RegionType(size));
  image->SetNumberOfComponentsPerPixel(components);
  image->Allocate();
  image->SetSpacing(2.5);
  std::mt19937_64 random(cudamediantest::Seed());
  std::generate_n(GetValues(*image),
                  image->GetBufferedRegion().GetNumberOfPixels() * static_cast<std::size_t>(CountValues(*image)),
                  [&random] { return static_cast<ValueType<TImage>>(random() % 30000); });
  return image;
}

/** One component of an image. */
template <typename TImage>
typename itk::Image<ValueType<TImage>, TImage::ImageDimension>::Pointer
Split(const TImage & image, std::int64_t component)
{
  const auto split = itk::Image<ValueType<TImage>, TImage::ImageDimension>::New();
  split->SetRegions(image.GetBufferedRegion());
  split->Allocate();
  for (itk::SizeValueType i = 0; i < image.GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    split->GetBufferPointer()[i] = GetValues(image)[static_cast<std::int64_t>(i) * CountValues(image) + component];
  }
  return split;
}

template <typename TImage>
typename TImage::Pointer
MedianByITK(const TImage * image, itk::SizeValueType radius)
{
  const auto filter = itk::MedianImageFilter<TImage, TImage>::New();
  filter->SetInput(image);
  filter->SetRadius(radius);
  filter->Update();
  return filter->GetOutput();
}

/** Values of each pixel that differ. */
template <typename TImage>
std::size_t
CountDifferences(const TImage & one, const TImage & other)
{
  EXPECT_EQ(one.GetBufferedRegion(), other.GetBufferedRegion());
  EXPECT_EQ(CountValues(one), CountValues(other));
  const auto  count = one.GetBufferedRegion().GetNumberOfPixels() * static_cast<std::size_t>(CountValues(one));
  std::size_t differing = 0;
  for (std::size_t i = 0; i < count; ++i)
  {
    differing += GetValues(one)[i] == GetValues(other)[i] ? 0 : 1;
  }
  return differing;
}

class CudaMedianCommandLineWindows : public testing::Test
{
protected:
  std::string
  File(const std::string & name) const
  {
    return m_Directory.Path() / name;
  }

  /** Runs the program on an image, and reads what it wrote. */
  template <typename TImage>
  typename TImage::Pointer
  Run(const TImage * image, std::vector<std::string> arguments, const std::string & extension = ".nrrd") const
  {
    itk::WriteImage(image, File("input" + extension));
    arguments.push_back(File("input" + extension));
    arguments.push_back(File("output" + extension));
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.error;
    EXPECT_EQ(result.error, "");
    return itk::ReadImage<TImage>(File("output" + extension));
  }

  /** Runs the program and expects it to fail with one line that contains `reason`, and to write nothing. */
  void
  ExpectFailure(const std::vector<std::string> & options, const std::string & reason) const
  {
    SCOPED_TRACE(testing::PrintToString(options));
    const std::string input = File("refused.nrrd");
    const std::string output = File("none.nrrd");
    itk::WriteImage(RandomImage<SliceType>({ { 9, 7 } }), input);
    std::vector<std::string> arguments = options;
    arguments.push_back(input);
    arguments.push_back(output);
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_EQ(result.error.rfind("CudaMedianImageFilter: ", 0), 0u) << result.error;
    EXPECT_NE(result.error.find(reason), std::string::npos) << result.error;
    EXPECT_FALSE(fs::exists(output));
  }

  /** Each component is ITK's median, and the file's pixels are of the kind they were. */
  template <typename TImage>
  void
  ExpectSplitMedians(const typename TImage::SizeType & size,
                     const std::string &               extension,
                     unsigned int                      components = 1) const
  {
    CUDAMEDIAN_TRACE_SEED();
    const auto image = RandomImage<TImage>(size, components);
    const auto result = this->Run(image.GetPointer(), { "--radius", "1" }, extension);
    ASSERT_EQ(CountValues(*result), CountValues(*image));
    for (std::int64_t i = 0; i < CountValues(*image); ++i)
    {
      const auto one = Split(*image, i);
      EXPECT_EQ(CountDifferences(*MedianByITK(one.GetPointer(), 1), *Split(*result, i)), 0u) << "component " << i;
    }
    const auto kinds = { StoredPixels("input" + extension), StoredPixels("output" + extension) };
    EXPECT_EQ(*kinds.begin(), *(kinds.begin() + 1));
  }

  /** Kind, type and number of the values of a file's pixels. */
  std::string
  StoredPixels(const std::string & name) const
  {
    const std::string               path = File(name);
    const itk::ImageIOBase::Pointer io =
      itk::ImageIOFactory::CreateImageIO(path.c_str(), itk::ImageIOFactory::IOFileModeEnum::ReadMode);
    io->SetFileName(path);
    io->ReadImageInformation();
    return itk::ImageIOBase::GetPixelTypeAsString(io->GetPixelType()) + " of " +
           std::to_string(io->GetNumberOfComponents()) + " " +
           itk::ImageIOBase::GetComponentTypeAsString(io->GetComponentType());
  }

private:
  cudamediantest::TemporaryDirectory m_Directory;
};

/** The value of a rank in the window around each pixel, whose border repeats the nearest. */
SliceType::Pointer
PlainRank(const SliceType & image, int radius, std::size_t rank)
{
  const auto result = SliceType::New();
  const auto region = image.GetBufferedRegion();
  result->SetRegions(region);
  result->Allocate();
  for (itk::IndexValueType y = 0; y < static_cast<itk::IndexValueType>(region.GetSize(1)); ++y)
  {
    for (itk::IndexValueType x = 0; x < static_cast<itk::IndexValueType>(region.GetSize(0)); ++x)
    {
      std::vector<short> values;
      for (itk::IndexValueType dy = -radius; dy <= radius; ++dy)
      {
        for (itk::IndexValueType dx = -radius; dx <= radius; ++dx)
        {
          values.push_back(
            image.GetPixel({ { std::clamp<itk::IndexValueType>(x + dx, 0, region.GetUpperIndex()[0]),
                               std::clamp<itk::IndexValueType>(y + dy, 0, region.GetUpperIndex()[1]) } }));
        }
      }
      std::sort(values.begin(), values.end());
      result->SetPixel({ { x, y } }, values[rank]);
    }
  }
  return result;
}

} // namespace

TEST_F(CudaMedianCommandLineWindows, SizesAreRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = RandomImage<SliceType>({ { 31, 22 } });
  EXPECT_EQ(CountDifferences(*this->Run(image.GetPointer(), { "--size", "5" }), *MedianByITK(image.GetPointer(), 2)),
            0u);
  const auto oblong = this->Run(image.GetPointer(), { "--size", "3,7" });
  EXPECT_EQ(CountDifferences(*oblong, *this->Run(image.GetPointer(), { "--radius", "1,3" })), 0u);
}

TEST_F(CudaMedianCommandLineWindows, FindsRanksAndPercentiles)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = RandomImage<SliceType>({ { 31, 22 } });
  for (const std::size_t rank : { 0, 7, 24 })
  {
    const auto result = this->Run(image.GetPointer(), { "--radius", "2", "--rank", std::to_string(rank) });
    EXPECT_EQ(CountDifferences(*result, *PlainRank(*image, 2, rank)), 0u) << "rank " << rank;
  }
  // 25 pixels: 8.25, 12.5 and 25 of them.
  const std::pair<const char *, std::size_t> percentiles[] = { { "0", 0 }, { "33", 8 }, { "50", 12 }, { "100", 24 } };
  for (const auto & [percentile, rank] : percentiles)
  {
    const auto result = this->Run(image.GetPointer(), { "--size", "5", "--percentile", percentile });
    EXPECT_EQ(CountDifferences(*result, *PlainRank(*image, 2, rank)), 0u) << percentile << " percent";
  }
}

// What the filter makes of borders and even sizes is tested where the filter is.
TEST_F(CudaMedianCommandLineWindows, TakesBordersAndEvenSizes)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = RandomImage<SliceType>({ { 31, 22 } });
  using FilterType = itk::CudaMedianImageFilter<SliceType>;
  const auto expect = [&](const std::vector<std::string> & options, const std::function<void(FilterType &)> & set) {
    SCOPED_TRACE(testing::PrintToString(options));
    const auto filter = FilterType::New();
    filter->SetInput(image);
    filter->SetRadius(2);
    set(*filter);
    filter->Update();
    EXPECT_EQ(CountDifferences(*this->Run(image.GetPointer(), options), *filter->GetOutput()), 0u);
  };
  const std::pair<const char *, BoundaryEnum> borders[] = { { "nearest", BoundaryEnum::ZeroFluxNeumann },
                                                            { "constant", BoundaryEnum::Constant },
                                                            { "reflect", BoundaryEnum::Reflect },
                                                            { "mirror", BoundaryEnum::Mirror },
                                                            { "wrap", BoundaryEnum::Wrap },
                                                            { "shrink", BoundaryEnum::Shrink } };
  for (const auto & [name, boundary] : borders)
  {
    expect({ "--radius", "2", "--border", name },
           [mode = boundary](FilterType & filter) { filter.SetBoundaryMode(mode); });
    expect({ "--size", "4,5", "--border", name }, [mode = boundary](FilterType & filter) {
      filter.SetBoundaryMode(mode);
      filter.SetEvenWindow(0, true);
    });
  }
  expect({ "--radius", "2", "--border", "wrap,constant:-20000" }, [](FilterType & filter) {
    filter.SetBoundaryMode(0, BoundaryEnum::Wrap);
    filter.SetBoundaryMode(1, BoundaryEnum::Constant);
    filter.SetBoundaryConstant(-20000);
  });
  expect({ "--size", "4", "--even-median", "mean" }, [](FilterType & filter) {
    filter.SetEvenWindow(true);
    filter.SetEvenMedian(EvenMedianEnum::Mean);
  });
  expect({ "--size", "5", "--border", "shrink", "--even-median", "mean" }, [](FilterType & filter) {
    filter.SetBoundaryMode(BoundaryEnum::Shrink);
    filter.SetEvenMedian(EvenMedianEnum::Mean);
  });
}

TEST_F(CudaMedianCommandLineWindows, FiltersColours)
{
  ExpectSplitMedians<itk::Image<itk::RGBPixel<unsigned char>, 2>>({ { 31, 22 } }, ".png");
  ExpectSplitMedians<itk::Image<itk::RGBPixel<unsigned short>, 2>>({ { 31, 22 } }, ".png");
  ExpectSplitMedians<itk::Image<itk::RGBAPixel<unsigned char>, 2>>({ { 31, 22 } }, ".png");
  ExpectSplitMedians<itk::Image<itk::RGBPixel<unsigned char>, 3>>({ { 13, 11, 6 } }, ".nrrd");
}

TEST_F(CudaMedianCommandLineWindows, FiltersVectors)
{
  ExpectSplitMedians<itk::VectorImage<float, 2>>({ { 31, 22 } }, ".mha", 2);
  ExpectSplitMedians<itk::VectorImage<short, 3>>({ { 13, 11, 6 } }, ".mha", 5);
  ExpectSplitMedians<itk::VectorImage<unsigned char, 4>>({ { 7, 6, 5, 4 } }, ".mha", 3);
  ExpectSplitMedians<itk::Image<std::complex<float>, 2>>({ { 31, 22 } }, ".nrrd");
}

TEST_F(CudaMedianCommandLineWindows, WritesColoursAsJpeg)
{
  CUDAMEDIAN_TRACE_SEED();
  using ColourType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  const auto image = ColourType::New();
  image->SetRegions(ColourType::SizeType{ { 64, 48 } });
  image->Allocate();
  ColourType::PixelType colour;
  colour.Set(200, 100, 50);
  image->FillBuffer(colour);
  const auto result = this->Run(image.GetPointer(), { "--radius", "2" }, ".jpg");
  for (unsigned int i = 0; i < 3; ++i)
  {
    EXPECT_NEAR(result->GetPixel({ { 30, 20 } })[i], colour[i], 5);
  }
}

TEST_F(CudaMedianCommandLineWindows, VerifiesEachComponent)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = RandomImage<itk::Image<itk::RGBPixel<unsigned char>, 2>>({ { 31, 22 } });
  itk::WriteImage(image.GetPointer(), File("colour.png"));
  const ProgramResult result = RunProgram({ "--verify", File("colour.png"), File("output.png") });
  EXPECT_EQ(result.exitCode, 0) << result.error;
  EXPECT_NE(result.output.find("0 voxels differ from itk::MedianImageFilter"), std::string::npos) << result.output;
}

TEST_F(CudaMedianCommandLineWindows, ReportsTheBorder)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = RandomImage<SliceType>({ { 31, 22 } });
  itk::WriteImage(image.GetPointer(), File("input.nrrd"));
  const ProgramResult result =
    RunProgram({ "--report", "--border", "mirror", "--backend", "cpu", File("input.nrrd"), File("output.nrrd") });
  EXPECT_EQ(result.exitCode, 0) << result.error;
  EXPECT_NE(result.output.find("Border: mirror"), std::string::npos) << result.output;
}

TEST_F(CudaMedianCommandLineWindows, RefusesWhatHasNoMeaning)
{
  ExpectFailure({ "--radius", "1", "--size", "3" }, "excludes");
  ExpectFailure({ "--rank", "1", "--percentile", "50" }, "excludes");
  ExpectFailure({ "--size", "0" }, "at least one pixel");
  ExpectFailure({ "--size", "3,0" }, "at least one pixel");
  ExpectFailure({ "--size", "3,3,3" }, "--size gives 3 numbers, but the image has 2 axes");
  ExpectFailure({ "--size", "two" }, "--size two");
  ExpectFailure({ "--rank", "9" }, "the window has 9 pixels, whose ranks go from 0 to 8");
  ExpectFailure({ "--size", "2,1", "--rank", "2" }, "the window has 2 pixels, whose ranks go from 0 to 1");
  ExpectFailure({ "--rank", "1.5" }, "--rank 1.5");
  ExpectFailure({ "--rank", "" }, "--rank");
  for (const std::string percentile : { "100.5", "nan", "half", "50%", "" })
  {
    ExpectFailure({ "--percentile", percentile }, "--percentile");
  }
  ExpectFailure({ "--border", "edge" }, "--border edge: 'edge' is not one of nearest, constant, reflect");
  ExpectFailure({ "--border", "wrap,wrap,wrap" }, "--border gives 3 names, but the image has 2 axes");
  ExpectFailure({ "--border", "wrap:3" }, "only constant takes a value");
  ExpectFailure({ "--border", "constant:40000" }, "constant:40000: not a value of this image's pixels");
  ExpectFailure({ "--border", "constant:1.5" }, "not a value of this image's pixels");
  ExpectFailure({ "--border", "constant:" }, "not a value of this image's pixels");
  ExpectFailure({ "--border", "shrink", "--rank", "2" }, "rank");
  ExpectFailure({ "--border", "shrink,wrap" }, "clipped");
  ExpectFailure({ "--even-median", "least" }, "--even-median least: not one of upper, mean and lower");
  ExpectFailure({ "--even-median", "mean" }, "odd number of pixels, 9");
  ExpectFailure({ "--size", "2", "--rank", "1", "--even-median", "mean" }, "--even-median is for the median");
  for (const std::vector<std::string> & options : std::vector<std::vector<std::string>>{
         { "--rank", "3" }, { "--percentile", "10" }, { "--border", "wrap" }, { "--size", "2" } })
  {
    std::vector<std::string> arguments = options;
    arguments.push_back("--verify");
    ExpectFailure(arguments, "--verify: itk::MedianImageFilter has neither");
  }
}
