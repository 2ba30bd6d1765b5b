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
#ifndef Remembered_h
#define Remembered_h

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

namespace cudamedian
{

/** What was found for keys before, so that it is not found again by calls that follow each other. It must depend on
 * nothing but its key. When there are too many all are forgotten. May be used from any thread. */
template <typename TKey, typename TFound>
class Remembered
{
public:
  /** \param most things that are kept. */
  explicit Remembered(std::size_t most)
    : m_Most(most)
  {}

  /** What `find()` returns, or returned before for the key. \throws what `find` throws, and keeps nothing then. */
  template <typename TFind>
  TFound
  Get(const TKey & key, const TFind & find)
  {
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      const auto                        known = m_Found.find(key);
      if (known != m_Found.end())
      {
        return known->second;
      }
    }
    // Without the lock: two threads may find the same.
    TFound                            found = find();
    const std::lock_guard<std::mutex> lock(m_Mutex);
    if (m_Found.size() >= m_Most)
    {
      m_Found.clear();
    }
    m_Found.insert({ key, found });
    return found;
  }

private:
  const std::size_t      m_Most;
  std::mutex             m_Mutex;
  std::map<TKey, TFound> m_Found;
};

} // namespace cudamedian

#endif
