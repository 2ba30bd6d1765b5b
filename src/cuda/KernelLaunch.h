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
#ifndef KernelLaunch_h
#define KernelLaunch_h

#include "InterpretedProgram.h"
#include "KernelArguments.h"
#include "KernelPolicy.h"
#include "PixelFormat.h"
#include "Window.h"

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

/** The host's side of the kernels. Every launch is asynchronous on its stream and returns CUDA's error. */
namespace cudamedian
{

/** A kernel that runs a tile program, compiled ahead or at first use. */
struct EmittedKernel
{
  Window       window;
  KeyFormat    keyFormat;
  KeyPacking   packing;
  Extent       tile;
  std::size_t  operations; ///< of the program, min and max of two operands
  KernelShape  shape;
  const void * function; ///< what cudaLaunchKernel takes
};

/** The kernels compiled ahead: for each window and key format one function, once with each packing that its code may
 * have.
 */
const std::vector<EmittedKernel> &
GetEmittedKernels();

/** The kernel compiled ahead for a window, with the packing of the code that the driver loaded for the current device.
 * \param kernel is null afterwards where none was compiled ahead. \returns CUDA's error. */
cudaError_t
FindEmittedKernel(const Window & window, KeyFormat keyFormat, const EmittedKernel *& kernel);

/** Completes the arguments for a kernel's blocks and launches it over the output box; a grid larger than CUDA allows
 * becomes several launches. */
cudaError_t
LaunchEmittedKernel(const EmittedKernel & kernel, KernelArguments arguments, cudaStream_t stream);

/** Shared memory of one block of the interpreting kernel, in bytes. */
std::size_t
GetInterpreterSharedBytes(const ProgramSchedule & schedule, KeyFormat keyFormat);

/** Runs a schedule that lies in device memory over a slab. The device must allow the shared memory above. */
cudaError_t
LaunchInterpreter(const KernelArguments &    arguments,
                  const InterpretedProgram & program,
                  KeyFormat                  keyFormat,
                  std::size_t                sharedBytes,
                  cudaStream_t               stream);

/** Selects each median of a slab on its own. */
cudaError_t
LaunchSelection(const KernelArguments & arguments, KeyFormat keyFormat, cudaStream_t stream);

/** Whether the current device can run this library's kernels: cudaSuccess, or why not. */
cudaError_t
CheckKernelImage();

/** Where the code of this library's kernels for the current device comes from. */
struct KernelImage
{
  /** The architecture that the loaded code was compiled for, and the device's: major * 10 + minor. */
  int compiledFor{ 0 };
  int computeCapability{ 0 };
  /** Whether the library has machine code of the device's architecture, and the driver took it. Otherwise it is code of
   * an older architecture, or made by the driver from PTX, which nobody has tested. */
  bool isNative{ true };

  /** "", or what is loaded instead of native code. */
  std::string
  Describe() const;
};

/** Asks the kernels that are loaded. \returns CUDA's error. */
cudaError_t
GetKernelImage(KernelImage & image);

/** The architecture that the kernels loaded for the current device were compiled for. \returns CUDA's error. */
cudaError_t
GetCompiledArchitecture(int & architecture);

/** The architectures that the library has PTX of, but no machine code. */
const std::vector<int> &
GetVirtualArchitectures();

} // namespace cudamedian

#endif
