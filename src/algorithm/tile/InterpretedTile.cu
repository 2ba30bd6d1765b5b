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
#include "InterpretedLaunch.h"
#include "InterpretedTile.h"
#include "LaunchShape.h"
#include "SharedMemoryLimit.h"

namespace cudamedian
{
namespace
{

/** One warp along a row: its slots take the most shared memory that leaves several blocks to an SM. */
constexpr int interpreterBlock = 32;

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
    auto * slots = reinterpret_cast<typename InterpretedKey<TPixelBits>::Type *>(shared) + threadIdx.x;
    RunInterpretedTile<TPixelBits, VMapping>(arguments, program, tile, slots, interpreterBlock);
  }
}

template <typename TPixelBits, KeyMapping VMapping>
cudaError_t
LaunchInterpreterOf(const KernelArguments &    arguments,
                    const InterpretedProgram & program,
                    std::size_t                sharedBytes,
                    cudaStream_t               stream)
{
  const auto shape =
    GetLaunchShape(arguments.outputExtent, program.tile, InterpretedKey<TPixelBits>::Pixels, interpreterBlock, 1);
  const auto error = AllowSharedMemory(reinterpret_cast<const void *>(InterpreterKernel<TPixelBits, VMapping>),
                                       static_cast<int>(sharedBytes));
  if (error != cudaSuccess)
  {
    return error;
  }
  InterpreterKernel<TPixelBits, VMapping>
    <<<shape.GetGrid(), interpreterBlock, sharedBytes, stream>>>(arguments, program, shape);
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

} // namespace cudamedian
