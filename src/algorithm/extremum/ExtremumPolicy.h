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
#ifndef ExtremumPolicy_h
#define ExtremumPolicy_h

#include "Slab.h"
#include "Traits.h"

#include <utility>
#include <vector>

namespace cudamedian
{

/** Lanes of a warp. */
constexpr int extremumLanes = 32;

/** The most warps of a block, but of teams of many rows. */
constexpr int mostExtremumWarps = 8;

/** The most warps of a team (ExtremumBands.h), by the rows of each: registers are for so many. */
constexpr int
GetMostBandWarps(int rows)
{
  return rows > 8 ? 16 : mostExtremumWarps;
}

/** Columns of a lane of a team that has rows (ExtremumColumns.h): 64 bytes of as many rows as a word has pixels. */
constexpr int
GetLaneColumns(int pixelBytes)
{
  return pixelBytes > 4 ? 8 : 16;
}

/** The most rows of outputs of which columns count all. */
constexpr std::int64_t mostColumnRows = std::int64_t{ 1 } << 30;

/** Words behind each of its columns in shared memory, so that there are no bank conflicts. */
constexpr int columnPadding = 2;

/** How warps find extremes. */
enum class ExtremumMeans : std::int32_t
{
  Strip,  ///< marching along an axis (ExtremumStrip.h)
  Tile,   ///< in a few rows, along an axis and axis 0 (ExtremumTile.h)
  Bands,  ///< as a team that has a band of rows, along an axis other than 0 alone (ExtremumBands.h)
  Columns ///< as a team that has rows or parts of rows, along axis 0 alone (ExtremumColumns.h)
};

/** A window, or a part of one, and the work of a warp that finds its extremes. */
struct ExtremumShape
{
  std::int32_t  before[4]; ///< pixels of the window before the output along each axis
  std::int32_t  size[4];   ///< pixels of the window
  ExtremumMeans means;
  std::int32_t  isWide;   ///< whether lanes have 16 bytes, else 4, or a pixel of 8; others have 16
  std::int32_t  along;    ///< strips: the axis of the march, not 0; tiles and bands: that of their rows
  std::int32_t  across;   ///< strips: the axis of the runs, neither 0 nor that; tiles: another, that of their march
  std::int32_t  run;      ///< strips: outputs of a run: 1 or 2, no more than the window has; tiles: rows, 2, 4 or 8;
                          ///< bands: rows of a warp; columns: the most warps, 4 or 8
  std::int32_t band;      ///< strips: outputs from one sweep back to the next, no more than the window has; tiles:
                          ///< outputs of a march, 0 where they have none
  std::int32_t bands;     ///< strips: of a march
  std::int32_t warps;     ///< of a block
  std::int32_t warpBytes; ///< shared memory of each
};

/** Pixels of a word of 4 bytes, or one of 8. */
int
GetExtremumWordPixels(int pixelBytes);

/** Words from a lane's in a tile's two shared rows to the next lane's: an odd number, so that there are no bank
 * conflicts. */
constexpr int
GetExtremumTileStride(int wordBytes)
{
  return 2 * 16 / wordBytes + 1;
}

/** Pixels of a lane of a strip or tile, or of one of its vectors. */
int
GetExtremumVectorPixels(const ExtremumShape & shape, int pixelBytes);

/** Pixels along axis 0 of windows that tiles have code of their own for, with 4 rows and with 8. */
using ShortTileWindows = std::integer_sequence<int, 3, 5, 7, 9>;
using LongTileWindows = std::integer_sequence<int, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31>;

/** The same of windows that tiles march for, with 4 rows and with 2, and the planes that windows have then. */
using FewMarchWindows = std::integer_sequence<int, 3>;
using ManyMarchWindows = std::integer_sequence<int, 5, 7, 9>;
constexpr int fewestMarchPlanes = 3;
constexpr int mostMarchPlanes = 9;

/** Whether a number is in a list. */
template <int... VNumbers>
constexpr bool
IsIn(int number, std::integer_sequence<int, VNumbers...>)
{
  return ((number == VNumbers) || ...);
}

/** Whether rows of a tile whose kernel knows the window's pixels along axis 0 wait in shared memory: shorter windows
 * were faster in registers. */
constexpr bool
IsStagedTile(int pixelBytes, int rows, int window)
{
  return rows >= 8 && window >= (pixelBytes == 1 ? 13 : 19);
}

/** Whether a tile's kernel knows the window's pixels along axis 0: there are as many before an output as behind it. */
bool
KnowsTileWindow(const ExtremumShape & shape, int pixelBytes);

/** Strips of so many vectors of a row, where neighbours overlap by a halo of fewer lanes than a warp has. */
int
CountExtremumStrips(int vectors, int halo);

/** How a team has rows (ExtremumColumns.h). */
struct ExtremumParts
{
  std::int32_t parts;   ///< of a row
  std::int32_t staged;  ///< lanes of a part, with those around its outputs
  std::int32_t rows;    ///< parts that a team has at once, of as many rows as a word has pixels
  std::int32_t halo[2]; ///< lanes before and behind the outputs
};

/** The parts of rows of so many outputs; there are none where a window reaches further than a team has lanes. */
ExtremumParts
CountExtremumParts(const ExtremumShape & shape, int outputs, int pixelBytes);

/** The kernels that find a window's extremes, one after the other: each takes those that the one before has found. The
 * extreme of a window is that of extremes of smaller ones whose sizes less one add up to its size less one. Clamping at
 * the image's border in between adds nothing: the border's pixels are in those windows anyway. */
struct ExtremumPasses
{
  std::vector<ExtremumShape> shapes;
  double                     seconds{ 0 };        ///< how long they take, as measured or by the model
  bool                       isMeasured{ false }; ///< whether all of them are rows of ExtremumTuning.inc
};

struct ExtremumTuningRow;

/** The window's pixels before and behind an output, as far as they lie in the image. */
struct ExtremumReach
{
  Extent before{ { 0, 0, 0, 0 } };
  Extent behind{ { 0, 0, 0, 0 } };
};

/** The reach of a request's window. */
ExtremumReach
GetExtremumReach(const MedianRequest & request);

/** The rows of ExtremumTuning.inc. */
const std::vector<ExtremumTuningRow> &
GetExtremumTuning();

/** The passes that were measured to be the fastest, or that the model takes for it where none was, on a device with
 * these traits. There are none only where not even a single pixel's neighbours fit in shared memory. */
ExtremumPasses
ChooseExtremumPasses(const ExtremumReach & reach,
                     const Extent &        outputExtent,
                     int                   pixelBytes,
                     const DeviceTraits &  device);

/** The same by other rows. */
ExtremumPasses
ChooseExtremumPasses(const ExtremumReach &                  reach,
                     const Extent &                         outputExtent,
                     int                                    pixelBytes,
                     const DeviceTraits &                   device,
                     const std::vector<ExtremumTuningRow> & rows);

} // namespace cudamedian

#endif
