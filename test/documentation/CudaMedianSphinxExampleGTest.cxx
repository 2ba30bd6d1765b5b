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
// Runs the example of the documentation as its readers would, and compares what it writes with ITK's own filter.

#include "CudaMedianTestSeed.h"

#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageRegionIterator.h"
#include "itkMedianImageFilter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

namespace
{

using ImageType = itk::Image<unsigned char, 2>;

/** Writes an image of random pixels, and returns it. */
ImageType::Pointer
WriteImage(const std::string & file)
{
  std::mt19937 generator(static_cast<std::uint32_t>(cudamediantest::Seed()));
  const auto   image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { 61, 43 } });
  image->Allocate();
  for (itk::ImageRegionIterator<ImageType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(static_cast<unsigned char>(generator() & 0xFFU));
  }
  itk::WriteImage(image.GetPointer(), file);
  return image;
}

int
RunExample(const std::string & arguments)
{
  return std::system(("\"" CUDAMEDIAN_EXAMPLE "\" " + arguments).c_str());
}

} // namespace

TEST(CudaMedianSphinxExample, EqualsItk)
{
  const std::string input = testing::TempDir() + "CudaMedianSphinxExampleInput.png";
  const std::string output = testing::TempDir() + "CudaMedianSphinxExampleOutput.png";
  const auto        image = WriteImage(input);
  ASSERT_EQ(RunExample("\"" + input + "\" \"" + output + "\" 2"), 0);
  const auto found = itk::ReadImage<ImageType>(output);

  const auto reference = itk::MedianImageFilter<ImageType, ImageType>::New();
  reference->SetInput(image);
  reference->SetRadius(2);
  reference->Update();
  ASSERT_EQ(found->GetBufferedRegion(), image->GetBufferedRegion());
  for (itk::ImageRegionConstIterator<ImageType> it(reference->GetOutput(), image->GetBufferedRegion()); !it.IsAtEnd();
       ++it)
  {
    ASSERT_EQ(found->GetPixel(it.GetIndex()), it.Get()) << it.GetIndex();
  }
  std::filesystem::remove(input);
  std::filesystem::remove(output);
}

TEST(CudaMedianSphinxExample, SaysHowItIsCalled)
{
  EXPECT_NE(RunExample(""), 0);
  EXPECT_NE(RunExample("no-such-file.png output.png 1"), 0);
}
