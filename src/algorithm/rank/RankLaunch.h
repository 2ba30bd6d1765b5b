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
#ifndef RankLaunch_h
#define RankLaunch_h

#include "KernelArguments.h"
#include "PixelFormat.h"
#include "RankDevice.h"

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** Filters a slab by local ranks (RankKernels.h), as many blocks at once as the scratch memory holds.
 *
 * Asynchronous on the stream.
 * \param scratch device memory, GetRankScratchBytes() of it. \param lists MakeRankLists() in device memory; not read
 * for a box. \returns CUDA's error. */
cudaError_t
LaunchRankWindows(const KernelArguments & slab,
                  const RankShape &       shape,
                  KeyFormat               keyFormat,
                  void *                  scratch,
                  std::size_t             scratchBytes,
                  const std::uint32_t *   lists,
                  cudaStream_t            stream);

} // namespace cudamedian

#endif
