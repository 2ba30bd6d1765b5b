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

#include "CudaError.h"

#include <algorithm>
#include <atomic>

namespace cudamedian
{
namespace
{

/** The first of two errors. */
cudaError_t
GetFirst(cudaError_t one, cudaError_t other)
{
  return one == cudaSuccess ? other : one;
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

} // namespace

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

unsigned long long
FindCudaContext()
{
  unsigned long long id = 0;
  const auto         getId = FindGetContextId();
  return getId != nullptr && getId(nullptr, &id) == 0 ? id : 0;
}

DeviceContext::DeviceContext(int device, unsigned long long cudaContext)
  : m_Device(device)
  , m_CudaContext(cudaContext)
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

DeviceContext::~DeviceContext() { Destroy(); }

/** Takes no notice of errors: a call before has found them, or they come with the end of the driver. */
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
    for (auto * buffer :
         { &place.input, &place.output, &place.ranks, &place.stagedInput, &place.stagedOutput, &place.stagedRanks })
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
  // The driver's word on memory is a second witness, and the only one where contexts have no numbers.
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
    bytes += place.input.GetBytes() + place.output.GetBytes() + place.ranks.GetBytes();
  }
  return bytes;
}

std::size_t
DeviceContext::GetPinnedBytes() const
{
  std::size_t bytes = 0;
  for (const auto & place : places)
  {
    for (const auto * buffer : { &place.stagedInput, &place.stagedOutput, &place.stagedRanks })
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
    return place.stagedInput.IsOrdinary() || place.stagedOutput.IsOrdinary() || place.stagedRanks.IsOrdinary();
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
    error = GetFirst(error, place.stagedRanks.Release());
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
    error = GetFirst(error, place.ranks.Release());
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
      // Nothing may be under way when this returns, whatever the error was: it waits again.
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

} // namespace cudamedian
