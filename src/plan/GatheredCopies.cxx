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
#include "GatheredCopies.h"

#include "DivideUp.h"
#include "Gather.h"
#include "RequestWindow.h"
#include "ValidPixels.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cudamedian
{
namespace
{

/** Bytes of a copy: the CPU's stay in its caches, the others keep a GPU busy. */
constexpr std::int64_t cpuCopyBytes = std::int64_t{ 1 } << 20;
constexpr std::int64_t cudaCopyBytes = std::int64_t{ 128 } << 20;
/** The same where pixels may not be valid: each has some bytes more. */
constexpr std::int64_t maskedCpuCopyBytes = std::int64_t{ 256 } << 10;
constexpr std::int64_t maskedCudaCopyBytes = std::int64_t{ 2 } << 20;

/** The least that is worth planning, or a transfer, where that makes a copy for each thread. */
constexpr std::int64_t leastMaskedCpuCopyBytes = std::int64_t{ 32 } << 10;
constexpr std::int64_t leastMaskedCudaCopyBytes = std::int64_t{ 256 } << 10;

/** Rows shorter than this are exchanged with another axis, where that is longer. */
constexpr std::int64_t shortRow = 64;

/** Exchanges two axes of a request. */
MedianRequest
ExchangeAxes(const MedianRequest & given, int one, int other)
{
  auto request = given;
  request.inputStride = GetInputStride(given);
  for (auto * extent : { &request.inputExtent,
                         &request.inputStride,
                         &request.radius,
                         &request.shorter,
                         &request.shift,
                         &request.outputOrigin,
                         &request.outputExtent,
                         &request.outputStride })
  {
    std::swap((*extent)[one], (*extent)[other]);
  }
  std::swap(request.border[one], request.border[other]);
  return request;
}

/** What lies around a box of outputs once the interior is taken out of it: two boxes along each axis, or fewer. */
std::vector<PixelBox>
PeelBox(PixelBox whole, const PixelBox & interior)
{
  std::vector<PixelBox> bands;
  for (int axis = Dimension - 1; axis >= 0; --axis)
  {
    const auto first = interior.origin[axis];
    const auto last = first + interior.extent[axis];
    PixelBox   band = whole;
    band.extent[axis] = first - whole.origin[axis];
    if (Volume(band.extent) > 0)
    {
      bands.push_back(band);
    }
    band.origin[axis] = last;
    band.extent[axis] = whole.origin[axis] + whole.extent[axis] - last;
    if (Volume(band.extent) > 0)
    {
      bands.push_back(band);
    }
    whole.origin[axis] = first;
    whole.extent[axis] = interior.extent[axis];
  }
  return bands;
}

/** A part of the outputs, in copies that are small enough. */
std::vector<GatheredCopy>
CutPart(const MedianRequest & request, const PixelBox & box)
{
  const auto pixelBytes = static_cast<std::int64_t>(PixelBytes(request.pixelType));
  const bool isOnCpu = request.backend == Backend::Cpu;
  const bool hasRules = HasRules(request);
  const auto all = Volume(box.extent) * pixelBytes;
  const auto units = std::max(1U, isOnCpu ? request.workUnits : std::min(request.workUnits, mostPreparingThreads));
  const auto share = all / units;
  const auto masked = isOnCpu ? std::clamp(share, leastMaskedCpuCopyBytes, maskedCpuCopyBytes)
                              : std::clamp(share, leastMaskedCudaCopyBytes, maskedCudaCopyBytes);
  const auto most = hasRules ? masked : isOnCpu ? cpuCopyBytes : cudaCopyBytes;
  std::vector<GatheredCopy> copies;
  for (const auto & outputs : CutIntoBoxes(request, box, most / pixelBytes))
  {
    copies.push_back({ request, outputs });
  }
  return copies;
}

/** A band of the rim. */
std::vector<GatheredCopy>
CutBand(const MedianRequest & request, const PixelBox & band)
{
  int longest = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const bool isAlike = request.footprint == nullptr && request.radius[axis] == request.radius[0] &&
                         request.shorter[axis] == request.shorter[0];
    longest = isAlike && band.extent[axis] > band.extent[longest] ? axis : longest;
  }
  if (band.extent[0] >= shortRow || longest == 0)
  {
    return CutIntoCopies(request, band);
  }
  auto box = band;
  std::swap(box.origin[0], box.origin[longest]);
  std::swap(box.extent[0], box.extent[longest]);
  return CutIntoCopies(ExchangeAxes(request, 0, longest), box);
}

/** Where outputs along an axis are cut: near the middle, with at least so many behind, and where blocks of kernels end.
 * Of 6720 columns halves of 3360 take 28 blocks of 256, and 3584 with the rest 27, as many as all together. */
std::int64_t
GetCut(int axis, std::int64_t extent, std::int64_t least)
{
  const auto middle = DivideUp(extent, std::int64_t{ 2 });
  for (std::int64_t unit = axis == 0 ? 512 : 64; unit > 1; unit /= 2)
  {
    const auto cut = RoundUp(middle, unit);
    if (extent - cut >= least)
    {
      return cut;
    }
  }
  return middle;
}

} // namespace

