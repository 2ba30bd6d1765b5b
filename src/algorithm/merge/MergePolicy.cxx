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
#include "MergePolicy.h"

#include "DivideUp.h"
#include "Traits.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** Threads of blocks that take several lines or outputs. */
constexpr int usualThreads = 256;

/** Threads of blocks that work on a core, and of all those that work on one outside of shared memory. */
constexpr int mostThreads = 1024;
constexpr int mostSpreadThreads = 1 << 16;

/** Tasks that work in scratch memory at the same time. */
constexpr int mostSpreadTasks = 64;

/** Threads that merge all parts of so many lists of a length at the same time. */
std::int64_t
CountParts(std::int64_t lists, std::int64_t keys)
{
  return lists * DivideUp(keys, mergePart);
}

/** Whole warps for so many parts. */
void
SetThreads(MergePass & pass, std::int64_t parts, std::int64_t most)
{
  const auto threads = DivideUp(parts, 32) * 32;
  pass.threads = static_cast<int>(std::min(threads, most));
  pass.spreadThreads = static_cast<int>(std::min<std::int64_t>(threads, mostSpreadThreads));
}

/** Which of the core's pixels can be wanted in a window of a tile: the others are below or above the wanted one of all
 * windows. */
void
SetCore(const MergeShape & shape, const int (&tile)[2], int & core, std::int64_t & first)
{
  const auto & window = shape.window;
  const auto   pixels = std::int64_t{ window[0] } * window[1];
  const auto   seen = std::int64_t{ window[0] - tile[0] + 1 } * (window[1] - tile[1] + 1);
  // Of rank r among those seen, a pixel has a rank from r to r plus all others in the window.
  first = std::max<std::int64_t>(0, shape.rank - (pixels - seen));
  core = static_cast<int>(std::min(seen - 1, shape.rank) - first + 1);
}

MergeLevel
MakeLevel(const MergeShape & shape, const int (&tile)[2])
{
  MergeLevel level{};
  for (int axis = 0; axis < 2; ++axis)
  {
    level.tile[axis] = tile[axis];
    level.tiles[axis] = shape.GetOutputs(axis) / tile[axis];
    level.line[axis] = shape.window[axis] - tile[axis] + 1;
  }
  SetCore(shape, tile, level.core, level.first);
  return level;
}

/** Halves a level's tiles along the longer axis, or along both. */
MergeLevel
MakeChild(const MergeShape & shape, const MergeLevel & parent)
{
  const int longest = std::max(parent.tile[0], parent.tile[1]);
  const int tile[2] = { parent.tile[0] == longest ? longest / 2 : parent.tile[0],
                        parent.tile[1] == longest ? longest / 2 : parent.tile[1] };
  return MakeLevel(shape, tile);
}

std::int64_t
CountTiles(const MergeLevel & level)
{
  return std::int64_t{ level.tiles[0] } * level.tiles[1];
}

/** Lines of a level along an axis. */
std::int64_t
CountLines(const MergePass & pass, const MergeLevel & level, int axis)
{
  return std::int64_t{ level.tiles[axis] } * pass.footprint[1 - axis];
}

/** Completes a pass that works on lines along its axis, of so many keys each. */
void
SetLines(MergePass & pass, int keys)
{
  const auto lines = CountLines(pass, pass.child, pass.axis);
  pass.lists = std::max(1, usualThreads * mergePart / keys);
  pass.tasks = static_cast<int>(DivideUp(lines, pass.lists));
  SetThreads(pass, CountParts(pass.lists, keys), usualThreads);
  if (pass.kind == MergePassKind::SortLines)
  {
    const int rounds = CountMergeRounds(keys, mergePart);
    pass.workKeys = rounds == 0 ? 0 : std::int64_t{ 2 } * pass.lists * keys;
    pass.merges = static_cast<double>(lines) * keys * (1 + rounds);
  }
  else
  {
    pass.workKeys = std::int64_t{ pass.lists } * (keys - pass.parent.line[pass.axis] + keys);
    pass.merges = static_cast<double>(lines) * keys;
  }
}

void
SetSortCores(MergePass & pass)
{
  const auto & level = pass.child;
  pass.axis = level.line[0] > level.line[1] ? 0 : 1;
  const auto keys = std::int64_t{ level.line[0] } * level.line[1];
  const int  rounds = CountMergeRounds(keys, level.line[pass.axis]);
  pass.tasks = static_cast<int>(CountTiles(level));
  SetThreads(pass, CountParts(1, keys), mostThreads);
  pass.workKeys = std::clamp(rounds - 1, 0, 2) * keys;
  pass.merges = static_cast<double>(CountTiles(level)) *
                (static_cast<double>(keys) * std::max(0, rounds - 1) + static_cast<double>(level.core));
}

