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

#include "ProcessNumber.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cudamedian
{
namespace
{

/** Contexts that wait for the next Update(). Never destroyed: at the end of the process the driver may be gone first,
 * and other threads may be at work. */
struct IdleContexts
{
  std::mutex                                  mutex;
  std::vector<std::unique_ptr<DeviceContext>> contexts;
  std::vector<std::unique_ptr<DeviceContext>> condemned; ///< could not be destroyed when they should have been
};

IdleContexts &
GetIdleContexts()
{
  static auto * const idle = new IdleContexts;
  return *idle;
}

/** Of one device; more would only hold memory. */
constexpr std::ptrdiff_t mostIdleContexts = 4;

/** The process in which this library started CUDA, or 0. */
std::atomic<long> cudaProcess{ 0 };

int
GetCurrentDevice()
{
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

/** The first of two errors. */
cudaError_t
GetFirst(cudaError_t one, cudaError_t other)
{
  return one == cudaSuccess ? other : one;
}

bool
IsLostHandle(cudaError_t error)
{
  return error == cudaErrorInvalidResourceHandle || error == cudaErrorContextIsDestroyed;
}

using GetContextId = int (*)(void * context, unsigned long long * id);

/** The driver's cuCtxGetId, or null where it has none. */
GetContextId
FindGetContextId()
{
  static std::atomic<void *> known{ nullptr };
  void *                     function = known;
#if CUDART_VERSION >= 12000
  if (function == nullptr)
  {
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#  if CUDART_VERSION >= 12050
    CheckCuda(cudaGetDriverEntryPointByVersion("cuCtxGetId", &function, 12000, cudaEnableDefault, &found),
              "cudaGetDriverEntryPointByVersion");
#  else
    CheckCuda(cudaGetDriverEntryPoint("cuCtxGetId", &function, cudaEnableDefault, &found), "cudaGetDriverEntryPoint");
#  endif
    function = found == cudaDriverEntryPointSuccess ? function : nullptr;
    known = function;
  }
#endif
  return reinterpret_cast<GetContextId>(function);
}

/** Destroys a context on its device, unless the CUDA context that it lived in is no more. What cannot be destroyed now
 * is kept for later. */
void
Destroy(std::unique_ptr<DeviceContext> & context)
{
  try
  {
    OnDevice(context->GetDevice(), [&context] {
      if (!context->IsAlive())
      {
        context->Abandon();
      }
      context.reset();
    });
  }
  catch (const std::exception &)
  {
    auto &                            idle = GetIdleContexts();
    const std::lock_guard<std::mutex> lock(idle.mutex);
    idle.condemned.push_back(std::move(context));
  }
}

/** Takes the context of a device that was used last, so that the next update like the last finds its buffers; null when
 * there is none. */
std::unique_ptr<DeviceContext>
TakeIdleContext(int device)
{
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  const auto found = std::find_if(idle.contexts.rbegin(), idle.contexts.rend(), [device](const auto & context) {
    return context->GetDevice() == device;
  });
  if (found == idle.contexts.rend())
  {
    return nullptr;
  }
  auto context = std::move(*found);
  idle.contexts.erase(std::next(found).base());
  return context;
}

/** Keeps a context for the next update, unless there are enough. */
void
KeepIdleContext(std::unique_ptr<DeviceContext> & context)
{
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  const auto                        device = context->GetDevice();
  if (std::count_if(idle.contexts.begin(), idle.contexts.end(), [device](const auto & other) {
        return other->GetDevice() == device;
      }) < mostIdleContexts)
  {
    idle.contexts.push_back(std::move(context));
  }
}

std::size_t
GetIdlePinnedBytes()
{
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  std::size_t                       bytes = 0;
  for (const auto & context : idle.contexts)
  {
    bytes += context->GetPinnedBytes();
  }
  return bytes;
}

} // namespace

bool
IsForkedFromCuda()
{
  const long process = cudaProcess;
  return process != 0 && process != GetProcessNumber();
}

void
StartCuda()
{
  long       none = 0;
  const long process = GetProcessNumber();
  if (!cudaProcess.compare_exchange_strong(none, process) && none != process)
  {
    throw DeviceError("this process, " + std::to_string(process) + ", was forked from process " + std::to_string(none) +
                      " after CUDA had started there, and CUDA does not work in such a process: fork before the first "
                      "use of CUDA, or start a new program instead");
  }
}

void
OnDevice(int device, const std::function<void()> & function)
{
  const std::string name = "CUDA device " + std::to_string(device) + ": ";
  const auto        prefix = [&name](const std::string & text) { return text.find(name) == 0 ? text : name + text; };
  try
  {
    if (GetCurrentDevice() == device)
    {
      function();
      return;
    }
    std::exception_ptr failure;
    std::thread        thread([&] {
      try
      {
        CheckCuda(cudaSetDevice(device), "cudaSetDevice");
        function();
      }
      catch (...)
      {
        failure = std::current_exception();
      }
    });
    thread.join();
    if (failure)
    {
      std::rethrow_exception(failure);
    }
  }
  catch (const CudaError & error)
  {
    throw CudaError(error.GetCode(), prefix(error.what()));
  }
  catch (const DeviceError & error)
  {
    throw DeviceError(prefix(error.what()));
  }
}

DeviceScope::DeviceScope(int device) : m_Before(GetCurrentDevice())
{
  if (device != m_Before)
  {
    CheckCuda(cudaSetDevice(device), "cudaSetDevice");
  }
  m_Device = device;
}

DeviceScope::~DeviceScope()
{
  if (m_Device != m_Before && cudaSetDevice(m_Before) != cudaSuccess)
  {
    cudaGetLastError();
  }
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
  throw CudaError(error, text);
}

bool
CachedBuffer::Reserve(std::size_t bytes)
{
  if (bytes <= m_Bytes && !m_IsOrdinary)
  {
    return true;
  }
  CheckCuda(Release(), m_Kind == Kind::Device ? "cudaFree" : "cudaFreeHost");
  const auto error = m_Kind == Kind::Device ? cudaMalloc(&m_Pointer, bytes) : cudaMallocHost(&m_Pointer, bytes);
  // The system may have reasons of its own not to pin memory, such as a limit of the process.
  if (error == cudaErrorMemoryAllocation || (m_Kind == Kind::Pinned && error == cudaErrorOperatingSystem))
  {
    cudaGetLastError();
    m_Pointer = nullptr;
    return false;
  }
  if (error != cudaSuccess)
  {
    m_Pointer = nullptr;
  }
  CheckCuda(error, m_Kind == Kind::Device ? "cudaMalloc" : "cudaMallocHost, for pinned memory of the host,");
  m_Bytes = bytes;
  return true;
}

bool
CachedBuffer::ReserveOrdinary(std::size_t bytes)
{
  if (bytes <= m_Bytes)
  {
    return true;
  }
  CheckCuda(Release(), "cudaFreeHost");
  m_Pointer = std::malloc(bytes);
  m_Bytes = m_Pointer != nullptr ? bytes : 0;
  m_IsOrdinary = m_Pointer != nullptr;
  return m_Pointer != nullptr;
}

cudaError_t
CachedBuffer::Release()
{
  auto error = cudaSuccess;
  if (m_IsOrdinary)
  {
    std::free(m_Pointer);
  }
  else if (m_Pointer != nullptr)
  {
    error = m_Kind == Kind::Device ? cudaFree(m_Pointer) : cudaFreeHost(m_Pointer);
  }
  Forget();
  if (error != cudaSuccess)
  {
    cudaGetLastError();
  }
  return error;
}

void
CachedBuffer::Forget()
{
  m_Pointer = nullptr;
  m_Bytes = 0;
  m_IsOrdinary = false;
}

unsigned long long
GetCudaContext()
{
  unsigned long long id = 0;
  if (const auto getId = FindGetContextId())
  {
    // Makes a context if there is none, as after a reset.
    CheckCuda(cudaFree(nullptr), "cudaFree");
    CheckCuda(static_cast<cudaError_t>(getId(nullptr, &id)), "cuCtxGetId");
  }
  return id;
}

DeviceContext::DeviceContext(int device, unsigned long long cudaContext) : m_Device(device), m_CudaContext(cudaContext)
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

/** Errors here were found by a call before, or come with the end of the driver. */
void
DeviceContext::Destroy()
{
  bool failed = false;
  for (auto stream : { upload, compute, download })
  {
    failed = (stream != nullptr && cudaStreamDestroy(stream) != cudaSuccess) || failed;
  }
  for (auto & place : places)
  {
    for (auto event : { place.uploaded, place.started, place.filtered, place.downloaded })
    {
      failed = (event != nullptr && cudaEventDestroy(event) != cudaSuccess) || failed;
    }
  }
  if (failed)
  {
    cudaGetLastError();
  }
}

void
DeviceContext::Abandon()
{
  upload = compute = download = nullptr;
  mergeStreams.Abandon();
  program.Forget();
  scratch.Forget();
  for (auto & place : places)
  {
    place.uploaded = place.started = place.filtered = place.downloaded = nullptr;
    for (auto * buffer : { &place.input, &place.output, &place.stagedInput, &place.stagedOutput })
    {
      if (buffer->IsOrdinary())
      {
        buffer->Release();
      }
      buffer->Forget();
    }
  }
}

bool
DeviceContext::IsAlive() const
{
  if (m_CudaContext != GetCudaContext())
  {
    return false;
  }
  // What the driver says of memory is a second witness, and the only one where contexts have no numbers.
  for (const auto * buffer : { &places[0].input, &program, &scratch })
  {
    if (buffer->GetBytes() > 0)
    {
      cudaPointerAttributes attributes{};
      CheckCuda(cudaPointerGetAttributes(&attributes, buffer->Get()), "cudaPointerGetAttributes");
      return attributes.type == cudaMemoryTypeDevice && attributes.device == m_Device;
    }
  }
  return true;
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

std::size_t
DeviceContext::GetPinnedBytes() const
{
  std::size_t bytes = 0;
  for (const auto & place : places)
  {
    for (const auto * buffer : { &place.stagedInput, &place.stagedOutput })
    {
      bytes += buffer->IsOrdinary() ? 0 : buffer->GetBytes();
    }
  }
  return bytes;
}

bool
DeviceContext::HasOrdinaryStaging() const
{
  return std::any_of(places.begin(), places.end(), [](const Place & place) {
    return place.stagedInput.IsOrdinary() || place.stagedOutput.IsOrdinary();
  });
}

bool
DeviceContext::ReservePixels(CachedBuffer & buffer, std::size_t bytes)
{
  const auto before = buffer.GetBytes();
  if (!buffer.Reserve(bytes))
  {
    return false;
  }
  if (before < bytes)
  {
    // Other streams use the buffer next.
    CheckCuda(cudaMemsetAsync(buffer.Get(), 0, bytes, compute), "cudaMemsetAsync");
    CheckCuda(cudaStreamSynchronize(compute), "cudaStreamSynchronize");
  }
  return true;
}

cudaError_t
DeviceContext::ReleaseStaging()
{
  auto error = cudaSuccess;
  for (auto & place : places)
  {
    error = GetFirst(error, place.stagedInput.Release());
    error = GetFirst(error, place.stagedOutput.Release());
  }
  return error;
}

cudaError_t
DeviceContext::ReleaseBuffers()
{
  auto error = GetFirst(program.Release(), scratch.Release());
  for (auto & place : places)
  {
    error = GetFirst(error, place.input.Release());
    error = GetFirst(error, place.output.Release());
  }
  return GetFirst(error, ReleaseStaging());
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
    auto next = stream != nullptr ? cudaStreamSynchronize(stream) : cudaSuccess;
    error = GetFirst(error, next);
    if (next != cudaSuccess && !IsLostHandle(next))
    {
      // Whatever it was, nothing may be under way when this returns: asked again.
      cudaGetLastError();
      next = cudaStreamSynchronize(stream);
    }
  }
  if (error != cudaSuccess)
  {
    cudaGetLastError();
  }
  return error;
}

BorrowedContext::BorrowedContext(int device)
{
  StartCuda();
  try
  {
    OnDevice(device, [this, device] {
      while ((m_Context = TakeIdleContext(device)) && !m_Context->IsAlive())
      {
        m_Context->Abandon();
      }
      if (!m_Context)
      {
        m_Context = std::make_unique<DeviceContext>(device, GetCudaContext());
      }
    });
  }
  catch (...)
  {
    if (m_Context)
    {
      Destroy(m_Context);
    }
    throw;
  }
}

BorrowedContext::~BorrowedContext()
{
  if (IsForkedFromCuda())
  {
    // All of it is the parent's.
    m_Context.release();
    return;
  }
  auto error = cudaSuccess;
  try
  {
    OnDevice(m_Context->GetDevice(), [this, &error] {
      // What is still under way uses the buffers, and after an exception the image.
      error = m_Context->Synchronize();
      if (error == cudaSuccess &&
          (m_Context->HasOrdinaryStaging() || m_Context->GetPinnedBytes() + GetIdlePinnedBytes() > mostIdlePinnedBytes))
      {
        error = m_Context->ReleaseStaging();
      }
    });
    if (error == cudaSuccess)
    {
      KeepIdleContext(m_Context);
    }
  }
  catch (const std::exception &)
  {
    // It is destroyed.
  }
  if (IsLostHandle(error) && !m_Context->KnowsCudaContext())
  {
    // A reset that the driver cannot tell of: the other contexts of the device went with it.
    for (auto device = m_Context->GetDevice(); m_Context; m_Context = TakeIdleContext(device))
    {
      m_Context->Abandon();
    }
  }
  if (m_Context)
  {
    Destroy(m_Context);
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
  if (IsForkedFromCuda())
  {
    return;
  }
  auto &                                      idle = GetIdleContexts();
  std::vector<std::unique_ptr<DeviceContext>> released;
  std::vector<std::unique_ptr<DeviceContext>> condemned;
  {
    const std::lock_guard<std::mutex> lock(idle.mutex);
    released.swap(idle.contexts);
    condemned.swap(idle.condemned);
  }
  for (auto * contexts : { &released, &condemned })
  {
    for (auto & context : *contexts)
    {
      Destroy(context);
    }
  }
}

} // namespace cudamedian
