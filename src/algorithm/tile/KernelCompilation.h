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
#ifndef KernelCompilation_h
#define KernelCompilation_h

#include "KernelProgram.h"
#include "PixelFormat.h"
#include "RuntimeCompiler.h"

#include <memory>
#include <optional>
#include <string>

/** Kernels that are compiled at first use, as far as no device is needed: compiled once in a process, in the background
 * or while somebody waits, and kept on disk. */
namespace cudamedian
{

/** A kernel that somebody wants: a window's, for a kind of pixels and devices with these traits. */
struct KernelWish
{
  Window       window;
  KeyFormat    keyFormat;
  DeviceTraits traits;
  KernelKind   kind;
  KernelTarget target;
  KernelTask   task{ KernelTask::Medians };
};

/** What the compiler at hand makes for a device. One that NVRTC does not know gets PTX of the newest architecture that
 * NVRTC knows, and so does one that is taken for an older one.
 * \param asPtx whether the device's driver takes no machine code of this compiler. */
KernelWish
MakeKernelWish(const Window &       window,
               KeyFormat            keyFormat,
               int                  pixelBytes,
               const DeviceTraits & traits,
               bool                 asPtx = false);

/** A kernel as a file, or why there is none. */
struct CompiledKernel
{
  KernelPolicy policy;
  KernelShape  shape;
  std::size_t  operations{ 0 };   ///< of its program
  std::size_t  instructions{ 0 }; ///< for min and max
  std::string  binary;            ///< what the driver loads; "" where it was not compiled
  std::string  explanation;       ///< "compiled with NVRTC 13.0", "from the cache on disk", or what is wrong
};

/** Compiles the kernel of a given program, which is one of the policy's tile, or finds it in the cache on disk.
 * \param isStopped  may stop the compilation, where not null
 * \throws std::invalid_argument where no kernel of the program is for the task */
CompiledKernel
CompileProgram(const TileProgram &       program,
               KeyFormat                 keyFormat,
               const KernelKind &        kind,
               const KernelPolicy &      policy,
               const KernelTarget &      target,
               const std::atomic<bool> * isStopped = nullptr,
               KernelTask                task = KernelTask::Medians);

/** A kernel that this process has compiled or tried to, or that is in the cache on disk; null where it would have to be
 * compiled. Thread-safe, like all that follows. */
std::shared_ptr<const CompiledKernel>
FindCompiledKernel(const KernelWish & wish);

/** Has a kernel compiled in the background and kept on disk, unless that was done or is under way. */
void
CompileInBackground(const KernelWish & wish);

/** The kernel: compiled by the caller where it is not there, or waited for where it is being compiled. */
std::shared_ptr<const CompiledKernel>
GetCompiledKernel(const KernelWish & wish);

} // namespace cudamedian

#endif
