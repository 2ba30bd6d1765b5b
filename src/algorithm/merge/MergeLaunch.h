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
#ifndef MergeLaunch_h
#define MergeLaunch_h

#include "KernelArguments.h"
#include "PixelFormat.h"
#include "MergePolicy.h"
#include "MergeStreams.h"

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** Filters a slab by merge tiling (MergeKernels.h), one region after the other.
 *
 * Asynchronous on the stream, which waits for the other one.
 * \param scratch device memory, shape.scratchBytes of it. \param streams are made when they are needed first.
 * \returns CUDA's error, or cudaErrorInvalidValue if there is less memory. */
cudaError_t
LaunchMergeTiling(const KernelArguments & slab,
                  const MergeShape &      shape,
                  KeyFormat               keyFormat,
                  void *                  scratch,
                  std::size_t             scratchBytes,
                  MergeStreams &          streams,
                  cudaStream_t            stream);

} // namespace cudamedian

#endif
