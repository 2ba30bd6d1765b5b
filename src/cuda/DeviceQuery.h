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
#ifndef DeviceQuery_h
#define DeviceQuery_h

#include "Traits.h"
#include "itkCudaMedianEngine.h"

#include <vector>

namespace cudamedian
{

/** Whether all of these devices, or the current one where none is listed, can be used; and their names, or what was
 * found instead. Never throws. Here and below no device is touched that is not listed: nothing is asked of it, and no
 * context is made on it. */
DeviceAvailability
QueryCudaDevices(const std::vector<int> & devices);

/** Free memory of the devices, or of the current one where none is listed, in bytes: the least of one.
 * \throws DeviceError when CUDA does not answer. */
std::size_t
GetFreeDeviceMemory(const std::vector<int> & devices);

/** What can be relied upon on each of the devices, or on the current one where none is listed: the least of every
 * number, and the older compute capability. Asked once of each. With CUDAMEDIAN_PRETEND_DEVICE, the key of a row of
 * DeviceProfiles.inc, each is taken for that device as far as it has what that one has. \throws DeviceError */
DeviceTraits
GetDeviceTraits(const std::vector<int> & devices);

/** ", taken for NVIDIA GeForce RTX 4090 (CUDAMEDIAN_PRETEND_DEVICE)", or nothing. \throws DeviceError where there is no
 * such device. */
std::string
DescribePretended();

/** Bytes a second over the buses of the devices, in either direction, both at once, from and to pinned memory. Timed
 * once for each device and process, in some ten milliseconds. \throws DeviceError when a CUDA call fails. */
double
MeasureBuses(const std::vector<int> & devices);

} // namespace cudamedian

#endif
