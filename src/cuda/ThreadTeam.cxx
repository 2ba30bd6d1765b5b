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

#include <chrono>
#include <system_error>
#include <utility>

namespace cudamedian
{
namespace
{

/** How long a thread without work looks for more: longer than a device takes for a slab. */
constexpr std::chrono::microseconds patience{ 500 };

/** Holds a lock that is never held for long, so that waiting for it does not give the processor away. */
class QueueScope
{
public:
  explicit QueueScope(std::atomic_flag & flag) : m_Flag(flag)
  {
    while (m_Flag.test_and_set(std::memory_order_acquire))
    {
      std::this_thread::yield();
    }
  }
  ~QueueScope()
  {
    m_Flag.clear(std::memory_order_release);
  }
  QueueScope(const QueueScope &) = delete;
  QueueScope &
  operator=(const QueueScope &) = delete;

private:
  std::atomic_flag & m_Flag;
};

} // namespace

ThreadTeam::ThreadTeam(std::size_t members) : m_Members(members)
{
  try
  {
    for (std::size_t i = 1; i < members; ++i)
    {
      m_Threads.emplace_back([this] { Serve(); });
    }
  }
  catch (const std::system_error &)
  {
    // No more threads: those that are there do all the work.
  }
}

ThreadTeam::~ThreadTeam()
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Ended = true;
  }
  m_Changed.notify_all();
  for (auto & thread : m_Threads)
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
    const QueueScope scope(m_QueueLock);
    m_Queue.push_back(&task);
    m_Open += pieces;
  }
  bool asleep = false;
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    asleep = m_Sleeping > 0;
  }
  if (asleep)
  {
    m_Changed.notify_all();
  }
}

bool
ThreadTeam::Help()
{
  Task *      task = nullptr;
  std::size_t piece = 0;
  {
    const QueueScope scope(m_QueueLock);
    if (m_Queue.empty())
    {
      return false;
    }
    task = m_Queue.front();
    piece = task->m_Next++;
    --m_Open;
    if (task->m_Next == task->m_Pieces)
    {
      m_Queue.pop_front();
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

/** A thread of the team, until the end of the team. */
void
ThreadTeam::Serve()
{
  using Clock = std::chrono::steady_clock;
  while (!m_Ended)
  {
    for (auto until = Clock::now() + patience; !m_Ended && Clock::now() < until;)
    {
      if (m_Open > 0 && Help())
      {
        until = Clock::now() + patience;
      }
      else
      {
        std::this_thread::yield();
      }
    }
    std::unique_lock<std::mutex> lock(m_Mutex);
    ++m_Sleeping;
    m_Changed.wait(lock, [this] { return m_Ended || m_Open > 0; });
    --m_Sleeping;
  }
}

} // namespace cudamedian
