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

#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "ExtremumOffers.h"
#include "ExtremumTuning.h"
#include "Remembered.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace cudamedian
{
namespace
{

/** How much of a length one of so many parts gets; they add up to it. */
std::int64_t
GetPart(std::int64_t whole, std::int64_t number, std::int64_t parts)
{
  return whole * (number + 1) / parts - whole * number / parts;
}

/** The fastest shape of a single pass, by the model. */
std::optional<ExtremumOffer>
FindFastest(const ExtremumReach & reach, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
{
  const auto offers = ListExtremumOffers(reach, outputExtent, pixelBytes, device);
  const auto fastest = std::min_element(
    offers.begin(), offers.end(), [](const auto & one, const auto & other) { return one.seconds < other.seconds; });
  return fastest == offers.end() ? std::nullopt : std::optional<ExtremumOffer>(*fastest);
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
  ExtremumPasses                                 passes;
  std::map<Extent, std::optional<ExtremumOffer>> found; // parts differ by a pixel on each side
  for (std::int64_t number = 0; number < parts; ++number)
  {
    ExtremumReach part;
    part.before[axis] = GetPart(reach.before[axis], number, parts);
    part.behind[axis] = GetPart(reach.behind[axis], number, parts);
    const auto place = found.try_emplace({ { part.before[axis], part.behind[axis], 0, 0 } });
    auto &     fastest = place.first->second;
    if (place.second)
    {
      fastest = FindFastest(part, outputExtent, pixelBytes, device);
    }
    if (!fastest)
    {
      return {};
    }
    passes.shapes.push_back(fastest->shape);
    passes.seconds += fastest->seconds;
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
  for (std::size_t axis = 0; axis < Dimension; ++axis)
  {
    axes += HasReach(reach, axis) ? 1 : 0;
    last = HasReach(reach, axis) ? axis : last;
  }
  if (axes == 1)
  {
    return FindParts(reach, last, outputExtent, pixelBytes, device);
  }
  ExtremumPasses passes;
  if (const auto fastest = FindFastest(reach, outputExtent, pixelBytes, device))
  {
    passes.shapes.push_back(fastest->shape);
    passes.seconds = fastest->seconds;
  }
  return passes;
}

/** Whether a row was measured with such a window and image. A march's length is that of large images; smaller ones have
 * other ones. */
bool
IsOf(const ExtremumTuningRow & row, const ExtremumShape & window, const Extent & outputExtent, int pixelBytes)
{
  bool isOf =
    row.pixelBytes == pixelBytes && 2 * Volume(outputExtent) >= Volume(row.image) &&
    (row.means != ExtremumMeans::Columns || outputExtent[1] * outputExtent[2] * outputExtent[3] <= mostColumnRows) &&
    (row.image[2] > 1) == (outputExtent[2] > 1) &&
    // A strip of wide lanes has 512 bytes of a row.
    (row.isWide == 0 || outputExtent[0] * pixelBytes >= 16 * extremumLanes);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    isOf = isOf && window.size[axis] == row.window[axis] && 2 * window.before[axis] + 1 == window.size[axis];
  }
  return isOf;
}

/** The shape of a row, where it fits the device. */
std::optional<ExtremumShape>
MakeShape(const ExtremumTuningRow & row, const ExtremumReach & reach, int pixelBytes, const DeviceTraits & device)
{
  auto shape = MakeExtremumShape(reach);
  shape.means = row.means;
  shape.isWide = row.isWide;
  shape.along = row.along;
  shape.across = row.across;
  shape.run = row.run;
  shape.band = row.band;
  shape.bands = row.bands;
  shape.warps = row.warps;
  const bool fits = FitExtremumShape(shape, pixelBytes, device);
  shape.warps = row.warps;
  return fits && shape.warps * shape.warpBytes <= device.blockSharedBytes ? std::optional<ExtremumShape>(shape)
                                                                          : std::nullopt;
}

/** The pass that was measured for a window on a device, or on one with as much shared memory of its architecture. */
ExtremumPasses
FindMeasuredPass(const std::vector<ExtremumTuningRow> & rows,
                 const ExtremumReach &                  reach,
                 const Extent &                         outputExtent,
                 int                                    pixelBytes,
                 const DeviceTraits &                   device)
{
  ExtremumPasses passes;
  bool           isOwn = false;
  const auto     window = MakeExtremumShape(reach);
  for (const auto & row : rows)
  {
    if (isOwn || !IsOf(row, window, outputExtent, pixelBytes))
    {
      continue;
    }
    isOwn = row.device == device.name;
    const auto * const profile = FindDeviceProfile(row.device);
    const bool isAlike = profile != nullptr && GetTraits(*profile).computeCapability == device.computeCapability &&
                         GetTraits(*profile).blockSharedBytes == device.blockSharedBytes;
    const auto shape = isOwn || isAlike ? MakeShape(row, reach, pixelBytes, device) : std::nullopt;
    if (shape && (isOwn || passes.shapes.empty()))
    {
      passes.shapes = { *shape };
      passes.seconds = static_cast<double>(Volume(outputExtent)) / row.rate * 1e-9;
      passes.isMeasured = true;
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

bool
KnowsTileWindow(const ExtremumShape & shape, int pixelBytes)
{
  const int window = shape.size[0];
  if (shape.means != ExtremumMeans::Tile || pixelBytes > 4 || 2 * shape.before[0] + 1 != window)
  {
    return false;
  }
  return shape.band > 0 || (shape.run == 4 ? IsIn(window, ShortTileWindows()) : IsIn(window, LongTileWindows()));
}

int
CountExtremumStrips(int vectors, int halo)
{
  return vectors <= extremumLanes ? 1 : 1 + DivideUp(vectors - extremumLanes, extremumLanes - halo);
}

ExtremumParts
CountExtremumParts(const ExtremumShape & shape, int outputs, int pixelBytes)
{
  const int     columns = GetLaneColumns(pixelBytes);
  const int     lanes = extremumLanes * shape.warps;
  ExtremumParts parts{};
  parts.halo[0] = DivideUp(shape.before[0], columns);
  parts.halo[1] = DivideUp(shape.size[0] - 1 - shape.before[0], columns);
  const int around = parts.halo[0] + parts.halo[1];
  if (lanes > around)
  {
    const int needed = DivideUp(outputs, columns);
    parts.parts = DivideUp(needed, lanes - around);
    parts.staged = DivideUp(needed, parts.parts) + around;
    parts.rows = lanes / parts.staged;
  }
  return parts;
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

const std::vector<ExtremumTuningRow> &
GetExtremumTuning()
{
  static const auto & rows = *new std::vector<ExtremumTuningRow>{
#include "ExtremumTuning.inc"
  };
  return rows;
}

ExtremumPasses
ChooseExtremumPasses(const ExtremumReach & reach,
                     const Extent &        outputExtent,
                     int                   pixelBytes,
                     const DeviceTraits &  device)
{
  using Key = std::tuple<Extent, Extent, Extent, int, DeviceTraits>;
  // Never destroyed: a thread may be at work when the process ends.
  static auto & known = *new Remembered<Key, ExtremumPasses>(256);
  return known.Get({ reach.before, reach.behind, outputExtent, pixelBytes, device },
                   [&] { return ChooseExtremumPasses(reach, outputExtent, pixelBytes, device, GetExtremumTuning()); });
}

ExtremumPasses
ChooseExtremumPasses(const ExtremumReach &                  reach,
                     const Extent &                         outputExtent,
                     int                                    pixelBytes,
                     const DeviceTraits &                   device,
                     const std::vector<ExtremumTuningRow> & rows)
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
    passes[axes] = FindMeasuredPass(rows, part, outputExtent, pixelBytes, device);
    if (passes[axes].shapes.empty())
    {
      passes[axes] = FindPass(part, outputExtent, pixelBytes, device);
    }
    best[axes] = passes[axes];
    for (unsigned int first = (axes - 1) & axes; first > 0; first = (first - 1) & axes)
    {
      const auto & last = passes[axes & ~first];
      if (best[first].shapes.empty() || last.shapes.empty())
      {
        continue;
      }
      auto both = best[first];
      both.shapes.insert(both.shapes.end(), last.shapes.begin(), last.shapes.end());
      both.seconds += last.seconds;
      both.isMeasured = both.isMeasured && last.isMeasured;
      // A pass that was measured for these axes is not given up for what the model says of others.
      const bool mayReplace = both.isMeasured || !best[axes].isMeasured;
      if (best[axes].shapes.empty() || (mayReplace && both.seconds < best[axes].seconds))
      {
        best[axes] = std::move(both);
      }
    }
  }
  return best[all];
}

} // namespace cudamedian
