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
#ifndef OutlierLaunch_h
#define OutlierLaunch_h

#include "MaskedKernels.h"

#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** Bytes of the table of bounds that LaunchOutliers() needs. */
std::size_t
CountBoundBytes(PixelType type);

/** What outliers of a request by deviations are told by, but for where windows have their pixels. */
OutlierArguments
MakeOutlierArguments(const MedianRequest & request, const FinishArguments & finish);

/** Fills the table, and writes all outputs of windows that have valid pixels, of pixels that are valid. \throws
 * CudaError */
void
LaunchOutliers(OutlierArguments arguments, void * table, cudaStream_t stream);

} // namespace cudamedian

#endif
