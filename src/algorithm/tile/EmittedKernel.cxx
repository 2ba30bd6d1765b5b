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
#include "EmittedKernel.h"

#include "DivideUp.h"
#include "SharedMemoryLimit.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** What CUDA allows of blocks along the second and third axis of a grid. */
constexpr std::int64_t largestGrid = 65535;

/** Rows of a strip such that all multiprocessors are busy to the end: a whole number of waves of blocks, of strips
 * short enough for small images and long enough that the rows above and below them do not count. */
std::int32_t
GetStripRows(const KernelShape & shape, std::int64_t columnsOfBlocks, std::int64_t height, int multiprocessors)
{
  constexpr std::int64_t longest = 32;
  const auto             slots = static_cast<std::int64_t>(multiprocessors) * shape.residentBlocks;
  const auto             rows = columnsOfBlocks * DivideUp(height, shape.strips); // if one wave had to do
  const auto             waves = DivideUp(rows, slots * longest);
  const auto             stripRows = DivideUp(rows, slots * waves);
  return static_cast<std::int32_t>(DivideUp(stripRows, 2) * 2);
}

} // namespace

cudaError_t
FindEmittedKernel(const Window & window, KeyFormat keyFormat, const EmittedKernel *& kernel)
{
  kernel = nullptr;
  int compiledFor = 0;
  for (const auto & candidate : GetEmittedKernels())
  {
    if (candidate.window != window || candidate.keyFormat != keyFormat)
    {
      continue;
    }
    if (compiledFor == 0)
    {
      // What can be launched is what the driver loaded, not what would suit the device.
      cudaFuncAttributes attributes;
      const auto         error = cudaFuncGetAttributes(&attributes, candidate.function);
      if (error != cudaSuccess)
      {
        return error;
      }
      compiledFor = attributes.ptxVersion;
    }
    if (candidate.architecture <= compiledFor && (kernel == nullptr || candidate.architecture > kernel->architecture))
    {
      kernel = &candidate;
    }
  }
  return cudaSuccess;
}

cudaError_t
LaunchEmittedKernel(const EmittedKernel & kernel, KernelArguments arguments, cudaStream_t stream)
{
  const auto & block = kernel.shape.block;
  const auto blocksX = DivideUp(arguments.outputExtent[0] + arguments.outputOrigin[0] - arguments.gridOrigin, block[0]);
  const auto blocksZ = DivideUp(arguments.outputExtent[2], block[2]);
  const auto blocksZW = blocksZ * DivideUp(arguments.outputExtent[3], block[3]);
  auto       blockHeight = static_cast<std::int64_t>(block[1]);
  if (kernel.shape.strips > 0)
  {
    int        device = 0;
    int        multiprocessors = 1;
    const auto error = cudaGetDevice(&device);
    if (error != cudaSuccess)
    {
      return error;
    }
    const auto attributeError = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (attributeError != cudaSuccess)
    {
      return attributeError;
    }
    arguments.stripRows = GetStripRows(kernel.shape, blocksX * blocksZW, arguments.outputExtent[1], multiprocessors);
    blockHeight *= arguments.stripRows;
  }
  const auto blocksY = DivideUp(arguments.outputExtent[1], blockHeight);
  arguments.blocksZ = static_cast<std::uint32_t>(blocksZ);
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  if (kernel.shape.sharedBytes > 48 * 1024)
  {
    const auto error = AllowSharedMemory(kernel.function, kernel.shape.sharedBytes);
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  for (std::int64_t z = 0; z < blocksZW; z += largestGrid)
  {
    for (std::int64_t y = 0; y < blocksY; y += largestGrid)
    {
      arguments.firstBlock[0] = static_cast<std::uint32_t>(y);
      arguments.firstBlock[1] = static_cast<std::uint32_t>(z);
      const dim3 grid(static_cast<unsigned int>(blocksX),
                      static_cast<unsigned int>(std::min(blocksY - y, largestGrid)),
                      static_cast<unsigned int>(std::min(blocksZW - z, largestGrid)));
      void *     parameters[] = { &arguments };
      const auto error = cudaLaunchKernel(kernel.function,
                                          grid,
                                          dim3(static_cast<unsigned int>(kernel.shape.threads)),
                                          parameters,
                                          static_cast<std::size_t>(kernel.shape.sharedBytes),
                                          stream);
      if (error != cudaSuccess)
      {
        return error;
      }
    }
  }
  return cudaSuccess;
}

} // namespace cudamedian
