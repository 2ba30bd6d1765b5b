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
#include "CudaMedianTestFailedRegion.h"
#include "CudaMedianTestVectors.h"
#include "itkCommand.h"
#include "itkCovariantVector.h"
#include "itkCudaVectorMedianImageFilter.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkRGBAPixel.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"
#include "itkVector.h"

#include <complex>

namespace
{

using cudamediantest::Seed;
using Backend = itk::CudaMedianImageFilterEnums::Backend;
using Norm = itk::CudaVectorMedianImageFilterEnums::Norm;

/** An image of random components, whose first index is not 0. */
template <typename TImage>
typename TImage::Pointer
MakeImage(unsigned components, itk::SizeValueType size, std::mt19937_64 & generator)
{
  auto                        image = TImage::New();
  typename TImage::RegionType region;
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    region.SetIndex(axis, 3 + static_cast<itk::IndexValueType>(axis));
    region.SetSize(axis, size + axis);
  }
  image->SetRegions(region);
  image->SetNumberOfComponentsPerPixel(components);
  image->Allocate();
  using Component = typename itk::NumericTraits<typename TImage::PixelType>::ValueType;
  auto * first = reinterpret_cast<Component *>(image->GetBufferPointer());
  for (std::size_t number = 0; number < region.GetNumberOfPixels() * components; ++number)
  {
    first[number] = static_cast<Component>(generator() % 200);
  }
  return image;
}

/** What the engine makes of a whole image. */
template <typename TComponent, typename TImage>
cudamediantest::VectorCase<TComponent>
MakeCase(const TImage & image, cudamedian::PixelType type, unsigned components, itk::SizeValueType radius, Norm norm)
{
  cudamediantest::VectorCase<TComponent> test;
  test.request.componentType = type;
  test.request.components = static_cast<int>(components);
  test.request.norm = static_cast<cudamedian::VectorNorm>(norm);
  test.request.inputExtent = test.request.outputExtent = { { 1, 1, 1, 1 } };
  const auto region = image.GetBufferedRegion();
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    test.request.inputExtent[axis] = test.request.outputExtent[axis] = static_cast<std::int64_t>(region.GetSize(axis));
    test.request.radius[axis] = axis < 2 ? static_cast<std::int64_t>(radius) : 0;
  }
  const auto * first = reinterpret_cast<const TComponent *>(image.GetBufferPointer());
  test.input.assign(first, first + region.GetNumberOfPixels() * components);
  return test;
}

/** How many pixels of an image are not the medians of another. */
template <typename TComponent, typename TImage>
std::size_t
CountWrong(const cudamediantest::VectorCase<TComponent> & test, const TImage & output)
{
  const auto   region = output.GetBufferedRegion();
  const auto * buffer = reinterpret_cast<const TComponent *>(output.GetBufferPointer());
  std::size_t  wrong = 0;
  for (itk::SizeValueType number = 0; number < region.GetNumberOfPixels(); ++number)
  {
    cudamedian::Extent position{ { 0, 0, 0, 0 } };
    auto               left = static_cast<std::int64_t>(number);
    for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
    {
      const auto size = static_cast<std::int64_t>(region.GetSize(axis));
      // All images start at 3 + axis.
      position[axis] = left % size + region.GetIndex(axis) - 3 - static_cast<std::int64_t>(axis);
      left /= size;
    }
    const auto * median = test.FindMedian(position);
    const auto * found = buffer + number * static_cast<std::size_t>(test.request.components);
    wrong += std::equal(median, median + test.request.components, found) ? 0 : 1;
  }
  return wrong;
}

template <typename TImage, typename TComponent>
void
ExpectMedians(cudamedian::PixelType type, unsigned components)
{
  std::mt19937_64 generator(Seed() + components);
  const auto      image = MakeImage<TImage>(components, 17, generator);
  for (const auto norm : { Norm::L1, Norm::L2 })
  {
    for (const itk::SizeValueType radius : { 1, 2 })
    {
      const auto test = MakeCase<TComponent>(*image, type, components, radius, norm);
      auto       filter = itk::CudaVectorMedianImageFilter<TImage>::New();
      auto       size = filter->GetRadius();
      size.Fill(0);
      size[0] = size[1] = radius;
      filter->SetRadius(size);
      filter->SetNorm(norm);
      filter->SetInput(image);
      filter->Update();
      EXPECT_FALSE(filter->GetExecutionReport().backend.empty());
      EXPECT_EQ(CountWrong(test, *filter->GetOutput()), 0U);
    }
  }
}

