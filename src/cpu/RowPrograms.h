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
 * The functions run the program on `lanes` tiles at once. Their parameters: one pointer per pixel of the footprint,
 * axis 0 fastest, each to `lanes` keys; one pointer per pixel of the tile, likewise; and `lanes`, a multiple of 64
 * bytes' worth of keys. */
struct RowProgram
{
  template <typename TKey>
  using Function = void (*)(const TKey * const * inputs, TKey * const * outputs, std::size_t lanes);

  Extent                  radius;
  Extent                  tile;
  Function<std::uint8_t>  run8;
  Function<std::uint16_t> run16;
  Function<std::uint32_t> run32;
  Function<std::uint64_t> run64;
  const char * (*getInstructionSet)(); ///< such as "AVX3"
};

/** The programs compiled ahead; none when the library was built without Highway. */
const std::vector<RowProgram> &
GetRowPrograms();

/** The program compiled ahead for a window in tiles of the given size, or null. */
const RowProgram *
FindRowProgram(const Extent & radius, const Extent & tile);

/** Runs a program on rows of keys of any width. */
template <typename TBits>
void
RunRowProgram(const RowProgram & program, const TBits * const * inputs, TBits * const * outputs, std::size_t lanes)
{
  if constexpr (sizeof(TBits) == 1)
  {
    program.run8(inputs, outputs, lanes);
  }
  else if constexpr (sizeof(TBits) == 2)
  {
    program.run16(inputs, outputs, lanes);
  }
  else if constexpr (sizeof(TBits) == 4)
  {
    program.run32(inputs, outputs, lanes);
  }
  else
  {
    program.run64(inputs, outputs, lanes);
  }
}

} // namespace cudamedian

#endif
