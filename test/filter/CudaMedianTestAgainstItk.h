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
#ifndef CudaMedianTestAgainstItk_h
#define CudaMedianTestAgainstItk_h

#include "CudaMedianTestBackends.h"
#include "CudaMedianTestImages.h"

#include "itkCudaMedianImageFilter.h"
#include "itkMedianImageFilter.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <vector>

namespace cudamediantest
{

/** ITK's own filter, fully updated. */
template <typename TInputImage, typename TOutputImage = TInputImage>
typename TOutputImage::Pointer
ItkMedian(const TInputImage & image, const typename TInputImage::SizeType & radius)
{
  const auto filter = itk::MedianImageFilter<TInputImage, TOutputImage>::New();
  filter->SetInput(&image);
  filter->SetRadius(radius);
  filter->Update();
  return filter->GetOutput();
}

/** Every radius with every size on every given backend, patterns taking turns; one filter object per backend serves
 * all cases, as in a program that reuses its filter. */
template <typename TPixel, unsigned int VDimension>
void
ExpectEqualToItk(const std::vector<itk::Size<VDimension>> & radii,
                 const std::vector<itk::Size<VDimension>> & sizes,
                 const std::vector<BackendEnum> &           backends = BackendsUnderTest())
{
  using ImageType = itk::Image<TPixel, VDimension>;
  using FilterType = itk::CudaMedianImageFilter<ImageType>;

  std::vector<typename FilterType::Pointer> filters;
  for (const BackendEnum backend : backends)
  {
    filters.push_back(FilterType::New());
    filters.back()->SetBackend(backend);
  }

  std::uint64_t stream = 0;
  for (const auto & radius : radii)
  {
    for (const auto & size : sizes)
    {
      const Pattern pattern = AllPatterns[stream % std::size(AllPatterns)];
      const auto    image = MakeRandomImage<ImageType>(typename ImageType::RegionType(size), pattern, stream);
      const auto    expected = ItkMedian(*image, radius);
      ++stream;
      for (const auto & filter : filters)
      {
        std::ostringstream text;
        text << BackendText(filter->GetBackend()) << ", size " << size << ", radius " << radius << ", "
             << ToString(pattern);
        SCOPED_TRACE(text.str());
        filter->SetInput(image);
        filter->SetRadius(radius);
        ASSERT_NO_THROW(filter->UpdateLargestPossibleRegion()); // the last size may have been larger
        ExpectEqualImages(*expected, *filter->GetOutput());
        if (testing::Test::HasFailure())
        {
          return;
        }
      }
    }
  }
}

} // namespace cudamediantest

#endif
