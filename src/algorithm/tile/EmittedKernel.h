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
#ifndef EmittedKernel_h
#define EmittedKernel_h

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
  int          architecture; ///< that its program was made for, major * 10 + minor
  KeyPacking   packing;
  Extent       tile;
  std::size_t  operations; ///< of the program, min and max of two operands
  KernelShape  shape;
  const void * function; ///< what cudaLaunchKernel takes
  const void * ofOutliers{
    nullptr
  }; ///< the same of a kernel of this shape that replaces outliers alone, if there is one
};

/** The kernels compiled ahead: for each window and key format one function, once for each architecture that its code
 * may be of.
 */
const std::vector<EmittedKernel> &
GetEmittedKernels();

/** The kernel compiled ahead for a window, as the code is that the driver loaded for the current device.
 * \param kernel is null afterwards where none was compiled ahead. \returns CUDA's error. */
cudaError_t
FindEmittedKernel(const Window & window, KeyFormat keyFormat, const EmittedKernel *& kernel);

/** What launches of a kernel have to know. Holds as long as the device's CUDA context. */
struct EmittedLaunch
{
  int  multiprocessors{ 1 }; ///< of the device
  bool isEarly{ false };     ///< see LaunchKernel()
};

/** Allows a kernel the shared memory that it takes on the current device. \returns CUDA's error. */
cudaError_t
PrepareEmittedKernel(const EmittedKernel & kernel, EmittedLaunch & launch);

/** Completes the arguments for a kernel's blocks and launches it over the output box, on the device that it was
 * prepared on; a grid larger than CUDA allows becomes several launches.
 * \param rule what a kernel is told that reads masks, MaskRules, or that replaces outliers alone, OutlierDistance */
cudaError_t
LaunchEmittedKernel(const EmittedKernel & kernel,
                    const EmittedLaunch & launch,
                    KernelArguments       arguments,
                    cudaStream_t          stream,
                    const void *          rule = nullptr);

/** Both in one call. */
cudaError_t
LaunchEmittedKernel(const EmittedKernel & kernel, const KernelArguments & arguments, cudaStream_t stream);

} // namespace cudamedian

#endif
