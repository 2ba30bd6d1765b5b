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
#include "SlabCutter.h"

#include "MedianAlgorithm.h"
#include "OutermostAxis.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** What slabs are cut at multiples of: the outputs that are computed together, or a pixel. */
Extent
GetSlabTile(const Candidate & candidate)
{
  return candidate.tile[0] > 0 ? candidate.tile : Extent{ { 1, 1, 1, 1 } };
}

/** Device memory of the kernels beside that of slabs. */
std::size_t
GetKernelBytes(const Candidate & candidate)
{
  return candidate.programBytes + candidate.scratchBytes;
}

/** Kernels count positions along an axis with 32 bits, and the last blocks reach beyond the outputs. */
constexpr std::int64_t largestSlabExtent = std::int64_t{ 1 } << 30;
/** Of a slab's input, which has the halo besides. */
constexpr std::int64_t largestInputExtent = (std::int64_t{ 1 } << 31) - (std::int64_t{ 1 } << 16);

/** Pixels along an axis of the input of a slab with so many outputs, wherever it lies. */
std::int64_t
GetInputExtent(const MedianRequest & request, int axis, std::int64_t extent)
{
  const auto whole = GetHaloBefore(request, axis) + extent + GetHalo(request, axis);
  return HasCopiedBorder(request, axis) ? whole : std::min(whole, request.inputExtent[axis]);
}

/** Bytes of the buffers of a slab. */
struct SlabBytes
{
  std::size_t input;
  std::size_t output;
  std::size_t ranks; ///< of a map; 0 without one

  std::size_t
  GetDeviceBytes() const
  {
    return input + output + ranks;
  }

  std::size_t
  GetStagedBytes(const Staging & staging) const
  {
    return (staging.input ? input : 0) + (staging.output ? output : 0) + ranks;
  }
};

/** Those of a slab with the given output extent, wherever it lies; with `wholeHalo` also in another piece of a stream,
 * whose halo the image does not crop. */
SlabBytes
GetSlabBytes(const MedianRequest & request, const Extent & extent, bool wholeHalo = false)
{
  const auto  bytes = PixelBytes(request.pixelType);
  const int   streamed = wholeHalo ? FindOutermostAxis(request.inputExtent) : -1;
  std::size_t inputPixels = 1;
  std::size_t outputPixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto before = GetHaloBefore(request, axis);
    auto       input =
      axis == streamed ? before + extent[axis] + GetHalo(request, axis) : GetInputExtent(request, axis, extent[axis]);
    auto output = extent[axis];
    if (axis == 0)
    {
      // The output's rows are aligned at the same columns as the input's: less than a vector lies before them, and
      // nothing where the input has its whole halo.
      const auto vector = GetDevicePitch(1, bytes);
      const auto lead = HasCopiedBorder(request, 0)            ? 0
                        : extent[0] == request.outputExtent[0] ? std::min(request.outputOrigin[0], before) % vector
                                                               : vector - 1;
      input = GetDevicePitch(input, bytes);
      output = GetDevicePitch(output + lead, bytes);
    }
    inputPixels *= static_cast<std::size_t>(input);
    outputPixels *= static_cast<std::size_t>(output);
  }
  return { inputPixels * bytes, outputPixels * bytes, outputPixels * GetRankBytes(request) };
}

/** The largest slab within the budgets: full along the inner axes, cut along the outermost axes first; down to a tile
 * also below a number of pixels. */
