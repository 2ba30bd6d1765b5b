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
#ifndef CompareWithITK_h
#define CompareWithITK_h

#include "itkMedianImageFilter.h"

#include <chrono>
#include <cstdint>
#include <ostream>

/** What itk::MedianImageFilter says about a result. */
struct Comparison
{
  std::uint64_t differingVoxels{ 0 };
  double        itkSeconds{ 0 };
};

/** Runs itk::MedianImageFilter on `input` and compares every voxel with `result` by ==; NaN equals NaN. */
template <typename TImage>
Comparison
CompareWithITK(const TImage * input, const TImage * result, const typename TImage::SizeType & radius)
{
  const auto reference = itk::MedianImageFilter<TImage, TImage>::New();
  reference->SetInput(input);
  reference->SetRadius(radius);
  const auto start = std::chrono::steady_clock::now();
  reference->Update();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  Comparison comparison;
  comparison.itkSeconds = seconds.count();
  const auto * expected = reference->GetOutput()->GetBufferPointer();
  const auto * actual = result->GetBufferPointer();
  const auto   count = result->GetBufferedRegion().GetNumberOfPixels();
  for (itk::SizeValueType i = 0; i < count; ++i)
  {
    const bool bothNaN = expected[i] != expected[i] && actual[i] != actual[i];
    comparison.differingVoxels += (expected[i] == actual[i] || bothNaN) ? 0 : 1;
  }
  return comparison;
}

/** Prints the number of differing voxels, both times and their ratio. */
inline void
PrintComparison(std::ostream & os, const Comparison & comparison, double seconds)
{
  os << comparison.differingVoxels << (comparison.differingVoxels == 1 ? " voxel differs" : " voxels differ")
     << " from itk::MedianImageFilter\n"
     << "CudaMedianImageFilter: " << seconds << " s\n"
     << "itk::MedianImageFilter: " << comparison.itkSeconds << " s\n"
     << "ratio: " << comparison.itkSeconds / seconds << "\n";
}

#endif
