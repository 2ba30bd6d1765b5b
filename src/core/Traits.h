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
#ifndef Traits_h
#define Traits_h

#include <cstddef>
#include <string>

namespace cudamedian
{

/** What a policy knows of a device. */
struct DeviceTraits
{
  std::string name;
  int         computeCapability{ 0 }; ///< major * 10 + minor
  int         multiprocessors{ 0 };
  int         clockKilohertz{ 0 };
  int         sharedBytesOfBlock{ 0 };          ///< shared memory that a block can have, when it asks for it
  int         sharedBytesOfMultiprocessor{ 0 }; ///< shared memory of all blocks of a multiprocessor together
  int         registersOfMultiprocessor{ 0 };   ///< registers of 32 bits
  int         l2Bytes{ 0 };                     ///< second-level cache
  double      copyBytes{ 0 }; ///< bytes a second over the bus in either direction, both at once; 0: not measured
};

/** The device that the tables of measured rates name: an NVIDIA H200. Policies take it where no device is at hand, as
 * when programs are emitted. */
const DeviceTraits &
GetH200Traits();

/** How many times as fast as another device one is, by multiprocessors and clock. */
double
GetRelativeSpeed(const DeviceTraits & device, const DeviceTraits & other);

/** What a policy knows of the host. */
struct HostTraits
{
  double   laneBytes{ 0 }; ///< bytes of keys that a thread compares in a second while each core has one
  double   copyBytes{ 0 }; ///< bytes that one thread copies in a second, past the caches
  unsigned cores{ 1 };
};

} // namespace cudamedian

#endif
