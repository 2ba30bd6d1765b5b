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
#ifndef DeviceProfiles_h
#define DeviceProfiles_h

#include "Traits.h"

#include <string>
#include <vector>

/** What is known of GPUs that are not at hand: of architectures, whose kernels are compiled ahead, and of devices. */
namespace cudamedian
{

/** A row of Architectures.inc. */
struct ArchitectureRow
{
  int        architecture; ///< major * 10 + minor
  int        blockSharedKibibytes;
  int        sharedKibibytes; ///< of a multiprocessor
  int        reservedSharedBytes;
  int        registers;
  int        warps;
  int        blocks;
  PipeTraits pipes;
};

/** A row of DeviceProfiles.inc. */
struct DeviceProfile
{
  const char * key;  ///< what CUDAMEDIAN_PRETEND_DEVICE takes
  const char * name; ///< as the driver says it
  int          computeCapability;
  int          multiprocessors;
  int          kilohertz;
  int          cacheMebibytes;
  double       copyBytes; ///< read and written in a second
};

/** All rows of Architectures.inc, the oldest first. */
const std::vector<ArchitectureRow> &
GetArchitectureRows();

/** All rows of DeviceProfiles.inc. */
const std::vector<DeviceProfile> &
GetDeviceProfiles();

/** What every device of an architecture has. Its name is "sm_89"; multiprocessors, clock, cache and copies are those of
 * an H200, since they decide nothing of a kernel. An architecture without a row has that of the next older one, or of
 * the oldest. */
DeviceTraits
GetArchitectureTraits(int architecture);

/** Shared memory that a block of an architecture's devices can ask for. */
int
GetBlockSharedBytes(int architecture);

/** The traits of a profile. */
DeviceTraits
GetTraits(const DeviceProfile & profile);

/** The profile with a key, or with the name that a driver says; null where there is none. */
const DeviceProfile *
FindDeviceProfile(const std::string & keyOrName);

/** An H200: the device whose times the models of the kernels tell. */
const DeviceTraits &
GetH200Traits();

/** How fast a device issues instructions, as a multiple of an H200. */
double
GetRelativeSpeed(const DeviceTraits & traits);

} // namespace cudamedian

#endif
