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
#ifndef LentMemory_h
#define LentMemory_h

#include "MaskedCopy.h"

#include <memory>

namespace cudamedian
{

/** Bytes that calls leave for those to come at most, all together. */
constexpr std::size_t mostKeptBytes = std::size_t{ 64 } << 20;

/** Memory for the copies of one thread, which a call before may have left, and is left for one to come: pages that are
 * new to a process take as long as some steps over rows. Thread-safe. */
class LentMemory
{
public:
  LentMemory();
  ~LentMemory();
  LentMemory(const LentMemory &) = delete;
  LentMemory &
  operator=(const LentMemory &) = delete;

  MaskedCopy::Memory &
  operator*() const
  {
    return *m_Memory;
  }

private:
  std::unique_ptr<MaskedCopy::Memory> m_Memory;
};

/** Bytes of memory that nobody has. */
std::size_t
GetKeptBytes();

/** Frees the memory that nobody has. */
void
ReleaseKeptMemory();

} // namespace cudamedian

#endif
