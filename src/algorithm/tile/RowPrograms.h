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

#include "Window.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** What a phase of a row program reads and writes, for tiles side by side, each in a lane of a vector. Pointers are to
 * the first of these tiles. */
struct RowArguments
{
  const void * lines;   ///< a pointer for each line of the footprint and column of the tile, the column fastest, to
                        ///< keys (KeyLines.h)
  const void * shared;  ///< a pointer for each value that tiles share
  const void * medians; ///< a pointer for each row of pixels of the tile, to the first tile's pixels; not used by
                        ///< phases before the last
  void *        slots;  ///< room for what chunks of the program leave for each other: rowSlotBytes for each slot
  std::size_t   tiles;  ///< a multiple of lineBlockBytes' worth of keys
  std::uint64_t keyMask{ 0 };      ///< how keys become pixels (KeyLines.h), but for programs of one column …
  bool          isFloat{ false };  ///< … and whether these are floats
  bool          isSigned{ false }; ///< whether keys are signed integers; only programs of one column take them
  /** A pointer for each row of pixels of the tile, to their ranks as bytes, counted from the program's least one: only
   * programs that find several ranks read them. */
  const void * ranks{ nullptr };
};

/** Bytes of a slot: the chunks of a phase run in turn for so many keys. With AVX-512, 17x17 and 8-bit keys, clocks per
 * pixel: 8.7 with 64 bytes, since each chunk's code is fetched for a single vector, 6.0 with 128, 7.6 with 256 and 9.7
 * with 512, with which the slots outgrow the nearest cache. */
constexpr std::size_t rowSlotBytes = 128;

/** A tile program compiled ahead for the CPU with Google Highway (RowEmitter.h): values stay in vector registers where
 * the interpreter writes each to memory. The instruction set is chosen at run time. */
struct RowProgram
{
  /** Runs a phase for keys of so many bytes. */
  using Function = void (*)(std::size_t keyBytes, int phase, const RowArguments & arguments);

  /** The tiles, relative to the first and the last of a row, that a phase has to be run for (ProgramPhases.h). */
  struct Phase
  {
    int first;
    int last;
  };

  /** Whether lines are rows of pixels, so that integers can stay where the image has them. */
  bool
  HasOneColumn() const
  {
    return tile[0] == 1;
  }

  Window             window;
  Extent             tile;
  std::vector<Phase> phases; ///< the last yields the medians
  std::size_t        sharedValues;
  std::size_t        slots;
  std::size_t        operations;
  std::size_t        leastKeyBytes; ///< it is compiled for keys from this width …
  std::size_t        mostKeyBytes;  ///< … to that one; others have a program of their own, or are interpreted
  Function           run;
  bool (*hasVectors)();                ///< whether it is compiled for this machine's instruction set
  const char * (*getInstructionSet)(); ///< such as "AVX3"
};

/** The programs compiled ahead; none when the library was built without Highway. */
const std::vector<RowProgram> &
GetRowPrograms();

/** The program compiled ahead for a window, for keys of so many bytes and this machine, or null. */
const RowProgram *
FindRowProgram(const Window & window, std::size_t keyBytes);

/** The program compiled ahead of which complemented keys yield complements of the window's wanted values, or null: that
 * of the rank as far from the other end of the sorted values. Programs of one column leave pixels as they are. */
const RowProgram *
FindComplementProgram(const Window & window, std::size_t keyBytes);

} // namespace cudamedian

#endif
