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
// Runs the command line program as a user would and looks at what it prints, returns and leaves on disk.

#include "CommandLineProgram.h"
#include "CudaMedianTestSeed.h"

#include "itkCudaMedianEngine.h"
#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMedianImageFilter.h"
#include "itkMetaDataObject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <type_traits>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace
{

namespace fs = std::filesystem;
using cudamediantest::ProgramResult;
using cudamediantest::ReadText;
using cudamediantest::RunProgram;

/** An image of random values whose spacing, origin and direction are none of the defaults. */
template <typename TImage>
typename TImage::Pointer
RandomImage(const typename TImage::SizeType & size)
{
  using PixelType = typename TImage::PixelType;
  constexpr unsigned int dimension = TImage::ImageDimension;
  const auto             image = TImage::New();
  image->SetRegions(size);
  image->Allocate();
  std::mt19937_64 random(cudamediantest::Seed());
  for (itk::SizeValueType i = 0; i < image->GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    const auto bits = random();
    if (std::is_floating_point<PixelType>::value)
    {
      image->GetBufferPointer()[i] = static_cast<PixelType>(static_cast<double>(bits % 100000) / 7 - 5000);
    }
    else
    {
      image->GetBufferPointer()[i] = static_cast<PixelType>(bits);
    }
  }
  typename TImage::SpacingType   spacing;
  typename TImage::PointType     origin;
  typename TImage::DirectionType direction;
  direction.SetIdentity();
  for (unsigned int axis = 0; axis < dimension; ++axis)
  {
    spacing[axis] = 0.5 + axis;
    origin[axis] = 10.25 * axis - 3;
  }
  if (dimension == 3)
  {
    // A quarter turn about the last axis.
    direction(0, 0) = 0;
    direction(1, 1) = 0;
    direction(0, 1) = -1;
    direction(1, 0) = 1;
  }
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->SetDirection(direction);
  return image;
}

template <typename TImage>
typename TImage::Pointer
MedianByITK(const TImage * image, const typename TImage::SizeType & radius)
{
  const auto filter = itk::MedianImageFilter<TImage, TImage>::New();
  filter->SetInput(image);
  filter->SetRadius(radius);
  filter->Update();
  return filter->GetOutput();
}

enum class Geometry
{
  Compare,
  Ignore
};

template <typename TImage>
void
ExpectSameImage(const TImage * actual, const TImage * expected, Geometry geometry = Geometry::Compare)
{
  ASSERT_EQ(actual->GetBufferedRegion(), expected->GetBufferedRegion());
  const auto count = expected->GetBufferedRegion().GetNumberOfPixels();
  const auto differing = std::inner_product(actual->GetBufferPointer(),
                                            actual->GetBufferPointer() + count,
                                            expected->GetBufferPointer(),
                                            itk::SizeValueType{ 0 },
                                            std::plus<>(),
                                            std::not_equal_to<>());
  EXPECT_EQ(differing, 0u) << "voxels differ from itk::MedianImageFilter";
  if (geometry == Geometry::Ignore)
  {
    return;
  }
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    EXPECT_NEAR(actual->GetSpacing()[axis], expected->GetSpacing()[axis], 1e-6);
    EXPECT_NEAR(actual->GetOrigin()[axis], expected->GetOrigin()[axis], 1e-6);
    for (unsigned int other = 0; other < TImage::ImageDimension; ++other)
    {
      EXPECT_NEAR(actual->GetDirection()(axis, other), expected->GetDirection()(axis, other), 1e-6);
    }
  }
}

itk::IOComponentEnum
StoredType(const std::string & path)
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

class CudaMedianCommandLine : public testing::Test
{
protected:
  std::string
  File(const std::string & name) const
  {
    return m_Directory.Path() / name;
  }

  std::set<std::string>
  FileNames() const
  {
    std::set<std::string> names;
    for (const fs::directory_entry & entry : fs::directory_iterator(m_Directory.Path()))
    {
      names.insert(entry.path().filename());
    }
    return names;
  }

  /** The files with their content. */
  std::map<std::string, std::string>
  Contents() const
  {
    std::map<std::string, std::string> contents;
    for (const std::string & name : FileNames())
    {
      contents[name] = ReadText(File(name));
    }
    return contents;
  }

  /** A small volume to fail on. */
  std::string
  WriteVolume() const
  {
    const std::string path = File("volume.mha");
    itk::WriteImage(RandomImage<itk::Image<short, 3>>({ { 12, 9, 7 } }), path);
    return path;
  }

