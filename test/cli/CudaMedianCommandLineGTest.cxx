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
#include "itkRGBPixel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <type_traits>

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
  for (const std::string extension : { ".mhd", ".nhdr" })
  {
    SCOPED_TRACE(extension);
    ExpectMedian<itk::Image<short, 3>>({ { 19, 13, 11 } }, { { 1, 1, 1 } }, {}, extension);
  }
  EXPECT_EQ(
    FileNames(),
    (std::set<std::string>{ "input.mhd", "input.nhdr", "input.raw", "output.mhd", "output.nhdr", "output.raw" }));
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
  for (const std::string option :
       { "--radius", "--slice-wise", "--backend", "--devices", "--memory", "--verify", "--report", "input", "output" })
  {
    EXPECT_NE(help.find(option), std::string::npos) << option;
  }
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
  ExpectFailure({ fs::path(output).parent_path(), output }, "not an ordinary file");
  std::ofstream(File("text.txt")) << "not an image\n";
  ExpectFailure({ File("text.txt"), output }, "not an image");
  std::ofstream(File("fake.png")) << "not an image\n";
  ExpectFailure({ File("fake.png"), output }, "cannot read");
  std::ofstream(File("empty.nii")).flush();
  ExpectFailure({ File("empty.nii"), output }, "cannot read");
}

TEST_F(CudaMedianCommandLine, DoesNotHideThatAnImageIsTruncated)
{
  const auto image = RandomImage<itk::Image<short, 3>>({ { 32, 32, 32 } });
  for (const std::string extension : { ".nrrd", ".mha" })
  {
    itk::WriteImage(image, File("input" + extension));
    fs::resize_file(File("input" + extension), fs::file_size(File("input" + extension)) / 2);
  }
  ExpectFailure({ File("input.nrrd"), File("output.mha") }, "cannot read '" + File("input.nrrd") + "'");
  // ITK reads what there is of a MetaImage without an error, and only prints that it did.
  const ProgramResult result = RunProgram({ File("input.mha"), File("output.mha") });
  EXPECT_NE(result.error.find("not read completely"), std::string::npos) << result.error;
}

TEST_F(CudaMedianCommandLine, RefusesColours)
{
  const auto image = itk::Image<itk::RGBPixel<unsigned char>, 2>::New();
  image->SetRegions(itk::Size<2>{ { 8, 8 } });
  image->Allocate(true);
  itk::WriteImage(image, File("colour.png"));
  ExpectFailure({ File("colour.png"), File("output.png") }, "rgb");
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

TEST_F(CudaMedianCommandLine, SaysWhenThereIsNoDevice)
{
  if (cudamedian::QueryCudaDevice().usable)
  {
    GTEST_SKIP() << "there is a device";
  }
  ExpectFailure({ "--backend", "cuda", WriteVolume(), File("output.mha") }, "CUDA");
}

} // namespace
