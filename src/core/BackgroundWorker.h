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
#ifndef BackgroundWorker_h
#define BackgroundWorker_h

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cudamedian
{

/** A thread for work that nobody waits for. It is there as long as there is work, and does one thing after the other.
 *
 * What cannot be stopped has to be over before a process ends: the process's worker is told then, and waited for. Work
 * that looks at what it is given can keep that short. What has not begun by then never does. A signal that ends the
 * process waits for nothing, and all signals are left to the process's other threads. */
class BackgroundWorker
{
public:
  /** Told whether it is to stop, which may be asked from any thread. */
  using Work = std::function<void(const std::atomic<bool> & isStopped)>;

  BackgroundWorker() = default;
  ~BackgroundWorker();
  BackgroundWorker(const BackgroundWorker &) = delete;
  BackgroundWorker &
  operator=(const BackgroundWorker &) = delete;

  /** The process's worker, another one after a fork. Thread-safe. */
  static BackgroundWorker &
  Get();

  /** Has work done, which throws nothing. The process's worker ends before whatever exists by now is destroyed at the
   * end of the process. \returns whether it will be: not when the worker has ended, or the system has
   * no thread for it. Thread-safe. */
  bool
  Add(Work work);

  /** Stops what is under way, drops what has not begun, and waits. Nothing is added afterwards. Thread-safe. */
  void
  End();

private:
  void
  Run();

  std::mutex        m_Mutex;
  std::deque<Work>  m_Waiting;
  std::thread       m_Thread;
  bool              m_IsRunning{ false }; ///< whether the thread takes more work
  bool              m_HasEnded{ false };
  std::atomic<bool> m_IsStopped{ false };
};

} // namespace cudamedian

#endif
