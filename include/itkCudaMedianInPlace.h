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
#ifndef itkCudaMedianInPlace_h
#define itkCudaMedianInPlace_h

#include "itkCudaMedianEngine.h"

#include <string>

namespace cudamedian
{

/** What became of an image that was to be filtered in its own memory. */
struct InPlaceReport
{
  std::string     whyNot; ///< why nothing was filtered, and the image is as it was; empty where all is done
  ExecutionReport whole;  ///< what ran, where something did
};

/** Does what RunMedian() does in the image's own memory, with CUDA: no second image is needed, and no pages for it. The
 * output of the request is its whole input, with the same pixels. One device takes the image in slabs that follow each
 * other, and has read each when it is written over. Backend::Auto has the image filtered where CUDA is estimated to be
 * faster than the CPU.
 *
 * What stands in the way is told by the report: no device, a budget, other borders, masks and outliers, several
 * devices. \throws DeviceError when CUDA fails on the way. The image is partly filtered then, as it is after an
 * exception of the progress. */
CudaMedian_EXPORT InPlaceReport
RunMedianInPlace(const MedianRequest & request);

} // namespace cudamedian

#endif
