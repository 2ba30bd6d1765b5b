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

namespace cudamedian
{
namespace
{

/** Does nothing, and speaks for all kernels of the library: they are compiled for the same architectures. */
__global__ void
ProbeKernel()
{}

} // namespace

cudaError_t
CheckKernelImage()
{
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, ProbeKernel);
}

cudaError_t
GetCompiledArchitecture(int & architecture)
{
  cudaFuncAttributes attributes;
  const auto         error = cudaFuncGetAttributes(&attributes, ProbeKernel);
  architecture = error == cudaSuccess ? attributes.ptxVersion : 0;
  return error;
}

} // namespace cudamedian
