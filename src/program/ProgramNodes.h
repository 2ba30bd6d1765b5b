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
#ifndef ProgramNodes_h
#define ProgramNodes_h

#include "TileProgram.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace cudamedian
{

/** The values of a tile program as nodes. Values that are the same but for a shift by whole tiles are one node: a tile
 * has it at one position or more, and its neighbours have it at others. */
class ProgramNodes
{
public:
  /** A node at a position: how many tiles the value lies to the right. */
  struct Instance
  {
    std::size_t node;
    int         position;

    bool
    operator<(const Instance & other) const
    {
      return node != other.node ? node < other.node : position < other.position;
    }
    bool
    operator==(const Instance & other) const
    {
      return node == other.node && position == other.position;
    }
  };

  /** A value, up to a shift by whole tiles. Those who cut the program note the last three. */
  struct Node
  {
    bool                    isPixel{ false };
    Extent                  pixel{}; ///< where it lies in the footprint when its position is 0
    TileProgram::Operation  operation{ TileProgram::Operation::Min };
    std::array<Instance, 2> operands{};       ///< positions relative to the node's
    std::int64_t            firstColumn{ 0 }; ///< of its pixels when its position is 0
    std::int64_t            lastColumn{ 0 };
    int                     position{ 0 };       ///< where a tile has it first …
    bool                    isRepeated{ false }; ///< … and whether it has it elsewhere too
    int                     level{ -1 };         ///< the phase that computes it for other tiles, or -1
    std::set<int>           importedFrom;        ///< positions
    std::size_t             order{ 0 };          ///< of its first import among all
  };

  /** Numbers the values of a program. \param firstColumn see PhaseOptions. */
  ProgramNodes(const TileProgram & program, std::int64_t firstColumn)
  {
    NumberPixels(program, firstColumn);
    NumberOperations(program);
  }

  std::vector<Node>     nodes;
  std::vector<Instance> instances; ///< of the program's values
  int                   firstPosition{ 0 };
  int                   lastPosition{ 0 };

private:
  /** What makes a node what it is. */
  struct Computation
  {
    TileProgram::Operation  operation{ TileProgram::Operation::Min };
    std::array<Instance, 2> operands{};

    bool
    operator==(const Computation & other) const
    {
      return operation == other.operation && operands == other.operands;
    }
    /** The hash of a computation. */
    std::size_t
    operator()(const Computation & computation) const
    {
      std::size_t hash = static_cast<std::size_t>(computation.operation);
      for (const auto & operand : computation.operands)
      {
        hash = (hash * 1000003 + operand.node) * 1000003 + static_cast<std::size_t>(operand.position);
      }
      return hash;
    }
  };

  /** Rounds down. */
  static std::int64_t
  Divide(std::int64_t a, std::int64_t b)
  {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
  }

  /** Two pixels get the same node when they lie alike in the columns of two tiles. */
  void
  NumberPixels(const TileProgram & program, std::int64_t firstColumn)
  {
    const auto & footprint = program.GetFootprint();
    const auto   width = program.GetTile()[0];

    std::map<Extent, std::size_t> pixels;
    for (TileProgram::Value input = 0; input < program.GetNumberOfPixels(); ++input)
    {
      Extent pixel;
      auto   rest = static_cast<std::int64_t>(input);
      for (int axis = 0; axis < Dimension; ++axis)
      {
        pixel[axis] = rest % footprint[axis];
        rest /= footprint[axis];
      }
      const auto position = Divide(pixel[0] - firstColumn, width);
      pixel[0] -= position * width;
      const auto [entry, isNew] = pixels.emplace(pixel, nodes.size());
      if (isNew)
      {
        Node node;
        node.isPixel = true;
        node.pixel = pixel;
        node.firstColumn = node.lastColumn = pixel[0];
        nodes.push_back(node);
      }
      Add({ entry->second, static_cast<int>(position) }, isNew);
    }
  }

  /** Two values get the same node when they are computed alike from the same nodes at the same relative positions. */
  void
  NumberOperations(const TileProgram & program)
  {
    const auto width = program.GetTile()[0];

    std::unordered_map<Computation, std::size_t, Computation> operations;
    for (const auto & instruction : program.GetInstructions())
    {
      std::array<Instance, 2> operands{ instances[instruction.a], instances[instruction.b] };
      const int               position = std::min(operands[0].position, operands[1].position);
      for (auto & operand : operands)
      {
        operand.position -= position;
      }
      std::sort(operands.begin(), operands.end());
      const auto [entry, isNew] = operations.emplace(Computation{ instruction.operation, operands }, nodes.size());
      if (isNew)
      {
        Node node;
        node.operation = instruction.operation;
        node.operands = operands;
        node.firstColumn = std::numeric_limits<std::int64_t>::max();
        for (const auto & operand : operands)
        {
          const auto & other = nodes[operand.node];
          node.firstColumn = std::min(node.firstColumn, other.firstColumn + operand.position * width);
          node.lastColumn = std::max(node.lastColumn, other.lastColumn + operand.position * width);
        }
        nodes.push_back(node);
      }
      Add({ entry->second, position }, isNew);
    }
  }

  void
  Add(const Instance & instance, bool isNew)
  {
    auto & node = nodes[instance.node];
    node.position = isNew ? instance.position : node.position;
    node.isRepeated = node.isRepeated || node.position != instance.position;
    firstPosition = std::min(firstPosition, instance.position);
    lastPosition = std::max(lastPosition, instance.position);
    instances.push_back(instance);
  }
};

} // namespace cudamedian

#endif
