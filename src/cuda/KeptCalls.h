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
#ifndef KeptCalls_h
#define KeptCalls_h

#include "ImageLaunch.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

/** Calls on images in device memory, kept for later ones that are like them: these plan and reserve nothing. */
namespace cudamedian
{

/** What a request has in common with those that are like it: all that its plan depends on, and no address. */
class CallKey
{
public:
  explicit CallKey(const MedianRequest & request);

  bool
  operator==(const CallKey & other) const
  {
    return m_Words == other.m_Words;
  }

  std::size_t
  GetHash() const;

private:
  std::array<std::uint64_t, 31> m_Words;
};

/** A call that needs nothing but addresses and a stream. */
struct KeptCall
{
  int                device;
  unsigned long long cudaContext;    ///< in which it was prepared
  std::uint64_t      verdictChanges; ///< CountVerdictChanges() before it was planned
  ImageLaunch        launch;
  ExecutionReport    report;
};

/** Those of several devices. They never change. */
using KeptCalls = std::vector<std::shared_ptr<const KeptCall>>;

/** Whether a request is described by its key. */
bool
HasKey(const MedianRequest & request);

/** The kept calls of a key, or null. Thread-safe. Waits for no lock that may never be free, as in a forked process. */
std::shared_ptr<const KeptCalls>
FindKeptCalls(const CallKey & key);

/** Keeps a call, in the place of that of the same device. There are a few hundred at most. Thread-safe. */
void
KeepCall(const CallKey & key, std::shared_ptr<const KeptCall> call);

} // namespace cudamedian

#endif
