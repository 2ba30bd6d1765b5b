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
#ifndef RankPolicy_h
#define RankPolicy_h

#include "HostDevice.h"
#include "Traits.h"
#include "Window.h"

#include <cstddef>
#include <cstdint>

/** How windows too large for tile programs are cut into blocks of the local rank method (RankKernels.h). */
namespace cudamedian
{

/** The shape of one block. Region axes 0, 1, 2 are image axes: threads lie along 0 and 1, and walk along 2. */
struct RankShape
{
  int axes[Dimension]; ///< image axis of each region axis; windows have radius 0 along the last
  int window[3];       ///< pixels of the window along the region axes
  int threads;         ///< of a block, 32 or 64, each with a window of its own
  int lanes[2];        ///< threads along region axes 0 and 1
  int steps;           ///< outputs of a thread, one behind the other along region axis 2
  int tile[3];         ///< outputs of a block along the region axes
  int region[3];       ///< footprint of a block
  int pixels;          ///< of the region
  int counterBits;     ///< 1: each rank has one; 10 or 16: pixels of 8 bits are counted by their values; 0: none
  int words;           ///< of 32 bits, with the counters of a window
  int firstRank;       ///< that the first word could have; the ranks that can be wanted are in those behind it
  int rankShift;       ///< where a packed rank has its word's number: a row of words has 2^rankShift bytes
  int sortPixels;      ///< that the block has room for which sorts a region; 0 if values are counted
  int sharedBytes;     ///< of a block that slides windows
  int members;         ///< pixels of a window that is no box; 0 for a box
  int edges;           ///< pixels of it that are replaced at a step along region axis 2, and some more: a multiple of 4
  int pairs;           ///< such pixels two by two, besides those, where windows keep a threshold; a multiple of 4
  int runs;            ///< of its pixels along region axis 0, and some more, where windows keep a threshold; likewise
  int disk; ///< the greatest squared distance from the center, of a disk or ball, where windows keep a threshold
  std::int64_t scratchBytes; ///< device memory that the ranks and sorted pixels of a block take; 0 for values
};

/** Whether the windows have no counters, but keep a threshold (RankThreshold.h). */
inline bool
KeepsThresholds(const RankShape & shape)
{
  return shape.counterBits == 0;
}

/** How the pixels of windows enter and leave: rows of an odd or an even number, or those at the edges of a footprint.
 */
enum class WindowForm
{
  OddRows,
  EvenRows,
  Footprint
};

inline WindowForm
GetWindowForm(const RankShape & shape)
{
  return shape.members > 0          ? WindowForm::Footprint
         : shape.window[0] % 2 == 0 ? WindowForm::EvenRows
                                    : WindowForm::OddRows;
}

/** Words that list the replacements of a footprint whose windows keep a threshold, before its runs (RankEdges.h). */
CUDAMEDIAN_HOST_DEVICE int
CountStepWords(const RankShape & shape)
{
  return 4 * (shape.pairs + shape.edges);
}

/** Pixels of a region on the host whose ranks have 16 bits, and of any. */
constexpr int mostShortRanks = 65536;
constexpr int mostRankPixels = 1 << 21;

/** Threads of a block that sorts by values, and by those of 8 bits. */
constexpr int valueSortThreads = 1024;
constexpr int byteSortThreads = 256;

/** A run of a footprint is a word: the place of its first pixel, and from this bit on how many it has. */
constexpr int runShift = 20;

/** Pixels that a region can have which is sorted by values, or by numbers for them (RankValueSort.h). */
constexpr int valueSortPixels = 65535;

/** The same where counters have 32 bits: as many as there is room to mark. */
constexpr int largeSortPixels = 32 * 10752;

/** Pixels along an axis that coordinates of 7 bits have room for, a window's neighbours among them. */
constexpr int mostNarrow = 127;

/** What windows that keep a threshold know of their region. */
enum class RegionForm
{
  Narrow, ///< coordinates have 7 bits
  Wide,   ///< coordinates have 11 bits
  Large,  ///< the same; the region has more pixels than 16 bits number, so that pixels have the word of their rank
  Solid   ///< a large region of windows along three axes: coordinates have 7 bits
};

/** Whether a region may have more pixels than 16 bits number. */
CUDAMEDIAN_HOST_DEVICE bool
IsLargeRegion(const RankShape & shape)
{
  return shape.sortPixels == largeSortPixels;
}

CUDAMEDIAN_HOST_DEVICE RegionForm
GetRegionForm(const RankShape & shape)
{
  const bool isNarrow = shape.region[0] <= mostNarrow && shape.region[2] <= mostNarrow;
  return !IsLargeRegion(shape) ? (isNarrow ? RegionForm::Narrow : RegionForm::Wide)
         : shape.window[1] > 1 ? RegionForm::Solid
                               : RegionForm::Large;
}

/** Whether a region is sorted by values. */
inline bool
IsSortedByValues(const RankShape & shape)
{
  return shape.sortPixels == valueSortPixels || IsLargeRegion(shape);
}

/** Whether pixels of such a region have numbers for their values, which some may share. */
inline bool
HasNumbers(const RankShape & shape, int pixelBytes)
{
  return IsSortedByValues(shape) && (pixelBytes > 2 || IsLargeRegion(shape));
}

/** Threads of a block that sorts by values. Bytes have few counters, so that several blocks find room. */
inline int
GetValueSortThreads(const RankShape & shape, int pixelBytes)
{
  return pixelBytes == 1 && !IsLargeRegion(shape) ? byteSortThreads : valueSortThreads;
}

/** Pixels of a region with numbers that are a sample of it (RankQuantiles.h). */
constexpr int valueSortSamples = 2048;

/** Shared memory that a block takes which sorts by values: its counters, what its warps tell each other, a sample or
 * the marks of ranks, and where rows are. */
inline int
GetValueSortBytes(const RankShape & shape, int pixelBytes)
{
  // A thread has 32 words of counters, behind which four are left out, and a warp one.
  const int threads = GetValueSortThreads(shape, pixelBytes);
  return 4 * (36 * threads + threads / 32) + 8 * shape.region[1] * shape.region[2] +
         (IsLargeRegion(shape)            ? 32 + largeSortPixels / 8
          : HasNumbers(shape, pixelBytes) ? 32 + valueSortSamples / 32 * 33 * pixelBytes
                                          : 0);
}

/** Threads at most of a block whose windows keep a threshold. */
constexpr int mostThresholdThreads = 512;

/** Threads of each of the blocks that slide such windows over a large region. */
constexpr int largeThresholdThreads = 128;

/** Shared memory that the kernels take at most which sort a region: counters of buckets, keys and their pixels'
 * numbers, and what warps tell each other (RankBucketSort.h; sorting by digits takes less). */
constexpr int
GetRankSortBytes(int sortPixels, int pixelBytes)
{
  int buckets = 1;
  while (buckets < sortPixels)
  {
    buckets *= 2;
  }
  // A key of 16 bits has its pixel's number beside it.
  const int elementBytes = pixelBytes == 8 ? 8 : 4;
  const int numbers = pixelBytes == 2 ? 0 : 2 * sortPixels;
  return 2 * buckets + elementBytes * (sortPixels + 32) + numbers + 1024;
}

/** The same for a region of a block, however it is sorted; 0 where it is not. */
inline int
GetRegionSortBytes(const RankShape & shape, int pixelBytes)
{
  return shape.sortPixels == 0     ? 0
         : IsSortedByValues(shape) ? GetValueSortBytes(shape, pixelBytes)
                                   : GetRankSortBytes(shape.sortPixels, pixelBytes);
}

/** The smallest sort by buckets that holds a number of pixels, or 0 where a block of the device has no room for it. */
int
FindSortSize(int pixels, int pixelBytes, const DeviceTraits & traits);

/** What it takes in picoseconds where a device is full of such blocks. */
double
EstimateSortPicoseconds(int sortPixels, int pixelBytes);

/** Shared memory of a block at most, where a device has it. Reasoned: what blocks of sm_86 and sm_89 have, and two
 * blocks of sm_90's multiprocessors. */
int
GetMostRankSharedBytes();

/** Pixels that a region of a block can have at most: of the largest sort. */
int
GetMostRankPixels(int pixelBytes);

/** Whether an output box has so few large regions that most of a device is idle. */
bool
LeavesDeviceIdle(const RankShape & shape, const Extent & outputExtent, const DeviceTraits & traits);

/** Finds the fastest block for a window by a model of its cost.
 *
 * \param pixelBytes 1, 2, 4 or 8.
 * \returns false if there is none: the window has a radius along all four axes, or its smallest region has more than
 * GetMostRankPixels(), or more than a block of the device has room to sort. A footprint's pixels are counted once. */
bool
FindRankShape(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits);

/** The fastest block whose windows have counters. FindRankShape() weighs it against one whose windows keep a threshold
 * (RankThresholdPolicy.h). */
bool
FindCounterShape(const Window & window, int pixelBytes, RankShape & shape, const DeviceTraits & traits);

/** Sets a shape's axes, and the window along them. \returns false if no block covers the window. */
bool
SetRankAxes(const Window & window, RankShape & shape);

/** Whether local ranks are the fastest for a window that they cover, where no tile program is, by measurement
 * (RankRates.inc, and the rates of sliding histograms). At 99x99 with 16 and 32 bits both are as fast by the model of
 * the ranks, where windows have counters; those that keep a threshold are faster wherever they are taken. */
bool
IsRankFastestOnDevice(const Window & window, int pixelBytes);

/** The same for the CPU: one window goes through the block up and down, so region axis 0 is image axis 0, and blocks
 * are large, but enough for all work units.
 *
 * \returns false if there is none: the window has a radius along all axes but the first, or its smallest region has
 * more than mostShortRanks pixels, of a footprint mostRankPixels. */
bool
FindHostRankShape(const Window & window,
                  int            pixelBytes,
                  const Extent & outputExtent,
                  unsigned       workUnits,
                  RankShape &    shape);

/** What an output of a block takes in picoseconds, by the model that the block was chosen with: at the speed of an
 * H200's multiprocessors, each of which holds as many blocks as the device's. */
double
EstimateRankPicoseconds(const RankShape & shape, const Window & window, int pixelBytes, const DeviceTraits & traits);

/** What a block of FindHostRankShape() takes on one core of 2023, in nanoseconds, by the model that it was chosen with.
 */
double
EstimateHostRankNanoseconds(const RankShape & shape, const Window & window, int pixelBytes);

/** The outputs of a block along the image's axes. */
Extent
GetRankTile(const RankShape & shape);

/** Device memory for the blocks of an output box: as many as are worth running at once, at most `available` bytes.
 * \returns 0 if not even one block fits, or if none is needed. */
std::size_t
GetRankScratchBytes(const RankShape & shape, const Extent & outputExtent, std::size_t available);

/** Blocks that cover an output box. */
std::int64_t
CountRankBlocks(const RankShape & shape, const Extent & outputExtent);

} // namespace cudamedian

#endif
