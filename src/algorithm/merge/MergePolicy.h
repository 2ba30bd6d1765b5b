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
#ifndef MergePolicy_h
#define MergePolicy_h

#include "PixelKey.h"
#include "Window.h"

#include <cstddef>
#include <vector>

/** How the outputs of a slab are cut into regions and tiles of the merge tiling method (MergeKernels.h), and which
 * passes filter a region. */
namespace cudamedian
{

/** Keys that a thread merges one behind the other: an odd number, so that the threads of a warp use different banks of
 * shared memory. */
constexpr int mergePart = 15;

/** Device memory that regions may take at most, where the budget allows it. Small regions, whose lists stay in the
 * second-level cache, do not gain: on an H200, 6c6a007, 41x41 with float takes 256, 512 and 1024 MiB at 0.53, 0.56 and
 * 0.58 Gpixel/s, and half as fast with 16 as with 256. */
constexpr std::size_t mostMergeScratchBytes = std::size_t{ 512 } << 20;

/** The shape of a region, which goes through all passes at once. Axes 0 and 1 are those of the window. */
struct MergeShape
{
  int          axes[Dimension]; ///< image axis of each axis; windows have radius 0 along 2 and 3
  int          window[2];       ///< pixels of the window along axes 0 and 1
  std::int64_t rank;            ///< of the wanted pixel among those of the window
  int          tile[2];         ///< outputs of a root tile, powers of two up to the window
  int          tiles[2];        ///< root tiles of a region
  std::int64_t scratchBytes;    ///< device memory that a region takes

  /** Outputs of a region along an axis. */
  int
  GetOutputs(int axis) const
  {
    return tile[axis] * tiles[axis];
  }
  /** Pixels along an axis that the windows of a region touch. */
  int
  GetFootprint(int axis) const
  {
    return GetOutputs(axis) + window[axis] - 1;
  }
};

/** The lists of one level of the recursion. The core of a tile is what all its windows share. */
struct MergeLevel
{
  int          tile[2];  ///< outputs of a tile
  int          tiles[2]; ///< tiles of a region
  int          line[2];  ///< keys of a sorted line along an axis: the side of the core
  int          core;     ///< keys of the sorted core that can still be wanted
  std::int64_t first;    ///< keys of the core that are below them
};

/** What a pass does. */
enum class MergePassKind : std::uint8_t
{
  CopyKeys,    ///< the keys of the region's footprint, by rows and by columns
  SortLines,   ///< the lines of root tiles along an axis
  SortCores,   ///< the cores of root tiles: merges their lines
  ExtendLines, ///< lines along an axis to those of tiles half as long
  SplitCores,  ///< the cores of tiles to those of their parts
  SelectKeys   ///< the medians of tiles of at most 2x2 outputs
};

/** One pass over all tiles or lines of a region. Blocks take tasks; each task is a number of rounds between which the
 * block's threads wait for each other. */
struct MergePass
{
  MergePassKind kind;
  int           axis;         ///< that lines run along: of those that are sorted or extended, or that cores are made of
  MergeLevel    parent;       ///< what is there
  MergeLevel    child;        ///< what is made
  int           footprint[2]; ///< of the region
  int           lines[2];     ///< which of two buffers has the lines along each axis: those that the pass reads
  int           cores;        ///< which of two buffers has the cores: those that the pass reads
  int           lists;        ///< lines of a task
  int           tasks;
  int           threads;       ///< of a block; those of a task, where it is spread
  int           spreadThreads; ///< that a task has parts for
  std::int64_t  workKeys;      ///< that a task keeps between its rounds
  double        merges;        ///< keys written by all tasks, in all rounds

  // Of MergePassKind::SplitCores alone, which takes in lines along the other axis to halve tiles along one.
  int          added[2];    ///< lines that a part takes in, to be half as long along each axis; 0 where it is not
  int          parts[2];    ///< of a tile along each axis, 1 or 2
  int          group[2];    ///< keys of those lines
  int          rounds[2];   ///< that merge them
  int          middleCore;  ///< keys kept of the cores of tiles that are halved along axis 0 alone
  std::int64_t middleFirst; ///< and the rank of the first
};

/** Where a region's lists lie in the scratch memory, in keys. */
struct MergeMemory
{
  std::int64_t copies[2];   ///< the footprint by rows (lines along axis 0) and by columns
  std::int64_t lines[2][2]; ///< two buffers for each axis
  std::int64_t cores[2];
  std::int64_t work; ///< of the blocks of passes that need more than shared memory
  std::int64_t end;
};

/** What a window may be for merge tiling, as a part of a sentence. */
extern const char * const mergeLimits;

/** Finds the tile and the region with the least merges for a window, by the model of EstimateMergePicoseconds().
 *
 * \param pixelBytes 1, 2, 4 or 8. \param available bytes of device memory that a region may take.
 * \returns false if there is none: the window has a radius along more than two axes, or the smallest region takes more.
 */
bool
FindMergeShape(const Window & window,
               int            pixelBytes,
               const Extent & outputExtent,
               std::size_t    available,
               MergeShape &   shape);

/** Gives a shape a root tile and a number of them for a region; sets the scratch memory. For tuning and tests. */
void
SetMergeRegion(const int (&tile)[2], const int (&tiles)[2], int pixelBytes, MergeShape & shape);

/** The passes that filter a region, one behind the other. */
std::vector<MergePass>
ListMergePasses(const MergeShape & shape);

/** How a pass runs whose tasks keep more keys between their rounds than shared memory holds: some tasks at a time in
 * scratch memory, several blocks to each, one launch for each round. */
struct MergeSpread
{
  int tasks;  ///< at a time; 0 if shared memory is enough
  int blocks; ///< of a task, each of 256 threads
};

/** See MergeSpread. */
MergeSpread
GetMergeSpread(const MergePass & pass, int pixelBytes);

/** Rounds that merge neighbouring runs of sorted keys in pairs until so many keys are one run. */
CUDAMEDIAN_HOST_DEVICE int
CountMergeRounds(std::int64_t keys, std::int64_t run)
{
  int rounds = 0;
  for (; run < keys; run *= 2)
  {
    ++rounds;
  }
  return rounds;
}

/** The layout of a region's scratch memory. */
MergeMemory
GetMergeMemory(const std::vector<MergePass> & passes, int pixelBytes);

/** What an output takes on an H200, in picoseconds: a number of merges, whose rate was measured, and the launches. */
double
EstimateMergePicoseconds(const MergeShape & shape, const Extent & outputExtent, int pixelBytes);

/** Regions that cover an output box. */
std::int64_t
CountMergeRegions(const MergeShape & shape, const Extent & outputExtent);

/** The first output of a region along the shape's axes, relative to the box's first output. */
Extent
GetMergeRegionOrigin(const MergeShape & shape, const Extent & outputExtent, std::int64_t region);

/** The shape with no more root tiles in a region than an output box has; its scratch memory is no larger. */
MergeShape
FitMergeRegion(const MergeShape & shape, const Extent & outputExtent, int pixelBytes);

/** The outputs of a root tile along the image's axes. */
Extent
GetMergeTile(const MergeShape & shape);

} // namespace cudamedian

#endif
