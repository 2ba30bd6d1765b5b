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
#include "FootprintTiling.h"

#include "ProgramLowering.h"
#include "ProgramSimplifier.h"
#include "Remembered.h"
#include "SharedPieces.h"
#include "SortingNetwork.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cudamedian
{
namespace
{

/** Outputs first … last-1 along each axis. */
struct OutputBox
{
  Extent first;
  Extent last;

  std::int64_t
  GetLength(int axis) const
  {
    return last[axis] - first[axis];
  }
};

/** What is in both, as often as in the one that has less of it. */
PixelCounts
Intersect(const PixelCounts & one, const PixelCounts & other)
{
  PixelCounts result;
  for (const auto & [pixel, count] : one)
  {
    const auto found = other.find(pixel);
    if (found != other.end())
    {
      result.emplace(pixel, std::min(count, found->second));
    }
  }
  return result;
}

/** What the first has beyond the second, which it contains. */
PixelCounts
Subtract(const PixelCounts & one, const PixelCounts & part)
{
  PixelCounts result;
  for (const auto & [pixel, count] : one)
  {
    const auto found = part.find(pixel);
    const auto rest = found == part.end() ? count : count - found->second;
    if (rest > 0)
    {
      result.emplace(pixel, rest);
    }
  }
  return result;
}

std::int64_t
CountValues(const PixelCounts & pixels)
{
  std::int64_t values = 0;
  for (const auto & [pixel, count] : pixels)
  {
    values += count;
  }
  return values;
}

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
      const auto root = options.root[axis];
      if (root < 1 || root > tile[axis])
      {
        throw std::invalid_argument("BuildFootprintProgram: along axis " + std::to_string(axis) + " the root tile is " +
                                    std::to_string(root) + " but must be from 1 to the tile's " +
                                    std::to_string(tile[axis]));
      }
    }
  }

  TileProgram
  Build()
  {
    const auto &             tile = m_Program.GetTile();
    const auto &             root = m_Options.root;
    std::vector<std::size_t> roots;
    Extent                   first;
    for (first[3] = 0; first[3] < tile[3]; first[3] += root[3])
      for (first[2] = 0; first[2] < tile[2]; first[2] += root[2])
        for (first[1] = 0; first[1] < tile[1]; first[1] += root[1])
          for (first[0] = 0; first[0] < tile[0]; first[0] += root[0])
          {
            OutputBox outputs{ first, first };
            for (int axis = 0; axis < Dimension; ++axis)
            {
              outputs.last[axis] = std::min(first[axis] + root[axis], tile[axis]);
            }
            roots.push_back(Divide(outputs, GetCore(outputs), {}));
          }
    m_Pieces = FindSharedPieces(m_Lists, m_Program.GetFootprint(), m_Options.division);
    m_Sorted.resize(m_Pieces.pieces.size());
    for (const auto part : roots)
    {
      Sort(m_Parts[part], {});
    }
    m_Program.SetOutputs(m_Outputs);
    m_Program.RemoveDeadCode();
    return std::move(m_Program);
  }

