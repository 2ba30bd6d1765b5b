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
#include "EarlyLaunch.h"
#include "LaunchShape.h"
#include "SharedMemoryLimit.h"
#include "Traits.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** Rows of a strip such that all multiprocessors are busy to the end: a whole number of waves of blocks. Strips are
 * short: memory answers faster where blocks that run at the same time are near each other. On one H100, 3x3 of
 * 6720x4480 pixels, f5752ba, 16 bits and float, Gpixel/s: strips of up to 32 rows 556 and 293, 16 rows 575 and 310, 8
 * rows 601 and 326, 6 rows 617 and 329, 4 rows 603 and 311; on one H200 748 and 376, 753 and 398, 761 and 399, 750 and
 * 388, 729 and 360. */
std::int32_t
GetStripRows(const KernelShape & shape, std::int64_t columnsOfBlocks, std::int64_t height, int multiprocessors)
{
  constexpr std::int64_t longest = 8;
  const auto             slots = static_cast<std::int64_t>(multiprocessors) * shape.residentBlocks;
  const auto             rows = columnsOfBlocks * DivideUp(height, shape.strips); // if one wave had to do
  const auto             waves = DivideUp(rows, slots * longest);
  const auto             stripRows = DivideUp(rows, slots * waves);
  return static_cast<std::int32_t>(DivideUp(stripRows, 2) * 2);
}

/** Steps of a block: as many as the kernel was measured with, and fewer where the image is too small to keep all
 * multiprocessors busy with such blocks. */
int
CountSteps(const KernelShape & shape, std::int64_t blocksOfOneStep, int multiprocessors)
{
  const auto enough = static_cast<std::int64_t>(multiprocessors) * std::max(1, shape.residentBlocks);
  return static_cast<int>(std::clamp<std::int64_t>(blocksOfOneStep / enough, 1, shape.steps));
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
PrepareEmittedKernel(const EmittedKernel & kernel, EmittedLaunch & launch)
{
  int  device = 0;
  auto error = cudaGetDevice(&device);
  if (error == cudaSuccess)
  {
    error = cudaDeviceGetAttribute(&launch.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess && kernel.shape.sharedBytes > unaskedSharedBytes)
  {
    error = AllowSharedMemory(kernel.function, kernel.shape.sharedBytes);
  }
  return error == cudaSuccess ? AwaitsKernelsInFront(kernel.function, launch.isEarly) : error;
}

cudaError_t
LaunchEmittedKernel(const EmittedKernel & kernel, const KernelArguments & arguments, cudaStream_t stream)
{
  EmittedLaunch launch;
  const auto    error = PrepareEmittedKernel(kernel, launch);
  return error != cudaSuccess ? error : LaunchEmittedKernel(kernel, launch, arguments, stream);
}

cudaError_t
LaunchEmittedKernel(const EmittedKernel & kernel,
                    const EmittedLaunch & launch,
                    KernelArguments       arguments,
                    cudaStream_t          stream,
                    const void *          rule)
{
  const auto & shape = kernel.shape;
  std::int64_t block[Dimension];
  std::copy(shape.block, shape.block + Dimension, block);
  const auto blocksX = DivideUp(arguments.outputExtent[0] + arguments.outputOrigin[0] - arguments.gridOrigin, block[0]);
  const auto blocksW = DivideUp(arguments.outputExtent[3], block[3]);
  if (shape.strips > 0 || shape.steps > 0)
  {
    const auto height = arguments.outputExtent[1];
    const auto slices = DivideUp(arguments.outputExtent[2], block[2]) * blocksW;
    if (shape.strips > 0)
    {
      arguments.stripRows = GetStripRows(shape, blocksX * slices, height, launch.multiprocessors);
      block[1] *= arguments.stripRows;
    }
    else
    {
      const int steps = CountSteps(shape, blocksX * DivideUp(height, block[1]) * slices, launch.multiprocessors);
      arguments.stripRows = steps * shape.stepLength;
      block[shape.marchAxis] *= steps;
    }
  }
  const auto blocksY = DivideUp(arguments.outputExtent[1], block[1]);
  const auto blocksZ = DivideUp(arguments.outputExtent[2], block[2]);
  const auto blocksZW = blocksZ * blocksW;
  arguments.blocksZ = static_cast<std::uint32_t>(blocksZ);
  arguments.one = 1;
  arguments.minusOne = ~std::uint32_t{ 0 };
  for (std::int64_t z = 0; z < blocksZW; z += largestGrid)
  {
    for (std::int64_t y = 0; y < blocksY; y += largestGrid)
    {
      arguments.firstBlock[0] = static_cast<std::uint32_t>(y);
      arguments.firstBlock[1] = static_cast<std::uint32_t>(z);
      const dim3 grid(static_cast<unsigned int>(blocksX),
                      static_cast<unsigned int>(std::min(blocksY - y, largestGrid)),
                      static_cast<unsigned int>(std::min(blocksZW - z, largestGrid)));
      void *     parameters[] = { &arguments, const_cast<void *>(rule) }; // the second if the kernel has it
      const auto error = LaunchKernel(kernel.function,
                                      grid,
                                      dim3(static_cast<unsigned int>(kernel.shape.threads)),
                                      parameters,
                                      kernel.shape.sharedBytes,
                                      launch.isEarly,
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
