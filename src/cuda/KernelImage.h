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
#ifndef KernelImage_h
#define KernelImage_h

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace cudamedian
{

/** Tells whether the current device can run this library's kernels. \returns cudaSuccess, or CUDA's reason why not. */
cudaError_t
CheckKernelImage();

/** Where the code of this library's kernels for the current device comes from. */
struct KernelImage
{
  /** The architecture that the loaded code was compiled for, and the device's: major * 10 + minor. */
  int compiledFor{ 0 };
  int computeCapability{ 0 };
  /** Whether the library has machine code of the device's architecture, and the driver took it. Other code is that of
   * an older architecture, or the driver made it from PTX: nobody has tested it on such a device. */
  bool isNative{ true };

  /** Says what is loaded instead of native code; "" where the code is native. */
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
