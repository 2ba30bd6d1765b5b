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
#ifndef SelectedPixel_h
#define SelectedPixel_h

#include "Clamp.h"
#include "KernelArguments.h"
#include "PixelKey.h"
#include "RankSelection.h"

namespace cudamedian
{

/** One thread of the kernel that selects each wanted value on its own: one output pixel, any window.
 * \tparam VHasMap whether each output has a rank of its own. */
template <typename TPixelBits, KeyMapping VMapping, bool VHasMap>
CUDAMEDIAN_HOST_DEVICE void
RunSelectedPixel(const KernelArguments & arguments, const std::int64_t * pixel)
{
  using Key = PixelKey<TPixelBits, VMapping>;
  const auto   signMask = static_cast<TPixelBits>(arguments.signMask);
  const auto * input = static_cast<const TPixelBits *>(arguments.input);
  std::int64_t center[Dimension];
  std::int64_t radius[Dimension];
  std::int64_t shorter[Dimension];
  std::int64_t extent[Dimension];
  std::int64_t offset = arguments.outputOrigin[0] - arguments.gridOrigin;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    center[axis] = pixel[axis] + arguments.outputOrigin[axis];
    radius[axis] = arguments.radius[axis];
    shorter[axis] = arguments.shorter[axis];
    extent[axis] = arguments.inputExtent[axis];
    offset += pixel[axis] * arguments.outputPitch[axis];
  }
  const auto           rank = GetWantedRank<VHasMap>(arguments, offset);
  const std::int64_t * pitch = arguments.inputPitch;
  const auto           getKey = [=](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t w) {
    return Key::FromBits(input[w * pitch[3] + z * pitch[2] + y * pitch[1] + x], signMask);
  };
  if (arguments.footprint != nullptr)
  {
    const auto * members = arguments.footprint;
    const auto   getMember = [&](std::int32_t i) {
      std::int64_t place[Dimension];
      for (int axis = 0; axis < Dimension; ++axis)
      {
        place[axis] = Clamp<std::int64_t>(center[axis] + members[i].offset[axis], extent[axis] - 1);
      }
      return getKey(place[0], place[1], place[2], place[3]);
    };
    const auto key = SelectOfListed<TPixelBits>(
      arguments.footprintPixels, rank, getMember, [&](std::int32_t i) { return members[i].weight; });
    static_cast<TPixelBits *>(arguments.output)[offset] = Key::ToBits(key, signMask);
    return;
  }
  const ClampedWindow window(center, radius, shorter, extent);
  const auto          key = SelectByCounting<TPixelBits>(window, rank, getKey);
  static_cast<TPixelBits *>(arguments.output)[offset] = Key::ToBits(key, signMask);
}

} // namespace cudamedian

#endif
