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
#include "BackgroundWorker.h"

#include "ProcessNumber.h"

#include <cstdlib>
#include <system_error>

#ifndef _WIN32
#  include <csignal>
#endif
#ifdef __linux__
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

namespace cudamedian
{
namespace
{

/** The worker of a process. Never destroyed: it is ended before the process is, and one of a parent has no thread here.
 */
struct ProcessWorker
{
  const long       process{ GetProcessNumber() };
  BackgroundWorker worker;
};

std::atomic<ProcessWorker *> processWorker{ nullptr };

void
EndProcessWorker()
{
  auto * const mine = processWorker.load();
  if (mine != nullptr && mine->process == GetProcessNumber())
  {
    mine->worker.End();
  }
}

/** Ends the worker when main() is left. What a thread has of its own is destroyed before anything that was left for the
 * end of the process, whenever that was left: NVRTC makes some of it while it compiles, after Add() has told atexit(),
 * and would go on with what is gone, without end (seen on one H100's host with NVRTC 13.0). Of other threads than the
 * main one it does nothing: they end before the process does. */
class EndOfMain
{
public:
  ~EndOfMain()
  {
#ifdef __linux__
    if (syscall(SYS_gettid) == getpid())
    {
      EndProcessWorker();
    }
#endif
  }
  /** Has the object made that is destroyed then. */
  void
  Await()
  {
    m_IsAwaited = true;
  }

private:
  bool m_IsAwaited{ false };
};

thread_local EndOfMain endOfMain;

/** Has the thread that loads the library, the main one as a rule, make its own: others add work, too. */
[[maybe_unused]] const bool isAwaited = (endOfMain.Await(), true);

/** Threads that are made in its life leave all signals to others. */
class SignalsBlocked
{
public:
#ifndef _WIN32
  SignalsBlocked()
  {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &m_Before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &m_Before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &
  operator=(const SignalsBlocked &) = delete;

private:
  sigset_t m_Before;
#endif
};

} // namespace

BackgroundWorker &
BackgroundWorker::Get()
{
  auto * known = processWorker.load();
  while (known == nullptr || known->process != GetProcessNumber())
  {
    auto * const made = new ProcessWorker;
    if (processWorker.compare_exchange_strong(known, made))
    {
      return made->worker;
    }
    delete made;
  }
  return known->worker;
}

BackgroundWorker::~BackgroundWorker() { End(); }

bool
BackgroundWorker::Add(Work work)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_HasEnded)
  {
    return false;
  }
  // What is called when the process ends is called in reverse order: before what the work needs is destroyed, as far as
  // it was made by now.
  auto * const mine = processWorker.load();
  if (mine != nullptr && &mine->worker == this)
  {
    std::atexit(EndProcessWorker);
    endOfMain.Await();
  }
  m_Waiting.push_back(std::move(work));
  if (m_IsRunning)
  {
    return true;
  }
  if (m_Thread.joinable())
  {
    m_Thread.join(); // it has left its loop
  }
  try
  {
    const SignalsBlocked blocked;
    m_Thread = std::thread([this] { Run(); });
    m_IsRunning = true;
  }
  catch (const std::system_error &)
  {
    m_Waiting.clear();
  }
  return m_IsRunning;
}

void
BackgroundWorker::End()
{
  std::thread thread;
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_HasEnded = true;
    m_IsStopped = true;
    m_Waiting.clear();
    thread.swap(m_Thread);
  }
  if (thread.joinable())
  {
    thread.join();
  }
}

void
BackgroundWorker::Run()
{
  for (;;)
  {
    Work work;
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      if (m_Waiting.empty())
      {
        m_IsRunning = false;
        return;
      }
      work = std::move(m_Waiting.front());
      m_Waiting.pop_front();
    }
    work(m_IsStopped);
  }
}

} // namespace cudamedian
