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
#include "KernelImage.h"

#include <algorithm>
#include <cstdlib>

namespace cudamedian
{
namespace
{

/** Whether the driver was told to take no machine code (CUDA_FORCE_PTX_JIT). Tests tell it so, to run what a newer
 * device would. */
bool
IsForcedToTranslate()
{
  const char * const text = std::getenv("CUDA_FORCE_PTX_JIT");
  return text != nullptr && std::strtol(text, nullptr, 10) != 0;
}

} // namespace

cudaError_t
GetKernelImage(KernelImage & image)
{
  int  device = 0;
  int  major = 0;
  int  minor = 0;
  auto error = GetCompiledArchitecture(image.compiledFor);
  error = error == cudaSuccess ? cudaGetDevice(&device) : error;
  error = error == cudaSuccess ? cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) : error;
  error = error == cudaSuccess ? cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) : error;
  const auto & withoutCode = GetVirtualArchitectures();
  image.computeCapability = 10 * major + minor;
  image.isNative = image.compiledFor == image.computeCapability && !IsForcedToTranslate() &&
                   std::find(withoutCode.begin(), withoutCode.end(), image.compiledFor) == withoutCode.end();
  return error;
}

std::string
KernelImage::Describe() const
{
  const auto name = [](int architecture) {
    return std::to_string(architecture / 10) + "." + std::to_string(architecture % 10);
  };
  return isNative ? ""
                  : "this build has no machine code for compute capability " + name(computeCapability) +
                      ", so its kernels run from code for " + name(compiledFor);
}

} // namespace cudamedian
