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
#include "ForgetfulSelection.h"

#include "PublishedNetworks.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cudamedian
{
namespace
{

using Value = TileProgram::Value;
using Operation = TileProgram::Operation;

/** A box of positions, from the first to before the last along each axis. */
struct Box
{
  Extent first;
  Extent last;

  bool
  Has(const Extent & position) const
  {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if (position[axis] < first[axis] || position[axis] >= last[axis])
      {
        return false;
      }
    }
    return true;
  }
};

/** Calls a function with each position of a box. */
template <typename TFunction>
void
ForEachPosition(const Box & box, const TFunction & function)
{
  Extent p;
  for (p[3] = box.first[3]; p[3] < box.last[3]; ++p[3])
    for (p[2] = box.first[2]; p[2] < box.last[2]; ++p[2])
      for (p[1] = box.first[1]; p[1] < box.last[1]; ++p[1])
        for (p[0] = box.first[0]; p[0] < box.last[0]; ++p[0])
        {
          function(p);
        }
}

class ForgetfulBuilder
{
public:
  ForgetfulBuilder(const Window & window, const Extent & tile)
    : m_Program(window, tile)
    , m_Outputs(static_cast<std::size_t>(Volume(tile)))
  {}

  TileProgram
  Build()
  {
    const auto & tile = m_Program.GetTile();
    Select({ { { 0, 0, 0, 0 } }, tile }, { Extent{}, Extent{} }, {}, m_Program.GetWindow().CountPixels());
    m_Program.SetOutputs(m_Outputs);
    m_Program.RemoveDeadCode();
    return std::move(m_Program);
  }

private:
  /** Goes on for a box of outputs with a list of what their windows share. \param seen what the list has had \param
   * unseen pixels that each window has beyond it */
  void
  Select(const Box & outputs, const Box & seen, std::vector<Value> list, std::int64_t unseen)
  {
    Box core;
    int longest = 0;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      core.first[axis] = outputs.last[axis] - 1;
      core.last[axis] = outputs.first[axis] + m_Program.GetWindow().GetSize(axis);
      longest = GetLength(outputs, axis) > GetLength(outputs, longest) ? axis : longest;
    }
    ForEachPosition(core, [&](const Extent & position) {
      if (!seen.Has(position))
      {
        list.push_back(m_Program.InputAt(position));
        --unseen;
        // Of the values seen so far, the median of the window is among the middle `unseen` + 1.
        if (static_cast<std::int64_t>(list.size()) >= unseen + 3)
        {
          Forget(list);
        }
      }
    });
    if (GetLength(outputs, longest) == 1)
    {
      const auto & tile = m_Program.GetTile();
      const auto & at = outputs.first;
      const auto   number = ((at[3] * tile[2] + at[2]) * tile[1] + at[1]) * tile[0] + at[0];
      m_Outputs[static_cast<std::size_t>(number)] = list.front();
      return;
    }
    const auto middle = outputs.first[longest] + (GetLength(outputs, longest) + 1) / 2;
    Box        half = outputs;
    half.last[longest] = middle;
    Select(half, core, list, unseen);
    half = outputs;
    half.first[longest] = middle;
    Select(half, core, list, unseen);
  }

  static std::int64_t
  GetLength(const Box & box, int axis)
  {
    return box.last[axis] - box.first[axis];
  }

  /** Removes the least and the greatest value of a list, with 3n/2 - 2 exchanges, rounded up. */
  void
  Forget(std::vector<Value> & list)
  {
    // The lesser of each pair may be the least, the greater the greatest.
    std::vector<Value> lesser;
    std::vector<Value> greater;
    std::vector<Value> kept;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2)
    {
      const auto [least, greatest] = AppendExchange(m_Program, list[i], list[i + 1]);
      lesser.push_back(least);
      greater.push_back(greatest);
    }
    const auto least = Find(Operation::Min, lesser, kept);
    if (list.size() % 2 == 1)
    {
      // One without a partner may be the least. What is not, may be the greatest.
      greater.push_back(AppendExchange(m_Program, least, list.back()).second);
    }
    Find(Operation::Max, greater, kept);
    list = std::move(kept);
  }

  /** The least or the greatest candidate. Pairs are exchanged, then pairs of the winners and so on; losers are kept. */
  Value
  Find(Operation wanted, std::vector<Value> candidates, std::vector<Value> & kept)
  {
    while (candidates.size() > 1)
    {
      std::vector<Value> winners;
      for (std::size_t i = 0; i + 1 < candidates.size(); i += 2)
      {
        const auto [least, greatest] = AppendExchange(m_Program, candidates[i], candidates[i + 1]);
        winners.push_back(wanted == Operation::Min ? least : greatest);
        kept.push_back(wanted == Operation::Min ? greatest : least);
      }
      if (candidates.size() % 2 == 1)
      {
        winners.push_back(candidates.back());
      }
      candidates = std::move(winners);
    }
    return candidates.front();
  }

  TileProgram        m_Program;
  std::vector<Value> m_Outputs;
};

} // namespace

TileProgram
BuildForgetfulProgram(const Window & window, const Extent & tile)
{
  CheckMedianOfBox(window, "BuildForgetfulProgram");
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (tile[axis] < 1 || tile[axis] > window.GetSize(axis))
    {
      throw std::invalid_argument("BuildForgetfulProgram: along axis " + std::to_string(axis) + " the tile is " +
                                  std::to_string(tile[axis]) + " but must be from 1 to the window's " +
                                  std::to_string(window.GetSize(axis)));
    }
  }
  return ForgetfulBuilder(window, tile).Build();
}

} // namespace cudamedian
