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
#include "MedianBackend.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace cudamedian
{
namespace
{

/** Contexts that wait for the next run. Never destroyed: at the end of the process the driver may be gone first, and
 * other threads may be at work. */
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

/** The most idle contexts of one device: two for each thread that uploads boxes, one of which filters them. More would
 * only hold memory; to make fewer anew took longer than to filter what was uploaded. */
constexpr std::ptrdiff_t mostIdleContexts = 2 * mostUploadingThreads;

/** Destroys a context on its device. Where its CUDA context is no more, it is forgotten instead. Where that fails, it
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

/** How much a run would like a context: one that it needs no more staging memory for, or that others do not look for.
 */
std::size_t
GetWorth(const DeviceContext & context, bool stages)
{
  const auto bytes = context.GetPinnedBytes();
  return stages ? bytes : bytes == 0 ? 1 : 0;
}

/** Takes a context of a device: where it stages pixels the one with the most memory for that, else one without, and
 * the one that was used last of several: a run like the last one finds its buffers there. Null where there is none. */
std::unique_ptr<DeviceContext>
TakeIdleContext(int device, bool stages)
{
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  auto                              found = idle.contexts.end();
  for (auto context = idle.contexts.begin(); context != idle.contexts.end(); ++context)
  {
    if ((*context)->GetDevice() == device &&
        (found == idle.contexts.end() || GetWorth(**context, stages) >= GetWorth(**found, stages)))
    {
      found = context;
    }
  }
  if (found == idle.contexts.end())
  {
    return nullptr;
  }
  auto context = std::move(*found);
  idle.contexts.erase(found);
  return context;
}

/** Takes the context of a device that has waited longest of those with staging memory; null where there is none. */
std::unique_ptr<DeviceContext>
TakeOldestStaging(int device)
{
  auto &                            idle = GetIdleContexts();
  const std::lock_guard<std::mutex> lock(idle.mutex);
  const auto found = std::find_if(idle.contexts.begin(), idle.contexts.end(), [device](const auto & context) {
    return context->GetDevice() == device && context->GetPinnedBytes() > 0;
  });
  if (found == idle.contexts.end())
  {
    return nullptr;
  }
  auto context = std::move(*found);
  idle.contexts.erase(found);
  return context;
}

/** Keeps a context for the next run, unless there are enough. */
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

/** Has contexts of a device that have waited longest give back their staging memory, until there is room for so much
 * more of it. \pre the device is the current one */
void
MakeRoomForStaging(int device, std::size_t bytes)
{
  while (bytes <= mostIdlePinnedBytes && bytes + GetIdlePinnedBytes() > mostIdlePinnedBytes)
  {
    auto oldest = TakeOldestStaging(device);
    if (!oldest)
    {
      return;
    }
    if (oldest->IsAlive() && oldest->ReleaseStaging() == cudaSuccess)
    {
      auto &                            idle = GetIdleContexts();
      const std::lock_guard<std::mutex> lock(idle.mutex);
      idle.contexts.insert(idle.contexts.begin(), std::move(oldest));
    }
    else
    {
      Destroy(oldest);
    }
  }
}

} // namespace

BorrowedContext::BorrowedContext(int device, bool stages)
{
  StartCuda();
  try
  {
    OnDevice(device, [this, device, stages] {
      while ((m_Context = TakeIdleContext(device, stages)) && !m_Context->IsAlive())
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
    // The context is the parent's.
    m_Context.release();
    return;
  }
  auto error = cudaSuccess;
  try
  {
    OnDevice(m_Context->GetDevice(), [this, &error] {
      // Work that is still under way uses the buffers, and after an exception the image.
      error = m_Context->Synchronize();
      if (error == cudaSuccess)
      {
        MakeRoomForStaging(m_Context->GetDevice(), m_Context->GetPinnedBytes());
      }
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
    // The context is destroyed below.
  }
  if (IsLostHandle(error) && !m_Context->KnowsCudaContext())
  {
    // A reset that the driver could not tell of: the device's other contexts went with it.
    for (auto device = m_Context->GetDevice(); m_Context; m_Context = TakeIdleContext(device, true))
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