MedianRequest
TakeOutputs(const MedianRequest & given, const PixelBox & box)
{
  auto   request = given;
  Extent place;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place[axis] = box.origin[axis] - given.outputOrigin[axis];
  }
  request.output = static_cast<char *>(given.output) +
                   GetOffset(place, given.outputStride) * static_cast<std::int64_t>(given.outputPixelBytes);
  request.outputOrigin = box.origin;
  request.outputExtent = box.extent;
  return request;
}

std::vector<PixelBox>
CutBetweenEnds(const MedianRequest & request, const PixelBox & box)
{
  const auto part = TakeOutputs(request, box);
  const bool isOdd = GetWindow(request).CountPixels() % 2 != 0;
  Extent     half = box.extent;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto size = 2 * request.radius[axis] + 1;
    if (isOdd && IsClippedAtBothEnds(part, axis) && box.extent[axis] >= 2 * size)
    {
      half[axis] = GetCut(axis, box.extent[axis], size);
    }
  }
  std::vector<PixelBox> parts;
  ForEachBox(box.extent, half, [&](PixelBox cut) {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      cut.origin[axis] += box.origin[axis];
    }
    parts.push_back(cut);
  });
  return parts;
}

std::vector<PixelBox>
CutIntoBoxes(const MedianRequest & request, const PixelBox & box, std::int64_t mostPixels)
{
  const auto stride = GetInputStride(request);
  Extent     extent = box.extent;
  const auto copied = [&](const Extent & outputs) {
    return Volume(GetInputBox(request, { box.origin, outputs }).extent);
  };
  while (copied(extent) > mostPixels)
  {
    // Along the axis whose pixels lie farthest apart: components stay together. Boxes stay larger than their halo.
    int cut = -1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const bool isWide = extent[axis] > std::max<std::int64_t>(4 * request.radius[axis], axis == 0 ? 1024 : 1);
      if (isWide && (cut < 0 || std::abs(stride[axis]) > std::abs(stride[cut])))
      {
        cut = axis;
      }
    }
    if (cut < 0)
    {
      break;
    }
    extent[cut] = DivideUp(extent[cut], 2);
  }
  std::vector<PixelBox> boxes;
  ForEachBox(box.extent, extent, [&](PixelBox part) {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      part.origin[axis] += box.origin[axis];
    }
    boxes.push_back(part);
  });
  return boxes;
}

std::vector<GatheredCopy>
CutIntoCopies(const MedianRequest & request, const PixelBox & box)
{
  std::vector<GatheredCopy> copies;
  for (const auto & part : CutBetweenEnds(request, box))
  {
    const auto more = CutPart(request, part);
    copies.insert(copies.end(), more.begin(), more.end());
  }
  return copies;
}

std::vector<GatheredCopy>
CutRimIntoCopies(const MedianRequest & request, const PixelBox & whole, const PixelBox & interior)
{
  std::vector<GatheredCopy> copies;
  for (const auto & band : PeelBox(whole, interior))
  {
    const auto more = CutBand(request, band);
    copies.insert(copies.end(), more.begin(), more.end());
  }
  return copies;
}

} // namespace cudamedian