private:
  /** Outputs that are found together: what their windows have in common beyond the parent's core, and two halves. */
  struct Part
  {
    OutputBox                                                outputs;
    std::size_t                                              list{ 0 }; ///< what is added, but for …
    std::vector<std::pair<TileProgram::Value, std::int64_t>> runs;      ///< … pixels that are added several times, last
    std::vector<std::size_t>                                 halves;
  };

  /** The window of an output. */
  PixelCounts
  GetPixels(const Extent & output) const
  {
    PixelCounts pixels;
    for (const auto & pixel : m_Window.footprint->GetPixels())
    {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] = output[axis] + m_Window.radius[axis] + pixel.offset[axis];
      }
      pixels.emplace(m_Program.InputAt(position), pixel.weight);
    }
    return pixels;
  }

  /** What the windows of all outputs of a box have in common. */
  PixelCounts
  GetCore(const OutputBox & box) const
  {
    std::optional<PixelCounts> core;
    Extent                     output;
    for (output[3] = box.first[3]; output[3] < box.last[3]; ++output[3])
      for (output[2] = box.first[2]; output[2] < box.last[2]; ++output[2])
        for (output[1] = box.first[1]; output[1] < box.last[1]; ++output[1])
          for (output[0] = box.first[0]; output[0] < box.last[0]; ++output[0])
          {
            core = core ? Intersect(*core, GetPixels(output)) : GetPixels(output);
          }
    return *core;
  }

  /** Notes what a part adds to its parent's core, and divides it where its halves have the most in common. \returns the
   * part's number. */
  std::size_t
  Divide(const OutputBox & outputs, const PixelCounts & core, const PixelCounts & parentCore)
  {
    // A few pixels that count several times are merged last, when few values are left (AddRun). Many of them are sorted
    // like others.
    constexpr std::ptrdiff_t mostRuns = 2;
    Part                     part;
    auto                     added = Subtract(core, parentCore);
    const auto               isRun = [](const auto & entry) { return entry.second > 1; };
    if (std::count_if(added.begin(), added.end(), isRun) <= mostRuns)
    {
      std::copy_if(added.begin(), added.end(), std::back_inserter(part.runs), isRun);
      for (const auto & run : part.runs)
      {
        added.erase(run.first);
      }
    }
    part.outputs = outputs;
    part.list = m_Lists.size();
    m_Lists.push_back(std::move(added));

    std::int64_t most = -1;
    OutputBox    halves[2]{};
    PixelCounts  cores[2];
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if (outputs.GetLength(axis) > 1)
      {
        OutputBox tried[2] = { outputs, outputs };
        tried[0].last[axis] = tried[1].first[axis] = outputs.first[axis] + (outputs.GetLength(axis) + 1) / 2;
        PixelCounts triedCores[2] = { GetCore(tried[0]), GetCore(tried[1]) };
        const auto  values = CountValues(triedCores[0]) + CountValues(triedCores[1]);
        if (values > most)
        {
          most = values;
          for (const int half : { 0, 1 })
          {
            halves[half] = tried[half];
            cores[half] = std::move(triedCores[half]);
          }
        }
      }
    }
    for (int half = 0; half < 2 && most >= 0; ++half)
    {
      part.halves.push_back(Divide(halves[half], cores[half], core));
    }
    m_Parts.push_back(std::move(part));
    return m_Parts.size() - 1;
  }

  /** Finds the outputs of a part, given its parent's core. */
  void
  Sort(const Part & part, SortedCore core)
  {
    std::vector<SortedValues> lists;
    for (const auto piece : m_Pieces.ofList[part.list])
    {
      lists.push_back(GetSorted(piece));
    }
    core.values = MergeSorted(m_Program, core.values, MergeAllSorted(m_Program, std::move(lists)));
    Discard(core);
    for (const auto & run : part.runs)
    {
      AddRun(core, run.first, static_cast<std::size_t>(run.second));
      Discard(core);
    }
    if (part.halves.empty())
    {
      std::int64_t index = 0;
      for (int axis = Dimension - 1; axis >= 0; --axis)
      {
        index = index * m_Program.GetTile()[axis] + part.outputs.first[axis];
      }
      PutOutput(core.values, index, m_Outputs);
    }
    for (const auto half : part.halves)
    {
      Sort(m_Parts[half], core);
    }
  }

  /** The sorted values of a piece, built once. */
  const SortedValues &
  GetSorted(std::size_t number)
  {
    auto & sorted = m_Sorted[number];
    if (sorted.empty())
    {
      const auto & piece = m_Pieces.pieces[number];
      sorted = piece.first == SharedPieces::none
                 ? SortedValues(piece.values, piece.pixel)
                 : MergeSorted(m_Program, GetSorted(piece.first), GetSorted(piece.second));
    }
    return sorted;
  }

  /** Adds a pixel several times. Value k is then the pixel, but no less than what was so many places before and no more
   * than what was in this place. */
  void
  AddRun(SortedCore & core, TileProgram::Value pixel, std::size_t copies)
  {
    const auto & before = core.values;
    SortedValues result;
    for (std::size_t k = 0; k < before.size() + copies; ++k)
    {
      auto value = pixel;
      value = k < before.size() ? m_Program.Append(TileProgram::Operation::Min, value, before[k]) : value;
      value = k >= copies ? m_Program.Append(TileProgram::Operation::Max, value, before[k - copies]) : value;
      result.push_back(value);
    }
    core.values = std::move(result);
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

  TileProgram                     m_Program;
  TilingOptions                   m_Options;
  Window                          m_Window;
  std::vector<TileProgram::Value> m_Outputs;
  std::vector<Part>               m_Parts;
  std::vector<PixelCounts>        m_Lists;
  SharedPieces                    m_Pieces;
  std::vector<SortedValues>       m_Sorted; ///< of each piece
};

