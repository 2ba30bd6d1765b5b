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
#ifndef HostHistogramPolicy_h
#define HostHistogramPolicy_h

#include "Window.h"

#include <cstdint>

/** How the CPU backend cuts outputs for sliding histograms. */
namespace cudamedian
{

/** A block of outputs whose pixels are sorted at once (SortedHistogramRunner.h). */
struct HostHistogramShape
{
  int axes[Dimension]; ///< image axis of each axis: windows slide along 0, the image's, and columns move along 1
  std::int64_t window[Dimension]; ///< pixels of the window along the axes
  std::int64_t tile[Dimension];   ///< outputs along the axes

  /** Pixels that windows of a block reach along an axis. */
  std::int64_t
  GetRegion(int axis) const
  {
    return tile[axis] + window[axis] - 1;
  }

  /** Pixels that are sorted at once. */
  std::int64_t
  CountPixels() const
  {
    return GetRegion(0) * GetRegion(1) * GetRegion(2) * GetRegion(3);
  }
};

/** What a window may be for sliding histograms on the CPU, as a part of a sentence. */
extern const char * const hostHistogramLimits;

/** Whether the CPU backend has sliding histograms for a window and pixels of so many bytes. Those of 8 bits are bins as
 * they are; others are sorted in blocks. */
bool
IsCoveredByHostHistograms(const Window & window, int pixelBytes);

/** Finds the block with the least cost by a model of it, for `units` work units side by side.
 * \returns false where even the smallest region has too many pixels to be sorted at once. */
bool
FindHostHistogramShape(const Window &       window,
                       int                  pixelBytes,
                       const Extent &       outputExtent,
                       unsigned int         units,
                       HostHistogramShape & shape);

/** Blocks that cover outputs. */
std::int64_t
CountHostHistogramBlocks(const HostHistogramShape & shape, const Extent & outputExtent);

/** What a block takes in nanoseconds of one thread with AVX-512, by the model that shapes are chosen by. */
double
EstimateHostHistogramNanoseconds(const HostHistogramShape & shape, int pixelBytes);

} // namespace cudamedian

#endif
