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
// Writes DICOM series of all kinds, runs the command line program on them as a user would, and looks at what it prints,
// returns and leaves on disk.

#include "CommandLineProgram.h"
#include "DicomSlices.h"

#include "itkGDCMImageIO.h"
#include "itkGDCMSeriesFileNames.h"
#include "itkImageFileReader.h"
#include "itkImageSeriesReader.h"
#include "itkMedianImageFilter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cmath>
#include <set>
#include <thread>

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace
{

namespace fs = std::filesystem;
using cudamediantest::DicomTag;
using cudamediantest::MakeSlices;
using cudamediantest::NamesIn;
using cudamediantest::ProgramResult;
using cudamediantest::RunProgram;
using cudamediantest::TestSlice;
using cudamediantest::TextOf;
using cudamediantest::Volume;
using cudamediantest::VolumeOf;
using cudamediantest::WriteSlices;

constexpr DicomTag ImageType{ 0x0008, 0x0008 };
constexpr DicomTag InstanceUid{ 0x0008, 0x0018 };
constexpr DicomTag ContentDate{ 0x0008, 0x0023 };
constexpr DicomTag ContentTime{ 0x0008, 0x0033 };
constexpr DicomTag SeriesDescription{ 0x0008, 0x103E };
constexpr DicomTag DerivationDescription{ 0x0008, 0x2111 };
constexpr DicomTag SourceImages{ 0x0008, 0x2112 };
constexpr DicomTag DerivationCode{ 0x0008, 0x9215 };
constexpr DicomTag PatientName{ 0x0010, 0x0010 };
constexpr DicomTag EchoTime{ 0x0018, 0x0081 };
constexpr DicomTag StudyUid{ 0x0020, 0x000D };
constexpr DicomTag SeriesUid{ 0x0020, 0x000E };
constexpr DicomTag SeriesNumber{ 0x0020, 0x0011 };
constexpr DicomTag InstanceNumber{ 0x0020, 0x0013 };
constexpr DicomTag Position{ 0x0020, 0x0032 };
constexpr DicomTag FrameOfReferenceUid{ 0x0020, 0x0052 };
constexpr DicomTag NumberOfFrames{ 0x0028, 0x0008 };
constexpr DicomTag PixelSpacing{ 0x0028, 0x0030 };

Volume::Pointer
Median(const Volume * volume, const Volume::SizeType & radius)
{
  const auto filter = itk::MedianImageFilter<Volume, Volume>::New();
  filter->SetInput(volume);
  filter->SetRadius(radius);
  filter->Update();
  return filter->GetOutput();
}

void
ExpectSame(const Volume * actual, const Volume * expected)
{
  ASSERT_EQ(actual->GetBufferedRegion(), expected->GetBufferedRegion());
  const auto  count = expected->GetBufferedRegion().GetNumberOfPixels();
  std::size_t differing = 0;
  for (itk::SizeValueType i = 0; i < count; ++i)
  {
    differing += actual->GetBufferPointer()[i] != expected->GetBufferPointer()[i] ? 1 : 0;
  }
  EXPECT_EQ(differing, 0u) << "of " << count << " voxels";
  for (unsigned int axis = 0; axis < 3; ++axis)
  {
    EXPECT_NEAR(actual->GetSpacing()[axis], expected->GetSpacing()[axis], 1e-6);
    EXPECT_NEAR(actual->GetOrigin()[axis], expected->GetOrigin()[axis], 1e-4);
    for (unsigned int other = 0; other < 3; ++other)
    {
      EXPECT_NEAR(actual->GetDirection()(axis, other), expected->GetDirection()(axis, other), 1e-6);
    }
  }
}

/** Reads a folder as a program that knows nothing of this one does. */
Volume::Pointer
ReadByItk(const std::string & folder)
{
  const auto names = itk::GDCMSeriesFileNames::New();
  names->SetDirectory(folder);
  EXPECT_EQ(names->GetSeriesUIDs().size(), 1u);
  const auto reader = itk::ImageSeriesReader<Volume>::New();
  reader->SetImageIO(itk::GDCMImageIO::New());
  reader->SetFileNames(names->GetInputFileNames());
  reader->ForceOrthogonalDirectionOff();
  reader->Update();
  return reader->GetOutput();
}

itk::IOComponentEnum
TypeOfFile(const std::string & path)
{
  const itk::ImageIOBase::Pointer io =
    itk::ImageIOFactory::CreateImageIO(path.c_str(), itk::ImageIOFactory::IOFileModeEnum::ReadMode);
  if (io.IsNull())
  {
    return itk::IOComponentEnum::UNKNOWNCOMPONENTTYPE;
  }
  io->SetFileName(path);
  io->ReadImageInformation();
  return io->GetComponentType();
}

class CudaMedianDicom : public testing::Test
{
protected:
  std::string
  Path(const std::string & name) const
  {
    return m_Directory.Path() / name;
  }

  std::string
  Input() const
  {
    return Path("input");
  }

  static std::string
  Succeed(const std::vector<std::string> & arguments)
  {
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 0);
    EXPECT_EQ(result.error, "");
    return result.output;
  }

  /** Expects one line of error with all of the texts, and that nothing is left beside the input. */
  void
  ExpectFailure(const std::vector<std::string> & arguments, const std::vector<std::string> & texts) const
  {
    const auto          before = NamesIn(m_Directory.Path());
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    for (const std::string & text : texts)
    {
      EXPECT_NE(result.error.find(text), std::string::npos) << "no '" << text << "' in: " << result.error;
    }
    EXPECT_EQ(NamesIn(m_Directory.Path()), before);
  }

  /** Writes the slices and expects that they are refused. */
  void
  ExpectRefusal(const std::vector<TestSlice> & slices, const std::vector<std::string> & texts) const
  {
    WriteSlices(Input(), slices);
    ExpectFailure({ Input(), Path("output.nrrd") }, texts);
  }

  /** Filters a series into a file and into a new series, and expects both to be the median of its volume. */
  void
  ExpectMedian(const std::vector<TestSlice> & slices, const std::string & extension, itk::IOComponentEnum type) const
  {
    WriteSlices(Input(), slices);
    const Volume::Pointer expected = Median(VolumeOf(slices), { { 1, 1, 1 } });
    const std::string     file = Path("output" + extension);
    EXPECT_EQ(Succeed({ Input(), file }), "");
    EXPECT_EQ(TypeOfFile(file), type);
    ExpectSame(itk::ReadImage<Volume>(file), expected);
    EXPECT_EQ(Succeed({ Input(), Path("series/") }), "");
    ExpectSame(ReadByItk(Path("series")), expected);
    EXPECT_EQ(NamesIn(Path("series")).size(), slices.size());
    EXPECT_EQ(NamesIn(m_Directory.Path()), (std::vector<std::string>{ "input", "output" + extension, "series" }));
  }

  void
  Truncate(const std::string & name, std::uintmax_t lacking) const
  {
    const std::string path = Input() + "/" + name;
    fs::resize_file(path, fs::file_size(path) - lacking);
  }

private:
  cudamediantest::TemporaryDirectory m_Directory;
};