void
SetSplitCores(const MergeShape & shape, MergePass & pass)
{
  const auto & parent = pass.parent;
  const auto & child = pass.child;
  for (int axis = 0; axis < 2; ++axis)
  {
    pass.added[axis] = parent.tile[axis] - child.tile[axis];
    pass.parts[axis] = pass.added[axis] > 0 ? 2 : 1;
    // Lines along axis 1 are as long as the parent's core is high, those along axis 0 as a part's is wide.
    pass.group[axis] = pass.added[axis] * (axis == 0 ? parent.line[1] : child.line[0]);
    pass.rounds[axis] = CountMergeRounds(pass.added[axis], 1);
  }
  const int middle[2] = { child.tile[0], parent.tile[1] };
  SetCore(shape, middle, pass.middleCore, pass.middleFirst);

  const int    parts = pass.parts[0] * pass.parts[1];
  const auto   groups = std::int64_t{ pass.parts[0] } * pass.group[0] + std::int64_t{ parts } * pass.group[1];
  const int    rounds = std::max(pass.rounds[0], pass.rounds[1]);
  const auto   middles = std::int64_t{ pass.parts[0] } * pass.middleCore;
  const double tiles = static_cast<double>(CountTiles(parent));
  pass.tasks = static_cast<int>(CountTiles(parent));
  pass.workKeys = std::min(rounds, 2) * groups + (pass.added[0] > 0 && pass.added[1] > 0 ? middles : 0);
  const auto groupParts = CountParts(pass.rounds[0] > 0 ? pass.parts[0] : 0, pass.group[0]) +
                          CountParts(pass.rounds[1] > 0 ? parts : 0, pass.group[1]);
  SetThreads(pass,
             std::max({ groupParts, CountParts(pass.parts[0], pass.middleCore), CountParts(parts, child.core) }),
             mostThreads);
  pass.merges = tiles * static_cast<double>(std::int64_t{ pass.parts[0] } * pass.group[0] * pass.rounds[0] +
                                            std::int64_t{ parts } * pass.group[1] * pass.rounds[1] +
                                            (pass.added[0] > 0 ? middles : 0) +
                                            (pass.added[1] > 0 ? std::int64_t{ parts } * child.core : 0));
}

} // namespace

const char * const mergeLimits = "at most two axes may have a radius, and a quarter of the device memory budget must "
                                 "hold the sorted lists of one root "
                                 "tile";

void
SetMergeRegion(const int (&tile)[2], const int (&tiles)[2], int pixelBytes, MergeShape & shape)
{
  for (int axis = 0; axis < 2; ++axis)
  {
    shape.tile[axis] = tile[axis];
    shape.tiles[axis] = tiles[axis];
  }
  shape.scratchBytes = GetMergeMemory(ListMergePasses(shape), pixelBytes).end * pixelBytes;
}

std::vector<MergePass>
ListMergePasses(const MergeShape & shape)
{
  std::vector<MergePass> passes;
  MergePass              pass{};
  pass.footprint[0] = shape.GetFootprint(0);
  pass.footprint[1] = shape.GetFootprint(1);
  pass.parent = pass.child = MakeLevel(shape, shape.tile);

  const auto add = [&](MergePassKind kind, int axis) -> MergePass & {
    passes.push_back(pass);
    passes.back().kind = kind;
    passes.back().axis = axis;
    return passes.back();
  };
  // Passes that have no rounds go over all keys or outputs in turn.
  const auto addTurns = [&](MergePassKind kind, std::int64_t items, double merges) {
    auto & added = add(kind, 0);
    added.threads = usualThreads;
    added.tasks = static_cast<int>(DivideUp(items, usualThreads));
    added.merges = merges * static_cast<double>(items);
  };
  addTurns(MergePassKind::CopyKeys, std::int64_t{ pass.footprint[0] } * pass.footprint[1], 2);
  SetLines(add(MergePassKind::SortLines, 0), pass.child.line[0]);
  SetLines(add(MergePassKind::SortLines, 1), pass.child.line[1]);
  SetSortCores(add(MergePassKind::SortCores, 1));
  while (std::max(pass.parent.tile[0], pass.parent.tile[1]) > 2)
  {
    pass.child = MakeChild(shape, pass.parent);
    const bool halved[2] = { pass.child.tile[0] < pass.parent.tile[0], pass.child.tile[1] < pass.parent.tile[1] };
    if (halved[0])
    {
      SetLines(add(MergePassKind::ExtendLines, 0), pass.child.line[0]);
      pass.lines[0] = 1 - pass.lines[0];
    }
    SetSplitCores(shape, add(MergePassKind::SplitCores, 0));
    pass.cores = 1 - pass.cores;
    if (halved[1])
    {
      SetLines(add(MergePassKind::ExtendLines, 1), pass.child.line[1]);
      pass.lines[1] = 1 - pass.lines[1];
    }
    pass.parent = pass.child;
  }
  // Searching takes about as long as so many merges.
  addTurns(MergePassKind::SelectKeys, std::int64_t{ shape.GetOutputs(0) } * shape.GetOutputs(1), 40);
  return passes;
}