  /** Runs the program, expects success with nothing on standard error, and returns standard output. */
  static std::string
  Succeed(const std::vector<std::string> & arguments)
  {
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 0);
    EXPECT_EQ(result.error, "");
    return result.output;
  }

  /** Runs the program and expects it to fail with one line that contains `reason`, leaving the directory as it was. */
  void
  ExpectFailure(const std::vector<std::string> & arguments, const std::string & reason) const
  {
    const auto          before = FileNames();
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_EQ(result.error.rfind("CudaMedianImageFilter: ", 0), 0u) << result.error;
    EXPECT_NE(result.error.find(reason), std::string::npos) << result.error;
    EXPECT_EQ(FileNames(), before);
  }

  /** Writes a random image, runs the program on it, and compares with itk::MedianImageFilter. */
  template <typename TImage>
  void
  ExpectMedian(const typename TImage::SizeType & size,
               const typename TImage::SizeType & effectiveRadius,
               const std::vector<std::string> &  options,
               const std::string &               extension,
               Geometry                          geometry = Geometry::Compare) const
  {
    CUDAMEDIAN_TRACE_SEED();
    const std::string input = File("input" + extension);
    const std::string output = File("output" + extension);
    const auto        image = RandomImage<TImage>(size);
    itk::WriteImage(image, input);
    std::vector<std::string> arguments = options;
    arguments.push_back(input);
    arguments.push_back(output);
    EXPECT_EQ(Succeed(arguments), "");
    ASSERT_TRUE(fs::exists(output));
    EXPECT_EQ(StoredType(output), StoredType(input));
    ExpectSameImage(itk::ReadImage<TImage>(output).GetPointer(),
                    MedianByITK(image.GetPointer(), effectiveRadius).GetPointer(),
                    geometry);
  }

private:
  cudamediantest::TemporaryDirectory m_Directory;
};

template <typename TPixel>
class CudaMedianCommandLinePixelType : public CudaMedianCommandLine
{};

using PixelTypes = testing::
  Types<signed char, unsigned char, short, unsigned short, int, unsigned int, long, unsigned long, float, double>;
TYPED_TEST_SUITE(CudaMedianCommandLinePixelType, PixelTypes, );

TYPED_TEST(CudaMedianCommandLinePixelType, IsKeptInNrrd)
{
  this->template ExpectMedian<itk::Image<TypeParam, 2>>({ { 23, 17 } }, { { 2, 1 } }, { "--radius", "2,1" }, ".nrrd");
}

TEST_F(CudaMedianCommandLine, FiltersPng)
{
  ExpectMedian<itk::Image<unsigned char, 2>>({ { 31, 22 } }, { { 1, 1 } }, {}, ".png", Geometry::Ignore);
}

TEST_F(CudaMedianCommandLine, FiltersTiffOf16Bits)
{
  ExpectMedian<itk::Image<unsigned short, 2>>(
    { { 31, 22 } }, { { 3, 3 } }, { "--radius", "3" }, ".tif", Geometry::Ignore);
}

TEST_F(CudaMedianCommandLine, FiltersMetaImageOfTwoDimensions)
{
  ExpectMedian<itk::Image<unsigned char, 2>>({ { 31, 22 } }, { { 2, 2 } }, { "--radius", "2" }, ".mha");
}

TEST_F(CudaMedianCommandLine, KeepsSpacingOriginAndDirection)
{
  ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 11 } }, { { 1, 1, 1 } }, { "--radius", "1" }, ".mha");
}

TEST_F(CudaMedianCommandLine, FiltersCompressedNifti)
{
  ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 11 } }, { { 1, 1, 1 } }, {}, ".nii.gz");
}

TEST_F(CudaMedianCommandLine, FiltersOneDimension)
{
  ExpectMedian<itk::Image<float, 1>>({ { 57 } }, { { 4 } }, { "--radius", "4" }, ".nrrd");
}

TEST_F(CudaMedianCommandLine, FiltersFourDimensions)
{
  ExpectMedian<itk::Image<short, 4>>(
    { { 9, 8, 7, 5 } }, { { 1, 1, 1, 0 } }, { "--radius", "1", "--slice-wise" }, ".nrrd");
}

TEST_F(CudaMedianCommandLine, FiltersFloatNrrdWithAnisotropicRadius)
{
  ExpectMedian<itk::Image<float, 3>>({ { 19, 13, 11 } }, { { 2, 1, 0 } }, { "--radius", "2,1,0" }, ".nrrd");
}

