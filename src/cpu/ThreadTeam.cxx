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
#include "ThreadTeam.h"

#include "ProcessNumber.h"

#include <chrono>
#include <system_error>
#include <utility>

#ifndef _WIN32
#  include <sys/mman.h>
#endif

namespace cudamedian
{
namespace
{

/** How long a thread without work looks for more. A device takes less for a slab. */
constexpr std::chrono::microseconds patience{ 500 };

/** Holds back some of the process's addresses while it lives, so that the stacks of threads do not take the last of
 * them where they are limited (ulimit -v): work has to allocate, and so has the C library for each thread's data, which
 * ends the process where it cannot. */
class HeldAddresses
{
public:
  HeldAddresses()
#ifndef _WIN32
    : m_Addresses(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
#endif
  {}
  ~HeldAddresses()
  {
#ifndef _WIN32
    if (IsThere())
    {
      munmap(m_Addresses, bytes);
    }
#endif
  }
  HeldAddresses(const HeldAddresses &) = delete;
  HeldAddresses &
  operator=(const HeldAddresses &) = delete;

  /** Whether there were so many addresses. */
  bool
  IsThere() const
  {
#ifdef _WIN32
    return true;
#else
    return m_Addresses != MAP_FAILED;
#endif
  }

#ifndef _WIN32
private:
  static constexpr std::size_t bytes{ std::size_t{ 32 } << 20 };
  void *                       m_Addresses;
#endif
};

/** Holds a lock. The lock is never held for long, so a thread that waits for it keeps the processor. */
class QueueScope
{
public:
  explicit QueueScope(std::atomic_flag & flag)
    : m_Flag(flag)
  {
    while (m_Flag.test_and_set(std::memory_order_acquire))
    {
      std::this_thread::yield();
    }
  }
  ~QueueScope() { m_Flag.clear(std::memory_order_release); }
  QueueScope(const QueueScope &) = delete;
  QueueScope &
  operator=(const QueueScope &) = delete;

private:
  std::atomic_flag & m_Flag;
};

} // namespace

ThreadTeam::ThreadTeam(std::size_t members)
  : m_Members(members)
  , m_Process(GetProcessNumber())
  , m_Shared(std::make_unique<Shared>())
{
  const HeldAddresses held;
  try
  {
    for (std::size_t i = 1; i < members && held.IsThere(); ++i)
    {
      m_Shared->threads.emplace_back([&shared = *m_Shared] { Serve(shared); });
    }
  }
  catch (const std::system_error &)
  {
    // The system has no more threads: those that are there do all the work.
  }
}

ThreadTeam::~ThreadTeam()
{
  if (m_Process != GetProcessNumber())
  {
    // The threads do not exist here: to join them would never end, nor would the end of a condition they wait for.
    m_Shared.release();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(m_Shared->mutex);
    m_Shared->ended = true;
  }
  m_Shared->changed.notify_all();
  for (auto & thread : m_Shared->threads)
  {
    thread.join();
  }
}

void
ThreadTeam::Start(Task & task, std::size_t pieces, std::function<void(std::size_t)> body)
{
  if (pieces == 0)
  {
    return;
  }
  task.m_Body = std::move(body);
  task.m_Pieces = pieces;
  task.m_Next = 0;
  task.m_Left.store(pieces, std::memory_order_relaxed);
  {
    const QueueScope scope(m_Shared->queueLock);
    m_Shared->queue.push_back(&task);
    m_Shared->open += pieces;
  }
  bool asleep = false;
  {
    const std::lock_guard<std::mutex> lock(m_Shared->mutex);
    asleep = m_Shared->sleeping > 0;
  }
  if (asleep)
  {
    m_Shared->changed.notify_all();
  }
}

bool
ThreadTeam::Help()
{
  return HelpWith(*m_Shared);
}

bool
ThreadTeam::HelpWith(Shared & shared)
{
  Task *      task = nullptr;
  std::size_t piece = 0;
  {
    const QueueScope scope(shared.queueLock);
    if (shared.queue.empty())
    {
      return false;
    }
    task = shared.queue.front();
    piece = task->m_Next++;
    --shared.open;
    if (task->m_Next == task->m_Pieces)
    {
      shared.queue.pop_front();
    }
  }
  task->m_Body(piece);
  task->m_Left.fetch_sub(1, std::memory_order_release);
  return true;
}

void
ThreadTeam::Finish(const Task & task)
{
  while (!task.IsDone())
  {
    if (!Help())
    {
      std::this_thread::yield();
    }
  }
}

/** What a thread of the team does until the team ends. */
void
ThreadTeam::Serve(Shared & shared)
{
  using Clock = std::chrono::steady_clock;
  while (!shared.ended)
  {
    for (auto until = Clock::now() + patience; !shared.ended && Clock::now() < until;)
    {
      if (shared.open > 0 && HelpWith(shared))
      {
        until = Clock::now() + patience;
      }
      else
      {
        std::this_thread::yield();
      }
    }
    std::unique_lock<std::mutex> lock(shared.mutex);
    ++shared.sleeping;
    shared.changed.wait(lock, [&shared] { return shared.ended || shared.open > 0; });
    --shared.sleeping;
  }
}

} // namespace cudamedian
