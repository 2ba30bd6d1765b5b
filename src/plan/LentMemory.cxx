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
#include "LentMemory.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace cudamedian
{
namespace
{

std::size_t
GetBytes(const MaskedCopy::Memory & memory)
{
  return memory.copy.capacity() + memory.valid.capacity() + memory.turns.capacity() + memory.empty.capacity() +
         memory.ranks.bytes.capacity() + memory.lowerRanks.bytes.capacity() + memory.result.capacity();
}

struct Kept
{
  std::mutex                                       mutex;
  std::vector<std::unique_ptr<MaskedCopy::Memory>> free;
  std::size_t                                      bytes{ 0 };
};

/** Never destroyed: a thread may be at work when the process ends. */
Kept &
GetKept()
{
  static auto & kept = *new Kept;
  return kept;
}

} // namespace

LentMemory::LentMemory()
{
  auto & kept = GetKept();
  // A process that was forked while another thread held the lock does not wait for it.
  const std::unique_lock<std::mutex> lock(kept.mutex, std::try_to_lock);
  if (lock.owns_lock() && !kept.free.empty())
  {
    m_Memory = std::move(kept.free.back());
    kept.free.pop_back();
    kept.bytes -= GetBytes(*m_Memory);
    return;
  }
  m_Memory = std::make_unique<MaskedCopy::Memory>();
}

LentMemory::~LentMemory()
{
  auto &                             kept = GetKept();
  const auto                         bytes = GetBytes(*m_Memory);
  const std::unique_lock<std::mutex> lock(kept.mutex, std::try_to_lock);
  if (lock.owns_lock() && kept.bytes + bytes <= mostKeptBytes)
  {
    try
    {
      kept.free.push_back(std::move(m_Memory));
      kept.bytes += bytes;
    }
    catch (const std::bad_alloc &)
    {
      // Then it is freed.
    }
  }
}

std::size_t
GetKeptBytes()
{
  auto &                            kept = GetKept();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  return kept.bytes;
}

void
ReleaseKeptMemory()
{
  auto &                                           kept = GetKept();
  std::vector<std::unique_ptr<MaskedCopy::Memory>> freed;
  const std::unique_lock<std::mutex>               lock(kept.mutex, std::try_to_lock);
  if (lock.owns_lock())
  {
    freed.swap(kept.free);
    kept.bytes = 0;
  }
}

} // namespace cudamedian
