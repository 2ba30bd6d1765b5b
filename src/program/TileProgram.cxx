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
#include "TileProgram.h"

#include <stdexcept>

namespace cudamedian
{

TileProgram::TileProgram(const Window & window, const Extent & tile, std::size_t otherInputs)
  : m_Window(window)
  , m_Tile(tile)
  , m_Footprint(window.GetFootprint(tile))
{
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (window.radius[axis] < 0 || tile[axis] < 1)
    {
      throw std::invalid_argument("TileProgram: along axis " + std::to_string(axis) + " the radius is " +
                                  std::to_string(window.radius[axis]) + " and the tile " + std::to_string(tile[axis]) +
                                  ", but they must be at least 0 and 1");
    }
  }
  m_NumberOfInputs = GetNumberOfPixels() + otherInputs;
}

TileProgram::Value
TileProgram::InputAt(const Extent & position) const
{
  std::int64_t index = 0;
  for (int axis = Dimension - 1; axis >= 0; --axis)
  {
    index = index * m_Footprint[axis] + position[axis];
  }
  return static_cast<Value>(index);
}

TileProgram::Value
TileProgram::Append(Operation operation, Value a, Value b)
{
  m_Instructions.push_back({ operation, a, b });
  return static_cast<Value>(m_NumberOfInputs + m_Instructions.size() - 1);
}

void
TileProgram::SetOutputs(std::vector<Value> outputs)
{
  const auto pixels = Volume(m_Tile);
  if (outputs.empty() || static_cast<std::int64_t>(outputs.size()) % pixels != 0)
  {
    throw std::invalid_argument("TileProgram: " + std::to_string(outputs.size()) + " outputs for a tile of " +
                                std::to_string(Volume(m_Tile)) + " pixels");
  }
  m_Outputs = std::move(outputs);
}

void
TileProgram::RemoveDeadCode()
{
  std::vector<bool> live(m_NumberOfInputs + m_Instructions.size(), false);
  for (const auto * results : { &m_Outputs, &m_Exports })
  {
    for (const auto result : *results)
    {
      live[result] = true;
    }
  }
  for (std::size_t n = m_Instructions.size(); n-- > 0;)
  {
    if (live[m_NumberOfInputs + n])
    {
      live[m_Instructions[n].a] = true;
      live[m_Instructions[n].b] = true;
    }
  }

  std::vector<Value> renamed(live.size());
  for (std::size_t input = 0; input < m_NumberOfInputs; ++input)
  {
    renamed[input] = static_cast<Value>(input);
  }
  std::vector<Instruction> kept;
  for (std::size_t n = 0; n < m_Instructions.size(); ++n)
  {
    if (live[m_NumberOfInputs + n])
    {
      renamed[m_NumberOfInputs + n] = static_cast<Value>(m_NumberOfInputs + kept.size());
      const auto & instruction = m_Instructions[n];
      kept.push_back({ instruction.operation, renamed[instruction.a], renamed[instruction.b] });
    }
  }
  for (auto * results : { &m_Outputs, &m_Exports })
  {
    for (auto & result : *results)
    {
      result = renamed[result];
    }
  }
  m_Instructions = std::move(kept);
}

} // namespace cudamedian