TEST_F(CudaMedianDicom, OrdersSlicesByPosition)
{
  ExpectMedian(MakeSlices(9), ".nrrd", itk::IOComponentEnum::USHORT);
  // As ITK orders them.
  ExpectSame(ReadByItk(Input()), VolumeOf(MakeSlices(9)));
}

TEST_F(CudaMedianDicom, KeepsObliqueGeometry)
{
  TestSlice    pattern;
  const double c = std::cos(0.3);
  const double s = std::sin(0.3);
  pattern.orientation = { c, s, 0, -s * c, c * c, s };
  pattern.position = { -120.5, 33.25, 7 };
  ExpectMedian(MakeSlices(6, pattern), ".mha", itk::IOComponentEnum::USHORT);
}

TEST_F(CudaMedianDicom, KeepsDescendingAndSagittalGeometry)
{
  TestSlice pattern;
  pattern.orientation = { 0, 1, 0, 0, 0, -1 };
  pattern.position = { 10, 20, 30 };
  ExpectMedian(MakeSlices(5, pattern), ".nii.gz", itk::IOComponentEnum::USHORT);
}

TEST_F(CudaMedianDicom, AppliesTheRescaling)
{
  TestSlice pattern;
  pattern.bitsStored = 12;
  pattern.intercept = -1024;
  ExpectMedian(MakeSlices(5, pattern), ".nrrd", itk::IOComponentEnum::SHORT);
}

TEST_F(CudaMedianDicom, AppliesAFractionalSlope)
{
  TestSlice pattern;
  pattern.slope = 0.3;
  pattern.intercept = -7.7;
  ExpectMedian(MakeSlices(5, pattern), ".mha", itk::IOComponentEnum::DOUBLE);
}

