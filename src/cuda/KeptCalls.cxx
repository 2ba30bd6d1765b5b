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
#include "KeptCalls.h"

#include "MaskedRequest.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace cudamedian
{
namespace
{

struct HashKey
{
  std::size_t
  operator()(const CallKey & key) const
  {
    return key.GetHash();
  }
};

/** How many keys there are at most. When there are more, all go. */
constexpr std::size_t mostKeys = 256;

/** Never destroyed: a thread may be at work when the process ends. */
struct Kept
{
  std::mutex                                                             mutex;
  std::unordered_map<CallKey, std::shared_ptr<const KeptCalls>, HashKey> calls;
};

Kept &
GetKept()
{
  static auto * const kept = new Kept;
  return *kept;
}

/** Locks, unless that takes longer than any thread holds the lock: one that is gone does, in a forked process. */
bool
Lock(std::unique_lock<std::mutex> & lock)
{
  constexpr int tries = 200;
  for (int number = 0; number < tries; ++number)
  {
    if (lock.try_lock())
    {
      return true;
    }
    // Others have it for less than a microsecond.
    number < tries / 2 ? std::this_thread::yield() : std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return false;
}

} // namespace

CallKey::CallKey(const MedianRequest & request)
{
  std::size_t next = 0;
  const auto  add = [&](std::uint64_t word) { m_Words[next++] = word; };
  add(static_cast<std::uint64_t>(request.pixelType) | static_cast<std::uint64_t>(request.algorithm) << 8 |
      static_cast<std::uint64_t>(request.evenMedian) << 16 |
      (IsAlignedForKernels(request.input) ? std::uint64_t{ 1 } << 24 : 0) |
      (IsAlignedForKernels(request.output) ? std::uint64_t{ 1 } << 25 : 0));
  std::uint64_t borders = 0;
  for (const auto border : request.border)
  {
    borders = borders << 8 | static_cast<std::uint64_t>(border);
  }
  add(borders);
  std::uint64_t value = 0;
  std::memcpy(&value, request.borderValue.data(), sizeof(value));
  add(value);
  add(static_cast<std::uint64_t>(request.rank));
  add(static_cast<std::uint64_t>(request.outlierRule));
  std::memcpy(&value, &request.outlierThreshold, sizeof(value));
  add(value);
  add(reinterpret_cast<std::uintptr_t>(request.footprint)); // equal ones are the same
  for (const auto * const extent : { &request.inputExtent,
                                     &request.inputStride,
                                     &request.outputStride,
                                     &request.radius,
                                     &request.shorter,
                                     &request.shift })
  {
    for (const auto number : *extent)
    {
      add(static_cast<std::uint64_t>(number));
    }
  }
}

std::size_t
CallKey::GetHash() const
{
  std::uint64_t hash = 0;
  for (const auto word : m_Words)
  {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

bool
HasKey(const MedianRequest & request)
{
  return request.input != nullptr && request.output != nullptr && request.outputExtent == request.inputExtent &&
         request.outputOrigin == Extent{} && request.deviceMemoryBudget == 0 && request.rankMap == nullptr &&
         request.convertRow == nullptr && !IsMasked(request);
}

std::shared_ptr<const KeptCalls>
FindKeptCalls(const CallKey & key)
{
  auto &                       kept = GetKept();
  std::unique_lock<std::mutex> lock(kept.mutex, std::defer_lock);
  if (!Lock(lock))
  {
    return nullptr;
  }
  const auto found = kept.calls.find(key);
  return found == kept.calls.end() ? nullptr : found->second;
}

void
KeepCall(const CallKey & key, std::shared_ptr<const KeptCall> call)
{
  auto                         calls = std::make_shared<KeptCalls>();
  auto &                       kept = GetKept();
  std::unique_lock<std::mutex> lock(kept.mutex, std::defer_lock);
  if (!Lock(lock))
  {
    return;
  }
  auto found = kept.calls.find(key);
  if (found == kept.calls.end() && kept.calls.size() >= mostKeys)
  {
    kept.calls.clear();
    found = kept.calls.end();
  }
  if (found != kept.calls.end())
  {
    std::copy_if(found->second->begin(), found->second->end(), std::back_inserter(*calls), [&](const auto & other) {
      return other->device != call->device;
    });
  }
  calls->push_back(std::move(call));
  kept.calls[key] = std::move(calls);
}

} // namespace cudamedian