/** The tile, and halves of it along an axis, and single outputs. */
std::vector<Extent>
ListRoots(const Extent & tile)
{
  std::vector<Extent> roots{ tile };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (tile[axis] > 1)
    {
      auto root = tile;
      root[axis] /= 2;
      roots.push_back(root);
    }
  }
  roots.push_back({ { 1, 1, 1, 1 } });
  return roots;
}

} // namespace

TileProgram
BuildFootprintProgram(const Window & window, const Extent & tile, const TilingOptions & options)
{
  return SimplifyProgram(Builder(window, tile, options).Build());
}

std::vector<Extent>
ListFootprintTiles(const Window & window, bool isOneColumn)
{
  const std::int64_t  most = window.CountAxes() >= 3 ? 2 : 4;
  std::vector<Extent> tiles;
  const auto          limit = [&](int axis) { return window.radius[axis] > 0 ? most : 1; };
  for (std::int64_t x = 1; x <= (isOneColumn ? 1 : limit(0)); x *= 2)
    for (std::int64_t y = 1; y <= (isOneColumn ? 4 : 1) * limit(1); y *= 2)
      for (std::int64_t z = 1; z <= std::min<std::int64_t>(limit(2), 2); z *= 2)
        for (std::int64_t w = 1; w <= std::min<std::int64_t>(limit(3), 2); w *= 2)
        {
          tiles.push_back({ { x, y, z, w } });
        }
  return tiles;
}

namespace
{

struct CountedTiling
{
  FootprintTiling tiling;
  double          operations;
};

/** The way to put a tile's program together that takes the fewest operations, if one keeps few enough values alive. */
std::optional<CountedTiling>
FindTilingOfTile(const Window &              window,
                 const Extent &              tile,
                 const std::vector<Extent> & roots,
                 std::size_t                 mostLiveValues)
{
  std::optional<CountedTiling> best;
  for (const auto & root : roots)
  {
    for (const auto division : { Division::Halves, Division::PowerFirst, Division::PowerLast })
    {
      const TilingOptions options{ root, division };
      const auto          program = BuildFootprintProgram(window, tile, options);
      const auto          cost = CountProgram(program, LowerProgram(program, { false, 0 }));
      if (cost.liveValues <= mostLiveValues && (!best || cost.operations < best->operations))
      {
        best = { { tile, options }, cost.operations };
      }
    }
  }
  return best;
}

} // namespace

FootprintTiling
FindFootprintTiling(const Window & window, const std::vector<Extent> & tiles, std::size_t mostLiveValues)
{
  // Of many pixels only tiles that share much are worth the time to count them: those not much smaller than the largest
  // that keeps few enough values alive.
  constexpr std::size_t        fewPixels = 32;
  const bool                   isLarge = window.footprint->GetPixels().size() > fewPixels;
  std::int64_t                 largest = 1;
  std::optional<CountedTiling> best;
  for (auto tile = tiles.rbegin(); tile != tiles.rend(); ++tile)
  {
    if (isLarge && 4 * Volume(*tile) < largest)
    {
      continue;
    }
    const auto found =
      FindTilingOfTile(window, *tile, isLarge ? std::vector<Extent>{ *tile } : ListRoots(*tile), mostLiveValues);
    largest = found ? std::max(largest, Volume(*tile)) : largest;
    // Of two alike the smaller tile is taken.
    best = found && (!best || found->operations <= best->operations) ? found : best;
  }
  return best ? best->tiling : FootprintTiling{ tiles.front(), { tiles.front() } };
}

FootprintTiling
ChooseFootprintTiling(const Window & window, std::size_t mostLiveValues)
{
  using Key = std::pair<Window, std::size_t>;
  // Never destroyed: a thread may be at work when the process ends.
  static auto & known = *new Remembered<Key, FootprintTiling>(256);
  return known.Get({ window, mostLiveValues },
                   [&] { return FindFootprintTiling(window, ListFootprintTiles(window, false), mostLiveValues); });
}

} // namespace cudamedian
