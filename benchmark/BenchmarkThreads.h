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
#ifndef BenchmarkThreads_h
#define BenchmarkThreads_h

#include <algorithm>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace cudamedianbenchmark
{

/** Runs a function for each number side by side, as MedianRequest::parallelFor. */
inline void
RunInThreads(std::size_t count, const std::function<void(std::size_t)> & body)
{
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < count; ++i)
  {
    threads.emplace_back(body, i);
  }
  body(0);
  std::for_each(threads.begin(), threads.end(), [](auto & thread) { thread.join(); });
}

} // namespace cudamedianbenchmark

#endif
