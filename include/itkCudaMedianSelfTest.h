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
#ifndef itkCudaMedianSelfTest_h
#define itkCudaMedianSelfTest_h

#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** What one check of the self-test found. */
struct SelfTestResult
{
  std::string device;                        ///< "host", or "CUDA device 0"
  std::string kernel;                        ///< what computed: "tile program, compiled ahead", "local ranks", …
  Extent      window{ { 0, 0, 0, 0 } };      ///< 2r+1 along each axis
  PixelType   pixelType{ PixelType::UInt8 }; ///< of the image that was filtered
  std::string wrong;                         ///< "" when every pixel was right, else what was found
  double      seconds{ 0 };                  ///< the check took
};

/** Filters small images of random pixels with every kernel and algorithm on the host and on CUDA devices, and compares
 * every pixel: on the host with the definition of the median, on devices with what the host gives. Takes seconds; more
 * where the driver has to translate kernels first.
 *
 * \param devices numbers of CUDA devices; empty: all that this process sees. None is no error: the host is checked.
 * \param report called after each check, if not null.
 * \returns all checks. Never throws for what a check finds. \throws DeviceError when a listed device cannot be used. */
CudaMedian_EXPORT std::vector<SelfTestResult>
SelfTest(const std::vector<int> & devices = {}, const std::function<void(const SelfTestResult &)> & report = nullptr);

/** Prints checks as a table, a line for each device and kernel with the windows and pixel types it was right for, and
 * one for each check that failed. */
CudaMedian_EXPORT void
PrintSelfTest(const std::vector<SelfTestResult> & results, std::ostream & os);

} // namespace cudamedian

#endif
