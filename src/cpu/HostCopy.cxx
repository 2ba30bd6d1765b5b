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
#include "HostCopy.h"

#include <cstdint>
#include <cstring>

#ifdef __linux__
#  include <sys/mman.h>
#endif
#ifdef __SSE2__
#  include <emmintrin.h>
#endif

namespace cudamedian
{

void
CopyPastCaches(void * target, const void * source, std::size_t bytes)
{
#ifdef __SSE2__
  constexpr std::size_t line = 64;
  if (bytes >= 4 * line)
  {
    auto *       to = static_cast<char *>(target);
    const auto * from = static_cast<const char *>(source);
    const auto   head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= line; bytes -= line, to += line, from += line)
    {
      const auto * vectors = reinterpret_cast<const __m128i *>(from);
      const auto   a = _mm_loadu_si128(vectors);
      const auto   b = _mm_loadu_si128(vectors + 1);
      const auto   c = _mm_loadu_si128(vectors + 2);
      const auto   d = _mm_loadu_si128(vectors + 3);
      auto *       places = reinterpret_cast<__m128i *>(to);
      _mm_stream_si128(places, a);
      _mm_stream_si128(places + 1, b);
      _mm_stream_si128(places + 2, c);
      _mm_stream_si128(places + 3, d);
    }
    std::memcpy(to, from, bytes);
    // Such stores are not ordered with others, and what comes next may be another thread or the bus.
    _mm_sfence();
    return;
  }
#endif
  std::memcpy(target, source, bytes);
}

void
AdviseLargePages(void * memory, std::size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = std::uintptr_t{ 2 } << 20;
  const auto               first = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto               last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (last >= first + 8 * page)
  {
    // Advice only: where it is refused, pages are small.
    static_cast<void>(::madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE));
  }
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

} // namespace cudamedian
