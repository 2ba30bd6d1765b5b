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
#include "Slab.h"

namespace cudamedian
{
namespace
{

/** Strides of a box whose rows have the given number of pixels. */
Extent
GetPitchedStride(const Extent & extent, std::int64_t pitch)
{
  return { { 1, pitch, pitch * extent[1], pitch * extent[1] * extent[2] } };
}

} // namespace

std::int64_t
GetDevicePitch(std::int64_t pixels, std::size_t pixelBytes)
{
  return RoundUp(pixels, deviceAlignment / static_cast<std::int64_t>(pixelBytes));
}

Extent
GetDeviceInputStride(const Slab & slab, std::size_t pixelBytes)
{
  return GetPitchedStride(slab.input.extent, GetDevicePitch(slab.input.extent[0], pixelBytes));
}

Extent
GetDeviceOutputStride(const Slab & slab, std::size_t pixelBytes)
{
  return GetPitchedStride(slab.output.extent,
                          GetDevicePitch(slab.output.extent[0] + GetOutputLead(slab, pixelBytes), pixelBytes));
}

std::int64_t
GetOutputLead(const Slab & slab, std::size_t pixelBytes)
{
  return slab.GetPlace(0) % GetDevicePitch(1, pixelBytes);
}

std::int64_t
GetHaloBefore(const MedianRequest & request, int axis)
{
  const auto halo = GetHalo(request, axis);
  return axis == 0 ? GetDevicePitch(halo, PixelBytes(request.pixelType)) : halo;
}

PixelBox
GetInputBox(const MedianRequest & request, const PixelBox & output)
{
  PixelBox input;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto place = output.origin[axis] + request.shift[axis];
    auto       first = place - GetHaloBefore(request, axis);
    auto       last = place + output.extent[axis] + GetHalo(request, axis);
    if (!HasCopiedBorder(request, axis))
    {
      first = std::max<std::int64_t>(first, 0);
      last = std::min(last, request.inputExtent[axis]);
    }
    input.origin[axis] = first;
    input.extent[axis] = last - first;
  }
  return input;
}

std::vector<PixelBox>
CutIntoLaunches(const PixelBox & box, std::int64_t mostPixels)
{
  Extent       piece;
  std::int64_t pixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    piece[axis] = std::min(box.extent[axis], std::max<std::int64_t>(mostPixels / pixels, 1));
    pixels *= std::max<std::int64_t>(piece[axis], 1);
  }
  std::vector<PixelBox> pieces;
  ForEachBox(box.extent, piece, [&](const PixelBox & part) {
    pieces.push_back(part);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      pieces.back().origin[axis] += box.origin[axis];
    }
  });
  return pieces;
}

} // namespace cudamedian
