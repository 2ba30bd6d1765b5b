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
#ifndef CudaMedianTestFilters_h
#define CudaMedianTestFilters_h

#include "itkCudaMedianImageFilter.h"
#include "itkImage.h"
#include "itkMedianImageFilter.h"

/** Classes of ITK and of CudaMedian that many of the filter's tests use: compiled once for all of them, in
 * CudaMedianTestFilters.cxx and CudaMedianTestItkFilters.cxx. Quick builds include this ahead of every source:
 * compilers take half as long. */

/** Calls visit(pixel, dimension) for the images of one dimension that many tests have. */
#define CUDAMEDIAN_FOR_TEST_PIXELS(visit, dimension) \
  visit(unsigned char, dimension);                   \
  visit(signed char, dimension);                     \
  visit(short, dimension);                           \
  visit(unsigned short, dimension);                  \
  visit(int, dimension);                             \
  visit(float, dimension);                           \
  visit(double, dimension)

/** The same for the images of most tests. */
#define CUDAMEDIAN_FOR_TEST_IMAGES(visit) \
  visit(short, 1);                        \
  CUDAMEDIAN_FOR_TEST_PIXELS(visit, 2);   \
  CUDAMEDIAN_FOR_TEST_PIXELS(visit, 3);   \
  visit(short, 4)

/** What is compiled without optimization. \param prefix `extern` where it is only declared. */
#define CUDAMEDIAN_TEST_FILTERS(prefix, pixel, dimension)                                                    \
  prefix template class itk::Image<pixel, dimension>;                                                        \
  prefix template class itk::ImageSource<itk::Image<pixel, dimension>>;                                      \
  prefix template class itk::ImageToImageFilter<itk::Image<pixel, dimension>, itk::Image<pixel, dimension>>; \
  prefix template class itk::CudaMedianImageFilter<itk::Image<pixel, dimension>, itk::Image<pixel, dimension>>

/** What computes pixel by pixel, and is optimized. */
#define CUDAMEDIAN_TEST_ITK_FILTERS(prefix, pixel, dimension) \
  prefix template class itk::MedianImageFilter<itk::Image<pixel, dimension>, itk::Image<pixel, dimension>>

#define CUDAMEDIAN_DECLARE_TEST_FILTERS(pixel, dimension) \
  CUDAMEDIAN_TEST_FILTERS(extern, pixel, dimension);      \
  CUDAMEDIAN_TEST_ITK_FILTERS(extern, pixel, dimension)
CUDAMEDIAN_FOR_TEST_IMAGES(CUDAMEDIAN_DECLARE_TEST_FILTERS);

#endif
