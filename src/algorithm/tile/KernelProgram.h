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
#ifndef KernelProgram_h
#define KernelProgram_h

#include "KernelPolicy.h"
#include "ProgramPhases.h"
#include "RegisterPlan.h"

namespace cudamedian
{

/** Where the values that neighbouring tiles share lie in a block's shared memory: in vectors of 16 bytes for each tile,
 * those of neighbouring tiles side by side. */
struct SharedLayout
{
  /** The vector that has a value, and its number there. */
  struct Place
  {
    std::size_t vector;
    int         place; ///< in the vector
  };
  std::vector<Place> places; ///< by number of the shared value
  std::size_t        numberOfVectors{ 0 };
  int                keys{ 4 };          ///< in a vector
  int                firstPosition{ 0 }; ///< of the tiles that leave values, relative to the first tile of a row …
  int                lastPosition{ 0 };  ///< … and to the last
};

/** Lays out the values that tiles share. */
SharedLayout
LayOut(const ProgramPhases & phases, const KernelKind & kind);

/** The program of a policy, lowered and planned, as it is emitted. */
struct KernelProgram
{
  ProgramPhases               phases;
  std::vector<LoweredProgram> lowered; ///< of each phase
  std::vector<RegisterPlan>   plans;   ///< of each phase
  SharedLayout                shared;
  std::size_t                 savedValues{ 0 }; ///< most slots of a phase's plan
  int                         margin{ 0 };      ///< columns staged on either side of a block's outputs, at least
};

/** Builds the program of a policy. */
KernelProgram
BuildKernelProgram(const Window & window, const KernelPolicy & policy, const KernelKind & kind);

/** The same for another program of the policy's tile, however it was put together. */
KernelProgram
BuildKernelProgram(const TileProgram & program, const KernelPolicy & policy, const KernelKind & kind);

/** The tile program of a policy. */
TileProgram
BuildTileProgram(const Window & window, const KernelPolicy & policy);

/** The program of a policy, cut into phases, but not lowered. */
ProgramPhases
BuildKernelPhases(const Window & window, const KernelPolicy & policy);

/** Whether a program reads each pixel of its footprint. */
std::vector<bool>
FindReadPixels(const TileProgram & program);

/** Instructions that nvcc makes of one on the pipe of multiply-add, with moves, and for an output, to store it. So
 * counted, kernels that the instruction cache of an H200 holds have less code than those it does not
 * (Architectures.inc). */
constexpr double instructionsOfAdd = 1.36;
constexpr double instructionsOfOutput = 22;

/** What the phases cost per pixel in a row of tiles, at whose ends phases run for more tiles than the row has:
 * operations add up, live values are those of the most crowded phase, instructions are those of all phases for a tile.
 */
struct PhasesCost
{
  ProgramCost cost;
  double      code{ 0 }; ///< instructions of the straight-line code, as the compiler makes them
};
PhasesCost
CountPhases(const ProgramPhases & phases, const LoweringOptions & options, int tilesOfRow);

/** Neighbouring keys that one load from the staged footprint brings: as many as the tile's width and 16 bytes allow. */
int
GetLoadKeys(const Extent & tile, const KernelKind & kind);

/** Where a pixel of the footprint lies among the vectors that loads bring. */
struct FootprintVector
{
  std::size_t line;   ///< axes 1 to 3 of the footprint, axis 1 fastest
  int         column; ///< first column of the vector; columns of vectors are those aligned in the staged lines, and the
                      ///< first may lie before the footprint
  int place;          ///< of the pixel in the vector
};
FootprintVector
GetFootprintVector(const TileProgram & program, TileProgram::Value input, int loadKeys);

/** The launch shape of a policy: what TileKernel computes from the same numbers. */
KernelShape
GetKernelShape(const Window &        window,
               const KernelPolicy &  policy,
               const KernelKind &    kind,
               const KernelProgram & program);

/** What a kernel of a program is for. */
enum class KernelTask : std::uint8_t
{
  Medians,      ///< TileKernel, MarchingKernel and LineKernel
  ValidMedians, ///< of pixels of which some are not valid: MaskedTileKernel
  Outliers      ///< of pixels that lie far from them: OutlierTileKernel
};

/** The ranks that a MaskedTileKernel finds in place of those that a map of masks has: all that half of the valid pixels
 * can be, where pixels next to each other are the whole window, else the same. On one H200, kernels of both, 8 bits, 16
 * bits and float, us of 4096x4096 and 256x256x256 pixels: 3x3 43.6, 46.0 and 75.9 with turns, 38.2, 39.7 and 71.6
 * without; 3x3x3 145.9, not run and 263.0, 135.4, not run and 243.5; but 5x5 75.3, not run and 141.3, 90.7, not run and
 * 157.1. */
Window
GetMaskedWindow(const Window & ofMap);

/** Whether a MaskedTileKernel that finds so many ranks of a window gives pixels extreme keys in turn. */
bool
HasTurns(const Window & window);

/** Whether MaskedTileKernel runs a program, which finds the ranks of windows whose pixels are not all valid. */
bool
CanReadMasks(const Window &        window,
             const KernelPolicy &  policy,
             const KernelKind &    kind,
             const KernelProgram & program);

/** Whether OutlierTileKernel runs the program of a policy: its block writes each median once, and stages what it reads.
 */
bool
CanTellOutliers(const KernelPolicy & policy, const KernelKind & kind);

/** The launch shape of a MaskedTileKernel. \pre CanReadMasks() */
KernelShape
GetMaskedShape(const Window &        window,
               const KernelPolicy &  policy,
               const KernelKind &    kind,
               const KernelProgram & program);

} // namespace cudamedian

#endif
