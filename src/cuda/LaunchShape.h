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
#ifndef LaunchShape_h
#define LaunchShape_h

#include "DivideUp.h"
#include "PixelKey.h"

namespace cudamedian
{

/** What CUDA allows of blocks along the second and third axis of a grid. */
constexpr std::int64_t largestGrid = 65535;

/** The threads of a block along axes 0 and 1, and the blocks of a launch along all four. Blocks have linear numbers. */
struct LaunchShape
{
  std::int32_t blockSize[2];
  std::int64_t tiles[Dimension];
  std::int64_t blocks[Dimension];

  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetNumberOfBlocks() const
  {
    return blocks[0] * blocks[1] * blocks[2] * blocks[3];
  }

  /** The number of blocks as CUDA takes it, or 0 where there are more than a grid holds. */
  unsigned int
  GetGrid() const
  {
    return GetNumberOfBlocks() > 0x7FFFFFFF ? 0U : static_cast<unsigned int>(GetNumberOfBlocks());
  }

  /** The tile of a thread. \returns false for a thread beyond the last tile. */
  CUDAMEDIAN_HOST_DEVICE bool
  GetTile(std::int64_t block, int threadX, int threadY, std::int64_t * tile) const
  {
    tile[0] = block % blocks[0] * blockSize[0] + threadX;
    block /= blocks[0];
    tile[1] = block % blocks[1] * blockSize[1] + threadY;
    block /= blocks[1];
    tile[2] = block % blocks[2];
    tile[3] = block / blocks[2];
    return tile[0] < tiles[0] && tile[1] < tiles[1];
  }
};

/** The launch that covers an output box with tiles. A thread has `pixelsPerRegister` tiles, side by side. */
template <typename TInteger>
LaunchShape
GetLaunchShape(const std::int32_t * outputExtent, const TInteger * tile, int pixelsPerRegister, int sizeX, int sizeY)
{
  LaunchShape shape;
  shape.blockSize[0] = sizeX;
  shape.blockSize[1] = sizeY;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const std::int64_t step = tile[axis] * (axis == 0 ? pixelsPerRegister : 1);
    const std::int64_t size = axis == 0 ? sizeX : axis == 1 ? sizeY : 1;
    shape.tiles[axis] = DivideUp(outputExtent[axis], step);
    shape.blocks[axis] = DivideUp(shape.tiles[axis], size);
  }
  return shape;
}

} // namespace cudamedian

#endif
