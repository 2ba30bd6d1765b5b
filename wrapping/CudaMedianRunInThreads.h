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
#ifndef CudaMedianRunInThreads_h
#define CudaMedianRunInThreads_h

#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace cudamedian
{

/** Joins its threads also when an exception passes. */
class JoinedThreads
{
public:
  explicit JoinedThreads(std::size_t count)
  {
    m_Threads.reserve(count);
  }
  ~JoinedThreads()
  {
    for (auto & thread : m_Threads)
    {
      thread.join();
    }
  }
  template <typename TBody>
  void
  Start(TBody && body)
  {
    m_Threads.emplace_back(std::forward<TBody>(body));
  }

private:
  std::vector<std::thread> m_Threads;
};

/** A thread for each body but the first, which runs here, as do those that the system has no thread for: bodies take
 * work as they come to it, so that the last find none left. */
inline void
RunInThreads(std::size_t count, const std::function<void(std::size_t)> & body)
{
  JoinedThreads threads(count);
  std::size_t   unit = 1;
  try
  {
    for (; unit < count; ++unit)
    {
      threads.Start([&body, unit] { body(unit); });
    }
  }
  catch (const std::system_error &)
  {
    // No more threads.
  }
  if (count > 0)
  {
    body(0);
  }
  for (; unit < count; ++unit)
  {
    body(unit);
  }
}

} // namespace cudamedian

#endif
