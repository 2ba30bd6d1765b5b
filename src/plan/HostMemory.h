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
#ifndef HostMemory_h
#define HostMemory_h

#include <cstddef>
#include <iosfwd>

namespace cudamedian
{

/** Memory of this machine in bytes, or what the process's control group may have of it if that is less; asked once. */
std::size_t
GetHostMemoryBytes();

/** The limit that a file of a control group states: bytes, or all there is where the text is no number, as "max". */
std::size_t
ReadMemoryLimit(std::istream & file);

/** What an update may take of so much memory for pinned staging when its request names no budget: an eighth, at least
 * 64 MiB and at most 2 GiB. Pinned memory cannot be swapped out: all other programs have to do without it. */
std::size_t
GetAutomaticHostBudget(std::size_t hostMemoryBytes);

} // namespace cudamedian

#endif
