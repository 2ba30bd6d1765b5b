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
#include "BorrowedContext.h"
#include "CurrentDevice.h"
#include "DeviceProfiles.h"
#include "DeviceQuery.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <set>

namespace cudamedian
{
namespace
{

int
GetAttribute(cudaDeviceAttr attribute, int device)
{
  int value = 0;
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

/** Bytes a second in either direction, both at once, between the current device and pinned memory; 0 where there is too
 * little memory to time it. */
double
MeasureBus(int device)
{
  constexpr std::size_t bytes = std::size_t{ 8 } << 20;
  BorrowedContext       context(device);
  auto &                place = context->places.front();
  if (!context->ReservePixels(place.input, bytes) || !context->ReservePixels(place.output, bytes) ||
      !place.stagedInput.Reserve(bytes) || !place.stagedOutput.Reserve(bytes))
  {
    CheckCuda(context->ReleaseBuffers(), "cudaFree");
    return 0;
  }
  double shortest = std::numeric_limits<double>::max();
  for (int i = 0; i < 4; ++i)
  {
    const auto start = std::chrono::steady_clock::now();
    CheckCuda(
      cudaMemcpyAsync(place.input.Get(), place.stagedInput.Get(), bytes, cudaMemcpyHostToDevice, context->upload),
      "cudaMemcpyAsync");
    CheckCuda(
      cudaMemcpyAsync(place.stagedOutput.Get(), place.output.Get(), bytes, cudaMemcpyDeviceToHost, context->download),
      "cudaMemcpyAsync");
    CheckCuda(context->Synchronize(), "cudaStreamSynchronize");
    shortest = std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return static_cast<double>(bytes) / shortest;
}

/** Bytes that a copy in device memory reads and writes in a second: as its profile says, else 0.87 of what its memory
 * can do, which a copy reaches on an H200. */
double
GetCopyBytes(const std::string & name, int device)
{
  if (const auto * const profile = FindDeviceProfile(name))
  {
    return profile->copyBytes;
  }
  // Two transfers a clock. A device that shares the host's memory may not tell.
  const double bytes = 2e3 * GetAttribute(cudaDevAttrMemoryClockRate, device) *
                       (GetAttribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0);
  constexpr double least = 1e11;
  return std::max(least, 0.87 * bytes);
}

/** The profile that the device at hand is to be taken for, or null. \throws DeviceError when there is no such profile.
 */
const DeviceProfile *
GetPretendedProfile()
{
  const char * const key = std::getenv("CUDAMEDIAN_PRETEND_DEVICE");
  if (key == nullptr || *key == '\0')
  {
    return nullptr;
  }
  const auto * const profile = FindDeviceProfile(key);
  if (profile == nullptr)
  {
    std::string keys;
    for (const auto & known : GetDeviceProfiles())
    {
      keys += (keys.empty() ? "" : ", ") + std::string(known.key);
    }
    throw DeviceError(std::string("CUDAMEDIAN_PRETEND_DEVICE is \"") + key + "\"; known are " + keys);
  }
  return profile;
}

/** A profile's traits, as far as the device at hand has them. */
DeviceTraits
Pretend(const DeviceProfile & profile, const DeviceTraits & real)
{
  auto traits = GetTraits(profile);
  for (const auto member : { &DeviceTraits::computeCapability,
                             &DeviceTraits::blockSharedBytes,
                             &DeviceTraits::sharedBytes,
                             &DeviceTraits::registers,
                             &DeviceTraits::warps,
                             &DeviceTraits::blocks })
  {
    traits.*member = std::min(traits.*member, real.*member);
  }
  traits.pretendedOn = real.computeCapability;
  return traits;
}

DeviceTraits
AskDevice(int device)
{
  cudaDeviceProp properties;
  CheckCuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  DeviceTraits traits;
  traits.name = properties.name;
  traits.computeCapability = 10 * GetAttribute(cudaDevAttrComputeCapabilityMajor, device) +
                             GetAttribute(cudaDevAttrComputeCapabilityMinor, device);
  traits.multiprocessors = GetAttribute(cudaDevAttrMultiProcessorCount, device);
  traits.kilohertz = GetAttribute(cudaDevAttrClockRate, device);
  traits.blockSharedBytes = GetAttribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  traits.sharedBytes = GetAttribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  traits.registers = GetAttribute(cudaDevAttrMaxRegistersPerMultiprocessor, device);
  traits.warps = GetAttribute(cudaDevAttrMaxThreadsPerMultiProcessor, device) / 32;
  traits.blocks = GetAttribute(cudaDevAttrMaxBlocksPerMultiprocessor, device);
  traits.cacheBytes = static_cast<std::size_t>(GetAttribute(cudaDevAttrL2CacheSize, device));
  traits.reservedSharedBytes = GetAttribute(cudaDevAttrReservedSharedMemoryPerBlock, device);
  traits.pipes = GetArchitectureTraits(traits.computeCapability).pipes;
  traits.copyBytes = GetCopyBytes(traits.name, device);
  const auto * const profile = GetPretendedProfile();
  return profile == nullptr ? traits : Pretend(*profile, traits);
}

/** What is known of each device. Never destroyed: a thread may be at work when the process ends. */
template <typename TValue>
struct KnownOfDevices
{
  std::mutex            mutex;
  std::map<int, TValue> values;
};

DeviceTraits
GetTraitsOfDevice(int device)
{
  static auto * const               known = new KnownOfDevices<DeviceTraits>;
  const std::lock_guard<std::mutex> lock(known->mutex);
  const auto                        found = known->values.find(device);
  return found != known->values.end() ? found->second : known->values.emplace(device, AskDevice(device)).first->second;
}

/** Measured once, as soon as there is memory to do so. */
double
GetBusOfDevice(int device)
{
  static auto * const               known = new KnownOfDevices<double>;
  const std::lock_guard<std::mutex> lock(known->mutex);
  const auto                        found = known->values.find(device);
  if (found != known->values.end())
  {
    return found->second;
  }
  double bytes = 0;
  OnDevice(device, [device, &bytes] { bytes = MeasureBus(device); });
  // A bus of today has no less.
  constexpr double least = 12e9;
  return bytes > 0 ? known->values.emplace(device, bytes).first->second : least;
}

} // namespace

std::string
DescribePretended()
{
  const auto * const profile = GetPretendedProfile();
  return profile == nullptr ? "" : std::string(", taken for ") + profile->name + " (CUDAMEDIAN_PRETEND_DEVICE)";
}

DeviceTraits
GetDeviceTraits(const std::vector<int> & devices)
{
  const auto numbers = ResolveDevices(devices);
  auto       together = GetTraitsOfDevice(numbers.front());
  for (const int device : numbers)
  {
    const auto traits = GetTraitsOfDevice(device);
    for (const auto member : { &DeviceTraits::computeCapability,
                               &DeviceTraits::multiprocessors,
                               &DeviceTraits::kilohertz,
                               &DeviceTraits::blockSharedBytes,
                               &DeviceTraits::sharedBytes,
                               &DeviceTraits::registers,
                               &DeviceTraits::warps,
                               &DeviceTraits::blocks })
    {
      together.*member = std::min(together.*member, traits.*member);
    }
    together.copyBytes = std::min(together.copyBytes, traits.copyBytes);
    together.pipes.mostSumPercent = std::min(together.pipes.mostSumPercent, traits.pipes.mostSumPercent);
    together.pipes.threeInput = together.pipes.threeInput && traits.pipes.threeInput;
    together.pipes.cachedInstructions = std::min(together.pipes.cachedInstructions, traits.pipes.cachedInstructions);
    together.reservedSharedBytes = std::max(together.reservedSharedBytes, traits.reservedSharedBytes);
    together.cacheBytes = std::min(together.cacheBytes, traits.cacheBytes);
  }
  return together;
}

double
MeasureBuses(const std::vector<int> & devices)
{
  const auto numbers = ResolveDevices(devices);
  double     bytes = 0;
  for (const int device : std::set<int>(numbers.begin(), numbers.end()))
  {
    bytes += GetBusOfDevice(device);
  }
  return bytes;
}

} // namespace cudamedian
