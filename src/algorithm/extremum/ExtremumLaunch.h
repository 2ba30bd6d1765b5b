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
#ifndef ExtremumLaunch_h
#define ExtremumLaunch_h

#include "ExtremumArguments.h"
#include "PixelFormat.h"

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** Starts the kernel of one pass for a kind of keys, a PixelKey (ExtremumKernels.cuh).
 *
 * Asynchronous on the stream. \returns CUDA's error. */
template <typename TKey>
cudaError_t
LaunchExtremumPass(const ExtremumArguments & arguments, cudaStream_t stream);

/** Finds the least or greatest values of a slab's windows, in one pass or in several with scratch memory in between
 * (ExtremumDevice.cxx).
 *
 * Asynchronous on the stream. \returns CUDA's error, or cudaErrorInvalidValue if there is too little scratch memory. */
cudaError_t
LaunchExtremes(const KernelArguments &            slab,
               const std::vector<ExtremumShape> & shapes,
               KeyFormat                          keyFormat,
               void *                             scratch,
               std::size_t                        scratchBytes,
               cudaStream_t                       stream);

} // namespace cudamedian

#endif