TEST_F(CudaMedianCommandLine, FiltersSliceWise)
{
  ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 11 } }, { { 2, 2, 0 } }, { "--radius", "2", "--slice-wise" }, ".mha");
}

TEST_F(CudaMedianCommandLine, FiltersWithRadiusZero)
{
  ExpectMedian<itk::Image<short, 3>>({ { 7, 6, 5 } }, { { 0, 0, 0 } }, { "--radius=0" }, ".mha");
}

TEST_F(CudaMedianCommandLine, TakesARadiusPerAxisOfAVolumeOfOneSlice)
{
  ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 1 } }, { { 1, 2, 1 } }, { "--radius", "1,2,1" }, ".mha");
}

TEST_F(CudaMedianCommandLine, KeepsToAMemoryBudget)
{
  ExpectMedian<itk::Image<short, 3>>({ { 40, 30, 20 } }, { { 1, 1, 1 } }, { "--memory", "64M" }, ".mha");
}

TEST_F(CudaMedianCommandLine, RunsOnTheDevicesThatAreListed)
{
  // One that is listed twice works as two; without any the CPU does it.
  ExpectMedian<itk::Image<short, 3>>({ { 40, 30, 20 } }, { { 1, 1, 1 } }, { "--devices", "0,0" }, ".mha");
  if (cudamedian::QueryCudaDevice().usable)
  {
    const std::string report =
      Succeed({ "--backend", "cuda", "--devices", "0,0", "--report", File("input.mha"), File("output.mha") });
    EXPECT_NE(report.find("Device: device 0: "), std::string::npos) << report;
  }
}

TEST_F(CudaMedianCommandLine, RunsOnTheCpu)
{
  ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 11 } }, { { 1, 1, 1 } }, { "--backend", "cpu" }, ".mha");
}

TEST_F(CudaMedianCommandLine, WritesFormatsOfTwoFiles)
{
  for (const auto & [header, data] :
       std::vector<std::pair<std::string, std::string>>{ { ".mhd", ".raw" }, { ".nhdr", ".raw" }, { ".hdr", ".img" } })
  {
    SCOPED_TRACE(header);
    ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 11 } }, { { 1, 1, 1 } }, {}, header);
    const std::set<std::string> names{ "input" + header, "input" + data, "output" + header, "output" + data };
    EXPECT_EQ(FileNames(), names);
    // Once more, over what there is now.
    Succeed({ File("input" + header), File("output" + header) });
    EXPECT_EQ(FileNames(), names);
    for (const std::string & name : names)
    {
      fs::remove(File(name));
    }
  }
}

TEST_F(CudaMedianCommandLine, KeepsTheDictionary)
{
  const auto image = RandomImage<itk::Image<short, 3>>({ { 7, 6, 5 } });
  itk::EncapsulateMetaData<std::string>(image->GetMetaDataDictionary(), "acquisition", "second of three");
  itk::WriteImage(image, File("input.nrrd"));
  Succeed({ File("input.nrrd"), File("output.nrrd") });
  std::string value;
  const auto  result = itk::ReadImage<itk::Image<short, 3>>(File("output.nrrd"));
  EXPECT_TRUE(itk::ExposeMetaData(result->GetMetaDataDictionary(), "acquisition", value));
  EXPECT_EQ(value, "second of three");
}

TEST_F(CudaMedianCommandLine, WritesOverItsInput)
{
  const std::string path = WriteVolume();
  const auto        image = itk::ReadImage<itk::Image<short, 3>>(path);
  Succeed({ path, path });
  ExpectSameImage(itk::ReadImage<itk::Image<short, 3>>(path).GetPointer(),
                  MedianByITK(image.GetPointer(), { { 1, 1, 1 } }).GetPointer());
}

TEST_F(CudaMedianCommandLine, WritesThroughALink)
{
  const std::string input = WriteVolume();
  fs::copy_file(input, File("target.mha"));
  fs::create_symlink("target.mha", File("link.mha"));
  Succeed({ input, File("link.mha") });
  EXPECT_TRUE(fs::is_symlink(File("link.mha")));
  EXPECT_NE(ReadText(File("target.mha")), ReadText(input));
}

TEST_F(CudaMedianCommandLine, ReportsWhatRan)
{
  const std::string report = Succeed({ "--report", "--backend", "cpu", WriteVolume(), File("output.mha") });
  for (const std::string part : { "Backend: CPU", "Algorithm: ", "Window: (3, 3, 3, 1)", "Total time: " })
  {
    EXPECT_NE(report.find(part), std::string::npos) << "no '" << part << "' in\n" << report;
  }
}

