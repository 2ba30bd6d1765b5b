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
#include "Traits.h"

namespace cudamedian
{

const DeviceTraits &
GetH200Traits()
{
  // Never destroyed: a thread may be at work when the process ends.
  static const auto & traits =
    *new DeviceTraits{ "NVIDIA H200", 90, 132, 1980000, 227 * 1024, 228 * 1024, 64 * 1024, 60 << 20, 47e9 };
  return traits;
}

double
GetRelativeSpeed(const DeviceTraits & device, const DeviceTraits & other)
{
  return static_cast<double>(device.multiprocessors) / other.multiprocessors * device.clockKilohertz /
         other.clockKilohertz;
}

} // namespace cudamedian
