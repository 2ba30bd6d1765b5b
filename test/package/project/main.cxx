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
#include "itkCudaMedianImageFilter.h"

#include "itkImageRegionConstIterator.h"
#include "itkImageRegionIterator.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>

// What a project does that uses the package: filters an image, here compared with ITK's own filter.
int
main()
{
  using ImageType = itk::Image<std::int16_t, 3>;
  auto image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { 19, 11, 7 } });
  image->Allocate();
  std::uint32_t state = 1;
  for (itk::ImageRegionIterator<ImageType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    state = state * 1664525U + 1013904223U;
    it.Set(static_cast<std::int16_t>(state >> 16));
  }

  auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetInput(image);
  filter->SetRadius(1);
  filter->Update();
  std::cout << filter->GetExecutionReportAsString();

  auto reference = itk::MedianImageFilter<ImageType, ImageType>::New();
  reference->SetInput(image);
  reference->SetRadius(1);
  reference->Update();

  itk::ImageRegionConstIterator<ImageType> expected(reference->GetOutput(), image->GetBufferedRegion());
  itk::ImageRegionConstIterator<ImageType> found(filter->GetOutput(), image->GetBufferedRegion());
  std::size_t                              different = 0;
  for (; !found.IsAtEnd(); ++found, ++expected)
  {
    different += found.Get() != expected.Get();
  }
  std::cout << different << " voxels differ" << std::endl;
  return different == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