Extent
ChooseSlabExtent(const MedianRequest & request, const Plan & plan, std::size_t budget, std::int64_t mostPixels)
{
  const auto tile = GetSlabTile(plan.candidate);
  const auto inFlight = static_cast<std::size_t>(plan.slabsInFlight);
  const auto needed = [&](const Extent & extent) {
    return inFlight * GetSlabBytes(request, extent).GetDeviceBytes() + GetKernelBytes(plan.candidate);
  };
  const auto staged = [&](const Extent & extent) {
    return inFlight * GetSlabBytes(request, extent).GetStagedBytes(plan.staging);
  };
  const auto fitting = [&](const Extent & extent) {
    return needed(extent) <= budget && staged(extent) <= plan.staging.budget && Volume(extent) <= mostPixels;
  };

  Extent extent;
  Extent largest;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    largest[axis] = std::min(request.outputExtent[axis], largestSlabExtent);
    if (GetInputExtent(request, axis, largest[axis]) > largestInputExtent)
    {
      const auto most = largestInputExtent - GetHaloBefore(request, axis) - GetHalo(request, axis);
      if (most < tile[axis])
      {
        throw RequestError("Along axis " + std::to_string(axis) + " the smallest slab of " +
                           std::to_string(tile[axis]) + " pixels has " +
                           std::to_string(GetInputExtent(request, axis, tile[axis])) + " with the radius of " +
                           std::to_string(request.radius[axis]) + " around it; CUDA kernels count up to " +
                           std::to_string(largestInputExtent));
      }
      largest[axis] = std::min(largest[axis], most / tile[axis] * tile[axis]);
    }
    extent[axis] = largest[axis];
  }
  for (int axis = Dimension - 1; axis >= 0 && !fitting(extent); --axis)
  {
    std::int64_t fits = 0;
    std::int64_t tooMany = DivideUp(extent[axis], tile[axis]);
    while (tooMany - fits > 1)
    {
      const auto middle = fits + (tooMany - fits) / 2;
      extent[axis] = middle * tile[axis];
      (fitting(extent) ? fits : tooMany) = middle;
    }
    extent[axis] = std::min(largest[axis], std::max<std::int64_t>(fits, 1) * tile[axis]);
  }
  if (needed(extent) > budget)
  {
    throw RequestError("A device memory budget of " + std::to_string(budget) +
                       " bytes cannot hold the smallest slab, which needs " + std::to_string(needed(extent)) +
                       " bytes");
  }
  if (staged(extent) > plan.staging.budget)
  {
    throw RequestError("A host memory budget of " + std::to_string(plan.staging.budget) +
                       " bytes for each device cannot hold the smallest slab on its way, which needs " +
                       std::to_string(staged(extent)) + " bytes of pinned memory");
  }
  return extent;
}

/** Images of this many bytes, in and out, go through in several slabs, some on their way while others are filtered. */
constexpr std::size_t smallestOverlapped = std::size_t{ 32 } << 20;
/** The input of such a slab on one device, without its halo: small against an image and, four times in pinned memory,
 * against the host's caches; large against what it costs to start a transfer and a kernel. 1 GiB in ordinary memory,
 * 3x3, took 60, 29, 24.5 and 26.5 ms with slabs of 2, 4, 8 and 16 MiB. */
constexpr std::size_t overlappedSlab = std::size_t{ 8 } << 20;
/** The inputs of the slabs of several devices together: with the caches in mind again, which all of their rings share.
 * Four devices took 21.3 ms for that with slabs of 8 MiB and 19.0 with 4. */
constexpr std::size_t overlappedSlabsTogether = 2 * overlappedSlab;
/** The slab of one device where kernels, not transfers, take most of the time: their blocks are few and long, and at
 * the end of a small slab most multiprocessors would wait for the last of them. */
constexpr std::size_t overlappedLongSlab = std::size_t{ 16 } << 20;
constexpr int         overlappedSlabs = 4;
/** Several devices have this many slabs each, so that one that is slower holds the others up little, unless their
 * inputs would be smaller than so many bytes. */
constexpr std::size_t slabsPerDevice = 8;
constexpr std::size_t smallestDealt = std::size_t{ 4 } << 20;

/** Bytes of input that slabs have when they are on their way at the same time. */
std::size_t
GetOverlappedSlab(const MedianRequest & request, const Plan & plan, std::size_t inputBytes)
{
  const auto devices = std::max<std::size_t>(1, request.devices.size());
  const auto slab =
    !plan.candidate.hasLongBlocks ? std::min(overlappedSlab, overlappedSlabsTogether / devices) : overlappedLongSlab;
  return devices > 1 ? std::max(smallestDealt, std::min(slab, inputBytes / (slabsPerDevice * devices))) : slab;
}

