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
// The command line's footprints, masks and outliers, beside the filter with the same settings.

#include "CommandLineProgram.h"
#include "CudaMedianTestSeed.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace
{

using cudamediantest::ProgramResult;
using cudamediantest::RunProgram;
using ImageType = itk::Image<short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using Enums = itk::CudaMedianImageFilterEnums;

class CudaMedianCommandLineFootprints : public testing::Test
{
protected:
  void
  SetUp() override
  {
    m_Image = ImageType::New();
    m_Image->SetRegions(ImageType::RegionType({ { 17, 13, 9 } }));
    m_Image->Allocate();
    const double spacing[] = { 1, 0.5, 2 };
    m_Image->SetSpacing(spacing);
    std::mt19937_64 random(cudamediantest::Seed());
    std::generate_n(m_Image->GetBufferPointer(), m_Image->GetBufferedRegion().GetNumberOfPixels(), [&random] {
      return static_cast<short>(random() % 200 - 100);
    });
    itk::WriteImage(m_Image, File("input.nrrd"));
  }

  std::string
  File(const std::string & name) const
  {
    return m_Directory.Path() / name;
  }

  /** Runs the program, and compares what it wrote with the filter's output. */
  void
  ExpectAsFilter(std::vector<std::string> arguments, const std::function<void(FilterType &)> & configure) const
  {
    arguments.insert(arguments.begin(), { "--backend", "cpu" });
    arguments.push_back(File("input.nrrd"));
    arguments.push_back(File("output.nrrd"));
    const ProgramResult result = RunProgram(arguments);
    ASSERT_EQ(result.exitCode, 0) << result.error;
    EXPECT_EQ(result.error, "");
    const auto written = itk::ReadImage<ImageType>(File("output.nrrd"));
    const auto filter = FilterType::New();
    filter->SetInput(m_Image);
    filter->SetBackend(Enums::Backend::Cpu);
    configure(*filter);
    filter->Update();
    const auto   count = m_Image->GetBufferedRegion().GetNumberOfPixels();
    const auto * expected = filter->GetOutput()->GetBufferPointer();
    EXPECT_TRUE(std::equal(expected, expected + count, written->GetBufferPointer())) << arguments[2];
  }

  void
  ExpectFailure(std::vector<std::string> arguments, const std::string & reason) const
  {
    arguments.push_back(File("input.nrrd"));
    arguments.push_back(File("refused.nrrd"));
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_NE(result.error.find(reason), std::string::npos) << result.error;
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_FALSE(std::filesystem::exists(File("refused.nrrd")));
  }

  ImageType::Pointer                 m_Image;
  cudamediantest::TemporaryDirectory m_Directory;
};

} // namespace

TEST_F(CudaMedianCommandLineFootprints, Shapes)
{
  CUDAMEDIAN_TRACE_SEED();
  using cudamedian::Footprint;
  const auto shape = [](const Footprint * footprint) {
    return [footprint](FilterType & filter) { filter.SetFootprint(footprint); };
  };
  ExpectAsFilter({ "--footprint", "disk:2" }, shape(Footprint::MakeEllipsoid({ { 2, 2, 0, 0 } })));
  ExpectAsFilter({ "--footprint", "ball:1.5" }, shape(Footprint::MakeEllipsoid({ { 1.5, 1.5, 1.5, 0 } })));
  ExpectAsFilter({ "--footprint", "ellipsoid:2,1,0" }, shape(Footprint::MakeEllipsoid({ { 2, 1, 0, 0 } })));
  ExpectAsFilter({ "--footprint", "cross" }, shape(Footprint::MakeCross({ { 1, 1, 1, 0 } })));
  ExpectAsFilter({ "--footprint", "cross:2", "--slice-wise" }, shape(Footprint::MakeCross({ { 2, 2, 0, 0 } })));
  ExpectAsFilter({ "--footprint", "ball:2mm" }, [](FilterType & filter) { filter.SetPhysicalRadius(2); });
  ExpectAsFilter({ "--ball", "1" }, [](FilterType & filter) { filter.SetPhysicalRadius(1); });
  ExpectAsFilter({ "--center-weight", "5" }, [](FilterType & filter) { filter.SetCenterWeight(5); });
}