TEST_F(CudaMedianDicom, TakesSignedPixels)
{
  TestSlice pattern;
  pattern.isSigned = true;
  ExpectMedian(MakeSlices(5, pattern), ".nrrd", itk::IOComponentEnum::SHORT);
}

TEST_F(CudaMedianDicom, TakesSignedPixelsOf12Bits)
{
  TestSlice pattern;
  pattern.isSigned = true;
  pattern.bitsStored = 12;
  ExpectMedian(MakeSlices(5, pattern), ".nrrd", itk::IOComponentEnum::SHORT);
}

TEST_F(CudaMedianDicom, TakesPixelsOf8Bits)
{
  // With an odd number of bytes, which DICOM fills up.
  TestSlice pattern;
  pattern.bitsAllocated = 8;
  pattern.bitsStored = 8;
  ExpectMedian(MakeSlices(5, pattern), ".nrrd", itk::IOComponentEnum::UCHAR);
}

TEST_F(CudaMedianDicom, TakesFilesWithoutTypesOfElements)
{
  TestSlice pattern;
  pattern.isImplicit = true;
  ExpectMedian(MakeSlices(5, pattern), ".nrrd", itk::IOComponentEnum::USHORT);
}

TEST_F(CudaMedianDicom, TakesCompressedPixels)
{
  using cudamediantest::Compression;
  TestSlice pattern;
  pattern.columns = 24;
  pattern.rows = 20;
  pattern.bitsStored = 12;
  pattern.intercept = -1024;
  const auto            slices = MakeSlices(4, pattern);
  const Volume::Pointer expected = Median(VolumeOf(slices), { { 1, 1, 1 } });
  for (const Compression compression :
       { Compression::RunLength, Compression::Jpeg, Compression::JpegLs, Compression::Jpeg2000 })
  {
    SCOPED_TRACE(static_cast<int>(compression));
    WriteSlices(Input(), slices);
    for (const TestSlice & slice : slices)
    {
      cudamediantest::Compress(Input() + "/" + slice.name, compression);
    }
    Succeed({ Input(), Path("output.nrrd") });
    ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), expected);
    Succeed({ Input(), Path("series/") });
    ExpectSame(ReadByItk(Path("series")), expected);
    fs::remove_all(Path("series"));
    // Without the end of the sequence, then without some pixels.
    for (const int lacking : { 4, 20 })
    {
      Truncate(slices[3].name, lacking);
      ExpectFailure({ Input(), Path("series/") }, { slices[3].name, "the file ends within its compressed pixels" });
    }
  }
}

TEST_F(CudaMedianDicom, TakesASingleSlice)
{
  WriteSlices(Input(), MakeSlices(1));
  Succeed({ Input(), Path("output.nrrd") });
  const Volume::Pointer expected = Median(VolumeOf(MakeSlices(1)), { { 1, 1, 0 } });
  const Volume::Pointer actual = itk::ReadImage<Volume>(Path("output.nrrd"));
  // Of the third axis, the slice knows its thickness only.
  expected->SetSpacing(actual->GetSpacing());
  EXPECT_EQ(actual->GetSpacing()[0], 0.5);
  EXPECT_EQ(actual->GetSpacing()[1], 0.75);
  ExpectSame(actual, expected);
}

TEST_F(CudaMedianDicom, LeavesAsideWhatIsNoSlice)
{
  WriteSlices(Input(), MakeSlices(5));
  std::ofstream(Input() + "/README.txt") << "not an image";
  std::ofstream(Input() + "/.hidden") << "not an image";
  std::ofstream(Input() + "/VERSION") << "not an image";
  // A report: DICOM without pixels.
  TestSlice report = MakeSlices(1).front();
  report.name = "report.dcm";
  report.texts[{ 0x0008, 0x0016 }] = "1.2.840.10008.5.1.4.1.1.88.11";
  report.texts[SeriesUid] = "1.2.3.5";
  // The directory of a disk.
  TestSlice directory = report;
  directory.name = "DICOMDIR";
  directory.texts[{ 0x0008, 0x0016 }] = "1.2.840.10008.1.3.10";
  WriteSlices(Input(), { report, directory });
  Succeed({ Input(), Path("output.nrrd") });
  ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(MakeSlices(5)), { { 1, 1, 1 } }));
}

