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
#ifndef CudaError_h
#define CudaError_h

#include "itkCudaMedianEngine.h"

#include <cuda_runtime_api.h>

#include <string>

namespace cudamedian
{

/** A CUDA call that failed. */
class CudaError : public DeviceError
{
public:
  CudaError(cudaError_t code, const std::string & text)
    : DeviceError(text)
    , m_Code(code)
  {}

  cudaError_t
  GetCode() const
  {
    return m_Code;
  }

private:
  cudaError_t m_Code;
};

/** Throws a CudaError that names the call, where a CUDA call failed. The error is cleared, so that no later call finds
 * it again. Some errors stay, as after a kernel that wrote where it must not: then the text says that the process has
 * to be started again. */
void
CheckCuda(cudaError_t error, const char * call);

/** Whether an error says that a stream or an event went with its CUDA context. */
bool
IsLostHandle(cudaError_t error);

} // namespace cudamedian

#endif