TEST_F(CudaMedianCommandLineFootprints, FootprintFromAFile)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto weights = itk::Image<unsigned char, 2>::New();
  weights->SetRegions(itk::ImageRegion<2>({ { 3, 4 } }));
  weights->Allocate();
  std::vector<std::int64_t> numbers{ 0, 1, 2, 1, 0, 1, 3, 0, 0, 1, 1, 1 };
  std::copy(numbers.begin(), numbers.end(), weights->GetBufferPointer());
  itk::WriteImage(weights, File("weights.png"));
  ExpectAsFilter({ "--footprint", File("weights.png") }, [&](FilterType & filter) {
    filter.SetFootprint(cudamedian::Footprint::MakeFromImage({ { 3, 4, 1, 1 } }, numbers, { { 1, 2, 0, 0 } }));
  });
}

TEST_F(CudaMedianCommandLineFootprints, MasksIgnoredValuesAndOutliers)
{
  CUDAMEDIAN_TRACE_SEED();
  // A mask of wide pixels: 256 has no bit in its last byte.
  using MaskType = itk::Image<unsigned short, 3>;
  const auto mask = MaskType::New();
  mask->CopyInformation(m_Image);
  mask->SetRegions(m_Image->GetLargestPossibleRegion());
  mask->Allocate();
  for (std::size_t i = 0; i < mask->GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    mask->GetBufferPointer()[i] = i % 3 == 0 ? 0 : 256;
  }
  itk::WriteImage(mask, File("mask.nrrd"));
  ExpectAsFilter({ "--mask", File("mask.nrrd"), "--invalid", "copied" }, [&](FilterType & filter) {
    filter.SetMaskImage(mask);
    filter.SetInvalidOutput(Enums::InvalidOutput::Copied);
  });
  ExpectAsFilter({ "--ignore", "-7", "--empty", "3", "--invalid", "-9", "--even-median", "lower" },
                 [](FilterType & filter) {
                   filter.SetIgnoredValue(-7);
                   filter.SetEmptyWindow(Enums::EmptyWindow::Value);
                   filter.SetEmptyValue(3);
                   filter.SetInvalidOutput(Enums::InvalidOutput::Value);
                   filter.SetInvalidValue(-9);
                   filter.SetEvenMedian(Enums::EvenMedian::Lower);
                 });
  ExpectAsFilter({ "--outliers", "60" }, [](FilterType & filter) {
    filter.SetOutlierRule(Enums::OutlierRule::Absolute);
    filter.SetOutlierThreshold(60);
  });
  ExpectAsFilter({ "--outliers", "1.25mad", "--nan", "omit" }, [](FilterType & filter) {
    filter.SetOutlierRule(Enums::OutlierRule::Deviations);
    filter.SetOutlierThreshold(1.25);
  });
}

TEST_F(CudaMedianCommandLineFootprints, RefusesWhatHasNoMeaning)
{
  ExpectFailure({ "--footprint", "disk" }, "takes a radius");
  ExpectFailure({ "--footprint", "ball:-1" }, "'-1' is not a radius");
  ExpectFailure({ "--footprint", "ellipsoid:1,2" }, "gives 2 radii, but the image has 3 axes");
  ExpectFailure({ "--footprint", File("nothing.png") }, "nothing.png");
  ExpectFailure({ "--footprint", "cross", "--radius", "2" }, "excludes");
  ExpectFailure({ "--center-weight", "0" }, "--center-weight 0");
  ExpectFailure({ "--mask", File("nothing.nrrd") }, "nothing.nrrd");
  ExpectFailure({ "--ignore", "1.5" }, "--ignore 1.5");
  ExpectFailure({ "--nan", "drop" }, "--nan drop");
  ExpectFailure({ "--outliers", "-3" }, "--outliers -3");
  ExpectFailure({ "--outliers", "3", "--rank", "2" }, "distance from the median");
  ExpectFailure({ "--ignore", "0", "--rank", "2" }, "rank is 2");
  ExpectFailure({ "--footprint", "cross", "--verify" }, "--verify");
}