/** The slabs' extent, and how many are in flight. */
Extent
ChooseSlabs(const MedianRequest & request, std::size_t budget, Plan & plan)
{
  const auto mostPixels = plan.candidate.mostPixels;
  const auto whole = GetSlabBytes(request, request.outputExtent, true);
  if (whole.input + whole.output > smallestOverlapped)
  {
    // A halo passes from slab to slab on the device. Slabs of long kernels are at least twice as long as what they
    // share.
    const int cut = FindOutermostAxis(request.outputExtent);
    Extent    slice = request.outputExtent;
    for (int axis = cut; axis < Dimension; ++axis)
    {
      slice[axis] = 1;
    }
    const auto layer = static_cast<std::size_t>(Volume(slice)) * PixelBytes(request.pixelType);
    const auto halo = static_cast<std::size_t>(GetHalo(request, cut));
    const auto fresh = GetOverlappedSlab(request, plan, whole.input);
    const auto shared = halo * layer;
    const auto outputs = !plan.candidate.hasLongBlocks ? fresh : std::max(fresh, 3 * shared);
    const auto ranks = outputs / PixelBytes(request.pixelType) * GetRankBytes(request);
    const auto staged = ((plan.staging.input ? 1 : 0) + (plan.staging.output ? 1 : 0)) * (shared + outputs) + ranks;
    for (const int inFlight : { overlappedSlabs, 3, 2 })
    {
      plan.slabsInFlight = inFlight;
      const auto buffers = static_cast<std::size_t>(inFlight) * (2 * (shared + outputs) + ranks);
      const bool isStaged = static_cast<std::size_t>(inFlight) * staged <= plan.staging.budget;
      for (const auto limit : { std::min(budget, buffers + GetKernelBytes(plan.candidate)), budget })
      {
        try
        {
          const auto extent = ChooseSlabExtent(request, plan, limit, mostPixels);
          // Rather fewer slabs on their way than slabs that are small against the halo, which they all stage.
          if (isStaged || inFlight == 2 || GetSlabBytes(request, extent).output >= outputs / 2)
          {
            return extent;
          }
          break;
        }
        catch (const RequestError &)
        {
          // Not even a tile: with the whole budget, or without slabs beside it.
        }
      }
      if (isStaged)
      {
        break;
      }
    }
    plan.slabsInFlight = 1;
  }
  return ChooseSlabExtent(request, plan, budget, mostPixels);
}

void
CutIntoSlabs(const MedianRequest & request, const Extent & extent, Plan & plan)
{
  ForEachBox(request.outputExtent, extent, [&](const PixelBox & box) {
    Slab slab;
    slab.output = box;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      slab.output.origin[axis] += request.outputOrigin[axis];
    }
    slab.input = GetInputBox(request, slab.output);
    slab.shift = request.shift;
    plan.slabs.push_back(slab);
  });
}

} // namespace

void
CutIntoDeviceSlabs(const MedianRequest & request, Plan & plan)
{
  const auto budget = plan.deviceMemoryBudget;
  const auto slabExtent = ChooseSlabs(request, budget, plan);
  // A stream's first piece lies at the image's edge: where there is room, its buffers are those of the next as well.
  for (const bool wholeHalo : { true, false })
  {
    const auto bytes = GetSlabBytes(request, slabExtent, wholeHalo);
    plan.deviceInputBytes = bytes.input;
    plan.deviceOutputBytes = bytes.output;
    plan.deviceRankBytes = bytes.ranks;
    if (plan.GetDeviceBytes() <= budget && plan.GetStagedBytes() <= plan.staging.budget)
    {
      break;
    }
  }
  plan.slabReason = slabExtent == request.outputExtent ? "the whole request fits in the budget"
                    : plan.slabsInFlight > 1
                      ? "slabs of " + Join(slabExtent) + " pixels, " + std::to_string(plan.slabsInFlight) +
                          " of them on their way at the same time"
                      : "slabs of " + Join(slabExtent) + " pixels are the largest that fit in the budget";
  CutIntoSlabs(request, slabExtent, plan);
}

void
CutIntoHostSlabs(const MedianRequest & request, Plan & plan)
{
  plan.slabReason = "the CPU backend works in the image's own memory";
  CutIntoSlabs(request, request.outputExtent, plan);
}

} // namespace cudamedian
