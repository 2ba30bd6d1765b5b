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
#ifndef CudaMedianTestBackends_h
#define CudaMedianTestBackends_h

#include "CudaMedianTestDevice.h"

#include "itkCudaMedianImageFilter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cudamediantest
{

using BackendEnum = itk::CudaMedianImageFilterEnums::Backend;

/** The backends that every test of results goes through: the CPU always, CUDA when a device is usable. */
inline std::vector<BackendEnum>
BackendsUnderTest()
{
  std::vector<BackendEnum> backends{ BackendEnum::Cpu };
  if (Device().usable)
  {
    backends.push_back(BackendEnum::Cuda);
  }
  else if (GpuIsRequired())
  {
    ADD_FAILURE() << "CUDAMEDIAN_REQUIRE_GPU=1, but there is no usable CUDA device: " << Device().description;
  }
  return backends;
}

inline std::string
BackendText(BackendEnum backend)
{
  return std::string("backend ") + cudamedian::ToString(static_cast<cudamedian::Backend>(backend));
}

} // namespace cudamediantest

#endif
