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
#ifndef HostBlockShape_h
#define HostBlockShape_h

#include "DivideUp.h"
#include "Window.h"

#include <algorithm>
#include <cstdint>
#include <limits>

/** How the CPU backend cuts outputs into blocks whose pixels are sorted at once. */
namespace cudamedian
{

/** A block of outputs, and the region that their windows reach. */
struct HostBlockShape
{
  int axes[Dimension]; ///< image axis of each axis: windows slide along 0, the image's; 1 is the window's longest
  std::int64_t window[Dimension]; ///< pixels of the window along the axes
  std::int64_t tile[Dimension];   ///< outputs along the axes

  /** Pixels that windows of a block reach along an axis. */
  std::int64_t
  GetRegion(int axis) const
  {
    return tile[axis] + window[axis] - 1;
  }

  /** Pixels that are sorted at once. */
  std::int64_t
  CountPixels() const
  {
    return GetRegion(0) * GetRegion(1) * GetRegion(2) * GetRegion(3);
  }

  /** Outputs of a block. */
  Extent
  GetTile() const
  {
    Extent outputs;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      outputs[static_cast<std::size_t>(axes[axis])] = tile[axis];
    }
    return outputs;
  }

  /** Blocks that cover outputs. */
  std::int64_t
  CountBlocks(const Extent & outputExtent) const
  {
    std::int64_t blocks = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      blocks *= DivideUp(outputExtent[static_cast<std::size_t>(axes[axis])], tile[axis]);
    }
    return blocks;
  }
};

/** Finds the block that costs least.
 * \param leastTile outputs that it has at least along the axes, where there are so many
 * \param mostRegion pixels that its region has at most along an axis
 * \param fits whether a shape's region is small enough
 * \param estimate what a shape takes, in any unit
 * \param units work units that blocks are dealt to
 * \returns false where no block is small enough. */
template <typename TFits, typename TEstimate>
bool
FindHostBlockShape(const Window & window,
                   const std::int64_t (&leastTile)[Dimension],
                   std::int64_t      mostRegion,
                   const TFits &     fits,
                   const TEstimate & estimate,
                   const Extent &    outputExtent,
                   unsigned int      units,
                   HostBlockShape &  shape)
{
  HostBlockShape tried{ { 0, 1, 2, 3 }, {}, {} };
  // A row down costs the pixels of a column's rim: the fewest where columns move along the window's longest axis.
  std::stable_sort(tried.axes + 1, tried.axes + Dimension, [&](int one, int other) {
    return window.GetSize(one) > window.GetSize(other);
  });
  for (int axis = 0; axis < Dimension; ++axis)
  {
    tried.window[axis] = window.GetSize(tried.axes[axis]);
  }
  double     least = std::numeric_limits<double>::infinity();
  const auto choose = [&](const auto & self, int axis) -> void {
    if (axis < 0)
    {
      if (!fits(tried))
      {
        return;
      }
      // Blocks that are cut off at the end of the outputs take as long as their outputs.
      const auto turns = DivideUp(tried.CountBlocks(outputExtent), static_cast<std::int64_t>(units));
      const auto cost = static_cast<double>(turns) * estimate(tried);
      if (cost < least)
      {
        least = cost;
        shape = tried;
      }
      return;
    }
    const auto extent = outputExtent[static_cast<std::size_t>(tried.axes[axis])];
    for (auto tile = leastTile[axis];; tile *= 2)
    {
      // As many outputs in each block.
      tried.tile[axis] = DivideUp(extent, DivideUp(extent, std::min(tile, extent)));
      self(self, axis - 1);
      if (tile >= extent || tried.GetRegion(axis) > mostRegion)
      {
        break;
      }
    }
  };
  choose(choose, Dimension - 1);
  return least < std::numeric_limits<double>::infinity();
}

} // namespace cudamedian

#endif
