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

#include <optional>

namespace cudamedian
{
namespace
{

/** Pixels that a word of shared memory holds. */
int
CountWordPixels(int pixelBytes)
{
  return pixelBytes < 4 ? 4 / pixelBytes : 1;
}

/** Words of rows in shared memory that begin in different banks. */
std::int32_t
MakeOdd(std::int64_t words)
{
  return static_cast<std::int32_t>(words | 1);
}

/** The block for a window, or nothing where it takes more shared memory than there is. */
std::optional<ExtremumShape>
MakeShape(const ExtremumReach & reach, const Extent & block, int pixelBytes, std::int64_t mostBytes)
{
  const int     wordPixels = CountWordPixels(pixelBytes);
  ExtremumShape shape{};
  std::int64_t  rows = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto size = reach.before[axis] + 1 + reach.behind[axis];
    // Words begin at multiples of their size, which the window need not; one more is read behind each.
    const auto more = axis > 0 || wordPixels == 1 ? size - 1
                      : size > 1                  ? DivideUp(size + wordPixels - 2, wordPixels) + 2
                                                  : 0;
    const auto footprint = block[axis] + more;
    if (footprint > mostBytes)
    {
      return std::nullopt;
    }
    shape.before[axis] = static_cast<std::int32_t>(reach.before[axis]);
    shape.size[axis] = static_cast<std::int32_t>(size);
    shape.block[axis] = static_cast<std::int32_t>(block[axis]);
    shape.footprint[axis] = static_cast<std::int32_t>(footprint);
    rows *= axis > 0 ? footprint : 1;
    if (rows > mostBytes)
    {
      return std::nullopt;
    }
  }
  for (int step = 1; step < block[0]; step *= 2)
  {
    ++shape.blockBits;
  }
  shape.pitch[0] = MakeOdd(shape.footprint[0]);
  shape.pitch[1] = shape.size[0] > 1 ? MakeOdd(shape.block[0]) : shape.pitch[0];
  // The second buffer takes the extremes along the first axis, unless these are stored at once.
  int others = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    others += shape.size[axis] > 1 ? 1 : 0;
  }
  const auto secondRows = shape.size[0] > 1 || others > 1 ? rows : 0;
  const auto words = std::int64_t{ shape.pitch[0] } * rows;
  const auto bytes = (words + shape.pitch[1] * secondRows) * std::max(4, pixelBytes);
  if (bytes > mostBytes)
  {
    return std::nullopt;
  }
  shape.second = static_cast<std::int32_t>(words);
  shape.sharedBytes = static_cast<std::int32_t>(bytes);
  return shape;
}

/** Instructions for a word of extremes along an axis, staging and storing left out. Counted in the source: a run of n
 * words reads w + n - 1, and along axis 0 each takes shifts of three neighbouring words. */
double
CountInstructions(const ExtremumShape & shape, int axis, int pixelBytes)
{
  const int    wordPixels = CountWordPixels(pixelBytes);
  const int    length = axis == 0 ? std::max(1, shape.size[0] / wordPixels) : shape.size[axis];
  const int    longest = pixelBytes == 1 || pixelBytes == 8 ? 8 : length >= 64 ? 32 : 16;
  const int    run = std::min({ longest, length, shape.block[axis] });
  const double reads = static_cast<double>(length + run - 1) / run;
  const double both = pixelBytes == 1 ? 2 : 1; // registers that a word is compared in
  if (axis > 0 || wordPixels == 1)
  {
    return reads * (1 + both) + 2 * both + 3;
  }
  const double rest = shape.size[0] % wordPixels != 0 ? 1 : 0;
  return (reads + rest) * (3 + (1 + both) * wordPixels) + 3 * both + 3;
}

/** How many copies of the image a block's work takes as long as.
 *
 * A copy is a read and a write of device memory. Halos come from the second-level cache, taken to be twice as fast. In
 * the time that an H200 copies a word it can execute some 56 instructions for it, twice as many for one of 64 bits;
 * three quarters of them are taken to be within reach. These are reasoned. */
double
EstimateCopies(const ExtremumShape & shape, int pixelBytes, const DeviceTraits & device)
{
  const auto sector = 32 / std::max(4, pixelBytes);
  double     staged = static_cast<double>(RoundUp(shape.footprint[0], sector)) / shape.block[0];
  for (int axis = 1; axis < Dimension; ++axis)
  {
    staged *= static_cast<double>(shape.footprint[axis]) / shape.block[axis];
  }
  double instructions = 10 * staged + 10;
  double rows = 1; // with those of the halo along later axes
  for (int axis = Dimension - 1; axis >= 0; --axis)
  {
    instructions += shape.size[axis] > 1 ? rows * CountInstructions(shape, axis, pixelBytes) : 0;
    rows *= static_cast<double>(shape.footprint[axis]) / shape.block[axis];
  }
  const double memory = 0.5 + 0.25 * (1 + staged);
  const double compute = instructions / (0.75 * (pixelBytes == 8 ? 112 : 56));
  const int    blocks = std::min(extremumBlocks, device.CountBlocks(shape.sharedBytes, extremumThreads));
  const double latency = blocks >= 4 ? 1 : blocks >= 2 ? 1.2 : 2;
  return std::max(memory, compute) * latency;
}