TEST_F(CudaMedianDicom, FindsSlicesInFoldersBelow)
{
  auto slices = MakeSlices(5);
  WriteSlices(Input() + "/A", { slices[0], slices[2] });
  WriteSlices(Input() + "/B/C", { slices[1], slices[3], slices[4] });
  WriteSlices(Input() + "/.hidden", { slices[1] });
  Succeed({ Input(), Path("output.nrrd") });
  ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(slices), { { 1, 1, 1 } }));
}

TEST_F(CudaMedianDicom, ListsAndChoosesSeries)
{
  TestSlice pattern;
  pattern.name = "second";
  pattern.bitsStored = 10;
  pattern.texts = { { SeriesUid, "1.2.3.77" }, { SeriesNumber, "2" }, { SeriesDescription, "Head" } };
  const auto first = MakeSlices(5);
  const auto second = MakeSlices(4, pattern);
  WriteSlices(Input(), first);
  WriteSlices(Input(), second);
  const std::string headLine = "CT, 4 slices of 9x7, \"Head\", 1.2.3.77";
  const std::string thoraxLine = "CT, 5 slices of 9x7, \"Thorax\", 1.2.3.4";
  EXPECT_EQ(Succeed({ "--series", "list", Input() }), "1  " + headLine + "\n2  " + thoraxLine + "\n");
  ExpectFailure({ Input(), Path("output.nrrd") }, { "holds 2 series", "1 = " + headLine, "2 = " + thoraxLine });
  ExpectFailure({ "--series", "3", Input(), Path("output.nrrd") }, { "--series 3", "no such series", headLine });
  ExpectFailure({ "--series", "1.2.3", Input(), Path("output.nrrd") }, { "no such series" });
  ExpectFailure({ "--series", "list", Input(), Path("output.nrrd") }, { "writes no image" });
  ExpectFailure({ "--series", "1", Input() + "/IM0", Path("output.nrrd") }, { "not a folder" });
  for (const std::string choice : { "1", "1.2.3.77" })
  {
    Succeed({ "--series", choice, Input(), Path("output.nrrd") });
    ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(second), { { 1, 1, 1 } }));
  }
  Succeed({ "--series", "2", Input(), Path("output.nrrd") });
  ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(first), { { 1, 1, 1 } }));
}

TEST_F(CudaMedianDicom, TakesTheEchoesOfASeriesApart)
{
  TestSlice pattern;
  pattern.texts[EchoTime] = "12";
  auto first = MakeSlices(4, pattern);
  pattern.texts[EchoTime] = "96";
  pattern.name = "echo";
  pattern.bitsStored = 9;
  auto second = MakeSlices(4, pattern);
  WriteSlices(Input(), first);
  WriteSlices(Input(), second);
  ExpectFailure({ Input(), Path("output.nrrd") }, { "holds 2 series", "EchoTime 12", "EchoTime 96" });
  ExpectFailure({ "--series", "1.2.3.4", Input(), Path("output.nrrd") }, { "2 volumes", "by its number" });
  Succeed({ "--series", "2", Input(), Path("output.nrrd") });
  ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(second), { { 1, 1, 1 } }));
}

TEST_F(CudaMedianDicom, NamesAMissingSlice)
{
  auto              slices = MakeSlices(8);
  const std::string below = slices[3].name;
  const std::string above = slices[5].name;
  slices.erase(slices.begin() + 4);
  ExpectRefusal(slices, { "1 slice is missing", below, above, "5 mm", "2.5 mm are expected" });
}

TEST_F(CudaMedianDicom, NamesUnevenSpacing)
{
  auto slices = MakeSlices(8);
  slices[4].position[2] += 0.1;
  ExpectRefusal(slices, { "not evenly spaced", slices[4].name, "2.5 mm are expected" });
}

TEST_F(CudaMedianDicom, TakesPositionsThatAreRounded)
{
  auto slices = MakeSlices(8);
  slices[4].position[2] += 0.01;
  WriteSlices(Input(), slices);
  Succeed({ Input(), Path("output.nrrd") });
}

TEST_F(CudaMedianDicom, NamesADuplicate)
{
  auto slices = MakeSlices(5);
  slices.push_back(slices[2]);
  slices.back().name = "again";
  ExpectRefusal(slices, { "the same position", "again", slices[2].name });
}

