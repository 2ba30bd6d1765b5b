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
#include "CudaBackend.h"
#include "DeviceContext.h"
#include "KernelPolicy.h"

#include <algorithm>
#include <chrono>
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

/** Of the current device. */
DeviceRates
MeasureDevice(int device)
{
  const auto capability = 10 * GetAttribute(cudaDevAttrComputeCapabilityMajor, device) +
                          GetAttribute(cudaDevAttrComputeCapabilityMinor, device);
  DeviceTraits traits;
  traits.multiprocessors = GetAttribute(cudaDevAttrMultiProcessorCount, device);
  traits.kilohertz = GetAttribute(cudaDevAttrClockRate, device);
  return { MeasureBus(device), GetRelativeSpeed(traits), GetKernelKind(2, capability).packing != KeyPacking::Single };
}

/** What has been measured in this process. Never destroyed: a thread may be at work when the process ends. */
struct MeasuredRates
{
  std::mutex                 mutex;
  std::map<int, DeviceRates> rates;
};

/** Measured once, as soon as there is memory to do so. */
DeviceRates
GetRatesOfDevice(int device)
{
  static auto * const               known = new MeasuredRates;
  const std::lock_guard<std::mutex> lock(known->mutex);
  const auto                        found = known->rates.find(device);
  if (found != known->rates.end())
  {
    return found->second;
  }
  DeviceRates rates;
  OnDevice(device, [device, &rates] { rates = MeasureDevice(device); });
  if (rates.busBytes > 0)
  {
    return known->rates.emplace(device, rates).first->second;
  }
  // A bus of today has no less.
  rates.busBytes = 12e9;
  return rates;
}

} // namespace

DeviceRates
GetDeviceRates(const std::vector<int> & devices)
{
  const auto  numbers = ResolveDevices(devices);
  DeviceRates together{ 0, 0, true };
  for (const int device : std::set<int>(numbers.begin(), numbers.end()))
  {
    const auto rates = GetRatesOfDevice(device);
    together.busBytes += rates.busBytes;
    together.kernelSpeed += rates.kernelSpeed;
    together.hasPackedKeys = together.hasPackedKeys && rates.hasPackedKeys;
  }
  return together;
}

} // namespace cudamedian
