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
#ifndef MadeOnce_h
#define MadeOnce_h

#include "BackgroundWorker.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace cudamedian
{

/** Things that take long to make: each is made once, by a worker while nobody waits, or by the first who does.
 *
 * Whoever needs one that the worker has not begun makes it, and whoever needs one that is being made waits for it. One
 * whose making throws is not made, and the next to ask begins anew. All members may be called from any thread. */
template <typename TKey, typename TProduct>
class MadeOnce
{
public:
  using Product = std::shared_ptr<const TProduct>;
  using Make = std::function<TProduct(const std::atomic<bool> & isStopped)>;

  /** \param worker outlives this, and ends before it or has nothing left to make. */
  explicit MadeOnce(BackgroundWorker & worker)
    : m_Worker(worker)
  {}

  /** What was made, or null. */
  Product
  Find(const TKey & key) const
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const auto                        found = m_Entries.find(key);
    return found == m_Entries.end() ? nullptr : found->second.product;
  }

  /** Whether it is being made, or waits to be. */
  bool
  IsUnderWay(const TKey & key) const
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    const auto                        found = m_Entries.find(key);
    return found != m_Entries.end() && found->second.state != State::Absent && !found->second.product;
  }

  /** Keeps one that came from elsewhere, unless there is one or it is being made. */
  void
  Keep(const TKey & key, TProduct product)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    auto &                            entry = m_Entries[key];
    if (entry.state == State::Absent || entry.state == State::Waiting)
    {
      entry.product = std::make_shared<const TProduct>(std::move(product));
      entry.state = State::Made;
    }
  }

  /** Has it made by the worker, unless it was made or is under way. */
  void
  MakeInBackground(const TKey & key, Make make)
  {
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      auto &                            entry = m_Entries[key];
      if (entry.state != State::Absent)
      {
        return;
      }
      entry.state = State::Waiting;
    }
    const bool isAdded = m_Worker.Add([this, key, make = std::move(make)](const std::atomic<bool> & isStopped) {
      try
      {
        if (SetState(key, State::Waiting, State::UnderWay))
        {
          Finish(key, make, isStopped);
        }
      }
      catch (...)
      {
        // Absent again: whoever needs it makes it, and sees what is wrong.
      }
    });
    if (!isAdded)
    {
      SetState(key, State::Waiting, State::Absent);
    }
  }

  /** Makes it, or waits until it is made. \throws what `make` throws. */
  Product
  GetOrMake(const TKey & key, const Make & make)
  {
    {
      std::unique_lock<std::mutex> lock(m_Mutex);
      auto &                       entry = m_Entries[key]; // entries are never taken away
      m_Changed.wait(lock, [&entry] { return entry.state != State::UnderWay; });
      if (entry.state == State::Made)
      {
        return entry.product;
      }
      entry.state = State::UnderWay;
    }
    const std::atomic<bool> isStopped{ false };
    return Finish(key, make, isStopped);
  }

private:
  /** How far a product is. */
  enum class State : std::uint8_t
  {
    Absent,
    Waiting, ///< for the worker
    UnderWay,
    Made
  };
  /** A product, once it is made. */
  struct Entry
  {
    State   state{ State::Absent };
    Product product;
  };

  bool
  SetState(const TKey & key, State from, State to)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    auto &                            entry = m_Entries[key];
    const bool                        isSo = entry.state == from;
    entry.state = isSo ? to : entry.state;
    return isSo;
  }

  /** Makes what is under way. */
  Product
  Finish(const TKey & key, const Make & make, const std::atomic<bool> & isStopped)
  {
    Product product;
    try
    {
      product = std::make_shared<const TProduct>(make(isStopped));
    }
    catch (...)
    {
      SetState(key, State::UnderWay, State::Absent);
      m_Changed.notify_all();
      throw;
    }
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      m_Entries[key] = { State::Made, product };
    }
    m_Changed.notify_all();
    return product;
  }

  BackgroundWorker &      m_Worker;
  mutable std::mutex      m_Mutex;
  std::condition_variable m_Changed;
  std::map<TKey, Entry>   m_Entries;
};

} // namespace cudamedian

#endif
