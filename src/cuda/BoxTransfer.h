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
#ifndef BoxTransfer_h
#define BoxTransfer_h

#include "Extents.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace cudamedian
{

/** The most bytes from row to row with which CUDA copies rows in one call: cudaDevAttrMaxPitch of all devices. */
constexpr std::int64_t largestPitch = std::numeric_limits<std::int32_t>::max();

/** Copies rows from or to device memory; pitches in bytes. Asynchronous. \throws DeviceError */
void
TransferRows(char *         target,
             std::int64_t   targetPitch,
             const char *   source,
             std::int64_t   sourcePitch,
             std::int64_t   width,
             std::int64_t   rows,
             cudaMemcpyKind kind,
             cudaStream_t   stream);

/** Copies a box between strided images in host and device memory. Asynchronous. \throws DeviceError */
void
TransferBox(char *         target,
            Extent         targetStride,
            const char *   source,
            Extent         sourceStride,
            Extent         extent,
            std::size_t    pixelBytes,
            cudaMemcpyKind kind,
            cudaStream_t   stream);

} // namespace cudamedian

#endif
