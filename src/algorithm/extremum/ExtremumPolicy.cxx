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
#include "ExtremumPolicy.h"

#include "DivideUp.h"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

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
    std::max(1, std::min(most, shape.warps * device.CountBlocks(shape.warps * shape.warpBytes, 32 * shape.warps)));
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

/** The work of a row's part. */
Work
CountLineWork(const ExtremumShape & shape, const Extent & outputExtent, int pixelBytes)
{
  const int    keys = GetExtremumWordPixels(pixelBytes);
  const double held = CountHeld(pixelBytes);
  const double window = static_cast<double>(shape.size[0] / keys);
  const double run = shape.laneWords;
  const auto   parts = DivideUp(outputExtent[0], std::int64_t{ extremumLanes } * shape.laneWords * keys);
  Work         work;
  work.items = static_cast<double>(parts * outputExtent[1] * outputExtent[2]) * static_cast<double>(outputExtent[3]);
  work.instructions = 80 + 16.0 * shape.staged / extremumLanes + window * (1.5 + held) +
                      run * (8 + 4 * held + (keys > 1 ? 6 + 4 * keys * held / 2 : 0)) + run * 4;
  work.bytes = static_cast<double>(Volume(outputExtent)) * pixelBytes * 2;
  return work;
}

/** Blocks of several warps, where they need no more shared memory. */
void
SetWarps(ExtremumShape & shape, const DeviceTraits & device)
{
  shape.warps = mostExtremumWarps * shape.warpBytes <= std::min(device.blockSharedBytes, device.sharedBytes / 3)
                  ? mostExtremumWarps
                  : 1;
}

/** The fastest of some shapes. */
struct Choice
{
  std::optional<ExtremumShape> shape;
  double                       seconds{ 0 };

