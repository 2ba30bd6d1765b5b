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
#ifndef RuntimeKernels_h
#define RuntimeKernels_h

#include "EmittedKernel.h"
#include "RuntimeCompiler.h"

#include <string>

namespace cudamedian
{

/** A kernel that was compiled at first use, or why there is none. */
struct RuntimeKernel
{
  const EmittedKernel * kernel{ nullptr }; ///< lives as long as the process
  std::string           explanation;       ///< "compiled with NVRTC 13.0", "from the cache on disk", or what is missing
  bool                  isNative{ true };  ///< machine code of the device, not PTX
  bool                  loads{ true };     ///< false where the driver did not take what was compiled
};

/** The kernel of a window for the current device: from memory, from the cache on disk, or compiled now. A device that
 * NVRTC does not know, or a driver that takes no machine code, gets PTX of the newest architecture that NVRTC knows,
 * and so does one that is taken for an older one.
 *
 * \param traits of the current device. Thread-safe. */
RuntimeKernel
FindRuntimeKernel(const Window & window, KeyFormat keyFormat, int pixelBytes, const DeviceTraits & traits);

/** NVRTC 13.0 takes 1.2 s for 1,000 instructions of a tile program; what takes longer than five seconds is not worth
 * waiting for. */
constexpr std::size_t largestProgramAtFirstUse = 4000;

/** Compiles the kernel of a given policy, or finds it in the cache, unless its program has more instructions than
 * `largestProgram` and is not in the cache. Each call makes another kernel, which lives as long as the process. */
RuntimeKernel
CompileRuntimeKernel(const Window &       window,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target,
                     std::size_t          largestProgram = largestProgramAtFirstUse);

/** The same for another program of the policy's tile, however it was put together. */
RuntimeKernel
CompileRuntimeKernel(const TileProgram &  tileProgram,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target,
                     std::size_t          largestProgram = largestProgramAtFirstUse);

} // namespace cudamedian

#endif