TEST_F(CudaMedianDicom, NamesAnotherSize)
{
  auto      slices = MakeSlices(5);
  TestSlice wide;
  wide.columns = 10;
  slices[3].columns = 10;
  slices[3].stored = MakeSlices(1, wide).front().stored;
  ExpectRefusal(slices, { "differ in size", "9x7", slices[3].name, "10x7" });
}

TEST_F(CudaMedianDicom, NamesAnotherPixelType)
{
  auto slices = MakeSlices(5);
  slices[3].isSigned = true;
  ExpectRefusal(slices, { "differ in pixel type", slices[3].name, "signed" });
}

TEST_F(CudaMedianDicom, NamesAnotherOrientation)
{
  auto slices = MakeSlices(5);
  slices[3].orientation = { 1, 0, 0, 0, 0, -1 };
  ExpectRefusal(slices, { "differ in orientation", slices[3].name });
}

TEST_F(CudaMedianDicom, NamesAnotherSpacing)
{
  auto slices = MakeSlices(5);
  slices[3].texts[PixelSpacing] = "0.75\\0.6";
  ExpectRefusal(slices, { "differ in spacing", slices[3].name, "0.6" });
}

TEST_F(CudaMedianDicom, NamesASliceWithoutPosition)
{
  auto slices = MakeSlices(5);
  slices[3].texts[Position] = "";
  ExpectRefusal(slices, { "no ImagePositionPatient", slices[3].name });
}

TEST_F(CudaMedianDicom, NamesAGantryTilt)
{
  auto slices = MakeSlices(5);
  for (std::size_t i = 0; i < slices.size(); ++i)
  {
    slices[i].position[1] += 2.5 * std::tan(0.2) * static_cast<double>(i);
  }
  ExpectRefusal(slices, { "leans by 11.459", "tilted gantry" });
}

TEST_F(CudaMedianDicom, NamesASliceThatIsAside)
{
  auto slices = MakeSlices(5);
  slices[2].position[0] += 3;
  ExpectRefusal(slices, { slices[2].name + "' is 3 mm beside" });
}

TEST_F(CudaMedianDicom, NamesColours)
{
  TestSlice pattern;
  pattern.samples = 3;
  pattern.bitsAllocated = 8;
  pattern.bitsStored = 8;
  ExpectRefusal(MakeSlices(3, pattern), { "3 components", "IM" });
}

TEST_F(CudaMedianDicom, NamesFilesOfSeveralFrames)
{
  TestSlice pattern;
  pattern.texts[NumberOfFrames] = "2";
  auto slices = MakeSlices(2, pattern);
  for (TestSlice & slice : slices)
  {
    const auto frame = slice.stored;
    slice.stored.insert(slice.stored.end(), frame.begin(), frame.end());
  }
  ExpectRefusal(slices, { "holds 2 frames", "IM" });
}

TEST_F(CudaMedianDicom, NamesTruncatedSlices)
{
  const auto slices = MakeSlices(5);
  WriteSlices(Input(), slices);
  const std::uintmax_t size = fs::file_size(Input() + "/" + slices[4].name);
  // Within the pixels, at their begin, within the header, and within the mark of the file.
  for (const std::uintmax_t lacking : { std::uintmax_t(1), std::uintmax_t(60), std::uintmax_t(126), size / 2 })
  {
    WriteSlices(Input(), slices);
    Truncate(slices[4].name, lacking);
    ExpectFailure({ Input(), Path("output.nrrd") }, { slices[4].name, "the file ends after" });
  }
  WriteSlices(Input(), slices);
  Truncate(slices[4].name, size);
  ExpectFailure({ Input(), Path("output.nrrd") }, { slices[4].name, "it is empty" });
}

TEST_F(CudaMedianDicom, NamesSlicesWithTooFewPixels)
{
  auto slices = MakeSlices(5);
  slices[1].stored.resize(60);
  ExpectRefusal(slices, { slices[1].name, "120 of 126 bytes of its pixels" });
}

TEST_F(CudaMedianDicom, NamesAFileThatIsNamedAsASlice)
{
  WriteSlices(Input(), MakeSlices(5));
  std::ofstream(Input() + "/IM5.dcm") << std::string(1000, '\0');
  ExpectFailure({ Input(), Path("output.nrrd") }, { "IM5.dcm", "is none" });
}

