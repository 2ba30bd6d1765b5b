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
#include "StagedCopy.h"

#include "BoxRows.h"
#include "DivideUp.h"
#include "Gather.h"
#include "HostCopy.h"
#include "PixelFormat.h"
#include "RankMap.h"

#include <algorithm>
#include <cstring>

namespace cudamedian
{
namespace
{

/** Bytes of a piece: enough to be worth starting, and few enough that all threads are done at the same time. */
constexpr std::size_t pieceBytes = std::size_t{ 256 } << 10;

/** Calls function(position, offset) for each row of a piece of a box, where the box's pixels have these strides. */
template <typename TFunction>
void
ForEachRowOfPiece(const PixelBox &  box,
                  const Extent &    stride,
                  std::size_t       piece,
                  std::size_t       pieces,
                  const TFunction & function)
{
  const auto rows = static_cast<std::size_t>(box.extent[1] * box.extent[2] * box.extent[3]);
  for (auto row = rows * piece / pieces; row < rows * (piece + 1) / pieces; ++row)
  {
    const auto position = GetRowOfBox(box, static_cast<std::int64_t>(row));
    Extent     place;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      place[axis] = position[axis] - box.origin[axis];
    }
    function(position, GetOffset(place, stride));
  }
}

} // namespace

HostBox
LocateInput(const MedianRequest & request, const PixelBox & box)
{
  const auto stride = GetPackedStride(request.inputExtent);
  auto *     pixels = const_cast<char *>(static_cast<const char *>(request.input));
  return { pixels + GetOffset(box.origin, stride) * static_cast<std::int64_t>(PixelBytes(request.pixelType)), stride };
}

HostBox
LocateOutput(const MedianRequest & request, const Slab & slab)
{
  Extent position;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    position[axis] = slab.output.origin[axis] - request.outputOrigin[axis];
  }
  return { static_cast<char *>(request.output) +
             GetOffset(position, request.outputStride) * static_cast<std::int64_t>(request.outputPixelBytes),
           request.outputStride };
}

FreshInput
GetFreshInput(const Slab & slab, const Slab * slabBefore, std::size_t pixelBytes)
{
  FreshInput fresh{ slab.input, 0, 0 };
  if (slabBefore == nullptr)
  {
    return fresh;
  }
  const auto & before = slabBefore->input;
  int          axis = Dimension - 1;
  while (axis > 0 && before.extent[axis] == 1 && slab.input.extent[axis] == 1 &&
         before.origin[axis] == slab.input.origin[axis])
  {
    --axis;
  }
  for (int inner = 0; inner < axis; ++inner)
  {
    if (before.origin[inner] != slab.input.origin[inner] || before.extent[inner] != slab.input.extent[inner])
    {
      return fresh;
    }
  }
  const auto overlap =
    std::min(before.origin[axis] + before.extent[axis] - slab.input.origin[axis], slab.input.extent[axis]);
  if (axis > 0 && overlap > 0 && slab.input.origin[axis] >= before.origin[axis])
  {
    const auto stride = GetDeviceInputStride(slab, pixelBytes)[axis];
    fresh.box.origin[axis] += overlap;
    fresh.box.extent[axis] -= overlap;
    fresh.overlap = overlap * stride;
    fresh.overlapSource = (slab.input.origin[axis] - before.origin[axis]) * stride;
  }
  return fresh;
}

std::size_t
CountPieces(const Extent & extent, std::size_t pixelBytes)
{
  return DivideUp(static_cast<std::size_t>(Volume(extent)) * pixelBytes, pieceBytes);
}

void
CopyPieceIn(const MedianRequest & request,
            const Slab &          slab,
            const FreshInput &    fresh,
            void *                stagedInput,
            std::size_t           piece)
{
  const auto pixelBytes = PixelBytes(request.pixelType);
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  const auto box = LocateInput(request, fresh.box);
  const auto stride = GetDeviceInputStride(slab, pixelBytes);
  auto *     staged = static_cast<char *>(stagedInput) + fresh.overlap * bytes;
  if (!IsReadAsItIs(request))
  {
    const Gatherer gatherer(request);
    ForEachRowOfPiece(fresh.box,
                      stride,
                      piece,
                      CountPieces(fresh.box.extent, pixelBytes),
                      [&](const Extent & position, std::int64_t offset) {
                        gatherer.GatherRow(position, fresh.box.extent[0], staged + offset * bytes);
                      });
    return;
  }
  ForEachRowOfPart(fresh.box.extent,
                   stride,
                   box.stride,
                   piece,
                   CountPieces(fresh.box.extent, pixelBytes),
                   [&](std::int64_t target, std::int64_t source, std::size_t count) {
                     std::memcpy(staged + target * bytes, box.first + source * bytes, count * pixelBytes);
                   });
}

void
CopyRanksIn(const MedianRequest & request, const Slab & slab, void * stagedRanks, std::size_t piece)
{
  const auto pixelBytes = PixelBytes(request.pixelType);
  const auto rankBytes = static_cast<std::int64_t>(GetRankBytes(request));
  const auto lead = GetOutputLead(slab, pixelBytes);
  ForEachRowOfPiece(slab.output,
                    GetDeviceOutputStride(slab, pixelBytes),
                    piece,
                    CountPieces(slab.output.extent, sizeof(std::int32_t)),
                    [&](const Extent & position, std::int64_t offset) {
                      std::memcpy(static_cast<char *>(stagedRanks) + (lead + offset) * rankBytes,
                                  RankRow(request, position).GetFirst(),
                                  static_cast<std::size_t>(slab.output.extent[0] * rankBytes));
                    });
}

void
CopyPieceOut(const MedianRequest & request, const Slab & slab, const void * stagedOutput, std::size_t piece)
{
  const auto   pixelBytes = PixelBytes(request.pixelType);
  const auto   bytes = static_cast<std::int64_t>(pixelBytes);
  const auto   outputBytes = static_cast<std::int64_t>(request.outputPixelBytes);
  const auto   box = LocateOutput(request, slab);
  const auto   stride = GetDeviceOutputStride(slab, pixelBytes);
  const auto * staged = static_cast<const char *>(stagedOutput) + GetOutputLead(slab, pixelBytes) * bytes;
  if (!IsWrittenInRows(request))
  {
    const Gatherer    gatherer(request);
    std::vector<char> scratch;
    ForEachRowOfPiece(slab.output,
                      stride,
                      piece,
                      CountPieces(slab.output.extent, pixelBytes),
                      [&](const Extent & position, std::int64_t offset) {
                        gatherer.ScatterRow(position, slab.output.extent[0], staged + offset * bytes, scratch);
                      });
    return;
  }
  ForEachRowOfPart(slab.output.extent,
                   box.stride,
                   stride,
                   piece,
                   CountPieces(slab.output.extent, pixelBytes),
                   [&](std::int64_t target, std::int64_t source, std::size_t count) {
                     if (request.convertRow != nullptr)
                     {
                       request.convertRow(staged + source * bytes, box.first + target * outputBytes, count);
                     }
                     else
                     {
                       CopyPastCaches(box.first + target * outputBytes, staged + source * bytes, count * pixelBytes);
                     }
                   });
  FinishCopiesPastCaches();
}

} // namespace cudamedian
