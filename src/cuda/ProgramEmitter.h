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
#ifndef ProgramEmitter_h
#define ProgramEmitter_h

#include "TileProgram.h"

#include <iosfwd>
#include <string>

namespace cudamedian
{

/** Name of the struct that EmitProgram() writes: "TileProgram_" and the window, axes 0 to 3. */
std::string
GetEmittedName(const Extent & window);

/** Writes a tile program as a C++ struct that nvcc and host compilers take alike: TileX … TileW, and
 * `Run<TRegister>(access)`, which calls access.Load(x, y, z, w) once per footprint pixel just before its first use,
 * TRegister::Min and Max, and access.Store(x, y, z, w, keys) as soon as an output is known. */
void
EmitProgram(const TileProgram & program, std::ostream & os);

} // namespace cudamedian

#endif
