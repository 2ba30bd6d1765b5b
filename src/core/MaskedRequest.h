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
#ifndef MaskedRequest_h
#define MaskedRequest_h

#include "ValidRanks.h"
#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** Whether a device has to do more for a request than one launch of a rank's kernel, and to write its results: some
 * pixels may not be valid, deviations are wanted, or a window's median is not the value of rank N/2. */
bool
IsMasked(const MedianRequest & request);

/** Whether outliers are told by deviations. No distance is more than endlessly many of them, as none is more than an
 * endless distance. */
bool
HasDeviations(const MedianRequest & request);

/** Whether kernels tell outliers by deviations in an image in device memory where it lies: all of its pixels count, its
 * rows are whole vectors, borders see the nearest pixel, and windows are small boxes of odd sizes. */
bool
AreOutliersToldInPlace(const MedianRequest & request);

/** Which ranks a device has to find for a masked request in copies whose pixels all count. */
struct MaskedRanks
{
  RankSpan span{ 0, 0 };
  bool     isMean{ false };   ///< whether the upper and the lower one of two middle values are wanted
  bool     isLower{ false };  ///< whether it is the lower one
  bool     hasMarks{ false }; ///< whether ranks follow from which pixels are valid, or differ otherwise

  /** Whether pixels that are not valid have the least and the greatest key in turn, since ranks follow from them. */
  bool
  HasTurns() const
  {
    return span.greatest > span.least;
  }
};

MaskedRanks
GetMaskedRanks(const MedianRequest & request);

/** What is asked of algorithms for a masked request: the ranks, in a copy that has borders and keys in it, and is the
 * image of what is asked. Its map of ranks is no more than a sign that there is one. */
MedianRequest
MakeCopiedRequest(const MedianRequest & request);

} // namespace cudamedian

#endif
