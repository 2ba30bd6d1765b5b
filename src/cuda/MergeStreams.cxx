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
#include "MergeStreams.h"

#include <initializer_list>

namespace cudamedian
{

MergeStreams::~MergeStreams()
{
  bool failed = lines != nullptr && cudaStreamDestroy(lines) != cudaSuccess;
  for (auto event : { linesDone, coresDone[0], coresDone[1] })
  {
    failed = (event != nullptr && cudaEventDestroy(event) != cudaSuccess) || failed;
  }
  if (failed)
  {
    cudaGetLastError();
  }
}

void
MergeStreams::Abandon()
{
  lines = nullptr;
  linesDone = coresDone[0] = coresDone[1] = nullptr;
}

cudaError_t
MergeStreams::Create()
{
  auto error = lines == nullptr ? cudaStreamCreateWithFlags(&lines, cudaStreamNonBlocking) : cudaSuccess;
  for (auto * event : { &linesDone, &coresDone[0], &coresDone[1] })
  {
    if (error == cudaSuccess && *event == nullptr)
    {
      error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    }
  }
  return error;
}

} // namespace cudamedian
