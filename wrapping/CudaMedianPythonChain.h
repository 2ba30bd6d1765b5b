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
#ifndef CudaMedianPythonChain_h
#define CudaMedianPythonChain_h

#include "itkCudaMedianChainImageFilter.h"
#include "itkCudaMedianImageFilter.h"
#ifdef CUDAMEDIAN_WRAPS_RANKS
#  include "itkCudaRankImageFilter.h"
#  include "itkFlatStructuringElement.h"
#endif

#include <string>

namespace cudamedian
{

/** Adds a filter to a chain if it is a TFilter. \returns whether it is. */
template <typename TFilter, typename TImage>
bool
AddAs(itk::CudaMedianChainImageFilter<TImage> & chain, itk::ImageToImageFilter<TImage, TImage> * filter)
{
  auto * const known = dynamic_cast<TFilter *>(filter);
  if (known != nullptr)
  {
    chain.AddFilter(known);
  }
  return known != nullptr;
}

/** Adds a filter to a chain as what it is. SWIG knows no member templates, so Python hands over the base class.
 * \throws ExceptionObject for filters that are written in Python: a chain runs without the interpreter's lock. */
template <typename TImage>
void
AddToChain(itk::CudaMedianChainImageFilter<TImage> & chain, itk::ImageToImageFilter<TImage, TImage> * filter)
{
  if (filter != nullptr && std::string(filter->GetNameOfClass()) == "PyImageFilter")
  {
    itkGenericExceptionMacro(
      << "A chain has no PyImageFilter, which is written in Python; connect it to the chain instead");
  }
  bool isAdded = AddAs<itk::CudaMedianImageFilter<TImage, TImage>>(chain, filter);
#ifdef CUDAMEDIAN_WRAPS_RANKS
  using Kernel = itk::FlatStructuringElement<TImage::ImageDimension>;
  isAdded = isAdded || AddAs<itk::CudaRankImageFilter<TImage, TImage, Kernel>>(chain, filter);
#endif
  if (!isAdded)
  {
    chain.AddFilter(filter);
  }
}

} // namespace cudamedian

#endif
