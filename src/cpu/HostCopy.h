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
  Plain   ///< what the standard library has
};

/** Those that this machine has, the widest first. */
std::vector<CopyInstructions>
GetCopyInstructions();

/** Copies memory with stores that go past the caches, where the machine has them, the widest it has: what is written is
 * not read soon, and lines are not fetched to be overwritten. Such stores are not ordered with others: before another
 * thread or the bus is told of them, the thread calls FinishCopiesPastCaches(). */
void
CopyPastCaches(void * target, const void * source, std::size_t bytes);

/** The same with given instructions, which the machine must have. */
void
CopyPastCaches(CopyInstructions instructions, void * target, const void * source, std::size_t bytes);

/** Waits until what this thread copied past the caches is written. That takes as long as copying two kilobytes: once
 * for many rows. */
void
FinishCopiesPastCaches();

/** Bytes of a large page, and what they are aligned at. */
constexpr std::size_t largePageBytes = std::size_t{ 2 } << 20;

/** Asks the system to back memory that is about to be written for the first time with large pages, of which a gibibyte
 * has 512 and not 262,144. Does nothing where that is unknown, for small memory, and to pages that are there. */
void
AdviseLargePages(void * memory, std::size_t bytes);

/** Has the system give the pages of memory that is about to be written for the first time, all at once. When several
 * threads write to a large page that is not there, each of them clears one, and all but one are thrown away: here one
 * thread asks for it. Leaves the content alone, and does nothing where the first page is there or asking is unknown.
 *
 * \param memory starts at a page. */
void
GetPages(void * memory, std::size_t bytes);

} // namespace cudamedian

#endif
