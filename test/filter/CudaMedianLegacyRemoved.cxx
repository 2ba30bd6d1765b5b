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
// Compiles where ITK has nothing that is deprecated: each filter with all of its methods, and the classes of the tests.
// The macros go without what this ITK is configured with, so this is compiled and not linked.
#ifndef ITK_LEGACY_REMOVE
#define ITK_LEGACY_REMOVE
#endif
#ifndef ITK_FUTURE_LEGACY_REMOVE
#define ITK_FUTURE_LEGACY_REMOVE
#endif

#include "itkBoxImageFilter.h"
#include "itkMedianImageFilter.h"

// What ITK 6 has no more, and what older versions do not know as deprecated.
#undef ITKv5_CONST
#define ITKv5_CONST static_assert(false, "ITK 6 has no ITKv5_CONST")

#include "itkCudaMedianChainImageFilter.h"
#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianPinnedImageContainer.h"
#include "itkCudaRankImageFilter.h"
#include "itkCudaVectorMedianImageFilter.h"
#include "itkRGBPixel.h"

#include "filter/CudaMedianTestRegionSource.h"

template class itk::CudaMedianImageFilter<itk::Image<short, 2>>;
template class itk::CudaMedianImageFilter<itk::Image<itk::RGBPixel<unsigned char>, 2>>;
template class itk::CudaMedianChainImageFilter<itk::Image<short, 2>>;
template class itk::CudaMedianPinnedImageContainer<itk::SizeValueType, short>;
template class itk::CudaVectorMedianImageFilter<itk::VectorImage<short, 2>>;
#if __has_include("itkRankImageFilter.h")
template class itk::CudaRankImageFilter<itk::Image<short, 2>>;
#endif
