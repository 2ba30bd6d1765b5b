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
#ifndef ToldProgress_h
#define ToldProgress_h

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

namespace cudamedian
{

/** The caller's progress, which rises whatever happens: when the CPU starts again after CUDA has failed, its progress
 * fills what was left. Remembers an exception of the caller, which no backend's error may be mistaken for. */
class ToldProgress
{
public:
  explicit ToldProgress(std::function<void(float)> tell)
    : m_Tell(std::move(tell))
  {}

  void
  Tell(float fraction)
  {
    const float told = fraction < 1 ? m_Start + (1 - m_Start) * fraction : 1;
    if (!m_Tell || told <= m_Told)
    {
      return;
    }
    m_Told = told;
    try
    {
      m_Tell(told);
    }
    catch (...)
    {
      m_Exception = std::current_exception();
      throw;
    }
  }

  /** What follows starts with nothing done. */
  void
  StartAgain()
  {
    m_Start = std::max(m_Told, 0.0F);
  }

  /** Throws what the caller threw, if it did. */
  void
  RethrowException() const
  {
    if (m_Exception)
    {
      std::rethrow_exception(m_Exception);
    }
  }

private:
  std::function<void(float)> m_Tell;
  float                      m_Start{ 0 };
  float                      m_Told{ -1 };
  std::exception_ptr         m_Exception;
};

} // namespace cudamedian

#endif
