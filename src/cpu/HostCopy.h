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
#ifndef HostCopy_h
#define HostCopy_h

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** What memory is copied with. */
enum class CopyInstructions : std::uint8_t
{
  Avx512, ///< stores of whole lines of the caches, past them
  Sse2,   ///< stores of 16 bytes past the caches
  Plain   ///< those of the standard library
};

/** The instructions that this machine has, the widest first. */
std::vector<CopyInstructions>
GetCopyInstructions();

/** Copies memory with stores that go past the caches, the widest that the machine has. They are for what is not read
 * soon: lines are not fetched only to be overwritten. Such stores are not ordered with others: before another thread or
 * the bus is told of them, the thread calls FinishCopiesPastCaches(). A machine without them copies as usual. */
void
CopyPastCaches(void * target, const void * source, std::size_t bytes);

/** The same with instructions of one kind, which the machine must have. */
void
CopyPastCaches(CopyInstructions instructions, void * target, const void * source, std::size_t bytes);

/** Waits until what this thread copied past the caches is written. That takes as long as copying two kilobytes, so it
 * is called once for many rows. */
void
FinishCopiesPastCaches();

/** Bytes of a large page, and what they are aligned at. */
constexpr std::size_t largePageBytes = std::size_t{ 2 } << 20;

/** Asks the system for large pages, for memory that is about to be written for the first time. A gibibyte has 512 of
 * them, and 262,144 small ones. Does nothing where large pages are unknown, for small memory, and to pages that are
 * there. */
void
AdviseLargePages(void * memory, std::size_t bytes);

/** Has the system give all pages of memory at once, when it is about to be written for the first time. Where several
 * threads write to a large page that is not there, each of them clears one, and all but one are thrown away. Here one
 * thread asks for it. Leaves the content alone. Does nothing where the first page is there, or where the system knows
 * no such call.
 *
 * \param memory starts at a page. */
void
GetPages(void * memory, std::size_t bytes);

} // namespace cudamedian

#endif
