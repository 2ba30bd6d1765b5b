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
#include "MedianAlgorithm.h"

namespace cudamedian
{

const MedianAlgorithm &
GetExtremumAlgorithm();
const MedianAlgorithm &
GetTileAlgorithm();
const MedianAlgorithm &
GetRankAlgorithm();
const MedianAlgorithm &
GetHistogramAlgorithm();
const MedianAlgorithm &
GetMergeAlgorithm();
const MedianAlgorithm &
GetSelectionAlgorithm();

const std::vector<const MedianAlgorithm *> &
GetMedianAlgorithms()
{
  // Never destroyed: a thread may be at work when the process ends.
  static const auto & algorithms = *new std::vector<const MedianAlgorithm *>{
    &GetExtremumAlgorithm(),  &GetTileAlgorithm(),  &GetRankAlgorithm(),
    &GetHistogramAlgorithm(), &GetMergeAlgorithm(), &GetSelectionAlgorithm()
  };
  return algorithms;
}

} // namespace cudamedian
