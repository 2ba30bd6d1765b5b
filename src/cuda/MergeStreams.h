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
#ifndef MergeStreams_h
#define MergeStreams_h

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** The stream in which merge tiling passes over lines, beside the caller's stream, and the events that order both. Each
 * context has its own, and those who launch in a context take turns. */
struct MergeStreams
{
  MergeStreams() = default;
  ~MergeStreams();
  MergeStreams(const MergeStreams &) = delete;
  MergeStreams &
  operator=(const MergeStreams &) = delete;

  /** Makes the stream and events that are not there yet, on the current device. \returns CUDA's error. */
  cudaError_t
  Create();

  /** Forgets all handles, after they went with their CUDA context. */
  void
  Abandon();

  cudaStream_t lines{ nullptr };
  cudaEvent_t  linesDone{ nullptr };
  cudaEvent_t  coresDone[2]{ nullptr, nullptr };
};

} // namespace cudamedian

#endif
