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
#include "DeviceQuery.h"

#include "BorrowedContext.h"
#include "CudaDriver.h"
#include "CurrentDevice.h"
#include "KernelImage.h"

#include <algorithm>
#include <limits>

namespace cudamedian
{
namespace
{

DeviceAvailability
MakeUnusable(cudaError_t error, const std::string & what)
{
  cudaGetLastError();
  return { false, what + " (" + cudaGetErrorName(error) + ": " + cudaGetErrorString(error) + ")" };
}

/** The device that was asked for as the current one of this thread. */
DeviceAvailability
QueryCurrentDevice(int device)
{
  cudaDeviceProp properties;
  auto           error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess)
  {
    return MakeUnusable(error, "a CUDA device that does not answer");
  }
  std::string name = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) + "." +
                     std::to_string(properties.minor);
  try
  {
    name += DescribePretended();
  }
  catch (const DeviceError & problem)
  {
    return { false, problem.what() };
  }
  error = CheckKernelImage();
  if (error != cudaSuccess)
  {
    return MakeUnusable(error, name + ", which this build has no kernels for or which does not answer");
  }
  return { true, name };
}

/** Whether there is any device. */
DeviceAvailability
CountDevices(int & count)
{
  count = 0;
  if (IsForkedFromCuda())
  {
    try
    {
      StartCuda();
    }
    catch (const DeviceError & error)
    {
      return { false, std::string("no CUDA device: ") + error.what() };
    }
  }
  const auto error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0)
  {
    if (error == cudaSuccess || error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
    {
      RememberNoDevice();
    }
    return MakeUnusable(error, "no CUDA device");
  }
  StartCuda();
  return { true, "" };
}

DeviceAvailability
QueryListedDevice(int device, int count)
{
  const auto name = "device " + std::to_string(device);
  if (device < 0 || device >= count)
  {
    return { false,
             "no CUDA " + name + ": there " +
               (count == 1 ? "is 1 device" : "are " + std::to_string(count) + " devices") + ", numbered from 0" };
  }
  DeviceAvailability found;
  try
  {
    OnDevice(device, [device, &found] { found = QueryCurrentDevice(device); });
  }
  catch (const std::exception & error)
  {
    return { false, error.what() };
  }
  return { found.usable, name + ": " + found.description };
}

} // namespace

DeviceAvailability
QueryCudaDevice()
{
  return QueryCudaDevices({});
}

DeviceAvailability
QueryCudaDevices(const std::vector<int> & devices)
{
  int  count = 0;
  auto found = CountDevices(count);
  if (!found.usable)
  {
    return found;
  }
  if (devices.empty())
  {
    int        device = 0;
    const auto error = cudaGetDevice(&device);
    return error == cudaSuccess ? QueryCurrentDevice(device)
                                : MakeUnusable(error, "a CUDA device that does not answer");
  }
  for (const int device : devices)
  {
    const auto one = QueryListedDevice(device, count);
    if (!one.usable)
    {
      return one;
    }
    found.description += (found.description.empty() ? "" : "; ") + one.description;
  }
  return found;
}

std::size_t
GetFreeDeviceMemory(const std::vector<int> & devices)
{
  auto least = std::numeric_limits<std::size_t>::max();
  for (const int device : ResolveDevices(devices))
  {
    OnDevice(device, [device, &least] {
      std::size_t available = 0;
      std::size_t total = 0;
      CheckCuda(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
      least = std::min(least, available + GetIdleDeviceBytes(device));
    });
  }
  return least;
}

void *
AllocatePinnedMemory(std::size_t bytes)
{
  void * memory = nullptr;
  int    count = 0;
  if (!CountDevices(count).usable)
  {
    return nullptr;
  }
  if (cudaMallocHost(&memory, bytes) != cudaSuccess)
  {
    cudaGetLastError();
    return nullptr;
  }
  return memory;
}

void
FreePinnedMemory(void * memory)
{
  // After a fork it is the parent's.
  if (memory != nullptr && !IsForkedFromCuda() && cudaFreeHost(memory) != cudaSuccess)
  {
    cudaGetLastError();
  }
}

} // namespace cudamedian
