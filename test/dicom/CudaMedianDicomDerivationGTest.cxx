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
// New DICOM series of other filters than the plain median: what they say of themselves, and their values.

#include "CommandLineProgram.h"
#include "DicomSlices.h"

#include "itkGDCMImageIO.h"
#include "itkGDCMSeriesFileNames.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageSeriesReader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace
{

using cudamediantest::DicomTag;
using cudamediantest::MakeSlices;
using cudamediantest::NamesIn;
using cudamediantest::RunProgram;
using cudamediantest::TestSlice;
using cudamediantest::TextOf;
using cudamediantest::Volume;
using cudamediantest::WriteSlices;
using Arguments = std::vector<std::string>;

constexpr DicomTag InstanceUid{ 0x0008, 0x0018 };
constexpr DicomTag SeriesDescription{ 0x0008, 0x103E };
constexpr DicomTag DerivationDescription{ 0x0008, 0x2111 };
constexpr DicomTag SourceImages{ 0x0008, 0x2112 };
constexpr DicomTag DerivationCode{ 0x0008, 0x9215 };

/** A filter, and what a series says of it. */
struct DerivedSeries
{
  Arguments   arguments;
  std::string name;
  std::string description;
  bool        isSmoothing;
};

Volume::Pointer
ReadSeries(const std::string & folder)
{
  const auto names = itk::GDCMSeriesFileNames::New();
  names->SetDirectory(folder);
  const auto reader = itk::ImageSeriesReader<Volume>::New();
  reader->SetImageIO(itk::GDCMImageIO::New());
  reader->SetFileNames(names->GetInputFileNames());
  reader->Update();
  return reader->GetOutput();
}

class CudaMedianDicomDerivation : public testing::Test
{
protected:
  CudaMedianDicomDerivation()
    : m_Slices(MakeSlices(6))
  {
    WriteSlices(Path("input"), m_Slices);
    const auto mask = itk::Image<unsigned char, 3>::New();
    const auto volume = cudamediantest::VolumeOf(m_Slices);
    mask->CopyInformation(volume);
    mask->SetRegions(volume->GetBufferedRegion());
    mask->Allocate();
    for (itk::SizeValueType i = 0; i < volume->GetBufferedRegion().GetNumberOfPixels(); ++i)
    {
      mask->GetBufferPointer()[i] = i % 3 == 0 ? 0 : 1;
    }
    itk::WriteImage(mask.GetPointer(), Path("secret.nrrd"));
    // A value that some voxel has, for --ignore.
    m_Value = std::to_string(static_cast<long>(volume->GetBufferPointer()[0]));
  }

  std::string
  Path(const std::string & name) const
  {
    return m_Directory.Path() / name;
  }

  /** Runs the program on the series. */
  cudamediantest::ProgramResult
  Run(Arguments arguments, const std::string & output) const
  {
    arguments.push_back(Path("input"));
    arguments.push_back(Path(output));
    return RunProgram(arguments);
  }

  std::vector<TestSlice>             m_Slices;
  std::string                        m_Value;
  cudamediantest::TemporaryDirectory m_Directory;
};

} // namespace

