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
#include "CudaFaults.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace cudamediantest
{
namespace
{

enum class Object
{
  DeviceMemory,
  PinnedMemory,
  Stream,
  Event,
  Pool
};

/** Never destroyed: threads may be at work when the process ends. */
struct State
{
  std::mutex                                            mutex;
  int                                                   before{ 0 };
  int                                                   left{ 0 };
  int                                                   failed{ 0 };
  cudaError_t                                           error{ cudaErrorUnknown };
  std::vector<std::string>                              calls;
  std::string                                           failedCall;
  std::map<Object, std::map<const void *, std::size_t>> live;
  Transfers                                             transfers;
};

State &
GetState()
{
  static auto * const state = new State;
  return *state;
}

/** The runtime's last error knows nothing of calls that were let fail. */
thread_local cudaError_t lastError = cudaSuccess;

/** Counts a call. \returns the error that it is to have. */
cudaError_t
Count(const std::string & call)
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.left == 0 ||
      (!state.calls.empty() && std::find(state.calls.begin(), state.calls.end(), call) == state.calls.end()))
  {
    return cudaSuccess;
  }
  if (state.before > 0)
  {
    --state.before;
    return cudaSuccess;
  }
  --state.left;
  state.failedCall = state.failed++ == 0 ? call : state.failedCall;
  lastError = state.error;
  return state.error;
}

/** Calls the runtime, or lets the call fail. */
template <typename TReal>
cudaError_t
Call(const char * call, const TReal & real)
{
  const auto error = Count(call);
  return error == cudaSuccess ? real() : error;
}

/** The same for a call that is carried out in any case. */
template <typename TReal>
cudaError_t
CallAnyway(const char * call, const TReal & real)
{
  const auto error = Count(call);
  const auto done = real();
  return error == cudaSuccess ? done : error;
}

/** Calls the runtime for a copy, and counts its bytes. */
template <typename TReal>
cudaError_t
Copy(const char * call, std::size_t bytes, cudaMemcpyKind kind, const TReal & real)
{
  const auto error = Call(call, real);
  if (error == cudaSuccess)
  {
    auto &                            state = GetState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.transfers.upload += kind == cudaMemcpyHostToDevice ? bytes : 0;
    state.transfers.download += kind == cudaMemcpyDeviceToHost ? bytes : 0;
  }
  return error;
}

void
Add(Object object, const void * handle, std::size_t bytes, cudaError_t error)
{
  if (error == cudaSuccess && handle != nullptr)
  {
    auto &                            state = GetState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.live[object][handle] = bytes;
  }
}

void
Remove(Object object, const void * handle)
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.live[object].erase(handle);
}

} // namespace

void
SetCudaFaults(int first, int count, cudaError_t error, const std::vector<std::string> & calls)
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.before = first - 1;
  state.left = count;
  state.failed = 0;
  state.error = error;
  state.calls = calls;
  state.failedCall.clear();
}

void
SetAllocationFaults(int first, int count)
{
  SetCudaFaults(first,
                count,
                cudaErrorMemoryAllocation,
                { "cudaMalloc", "cudaMallocHost", "cudaMallocAsync", "cudaMallocFromPoolAsync" });
}

void
SetCopyFaults(int first, int count)
{
  SetCudaFaults(first, count, cudaErrorUnknown, { "cudaMemcpyAsync", "cudaMemcpy2DAsync" });
}

void
ClearCudaFaults()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.left = 0;
}

int
CountFailedCalls()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return state.failed;
}

std::string
GetFailedCall()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return state.failedCall;
}

Transfers
GetTransfers()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return state.transfers;
}

void
ForgetTransfers()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.transfers = {};
}

LiveObjects
CountLiveObjects()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  LiveObjects                       live;
  for (const auto & entry : state.live[Object::DeviceMemory])
  {
    ++live.deviceAllocations;
    live.deviceBytes += entry.second;
  }
  for (const auto & entry : state.live[Object::PinnedMemory])
  {
    ++live.pinnedAllocations;
    live.pinnedBytes += entry.second;
  }
  live.streams = state.live[Object::Stream].size();
  live.events = state.live[Object::Event].size();
  live.pools = state.live[Object::Pool].size();
  return live;
}

void
ForgetLiveObjects()
{
  auto &                            state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.live.clear();
}

} // namespace cudamediantest

using namespace cudamediantest;