/** The fastest block for a window by the model. */
std::optional<ExtremumShape>
FindShape(const ExtremumReach & reach,
          const Extent &        outputExtent,
          int                   pixelBytes,
          const DeviceTraits &  device,
          double &              copies)
{
  std::optional<ExtremumShape> best;
  // Along axes that the window has no reach along, blocks would be no better for being longer, but for rows.
  const auto fits = [&](int axis, std::int64_t length) {
    const auto pixels = axis == 0 ? length * CountWordPixels(pixelBytes) : length;
    return length == 1 ||
           (pixels < 2 * outputExtent[axis] && (axis < 2 || reach.before[axis] + reach.behind[axis] > 0));
  };
  Extent block{};
  for (block[0] = 1; block[0] <= 512 && fits(0, block[0]); block[0] *= 2)
    for (block[1] = 1; block[1] <= 128 && fits(1, block[1]); block[1] *= 2)
      for (block[2] = 1; block[2] <= 32 && fits(2, block[2]); block[2] *= 2)
        for (block[3] = 1; block[3] <= 32 && fits(3, block[3]); block[3] *= 2)
        {
          const auto shape = MakeShape(reach, block, pixelBytes, device.blockSharedBytes);
          if (!shape)
          {
            continue;
          }
          // Blocks of few words leave threads without work.
          const double words = static_cast<double>(Volume(block));
          const double found = EstimateCopies(*shape, pixelBytes, device) * (1 + 512 / words);
          if (!best || found < copies)
          {
            best = shape;
            copies = found;
          }
        }
  return best;
}

/** How much of a length one of so many parts gets; they add up to it. */
std::int64_t
GetPart(std::int64_t whole, std::int64_t number, std::int64_t parts)
{
  return whole * (number + 1) / parts - whole * number / parts;
}

/** Appends the passes of the axes from one up to another, in so many parts. \returns false where one does not fit. */
bool
AppendParts(ExtremumPasses &      passes,
            const ExtremumReach & reach,
            int                   firstAxis,
            int                   endAxis,
            std::int64_t          parts,
            const Extent &        outputExtent,
            int                   pixelBytes,
            const DeviceTraits &  device)
{
  std::optional<ExtremumShape> shape;
  ExtremumReach                last;
  double                       copies = 0;
  for (std::int64_t number = 0; number < parts; ++number)
  {
    ExtremumReach part;
    bool          isEmpty = true;
    for (int axis = firstAxis; axis < endAxis; ++axis)
    {
      part.before[axis] = GetPart(reach.before[axis], number, parts);
      part.behind[axis] = GetPart(reach.behind[axis], number, parts);
      isEmpty = isEmpty && part.before[axis] + part.behind[axis] == 0;
    }
    if (isEmpty)
    {
      continue;
    }
    // Most parts are as long as the one before.
    if (!shape || part.before != last.before || part.behind != last.behind)
    {
      shape = FindShape(part, outputExtent, pixelBytes, device, copies);
      last = part;
    }
    if (!shape)
    {
      return false;
    }
    passes.shapes.push_back(*shape);
    passes.copies += copies;
  }
  return true;
}

/** The passes of the axes from one up to another, each with all of them. */
ExtremumPasses
ListGroup(const ExtremumReach & reach,
          int                   firstAxis,
          int                   endAxis,
          const Extent &        outputExtent,
          int                   pixelBytes,
          const DeviceTraits &  device)
{
  std::int64_t longest = 1;
  for (int axis = firstAxis; axis < endAxis; ++axis)
  {
    longest = std::max({ longest, reach.before[axis], reach.behind[axis] });
  }
  ExtremumPasses best;
  for (std::int64_t parts = 1; parts < 2 * longest; parts = parts < 4 ? parts + 1 : parts * 3 / 2)
  {
    ExtremumPasses passes;
    if (AppendParts(passes, reach, firstAxis, endAxis, parts, outputExtent, pixelBytes, device))
    {
      if (!best.shapes.empty() && passes.copies >= best.copies)
      {
        return best;
      }
      best = passes;
    }
  }
  return best;
}

} // namespace

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
  ExtremumPasses best;
  const auto     hasReach = [&](int axis) { return reach.before[axis] + reach.behind[axis] > 0; };
  unsigned int   without = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    without |= hasReach(axis) ? 0U : 1U << (axis - 1);
  }
  // A bit for each axis but the first: whether a pass ends before it.
  for (unsigned int cuts = 0; cuts < 1U << (Dimension - 1); ++cuts)
  {
    if ((cuts & without) != 0)
    {
      continue;
    }
    ExtremumPasses passes;
    bool           isComplete = true;
    for (int axis = 0, first = 0; axis < Dimension; ++axis)
    {
      if (axis + 1 < Dimension && (cuts >> axis & 1U) == 0)
      {
        continue;
      }
      bool isNeeded = false;
      for (int i = first; i <= axis; ++i)
      {
        isNeeded = isNeeded || hasReach(i);
      }
      if (isNeeded)
      {
        const auto group = ListGroup(reach, first, axis + 1, outputExtent, pixelBytes, device);
        isComplete = isComplete && !group.shapes.empty();
        passes.shapes.insert(passes.shapes.end(), group.shapes.begin(), group.shapes.end());
        passes.copies += group.copies;
      }
      first = axis + 1;
    }
    if (isComplete && (best.shapes.empty() || passes.copies < best.copies))
    {
      best = passes;
    }
  }
  // A window that lies in one pixel of the image: its extreme is the pixel.
  if (best.shapes.empty())
  {
    if (const auto shape = FindShape(reach, outputExtent, pixelBytes, device, best.copies))
    {
      best.shapes.push_back(*shape);
    }
  }
  return best;
}

} // namespace cudamedian
