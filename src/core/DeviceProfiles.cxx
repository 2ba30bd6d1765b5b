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
#include "DeviceProfiles.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** The row of an architecture, or of the next older one, or the oldest. */
const ArchitectureRow &
FindArchitecture(int architecture)
{
  const auto & rows = GetArchitectureRows();
  const auto * row = &rows.front();
  for (const auto & candidate : rows)
  {
    row = candidate.architecture <= architecture ? &candidate : row;
  }
  return *row;
}

} // namespace

const std::vector<ArchitectureRow> &
GetArchitectureRows()
{
  // Never destroyed, like all that follows: a thread may be at work when the process ends.
  static const auto & rows = *new std::vector<ArchitectureRow>{
#include "Architectures.inc"
  };
  return rows;
}

const std::vector<DeviceProfile> &
GetDeviceProfiles()
{
  static const auto & profiles = *new std::vector<DeviceProfile>{
#include "DeviceProfiles.inc"
  };
  return profiles;
}

DeviceTraits
GetArchitectureTraits(int architecture)
{
  const auto &       row = FindArchitecture(architecture);
  const auto * const known = FindDeviceProfile("h200");
  DeviceTraits       traits;
  traits.name = "sm_" + std::to_string(architecture);
  traits.computeCapability = architecture;
  traits.multiprocessors = known->multiprocessors;
  traits.kilohertz = known->kilohertz;
  traits.blockSharedBytes = GetBlockSharedBytes(architecture);
  traits.sharedBytes = row.sharedKibibytes * 1024;
  traits.reservedSharedBytes = row.reservedSharedBytes;
  traits.registers = row.registers;
  traits.warps = row.warps;
  traits.blocks = row.blocks;
  traits.cacheBytes = static_cast<std::size_t>(known->cacheMebibytes) << 20;
  traits.copyBytes = known->copyBytes;
  traits.pipes = row.pipes;
  return traits;
}

int
GetBlockSharedBytes(int architecture)
{
  return FindArchitecture(architecture).blockSharedKibibytes * 1024;
}

DeviceTraits
GetTraits(const DeviceProfile & profile)
{
  auto traits = GetArchitectureTraits(profile.computeCapability);
  traits.name = profile.name;
  traits.multiprocessors = profile.multiprocessors;
  traits.kilohertz = profile.kilohertz;
  traits.cacheBytes = static_cast<std::size_t>(profile.cacheMebibytes) << 20;
  traits.copyBytes = profile.copyBytes;
  return traits;
}

const DeviceProfile *
FindDeviceProfile(const std::string & keyOrName)
{
  const auto & profiles = GetDeviceProfiles();
  const auto   found = std::find_if(profiles.begin(), profiles.end(), [&](const DeviceProfile & profile) {
    return keyOrName == profile.key || keyOrName == profile.name;
  });
  return found == profiles.end() ? nullptr : &*found;
}

const DeviceTraits &
GetH200Traits()
{
  static const auto & traits = *new DeviceTraits(GetTraits(*FindDeviceProfile("h200")));
  return traits;
}

double
GetRelativeSpeed(const DeviceTraits & traits)
{
  const auto & known = GetH200Traits();
  return static_cast<double>(traits.multiprocessors) / known.multiprocessors * traits.kilohertz / known.kilohertz;
}

} // namespace cudamedian
