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
#include "KernelCompilation.h"

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

/** The kernel of a window for the current device: from memory, from the cache on disk, or compiled now, or waited for
 * where it is being compiled. A driver that takes no machine code gets PTX.
 *
 * \param traits of the current device. Thread-safe. */
RuntimeKernel
FindRuntimeKernel(const Window &       window,
                  KeyFormat            keyFormat,
                  int                  pixelBytes,
                  const DeviceTraits & traits,
                  KernelTask           task = KernelTask::Medians);

/** Compiles the kernel of a given policy, or finds it in the cache. Each call makes another kernel, which lives as long
 * as the process. */
RuntimeKernel
CompileRuntimeKernel(const Window &       window,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target);

/** The same for another program of the policy's tile, however it was put together. */
RuntimeKernel
CompileRuntimeKernel(const TileProgram &  tileProgram,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target);

} // namespace cudamedian

#endif
