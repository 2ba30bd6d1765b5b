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
BodyKernel(TBody body, std::int64_t width, std::int64_t height, std::int64_t slices)
{
  for (std::int64_t slice = blockIdx.z; slice < slices; slice += gridDim.z)
  {
    for (std::int64_t y = std::int64_t{ blockIdx.y } * blockDim.y + threadIdx.y; y < height;
         y += std::int64_t{ gridDim.y } * blockDim.y)
    {
      const auto row = body.GetRow(y, slice);
      for (std::int64_t x = std::int64_t{ blockIdx.x } * blockDim.x + threadIdx.x; x < width;
           x += std::int64_t{ gridDim.x } * blockDim.x)
      {
        body(row, x);
      }
    }
  }
}

/** Threads of a warp that lie in a row: it has several short ones, since of 256 pixels there are 8 words of flags. */
inline std::int64_t
GetColumnsOfWarp(std::int64_t width)
{
  std::int64_t columns = 32;
  while (columns / 2 >= width && columns > 1)
  {
    columns /= 2;
  }
  return columns;
}

/** Blocks along an axis of a grid. */
inline unsigned int
GetBlocks(std::int64_t count)
{
  return static_cast<unsigned int>(std::min<std::int64_t>(count, largestGrid));
}

/** Launches a body for each column of each row of its box. */
struct BodyLauncher
{
  template <typename TBody>
  cudaError_t
  operator()(const TBody & body) const
  {
    const auto width = body.GetWidth();
    const auto height = body.GetHeight();
    const auto columns = GetColumnsOfWarp(width);
    const auto rows = std::min(height, TBody::threadsOfBlock / columns);
    const dim3 threads(static_cast<unsigned int>(columns), static_cast<unsigned int>(rows));
    const dim3 blocks(GetBlocks(DivideUp(width, columns * TBody::columnsOfThread)),
                      GetBlocks(DivideUp(height, rows)),
                      GetBlocks(body.CountSlices()));
    cudaGetLastError(); // an error that another's call left behind is none of this launch
    BodyKernel<<<blocks, threads, 0, stream>>>(body, width, height, body.CountSlices());
    return cudaGetLastError();
  }

  cudaStream_t stream;
};

} // namespace cudamedian

#endif
