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
#include "HierarchicalTiling.h"

#include "FootprintTiling.h"
#include "SortingNetwork.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace cudamedian
{
namespace
{

/** Positions first … last-1 of the footprint along one axis. */
struct Interval
{
  std::int64_t first;
  std::int64_t last;

  std::int64_t
  GetLength() const
  {
    return last - first;
  }
  bool
  operator<(const Interval & other) const
  {
    return first != other.first ? first < other.first : last < other.last;
  }
};

using Box = std::array<Interval, Dimension>;

class Builder
{
public:
  Builder(const Window & window, const Extent & tile, const TilingOptions & options)
    : m_Program(window, tile)
    , m_Options(options)
    , m_Window(window)
    , m_Outputs(static_cast<std::size_t>(Volume(tile) * options.ranks))
  {
    CheckRanks(window, options);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto size = m_Window.GetSize(axis);
      const auto root = options.root[axis];
      if (root < 1 || root > std::min(tile[axis], size))
      {
        throw std::invalid_argument("BuildHierarchicalTilingProgram: along axis " + std::to_string(axis) +
                                    " the root tile is " + std::to_string(root) + " but must be from 1 to the " +
                                    (size < tile[axis] ? "window's " : "tile's ") +
                                    std::to_string(std::min(tile[axis], size)));
      }
    }
  }

  TileProgram
  Build()
  {
    const auto & tile = m_Program.GetTile();
    const auto & root = m_Options.root;
    Extent       first;
    for (first[3] = 0; first[3] < tile[3]; first[3] += root[3])
    {
      for (first[2] = 0; first[2] < tile[2]; first[2] += root[2])
      {
        for (first[1] = 0; first[1] < tile[1]; first[1] += root[1])
        {
          for (first[0] = 0; first[0] < tile[0]; first[0] += root[0])
          {
            Box outputs;
            for (int axis = 0; axis < Dimension; ++axis)
            {
              outputs[axis] = { first[axis], std::min(first[axis] + root[axis], tile[axis]) };
            }
            m_Origin = {};
            SortedCore core;
            core.values = Sorted(GetCoreBox(outputs));
            Discard(core);
            Split(outputs, core);
          }
        }
      }
    }
    m_Program.SetOutputs(m_Outputs);
    m_Program.RemoveDeadCode();
    return std::move(m_Program);
  }

private:
  /** What the windows of all outputs in `outputs` share. */
  Box
  GetCoreBox(const Box & outputs) const
  {
    Box core;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      core[axis] = { outputs[axis].last - 1, outputs[axis].first + m_Window.GetSize(axis) };
    }
    return core;
  }

  /** Of n values seen, the one of rank i can be the wanted one only if no more than those below it are below, and no
   * more than those above it above: i <= rank and n-1-i <= N-1-rank. */
  void
  Discard(SortedCore & core) const
  {
    const auto seen = static_cast<std::int64_t>(core.values.size()) + core.discardedBelow + core.discardedAbove;
    const auto lowest = std::max(core.discardedBelow, seen - 1 - m_Window.CountAbove());
    const auto highest = std::min(seen - 1 - core.discardedAbove, m_Window.rank + m_Options.ranks - 1);
    core.values = SortedValues(core.values.begin() + (lowest - core.discardedBelow),
                               core.values.begin() + (highest - core.discardedBelow + 1));
    core.discardedBelow = lowest;
    core.discardedAbove = seen - 1 - highest;
  }

  void
  Split(const Box & outputs, const SortedCore & core)
  {
    int longest = 0;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      longest = outputs[axis].GetLength() > outputs[longest].GetLength() ? axis : longest;
    }
    if (outputs[longest].GetLength() == 1)
    {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] = outputs[axis].first;
      }
      std::int64_t index = 0;
      for (int axis = Dimension - 1; axis >= 0; --axis)
      {
        index = index * m_Program.GetTile()[axis] + position[axis];
      }
      PutOutput(core.values, index, m_Outputs);
      return;
    }

    const auto parentCore = GetCoreBox(outputs);
    const auto middle = outputs[longest].first + (outputs[longest].GetLength() + 1) / 2;
    for (const bool firstHalf : { true, false })
    {
      Box half = outputs;
      (firstHalf ? half[longest].last : half[longest].first) = middle;
      const auto halfCore = GetCoreBox(half);
      Box        added = halfCore;
      added[longest] = firstHalf ? Interval{ halfCore[longest].first, parentCore[longest].first }
                                 : Interval{ parentCore[longest].last, halfCore[longest].last };
      // Whoever sorts a box over this interval can start from the parent's and the added piece.
      m_Origin[longest].emplace(halfCore[longest], std::make_pair(parentCore[longest], added[longest]));
      SortedCore child = core;
      child.values = MergeSorted(m_Program, core.values, Sorted(added));
      Discard(child);
      Split(half, child);
    }
  }

  /** The sorted values of a box, built once. */
  const SortedValues &
  Sorted(const Box & box)
  {
    const auto found = m_SortedBoxes.find(box);
    if (found != m_SortedBoxes.end())
    {
      return found->second;
    }
    auto sorted = BuildSorted(box);
    return m_SortedBoxes.emplace(box, std::move(sorted)).first->second;
  }

  SortedValues
  BuildSorted(const Box & box)
  {
    // An added piece falls apart into its columns, rows or slabs first: neighbouring halves share those.
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if (box[axis].GetLength() > 1 && IsAddedPiece(axis, box[axis]))
      {
        return MergeLayers(box, axis);
      }
    }
    // A core interval that grew out of its parent's: the parent's part was sorted before.
    int grown = -1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if (m_Origin[axis].count(box[axis]) != 0 &&
          (grown < 0 || GetAddedLength(axis, box[axis]) < GetAddedLength(grown, box[grown])))
      {
        grown = axis;
      }
    }
    if (grown >= 0)
    {
      const auto origin = m_Origin[grown].at(box[grown]);
      Box        parent = box;
      Box        added = box;
      parent[grown] = origin.first;
      added[grown] = origin.second;
      // Copied: sorting the second box may rehouse nothing in a map, but it makes the order of evaluation plain.
      const auto first = Sorted(parent);
      return MergeSorted(m_Program, first, Sorted(added));
    }
    // Layers along the other axes down to columns along axis 1, which neighbouring tiles share, then rows.
    for (const int axis : { 3, 2, 0, 1 })
    {
      if (box[axis].GetLength() > 1)
      {
        return IsLine(box, axis) ? MergeHalves(box, axis) : MergeLayers(box, axis);
      }
    }
    Extent position;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      position[axis] = box[axis].first;
    }
    return { m_Program.InputAt(position) };
  }

  bool
  IsAddedPiece(int axis, const Interval & interval) const
  {
    const auto & origins = m_Origin[axis];
    return std::any_of(origins.begin(), origins.end(), [&](const auto & entry) {
      const auto & piece = entry.second.second;
      return piece.first == interval.first && piece.last == interval.last;
    });
  }

  std::int64_t
  GetAddedLength(int axis, const Interval & interval) const
  {
    return m_Origin[axis].at(interval).second.GetLength();
  }

  static bool
  IsLine(const Box & box, int axis)
  {
    for (int other = 0; other < Dimension; ++other)
    {
      if (other != axis && box[other].GetLength() > 1)
      {
        return false;
      }
    }
    return true;
  }

  /** The box as sorted layers along an axis, merged pairwise; a run of layers is merged once for all who need it. */
  SortedValues
  MergeLayers(const Box & box, int axis)
  {
    const auto length = box[axis].GetLength();
    if (length == 1)
    {
      return Sorted(box);
    }
    const auto found = m_MergedLayers.find({ box, axis });
    if (found != m_MergedLayers.end())
    {
      return found->second;
    }
    Box        first = box;
    Box        second = box;
    const auto middle = box[axis].first + GetFirstPart(length);
    first[axis].last = middle;
    second[axis].first = middle;
    const auto sortedFirst = MergeLayers(first, axis);
    auto       merged = MergeSorted(m_Program, sortedFirst, MergeLayers(second, axis));
    m_MergedLayers.emplace(std::make_pair(box, axis), merged);
    return merged;
  }

  /** How many of `length` layers or pixels are sorted before the rest is merged in. */
  std::int64_t
  GetFirstPart(std::int64_t length) const
  {
    if (m_Options.division == Division::Halves)
    {
      return length / 2;
    }
    std::int64_t power = 1;
    while (2 * power < length)
    {
      power *= 2;
    }
    return m_Options.division == Division::PowerFirst ? power : length - power;
  }

  SortedValues
  MergeHalves(const Box & box, int axis)
  {
    Box        first = box;
    Box        second = box;
    const auto middle = box[axis].first + GetFirstPart(box[axis].GetLength());
    first[axis].last = middle;
    second[axis].first = middle;
    const auto sortedFirst = Sorted(first);
    return MergeSorted(m_Program, sortedFirst, Sorted(second));
  }

  TileProgram                                                              m_Program;
  TilingOptions                                                            m_Options;
  Window                                                                   m_Window;
  std::vector<TileProgram::Value>                                          m_Outputs;
  std::map<Box, SortedValues>                                              m_SortedBoxes;
  std::map<std::pair<Box, int>, SortedValues>                              m_MergedLayers;
  std::array<std::map<Interval, std::pair<Interval, Interval>>, Dimension> m_Origin;
};

} // namespace

TileProgram
BuildHierarchicalTilingProgram(const Window & window, const Extent & tile)
{
  return BuildHierarchicalTilingProgram(window, tile, { tile, Division::Halves });
}

TileProgram
BuildHierarchicalTilingProgram(const Window & window, const Extent & tile, const TilingOptions & options)
{
  return window.footprint != nullptr ? BuildFootprintProgram(window, tile, options)
                                     : Builder(window, tile, options).Build();
}

void
CheckRanks(const Window & window, const TilingOptions & options)
{
  if (options.ranks < 1 || window.rank + options.ranks > window.CountPixels())
  {
    throw std::invalid_argument("A program of " + std::to_string(options.ranks) + " ranks from " +
                                std::to_string(window.rank) + " on; the window has " +
                                std::to_string(window.CountPixels()) + " values");
  }
}

} // namespace cudamedian
