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
#include "FootprintBits.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <numeric>

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

std::int64_t
GetSquaredDistance(const Extent & offset)
{
  return std::inner_product(offset.begin(), offset.end(), offset.begin(), std::int64_t{ 0 });
}

/** How many places of a plane lie no farther from one of them than a squared distance. */
std::int64_t
CountDisk(std::int64_t greatest)
{
  std::int64_t places = 0;
  std::int64_t x = 0;
  while ((x + 1) * (x + 1) <= greatest)
  {
    ++x;
  }
  // A quarter's rows, which become shorter.
  for (std::int64_t y = 0; y * y <= greatest; ++y)
  {
    while (x * x + y * y > greatest)
    {
      --x;
    }
    places += (y == 0 ? 1 : 2) * (2 * x + 1);
  }
  return places;
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

/** Pixels that follow each other along region axis 0. */
struct Run
{
  std::ptrdiff_t first;
  std::ptrdiff_t length;
};

std::vector<Run>
ListRuns(std::vector<std::ptrdiff_t> places)
{
  std::vector<Run> runs;
  std::sort(places.begin(), places.end());
  for (const auto place : places)
  {
    if (!runs.empty() && place == runs.back().first + runs.back().length)
    {
      ++runs.back().length;
    }
    else
    {
      runs.push_back({ place, 1 });
    }
  }
  return runs;
}

/** Pairs places that follow each other, wherever the corner is as many. */
void
Pair(const std::vector<std::ptrdiff_t> & places,
     std::ptrdiff_t                      corner,
     std::vector<std::ptrdiff_t> &       pairs,
     std::vector<std::ptrdiff_t> &       singles)
{
  for (const auto & run : ListRuns(places))
  {
    // Of an odd number of pixels the first or the last one stands alone.
    const auto odd = run.length - (run.length % 2 == 0 ? 1 : 0);
    const bool isSecond = (corner + run.first) % 2 != 0;
    const auto first = run.first + (isSecond ? 1 : 0);
    for (auto place = first; place + 1 < first + odd; place += 2)
    {
      pairs.push_back(place);
    }
    singles.push_back(isSecond ? run.first : run.first + odd - 1);
    if (odd < run.length)
    {
      singles.push_back(run.first + odd);
    }
  }
}

/** Takes pairs apart until there are so many. */
void
Unpair(std::size_t count, std::vector<std::ptrdiff_t> & pairs, std::vector<std::ptrdiff_t> & singles)
{
  for (; pairs.size() > count; pairs.pop_back())
  {
    singles.push_back(pairs.back());
    singles.push_back(pairs.back() + 1);
  }
}

/** Lists replacements, of four each what enters and then what leaves. \param unused the place of those that are left.
 */
void
AddSteps(const RankEdges & edges, int count, std::ptrdiff_t unused, std::uint32_t * list)
{
  const auto getBytes = [&](const std::vector<std::ptrdiff_t> & places, std::size_t i) {
    return static_cast<std::uint32_t>(2 * (i < places.size() ? places[i] : unused));
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
  {
    const auto at = i / 4 * 8 + i % 4;
    list[at] = getBytes(edges.entering, i);
    list[at + 4] = getBytes(edges.leaving, i);
  }
}

/** Calls call(bits) with the form of a region's footprint. */
template <typename TCall>
auto
CallWithBits(const RankShape & shape, const TCall & call)
{
  const auto form = GetRegionForm(shape);
  return form == RegionForm::Narrow  ? call(FootprintBits<RegionForm::Narrow>())
         : form == RegionForm::Wide  ? call(FootprintBits<RegionForm::Wide>())
         : form == RegionForm::Large ? call(FootprintBits<RegionForm::Large>())
                                     : call(FootprintBits<RegionForm::Solid>());
}

/** Sets the bits of a footprint's pixels. */
void
AddBits(const Footprint & footprint, const RankShape & shape, std::uint32_t * bits)
{
  const auto radius = footprint.GetRadius();
  CallWithBits(shape, [&](auto form) {
    if (form.CountWords(shape) == 0)
    {
      return;
    }
    const decltype(form) places(bits, shape.window, shape.disk);
    for (const auto & pixel : footprint.GetPixels())
    {
      int along[3];
      for (int i = 0; i < 3; ++i)
      {
        const auto axis = static_cast<std::size_t>(shape.axes[i]);
        along[i] = static_cast<int>(pixel.offset[axis] + radius[axis]);
      }
      bits[places.GetWord({ along[0], along[1], along[2] })] |= 1U << along[0] % 32;
    }
  });
}

} // namespace

int
CountBitWords(const RankShape & shape)
{
  return CallWithBits(shape, [&](auto bits) { return bits.CountWords(shape); });
}

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

int
FindDisk(const Footprint & footprint)
{
  std::int64_t greatest = 0;
  for (const auto & pixel : footprint.GetPixels())
  {
    greatest = std::max(greatest, GetSquaredDistance(pixel.offset));
  }
  const auto radius = footprint.GetRadius();
  const auto extent = *std::max_element(radius.begin(), radius.end());
  const auto axes = std::count_if(radius.begin(), radius.end(), [](std::int64_t along) { return along > 0; });
  // Slices on either side of the middle are alike.
  auto places = CountDisk(greatest);
  for (std::int64_t z = 1; axes == 3 && z <= extent; ++z)
  {
    places += 2 * CountDisk(greatest - z * z);
  }
  // No pixel lies farther away, so that none of these is missing.
  const bool isWhole = static_cast<std::size_t>(places) == footprint.GetPixels().size();
  return axes <= 3 && isWhole && greatest < (extent + 1) * (extent + 1) ? static_cast<int>(greatest) : 0;
}

PairedEdges
PairEdges(const RankEdges & edges, std::ptrdiff_t corner)
{
  PairedEdges paired;
  Pair(edges.entering, corner, paired.pairs.entering, paired.singles.entering);
  Pair(edges.leaving, corner, paired.pairs.leaving, paired.singles.leaving);
  // Two pixels replace two.
  const auto count = std::min(paired.pairs.entering.size(), paired.pairs.leaving.size());
  Unpair(count, paired.pairs.entering, paired.singles.entering);
  Unpair(count, paired.pairs.leaving, paired.singles.leaving);
  return paired;
}

void
SetPairedEdges(const Footprint & footprint, RankShape & shape)
{
  // Rows that lie apart, as they do in any region.
  const std::ptrdiff_t row = std::ptrdiff_t{ 4 } * shape.window[0];
  const std::ptrdiff_t pitch[3] = { 1, row, row * 4 * shape.window[1] };
  const auto           paired = PairEdges(ListEdges(footprint, shape.axes, pitch, 2, 1), 0);
  shape.edges = RoundUp(static_cast<int>(paired.singles.entering.size()), 4);
  shape.pairs = RoundUp(static_cast<int>(paired.pairs.entering.size()), 4);
  shape.runs = RoundUp(CountEdges(footprint, shape.axes[0]), 4);
  shape.disk = FindDisk(footprint);
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
  auto *                     behind = lists.data();
  if (KeepsThresholds(shape))
  {
    for (const std::ptrdiff_t corner : { 0, 1 })
    {
      const auto paired = PairEdges(edges, corner);
      AddSteps(paired.pairs, shape.pairs, corner, behind);
      AddSteps(paired.singles, shape.edges, 0, behind + 2 * shape.pairs);
      behind += 2 * (shape.pairs + shape.edges);
    }
    const auto runs = ListRuns(members);
    for (std::size_t i = 0; i < runs.size(); ++i)
    {
      behind[i] = static_cast<std::uint32_t>(runs[i].first) | static_cast<std::uint32_t>(runs[i].length) << runShift;
    }
    AddBits(footprint, shape, behind + shape.runs);
    return lists;
  }
  AddSteps(edges, shape.edges, 0, behind);
  behind += 2 * shape.edges;
  for (std::size_t i = 0; i < members.size(); ++i)
  {
    behind[i / 2] |= static_cast<std::uint32_t>(members[i]) << (i % 2 * 16);
  }
  return lists;
}

std::size_t
GetRankListBytes(const RankShape & shape)
{
  const int words = KeepsThresholds(shape) ? CountStepWords(shape) + shape.runs + CountBitWords(shape)
                                           : 2 * shape.edges + DivideUp(shape.members, 2);
  return sizeof(std::uint32_t) * static_cast<std::size_t>(words);
}

} // namespace cudamedian
