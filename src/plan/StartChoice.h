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
#ifndef StartChoice_h
#define StartChoice_h

#include "MedianBackend.h"
#include "itkCudaMedianEngine.h"

#include <optional>
#include <string>

namespace cudamedian
{

/** Why the CPU filters a request while CUDA has not started in the process. */
struct StartChoice
{
  std::string reason;
  double      cpuSeconds{ 0 };   ///< estimated on the CPU
  double      leastSeconds{ 0 }; ///< on CUDA at least, had it started
  double      startSeconds{ 0 }; ///< of the start of CUDA
};

/** Chooses the CPU for a request of Backend::Auto where it is estimated to be done before CUDA could be, whose start
 * counts, on whatever devices: none is asked, and nothing starts. Nothing where the CPU is not sure to be faster or
 * cannot run the request, and where CUDA has started. The host's rates are asked for where they are needed. */
std::optional<StartChoice>
ChooseBeforeStart(const MedianRequest & request, const MedianBackend & cuda, const HostTraits & (*getHost)());

/** Completes the report of a request that the CPU has filtered for such a choice, and lets CUDA know what was lost. */
void
TellStartChoice(const StartChoice &   choice,
                const MedianRequest & request,
                const MedianBackend & cuda,
                ExecutionReport &     report);

} // namespace cudamedian

#endif