TEST(CudaVectorMedianImageFilter, PixelsOfAllKinds)
{
  CUDAMEDIAN_TRACE_SEED();
  using cudamedian::PixelType;
  ExpectMedians<itk::Image<itk::RGBPixel<unsigned char>, 2>, unsigned char>(PixelType::UInt8, 3);
  ExpectMedians<itk::Image<itk::RGBAPixel<unsigned short>, 2>, unsigned short>(PixelType::UInt16, 4);
  ExpectMedians<itk::Image<itk::Vector<float, 2>, 3>, float>(PixelType::Float32, 2);
  ExpectMedians<itk::Image<itk::CovariantVector<double, 3>, 3>, double>(PixelType::Float64, 3);
  ExpectMedians<itk::Image<std::complex<float>, 2>, float>(PixelType::Float32, 2);
  ExpectMedians<itk::VectorImage<short, 2>, short>(PixelType::Int16, 4);
  ExpectMedians<itk::VectorImage<signed char, 3>, signed char>(PixelType::Int8, 2);
}

/** Streamed output, and requested regions: the pixels are those of the whole image. */
template <typename TImage>
void
ExpectStreamed(unsigned components)
{
  std::mt19937_64 generator(Seed() + 10);
  const auto      image = MakeImage<TImage>(components, 40, generator);
  const auto      test = MakeCase<unsigned char>(*image, cudamedian::PixelType::UInt8, components, 2, Norm::L1);
  auto            filter = itk::CudaVectorMedianImageFilter<TImage>::New();
  filter->SetRadius(2);
  filter->SetInput(image);
  auto streamer = itk::StreamingImageFilter<TImage, TImage>::New();
  streamer->SetInput(filter->GetOutput());
  streamer->SetNumberOfStreamDivisions(5);
  streamer->Update();
  EXPECT_EQ(CountWrong(test, *streamer->GetOutput()), 0U);
  auto region = image->GetLargestPossibleRegion();
  region.ShrinkByRadius(7);
  filter->GetOutput()->SetRequestedRegion(region);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetBufferedRegion(), region);
  EXPECT_EQ(CountWrong(test, *filter->GetOutput()), 0U);
}

TEST(CudaVectorMedianImageFilter, RegionsAndStreams)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectStreamed<itk::Image<itk::RGBPixel<unsigned char>, 2>>(3);
  ExpectStreamed<itk::VectorImage<unsigned char, 2>>(3);
}

TEST(CudaVectorMedianImageFilter, IsReusableAfterErrors)
{
  using Image = itk::VectorImage<unsigned char, 2>;
  std::mt19937_64 generator(Seed() + 11);
  const auto      image = MakeImage<Image>(3, 30, generator);
  auto            filter = itk::CudaVectorMedianImageFilter<Image>::New();
  filter->SetInput(image);
  filter->SetRadius(3);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  filter->SetRadius(1);
  filter->SetBackend(Backend::Cpu);
  auto abort = itk::CStyleCommand::New();
  abort->SetCallback([](itk::Object * caller, const itk::EventObject &, void *) {
    dynamic_cast<itk::ProcessObject *>(caller)->AbortGenerateDataOn();
  });
  const auto tag = filter->AddObserver(itk::ProgressEvent(), abort);
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  filter->RemoveObserver(tag);
  filter->SetAbortGenerateData(false);
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().backend, "CPU");
  const auto test = MakeCase<unsigned char>(*image, cudamedian::PixelType::UInt8, 3, 1, Norm::L1);
  EXPECT_EQ(CountWrong(test, *filter->GetOutput()), 0U);
  // One component is no vector.
  filter->SetInput(MakeImage<Image>(1, 8, generator));
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  std::ostringstream text;
  filter->SetNorm(Norm::L2);
  filter->Print(text);
  EXPECT_NE(text.str().find("Norm: L2"), std::string::npos);
}

TEST(CudaVectorMedianImageFilter, ARegionThatFailedIsGeneratedWhenItIsAskedForAgain)
{
  using Image = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  std::mt19937_64 generator(Seed() + 12);
  const auto      filter = itk::CudaVectorMedianImageFilter<Image>::New();
  filter->SetInput(MakeImage<Image>(3, 60, generator));
  filter->SetBackend(Backend::Cpu);
  cudamediantest::ExpectFailedRegionIsGeneratedAgain(*filter, false);
}

} // namespace