TEST_F(CudaMedianDicom, RefusesATruncatedFileByItself)
{
  const auto slices = MakeSlices(2);
  WriteSlices(Input(), slices);
  Succeed({ Input() + "/" + slices[0].name, Path("output.nrrd") });
  fs::remove(Path("output.nrrd"));
  Truncate(slices[0].name, 1);
  ExpectFailure({ Input() + "/" + slices[0].name, Path("output.nrrd") }, { "the file ends after" });
}

TEST_F(CudaMedianDicom, RefusesAFolderWithoutDicom)
{
  fs::create_directory(Input());
  ExpectFailure({ Input(), Path("output.nrrd") }, { "holds no DICOM images" });
}

TEST_F(CudaMedianDicom, NotesTheDerivation)
{
  const auto slices = MakeSlices(5);
  WriteSlices(Input(), slices);
  Succeed({ "--radius", "2,1,1", Input(), Path("series/") });
  std::set<std::string> instances;
  std::set<std::string> series;
  for (std::size_t i = 0; i < slices.size(); ++i)
  {
    const std::string path = Path("series/slice000" + std::to_string(i + 1) + ".dcm");
    instances.insert(TextOf(path, InstanceUid));
    series.insert(TextOf(path, SeriesUid));
    EXPECT_EQ(TextOf(path, ImageType), "DERIVED\\SECONDARY\\AXIAL");
    EXPECT_EQ(TextOf(path, SeriesDescription), "Thorax median 5x3x3");
    EXPECT_NE(TextOf(path, DerivationDescription).find("5x3x3"), std::string::npos);
    EXPECT_EQ(TextOf(path, DerivationCode), "113087|DCM|Smoothing");
    EXPECT_EQ(TextOf(path, SeriesNumber), "1003");
    EXPECT_EQ(TextOf(path, InstanceNumber), std::to_string(i + 1));
    EXPECT_EQ(TextOf(path, StudyUid), "1.2.3");
    EXPECT_EQ(TextOf(path, FrameOfReferenceUid), "1.2.3.9");
    EXPECT_EQ(TextOf(path, PatientName), "Test^Patient");
    EXPECT_EQ(TextOf(path, ContentDate).size(), 8u);
    EXPECT_EQ(TextOf(path, ContentTime).size(), 6u);
    // The slices that the window spans, and no others.
    const std::string sources = TextOf(path, SourceImages);
    for (std::size_t source = 0; source < slices.size(); ++source)
    {
      const bool isSpanned = source + 1 >= i && source <= i + 1;
      const bool isNamed = sources.find("|" + slices[source].texts.at(InstanceUid) + "|") != std::string::npos;
      EXPECT_EQ(isNamed, isSpanned) << i << " from " << source << ": " << sources;
    }
  }
  EXPECT_EQ(instances.size(), slices.size());
  ASSERT_EQ(series.size(), 1u);
  EXPECT_NE(*series.begin(), "1.2.3.4");
  for (const TestSlice & slice : slices)
  {
    EXPECT_EQ(instances.count(slice.texts.at(InstanceUid)), 0u);
  }
  // Another run makes another series.
  Succeed({ Input(), Path("again/") });
  EXPECT_EQ(series.count(TextOf(Path("again/slice0001.dcm"), SeriesUid)), 0u);
}

TEST_F(CudaMedianDicom, TellsOtherFormatsNothingOfThePatient)
{
  WriteSlices(Input(), MakeSlices(4));
  for (const std::string name : { "output.nrrd", "output.mha", "output.nii" })
  {
    Succeed({ Input(), Path(name) });
    EXPECT_EQ(cudamediantest::ReadText(Path(name)).find("Patient"), std::string::npos) << name;
  }
}

TEST_F(CudaMedianDicom, WritesSlopesThatDifferSliceBySliceOnly)
{
  auto slices = MakeSlices(4);
  for (std::size_t i = 0; i < slices.size(); ++i)
  {
    slices[i].slope = 0.5 + 0.1 * static_cast<double>(i);
  }
  WriteSlices(Input(), slices);
  Succeed({ Input(), Path("output.nrrd") });
  ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(slices), { { 1, 1, 1 } }));
  ExpectFailure({ Input(), Path("series/") }, { "differ in RescaleSlope", "--slice-wise" });
  Succeed({ "--slice-wise", Input(), Path("series/") });
  ExpectSame(ReadByItk(Path("series")), Median(VolumeOf(slices), { { 1, 1, 0 } }));
  EXPECT_EQ(TextOf(Path("series/slice0001.dcm"), SeriesDescription), "Thorax median 3x3x1");
}

