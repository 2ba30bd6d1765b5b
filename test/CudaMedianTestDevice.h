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
#ifndef CudaMedianTestDevice_h
#define CudaMedianTestDevice_h

#include "itkCudaMedianEngine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cudamediantest
{

/** Asked once: a query costs a driver call, and a test program makes thousands of cases. */
inline const cudamedian::DeviceAvailability &
Device()
{
  static const cudamedian::DeviceAvailability device = cudamedian::QueryCudaDevice();
  return device;
}

/** Whether this run must not pass without a GPU. */
inline bool
GpuIsRequired()
{
  const char * const text = std::getenv("CUDAMEDIAN_REQUIRE_GPU");
  return text != nullptr && std::string(text) == "1";
}

} // namespace cudamediantest

/** Ends a test that needs a GPU: skipped without one, failed when CUDAMEDIAN_REQUIRE_GPU=1. */
#define CUDAMEDIAN_NEEDS_GPU()                                                           \
  do                                                                                     \
  {                                                                                      \
    if (!cudamediantest::Device().usable)                                                \
    {                                                                                    \
      if (cudamediantest::GpuIsRequired())                                               \
      {                                                                                  \
        FAIL() << "no usable CUDA device: " << cudamediantest::Device().description;     \
      }                                                                                  \
      GTEST_SKIP() << "no usable CUDA device: " << cudamediantest::Device().description; \
    }                                                                                    \
  } while (false)

#endif
