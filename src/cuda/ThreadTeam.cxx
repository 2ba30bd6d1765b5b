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

#include <system_error>
#include <utility>

namespace cudamedian
{

ThreadTeam::ThreadTeam(std::size_t members)
{
  try
  {
    for (std::size_t i = 1; i < members; ++i)
    {
      m_Threads.emplace_back([this] { Wait(); });
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
ThreadTeam::Run(std::size_t count, const std::function<void(std::size_t)> & body)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  m_Body = &body;
  m_Next = 0;
  m_Count = count;
  m_Changed.notify_all();
  Work(lock);
  m_Changed.wait(lock, [this] { return m_Running == 0; });
  if (m_Failure)
  {
    std::rethrow_exception(std::exchange(m_Failure, nullptr));
  }
}

/** A thread of the team, until the end of the team. */
void
ThreadTeam::Wait()
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  for (;;)
  {
    m_Changed.wait(lock, [this] { return m_Ended || m_Next < m_Count; });
    if (m_Ended)
    {
      return;
    }
    Work(lock);
  }
}

/** Runs bodies while there are any that nobody has started. */
void
ThreadTeam::Work(std::unique_lock<std::mutex> & lock)
{
  while (m_Next < m_Count)
  {
    const auto number = m_Next++;
    ++m_Running;
    lock.unlock();
    std::exception_ptr failure;
    try
    {
      (*m_Body)(number);
    }
    catch (...)
    {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure)
    {
      m_Failure = failure;
      m_Count = 0;
    }
    if (--m_Running == 0)
    {
      m_Changed.notify_all();
    }
  }
}

} // namespace cudamedian
