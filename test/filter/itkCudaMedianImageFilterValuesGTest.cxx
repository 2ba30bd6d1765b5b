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
// Values that stand in for pixels, and images without any.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestBackends.h"
#include "CudaMedianTestImages.h"

#include "itkCudaMedianImageFilter.h"
#include "itkVectorImage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace
{

using cudamediantest::BackendsUnderTest;
using cudamediantest::MakeImage;
using Enums = itk::CudaMedianImageFilterEnums;
using FloatImage = itk::Image<float, 1>;
using FloatFilter = itk::CudaMedianImageFilter<FloatImage>;

FloatImage::Pointer
MakeRow(const std::vector<float> & values)
{
  const auto image = MakeImage<FloatImage>(FloatImage::RegionType({ { 0 } }, { { values.size() } }));
  std::copy(values.begin(), values.end(), image->GetBufferPointer());
  return image;
}

/** What an update says when it fails; empty where it does not. */
template <typename TFilter>
std::string
FindRefusal(TFilter & filter)
{
  try
  {
    filter.Update();
  }
  catch (const itk::ExceptionObject & error)
  {
    return error.GetDescription();
  }
  return "";
}

} // namespace

// As numbers -0 and 0 are equal; as values of an image they are two.
TEST(CudaMedianImageFilterValues, NegativeZeroStandsIn)
{
  for (const auto backend : BackendsUnderTest())
  {
    const auto filter = FloatFilter::New();
    filter->SetBackend(backend);
    filter->SetInput(MakeRow({ 5, 5, 5 }));
    filter->SetRadius(1);
    filter->SetIgnoredValue(5);
    filter->SetEmptyWindow(Enums::EmptyWindow::Value);
    filter->SetEmptyValue(-0.0F);
    filter->Update();
    EXPECT_EQ(filter->GetOutput()->GetBufferPointer()[1], 0);
    EXPECT_TRUE(std::signbit(filter->GetOutput()->GetBufferPointer()[1])) << "empty";

    filter->SetInvalidOutput(Enums::InvalidOutput::Value);
    filter->SetEmptyValue(7);
    filter->SetInvalidValue(-0.0F);
    filter->Update();
    EXPECT_EQ(filter->GetOutput()->GetBufferPointer()[1], 0);
    EXPECT_TRUE(std::signbit(filter->GetOutput()->GetBufferPointer()[1])) << "invalid";

    const auto other = FloatFilter::New();
    other->SetBackend(backend);
    other->SetInput(MakeRow({ -1 }));
    other->SetRadius(1);
    other->SetBoundaryMode(Enums::Boundary::Constant);
    other->SetBoundaryConstant(-0.0F);
    other->Update();
    EXPECT_EQ(other->GetOutput()->GetBufferPointer()[0], 0);
    EXPECT_TRUE(std::signbit(other->GetOutput()->GetBufferPointer()[0])) << "constant";
  }
}

TEST(CudaMedianImageFilterValues, ValuesThatAreSetAgainAreNoChange)
{
  const auto filter = FloatFilter::New();
  const auto set = [&filter](float value) {
    filter->SetBoundaryConstant(value);
    filter->SetEmptyValue(value);
    filter->SetInvalidValue(value);
    filter->SetIgnoredValue(value);
  };
  for (const float value : { 3.0F, -0.0F, std::numeric_limits<float>::quiet_NaN() })
  {
    const auto before = filter->GetMTime();
    set(value);
    const auto after = filter->GetMTime();
    EXPECT_GT(after, before) << value;
    set(value);
    EXPECT_EQ(filter->GetMTime(), after) << value;
  }
}

TEST(CudaMedianImageFilterValues, ConstantsOfSeveralValues)
{
  using Filter = itk::CudaMedianImageFilter<itk::VectorImage<float, 2>>;
  const auto             filter = Filter::New();
  Filter::InputPixelType constant(2);
  constant.Fill(0);
  filter->SetBoundaryConstant(constant);
  const auto before = filter->GetMTime();
  filter->SetBoundaryConstant(constant);
  EXPECT_EQ(filter->GetMTime(), before);
  constant[1] = -0.0F;
  filter->SetBoundaryConstant(constant);
  EXPECT_GT(filter->GetMTime(), before);
  EXPECT_TRUE(std::signbit(filter->GetBoundaryConstant()[1]));
}

// A mask makes no difference where there is no pixel.
TEST(CudaMedianImageFilterValues, MasksOfImagesWithoutPixels)
{
  using Image = itk::Image<short, 2>;
  using Mask = itk::Image<unsigned char, 2>;
  for (const auto & size : { Image::SizeType{ { 0, 0 } }, Image::SizeType{ { 5, 0 } }, Image::SizeType{ { 0, 3 } } })
  {
    const Image::RegionType region({ { 0, 0 } }, size);
    const auto              filter = itk::CudaMedianImageFilter<Image>::New();
    filter->SetInput(MakeImage<Image>(region));
    filter->SetRadius(2);
    filter->SetSliceWise(true); // the filter's own requested regions, with a mask or without
    const auto refusal = FindRefusal(*filter);
    filter->SetMaskImage(MakeImage<Mask>(region));
    EXPECT_EQ(FindRefusal(*filter), refusal) << size;
  }
}

// A byte of 0 or 1 is a number like others: the engine filters it, and ITK's filter finds the same.
TEST(CudaMedianImageFilterValues, BooleansAreFilteredByTheEngine)
{
  CUDAMEDIAN_TRACE_SEED();
  using ImageType = itk::Image<bool, 2>;
  using FilterType = itk::CudaMedianImageFilter<ImageType>;
  const auto   image = MakeImage<ImageType>(ImageType::RegionType({ { 0, 0 } }, { { 83, 61 } }));
  std::mt19937 generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  std::generate_n(image->GetBufferPointer(), 83 * 61, [&generator] { return generator() % 2 == 1; });
  for (const itk::SizeValueType radius : { 1, 2, 5 })
  {
    ImageType::SizeType size;
    size.Fill(radius);
    const auto expected = cudamediantest::ItkMedian(*image, size);
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(cudamediantest::BackendText(backend) + ", radius " + std::to_string(radius));
      const auto filter = FilterType::New();
      filter->SetBackend(backend);
      filter->SetInput(image);
      filter->SetRadius(radius);
      filter->Update();
      EXPECT_NE(filter->GetExecutionReport().backend, "ITK");
      cudamediantest::ExpectEqualImages(*expected, *filter->GetOutput());
    }
  }
}
