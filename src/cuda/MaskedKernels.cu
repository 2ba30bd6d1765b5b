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
#include "BodyLauncher.cuh"
#include "FillBodies.h"
#include "MarkBodies.h"
#include "MaskedBodies.h"
#include "RankBodies.h"
#include "RowBodies.h"

namespace cudamedian
{
namespace
{

// A row has up to one warp: with 64 registers those of 4096 rows are on an H100 at once.
template <typename TBody>
__global__ void
__launch_bounds__(TBody::threadsOfBlock, 4) RowKernel(TBody body, std::int64_t height, std::int64_t slices)
{
  const WarpLanes lanes{ static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x) };
  for (std::int64_t slice = blockIdx.z; slice < slices; slice += gridDim.z)
  {
    for (std::int64_t y = std::int64_t{ blockIdx.y } * blockDim.y + threadIdx.y; y < height;
         y += std::int64_t{ gridDim.y } * blockDim.y)
    {
      body(lanes, y, slice);
    }
  }
}

/** Lanes that have a row of so many words: fewer where there are many rows, since each looks for the row's place. */
std::int64_t
GetLanesOfRow(std::int64_t words, std::int64_t rows)
{
  constexpr std::int64_t fewest = 4;
  constexpr std::int64_t enough = std::int64_t{ 1 } << 18; // threads that keep a device busy
  auto                   lanes = GetColumnsOfWarp(words);
  while (lanes > fewest && rows * lanes > enough)
  {
    lanes /= 2;
  }
  return lanes;
}

/** Launches a body for each row of its box, of which lanes of a warp have one. */
struct RowLauncher
{
  template <typename TBody>
  cudaError_t
  operator()(const TBody & body) const
  {
    const auto height = body.GetHeight();
    const auto columns = GetLanesOfRow(body.GetWidth(), height * body.CountSlices());
    const auto rows = std::min(height, TBody::threadsOfBlock / columns);
    const dim3 threads(static_cast<unsigned int>(columns), static_cast<unsigned int>(rows));
    const dim3 blocks(1, GetBlocks(DivideUp(height, rows)), GetBlocks(body.CountSlices()));
    cudaGetLastError(); // an error that another's call left behind is none of this launch
    RowKernel<<<blocks, threads, 0, stream>>>(body, height, body.CountSlices());
    return cudaGetLastError();
  }

  cudaStream_t stream;
};

} // namespace

cudaError_t
LaunchMarks(const MarkArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<MarkBody>(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchParities(const TurnArguments & arguments, cudaStream_t stream)
{
  return BodyLauncher{ stream }(ParityBody(arguments));
}

cudaError_t
LaunchTurns(const TurnArguments & arguments, cudaStream_t stream)
{
  return BodyLauncher{ stream }(TurnBody(arguments));
}

cudaError_t
LaunchFilling(const FillArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<FillBody>(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchRows(const RowsArguments & arguments, cudaStream_t stream)
{
  return DispatchRows(arguments, RowLauncher{ stream });
}

cudaError_t
LaunchRanks(const RankArguments & arguments, cudaStream_t stream)
{
  return DispatchRanks(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchMeans(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchMeans(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchFinish(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchFinish(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchExceptions(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<ExceptionBody>(arguments, BodyLauncher{ stream });
}

} // namespace cudamedian