// Names may be macros of the toolkit's headers for the function of this version.
#define CUDAMEDIAN_JOIN_(one, other) one##other
#define CUDAMEDIAN_JOIN(one, other) CUDAMEDIAN_JOIN_(one, other)
#define CUDAMEDIAN_REAL(name) CUDAMEDIAN_JOIN(__real_, name)
#define CUDAMEDIAN_DECLARE(name, parameters)               \
  extern "C" cudaError_t CUDAMEDIAN_REAL(name) parameters; \
  extern "C" cudaError_t CUDAMEDIAN_JOIN(__wrap_, name) parameters
#define CUDAMEDIAN_WRAP_BY(how, name, parameters, arguments)            \
  CUDAMEDIAN_DECLARE(name, parameters)                                  \
  {                                                                     \
    return how(#name, [&] { return CUDAMEDIAN_REAL(name) arguments; }); \
  }
#define CUDAMEDIAN_WRAP_COPY(bytes, name, parameters, arguments)                      \
  CUDAMEDIAN_DECLARE(name, parameters)                                                \
  {                                                                                   \
    return Copy(#name, bytes, kind, [&] { return CUDAMEDIAN_REAL(name) arguments; }); \
  }
#define CUDAMEDIAN_WRAP(name, parameters, arguments) CUDAMEDIAN_WRAP_BY(Call, name, parameters, arguments)

// clang-format off
#if CUDART_VERSION >= 13000
CUDAMEDIAN_WRAP(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void ** arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream))
#endif
CUDAMEDIAN_WRAP(cudaLaunchKernel, (const void * kernel, dim3 grid, dim3 block, void ** arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream))
CUDAMEDIAN_WRAP(cudaLaunchKernelExC, (const cudaLaunchConfig_t * config, const void * kernel, void ** arguments), (config, kernel, arguments))
CUDAMEDIAN_WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int * blocks, const void * kernel, int threads, size_t shared, unsigned int flags), (blocks, kernel, threads, shared, flags))
CUDAMEDIAN_WRAP(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void * kernel), (attributes, kernel))
CUDAMEDIAN_WRAP(cudaFuncSetAttribute, (const void * kernel, cudaFuncAttribute attribute, int value), (kernel, attribute, value))
#if CUDART_VERSION >= 12080
CUDAMEDIAN_WRAP(cudaLibraryGetKernel, (cudaKernel_t * kernel, cudaLibrary_t library, const char * name), (kernel, library, name))
CUDAMEDIAN_WRAP(cudaLibraryLoadData, (cudaLibrary_t * library, const void * code, cudaJitOption * jit, void ** jitValues, unsigned int jitCount, cudaLibraryOption * options, void ** values, unsigned int count), (library, code, jit, jitValues, jitCount, options, values, count))
#endif
#if CUDART_VERSION >= 12050
CUDAMEDIAN_WRAP(cudaGetDriverEntryPointByVersion, (const char * name, void ** function, unsigned int version, unsigned long long flags, cudaDriverEntryPointQueryResult * found), (name, function, version, flags, found))
#endif
CUDAMEDIAN_WRAP(cudaDeviceGetAttribute, (int * value, cudaDeviceAttr attribute, int device), (value, attribute, device))
CUDAMEDIAN_WRAP_BY(CallAnyway, cudaDeviceSynchronize, (), ())
CUDAMEDIAN_WRAP(cudaEventElapsedTime, (float * milliseconds, cudaEvent_t first, cudaEvent_t last), (milliseconds, first, last))
CUDAMEDIAN_WRAP(cudaEventQuery, (cudaEvent_t event), (event))
CUDAMEDIAN_WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
CUDAMEDIAN_WRAP_BY(CallAnyway, cudaEventSynchronize, (cudaEvent_t event), (event))
CUDAMEDIAN_WRAP(cudaGetDevice, (int * device), (device))
CUDAMEDIAN_WRAP(cudaGetDeviceCount, (int * count), (count))
CUDAMEDIAN_WRAP(cudaGetDeviceProperties, (cudaDeviceProp * properties, int device), (properties, device))
CUDAMEDIAN_WRAP(cudaMemGetInfo, (size_t * available, size_t * total), (available, total))
CUDAMEDIAN_WRAP(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void * value), (pool, attribute, value))
CUDAMEDIAN_WRAP_COPY(bytes, cudaMemcpy, (void * target, const void * source, size_t bytes, cudaMemcpyKind kind), (target, source, bytes, kind))
CUDAMEDIAN_WRAP_COPY(width * height, cudaMemcpy2DAsync, (void * target, size_t targetPitch, const void * source, size_t sourcePitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream), (target, targetPitch, source, sourcePitch, width, height, kind, stream))
CUDAMEDIAN_WRAP_COPY(bytes, cudaMemcpyAsync, (void * target, const void * source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream), (target, source, bytes, kind, stream))
CUDAMEDIAN_WRAP(cudaMemset2DAsync, (void * target, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream), (target, pitch, value, width, height, stream))
CUDAMEDIAN_WRAP(cudaMemsetAsync, (void * target, int value, size_t bytes, cudaStream_t stream), (target, value, bytes, stream))
CUDAMEDIAN_WRAP(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void * memory), (attributes, memory))
CUDAMEDIAN_WRAP(cudaSetDevice, (int device), (device))
CUDAMEDIAN_WRAP(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus * status), (stream, status))
CUDAMEDIAN_WRAP_BY(CallAnyway, cudaStreamSynchronize, (cudaStream_t stream), (stream))
CUDAMEDIAN_WRAP(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags))
// clang-format on

