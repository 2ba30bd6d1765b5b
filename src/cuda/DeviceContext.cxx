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
#include "DeviceContext.h"

#include "FaultInjection.h"
#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

namespace cudamedian
{
namespace
{

/** Contexts that wait for the next Update(). Never destroyed: at the end of the process the driver may be gone first.
 */
struct IdleContexts
{
  std::mutex                                  mutex;
  std::vector<std::unique_ptr<DeviceContext>> contexts;
};

IdleContexts &
GetIdleContexts()
{
  static auto * const idle = new IdleContexts;
  return *idle;
}

/** Of one device; more would only hold memory. */
constexpr std::ptrdiff_t mostIdleContexts = 4;

int
GetCurrentDevice()
{
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

} // namespace

DeviceScope::DeviceScope(int device) : m_Before(GetCurrentDevice())
{
  CheckCuda(cudaSetDevice(device), "cudaSetDevice");
}

DeviceScope::~DeviceScope()
{
  cudaSetDevice(m_Before);
}

std::vector<int>
ResolveDevices(const std::vector<int> & devices)
{
  return devices.empty() ? std::vector<int>{ GetCurrentDevice() } : devices;
}

void
CheckCuda(cudaError_t error, const char * call)
{
  if (error == cudaSuccess)
  {
    return;
  }
  cudaGetLastError();
  std::string text = std::string(call) + " failed: " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error);
  if (cudaDeviceSynchronize() == error && error != cudaErrorMemoryAllocation && error != cudaErrorInvalidValue)
  {
    text += ". The error stays: this process has to be started again before it can use the device";
  }
  cudaGetLastError();
  throw DeviceError(text);
}

bool
CachedBuffer::Reserve(std::size_t bytes)
{
  if (bytes <= m_Bytes)
  {
    return true;
  }
  Release();
  auto error = InjectAllocationFault() ? cudaErrorMemoryAllocation : cudaSuccess;
  if (error == cudaSuccess)
  {
    error = m_Kind == Kind::Device ? cudaMalloc(&m_Pointer, bytes) : cudaMallocHost(&m_Pointer, bytes);
  }
  if (error == cudaErrorMemoryAllocation)
  {
    cudaGetLastError();
    m_Pointer = nullptr;
    return false;
  }
  CheckCuda(error, m_Kind == Kind::Device ? "cudaMalloc" : "cudaMallocHost");
  m_Bytes = bytes;
  return true;
}

void
CachedBuffer::Release()
{
  if (m_Pointer != nullptr)
  {
    m_Kind == Kind::Device ? cudaFree(m_Pointer) : cudaFreeHost(m_Pointer);
  }
  m_Pointer = nullptr;
  m_Bytes = 0;
}

DeviceContext::DeviceContext(int device) : m_Device(device)
{
  try
  {
    for (auto * stream : { &upload, &compute, &download })
    {
      CheckCuda(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    }
    for (auto & place : places)
    {
      CheckCuda(cudaEventCreateWithFlags(&place.uploaded, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      CheckCuda(cudaEventCreateWithFlags(&place.downloaded, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      CheckCuda(cudaEventCreate(&place.started), "cudaEventCreate");
      CheckCuda(cudaEventCreate(&place.filtered), "cudaEventCreate");
    }
  }
  catch (...)
  {
    Destroy();
    throw;
  }
}

DeviceContext::~DeviceContext()
{
  Destroy();
}

void
DeviceContext::Destroy()
{
  for (auto & place : places)
  {
    for (auto event : { place.uploaded, place.started, place.filtered, place.downloaded })
    {
      if (event != nullptr)
      {
        cudaEventDestroy(event);
      }
    }
  }
  for (auto stream : { upload, compute, download })
  {
    if (stream != nullptr)
    {
      cudaStreamDestroy(stream);
    }
  }
}

std::size_t
DeviceContext::GetDeviceBytes() const
{
  auto bytes = program.GetBytes() + scratch.GetBytes();
  for (const auto & place : places)
  {
    bytes += place.input.GetBytes() + place.output.GetBytes();
  }
  return bytes;
}

void
DeviceContext::ReleaseBuffers()
{
  program.Release();
  scratch.Release();
  for (auto & place : places)
  {
    place.input.Release();
    place.output.Release();
    place.stagedInput.Release();
    place.stagedOutput.Release();
  }
}

ThreadTeam &
DeviceContext::GetTeam(std::size_t members)
{
  if (!m_Team || m_Team->GetMembers() != members)
  {
    m_Team = std::make_unique<ThreadTeam>(members);
  }
  return *m_Team;
}

cudaError_t
DeviceContext::Synchronize()
{
  auto error = cudaSuccess;
  for (auto stream : { upload, compute, download, mergeStreams.lines })
  {
    const auto next = stream != nullptr ? cudaStreamSynchronize(stream) : cudaSuccess;
    error = error == cudaSuccess ? next : error;
  }
  return error;
}

BorrowedContext::BorrowedContext(int device)
{
  auto & idle = GetIdleContexts();
  {
    const std::lock_guard<std::mutex> lock(idle.mutex);
    // The one that was used last: the next update like the last finds its buffers.
    const auto found = std::find_if(idle.contexts.rbegin(), idle.contexts.rend(), [device](const auto & context) {
      return context->GetDevice() == device;
    });
    if (found != idle.contexts.rend())
    {
      m_Context = std::move(*found);
      idle.contexts.erase(std::next(found).base());
      return;
    }
  }
  const DeviceScope scope(device);
  m_Context = std::make_unique<DeviceContext>(device);
}

BorrowedContext::~BorrowedContext()
{
  // What is still under way uses the buffers, and after an exception the image.
  if (m_Context->Synchronize() != cudaSuccess)
  {
    cudaGetLastError();
    return;
  }
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  const auto                        device = m_Context->GetDevice();
  if (std::count_if(idle.contexts.begin(), idle.contexts.end(), [device](const auto & context) {
        return context->GetDevice() == device;
      }) < mostIdleContexts)
  {
    idle.contexts.push_back(std::move(m_Context));
  }
}

std::size_t
GetIdleDeviceBytes(int device)
{
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  std::size_t                       bytes = 0;
  for (const auto & context : idle.contexts)
  {
    bytes += context->GetDevice() == device ? context->GetDeviceBytes() : 0;
  }
  return bytes;
}

void
ReleaseIdleContexts()
{
  auto &                                      idle = GetIdleContexts();
  std::vector<std::unique_ptr<DeviceContext>> released;
  const std::lock_guard<std::mutex>           lock(idle.mutex);
  released.swap(idle.contexts);
}

} // namespace cudamedian
