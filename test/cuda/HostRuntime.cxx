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
// The part of the CUDA runtime that slabs pass through, on the host: devices whose memory is the host's and whose
// streams are threads. What has no event between it runs in any order, after pauses that differ.

#include "HostRuntime.h"

#include "CudaMedianTestSeed.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

namespace
{

using namespace hostruntime;

thread_local int         currentDevice = 0;
thread_local cudaError_t lastError = cudaSuccess;

/** How long a launch waits for the loss of another device: a test that expects it fails then and does not hang. */
constexpr std::chrono::seconds longestWait{ 60 };

/** Memory that was allocated. */
struct Allocation
{
  std::size_t       bytes{ 0 };
  int               device{ 0 };
  bool              isPinned{ false };
  bool              isMapped{ false };
  bool              isDead{ false }; ///< its device was reset
  std::vector<char> written;         ///< for each byte, or empty
};

/** What a device is like. */
struct Device
{
  unsigned long long context{ 0 };
  bool               isUnusable{ false };
  cudaError_t        lost{ cudaSuccess };
  int                launchesLeft{ -1 }; ///< until it is lost
  cudaError_t        lostByLaunch{ cudaSuccess };
};

/** Not destroyed: at the end of the process the streams of idle contexts still wait. */
struct State
{
  std::mutex                         mutex; ///< of all streams and events
  std::condition_variable            changed;
  std::mutex                         settings; ///< of all below
  std::condition_variable            lostOne;  ///< a device was lost that others wait for
  Device                             devices[numberOfDevices];
  std::set<int>                      touched;
  unsigned long long                 contexts{ 0 };
  std::map<const char *, Allocation> memory;      ///< by where it starts
  std::map<const void *, int>        handles;     ///< streams and events that can be used, and their devices
  std::vector<const void *>          deadHandles; ///< of devices that were reset
  CUstream_st *                      defaultStreams[numberOfDevices]{}; ///< made when they are first used
  std::vector<CUevent_st *>          endedEvents;                       ///< streams may still wait for them
  std::size_t                        freeMemory{ std::size_t{ 1 } << 30 };
  std::size_t                        pinnedLimit{ std::numeric_limits<std::size_t>::max() };
  cudaError_t                        pinnedError{ cudaErrorMemoryAllocation };
  std::atomic<int>                   calls{ 0 };
  std::atomic<int>                   staleUses{ 0 };
  std::atomic<int>                   uninitializedCopies{ 0 };
  std::atomic<bool>                  watches{ false };
};

State & state = *new State;

std::atomic<cudamedian::DriverState> driverState{ cudamedian::DriverState::Started };

/** Whether a device will be lost by a launch that has not come; for those who have locked the settings. */
bool
IsAnyToBeLost()
{
  return std::any_of(
    std::begin(state.devices), std::end(state.devices), [](const Device & device) { return device.launchesLeft >= 0; });
}

/** Calls that touch no device. */
cudaError_t
Return(cudaError_t error)
{
  ++state.calls;
  lastError = error == cudaSuccess ? lastError : error;
  return error;
}

/** Touches a device. \returns what its state makes of any call. */
cudaError_t
Touch(int device)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  state.touched.insert(device);
  auto & touched = state.devices[device];
  if (touched.isUnusable)
  {
    return cudaErrorDevicesUnavailable;
  }
  if (touched.context == 0)
  {
    touched.context = ++state.contexts;
  }
  return touched.lost;
}

/** A call on the current device. */
template <typename TCall>
cudaError_t
OnCurrentDevice(const TCall & call)
{
  const auto error = Touch(currentDevice);
  return Return(error == cudaSuccess ? call() : error);
}

/** Whether streams and events are there; what a reset has ended counts as a stale use. */
bool
AreHandles(std::initializer_list<const void *> handles)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  const bool                        valid = std::all_of(handles.begin(), handles.end(), [](const void * handle) {
    return state.handles.count(handle) == 1 || std::any_of(std::begin(state.defaultStreams),
                                                           std::end(state.defaultStreams),
                                                           [handle](const void * stream) { return stream == handle; });
  });
  state.staleUses += valid ? 0 : 1;
  return valid;
}

