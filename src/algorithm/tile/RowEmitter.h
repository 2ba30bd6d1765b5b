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
#ifndef RowEmitter_h
#define RowEmitter_h

#include "ProgramPhases.h"

#include <iosfwd>
#include <string>

namespace cudamedian
{

/** Writes a program for the CPU as a struct in C++, in pieces that a compiler is soon done with. The file is for a
 * source that Google Highway compiles once per instruction set.
 *
 * A phase is cut into chunks of about so many operations: straight-line functions
 * `static void Run(std::integral_constant<int, chunk>, row)`, which read pixels of the footprint with
 * `row.Pixel(line, column)`, lines counting along axes 1 to 3, and shared values with `row.Shared(value, position)`,
 * call `row.Min`, `row.Max` and `row.MaxBySum`, and write with `row.Share(value, keys)` and
 * `row.Medians(row, keys...)`, which has the medians of a row of the tile, one for each of its columns. What a chunk
 * leaves for later ones it gives to `row.Keep(slot, keys)`, and they ask `row.Kept(slot)` for it. Cuts are made where
 * the fewest values are alive. The window, the tile, what tiles share and which tiles run each phase, the number of
 * slots and the first chunk of each phase are constants of the struct. */
void
EmitRowProgram(const ProgramPhases & program, std::size_t chunkOperations, const std::string & name, std::ostream & os);

} // namespace cudamedian

#endif
