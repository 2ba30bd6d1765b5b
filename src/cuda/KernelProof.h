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
#ifndef KernelProof_h
#define KernelProof_h

#include "CudaMedianExport.h"
#include "itkCudaMedianEngine.h"
#include "Window.h"

#include <string>

namespace cudamedian
{

/** The kinds of kernels that run a plan. */
enum class KernelMeans
{
  Ahead,       ///< a tile program, compiled ahead
  AtFirstUse,  ///< a tile program, compiled at first use
  Interpreter, ///< a tile program, interpreted
  Ranks,
  Histograms,
  Merges,
  Selection
};

/** "the kernel compiled ahead", … */
const char *
ToString(KernelMeans means);

/** Whether a kind of kernel may be used for a request's window and pixels on a device.
 *
 * Native code is taken as it is. Any other code nobody has run before: when a process uses it first, a small image of
 * random pixels is filtered with it and compared with what the CPU backend gives, pixel for pixel. The answer holds
 * until the process ends. Needs some hundred kilobytes of device memory meanwhile, beside the budget. Thread-safe.
 *
 * \param isNative whether the code was compiled for the device's architecture.
 * \returns "", or why it is out of use.
 * \throws DeviceError when a CUDA call fails for good. */
std::string
ProveKernel(const MedianRequest & request, int device, KernelMeans means, bool isNative);

/** Takes a kind of kernel out of use for a window on a device until the process ends, or back with an empty reason.
 * What a failed proof does, and for tests of what follows. */
CudaMedian_EXPORT void
TakeOutOfUse(const Window & window, PixelType type, int device, KernelMeans means, const std::string & why);

} // namespace cudamedian

#endif
