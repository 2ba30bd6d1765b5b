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
#include "BoxTransfer.h"

#include "BoxRows.h"
#include "CudaError.h"

#include <algorithm>

namespace cudamedian
{

void
TransferRows(char *         target,
             std::int64_t   targetPitch,
             const char *   source,
             std::int64_t   sourcePitch,
             std::int64_t   width,
             std::int64_t   rows,
             cudaMemcpyKind kind,
             cudaStream_t   stream)
{
  if (std::max({ targetPitch, sourcePitch, width }) > largestPitch)
  {
    for (std::int64_t row = 0; row < rows; ++row)
    {
      CheckCuda(
        cudaMemcpyAsync(
          target + row * targetPitch, source + row * sourcePitch, static_cast<std::size_t>(width), kind, stream),
        "cudaMemcpyAsync");
    }
    return;
  }
  CheckCuda(cudaMemcpy2DAsync(target,
                              static_cast<std::size_t>(targetPitch),
                              source,
                              static_cast<std::size_t>(sourcePitch),
                              static_cast<std::size_t>(width),
                              static_cast<std::size_t>(rows),
                              kind,
                              stream),
            "cudaMemcpy2DAsync");
}

void
TransferBox(char *         target,
            Extent         targetStride,
            const char *   source,
            Extent         sourceStride,
            Extent         extent,
            std::size_t    pixelBytes,
            cudaMemcpyKind kind,
            cudaStream_t   stream)
{
  if (Volume(extent) == 0)
  {
    return;
  }
  MergeRows(extent, targetStride, sourceStride);
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  if (Volume(extent) == extent[0])
  {
    CheckCuda(cudaMemcpyAsync(target, source, static_cast<std::size_t>(extent[0] * bytes), kind, stream),
              "cudaMemcpyAsync");
    return;
  }
  for (std::int64_t w = 0; w < extent[3]; ++w)
  {
    for (std::int64_t z = 0; z < extent[2]; ++z)
    {
      TransferRows(target + (w * targetStride[3] + z * targetStride[2]) * bytes,
                   std::max(targetStride[1], extent[0]) * bytes,
                   source + (w * sourceStride[3] + z * sourceStride[2]) * bytes,
                   std::max(sourceStride[1], extent[0]) * bytes,
                   extent[0] * bytes,
                   extent[1],
                   kind,
                   stream);
    }
  }
}

} // namespace cudamedian