  void
  Offer(ExtremumShape offered, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
  {
    if (offered.warpBytes > device.blockSharedBytes)
    {
      return;
    }
    SetWarps(offered, device);
    const auto   work = offered.means == ExtremumMeans::Line ? CountLineWork(offered, outputExtent, pixelBytes)
                                                             : CountStripWork(offered, outputExtent, pixelBytes);
    const double found = EstimateSeconds(work, offered, device);
    if (!shape || found < seconds)
    {
      shape = offered;
      seconds = found;
    }
  }
};

/** A window's part along some axes. */
ExtremumShape
MakeShape(const ExtremumReach & reach)
{
  ExtremumShape shape{};
  for (int axis = 0; axis < Dimension; ++axis)
  {
    shape.before[axis] = static_cast<std::int32_t>(reach.before[axis]);
    shape.size[axis] = static_cast<std::int32_t>(reach.before[axis] + 1 + reach.behind[axis]);
  }
  return shape;
}

/** Strips that march along an axis, with runs along another or without. */
void
OfferStrips(Choice &             choice,
            ExtremumShape        shape,
            const Extent &       outputExtent,
            int                  pixelBytes,
            const DeviceTraits & device)
{
  shape.means = ExtremumMeans::Strip;
  const int pixels = GetExtremumVectorPixels(shape, pixelBytes);
  const int halo = DivideUp(shape.before[0], pixels) + DivideUp(shape.size[0] - 1 - shape.before[0], pixels);
  if (halo > extremumLanes / 2)
  {
    return;
  }
  const int laneBytes = pixels * pixelBytes;
  const int window = shape.size[shape.along];
  for (int parts = 1; parts <= 8 && parts <= window; ++parts)
  {
    shape.band = DivideUp(window, parts);
    const auto bytes = std::int64_t{ shape.band } * shape.run * extremumLanes * laneBytes;
    if (bytes > device.blockSharedBytes)
    {
      continue;
    }
    shape.warpBytes = static_cast<std::int32_t>(bytes);
    const auto longest = std::min<std::int64_t>(2 * outputExtent[shape.along], 1 << 16);
    for (shape.bands = 1; shape.bands == 1 || std::int64_t{ shape.band } * shape.bands < longest;
         shape.bands = shape.bands < 4 ? shape.bands + 1 : shape.bands * 3 / 2)
    {
      choice.Offer(shape, outputExtent, pixelBytes, device);
    }
  }
}

/** Parts of rows. */
void
OfferLines(Choice &             choice,
           ExtremumShape        shape,
           const Extent &       outputExtent,
           int                  pixelBytes,
           const DeviceTraits & device)
{
  shape.means = ExtremumMeans::Line;
  const int keys = GetExtremumWordPixels(pixelBytes);
  const int wordBytes = std::max(4, pixelBytes);
  const int vectorWords = 16 / wordBytes;
  const int more = GetExtremumLineMore(pixelBytes);
  const int window = shape.size[0] / keys;
  // Longer ones leave too few warps to a multiprocessor: 17 to 25 were the fastest, for windows of 81 and 201.
  constexpr int mostWords = 40;
  for (shape.laneWords = 1; shape.laneWords + more <= window && shape.laneWords <= mostWords;
       shape.laneWords += shape.laneWords < 16 ? 2 : 8)
  {
    const int outputs = extremumLanes * shape.laneWords;
    shape.staged = DivideUp(vectorWords - 1 + outputs + window + more, vectorWords);
    const auto bytes = std::int64_t{ shape.staged } * 16 + outputs * wordBytes;
    if (bytes > device.blockSharedBytes)
    {
      return;
    }
    shape.warpBytes = static_cast<std::int32_t>(bytes);
    choice.Offer(shape, outputExtent, pixelBytes, device);
  }
}

/** How much of a length one of so many parts gets; they add up to it. */
std::int64_t
GetPart(std::int64_t whole, std::int64_t number, std::int64_t parts)
{
  return whole * (number + 1) / parts - whole * number / parts;
}

/** The fastest strips for windows along some axes: one that they march along, perhaps one of runs, perhaps axis 0. */
Choice
FindStrips(const ExtremumReach & reach, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
{
  Choice choice;
  auto   shape = MakeShape(reach);
  for (shape.along = Dimension - 1; shape.along > 0; --shape.along)
  {
    for (shape.across = 1; shape.across < Dimension; ++shape.across)
    {
      const int other = 6 - shape.along - shape.across;
      if (shape.across == shape.along || shape.size[other] > 1)
      {
        continue;
      }
      for (const int run : { 1, 2 })
      {
        shape.run = run;
        if (shape.size[shape.across] == 1 ? run > 1 : run == 1 || run > shape.size[shape.across])
        {
          continue;
        }
        shape.isWide = 1;
        OfferStrips(choice, shape, outputExtent, pixelBytes, device);
        if (run == 1 && shape.size[0] == 1)
        {
          shape.isWide = 0;
          OfferStrips(choice, shape, outputExtent, pixelBytes, device);
        }
      }
    }
  }
  return choice;
}

/** The fastest kernel for windows along axis 0 alone. */
Choice
FindLine(const ExtremumReach & reach, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
{
  Choice choice;
  auto   shape = MakeShape(reach);
  OfferLines(choice, shape, outputExtent, pixelBytes, device);
  shape.isWide = 1;
  shape.along = 1;
  shape.across = 2;
  shape.run = 1;
  OfferStrips(choice, shape, outputExtent, pixelBytes, device);
  return choice;
}

/** The passes of a window along one axis, one for each of so many parts of it. There are none where no kernel covers
 * a part. */
ExtremumPasses
ListParts(const ExtremumReach & reach,
          std::size_t           axis,
          std::int64_t          parts,
          const Extent &        outputExtent,
          int                   pixelBytes,
          const DeviceTraits &  device)
{
  ExtremumPasses                                          passes;
  std::map<std::pair<std::int64_t, std::int64_t>, Choice> found; // parts differ by a pixel on each side
  for (std::int64_t number = 0; number < parts; ++number)
  {
    ExtremumReach part;
    part.before[axis] = GetPart(reach.before[axis], number, parts);
    part.behind[axis] = GetPart(reach.behind[axis], number, parts);
    const auto place = found.try_emplace({ part.before[axis], part.behind[axis] });
    auto &     choice = place.first->second;
    if (place.second)
    {
      choice = axis == 0 ? FindLine(part, outputExtent, pixelBytes, device)
                         : FindStrips(part, outputExtent, pixelBytes, device);
    }
    if (!choice.shape)
    {
      return {};
    }
    passes.shapes.push_back(*choice.shape);
    passes.seconds += choice.seconds;
  }
  return passes;
}

/** The passes of a window along one axis: in parts where it is too long for shared memory. */
ExtremumPasses
FindParts(const ExtremumReach & reach,
          std::size_t           axis,
          const Extent &        outputExtent,
          int                   pixelBytes,
          const DeviceTraits &  device)
{
  constexpr double worthIt = 0.9; // the model is no better than that, and each part takes a launch and goes over memory
  constexpr double hopeless = 2;  // more parts take longer still
  ExtremumPasses   best;
  const auto       longest = std::max(reach.before[axis], reach.behind[axis]);
  for (std::int64_t parts = 1; parts <= longest; parts = parts < 8 ? parts + 1 : parts * 5 / 4)
  {
    auto passes = ListParts(reach, axis, parts, outputExtent, pixelBytes, device);
    if (passes.shapes.empty())
    {
      continue;
    }
    if (best.shapes.empty() || passes.seconds < worthIt * best.seconds)
    {
      best = std::move(passes);
    }
    else if (passes.seconds > hopeless * best.seconds)
    {
      break;
    }
  }
  return best;
}

/** One pass for all axes that a reach has, or one for each part of a window along one axis. There are none where no
 * kernel covers the axes at once. */
ExtremumPasses
FindPass(const ExtremumReach & reach, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
{
  std::size_t axes = 0;
  std::size_t last = 0;
  bool        isWhole = true; // along axes 1 to 3
  for (std::size_t axis = 0; axis < Dimension; ++axis)
  {
    const bool hasReach = reach.before[axis] + reach.behind[axis] > 0;
    isWhole = isWhole && (hasReach || axis == 0);
    axes += hasReach ? 1 : 0;
    last = hasReach ? axis : last;
  }
  if (axes == 1)
  {
    return FindParts(reach, last, outputExtent, pixelBytes, device);
  }
  ExtremumPasses passes;
  if (!isWhole)
  {
    const auto choice = FindStrips(reach, outputExtent, pixelBytes, device);
    if (choice.shape)
    {
      passes.shapes.push_back(*choice.shape);
      passes.seconds = choice.seconds;
    }
  }
  return passes;
}

} // namespace

int
GetExtremumWordPixels(int pixelBytes)
{
  return std::max(1, 4 / pixelBytes);
}

int
GetExtremumVectorPixels(const ExtremumShape & shape, int pixelBytes)
{
  return shape.isWide != 0 ? 16 / pixelBytes : GetExtremumWordPixels(pixelBytes);
}

int
CountExtremumStrips(int vectors, int halo)
{
  return vectors <= extremumLanes ? 1 : 1 + DivideUp(vectors - extremumLanes, extremumLanes - halo);
}

ExtremumReach
GetExtremumReach(const MedianRequest & request)
{
  const auto    window = GetWindow(request);
  ExtremumReach reach;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto most =
      HasCopiedBorder(request, axis) ? window.radius[axis] : std::max<std::int64_t>(0, request.inputExtent[axis] - 1);
    reach.before[axis] = std::min(window.radius[axis], most);
    reach.behind[axis] = std::min(window.CountBehind(axis), most);
  }
  return reach;
}

ExtremumPasses
ChooseExtremumPasses(const ExtremumReach & reach,
                     const Extent &        outputExtent,
                     int                   pixelBytes,
                     const DeviceTraits &  device)
{
  unsigned int all = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    all |= reach.before[axis] + reach.behind[axis] > 0 ? 1U << axis : 0U;
  }
  if (all == 0)
  {
    // The window lies in one pixel of the image: its extreme is the pixel.
    return FindPass(reach, outputExtent, pixelBytes, device);
  }
  // The fastest passes for each set of axes: those of a part of it, and one more for the rest.
  std::array<ExtremumPasses, 1U << Dimension> passes;
  std::array<ExtremumPasses, 1U << Dimension> best;
  for (unsigned int axes = 1; axes <= all; ++axes)
  {
    if ((axes & all) != axes)
    {
      continue;
    }
    ExtremumReach part;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      part.before[axis] = (axes >> axis & 1U) != 0 ? reach.before[axis] : 0;
      part.behind[axis] = (axes >> axis & 1U) != 0 ? reach.behind[axis] : 0;
    }
    passes[axes] = FindPass(part, outputExtent, pixelBytes, device);
    best[axes] = passes[axes];
    for (unsigned int first = (axes - 1) & axes; first > 0; first = (first - 1) & axes)
    {
      const auto & last = passes[axes & ~first];
      const auto   seconds = best[first].seconds + last.seconds;
      if (!best[first].shapes.empty() && !last.shapes.empty() &&
          (best[axes].shapes.empty() || seconds < best[axes].seconds))
      {
        best[axes].shapes = best[first].shapes;
        best[axes].shapes.insert(best[axes].shapes.end(), last.shapes.begin(), last.shapes.end());
        best[axes].seconds = seconds;
      }
    }
  }
  return best[all];
}

} // namespace cudamedian
