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
#ifndef RequestWindow_h
#define RequestWindow_h

#include "itkCudaMedianEngine.h"
#include "Window.h"

namespace cudamedian
{

/** The window of a request. */
inline Window
GetWindow(const MedianRequest & request)
{
  Window window = request.footprint != nullptr ? Window(request.footprint, request.rank)
                                               : Window(request.radius, request.shorter, request.rank);
  window.ranks = request.rankMap != nullptr ? request.greatestRank - request.rank + 1 : 1;
  return window;
}

/** Bytes of a rank in maps of so many possible ranks. */
inline std::size_t
CountRankBytes(std::int64_t ranks)
{
  return ranks <= 256 ? 1 : 4;
}

/** Bytes of a rank in a request's map, here and on devices; 0 where there is no map. */
inline std::size_t
GetRankBytes(const MedianRequest & request)
{
  return request.rankMap == nullptr ? 0 : CountRankBytes(request.greatestRank - request.rank + 1);
}

} // namespace cudamedian

#endif
