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
// A program as others write them: it uses itk::MedianImageFilter and itk::RankImageFilter, and knows of no other. For
// each of some kinds of images it prints which class it got, and all pixels of the result.

#include "itkImage.h"
#include "itkImageRegionIterator.h"
#include "itkMedianImageFilter.h"
#include "itkObjectFactoryBase.h"
#include "itkRankImageFilter.h"

#include <cstdint>
#include <cstring>
#include <iostream>

namespace
{

/** Prints what a filter makes of an image of random pixels. */
template <typename TFilter>
void
PrintFilter(const char * name)
{
  using TInput = typename TFilter::InputImageType;
  using TOutput = typename TFilter::OutputImageType;
  const auto                image = TInput::New();
  typename TInput::SizeType size;
  size.Fill(7);
  image->SetRegions(typename TInput::RegionType(size));
  image->Allocate();
  std::uint32_t random = 12345;
  for (itk::ImageRegionIterator<TInput> pixel(image, image->GetBufferedRegion()); !pixel.IsAtEnd(); ++pixel)
  {
    random = random * 1664525U + 1013904223U;
    pixel.Set(static_cast<typename TInput::PixelType>(random >> 20));
  }
  const auto filter = TFilter::New();
  filter->SetInput(image);
  filter->SetRadius(1);
  filter->Update();
  std::cout << name << ' ' << filter->GetNameOfClass() << '\n';
  const TOutput & output = *filter->GetOutput();
  std::cout << "pixels";
  for (itk::ImageRegionConstIterator<TOutput> pixel(&output, output.GetBufferedRegion()); !pixel.IsAtEnd(); ++pixel)
  {
    std::cout << ' ' << +pixel.Get();
  }
  std::cout << '\n';
}

template <typename TPixel, unsigned int VDimension, typename TOutputPixel = TPixel>
void
Print(const char * name)
{
  PrintFilter<itk::MedianImageFilter<itk::Image<TPixel, VDimension>, itk::Image<TOutputPixel, VDimension>>>(name);
}

template <typename TPixel, unsigned int VDimension>
void
PrintRank(const char * name)
{
  using ImageType = itk::Image<TPixel, VDimension>;
  PrintFilter<itk::RankImageFilter<ImageType, ImageType>>(name);
}

} // namespace

int
main(int argc, char * argv[])
{
  Print<unsigned char, 2>("uchar2");
  Print<short, 3>("short3");
  Print<float, 3>("float3");
  Print<double, 4>("double4");
  PrintRank<unsigned char, 2>("rank-uchar2");
  PrintRank<float, 3>("rank-float3");
  // What the factories do not offer.
  Print<short, 1>("short1");
  Print<short, 3, float>("short3-float3");
  Print<long double, 2>("longdouble2");
  PrintRank<short, 1>("rank-short1");
  if (argc > 1 && std::strcmp(argv[1], "--unregister") == 0)
  {
    const auto filter = itk::MedianImageFilter<itk::Image<short, 2>, itk::Image<short, 2>>::New();
    itk::ObjectFactoryBase::UnRegisterAllFactories();
    std::cout << "after " << filter->GetNameOfClass() << '\n';
  }
  return 0;
}
