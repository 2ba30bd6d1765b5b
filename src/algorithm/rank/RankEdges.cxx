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
#include "RankEdges.h"

#include "DivideUp.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

bool
HasPixel(const Footprint & footprint, const Extent & offset)
{
  const auto & pixels = footprint.GetPixels();
  const auto   found =
    std::lower_bound(pixels.begin(), pixels.end(), offset, [](const FootprintPixel & pixel, const Extent & wanted) {
      return std::lexicographical_compare(pixel.offset.rbegin(), pixel.offset.rend(), wanted.rbegin(), wanted.rend());
    });
  return found != pixels.end() && found->offset == offset;
}

/** Whether a pixel's neighbour along an image axis is in the footprint. */
bool
HasNeighbour(const Footprint & footprint, Extent offset, int imageAxis, int step)
{
  offset[static_cast<std::size_t>(imageAxis)] += step;
  return HasPixel(footprint, offset);
}

std::ptrdiff_t
GetPlace(const Footprint & footprint,
         const Extent &    offset,
         const int (&axes)[Dimension],
         const std::ptrdiff_t (&pitch)[3])
{
  std::ptrdiff_t place = 0;
  for (int i = 0; i < 3; ++i)
  {
    const auto axis = static_cast<std::size_t>(axes[i]);
    place += (offset[axis] + footprint.GetRadius()[axis]) * pitch[i];
  }
  return place;
}

} // namespace

std::vector<std::ptrdiff_t>
ListMembers(const Footprint & footprint, const int (&axes)[Dimension], const std::ptrdiff_t (&pitch)[3])
{
  std::vector<std::ptrdiff_t> members;
  members.reserve(footprint.GetPixels().size());
  for (const auto & pixel : footprint.GetPixels())
  {
    members.push_back(GetPlace(footprint, pixel.offset, axes, pitch));
  }
  return members;
}

RankEdges
ListEdges(const Footprint & footprint,
          const int (&axes)[Dimension],
          const std::ptrdiff_t (&pitch)[3],
          int along,
          int step)
{
  RankEdges edges;
  for (const auto & pixel : footprint.GetPixels())
  {
    const auto place = GetPlace(footprint, pixel.offset, axes, pitch);
    // The next window has this pixel one step further, and has lost it where none comes after.
    if (!HasNeighbour(footprint, pixel.offset, axes[along], step))
    {
      edges.entering.push_back(place + step * pitch[along]);
    }
    if (!HasNeighbour(footprint, pixel.offset, axes[along], -step))
    {
      edges.leaving.push_back(place);
    }
  }
  return edges;
}

int
CountEdges(const Footprint & footprint, int imageAxis)
{
  const auto & pixels = footprint.GetPixels();
  return static_cast<int>(std::count_if(pixels.begin(), pixels.end(), [&](const FootprintPixel & pixel) {
    return !HasNeighbour(footprint, pixel.offset, imageAxis, 1);
  }));
}

std::vector<std::uint32_t>
MakeRankLists(const Footprint & footprint, const RankShape & shape)
{
  const std::ptrdiff_t       pitch[3] = { 1,
                                          shape.region[0],
                                          static_cast<std::ptrdiff_t>(shape.region[0]) * shape.region[1] };
  const auto                 edges = ListEdges(footprint, shape.axes, pitch, 2, 1);
  const auto                 members = ListMembers(footprint, shape.axes, pitch);
  std::vector<std::uint32_t> lists(GetRankListBytes(shape) / sizeof(std::uint32_t), 0);
  // Kernels read four at once.
  const auto getBytes = [](std::ptrdiff_t place) { return static_cast<std::uint32_t>(place * 2); };
  for (std::size_t i = 0; i < edges.entering.size(); ++i)
  {
    const auto at = i / 4 * 8 + i % 4;
    lists[at] = getBytes(edges.entering[i]);
    lists[at + 4] = getBytes(edges.leaving[i]);
  }
  for (std::size_t i = 0; i < members.size(); ++i)
  {
    lists[2 * static_cast<std::size_t>(shape.edges) + i / 2] |= static_cast<std::uint32_t>(members[i]) << (i % 2 * 16);
  }
  return lists;
}

std::size_t
GetRankListBytes(const RankShape & shape)
{
  return sizeof(std::uint32_t) * static_cast<std::size_t>(2 * shape.edges + DivideUp(shape.members, 2));
}

} // namespace cudamedian