MergeSpread
GetMergeSpread(const MergePass & pass, int pixelBytes)
{
  if (pass.workKeys * pixelBytes <= unaskedSharedBytes)
  {
    return { 0, 0 };
  }
  return { std::min(pass.tasks, mostSpreadTasks), static_cast<int>(DivideUp(pass.spreadThreads, usualThreads)) };
}

MergeMemory
GetMergeMemory(const std::vector<MergePass> & passes, int pixelBytes)
{
  std::int64_t lines[2][2] = { { 0, 0 }, { 0, 0 } };
  std::int64_t cores[2] = { 0, 0 };
  std::int64_t work = 0;
  const auto   grow = [](std::int64_t & size, std::int64_t needed) { size = std::max(size, needed); };
  for (const auto & pass : passes)
  {
    work = std::max(work, GetMergeSpread(pass, pixelBytes).tasks * pass.workKeys);
    if (pass.kind == MergePassKind::SortLines || pass.kind == MergePassKind::ExtendLines)
    {
      const int buffer = pass.kind == MergePassKind::SortLines ? pass.lines[pass.axis] : 1 - pass.lines[pass.axis];
      grow(lines[pass.axis][buffer], CountLines(pass, pass.child, pass.axis) * pass.child.line[pass.axis]);
    }
    else if (pass.kind == MergePassKind::SortCores || pass.kind == MergePassKind::SplitCores)
    {
      const int buffer = pass.kind == MergePassKind::SortCores ? pass.cores : 1 - pass.cores;
      grow(cores[buffer], CountTiles(pass.child) * pass.child.core);
    }
  }
  const auto   pixels = std::int64_t{ passes.front().footprint[0] } * passes.front().footprint[1];
  MergeMemory  memory{};
  std::int64_t next = 0;
  const auto   take = [&](std::int64_t keys) {
    const auto place = next;
    // Lists of different kinds do not share what a memory access brings.
    next += DivideUp(keys, 256) * 256;
    return place;
  };
  for (int i = 0; i < 2; ++i)
  {
    memory.copies[i] = take(pixels);
    memory.lines[0][i] = take(lines[0][i]);
    memory.lines[1][i] = take(lines[1][i]);
    memory.cores[i] = take(cores[i]);
  }
  memory.work = take(work);
  memory.end = next;
  return memory;
}

double
EstimateMergePicoseconds(const MergeShape & shape, const Extent & outputExtent, int pixelBytes)
{
  // Measured on an H200, 6c6a007: 3.7 at 41x41 with 8-bit pixels, 5.5 at 41x41 and 8.3 at 451x451 with 16-bit ones, 5.4
  // at 41x41 with float. Reasoned for 64-bit ones: as much more as they have bytes.
  // The rates are 0.56 to 1.4 times those of MergeRates.inc.
  const double mergeCost = pixelBytes == 1 ? 5 : pixelBytes == 2 ? 7 : pixelBytes == 4 ? 8 : 16;
  const double launchCost = 3e6;
  double       cost = 0;
  for (const auto & pass : ListMergePasses(shape))
  {
    cost += pass.merges * mergeCost + launchCost;
  }
  double outputs = 1;
  for (int axis = 0; axis < 2; ++axis)
  {
    const auto extent = outputExtent[static_cast<std::size_t>(shape.axes[axis])];
    cost *= static_cast<double>(DivideUp(extent, shape.GetOutputs(axis)));
    outputs *= static_cast<double>(extent);
  }
  return cost / outputs;
}