TEST_F(CudaMedianDicom, TakesSlopesThatMakeDifferentTypes)
{
  auto slices = MakeSlices(4);
  slices[1].slope = 0.25;
  slices[2].intercept = -5;
  WriteSlices(Input(), slices);
  Succeed({ Input(), Path("output.nrrd") });
  ExpectSame(itk::ReadImage<Volume>(Path("output.nrrd")), Median(VolumeOf(slices), { { 1, 1, 1 } }));
}

TEST_F(CudaMedianDicom, TakesAnEmptyFolderAndNoOther)
{
  WriteSlices(Input(), MakeSlices(4));
  fs::create_directory(Path("full"));
  std::ofstream(Path("full/file")) << "content";
  ExpectFailure({ Input(), Path("full") }, { "the folder is not empty" });
  ExpectFailure({ Input(), Path("full/") }, { "the folder is not empty" });
  ExpectFailure({ Input(), Input() }, { "the folder is not empty" });
  ExpectFailure({ Input(), Path("full/file/") }, { "cannot write" });
  ExpectFailure({ Input(), Path("missing/series/") }, { "there is no directory" });
  EXPECT_EQ(cudamediantest::ReadText(Path("full/file")), "content");
  fs::create_directory(Path("empty"));
  chmod(Path("empty").c_str(), 0750);
  Succeed({ Input(), Path("empty") });
  EXPECT_EQ(NamesIn(Path("empty")).size(), 4u);
  EXPECT_EQ(fs::status(Path("empty")).permissions(), fs::perms(0750));
}

TEST_F(CudaMedianDicom, LeavesNothingWhenTheFilesMustNotGrow)
{
  WriteSlices(Input(), MakeSlices(4));
  const auto                 before = NamesIn(Path(""));
  cudamediantest::RunOptions options;
  options.prepare = [] {
    const rlimit limit = { 600, 600 };
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const ProgramResult result = RunProgram({ Input(), Path("series/") }, options);
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_NE(result.error.find("File too large"), std::string::npos) << result.error;
  EXPECT_EQ(NamesIn(Path("")), before);
}

TEST_F(CudaMedianDicom, LeavesNothingWhenTheDiskIsFull)
{
  const std::string disk = Path("disk");
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=16k") != 0)
  {
    GTEST_SKIP() << "a small disk needs the right to mount one";
  }
  WriteSlices(Input(), MakeSlices(12));
  const ProgramResult result = RunProgram({ Input(), disk + "/series/" });
  const auto          left = NamesIn(disk);
  umount(disk.c_str());
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_NE(result.error.find("No space left on device"), std::string::npos) << result.error;
  EXPECT_TRUE(left.empty()) << left.front();
}

TEST_F(CudaMedianDicom, LeavesNothingWhenItIsKilled)
{
  TestSlice pattern;
  pattern.columns = 16;
  pattern.rows = 16;
  constexpr std::size_t count = 600;
  WriteSlices(Input(), MakeSlices(count, pattern));
  for (const int signal : { SIGTERM, SIGKILL })
  {
    cudamediantest::RunOptions options;
    options.disturb = [&](pid_t child) {
      // Until there are slices in the hidden folder, or until the program has ended.
      const auto isWriting = [&] {
        for (const std::string & name : NamesIn(Path("")))
        {
          std::error_code error;
          if (name[0] == '.' && fs::directory_iterator(Path(name), error) != fs::directory_iterator())
          {
            return true;
          }
        }
        return false;
      };
      const auto hasEnded = [&] {
        siginfo_t information = {};
        waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOHANG | WNOWAIT);
        return information.si_pid == child;
      };
      while (!isWriting() && !hasEnded())
      {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      kill(child, signal);
    };
    const ProgramResult result = RunProgram({ Input(), Path("series/") }, options);
    // The watching process clears up after SIGKILL; it is not ours to wait for.
    const auto hasHidden = [&] { return NamesIn(Path("")).front()[0] == '.'; };
    for (int tries = 0; tries < 10000 && hasHidden(); ++tries)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_FALSE(hasHidden());
    // Nothing, or all of it where the program was faster than the signal.
    if (fs::exists(Path("series")))
    {
      EXPECT_EQ(NamesIn(Path("series")).size(), count);
      fs::remove_all(Path("series"));
    }
    else
    {
      EXPECT_EQ(result.signal, signal) << result.error;
    }
  }
}

} // namespace
