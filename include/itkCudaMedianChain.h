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
#ifndef itkCudaMedianChain_h
#define itkCudaMedianChain_h

#include "itkCudaMedianEngine.h"

#include <string>
#include <vector>

namespace cudamedian
{

/** What became of a chain. */
struct ChainReport
{
  std::string                  whyNot; ///< why nothing was filtered; empty where all is done
  ExecutionReport              whole;  ///< slabs, memory, transfers and times of all steps together
  std::vector<ExecutionReport> steps;  ///< for each step what ran, and why; their kernels' times are in `whole`
};

/** Why steps cannot be a chain, whatever the machine; empty where they can. */
CudaMedian_EXPORT std::string
                  FindChainObstacle(const std::vector<MedianRequest> & steps);

/** Filters an image several times with CUDA. What is between the steps stays in device memory: the image is uploaded
 * once and downloaded once, slab by slab, while other slabs are filtered. A slab's halo is that of all windows
 * together.
 *
 * The images, the devices, the threads and the progress are the first step's. Of the other steps the windows count, the
 * algorithms, the least of the budgets, and the backend: `Cpu` of any is an obstacle. Where all have `Auto` the chain
 * is run if it is estimated to be faster than one step after the other, each on the backend that suits it.
 *
 * Whoever calls this can have each step filter by itself, whatever is in the way of a chain: no device, a budget, an
 * error of CUDA. So none of that is thrown, and the report says what it was. Nothing but what the progress throws
 * reaches the caller. The output may be half written where `whyNot` is not empty. */
CudaMedian_EXPORT ChainReport
RunMedianChain(const std::vector<MedianRequest> & steps);

} // namespace cudamedian

#endif
