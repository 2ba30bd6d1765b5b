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
#include "ProcessNumber.h"
#include "ThreadTeam.h"
#include "itkCudaMedianThreads.h"

#include <atomic>
#include <memory>

namespace cudamedian
{
namespace
{

/** The threads of a process. They are never ended: when the process ends they sleep, or look for work, and nobody could
 * say any more that they may not. */
class KeptThreads
{
public:
  /** Takes the threads for a call. \returns false where another call has them. */
  bool
  Take()
  {
    return !m_IsTaken.test_and_set(std::memory_order_acquire);
  }

  void
  GiveBack()
  {
    m_IsTaken.clear(std::memory_order_release);
  }

  /** Has a team of so many members, or of more. \pre they are taken. */
  ThreadTeam &
  Get(std::size_t members)
  {
    if (m_Process != GetProcessNumber())
    {
      // Those of the process that this one was forked from do not exist here.
      static_cast<void>(m_Team.release());
      m_Process = GetProcessNumber();
    }
    if (m_Team == nullptr || m_Team->GetMembers() < members)
    {
      m_Team = std::make_unique<ThreadTeam>(members);
    }
    return *m_Team;
  }

private:
  std::atomic_flag            m_IsTaken = ATOMIC_FLAG_INIT;
  std::unique_ptr<ThreadTeam> m_Team;
  long                        m_Process{ GetProcessNumber() };
};

/** Gives threads back at the end of a scope. */
class TakenThreads
{
public:
  explicit TakenThreads(KeptThreads & kept)
    : m_Kept(kept)
  {}
  ~TakenThreads() { m_Kept.GiveBack(); }
  TakenThreads(const TakenThreads &) = delete;
  TakenThreads &
  operator=(const TakenThreads &) = delete;

private:
  KeptThreads & m_Kept;
};

/** Waits for a task at the end of a scope. */
class FinishedTask
{
public:
  FinishedTask(ThreadTeam & team, ThreadTeam::Task & task)
    : m_Team(team)
    , m_Task(task)
  {}
  ~FinishedTask() { m_Team.Finish(m_Task); }
  FinishedTask(const FinishedTask &) = delete;
  FinishedTask &
  operator=(const FinishedTask &) = delete;

private:
  ThreadTeam &       m_Team;
  ThreadTeam::Task & m_Task;
};

void
RunIn(ThreadTeam & team, std::size_t count, const std::function<void(std::size_t)> & body)
{
  ThreadTeam::Task   task;
  const FinishedTask finished(team, task);
  team.Start(task, count - 1, [&body](std::size_t number) { body(number + 1); });
  body(0);
}

} // namespace

void
RunInKeptThreads(std::size_t count, const std::function<void(std::size_t)> & body)
{
  static auto & kept = *new KeptThreads;
  if (count <= 1)
  {
    if (count == 1)
    {
      body(0);
    }
    return;
  }
  if (!kept.Take())
  {
    ThreadTeam own(count);
    RunIn(own, count, body);
    return;
  }
  const TakenThreads taken(kept);
  RunIn(kept.Get(count), count, body);
}

} // namespace cudamedian
