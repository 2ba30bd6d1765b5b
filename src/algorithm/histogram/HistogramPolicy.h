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
#ifndef HistogramPolicy_h
#define HistogramPolicy_h

#include "DivideUp.h"
#include "HostDevice.h"
#include "PixelKey.h"
#include "Traits.h"
#include "Window.h"

#include <array>
#include <cstddef>
#include <cstdint>

/** How the outputs of a slab are cut into blocks of the sliding histogram method (HistogramKernels.h). */
namespace cudamedian
{

/** Bins of a histogram. */
constexpr int histogramBins = 256;

/** Columns of 8-bit pixels are counted in so many groups of bins too. */
constexpr int histogramGroups = 16;

/** 32-bit words of a column's histogram with its groups, whose bins' counts have 8, 10 or 16 bits. */
CUDAMEDIAN_HOST_DEVICE constexpr int
GetByteHistogramWords(int countBits)
{
  return (histogramBins * countBits + histogramGroups * (countBits == 8 ? 8 : 16)) / 32;
}

/** Threads of a block at most. */
constexpr int mostHistogramThreads = 512;

/** Pixels of a bin that a warp looks at before it needs the first. */
constexpr int histogramRunPixels = 128;

/** The shape of one block, and of the region that it reads where pixels have more than 8 bits. */
struct HistogramShape
{
  int  pixelBytes;           ///< 1, 2, 4 or 8
  int  axes[Dimension];      ///< image axis of each axis: windows slide along 0, blocks walk along 1; radius 0 along 3
  int  window[3];            ///< pixels of the window along axes 0, 1 and 2
  int  width;                ///< outputs of a block along axis 0
  int  segment;              ///< those of one warp: a multiple of 32
  int  rows;                 ///< outputs of a block along axis 1, one row after the other
  int  columnBits;           ///< of a count of a column's histogram, 8, 10 or 16
  int  counterBytes;         ///< of a count of a window's pixels, 2 or 4
  bool columnsInScratch;     ///< the histograms of a block's columns lie in scratch memory, else in shared memory
  int  tile[3];              ///< outputs of a region along axes 0, 1 and 2; of a block where pixels have 8 bits
  int  region[3];            ///< footprint of the tile
  int  pixels;               ///< of the region
  int  positionBits[3];      ///< from which bit on a packed position has its coordinates along axes 1 and 2, and
                             ///< the region's number
  int          sharedBytes;  ///< of a block
  std::int64_t scratchBytes; ///< device memory of a region: what sorting it takes, and its blocks' columns

  /** Columns of the windows of a row of the block. */
  CUDAMEDIAN_HOST_DEVICE int
  GetColumns() const
  {
    return width + window[0] - 1;
  }
  /** Memory of the histograms of a block's columns, in bytes. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetColumnsBytes() const
  {
    return std::int64_t{ RoundUp(GetColumns(), 32) } * GetByteHistogramWords(columnBits) * 4;
  }
  /** Blocks that filter a region. */
  CUDAMEDIAN_HOST_DEVICE int
  CountBlocks() const
  {
    return tile[0] / width * (tile[1] / rows) * tile[2];
  }
  /** Pixels of the window. */
  double
  CountWindow() const
  {
    return static_cast<double>(window[0]) * window[1] * window[2];
  }
  /** Outputs of a region. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         CountOutputs() const
  {
    return std::int64_t{ tile[0] } * tile[1] * tile[2];
  }
  CUDAMEDIAN_HOST_DEVICE int
  GetThreads() const
  {
    return width / segment * 32;
  }
};

/** What a window may be for sliding histograms, as a part of a sentence. */
extern const char * const histogramLimits;

/** Outputs of a request that is larger than any region. */
constexpr Extent manyHistogramOutputs{ { 1 << 14, 1 << 14, 1 << 14, 1 } };

/** Finds the fastest block and region for a window by a model of their cost.
 *
 * \param pixelBytes 1, 2, 4 or 8. \param outputs of the request: a few do not fill a device with the widest blocks, and
 * what regions have beyond them is sorted for nothing. \returns false if there is none, see histogramLimits. */
bool
FindHistogramShape(const Window &       window,
                   int                  pixelBytes,
                   HistogramShape &     shape,
                   const DeviceTraits & traits,
                   const Extent &       outputs = manyHistogramOutputs);

/** Gives a shape a tile of other outputs along its axes, multiples of its width and rows; for tuning and tests.
 *
 * \returns false when the region has too many pixels. */
bool
SetHistogramTile(const std::array<int, 3> & tile, HistogramShape & shape);

/** What an output takes in picoseconds, by the model that the shape was chosen with: at the speed of an H200's
 * multiprocessors, each of which holds as many blocks as the device's. */
double
EstimateHistogramPicoseconds(const HistogramShape & shape,
                             const DeviceTraits &   traits,
                             const Extent &         outputs = manyHistogramOutputs);

/** How many times as long as their rates say histograms are taken to need, where a plan compares them.
 *
 * Rates are of random pixels, whose medians lie close together. With scans histograms of wider pixels take 1.5 to 3.6
 * times as long, and local ranks 1.1 to 2 times: the quotient is 1.75 at 13x13x13, 1.8 at 213x213 and 251x251 (one
 * H200, 9a76424), 1.7 at 301x301 and 1.55 at 351x351. In planes pixels of 64 bits take 1.17 times as long as is told,
 * since scratch memory has room for few regions at once.
 *
 * \param isPlane whether the window has one slice. */
constexpr double
GetHistogramSpread(int pixelBytes, bool isPlane)
{
  return pixelBytes == 1 ? 1 : !isPlane ? 1.5 : pixelBytes == 8 ? 2.05 : 1.75;
}

/** The outputs of a region along the image's axes; 1 each where pixels have 8 bits, for they need no region. */
Extent
GetHistogramTile(const HistogramShape & shape);

/** The least scratch memory: one region and what sorting takes. 0 where pixels have 8 bits and columns lie in shared
 * memory. */
std::size_t
GetLeastHistogramScratchBytes(const HistogramShape & shape);

/** Device memory for the regions of an output box: as many as are worth filtering at once, at most `available` bytes.
 * \returns 0 where none is needed, and if not even one region fits. */
std::size_t
GetHistogramScratchBytes(const HistogramShape & shape, const Extent & outputExtent, std::size_t available);

/** How many regions scratch memory holds, where they take some. */
std::int64_t
CountHistogramRegionsIn(const HistogramShape & shape, std::size_t scratchBytes);

/** Regions that cover an output box. */
std::int64_t
CountHistogramRegions(const HistogramShape & shape, const Extent & outputExtent);

} // namespace cudamedian

#endif
