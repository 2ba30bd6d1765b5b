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
#ifndef ThreadTeam_h
#define ThreadTeam_h

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cudamedian
{

/** Threads that do the host's copies of a device, while the device's own thread starts them and helps.
 *
 * A thread that finds nothing to do looks for more for a moment, and then sleeps. Slabs of an image follow each other
 * within tenths of a millisecond, so none is asleep between them: to wake one takes some 10 µs, and more on a virtual
 * machine. Where the system has no more threads, or so few addresses that work would lack them, the team is smaller. In
 * a process that was forked the threads do not exist: a team that came along must not be used there, and leaves all as
 * it is when it ends. */
class ThreadTeam
{
public:
  /** Work of several pieces, which are done in any order and at the same time. */
  class Task
  {
  public:
    /** Whether all pieces are done, as those of a task that was never started. */
    bool
    IsDone() const
    {
      return m_Left.load(std::memory_order_acquire) == 0;
    }

  private:
    friend class ThreadTeam;
    std::function<void(std::size_t)> m_Body;
    std::size_t                      m_Pieces{ 0 };
    std::size_t                      m_Next{ 0 }; ///< the first piece that nobody has begun
    std::atomic<std::size_t>         m_Left{ 0 }; ///< pieces that are not done
  };

  /** Starts the threads; the one that calls Help() and Finish() is a member too. */
  explicit ThreadTeam(std::size_t members);
  /** Ends the threads. Tasks that were started must be done. */
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &
  operator=(const ThreadTeam &) = delete;

  /** How many members were asked for. */
  std::size_t
  GetMembers() const
  {
    return m_Members;
  }

  /** Whether there are threads beside the one that starts tasks. */
  bool
  HasThreads() const
  {
    return !m_Shared->threads.empty();
  }

  /** Has body(0) … body(pieces-1) done, after the tasks that were started before. Returns at once. The task must be
   * done before it ends or is started again. Bodies must not throw. To be called by one thread at a time. */
  void
  Start(Task & task, std::size_t pieces, std::function<void(std::size_t)> body);

  /** Does a piece that nobody has begun. \returns false when there is none. */
  bool
  Help();

  /** Helps until a task is done. */
  void
  Finish(const Task & task);

private:
  /** What the threads share. */
  struct Shared
  {
    std::atomic_flag         queueLock = ATOMIC_FLAG_INIT;
    std::deque<Task *>       queue;     ///< tasks with pieces that nobody has begun
    std::atomic<std::size_t> open{ 0 }; ///< such pieces
    std::mutex               mutex;     ///< of those who sleep
    std::condition_variable  changed;
    std::size_t              sleeping{ 0 };
    std::atomic<bool>        ended{ false };
    std::vector<std::thread> threads;
  };

  static bool
  HelpWith(Shared & shared);
  static void
  Serve(Shared & shared);

  const std::size_t       m_Members;
  const long              m_Process; ///< that the threads belong to
  std::unique_ptr<Shared> m_Shared;
};

} // namespace cudamedian

#endif
