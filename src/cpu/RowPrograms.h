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
#ifndef RowPrograms_h
#define RowPrograms_h

#include "itkCudaMedianExtent.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** A tile program compiled ahead for the CPU with Google Highway: its values stay in vector registers where the
 * interpreter writes each to memory. The instruction set is chosen at run time.
 *
 * It runs on tiles side by side, each in a lane of a vector. */
struct RowProgram
{
  /** Parameters: bytes of a key; one pointer per line of the footprint and column of the tile, the column fastest, to
   * keys (KeyLines.h); one pointer per pixel of the tile to its medians; and the number of tiles, a multiple of
   * lineBlockBytes' worth of keys. */
  using Function = void (*)(std::size_t keyBytes, const void * lines, const void * outputs, std::size_t tiles);

  Extent      radius;
  Extent      tile;
  std::size_t mostKeyBytes; ///< wider keys are left to the interpreter
  Function    run;
  bool (*hasVectors)();                ///< whether it is compiled for this machine's instruction set
  const char * (*getInstructionSet)(); ///< such as "AVX3"
};

/** The programs compiled ahead; none when the library was built without Highway. */
const std::vector<RowProgram> &
GetRowPrograms();

/** The program compiled ahead for a window in tiles of the given size, for keys of so many bytes and this machine, or
 * null. */
const RowProgram *
FindRowProgram(const Extent & radius, const Extent & tile, std::size_t keyBytes);

} // namespace cudamedian

#endif
