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

/** How many of the host's threads copy for each device: no more than 24, at least 1; for several devices an equal share
 * of three quarters of them, so that the threads that look after the devices find a core. On 64 cores one H200's
 * ordinary image of 1 GiB took 23.4, 24.2, 24.9 and 26.8 ms with 16, 20, 24 and 32 threads, and some 60 with 64, which
 * are in each other's way; a fresh output, whose pages they clear, 41.5, 37.6, 35.6 and 36.3. Four took 23.4 ms with 16
 * each and 21.4 with 12. */
unsigned
CountCopiersPerDevice(unsigned threads, std::size_t devices);

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
