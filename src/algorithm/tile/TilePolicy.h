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
#ifndef TilePolicy_h
#define TilePolicy_h

#include "HierarchicalTiling.h"
#include "ProgramPhases.h"
#include "Window.h"

namespace cudamedian
{

/** Whether the CPU can run a window as a tile program: up to two axes of radius 1 to 15, or three of radius 1 to 4. */
bool
IsCoveredByTilePrograms(const Window & window);

/** Whether a kernel can interpret the window's program: up to two axes of radius 1 to 5, or three of radius 1 to 2. */
bool
IsInterpretedOnDevices(const Window & window);

/** Whether the CPU is faster with the window's program, interpreted, than with sliding histograms, for 8-bit pixels, or
 * with local ranks, for wider ones, by measurement (AVX-512, program : other): 8-bit 17x17 1.5, 19x19 1.3, 21x21 1.0,
 * 25x25 0.4, 5x5x5 6, 7x7x3 0.7; 16-bit 31x31 2.6, 9x9x9 2.3; float 21x21 2.8, 31x31 1.4, 7x7x7 3.0, 9x9x9 1.7.
 * Programs take time in proportion to the bytes of a pixel, ranks hardly. */
bool
IsTileProgramFastestOnHost(const Window & window, int pixelBytes);

/** The tile of a window's program where kernels interpret it, and on the CPU unless ChooseHostTile() knows better.
 *
 * Along each axis the largest power of two t with 2t <= window + 1, at most 4, and at most 2 when three axes have a
 * radius. Operations per pixel counted with these tiles: 3x3 19.5, 5x5 72, 7x7 127, 9x9 215, 11x11 315, 3x3x3 107,
 * 5x5x5 639; the next smaller and larger tiles cost more or need more than 255 live values. */
Extent
ChooseTile(const Window & window);

/** The tile of a window's program where the CPU interprets it: measured, or ChooseTile(). */
Extent
ChooseHostTile(const Window & window);

/** How a program that is compiled ahead for the CPU is put together. */
struct RowPolicy
{
  Extent        tile;
  TilingOptions tiling;
  PhaseOptions  phases;
  /** What it is cut into to be compiled (RowEmitter.h); ~0 leaves it whole, with values in registers all the way. */
  std::size_t chunkOperations{ ~std::size_t{ 0 } };
};

/** The policy for a window that is compiled ahead for the CPU, for keys of so many bytes.
 *
 * 3x3, 5x5 and 3x3x3 with keys of one or two bytes are tiles of one column, whose lines are the image's rows as they
 * are: clocks per pixel of a whole run on one core with AVX-512 and 8-bit keys 0.27, 0.60 and 1.5, for 0.42, 0.75
 * and 1.65 with 2x4 and 2x2x2 tiles, whose columns had to be split and joined, though these take 19.5, 64 and 107
 * operations for 23, 72 and 118. Larger windows gain more by columns than they pay: 7x7 takes 167 operations for 127.
 *
 * Clocks per pixel of the programs of one core with AVX-512 and 16-bit keys: 3x3 0.31 (2x2 0.34), 5x5 0.93 (2x2 1.09),
 * 7x7 1.79 (2x4 2.05), 9x9 3.6 (4x4 4.2), 3x3x3 1.61 (2x4x2 1.70). With 8-bit keys: 11x11 2.45 (2x4 2.9, with shared
 * columns 2.6), 13x13 3.4 (without shared columns 4.4), 15x15 5.0 (6.6), 17x17 5.8 (8.3; in 8x4 tiles 6.5), 5x5x5 5.7
 * (without shared columns 6.6, in 2x2x1 tiles 7.5; in 4x2x2 tiles 5.1, but these leave lanes empty in rows of less than
 * 256 pixels), 7x7x7 19 (in 2x2x2 tiles 29).
 *
 * Programs of up to 2,000 operations are compiled whole. In chunks of 300, 11x11 with its 5,000 takes a compiler 3 s
 * for 6 and runs as fast; chunks of 100 to 600 run at the same speed.
 *
 * Sorted columns that neighbouring tiles share through memory (ProgramPhases.h) save up to a quarter of the operations:
 * 17x17 608 for 768, 7x7x7 1576 for 1708. Small windows, whose values stay in registers, lose more by the loads and
 * stores: 5x5 1.01, 3x3 0.33. So do interpreted programs, whose every value goes through memory. */
RowPolicy
GetRowPolicy(const Window & window, std::size_t keyBytes);

/** The root tile that hierarchical tiling starts from in a tile: the tile, halved where it is longer than the window.
 */
Extent
GetRootTile(const Window & window, const Extent & tile);

} // namespace cudamedian

#endif