TEST_F(CudaMedianCommandLine, VerifiesAgainstItk)
{
  const std::string text =
    Succeed({ "--verify", "--slice-wise", "--radius", "2,2,1", WriteVolume(), File("output.mha") });
  EXPECT_EQ(text.rfind("0 voxels differ from itk::MedianImageFilter\n", 0), 0u) << text;
  for (const std::string part : { "\nCudaMedianImageFilter: ", "\nitk::MedianImageFilter: ", "\nratio: " })
  {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
  }
}

TEST_F(CudaMedianCommandLine, PrintsHelp)
{
  const std::string help = Succeed({ "--help" });
  for (const std::string option : { "--radius",
                                    "--slice-wise",
                                    "--backend",
                                    "--devices",
                                    "--memory",
                                    "--verify",
                                    "--report",
                                    "--self-test",
                                    "input",
                                    "output" })
  {
    EXPECT_NE(help.find(option), std::string::npos) << option;
  }
}

TEST_F(CudaMedianCommandLine, TestsItself)
{
  const std::string text = Succeed({ "--self-test" });
  EXPECT_NE(text.find("host "), std::string::npos) << text;
  EXPECT_NE(text.find("sliding histograms "), std::string::npos) << text;
  EXPECT_NE(text.find(" checks are right\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("wrong: "), std::string::npos) << text;
  ExpectFailure({ "--self-test", WriteVolume(), File("output.mha") }, "--self-test takes no images");
  ExpectFailure({ "--self-test", "--devices", "4711" }, "");
}

TEST_F(CudaMedianCommandLine, RefusesBadArguments)
{
  const std::string input = WriteVolume();
  const std::string output = File("output.mha");
  ExpectFailure({ "--bogus", input, output }, "--bogus");
  ExpectFailure({}, "input is required");
  ExpectFailure({ input }, "output is required");
  ExpectFailure({ input, output, "surplus" }, "surplus");
  ExpectFailure({ "--backend", "gpu", input, output }, "--backend gpu");
  ExpectFailure({ "--backend", "", input, output }, "--backend");
}

TEST_F(CudaMedianCommandLine, RefusesBadRadii)
{
  const std::string input = WriteVolume();
  const std::string output = File("output.mha");
  ExpectFailure({ "--radius", "1,2", input, output }, "--radius gives 2 numbers, but the image has 3 axes");
  ExpectFailure({ "--radius", "1,2,1,1", input, output }, "--radius gives 4 numbers, but the image has 3 axes");
  for (const std::string radius :
       { "-1", "1,-2,1", "1.5", "two", "1,,1", "1,1,", "", " 1", "99999999999999999999", "4294967296" })
  {
    SCOPED_TRACE(radius);
    if (!radius.empty())
    {
      ExpectFailure({ "--radius=" + radius, input, output }, "--radius");
    }
    ExpectFailure({ "--radius", radius, input, output }, "--radius");
  }
}

TEST_F(CudaMedianCommandLine, RefusesBadMemoryBudgets)
{
  const std::string input = WriteVolume();
  for (const std::string memory :
       { "lots", "-1", "0", "5X", "5MM", "M", "", "1.5G", "99999999999999999999", "99999999999G" })
  {
    SCOPED_TRACE(memory);
    ExpectFailure({ "--memory", memory, input, File("output.mha") }, "--memory");
  }
}

TEST_F(CudaMedianCommandLine, RefusesBadDevices)
{
  const std::string input = WriteVolume();
  const std::string output = File("output.mha");
  for (const std::string devices : { "-1", "0,-1", "first", "0,,1", "0,", "", "0.5", "99999999999" })
  {
    SCOPED_TRACE(devices);
    ExpectFailure({ "--devices", devices, input, output }, "--devices");
  }
  ExpectFailure({ "--devices", "0", "--backend", "cpu", input, output }, "--backend cpu uses no device");
  ExpectFailure({ "--devices", "12345", "--backend", "cuda", input, output },
                cudamedian::QueryCudaDevice().usable ? "no CUDA device 12345" : "CUDA");
}

TEST_F(CudaMedianCommandLine, RefusesWhatIsNotAnImage)
{
  const std::string output = File("output.mha");
  ExpectFailure({ File("missing.mha"), output }, "there is no such file");
  ExpectFailure({ fs::path(output).parent_path(), output }, "folder");
  std::ofstream(File("text.txt")) << "not an image\n";
  ExpectFailure({ File("text.txt"), output }, "not an image");
  std::ofstream(File("fake.png")) << "not an image\n";
  ExpectFailure({ File("fake.png"), output }, "cannot read");
  std::ofstream(File("empty.nii")).flush();
  ExpectFailure({ File("empty.nii"), output }, "cannot read");
}

TEST_F(CudaMedianCommandLine, RefusesTruncatedImages)
{
  struct Format
  {
    std::string extension;
    std::string cut; ///< extension of the file that is cut
  };
  const auto volume = RandomImage<itk::Image<short, 3>>({ { 24, 20, 16 } });
  for (const Format & format : std::vector<Format>{ { ".mha", ".mha" },
                                                    { ".mhd", ".raw" },
                                                    { ".nii", ".nii" },
                                                    { ".nii.gz", ".nii.gz" },
                                                    { ".hdr", ".img" },
                                                    { ".img.gz", ".img.gz" },
                                                    { ".nrrd", ".nrrd" },
                                                    { ".vtk", ".vtk" },
                                                    { ".tif", ".tif" },
                                                    { ".gipl", ".gipl" },
                                                    { ".mrc", ".mrc" } })
  {
    for (const int eighth : { 3, 7 })
    {
      SCOPED_TRACE(format.extension + " at " + std::to_string(eighth) + "/8");
      itk::WriteImage(volume, File("input" + format.extension));
      fs::resize_file(File("input" + format.cut), fs::file_size(File("input" + format.cut)) * eighth / 8);
      ExpectFailure({ File("input" + format.extension), File("output.mha") },
                    "cannot read '" + File("input" + format.extension) + "'");
    }
  }
  const auto picture = RandomImage<itk::Image<unsigned char, 2>>({ { 90, 70 } });
  for (const std::string extension : { ".png", ".jpg", ".bmp", ".tif" })
  {
    for (const int eighth : { 3, 7 })
    {
      SCOPED_TRACE(extension + " at " + std::to_string(eighth) + "/8");
      itk::WriteImage(picture, File("picture" + extension));
      fs::resize_file(File("picture" + extension), fs::file_size(File("picture" + extension)) * eighth / 8);
      ExpectFailure({ File("picture" + extension), File("output.mha") },
                    "cannot read '" + File("picture" + extension) + "'");
    }
  }
}

TEST_F(CudaMedianCommandLine, RefusesAnImageThatLacksItsLastByte)
{
  // Of a value that readers and this program may fill buffers with, of every kind.
  for (const int value : { 0, 0x49, 0xB7, 0xFF })
  {
    for (const std::string extension : { ".mha", ".nii", ".vtk", ".gipl" })
    {
      SCOPED_TRACE(extension + " of " + std::to_string(value));
      const auto image = itk::Image<unsigned char, 3>::New();
      image->SetRegions(itk::Size<3>{ { 12, 9, 7 } });
      image->Allocate();
      image->FillBuffer(static_cast<unsigned char>(value));
      const std::string path = File("input" + extension);
      itk::WriteImage(image, path);
      Succeed({ path, File("output.mha") });
      fs::remove(File("output.mha"));
      fs::resize_file(path, fs::file_size(path) - 1);
      ExpectFailure({ path, File("output.mha") }, "cannot read '" + path + "'");
    }
  }
}

TEST_F(CudaMedianCommandLine, RefusesCompressedImagesThatAreDamaged)
{
  // The sum at the end is of other bytes.
  const std::string path = File("input.nii.gz");
  itk::WriteImage(RandomImage<itk::Image<short, 3>>({ { 24, 20, 16 } }), path);
  std::string content = ReadText(path);
  content[content.size() - 6] ^= 1;
  std::ofstream(path, std::ios::binary) << content;
  ExpectFailure({ path, File("output.mha") }, "its compressed data is damaged");
}

TEST_F(CudaMedianCommandLine, RefusesOutputsItCannotWrite)
{
  const std::string input = WriteVolume();
  ExpectFailure({ input, File("missing/output.mha") }, "there is no directory");
  ExpectFailure({ input, File("output.unknown") }, "no image format");
  fs::create_directory(File("directory.mha"));
  ExpectFailure({ input, File("directory.mha") }, "not an ordinary file");
}

TEST_F(CudaMedianCommandLine, RefusesADirectoryWithoutPermission)
{
  if (geteuid() == 0)
  {
    GTEST_SKIP() << "permissions do not bind root";
  }
  const std::string input = WriteVolume();
  fs::create_directory(File("locked"));
  fs::permissions(File("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  ExpectFailure({ input, File("locked/output.mha") }, "ermission denied");
  fs::permissions(File("locked"), fs::perms::owner_all);
}

TEST_F(CudaMedianCommandLine, RefusesFormatsThatWouldLoseData)
{
  const std::string input = WriteVolume();
  ExpectFailure({ input, File("output.png") }, "cannot write");
  itk::WriteImage(RandomImage<itk::Image<unsigned char, 3>>({ { 12, 9, 7 } }), File("bytes.mha"));
  ExpectFailure({ File("bytes.mha"), File("output.png") }, "cannot hold an image of 3 dimensions");
}

TEST_F(CudaMedianCommandLine, KeepsAnExistingOutputWhenItFails)
{
  const std::string input = WriteVolume();
  const std::string output = File("output.png");
  std::ofstream(output) << "precious";
  ExpectFailure({ "--radius", "1,2", input, output }, "--radius");
  ExpectFailure({ File("missing.mha"), output }, "no such file");
  ExpectFailure({ input, output }, "cannot write");
  EXPECT_EQ(ReadText(output), "precious");
}

TEST_F(CudaMedianCommandLine, KeepsTheOnlyCopyWhenItCannotBeReplaced)
{
  for (const std::string extension : { ".mha", ".mhd", ".nii", ".nii.gz", ".hdr", ".nrrd", ".vtk" })
  {
    SCOPED_TRACE(extension);
    const std::string path = File("same" + extension);
    itk::WriteImage(RandomImage<itk::Image<short, 3>>({ { 24, 20, 16 } }), path);
    const auto          before = Contents();
    const ProgramResult result = RunProgram({ path, path },
                                            { [] {
                                               const rlimit limit = { 4096, 4096 };
                                               setrlimit(RLIMIT_FSIZE, &limit);
                                             },
                                              {} });
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_EQ(result.error, "CudaMedianImageFilter: cannot write '" + path + "': File too large\n");
    EXPECT_EQ(Contents(), before);
  }
}

TEST_F(CudaMedianCommandLine, CreatesTheFileThatADanglingLinkNames)
{
  const std::string input = WriteVolume();
  fs::create_directory(File("elsewhere"));
  fs::create_symlink("elsewhere/target.mha", File("link.mha"));
  fs::create_symlink("link.mha", File("second.mha"));
  Succeed({ input, File("second.mha") });
  EXPECT_TRUE(fs::is_symlink(File("second.mha")));
  EXPECT_TRUE(fs::is_symlink(File("link.mha")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(File("elsewhere/target.mha"))));
  fs::create_symlink("round.mha", File("round.mha"));
  ExpectFailure({ input, File("round.mha") }, "Too many levels of symbolic links");
  fs::create_symlink("missing/target.mha", File("nowhere.mha"));
  ExpectFailure({ input, File("nowhere.mha") }, "there is no directory");
}

TEST_F(CudaMedianCommandLine, KeepsFilesThatAreReadOnly)
{
  const std::string input = WriteVolume();
  struct Pair
  {
    std::string output;
    std::string other;
  };
  for (const Pair & pair :
       { Pair{ "output.mhd", "output.raw" }, Pair{ "output.nhdr", "output.raw" }, Pair{ "output.hdr", "output.img" } })
  {
    SCOPED_TRACE(pair.output);
    for (const bool withHeader : { false, true })
    {
      if (withHeader)
      {
        std::ofstream(File(pair.output)) << "header";
      }
      std::ofstream(File(pair.other)) << "precious";
      fs::permissions(File(pair.other), fs::perms::owner_read);
      const auto before = Contents();
      ExpectFailure({ input, File(pair.output) }, "'" + File(pair.other) + "', and it is read-only");
      EXPECT_EQ(Contents(), before);
      fs::remove(File(pair.other));
    }
    fs::permissions(File(pair.output), fs::perms::owner_read);
    ExpectFailure({ input, File(pair.output) }, "it is read-only");
    fs::remove(File(pair.output));
  }
}

TEST_F(CudaMedianCommandLine, KeepsTheDataOfAnotherImage)
{
  const std::string input = WriteVolume();
  Succeed({ input, File("output.mhd") });
  const auto before = Contents();
  ExpectFailure({ input, File("output.nhdr") }, "'" + File("output.raw") + "' would be replaced");
  EXPECT_EQ(Contents(), before);
  Succeed({ input, File("output.mhd") });
}

TEST_F(CudaMedianCommandLine, KeepsThePermissionsOfTheFileItReplaces)
{
  const std::string path = WriteVolume();
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  Succeed({ path, path });
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(CudaMedianCommandLine, RefusesOutputsThatAreNoFiles)
{
  const std::string input = WriteVolume();
  for (const std::string output : { "/dev/full", "/dev/null" })
  {
    ExpectFailure({ input, output }, "it exists and is not an ordinary file");
  }
  ASSERT_EQ(mkfifo(File("pipe.mha").c_str(), 0600), 0);
  ExpectFailure({ input, File("pipe.mha") }, "it exists and is not an ordinary file");
  ExpectFailure({ File("pipe.mha"), File("output.mha") }, "it is not an ordinary file");
  // What the test gives the program as standard output is a file, of a name that is no image's.
  ExpectFailure({ input, "/dev/stdout" }, "no image format is known by that name");
  ExpectFailure({ input, File("missing/") }, "there is no directory");
}

TEST_F(CudaMedianCommandLine, SaysThatStandardOutputIsFull)
{
  const std::string   input = WriteVolume();
  const ProgramResult result = RunProgram({ "--report", input, File("output.mha") },
                                          { [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); }, {} });
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_EQ(result.error,
            "CudaMedianImageFilter: '" + File("output.mha") +
              "' is in place, but standard output cannot be written: No space left on device\n");
  EXPECT_TRUE(fs::exists(File("output.mha")));
}

TEST_F(CudaMedianCommandLine, WritesNoImageIntoAStreamThatIsClosed)
{
  const std::string   input = WriteVolume();
  const ProgramResult result = RunProgram({ input, File("output.mha") },
                                          { [] {
                                             close(STDIN_FILENO);
                                             close(STDOUT_FILENO);
                                             close(STDERR_FILENO);
                                           },
                                            {} });
  EXPECT_EQ(result.exitCode, 0);
  ExpectSameImage(itk::ReadImage<itk::Image<short, 3>>(File("output.mha")).GetPointer(),
                  MedianByITK(itk::ReadImage<itk::Image<short, 3>>(input).GetPointer(), { { 1, 1, 1 } }).GetPointer());
}

namespace
{

/** Waits until a program catches a signal, as Linux says: a machine at work takes a while to start it. */
void
WaitUntilCaught(pid_t program, int signal)
{
  for (int tries = 0; tries < 3000; ++tries)
  {
    std::ifstream status("/proc/" + std::to_string(program) + "/status");
    std::string   word;
    while (status >> word && word != "SigCgt:")
    {
    }
    std::uint64_t caught = 0;
    if (status >> std::hex >> caught && (caught >> (signal - 1) & 1U) != 0)
    {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the program does not catch signal " << signal;
}

} // namespace

TEST_F(CudaMedianCommandLine, EndsByTheSignalItGets)
{
  // Takes seconds, unless it is ended.
  itk::WriteImage(RandomImage<itk::Image<float, 3>>({ { 96, 96, 64 } }), File("large.mha"));
  const std::vector<std::string> arguments{ "--backend",       "cpu", "--verify", "--radius", "4", File("large.mha"),
                                            File("output.mha") };
  for (const auto & [number, name] :
       std::vector<std::pair<int, std::string>>{ { SIGTERM, "SIGTERM" }, { SIGINT, "SIGINT" }, { SIGHUP, "SIGHUP" } })
  {
    SCOPED_TRACE(name);
    const auto before = FileNames();
    const int  signal = number;
    // With one thread the comparison takes seconds on every machine.
    const ProgramResult result = RunProgram(arguments,
                                            { [] { setenv("ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "1", 1); },
                                              [signal](pid_t program) {
                                                WaitUntilCaught(program, signal);
                                                std::this_thread::sleep_for(std::chrono::milliseconds(500));
                                                kill(program, signal);
                                              } });
    EXPECT_EQ(result.signal, number);
    EXPECT_EQ(result.error, "CudaMedianImageFilter: ended by " + name + "\n");
    EXPECT_EQ(FileNames(), before);
  }
}

TEST_F(CudaMedianCommandLine, IgnoresTheSignalsItWasStartedToIgnore)
{
  itk::WriteImage(RandomImage<itk::Image<float, 3>>({ { 64, 64, 32 } }), File("large.mha"));
  const ProgramResult result =
    RunProgram({ "--backend", "cpu", "--verify", "--radius", "2", File("large.mha"), File("output.mha") },
               { [] { std::signal(SIGHUP, SIG_IGN); },
                 [](pid_t program) {
                   std::this_thread::sleep_for(std::chrono::milliseconds(200));
                   kill(program, SIGHUP);
                 } });
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_TRUE(fs::exists(File("output.mha")));
}

TEST_F(CudaMedianCommandLine, ClearsUpAfterProgramsThatWereKilled)
{
  const std::string input = WriteVolume();
  const fs::path    abandoned = File(".CudaMedianImageFilter.abandoned");
  fs::create_directory(abandoned);
  std::ofstream(abandoned / "output.mha") << "half of";
  // One that is locked belongs to a program that runs.
  const fs::path running = File(".CudaMedianImageFilter.running");
  fs::create_directory(running);
  const int lock = open(running.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  Succeed({ input, File("output.mha") });
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(running));
  close(lock);
}

TEST_F(CudaMedianCommandLine, UndoesHalfAMoveOfAProgramThatWasKilled)
{
  const std::string input = WriteVolume();
  const fs::path    abandoned = File(".CudaMedianImageFilter.abandoned");
  // The new data is in place, the new header is not; of the old files there are second names.
  const auto prepare = [&] {
    fs::remove_all(abandoned);
    fs::create_directory(abandoned);
    std::ofstream(File("image.mhd")) << "old header";
    std::ofstream(File("image.raw")) << "new data";
    std::ofstream(abandoned / "image.mhd") << "new header";
    std::ofstream(abandoned / ".CudaMedianOld.image.raw") << "old data";
    fs::create_hard_link(File("image.mhd"), abandoned / ".CudaMedianOld.image.mhd");
  };
  prepare();
  Succeed({ input, File("output.mha") });
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_EQ(ReadText(File("image.mhd")), "old header");
  EXPECT_EQ(ReadText(File("image.raw")), "old data");

  // Somebody else has written the image since.
  prepare();
  fs::remove(File("image.mhd"));
  std::ofstream(File("image.mhd")) << "newer header";
  Succeed({ input, File("output.mha") });
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_EQ(ReadText(File("image.mhd")), "newer header");
  EXPECT_EQ(ReadText(File("image.raw")), "new data");
}

TEST_F(CudaMedianCommandLine, VerifiesFloatsThatHoldNaN)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto      image = RandomImage<itk::Image<float, 3>>({ { 23, 17, 11 } });
  std::mt19937_64 random(cudamediantest::Seed());
  const float     infinity = std::numeric_limits<float>::infinity();
  const float     specials[] = { std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, -0.0F, 0.0F };
  for (itk::SizeValueType i = 0; i < image->GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    // Half of the pixels of one end, and none of the other: windows that hold none, some and NaN above all.
    if (i < 2000 && random() % 2 == 0)
    {
      image->GetBufferPointer()[i] = specials[random() % 5];
    }
  }
  itk::WriteImage(image, File("input.nrrd"));
  const std::string text = Succeed({ "--verify", "--radius", "1,2,1", File("input.nrrd"), File("output.nrrd") });
  EXPECT_EQ(text.rfind("0 voxels differ from itk::MedianImageFilter\n", 0), 0u) << text;
  EXPECT_NE(text.find(" windows hold NaN"), std::string::npos) << text;
  EXPECT_TRUE(fs::exists(File("output.nrrd")));
}

TEST_F(CudaMedianCommandLine, WritesBmp)
{
  const auto image = RandomImage<itk::Image<unsigned char, 2>>({ { 31, 22 } });
  itk::WriteImage(image, File("input.png"));
  Succeed({ File("input.png"), File("output.bmp") });
  ExpectSameImage(itk::ReadImage<itk::Image<unsigned char, 2>>(File("output.bmp")).GetPointer(),
                  MedianByITK(image.GetPointer(), { { 1, 1 } }).GetPointer(),
                  Geometry::Ignore);
}

TEST_F(CudaMedianCommandLine, RefusesFormatsThatWouldLoseTheGeometry)
{
  const auto image = RandomImage<itk::Image<short, 3>>({ { 12, 9, 7 } });
  auto       direction = image->GetDirection();
  direction.SetIdentity();
  direction(0, 1) = 0.5;
  image->SetDirection(direction);
  itk::WriteImage(image, File("sheared.mha"));
  Succeed({ File("sheared.mha"), File("output.mha") });
  ExpectFailure({ File("sheared.mha"), File("output.nii") }, "its format cannot hold the direction of this image");
}

TEST_F(CudaMedianCommandLine, SaysWhenThereIsNoDevice)
{
  if (cudamedian::QueryCudaDevice().usable)
  {
    GTEST_SKIP() << "there is a device";
  }
  ExpectFailure({ "--backend", "cuda", WriteVolume(), File("output.mha") }, "CUDA");
}

} // namespace
