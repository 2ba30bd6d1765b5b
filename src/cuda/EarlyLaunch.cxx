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
#include "EarlyLaunch.h"

#include "EarlyStart.h"

#include <cstddef>

namespace cudamedian
{

cudaError_t
AwaitsKernelsInFront(const void * kernel, bool & awaits)
{
  cudaFuncAttributes attributes;
  const auto         error = cudaFuncGetAttributes(&attributes, kernel);
  awaits = error == cudaSuccess && attributes.ptxVersion >= earlyStartArchitecture;
  return error;
}

cudaError_t
LaunchKernel(const void * kernel,
             dim3         grid,
             dim3         threads,
             void **      parameters,
             int          sharedBytes,
             bool         isEarly,
             cudaStream_t stream)
{
  const auto bytes = static_cast<std::size_t>(sharedBytes);
  auto       captured = cudaStreamCaptureStatusNone;
  const auto error = isEarly ? cudaStreamIsCapturing(stream, &captured) : cudaSuccess;
  if (error != cudaSuccess)
  {
    return error;
  }
  if (!isEarly || captured != cudaStreamCaptureStatusNone)
  {
    return cudaLaunchKernel(kernel, grid, threads, parameters, bytes, stream);
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, kernel, parameters);
}

} // namespace cudamedian
