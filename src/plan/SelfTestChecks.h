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
#ifndef SelfTestChecks_h
#define SelfTestChecks_h

#include "itkCudaMedianEngine.h"

namespace cudamedian
{

constexpr PixelType allPixelTypes[] = { PixelType::Int8,    PixelType::UInt8,  PixelType::Int16, PixelType::UInt16,
                                        PixelType::Int32,   PixelType::UInt32, PixelType::Int64, PixelType::UInt64,
                                        PixelType::Float32, PixelType::Float64 };

/** A check of the self-test: returns "" or what was wrong, and says what computed. */
using Check = std::function<std::string(std::string & kernel)>;

/** Takes a check of a window and a pixel type on a device, runs it and keeps what it found. */
using AddCheck = std::function<void(const std::string & device, const Extent & radius, PixelType, const Check &)>;

/** Checks every kind of kernel on some devices, or on all where none is listed. \throws DeviceError when a listed one
 * cannot be used. */
void
CheckDevices(const std::vector<int> & devices, const AddCheck & add);

} // namespace cudamedian

#endif
