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

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cudamedian
{

/** Threads that wait for work together: for the host's copies of one of several devices, since a request's parallelFor
 * serves one caller at a time. Where the system has no more threads, the team is smaller. */
class ThreadTeam
{
public:
  /** Starts the team; the thread that calls Run() is one of its members. */
  explicit ThreadTeam(std::size_t members);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &
  operator=(const ThreadTeam &) = delete;

  /** Runs body(0) … body(count-1) on the members and returns when all are done. From one thread at a time.
   * \throws what a body has thrown; the bodies that had not been started by then are left out. */
  void
  Run(std::size_t count, const std::function<void(std::size_t)> & body);

private:
  void
  Wait();
  void
  Work(std::unique_lock<std::mutex> & lock);

  std::vector<std::thread>                 m_Threads;
  std::mutex                               m_Mutex;
  std::condition_variable                  m_Changed;
  const std::function<void(std::size_t)> * m_Body{ nullptr };
  std::size_t                              m_Next{ 0 };    ///< body that nobody has started
  std::size_t                              m_Count{ 0 };   ///< bodies in all
  std::size_t                              m_Running{ 0 }; ///< bodies that have been started and not ended
  std::exception_ptr                       m_Failure;
  bool                                     m_Ended{ false };
};

} // namespace cudamedian

#endif