TEST_F(CudaMedianDicomDerivation, SaysWhatWasDone)
{
  const std::string   nearest = ", the nearest voxel repeated beyond the border";
  const std::string   box = "a window of 3x3x3 voxels";
  const DerivedSeries cases[] = {
    { {}, "median 3x3x3", "median of " + box + nearest, true },
    { { "--rank", "0" }, "minimum 3x3x3", "minimum of " + box + nearest, false },
    { { "--rank", "26" }, "maximum 3x3x3", "maximum of " + box + nearest, false },
    { { "--rank", "5" }, "rank 5 of 0 to 26 3x3x3", "rank 5 of 0 to 26 of " + box + nearest, true },
    { { "--percentile", "12.5" }, "percentile 12.5 3x3x3", "percentile 12.5 of " + box + nearest, true },
    { { "--percentile", "100" }, "maximum 3x3x3", "maximum of " + box + nearest, false },
    { { "--size", "2,4,1" },
      "median 2x4x1",
      "median of a window of 2x4x1 voxels, the upper of two middle values" + nearest,
      true },
    { { "--size", "2,3,3", "--even-median", "lower" },
      "median 2x3x3",
      "median of a window of 2x3x3 voxels, the lower of two middle values" + nearest,
      true },
    { { "--border", "mirror" }, "median 3x3x3", "median of " + box + ", mirrored at the last voxel", true },
    { { "--border", "nearest,reflect,wrap" },
      "median 3x3x3",
      "median of " + box +
        ", along axis 1 the nearest voxel repeated beyond the border, along axis 2 mirrored at the edge of the border, "
        "along axis 3 continued at the other end beyond the border",
      true },
    { { "--ball", "2.6" },
      "median 11x7x3 ball",
      "median of the 63 values of a ball of radius 2.6 mm in a window of 11x7x3 voxels" + nearest,
      true },
    { { "--footprint", "cross:1" },
      "median 3x3x3 cross",
      "median of the 7 values of a cross of radius 1 voxels in " + box + nearest,
      true },
    { { "--center-weight", "3" }, "median 3x3x3", "median of " + box + " whose center counts 3 times" + nearest, true },
    { { "--mask", Path("secret.nrrd"), "--ignore", m_Value, "--invalid", "copied" },
      "median 3x3x3 masked",
      "median of " + box + ", voxels outside of a mask and of value " + m_Value + " left out and kept as they are" +
        nearest,
      true },
    { { "--outliers", "2.5mad" },
      "median 3x3x3 outliers",
      "median of " + box + ", only in place of voxels farther from it than 2.5 median absolute deviations" + nearest,
      true },
    { { "--outliers", "100" },
      "median 3x3x3 outliers",
      "median of " + box + ", only in place of voxels farther from it than 100" + nearest,
      true },
  };
  int number = 0;
  for (const DerivedSeries & wanted : cases)
  {
    SCOPED_TRACE(wanted.description);
    const std::string folder = "series" + std::to_string(++number);
    const auto        result = Run(wanted.arguments, folder + "/");
    ASSERT_EQ(result.exitCode, 0) << result.error;
    ASSERT_EQ(NamesIn(Path(folder)).size(), m_Slices.size());
    for (const std::string & name : NamesIn(Path(folder)))
    {
      const std::string path = Path(folder + "/" + name);
      EXPECT_EQ(TextOf(path, SeriesDescription), "Thorax " + wanted.name);
      const std::string description = TextOf(path, DerivationDescription);
      EXPECT_EQ(description, wanted.description);
      EXPECT_EQ(TextOf(path, DerivationCode), wanted.isSmoothing ? "113087|DCM|Smoothing" : "");
      // Names of files may tell of a patient.
      EXPECT_EQ(cudamediantest::ReadText(path).find("secret"), std::string::npos);
    }
    // The values are those of a file that the same filter made.
    ASSERT_EQ(Run(wanted.arguments, folder + ".nrrd").exitCode, 0);
    const auto actual = ReadSeries(Path(folder));
    const auto expected = itk::ReadImage<Volume>(Path(folder + ".nrrd"));
    ASSERT_EQ(actual->GetBufferedRegion(), expected->GetBufferedRegion());
    EXPECT_TRUE(std::equal(expected->GetBufferPointer(),
                           expected->GetBufferPointer() + expected->GetBufferedRegion().GetNumberOfPixels(),
                           actual->GetBufferPointer()));
  }
}

TEST_F(CudaMedianDicomDerivation, NamesTheSlicesThatWindowsSee)
{
  const struct
  {
    Arguments             arguments;
    std::set<std::size_t> ofFirst;
    std::set<std::size_t> ofThird;
  } cases[] = {
    { { "--size", "1,1,4" }, { 0, 1 }, { 0, 1, 2, 3 } },
    { { "--radius", "0,0,2", "--border", "wrap", "--rank", "1" }, { 0, 1, 2, 4, 5 }, { 0, 1, 2, 3, 4 } },
    { { "--radius", "0,0,2", "--border", "mirror" }, { 0, 1, 2 }, { 0, 1, 2, 3, 4 } },
    { { "--radius", "0,0,9", "--border", "wrap" }, { 0, 1, 2, 3, 4, 5 }, { 0, 1, 2, 3, 4, 5 } },
    { { "--ball", "2.6" }, { 0, 1 }, { 1, 2, 3 } },
    { { "--slice-wise", "--rank", "0" }, { 0 }, { 2 } },
  };
  int number = 0;
  for (const auto & wanted : cases)
  {
    const std::string folder = "series" + std::to_string(++number);
    const auto        result = Run(wanted.arguments, folder + "/");
    ASSERT_EQ(result.exitCode, 0) << result.error;
    for (const bool isFirst : { true, false })
    {
      const std::string sources = TextOf(Path(folder + (isFirst ? "/slice0001.dcm" : "/slice0003.dcm")), SourceImages);
      std::set<std::size_t> named;
      for (std::size_t source = 0; source < m_Slices.size(); ++source)
      {
        if (sources.find("|" + m_Slices[source].texts.at(InstanceUid) + "|") != std::string::npos)
        {
          named.insert(source);
        }
      }
      EXPECT_EQ(named, isFirst ? wanted.ofFirst : wanted.ofThird) << wanted.arguments.back();
    }
  }
}

TEST_F(CudaMedianDicomDerivation, RefusesWhatMakesValuesOfItsOwn)
{
  const struct
  {
    Arguments   arguments;
    std::string named;
  } cases[] = {
    { { "--border", "constant:5" }, "--border constant" },
    { { "--border", "nearest,nearest,constant" }, "--border constant" },
    { { "--size", "2", "--even-median", "mean" }, "--even-median mean" },
    { { "--ignore", "3", "--empty", "7" }, "--empty 7" },
    { { "--ignore", "3", "--invalid", "9" }, "--invalid 9" },
  };
  const auto before = NamesIn(Path(""));
  for (const auto & wanted : cases)
  {
    const auto result = Run(wanted.arguments, "series/");
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    for (const std::string & words : { wanted.named, std::string("values that no voxel of the series has") })
    {
      EXPECT_NE(result.error.find(words), std::string::npos) << "no '" << words << "' in: " << result.error;
    }
    EXPECT_EQ(NamesIn(Path("")), before);
    // A file takes them.
    EXPECT_EQ(Run(wanted.arguments, "output.nrrd").exitCode, 0);
    std::filesystem::remove(Path("output.nrrd"));
  }
}