/** The allocation that memory belongs to, or null for other memory. */
Allocation *
FindAllocation(const void * memory, std::size_t & offset)
{
  const auto * byte = static_cast<const char *>(memory);
  const auto   next = state.memory.upper_bound(byte);
  if (next == state.memory.begin() || byte >= std::prev(next)->first + std::prev(next)->second.bytes)
  {
    return nullptr;
  }
  offset = static_cast<std::size_t>(byte - std::prev(next)->first);
  return &std::prev(next)->second;
}

/** Whether memory can be used; what a reset has ended counts as a stale use. */
bool
IsMemory(const void * memory)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  std::size_t                       offset = 0;
  const auto *                      allocation = FindAllocation(memory, offset);
  const bool                        dead = allocation != nullptr && allocation->isDead;
  state.staleUses += dead ? 1 : 0;
  return !dead;
}

/** Whether everything was written to that is read from device memory. */
void
CheckInitialized(const void * memory, std::size_t bytes)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  std::size_t                       offset = 0;
  const auto *                      allocation = FindAllocation(memory, offset);
  if (allocation != nullptr && !allocation->written.empty())
  {
    const auto first = allocation->written.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto last = first + static_cast<std::ptrdiff_t>(bytes);
    state.uninitializedCopies += std::find(first, last, 0) != last ? 1 : 0;
  }
}

} // namespace

/** A thread that does what it is told in order. */
struct CUstream_st
{
  CUstream_st()
    : thread([this] { Serve(); })
  {}
  ~CUstream_st()
  {
    {
      const std::lock_guard<std::mutex> lock(state.mutex);
      hasEnded = true;
    }
    state.changed.notify_all();
    thread.join();
  }

  void
  Enqueue(std::function<void()> work)
  {
    {
      const std::lock_guard<std::mutex> lock(state.mutex);
      queue.push_back(std::move(work));
    }
    state.changed.notify_all();
  }

  void
  Serve()
  {
    std::mt19937                 generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
    std::unique_lock<std::mutex> lock(state.mutex);
    for (;;)
    {
      state.changed.wait(lock, [this] { return hasEnded || !queue.empty(); });
      if (queue.empty())
      {
        return;
      }
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(generator() % 4 == 0 ? generator() % 300 : 0));
      queue.front()();
      lock.lock();
      queue.pop_front();
      state.changed.notify_all();
    }
  }

  const int                         device{ currentDevice };
  std::deque<std::function<void()>> queue; ///< the first is under way
  bool                              hasEnded{ false };
  std::thread                       thread;
};

struct CUevent_st
{
  const int                             device{ currentDevice };
  std::size_t                           recorded{ 0 }; ///< how often
  std::size_t                           reached{ 0 };  ///< how many of these
  std::chrono::steady_clock::time_point time;
};

struct CUmemPoolHandle_st
{};

