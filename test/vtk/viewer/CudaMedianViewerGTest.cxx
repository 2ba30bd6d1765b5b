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
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageRegionIteratorWithIndex.h"

#include "itkCudaMedianImageFilter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace
{

using VolumeType = itk::Image<short, 3>;
using PictureType = itk::Image<itk::RGBPixel<unsigned char>, 2>;

constexpr int    View = 320;
constexpr double Window = 2000;
constexpr double Level = 100;

class CudaMedianViewer : public ::testing::Test
{
protected:
  void
  SetUp() override
  {
    if (std::string(CUDAMEDIAN_XVFB_RUN).empty())
    {
      GTEST_SKIP() << "xvfb-run is not installed";
    }
    m_Folder = std::filesystem::temp_directory_path() / ("CudaMedianViewer" + std::to_string(getpid()));
    std::filesystem::create_directories(m_Folder);
  }

  void
  TearDown() override
  {
    if (!m_Folder.empty())
    {
      std::filesystem::remove_all(m_Folder);
    }
  }

  /** Runs the viewer. \returns its exit code */
  int
  Run(const std::string & arguments)
  {
    // xvfb-run has errors of its own when it clears up: what the viewer says and returns goes to files.
    std::filesystem::remove(m_Folder / "status");
    const std::string viewer =
      std::string(CUDAMEDIAN_VIEWER) + " " + arguments + " > " + Path("output") + " 2>&1; echo $? > " + Path("status");
    const std::string command = std::string(CUDAMEDIAN_XVFB_RUN) + " -a -s '-screen 0 1280x1024x24' sh -c '" + viewer +
                                "' > " + Path("display") + " 2>&1";
    const int status = std::system(command.c_str());
    int       exitCode = -1;
    EXPECT_TRUE(std::ifstream(m_Folder / "status") >> exitCode)
      << "no display (" << status << "): " << std::ifstream(m_Folder / "display").rdbuf();
    return exitCode;
  }

  std::string
  Output() const
  {
    std::ifstream      file(m_Folder / "output");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string
  Path(const std::string & name) const
  {
    return (m_Folder / name).string();
  }

private:
  std::filesystem::path m_Folder;
};

/** 8x6x5 voxels, all different, of 2x3x5 mm, turned about two axes; `mirrored` has its third axis reversed. */
VolumeType::Pointer
MakeVolume(bool mirrored)
{
  const auto volume = VolumeType::New();
  volume->SetRegions(VolumeType::SizeType{ { 8, 6, 5 } });
  volume->Allocate();
  itk::ImageRegionIteratorWithIndex<VolumeType> voxel(volume, volume->GetLargestPossibleRegion());
  for (int number = 0; !voxel.IsAtEnd(); ++voxel, ++number)
  {
    voxel.Set(static_cast<short>(number * 97 % 1009 - 400));
  }
  const double spacing[] = { 2, 3, 5 };
  const double origin[] = { -40, 25, 130 };
  volume->SetSpacing(spacing);
  volume->SetOrigin(origin);
  const double              a = 0.5;
  const double              b = 2.1;
  VolumeType::DirectionType first;
  first.SetIdentity();
  first(0, 0) = first(1, 1) = std::cos(a);
  first(0, 1) = -std::sin(a);
  first(1, 0) = std::sin(a);
  VolumeType::DirectionType second;
  second.SetIdentity();
  second(1, 1) = second(2, 2) = std::cos(b);
  second(1, 2) = -std::sin(b);
  second(2, 1) = std::sin(b);
  VolumeType::DirectionType direction(second * first);
  for (unsigned int row = 0; mirrored && row < 3; ++row)
  {
    direction(row, 2) = -direction(row, 2);
  }
  volume->SetDirection(direction);
  return volume;
}

/** The grey that a value should have. */
double
Grey(double value, double level)
{
  return 255 * std::clamp((value - level) / Window + 0.5, 0.0, 1.0);
}

TEST_F(CudaMedianViewer, ShowsEveryVoxelWhereItIs)
{
  for (const bool mirrored : { false, true })
  {
    const auto volume = MakeVolume(mirrored);
    const auto file = Path("volume.mha");
    itk::WriteImage(volume, file);
    const auto filter = itk::MedianImageFilter<VolumeType, VolumeType>::New();
    filter->SetInput(volume);
    filter->SetRadius(VolumeType::SizeType{ { 1, 2, 1 } });
    filter->Update();
    constexpr int slice = 3;
    ASSERT_EQ(Run(file + " --radius 1,2,1 --slice 3 --window-level 2000,100 --offscreen " + Path("picture.png")), 0)
      << Output();
    EXPECT_EQ(Output(), "");
    EXPECT_GT(std::filesystem::file_size(Path("picture.png")), 4000U);
    const auto picture = itk::ReadImage<PictureType>(Path("picture.png"));
    ASSERT_EQ(picture->GetLargestPossibleRegion().GetSize(), (PictureType::SizeType{ { 3 * View, 2 * View } }));
    // The image is 16 mm wide and 18 mm high, and half a view shows 1.05 times half of the larger.
    const double pixelsPerMillimetre = View / (1.05 * 18);
    for (int y = 0; y < 6; ++y)
    {
      for (int x = 0; x < 8; ++x)
      {
        const VolumeType::IndexType index{ { x, y, slice } };
        const double                original = volume->GetPixel(index);
        const double                median = filter->GetOutput()->GetPixel(index);
        const double expected[] = { Grey(original, Level), Grey(median, Level), Grey(original - median, 0) };
        for (int view = 0; view < 3; ++view)
        {
          const PictureType::IndexType place{ { static_cast<int>(view * View + View / 2 +
                                                                 (x - 3.5) * 2 * pixelsPerMillimetre),
                                                static_cast<int>(View / 2 + (y - 2.5) * 3 * pixelsPerMillimetre) } };
          // The text lies over the lower left corner of the first view.
          if (view == 0 && y == 5)
          {
            continue;
          }
          const auto pixel = picture->GetPixel(place);
          EXPECT_NEAR(pixel[0], expected[view], 2) << "view " << view << ", voxel " << index;
          EXPECT_EQ(pixel[0], pixel[1]);
          EXPECT_EQ(pixel[0], pixel[2]);
        }
      }
    }
    // Both volume renderings show something.
    for (int view = 0; view < 2; ++view)
    {
      double sum = 0;
      double squares = 0;
      for (int y = View; y < 2 * View; ++y)
      {
        for (int x = view * 3 * View / 2; x < (view + 1) * 3 * View / 2; ++x)
        {
          const double grey = picture->GetPixel(PictureType::IndexType{ { x, y } })[1];
          sum += grey;
          squares += grey * grey;
        }
      }
      const double count = View * 3 * View / 2;
      EXPECT_GT(squares / count - sum / count * sum / count, 20) << "volume rendering " << view;
    }
  }
}

TEST_F(CudaMedianViewer, ErrorsAreOneLine)
{
  itk::WriteImage(MakeVolume(false), Path("volume.mha"));
  const std::string                         picture = " --offscreen " + Path("picture.png");
  const std::pair<std::string, std::string> cases[] = {
    { Path("missing.mha") + picture, "there is no such file" },
    { Path("volume.mha") + " --radius 1,1" + picture, "--radius gives 2 numbers, but the image has 3 axes" },
    { Path("volume.mha") + " --radius x" + picture, "'x' is not a whole number of pixels" },
    { Path("volume.mha") + " --offscreen " + Path("no/folder/picture.png"), "cannot write" },
  };
  for (const auto & [arguments, text] : cases)
  {
    EXPECT_EQ(Run(arguments), 1) << arguments;
    const std::string output = Output();
    EXPECT_NE(output.find(text), std::string::npos) << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
    EXPECT_FALSE(std::filesystem::exists(Path("picture.png")));
  }
}

} // namespace
