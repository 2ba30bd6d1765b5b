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
#ifndef BodyLauncher_cuh
#define BodyLauncher_cuh

#include "DivideUp.h"
#include "LaunchShape.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace cudamedian
{

template <typename TBody>
__global__ void
BodyKernel(TBody body, std::int64_t width, std::int64_t rows)
{
  for (std::int64_t row = std::int64_t{ blockIdx.y } * blockDim.y + threadIdx.y; row < rows;
       row += std::int64_t{ gridDim.y } * blockDim.y)
  {
    const auto place = body.GetRow(row);
    for (std::int64_t x = std::int64_t{ blockIdx.x } * blockDim.x + threadIdx.x; x < width;
         x += std::int64_t{ gridDim.x } * blockDim.x)
    {
      body(place, x);
    }
  }
}

/** Launches a body for each column of each row of its box. */
struct BodyLauncher
{
  template <typename TBody>
  cudaError_t
  operator()(const TBody & body) const
  {
    constexpr std::int64_t mostBlocks = 65535;
    constexpr std::int64_t columns = 32;
    constexpr std::int64_t rowsOfBlock = 8;
    const auto             width = body.GetWidth();
    const auto             rows = body.CountRows();
    const auto             across = DivideUp(width, columns * TBody::columnsOfThread);
    const auto             down = DivideUp(rows, rowsOfBlock);
    const dim3             threads(columns, rowsOfBlock);
    const dim3             blocks(static_cast<unsigned int>(std::min(across, mostBlocks)),
                      static_cast<unsigned int>(std::min(down, mostBlocks)));
    cudaGetLastError(); // an error that another's call left behind is none of this launch
    BodyKernel<<<blocks, threads, 0, stream>>>(body, width, rows);
    return cudaGetLastError();
  }

  cudaStream_t stream;
};

} // namespace cudamedian

#endif