namespace
{

/** The stream itself, or for null and the legacy stream the default stream of the current device. */
cudaStream_t
Resolve(cudaStream_t stream)
{
  if (stream != nullptr && stream != cudaStreamLegacy)
  {
    return stream;
  }
  const std::lock_guard<std::mutex> lock(state.settings);
  auto &                            made = state.defaultStreams[currentDevice];
  made = made == nullptr ? new CUstream_st : made;
  return made;
}

/** Waits for the default stream of the current device, if it was used. */
void
WaitForDefaultStream()
{
  CUstream_st * stream = nullptr;
  {
    const std::lock_guard<std::mutex> lock(state.settings);
    stream = state.defaultStreams[currentDevice];
  }
  if (stream != nullptr)
  {
    std::unique_lock<std::mutex> lock(state.mutex);
    state.changed.wait(lock, [stream] { return stream->queue.empty(); });
  }
}

template <typename THandle>
cudaError_t
Make(THandle ** handle)
{
  return OnCurrentDevice([handle] {
    *handle = new THandle;
    const std::lock_guard<std::mutex> lock(state.settings);
    state.handles[*handle] = currentDevice;
    return cudaSuccess;
  });
}

template <typename THandle>
cudaError_t
End(THandle * handle)
{
  // Also on a device that is lost.
  const auto error = Touch(currentDevice);
  if (!AreHandles({ handle }))
  {
    return Return(cudaErrorInvalidResourceHandle);
  }
  {
    const std::lock_guard<std::mutex> lock(state.settings);
    state.handles.erase(handle);
    if constexpr (std::is_same<THandle, CUevent_st>::value)
    {
      state.endedEvents.push_back(handle);
      return Return(error);
    }
  }
  delete handle;
  return Return(error);
}

cudaError_t
Allocate(void ** memory, std::size_t bytes, bool isPinned)
{
  return OnCurrentDevice([=] {
    if (isPinned && bytes > state.pinnedLimit)
    {
      return state.pinnedError;
    }
    Allocation allocation;
    allocation.bytes = bytes;
    allocation.device = currentDevice;
    allocation.isPinned = isPinned;
    allocation.isMapped = bytes > std::size_t{ 64 } << 20;
    if (allocation.isMapped)
    {
      // No more pages than are written to.
      *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    else
    {
      *memory = std::malloc(bytes);
      std::memset(*memory, 0xA5, bytes);
      allocation.written.resize(state.watches && !isPinned ? bytes : 0);
    }
    const std::lock_guard<std::mutex> lock(state.settings);
    state.memory[static_cast<const char *>(*memory)] = std::move(allocation);
    return cudaSuccess;
  });
}

cudaError_t
Free(void * memory)
{
  const auto error = Touch(currentDevice);
  if (memory == nullptr)
  {
    return Return(error);
  }
  if (!IsMemory(memory))
  {
    return Return(cudaErrorInvalidValue);
  }
  const std::lock_guard<std::mutex> lock(state.settings);
  const auto                        found = state.memory.find(static_cast<const char *>(memory));
  if (found == state.memory.end())
  {
    return Return(cudaErrorInvalidValue);
  }
  found->second.isMapped ? static_cast<void>(munmap(memory, found->second.bytes)) : std::free(memory);
  state.memory.erase(found);
  return Return(error);
}

/** The driver's function of this name. */
int
GetContextId(void *, unsigned long long * id)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  *id = state.devices[currentDevice].context;
  return 0;
}

} // namespace

namespace hostruntime
{

std::set<int>
GetTouchedDevices()
{
  const std::lock_guard<std::mutex> lock(state.settings);
  return state.touched;
}

void
ForgetTouchedDevices()
{
  const std::lock_guard<std::mutex> lock(state.settings);
  state.touched.clear();
}

void
SetUnusableDevices(const std::set<int> & devices)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  for (int device = 0; device < numberOfDevices; ++device)
  {
    state.devices[device].isUnusable = devices.count(device) == 1;
  }
}

void
LoseDevice(int device, cudaError_t error)
{
  {
    const std::lock_guard<std::mutex> lock(state.settings);
    state.devices[device].lost = error;
    state.devices[device].launchesLeft = -1;
  }
  state.lostOne.notify_all();
}

void
LoseDeviceAtLaunch(int device, int launches, cudaError_t error)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  state.devices[device].launchesLeft = launches;
  state.devices[device].lostByLaunch = error;
}

void
SetFreeMemory(std::size_t bytes)
{
  state.freeMemory = bytes;
}

void
SetPinnedLimit(std::size_t bytes, cudaError_t error)
{
  state.pinnedLimit = bytes;
  state.pinnedError = error;
}

int
CountStaleUses()
{
  return state.staleUses;
}

int
CountCalls()
{
  return state.calls;
}

void
WatchInitialization(bool watch)
{
  state.watches = watch;
}

int
CountUninitializedCopies()
{
  return state.uninitializedCopies;
}

void
MarkInitialized(const void * memory, std::size_t bytes)
{
  const std::lock_guard<std::mutex> lock(state.settings);
  std::size_t                       offset = 0;
  auto *                            allocation = FindAllocation(memory, offset);
  if (allocation != nullptr && !allocation->written.empty())
  {
    std::fill_n(allocation->written.begin() + static_cast<std::ptrdiff_t>(offset), bytes, 1);
  }
}

