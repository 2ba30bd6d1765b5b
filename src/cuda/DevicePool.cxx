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
#include "DevicePool.h"

#include "CurrentDevice.h"
#include "DeviceContext.h"

#include <exception>
#include <map>
#include <mutex>

namespace cudamedian
{
namespace
{

/** A pool keeps this part of its device's memory. Copies of images take some bytes a pixel, and pass in pieces of at
 * most 67 million pixels: so what such an image takes is kept where a device has much memory. Reasoned, not measured.
 */
constexpr std::uint64_t keptPart = 32;

struct Pool
{
  unsigned long long cudaContext; ///< with whose end the pool ends
  cudaMemPool_t      handle;
};

/** Never destroyed: at the end of the process the driver may be gone first. */
struct Pools
{
  std::mutex          mutex;
  std::map<int, Pool> ofDevices;
};

Pools &
GetPools()
{
  static auto * const pools = new Pools;
  return *pools;
}

cudaMemPool_t
MakePool(int device)
{
  std::size_t available = 0;
  std::size_t total = 0;
  CheckCuda(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  CheckCuda(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
  std::uint64_t kept = total / keptPart;
  const auto    error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  if (error != cudaSuccess && cudaMemPoolDestroy(pool) != cudaSuccess)
  {
    cudaGetLastError(); // the first error is the one to tell of
  }
  CheckCuda(error, "cudaMemPoolSetAttribute");
  return pool;
}

/** The current device's pool, null where there is none. */
cudaMemPool_t
FindPool()
{
  const auto cudaContext = FindCudaContext();
  if (cudaContext == 0)
  {
    return nullptr;
  }
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  auto &                            pools = GetPools();
  const std::lock_guard<std::mutex> lock(pools.mutex);
  const auto                        found = pools.ofDevices.find(device);
  if (found != pools.ofDevices.end() && found->second.cudaContext == cudaContext)
  {
    return found->second.handle;
  }
  const Pool pool{ cudaContext, MakePool(device) };
  pools.ofDevices[device] = pool;
  return pool.handle;
}

} // namespace

void *
AllocateFromPool(std::size_t bytes, cudaStream_t stream)
{
  void *     memory = nullptr;
  const auto pool = FindPool();
  if (pool == nullptr)
  {
    CheckCuda(cudaMallocAsync(&memory, bytes, stream), "cudaMallocAsync");
  }
  else
  {
    CheckCuda(cudaMallocFromPoolAsync(&memory, bytes, pool, stream), "cudaMallocFromPoolAsync");
  }
  return memory;
}

void
ReleaseDevicePools()
{
  if (IsForkedFromCuda())
  {
    return;
  }
  std::map<int, Pool> ended;
  {
    auto &                            pools = GetPools();
    const std::lock_guard<std::mutex> lock(pools.mutex);
    ended.swap(pools.ofDevices);
  }
  for (const auto & entry : ended)
  {
    try
    {
      OnDevice(entry.first, [&pool = entry.second] {
        // A reset has ended it.
        if (pool.cudaContext == FindCudaContext())
        {
          CheckCuda(cudaMemPoolDestroy(pool.handle), "cudaMemPoolDestroy");
        }
      });
    }
    catch (const std::exception &)
    {
      // The device is lost, or was reset just now: there is nothing to give back.
    }
  }
}

} // namespace cudamedian
