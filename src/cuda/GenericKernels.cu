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
#include "KernelBodies.h"
#include "KernelLaunch.h"
#include "SharedMemoryLimit.h"

namespace cudamedian
{
namespace
{

/** One warp along a row: its slots take the most shared memory that leaves several blocks to an SM. */
constexpr int interpreterBlock = 32;
constexpr int selectionBlock = 128;

/** Blocks of selection that a multiprocessor runs at once, where the compiler is told. On sm_90 that is as many as it
 * chose when kernels computed the rank: with 32 registers for pixels of 16 bits and 40 for others. Left to itself, it
 * takes 40 and up to 48. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
template <typename TPixelBits>
constexpr int selectionBlocks = sizeof(TPixelBits) == 2 ? 16 : 12;
#else
template <typename TPixelBits>
constexpr int selectionBlocks = 0;
#endif

template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(interpreterBlock) InterpreterKernel(const __grid_constant__ KernelArguments    arguments,
                                                      const __grid_constant__ InterpretedProgram program,
                                                      const __grid_constant__ LaunchShape        shape)
{
  extern __shared__ std::uint64_t shared[];
  std::int64_t                    tile[Dimension];
  if (shape.GetTile(blockIdx.x, static_cast<int>(threadIdx.x), 0, tile))
  {
    auto * slots = reinterpret_cast<typename KeyRegister<TPixelBits>::Type *>(shared) + threadIdx.x;
    RunInterpretedTile<TPixelBits, VMapping>(arguments, program, tile, slots, interpreterBlock);
  }
}

template <typename TPixelBits, KeyMapping VMapping>
__global__ void
__launch_bounds__(selectionBlock, selectionBlocks<TPixelBits>)
  SelectionKernel(const __grid_constant__ KernelArguments arguments, const __grid_constant__ LaunchShape shape)
{
  std::int64_t pixel[Dimension];
  if (shape.GetTile(blockIdx.x, static_cast<int>(threadIdx.x), 0, pixel))
  {
    RunSelectedPixel<TPixelBits, VMapping>(arguments, pixel);
  }
}

/** Blocks of a launch, or 0 when there are more than a grid holds. */
unsigned int
GetGrid(const LaunchShape & shape)
{
  return shape.GetNumberOfBlocks() > 0x7FFFFFFF ? 0U : static_cast<unsigned int>(shape.GetNumberOfBlocks());
}

template <typename TPixelBits, KeyMapping VMapping>
cudaError_t
LaunchInterpreterOf(const KernelArguments &    arguments,
                    const InterpretedProgram & program,
                    std::size_t                sharedBytes,
                    cudaStream_t               stream)
{
  const auto shape =
    GetLaunchShape(arguments.outputExtent, program.tile, KeyRegister<TPixelBits>::Pixels, interpreterBlock, 1);
  const auto error = AllowSharedMemory(reinterpret_cast<const void *>(InterpreterKernel<TPixelBits, VMapping>),
                                       static_cast<int>(sharedBytes));
  if (error != cudaSuccess)
  {
    return error;
  }
  InterpreterKernel<TPixelBits, VMapping>
    <<<GetGrid(shape), interpreterBlock, sharedBytes, stream>>>(arguments, program, shape);
  return cudaGetLastError();
}

template <typename TPixelBits, KeyMapping VMapping>
cudaError_t
LaunchSelectionOf(const KernelArguments & arguments, cudaStream_t stream)
{
  const int  single[Dimension] = { 1, 1, 1, 1 };
  const auto shape = GetLaunchShape(arguments.outputExtent, single, 1, selectionBlock, 1);
  SelectionKernel<TPixelBits, VMapping><<<GetGrid(shape), selectionBlock, 0, stream>>>(arguments, shape);
  return cudaGetLastError();
}

} // namespace

std::size_t
GetInterpreterSharedBytes(const ProgramSchedule & schedule, KeyFormat keyFormat)
{
  const bool wide = GetPixelBytes(keyFormat) == 8;
  return static_cast<std::size_t>(schedule.numberOfSlots) * interpreterBlock * (wide ? 8 : 4);
}

cudaError_t
LaunchInterpreter(const KernelArguments &    arguments,
                  const InterpretedProgram & program,
                  KeyFormat                  keyFormat,
                  std::size_t                sharedBytes,
                  cudaStream_t               stream)
{
  return DispatchKeys(keyFormat, [&](auto key) {
    return LaunchInterpreterOf<typename decltype(key)::Bits, decltype(key)::mapping>(
      arguments, program, sharedBytes, stream);
  });
}

cudaError_t
LaunchSelection(const KernelArguments & arguments, KeyFormat keyFormat, cudaStream_t stream)
{
  return DispatchKeys(keyFormat, [&](auto key) {
    return LaunchSelectionOf<typename decltype(key)::Bits, decltype(key)::mapping>(arguments, stream);
  });
}

cudaError_t
CheckKernelImage()
{
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, SelectionKernel<std::uint8_t, KeyMapping::Integer>);
}

cudaError_t
GetCompiledArchitecture(int & architecture)
{
  // One kernel speaks for all: they are compiled for the same architectures.
  cudaFuncAttributes attributes;
  const auto         error = cudaFuncGetAttributes(&attributes, SelectionKernel<std::uint8_t, KeyMapping::Integer>);
  architecture = error == cudaSuccess ? attributes.ptxVersion : 0;
  return error;
}

} // namespace cudamedian
