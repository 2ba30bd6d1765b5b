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
#ifndef itkCudaMedianWarmUp_h
#define itkCudaMedianWarmUp_h

#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** What kernels are wanted: of the median of each window, for each type, on each device. */
struct WarmUpRequest
{
  std::vector<Extent>    radii;
  std::vector<PixelType> pixelTypes;
  /** Numbers of CUDA devices; empty: all that this process sees. */
  std::vector<int> devices;
  /** A device that need not be at hand, in place of those: one of documentation/devices.md such as "h100", or an
   * architecture such as "sm_90", for devices that the project has no measurements of. */
  std::string target;
};

/** What there is of one of them. */
struct WarmUpResult
{
  std::string device;                   ///< "CUDA device 0", or the target
  Extent      window{ { 0, 0, 0, 0 } }; ///< 2r+1 along each axis
  PixelType   pixelType{ PixelType::UInt8 };
  bool        isReady{ false }; ///< whether nothing is left to compile
  std::string how; ///< "compiled with NVRTC 13.0", "from the cache on disk", "compiled ahead", or why there is none
  double      seconds{ 0 };
};

/** Compiles the kernels of windows that are compiled at first use, and keeps them on disk: later processes of the same
 * user find them there. Windows that no kernel has to be compiled for are told too. A target needs no device.
 *
 * \param report called after each, if not null.
 * \returns all, in the order of devices, types and windows.
 * \throws RequestError when a radius is negative or the target is unknown, DeviceError when a device cannot be used, or
 * there is none and no target. */
CudaMedian_EXPORT std::vector<WarmUpResult>
WarmUp(const WarmUpRequest & request, const std::function<void(const WarmUpResult &)> & report = nullptr);

} // namespace cudamedian

#endif