void
SetDriverState(cudamedian::DriverState found)
{
  driverState = found;
}

} // namespace hostruntime

cudamedian::DriverState
cudamedian::GetDriverState()
{
  return driverState;
}

void
cudamedian::RememberNoDevice()
{
  // Tests say what there is.
}

extern "C"
{

  cudaError_t
  cudaGetDeviceCount(int * count)
  {
    *count = numberOfDevices;
    return Return(cudaSuccess);
  }

  cudaError_t
  cudaGetDevice(int * device)
  {
    *device = currentDevice;
    return Return(cudaSuccess);
  }

  /** Makes a context, as since CUDA 12. */
  cudaError_t
  cudaSetDevice(int device)
  {
    if (device < 0 || device >= numberOfDevices)
    {
      return Return(cudaErrorInvalidDevice);
    }
    const auto error = Touch(device);
    currentDevice = error == cudaErrorDevicesUnavailable ? currentDevice : device;
    return Return(error);
  }

  /** Ends the streams, events and memory of the current device. */
  cudaError_t
  cudaDeviceReset()
  {
    const std::lock_guard<std::mutex> lock(state.settings);
    auto &                            device = state.devices[currentDevice];
    device.context = 0;
    device.lost = cudaSuccess;
    for (auto handle = state.handles.begin(); handle != state.handles.end();)
    {
      const bool dies = handle->second == currentDevice;
      if (dies)
      {
        state.deadHandles.push_back(handle->first);
      }
      handle = dies ? state.handles.erase(handle) : std::next(handle);
    }
    for (auto & entry : state.memory)
    {
      entry.second.isDead = entry.second.isDead || entry.second.device == currentDevice;
    }
    return Return(cudaSuccess);
  }

  cudaError_t
  cudaGetDeviceProperties(cudaDeviceProp * properties, int)
  {
    *properties = {};
    std::strcpy(properties->name, "threads of the host");
    return Return(cudaSuccess);
  }

  cudaError_t
  cudaDeviceGetAttribute(int * value, cudaDeviceAttr attribute, int)
  {
    // An H200 by the numbers, so that the automatic choice takes it for more than the smallest images.
    static const std::map<cudaDeviceAttr, int> attributes{ { cudaDevAttrComputeCapabilityMajor, 9 },
                                                           { cudaDevAttrComputeCapabilityMinor, 0 },
                                                           { cudaDevAttrMultiProcessorCount, 132 },
                                                           { cudaDevAttrClockRate, 1980000 },
                                                           { cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448 },
                                                           { cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472 },
                                                           { cudaDevAttrReservedSharedMemoryPerBlock, 1024 },
                                                           { cudaDevAttrMaxRegistersPerMultiprocessor, 65536 },
                                                           { cudaDevAttrMaxThreadsPerMultiProcessor, 2048 },
                                                           { cudaDevAttrMaxBlocksPerMultiprocessor, 32 },
                                                           { cudaDevAttrMemoryClockRate, 3201000 },
                                                           { cudaDevAttrGlobalMemoryBusWidth, 6144 },
                                                           { cudaDevAttrL2CacheSize, 62914560 } };
    const auto                                 found = attributes.find(attribute);
    *value = found == attributes.end() ? 1 : found->second;
    return Return(cudaSuccess);
  }

  cudaError_t
  cudaGetDriverEntryPointByVersion(const char * name,
                                   void **      function,
                                   unsigned int,
                                   unsigned long long,
                                   cudaDriverEntryPointQueryResult * found)
  {
    const bool known = std::strcmp(name, "cuCtxGetId") == 0;
    *function = known ? reinterpret_cast<void *>(GetContextId) : nullptr;
    *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return Return(cudaSuccess);
  }

  cudaError_t
  cudaMemGetInfo(std::size_t * available, std::size_t * total)
  {
    return OnCurrentDevice([=] {
      *available = *total = state.freeMemory;
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaMalloc(void ** memory, std::size_t bytes)
  {
    return Allocate(memory, bytes, false);
  }

  cudaError_t
  cudaFree(void * memory)
  {
    WaitForDefaultStream();
    return Free(memory);
  }

  /** Memory in the order of a stream's work: it is there at once, and goes when the stream gets there. */
  cudaError_t
  cudaMallocAsync(void ** memory, std::size_t bytes, cudaStream_t stream)
  {
    return AreHandles({ Resolve(stream) }) ? Allocate(memory, bytes, false) : Return(cudaErrorInvalidResourceHandle);
  }

  cudaError_t
  cudaMallocFromPoolAsync(void ** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
  {
    return AreHandles({ pool, Resolve(stream) }) ? Allocate(memory, bytes, false)
                                                 : Return(cudaErrorInvalidResourceHandle);
  }

  /** A pool keeps nothing here. */
  cudaError_t
  cudaMemPoolCreate(cudaMemPool_t * pool, const cudaMemPoolProps *)
  {
    return Make(pool);
  }

  cudaError_t
  cudaMemPoolDestroy(cudaMemPool_t pool)
  {
    return End(pool);
  }

  cudaError_t
  cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void *)
  {
    return Return(AreHandles({ pool }) ? cudaSuccess : cudaErrorInvalidResourceHandle);
  }

  cudaError_t
  cudaFreeAsync(void * memory, cudaStream_t stream)
  {
    return OnCurrentDevice([memory, device = currentDevice, found = Resolve(stream)] {
      if (!AreHandles({ found }) || !IsMemory(memory))
      {
        return cudaErrorInvalidValue;
      }
      found->Enqueue([memory, device] {
        currentDevice = device;
        static_cast<void>(Free(memory));
      });
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaMallocHost(void ** memory, std::size_t bytes)
  {
    return Allocate(memory, bytes, true);
  }

  cudaError_t
  cudaFreeHost(void * memory)
  {
    return Free(memory);
  }

  cudaError_t
  cudaPointerGetAttributes(cudaPointerAttributes * attributes, const void * memory)
  {
    return OnCurrentDevice([=] {
      const std::lock_guard<std::mutex> lock(state.settings);
      std::size_t                       offset = 0;
      const auto *                      allocation = FindAllocation(memory, offset);
      attributes->type = allocation == nullptr || allocation->isDead ? cudaMemoryTypeUnregistered
                         : allocation->isPinned                      ? cudaMemoryTypeHost
                                                                     : cudaMemoryTypeDevice;
      attributes->device = allocation == nullptr ? 0 : allocation->device;
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaStreamCreateWithFlags(cudaStream_t * stream, unsigned int)
  {
    return Make(stream);
  }

  cudaError_t
  cudaStreamDestroy(cudaStream_t stream)
  {
    return End(stream);
  }

  cudaError_t
  cudaStreamSynchronize(cudaStream_t stream)
  {
    stream = Resolve(stream);
    return OnCurrentDevice([stream] {
      if (!AreHandles({ stream }))
      {
        return cudaErrorInvalidResourceHandle;
      }
      std::unique_lock<std::mutex> lock(state.mutex);
      state.changed.wait(lock, [stream] { return stream->queue.empty(); });
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
  {
    stream = Resolve(stream);
    return OnCurrentDevice([=] {
      if (!AreHandles({ stream, event }))
      {
        return cudaErrorInvalidResourceHandle;
      }
      std::unique_lock<std::mutex> lock(state.mutex);
      const auto                   number = event->recorded;
      lock.unlock();
      stream->Enqueue([event, number] {
        std::unique_lock<std::mutex> waiting(state.mutex);
        state.changed.wait(waiting, [event, number] { return event->reached >= number; });
      });
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaEventCreate(cudaEvent_t * event)
  {
    return Make(event);
  }

  cudaError_t
  cudaEventCreateWithFlags(cudaEvent_t * event, unsigned int)
  {
    return Make(event);
  }

  cudaError_t
  cudaEventDestroy(cudaEvent_t event)
  {
    return End(event);
  }

  cudaError_t
  cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
  {
    stream = Resolve(stream);
    return OnCurrentDevice([=] {
      if (!AreHandles({ stream, event }) || event->device != stream->device)
      {
        return cudaErrorInvalidResourceHandle;
      }
      std::unique_lock<std::mutex> lock(state.mutex);
      const auto                   number = ++event->recorded;
      lock.unlock();
      stream->Enqueue([event, number] {
        const std::lock_guard<std::mutex> reaching(state.mutex);
        event->reached = number;
        event->time = std::chrono::steady_clock::now();
      });
      return cudaSuccess;
    });
  }

  /** That it is not ready counts as the last error. */
  cudaError_t
  cudaEventQuery(cudaEvent_t event)
  {
    return OnCurrentDevice([event] {
      if (!AreHandles({ event }))
      {
        return cudaErrorInvalidResourceHandle;
      }
      const std::lock_guard<std::mutex> lock(state.mutex);
      return event->reached == event->recorded ? cudaSuccess : cudaErrorNotReady;
    });
  }

  cudaError_t
  cudaEventSynchronize(cudaEvent_t event)
  {
    return OnCurrentDevice([event] {
      if (!AreHandles({ event }))
      {
        return cudaErrorInvalidResourceHandle;
      }
      std::unique_lock<std::mutex> lock(state.mutex);
      state.changed.wait(lock, [event, number = event->recorded] { return event->reached >= number; });
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaEventElapsedTime(float * milliseconds, cudaEvent_t first, cudaEvent_t last)
  {
    return OnCurrentDevice([=] {
      if (!AreHandles({ first, last }))
      {
        return cudaErrorInvalidResourceHandle;
      }
      const std::lock_guard<std::mutex> lock(state.mutex);
      *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
      return first->reached == first->recorded && last->reached == last->recorded ? cudaSuccess : cudaErrorNotReady;
    });
  }

  cudaError_t
  cudaMemcpyAsync(void * target, const void * source, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
  {
    stream = Resolve(stream);
    return OnCurrentDevice([=] {
      if (!AreHandles({ stream }) || !IsMemory(target) || !IsMemory(source))
      {
        return cudaErrorInvalidValue;
      }
      stream->Enqueue([=] {
        if (kind == cudaMemcpyDeviceToHost)
        {
          CheckInitialized(source, bytes);
        }
        MarkInitialized(target, bytes);
        if (bytes > 0) // of an image without pixels the addresses are null
        {
          std::memcpy(target, source, bytes);
        }
      });
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaMemcpy(void * target, const void * source, std::size_t bytes, cudaMemcpyKind kind)
  {
    const auto error = cudaMemcpyAsync(target, source, bytes, kind, nullptr);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
  }

  cudaError_t
  cudaMemcpy2DAsync(void *         target,
                    std::size_t    targetPitch,
                    const void *   source,
                    std::size_t    sourcePitch,
                    std::size_t    width,
                    std::size_t    height,
                    cudaMemcpyKind kind,
                    cudaStream_t   stream)
  {
    constexpr std::size_t largestPitch = std::numeric_limits<std::int32_t>::max();
    if (targetPitch > largestPitch || sourcePitch > largestPitch)
    {
      return Return(cudaErrorInvalidPitchValue);
    }
    auto error = cudaSuccess;
    for (std::size_t row = 0; row < height && error == cudaSuccess; ++row)
    {
      error = cudaMemcpyAsync(static_cast<char *>(target) + row * targetPitch,
                              static_cast<const char *>(source) + row * sourcePitch,
                              width,
                              kind,
                              stream);
    }
    return error;
  }

  cudaError_t
  cudaMemsetAsync(void * target, int value, std::size_t bytes, cudaStream_t stream)
  {
    stream = Resolve(stream);
    return OnCurrentDevice([=] {
      if (!AreHandles({ stream }) || !IsMemory(target))
      {
        return cudaErrorInvalidValue;
      }
      stream->Enqueue([=] {
        MarkInitialized(target, bytes);
        std::memset(target, value, bytes);
      });
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaMemset2DAsync(void *       target,
                    std::size_t  pitch,
                    int          value,
                    std::size_t  width,
                    std::size_t  height,
                    cudaStream_t stream)
  {
    auto error = cudaSuccess;
    for (std::size_t row = 0; row < height && error == cudaSuccess; ++row)
    {
      error = cudaMemsetAsync(static_cast<char *>(target) + row * pitch, value, width, stream);
    }
    return error;
  }

  /** The kernel is a function of the host, which the first argument is. */
  cudaError_t
  cudaLaunchKernel(const void *, dim3, dim3, void ** arguments, std::size_t, cudaStream_t stream)
  {
    stream = Resolve(stream);
    return OnCurrentDevice([=] {
      if (!AreHandles({ stream }))
      {
        return cudaErrorInvalidResourceHandle;
      }
      {
        std::unique_lock<std::mutex> lock(state.settings);
        auto &                       device = state.devices[currentDevice];
        if (device.launchesLeft == 0)
        {
          device.lost = device.lostByLaunch;
          device.launchesLeft = -1;
          state.lostOne.notify_all();
          return device.lost;
        }
        if (device.launchesLeft > 0)
        {
          --device.launchesLeft;
        }
        else
        {
          state.lostOne.wait_for(lock, longestWait, [] { return !IsAnyToBeLost(); });
        }
      }
      stream->Enqueue(*static_cast<const std::function<void()> *>(arguments[0]));
      return cudaSuccess;
    });
  }

  cudaError_t
  cudaFuncGetAttributes(cudaFuncAttributes *, const void *)
  {
    return OnCurrentDevice([] { return cudaSuccess; });
  }

  cudaError_t
  cudaDeviceSynchronize()
  {
    return OnCurrentDevice([] { return cudaSuccess; });
  }

  /** An error that stays is every call's, and so the last one's. */
  cudaError_t
  cudaGetLastError()
  {
    ++state.calls;
    const auto error = lastError;
    lastError = cudaSuccess;
    return error;
  }

  cudaError_t
  cudaPeekAtLastError()
  {
    ++state.calls;
    return lastError;
  }

  const char *
  cudaGetErrorName(cudaError_t error)
  {
    return error == cudaErrorMemoryAllocation        ? "cudaErrorMemoryAllocation"
           : error == cudaErrorUnknown               ? "cudaErrorUnknown"
           : error == cudaErrorIllegalAddress        ? "cudaErrorIllegalAddress"
           : error == cudaErrorLaunchFailure         ? "cudaErrorLaunchFailure"
           : error == cudaErrorDevicesUnavailable    ? "cudaErrorDevicesUnavailable"
           : error == cudaErrorInvalidResourceHandle ? "cudaErrorInvalidResourceHandle"
                                                     : "another error";
  }

  const char *
  cudaGetErrorString(cudaError_t)
  {
    return "what it says of it";
  }

// What slabs do not need; CudaFaults.cxx knows it too.
#define CUDAMEDIAN_NOT_HERE(name, parameters) \
  cudaError_t name parameters { return Return(cudaErrorNotSupported); }
#if CUDART_VERSION >= 13000
  CUDAMEDIAN_NOT_HERE(__cudaLaunchKernel, (cudaKernel_t, dim3, dim3, void **, std::size_t, cudaStream_t))
#endif
  CUDAMEDIAN_NOT_HERE(cudaLaunchKernelExC, (const cudaLaunchConfig_t *, const void *, void **))
  CUDAMEDIAN_NOT_HERE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                      (int *, const void *, int, std::size_t, unsigned int))
  CUDAMEDIAN_NOT_HERE(cudaStreamIsCapturing, (cudaStream_t, cudaStreamCaptureStatus *))
  CUDAMEDIAN_NOT_HERE(cudaFuncSetAttribute, (const void *, cudaFuncAttribute, int))
  CUDAMEDIAN_NOT_HERE(cudaLibraryGetKernel, (cudaKernel_t *, cudaLibrary_t, const char *))
  CUDAMEDIAN_NOT_HERE(
    cudaLibraryLoadData,
    (cudaLibrary_t *, const void *, cudaJitOption *, void **, unsigned int, cudaLibraryOption *, void **, unsigned int))

} // extern "C"
