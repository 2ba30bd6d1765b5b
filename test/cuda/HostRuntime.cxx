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
// The part of the CUDA runtime that slabs pass through, and the kernel, on the host: two devices whose memory is the
// host's and whose streams are threads. What has no event between it runs in any order, after pauses that differ.

#include "CudaMedianTestSeed.h"
#include "SlabKernel.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace
{

constexpr int numberOfDevices = 2;

thread_local int currentDevice = 0;

/** Of all streams and events. Not destroyed: at the end of the process the streams of idle contexts still wait. */
std::mutex &              mutex = *new std::mutex;
std::condition_variable & changed = *new std::condition_variable;

/** Pinned memory: where it starts, and how much it is. */
std::map<const char *, std::size_t> & pinned = *new std::map<const char *, std::size_t>;

} // namespace

/** A thread that does what it is told in order. */
struct CUstream_st
{
  CUstream_st() : thread([this] { Serve(); })
  {}
  ~CUstream_st()
  {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      hasEnded = true;
    }
    changed.notify_all();
    thread.join();
  }

  void
  Enqueue(std::function<void()> work)
  {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      queue.push_back(std::move(work));
    }
    changed.notify_all();
  }

  void
  Serve()
  {
    std::mt19937                 generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
    std::unique_lock<std::mutex> lock(mutex);
    for (;;)
    {
      changed.wait(lock, [this] { return hasEnded || !queue.empty(); });
      if (queue.empty())
      {
        return;
      }
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(generator() % 4 == 0 ? generator() % 300 : 0));
      queue.front()();
      lock.lock();
      queue.pop_front();
      changed.notify_all();
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

extern "C" {

cudaError_t
cudaGetDeviceCount(int * count)
{
  *count = numberOfDevices;
  return cudaSuccess;
}

cudaError_t
cudaGetDevice(int * device)
{
  *device = currentDevice;
  return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
  currentDevice = device;
  return device < numberOfDevices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp * properties, int)
{
  *properties = {};
  std::strcpy(properties->name, "threads of the host");
  return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute(int * value, cudaDeviceAttr, int)
{
  *value = 1;
  return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(std::size_t * available, std::size_t * total)
{
  *available = *total = std::size_t{ 1 } << 30;
  return cudaSuccess;
}

cudaError_t
cudaMalloc(void ** memory, std::size_t bytes)
{
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xA5, bytes);
  return cudaSuccess;
}

cudaError_t
cudaFree(void * memory)
{
  std::free(memory);
  return cudaSuccess;
}

cudaError_t
cudaMallocHost(void ** memory, std::size_t bytes)
{
  cudaMalloc(memory, bytes);
  const std::lock_guard<std::mutex> lock(mutex);
  pinned[static_cast<const char *>(*memory)] = bytes;
  return cudaSuccess;
}

cudaError_t
cudaFreeHost(void * memory)
{
  {
    const std::lock_guard<std::mutex> lock(mutex);
    pinned.erase(static_cast<const char *>(memory));
  }
  return cudaFree(memory);
}

cudaError_t
cudaPointerGetAttributes(cudaPointerAttributes * attributes, const void * memory)
{
  const std::lock_guard<std::mutex> lock(mutex);
  const auto *                      byte = static_cast<const char *>(memory);
  const auto                        next = pinned.upper_bound(byte);
  attributes->type = cudaMemoryTypeUnregistered;
  if (next != pinned.begin() && byte < std::prev(next)->first + std::prev(next)->second)
  {
    attributes->type = cudaMemoryTypeHost;
  }
  return cudaSuccess;
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t * stream, unsigned int)
{
  *stream = new CUstream_st;
  return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
  delete stream;
  return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [stream] { return stream->queue.empty(); });
  return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
  std::unique_lock<std::mutex> lock(mutex);
  const auto                   number = event->recorded;
  lock.unlock();
  stream->Enqueue([event, number] {
    std::unique_lock<std::mutex> waiting(mutex);
    changed.wait(waiting, [event, number] { return event->reached >= number; });
  });
  return cudaSuccess;
}

cudaError_t
cudaEventCreate(cudaEvent_t * event)
{
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t * event, unsigned int)
{
  return cudaEventCreate(event);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
  delete event;
  return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  if (event->device != stream->device)
  {
    return cudaErrorInvalidResourceHandle;
  }
  std::unique_lock<std::mutex> lock(mutex);
  const auto                   number = ++event->recorded;
  lock.unlock();
  stream->Enqueue([event, number] {
    const std::lock_guard<std::mutex> reaching(mutex);
    event->reached = number;
    event->time = std::chrono::steady_clock::now();
  });
  return cudaSuccess;
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
  const std::lock_guard<std::mutex> lock(mutex);
  return event->reached == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [event, number = event->recorded] { return event->reached >= number; });
  return cudaSuccess;
}

cudaError_t
cudaEventElapsedTime(float * milliseconds, cudaEvent_t first, cudaEvent_t last)
{
  const std::lock_guard<std::mutex> lock(mutex);
  *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
  return first->reached == first->recorded && last->reached == last->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t
cudaMemcpyAsync(void * target, const void * source, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream)
{
  stream->Enqueue([=] { std::memcpy(target, source, bytes); });
  return cudaSuccess;
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
  for (std::size_t row = 0; row < height; ++row)
  {
    cudaMemcpyAsync(static_cast<char *>(target) + row * targetPitch,
                    static_cast<const char *>(source) + row * sourcePitch,
                    width,
                    kind,
                    stream);
  }
  return cudaSuccess;
}

cudaError_t
cudaDeviceSynchronize()
{
  return cudaSuccess;
}

cudaError_t
cudaGetLastError()
{
  return cudaSuccess;
}

const char *
cudaGetErrorName(cudaError_t)
{
  return "an error";
}

const char *
cudaGetErrorString(cudaError_t error)
{
  return cudaGetErrorName(error);
}

} // extern "C"

namespace cudamedian
{

cudaError_t
CheckKernelImage()
{
  return cudaSuccess;
}

SlabKernel::SlabKernel(const MedianRequest & request,
                       const Plan &          plan,
                       DeviceContext &       context,
                       ExecutionReport &     report)
  : m_Request(request), m_Plan(plan), m_Context(context), m_Report(report),
    m_Variant(GetKernelVariant(request.pixelType)), m_PixelBytes(PixelBytes(request.pixelType))
{}

/** The CPU's median of what lies in the slab's input buffer. */
cudaError_t
SlabKernel::Launch(const Slab & slab, const void * input, void * output, cudaStream_t stream) const
{
  const auto work = [type = m_Request.pixelType, radius = m_Request.radius, slab, input, output] {
    const auto        bytes = PixelBytes(type);
    const auto        inputStride = GetDeviceInputStride(slab, bytes);
    const auto        outputStride = GetDeviceOutputStride(slab, bytes);
    const auto &      extent = slab.input.extent;
    std::vector<char> packed(static_cast<std::size_t>(Volume(extent)) * bytes);
    const auto        row = static_cast<std::size_t>(extent[0]) * bytes;
    for (std::size_t number = 0; number * row < packed.size(); ++number)
    {
      // Pitched rows follow each other without gaps between slices.
      std::memcpy(packed.data() + number * row,
                  static_cast<const char *>(input) + number * static_cast<std::size_t>(inputStride[1]) * bytes,
                  row);
    }
    MedianRequest request;
    request.pixelType = type;
    request.input = packed.data();
    request.inputExtent = extent;
    request.radius = radius;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      request.outputOrigin[axis] = slab.output.origin[axis] - slab.input.origin[axis];
    }
    request.outputExtent = slab.output.extent;
    request.outputStride = outputStride;
    request.output = static_cast<char *>(output) + static_cast<std::size_t>(GetOutputLead(slab, bytes)) * bytes;
    request.backend = Backend::Cpu;
    RunMedian(request);
  };
  stream->Enqueue(work);
  return cudaSuccess;
}

} // namespace cudamedian
