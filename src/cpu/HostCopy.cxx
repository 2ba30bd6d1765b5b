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

#include "DivideUp.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __linux__
#  include <sys/mman.h>
#endif
#ifdef __SSE2__
#  include <immintrin.h>
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#  define CUDAMEDIAN_AVX512_COPY
#endif

namespace cudamedian
{
namespace
{

constexpr std::size_t line = 64;

#ifdef CUDAMEDIAN_AVX512_COPY
/** Copies whole lines of the caches to where lines start. One store writes a line: 16 threads write 72 GB/s, and 54
 * with stores of 16 bytes. */
__attribute__((target("avx512f"))) void
StreamWithAvx512(char * to, const char * from, std::size_t bytes)
{
  for (; bytes >= 4 * line; bytes -= 4 * line, to += 4 * line, from += 4 * line)
  {
    const auto a = _mm512_loadu_si512(from);
    const auto b = _mm512_loadu_si512(from + line);
    const auto c = _mm512_loadu_si512(from + 2 * line);
    const auto d = _mm512_loadu_si512(from + 3 * line);
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to), a);
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to + line), b);
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to + 2 * line), c);
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to + 3 * line), d);
  }
  for (; bytes > 0; bytes -= line, to += line, from += line)
  {
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to), _mm512_loadu_si512(from));
  }
}
#endif

#ifdef __SSE2__
/** The same with instructions that every x86-64 processor has. */
void
StreamWithSse2(char * to, const char * from, std::size_t bytes)
{
  for (; bytes > 0; bytes -= line, to += line, from += line)
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
}

using Stream = void (*)(char *, const char *, std::size_t);

Stream
GetStream(CopyInstructions instructions)
{
#  ifdef CUDAMEDIAN_AVX512_COPY
  if (instructions == CopyInstructions::Avx512)
  {
    return StreamWithAvx512;
  }
#  endif
  static_cast<void>(instructions);
  return StreamWithSse2;
}
#endif

} // namespace

std::vector<CopyInstructions>
GetCopyInstructions()
{
  std::vector<CopyInstructions> found;
#ifdef CUDAMEDIAN_AVX512_COPY
  if (__builtin_cpu_supports("avx512f"))
  {
    found.push_back(CopyInstructions::Avx512);
  }
#endif
#ifdef __SSE2__
  found.push_back(CopyInstructions::Sse2);
#endif
  found.push_back(CopyInstructions::Plain);
  return found;
}

void
CopyPastCaches(CopyInstructions instructions, void * target, const void * source, std::size_t bytes)
{
#ifdef __SSE2__
  if (instructions != CopyInstructions::Plain && bytes >= 4 * line)
  {
    const auto   stream = GetStream(instructions);
    auto *       to = static_cast<char *>(target);
    const auto * from = static_cast<const char *>(source);
    const auto   head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    const auto   lines = (bytes - head) / line * line;
    std::memcpy(to, from, head);
    stream(to + head, from + head, lines);
    std::memcpy(to + head + lines, from + head + lines, bytes - head - lines);
    return;
  }
#else
  static_cast<void>(instructions);
#endif
  std::memcpy(target, source, bytes);
}

void
CopyPastCaches(void * target, const void * source, std::size_t bytes)
{
  static const auto widest = GetCopyInstructions().front();
  CopyPastCaches(widest, target, source, bytes);
}

void
FinishCopiesPastCaches()
{
#ifdef __SSE2__
  _mm_sfence();
#endif
}

void
AdviseLargePages(void * memory, std::size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr auto page = static_cast<std::uintptr_t>(largePageBytes);
  const auto     first = RoundUp(reinterpret_cast<std::uintptr_t>(memory), page);
  const auto     last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (last >= first + 8 * page)
  {
    // Advice alone: where it is refused, pages are small.
    static_cast<void>(::madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE));
  }
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

void
GetPages(void * memory, std::size_t bytes)
{
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  unsigned char isThere = 0;
  if (::mincore(memory, 1, &isThere) == 0 && (isThere & 1) == 0)
  {
    // Advice too: where it is refused, the first to write gets the pages.
    static_cast<void>(::madvise(memory, bytes, MADV_POPULATE_WRITE));
  }
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

} // namespace cudamedian
