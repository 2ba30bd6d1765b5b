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
#ifndef FuzzFilters_h
#define FuzzFilters_h

#include "FuzzCase.h"

#include <string>
#include <vector>

namespace cudamedianfuzz
{

/** What a filter made of a case. */
struct FilterResult
{
  std::string                 error;                ///< of the exception that it threw; empty: none
  bool                        regionError{ false }; ///< the exception was an itk::InvalidRequestedRegionError
  std::string                 wrong;                ///< what else is not as it must be; empty: nothing
  std::vector<char>           pixels;               ///< of the requested region, in the output's type
  cudamedian::ExecutionReport report;               ///< of itk::CudaMedianImageFilter
};

/** Runs itk::CudaMedianImageFilter, or itk::MedianImageFilter, on pixels of the case's type. */
using FilterRunner = FilterResult (*)(const Case & c, const std::vector<char> & pixels, bool byItk);

/** The runner for a case's dimension and pixel types. */
FilterRunner
GetFilterRunner(const Case & c);

/** The parts of that, one per source file. */
FilterRunner
GetFilterRunner1D(PixelType type, bool otherOutput);
FilterRunner
GetFilterRunner2D(PixelType type, bool otherOutput);
FilterRunner
GetFilterRunner3D(PixelType type, bool otherOutput);
FilterRunner
GetFilterRunner4D(PixelType type, bool otherOutput);

} // namespace cudamedianfuzz

#endif
