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

/** The values of the largest footprint that has a tile program on devices, whose registers hold them. */
constexpr std::int64_t largestFootprint = 128;

/** The same on the CPU: a disk of radius 7 has 149. Its program takes 0.2 s to find. */
constexpr std::int64_t largestHostFootprint = 160;

/** Whether tile programs cover the footprint of a window: up to so many values, with a radius of up to 15 on up to two
 * axes or up to 5 on three. */
bool
IsCoveredFootprint(const Window & window, std::int64_t mostValues);

/** Pixels of the largest window that has a program where it is longer than 9 along one of three axes. One thread with
 * AVX-512, ns a pixel of the program and of local ranks, 16 bits and float: 11x3x3 13 and 30, 21 and 49; 3x3x15 10 and
 * 52, 20 and 70; 5x9x5 24 and 46, 38 and 69; 11x7x3 25 and 40, 40 and 59; 9x9x3 25 and 43, 40 and 69; 3x9x9 17 and 59,
 * 35 and 90. */
constexpr std::int64_t largestDeepHostWindow = 343;

/** Whether the CPU can run a window as a tile program: up to two axes of radius 1 to 15, or three of radius 1 to 4, or
 * to 7 with at most largestDeepHostWindow pixels; or a footprint that is covered. */
bool
IsCoveredByTilePrograms(const Window & window);

/** Whether a kernel can interpret the window's program: up to two axes of radius 1 to 5, or three of radius 1 to 2; or
 * a footprint that is covered. */
bool
IsInterpretedOnDevices(const Window & window);

/** Whether the CPU is faster with the window's program, interpreted, than with sliding histograms, for 8-bit pixels, or
 * with local ranks, for wider ones, by measurement (HostRatios.inc). Programs take time in proportion to the bytes of a
 * pixel, ranks hardly. */
bool
IsTileProgramFastestOnHost(const Window & window, int pixelBytes);

/** The tile of a window's program where kernels interpret it, and on the CPU unless ChooseHostTile() knows better.
 *
 * Along each axis the largest power of two t with 2t <= 2r + 2, at most 4, and at most 2 when three axes have a
 * radius. Operations per pixel counted with these tiles: 3x3 19.5, 5x5 72, 7x7 127, 9x9 215, 11x11 315, 3x3x3 107,
 * 5x5x5 639; the next smaller and larger tiles cost more or need more than 255 live values. */
Extent
ChooseTile(const Window & window);

/** The tile of a window's program where the CPU interprets it: measured, long where the window is long, or
 * ChooseTile().
 */
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
 * 3x3, 5x5 and 3x3x3 with keys of one or two bytes are tiles of one column (ColumnTuning.inc), whose lines are the
 * image's rows as they are. They take 23, 72 and 118 operations a pixel where tiles of several columns take 19.5, 64
 * and 107, but these columns have to be split and joined. Larger windows gain more by columns than they pay: 7x7 takes
 * 167 operations for 127.
 *
 * Others go by a rule, which the rows of RowTuning.inc are held against. Programs of up to 2,000 operations are
 * compiled whole. In chunks of 300, 11x11 with its 5,000 takes a compiler 3 s for 6 and runs as fast; chunks of 100 to
 * 600 run at the same speed (cb52b30).
 *
 * Sorted columns that neighbouring tiles share through memory (ProgramPhases.h) save up to a quarter of the operations:
 * 17x17 608 for 768, 7x7x7 1576 for 1708. Small windows, whose values stay in registers, lose more by the loads and
 * stores: 5x5 takes 1.01 clocks for 0.93, 3x3 0.33 for 0.31. So do interpreted programs, whose every value goes through
 * memory. */
RowPolicy
GetRowPolicy(const Window & window, std::size_t keyBytes);

/** Values that the interpreted program of a footprint keeps alive at most: those that fit in a second-level cache. */
constexpr std::size_t mostInterpretedValues = 224;

/** The root tile that hierarchical tiling starts from in a tile: the tile, halved where it is longer than the window.
 */
Extent
GetRootTile(const Window & window, const Extent & tile);

} // namespace cudamedian

#endif
