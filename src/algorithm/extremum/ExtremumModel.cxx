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
#include "ExtremumModel.h"

#include "DivideUp.h"

#include <algorithm>
#include <cmath>

namespace cudamedian
{
namespace
{

/** Registers that a vector of a lane is compared in: 8-bit pixels take two for a word. */
double
CountHeld(int pixelBytes)
{
  return pixelBytes == 1 ? 2 : pixelBytes == 8 ? 4 : 1;
}

/** What the model says of a pass. */
struct Work
{
  double items{ 0 };        ///< for warps
  double instructions{ 0 }; ///< of an item
  double bytes{ 0 };        ///< that are read and written
};

/** How long a pass takes, in seconds.
 *
 * Warps share the schedulers, and the last ones run on while others are done: half an item's time is lost. The
 * constants are fitted to some 40 kernels on an H100, which they tell to a third as a rule. */
double
EstimateSeconds(const Work & work, const ExtremumShape & shape, const DeviceTraits & device)
{
  constexpr double mostIssued = 1.4;     // instructions of a multiprocessor in a clock
  constexpr double issuedByOne = 0.15;   // of a warp
  constexpr double readingWarps = 12;    // of a multiprocessor, that keep memory busy
  constexpr double copyShare = 0.95;     // of a copy's bandwidth
  constexpr int    warpRegisters = 4096; // 128 for each lane
  const int        most = std::max(1, device.registers / warpRegisters);
  const int        warps =
    std::clamp(shape.warps * device.CountBlocks(shape.warps * shape.warpBytes, 32 * shape.warps), 1, most);
  const double clock = device.kilohertz * 1e3;
  const double issued = std::min(mostIssued, issuedByOne * warps);
  const double compute = work.items * work.instructions / (device.multiprocessors * issued * clock);
  const double memory =
    work.bytes / (copyShare * std::max(1e9, device.copyBytes)) * std::max(1.0, readingWarps / warps);
  const double alone = work.instructions * warps / issued / clock;
  return std::max(compute, memory) + 0.5 * alone;
}

/** The work of a strip: counted in the source of its kernel. */
Work
CountStripWork(const ExtremumShape & shape, const Extent & outputExtent, int pixelBytes)
{
  const auto pixels = GetExtremumVectorPixels(shape, pixelBytes);
  const int  halo =
    static_cast<int>(DivideUp(shape.before[0], pixels) + DivideUp(shape.size[0] - 1 - shape.before[0], pixels));
  const auto   vectors = std::min<std::int64_t>(DivideUp(outputExtent[0], pixels), 1 << 30);
  const int    other = 6 - shape.along - shape.across;
  const double strips = CountExtremumStrips(static_cast<int>(vectors), halo);
  const auto   length = std::min<std::int64_t>(std::int64_t{ shape.band } * shape.bands, outputExtent[shape.along]);
  const auto   marches = DivideUp(outputExtent[shape.along], std::int64_t{ shape.band } * shape.bands);
  const auto   groups = DivideUp(outputExtent[shape.across], shape.run);
  Work         work;
  work.items =
    strips * static_cast<double>(marches) * static_cast<double>(groups) * static_cast<double>(outputExtent[other]);
  const double words = (shape.isWide != 0 ? 4 : 1) * CountHeld(pixelBytes);
  const double window = shape.size[shape.along];
  const bool   isKept = shape.band == shape.size[shape.along];
  const double sweeps = isKept ? 1 : std::ceil(static_cast<double>(length) / shape.band);
  const double loaded = window * sweeps + static_cast<double>(length); // rows, but those of a run
  const double across = shape.size[shape.across] + shape.run - 1;      // vectors that a run loads
  const double load = (shape.isWide != 0 ? 10 : 18) + words;
  const double add = shape.run > 1 ? 0.7 * across * (load + words) + 3 * shape.run * words : load + words;
  double       reduce = 0;
  if (shape.size[0] > 1)
  {
    const int    half = std::max(shape.before[0], shape.size[0] - 1 - shape.before[0]) + 1;
    const double doublings = std::floor(std::log2(std::min(half, pixels)));
    const double inside = std::exp2(doublings);
    const double rest = half > inside ? std::ceil(std::log2(half / inside)) : 0;
    reduce = 1.5 * (doublings * (4 + 2 * words) + rest * (10 + 2 * words)) + 20;
  }
  work.instructions = 60 + loaded * add + static_cast<double>(length) * shape.run * (14 + 4 * words + reduce) +
                      loaded * shape.run * 2 * words;
  const double pixelsDone = static_cast<double>(Volume(outputExtent));
  // Rows that are read again come from the second-level cache as a rule.
  const double again =
    window / static_cast<double>(length) * sweeps * 0.8 + (shape.run > 1 ? 0.9 * across / shape.run - 0.2 : 0);
  work.bytes = pixelsDone * pixelBytes * (2 + again);
  return work;
}

/** Instructions of a tile along axis 0, for a row. */
double
CountAcross(const ExtremumShape & shape, int pixelBytes)
{
  const double words = 4 * CountHeld(pixelBytes) / (pixelBytes == 8 ? 2 : 1);
  const int    wordPixels = GetExtremumWordPixels(pixelBytes);
  if (shape.size[0] == 1)
  {
    return 0;
  }
  if (KnowsTileWindow(shape, pixelBytes))
  {
    const double sides = 2.0 * DivideUp(shape.before[0], wordPixels);
    return 3 * words + sides * (pixelBytes == 1 ? 4 : 3) * std::max(1.0, std::log2(shape.size[0] / 8.0));
  }
  const double middle = shape.size[0] > 2 * wordPixels || wordPixels == 1 ? shape.size[0] / wordPixels + 3.0 : 0;
  const double ends = wordPixels == 1 ? 0 : wordPixels == 2 ? 14 : 40;
  return 20 + 5 * words + ends + middle * (3 + (pixelBytes == 1 ? 2 : 1));
}

/** The work of a tile: counted in the machine code of its kernel for sm_90. */
Work
CountTileWork(const ExtremumShape & shape, const Extent & outputExtent, int pixelBytes)
{
  const auto   pixels = GetExtremumVectorPixels(shape, pixelBytes);
  const int    halo = DivideUp(shape.before[0], pixels) + DivideUp(shape.size[0] - 1 - shape.before[0], pixels);
  const auto   vectors = std::min<std::int64_t>(DivideUp(outputExtent[0], pixels), 1 << 30);
  const double strips = CountExtremumStrips(static_cast<int>(vectors), halo);
  const auto   groups = DivideUp(outputExtent[shape.along], std::int64_t{ shape.run });
  const auto   marches = DivideUp(outputExtent[shape.across], std::int64_t{ std::max(1, shape.band) });
  const double planes = shape.band > 0 ? shape.band + shape.size[shape.across] - 1 : 1;
  const double rows = shape.run;
  const double window = shape.size[shape.along];
  const double words = 4 * CountHeld(pixelBytes) / (pixelBytes == 8 ? 2 : 1);
  const double keys = pixelBytes == 1 || pixelBytes == 2 ? 4 : 12; // instructions that make keys of a vector
  const double compared = 3 * (rows - 1) + 0.6 * std::max(0.0, window - rows); // vectors, along the columns
  Work         work;
  work.items = strips * static_cast<double>(groups * marches * outputExtent[6 - shape.along - shape.across]);
  const double plane = (rows + window - 1) * (4 + keys + (pixelBytes == 1 ? 4 : 0)) + compared * words + 14 * rows +
                       rows * CountAcross(shape, pixelBytes);
  const double kept = shape.band > 0 ? rows * (3 * words + 20) : 0;
  work.instructions = 150 + planes * (plane + kept);
  // Rows and planes that a block reads again come from the second-level cache.
  const double again = (1 + 0.4 * (window - 1) / (rows * shape.warps)) * planes / std::max(1, shape.band);
  work.bytes = static_cast<double>(Volume(outputExtent)) * pixelBytes * (1 + again);
  return work;
}

/** The work of a warp of a team that has a band of rows. */
Work
CountBandsWork(const ExtremumShape & shape, const Extent & outputExtent, int pixelBytes)
{
  const auto   pixels = GetExtremumVectorPixels(shape, pixelBytes);
  const auto   strips = DivideUp(DivideUp(outputExtent[0], pixels), std::int64_t{ extremumLanes });
  const auto   band = std::int64_t{ shape.run } * shape.warps;
  const auto   segments = DivideUp(outputExtent[shape.along], band);
  const double words = 4 * CountHeld(pixelBytes) / (pixelBytes == 8 ? 2 : 1);
  const double keys = pixelBytes == 1 ? 8 : pixelBytes == 2 ? 4 : 12;
  const double core = static_cast<double>(shape.size[shape.along] - band) / shape.warps;
  Work         work;
  work.items = static_cast<double>(strips * segments * shape.warps) *
               static_cast<double>(outputExtent[shape.across] * outputExtent[6 - shape.along - shape.across]);
  work.instructions =
    120 + shape.run * (4 + 2 * keys + 4 * words + 8) + core * (4 + keys + words) + shape.warps * (3 + words);
  // Rows are read again by other teams, from the second-level cache as a rule.
  const double reads = static_cast<double>(shape.size[shape.along] + band) / static_cast<double>(band);
  const double again = pixelBytes == 1 ? 0.45 : pixelBytes == 2 ? 0.3 : 0.25;
  work.bytes = static_cast<double>(Volume(outputExtent)) * pixelBytes * (2 + again * (reads - 1));
  return work;
}

/** The work of a warp of a team that has rows or parts of rows. */
Work
CountColumnsWork(const ExtremumShape & shape, const Extent & outputExtent, int pixelBytes)
{
  const auto   outputs = static_cast<int>(std::min<std::int64_t>(outputExtent[0], 1 << 30));
  const auto   parts = CountExtremumParts(shape, outputs, pixelBytes);
  const auto   rows = outputExtent[1] * outputExtent[2] * outputExtent[3];
  const auto   groups = DivideUp(rows, std::int64_t{ parts.rows } * GetExtremumWordPixels(pixelBytes));
  const double steps = std::max(0.0, std::floor(std::log2(shape.size[0] / GetLaneColumns(pixelBytes))));
  const double part = static_cast<double>(outputs) / parts.parts;
  Work         work;
  work.items = static_cast<double>(parts.parts * groups * shape.warps);
  work.instructions = (pixelBytes == 1 ? 600 : pixelBytes == 2 ? 400 : 300) + 20 * steps;
  work.bytes = static_cast<double>(Volume(outputExtent)) * pixelBytes * (2.2 + 0.3 * (shape.size[0] - 1) / part);
  return work;
}

} // namespace

double
EstimateExtremumSeconds(const ExtremumShape & shape,
                        const Extent &        outputExtent,
                        int                   pixelBytes,
                        const DeviceTraits &  device)
{
  const auto work = shape.means == ExtremumMeans::Bands     ? CountBandsWork(shape, outputExtent, pixelBytes)
                    : shape.means == ExtremumMeans::Columns ? CountColumnsWork(shape, outputExtent, pixelBytes)
                    : shape.means == ExtremumMeans::Tile    ? CountTileWork(shape, outputExtent, pixelBytes)
                                                            : CountStripWork(shape, outputExtent, pixelBytes);
  return EstimateSeconds(work, shape, device);
}

} // namespace cudamedian