bool
FindMergeShape(const Window & window,
               int            pixelBytes,
               const Extent & outputExtent,
               std::size_t    available,
               MergeShape &   shape)
{
  MergeShape candidate{};
  candidate.rank = window.rank;
  int count = 0;
  // The window's axes first.
  for (const bool has : { true, false })
  {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if ((window.GetSize(axis) > 1) == has)
      {
        candidate.axes[count++] = axis;
      }
    }
  }
  // Kernels count keys with 32 bits.
  constexpr std::int64_t mostKeys = std::int64_t{ 1 } << 30;
  if (window.CountAxes() > 2 || window.GetLargestRadius() > largestCountedRadius)
  {
    return false;
  }
  const auto extentAlong = [&](int axis) { return outputExtent[static_cast<std::size_t>(candidate.axes[axis])]; };
  for (int axis = 0; axis < 2; ++axis)
  {
    candidate.window[axis] = static_cast<int>(window.GetSize(candidate.axes[axis]));
  }
  const auto most = std::min(static_cast<std::int64_t>(std::min<std::size_t>(available, std::size_t{ 1 } << 40)),
                             mostKeys * pixelBytes);
  double     best = 0;
  bool       found = false;
  for (int side = 1; side <= 64; side *= 2)
  {
    int tile[2] = { 1, 1 };
    for (int axis = 0; axis < 2; ++axis)
    {
      while (tile[axis] < side && 2 * tile[axis] <= candidate.window[axis])
      {
        tile[axis] *= 2;
      }
    }
    // Regions grow along the axis they are shorter along, until they have all outputs.
    for (std::int64_t grown[2] = { 1, 1 };;)
    {
      int tiles[2];
      for (int axis = 0; axis < 2; ++axis)
      {
        // As many regions, of the same size.
        const auto regions = DivideUp(extentAlong(axis), tile[axis] * grown[axis]);
        tiles[axis] = static_cast<int>(DivideUp(DivideUp(extentAlong(axis), tile[axis]), regions));
      }
      SetMergeRegion(tile, tiles, pixelBytes, candidate);
      if (candidate.scratchBytes > most)
      {
        break;
      }
      const auto cost = EstimateMergePicoseconds(candidate, outputExtent, pixelBytes);
      if (!found || cost < best)
      {
        shape = candidate;
        best = cost;
        found = true;
      }
      const bool has[2] = { candidate.GetOutputs(0) >= extentAlong(0), candidate.GetOutputs(1) >= extentAlong(1) };
      if (has[0] && has[1])
      {
        break;
      }
      const int axis = has[0] || (!has[1] && candidate.GetOutputs(1) < candidate.GetOutputs(0)) ? 1 : 0;
      grown[axis] *= 2;
    }
  }
  return found;
}

std::int64_t
CountMergeRegions(const MergeShape & shape, const Extent & outputExtent)
{
  std::int64_t regions = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto outputs = outputExtent[static_cast<std::size_t>(shape.axes[axis])];
    regions *= axis < 2 ? DivideUp(outputs, shape.GetOutputs(axis)) : outputs;
  }
  return regions;
}

Extent
GetMergeRegionOrigin(const MergeShape & shape, const Extent & outputExtent, std::int64_t region)
{
  Extent origin;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto outputs = outputExtent[static_cast<std::size_t>(shape.axes[axis])];
    const auto size = axis < 2 ? shape.GetOutputs(axis) : 1;
    const auto regions = DivideUp(outputs, size);
    origin[static_cast<std::size_t>(axis)] = region % regions * size;
    region /= regions;
  }
  return origin;
}

MergeShape
FitMergeRegion(const MergeShape & shape, const Extent & outputExtent, int pixelBytes)
{
  auto fitted = shape;
  int  tiles[2];
  for (int axis = 0; axis < 2; ++axis)
  {
    const auto outputs = outputExtent[static_cast<std::size_t>(shape.axes[axis])];
    tiles[axis] = static_cast<int>(std::min<std::int64_t>(shape.tiles[axis], DivideUp(outputs, shape.tile[axis])));
  }
  SetMergeRegion(shape.tile, tiles, pixelBytes, fitted);
  return fitted;
}

Extent
GetMergeTile(const MergeShape & shape)
{
  Extent tile{ { 1, 1, 1, 1 } };
  for (int axis = 0; axis < 2; ++axis)
  {
    tile[static_cast<std::size_t>(shape.axes[axis])] = shape.tile[axis];
  }
  return tile;
}

} // namespace cudamedian