// What makes something, and what ends it.
#define CUDAMEDIAN_WRAP_MAKING(object, name, parameters, arguments, handle, bytes)   \
  CUDAMEDIAN_DECLARE(name, parameters)                                               \
  {                                                                                  \
    const auto error = Call(#name, [&] { return CUDAMEDIAN_REAL(name) arguments; }); \
    Add(Object::object, error == cudaSuccess ? *(handle) : nullptr, bytes, error);   \
    return error;                                                                    \
  }
#define CUDAMEDIAN_WRAP_ENDING(object, name, parameters, arguments, handle)    \
  CUDAMEDIAN_DECLARE(name, parameters)                                         \
  {                                                                            \
    Remove(Object::object, handle);                                            \
    return CallAnyway(#name, [&] { return CUDAMEDIAN_REAL(name) arguments; }); \
  }

// clang-format off
CUDAMEDIAN_WRAP_MAKING(DeviceMemory, cudaMalloc, (void ** memory, size_t bytes), (memory, bytes), memory, bytes)
CUDAMEDIAN_WRAP_MAKING(DeviceMemory, cudaMallocAsync, (void ** memory, size_t bytes, cudaStream_t stream), (memory, bytes, stream), memory, bytes)
CUDAMEDIAN_WRAP_MAKING(DeviceMemory, cudaMallocFromPoolAsync, (void ** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), (memory, bytes, pool, stream), memory, bytes)
CUDAMEDIAN_WRAP_MAKING(Pool, cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps * properties), (pool, properties), pool, 0)
CUDAMEDIAN_WRAP_MAKING(PinnedMemory, cudaMallocHost, (void ** memory, size_t bytes), (memory, bytes), memory, bytes)
CUDAMEDIAN_WRAP_MAKING(Stream, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags), (stream, flags), stream, 0)
CUDAMEDIAN_WRAP_MAKING(Event, cudaEventCreate, (cudaEvent_t * event), (event), event, 0)
CUDAMEDIAN_WRAP_MAKING(Event, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), (event, flags), event, 0)
CUDAMEDIAN_WRAP_ENDING(DeviceMemory, cudaFree, (void * memory), (memory), memory)
CUDAMEDIAN_WRAP_ENDING(DeviceMemory, cudaFreeAsync, (void * memory, cudaStream_t stream), (memory, stream), memory)
CUDAMEDIAN_WRAP_ENDING(Pool, cudaMemPoolDestroy, (cudaMemPool_t pool), (pool), pool)
CUDAMEDIAN_WRAP_ENDING(PinnedMemory, cudaFreeHost, (void * memory), (memory), memory)
CUDAMEDIAN_WRAP_ENDING(Stream, cudaStreamDestroy, (cudaStream_t stream), (stream), stream)
CUDAMEDIAN_WRAP_ENDING(Event, cudaEventDestroy, (cudaEvent_t event), (event), event)
// clang-format on

/** The last error is that of a call that was let fail, or the runtime's. */
CUDAMEDIAN_DECLARE(cudaGetLastError, ())
{
  const auto error = Count("cudaGetLastError");
  const auto real = CUDAMEDIAN_REAL(cudaGetLastError)();
  const auto before = lastError;
  lastError = cudaSuccess;
  return error != cudaSuccess ? error : before != cudaSuccess ? before : real;
}

CUDAMEDIAN_DECLARE(cudaPeekAtLastError, ())
{
  const auto error = Count("cudaPeekAtLastError");
  const auto real = CUDAMEDIAN_REAL(cudaPeekAtLastError)();
  return error != cudaSuccess ? error : lastError != cudaSuccess ? lastError : real;
}
