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
#include "KernelProgram.h"

#include "DivideUp.h"
#include "LinePolicy.h"
#include "MaskedLayout.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cudamedian
{

SharedLayout
LayOut(const ProgramPhases & phases, const KernelKind & kind)
{
  SharedLayout layout;
  layout.keys = 16 / kind.GetRegisterBytes();
  for (std::size_t value = 0; value < phases.groupOfValue.size(); ++value)
  {
    const bool startsGroup = value == 0 || phases.groupOfValue[value] != phases.groupOfValue[value - 1];
    if (startsGroup || layout.places.back().place == layout.keys - 1)
    {
      layout.places.push_back({ layout.numberOfVectors++, 0 });
    }
    else
    {
      layout.places.push_back({ layout.places.back().vector, layout.places.back().place + 1 });
    }
  }
  for (const auto & phase : phases.phases)
  {
    layout.firstPosition = std::min(layout.firstPosition, phase.first);
    layout.lastPosition = std::max(layout.lastPosition, phase.last);
  }
  return layout;
}

namespace
{

/** Columns beside a block's outputs that its phases read. */
int
GetMargin(const ProgramPhases & phases)
{
  std::int64_t margin = 0;
  for (const auto & phase : phases.phases)
  {
    const auto & program = phase.program;
    const auto   radius = program.GetWindow().radius[0];
    const auto   tile = program.GetTile()[0];
    margin = std::max(margin, radius);
    for (const auto & instruction : program.GetInstructions())
    {
      for (const auto operand : { instruction.a, instruction.b })
      {
        if (operand < program.GetNumberOfPixels())
        {
          const auto column = static_cast<std::int64_t>(operand) % program.GetFootprint()[0];
          margin =
            std::max({ margin, radius - phase.first * tile - column, (phase.last - 1) * tile + column - radius + 1 });
        }
      }
    }
  }
  return static_cast<int>(margin);
}

} // namespace

TileProgram
BuildTileProgram(const Window & window, const KernelPolicy & policy)
{
  return BuildHierarchicalTilingProgram(window, policy.tile, policy.tiling);
}

ProgramPhases
BuildKernelPhases(const Window & window, const KernelPolicy & policy)
{
  return CutIntoPhases(BuildTileProgram(window, policy), policy.phases);
}

KernelProgram
BuildKernelProgram(const Window & window, const KernelPolicy & policy, const KernelKind & kind)
{
  return BuildKernelProgram(BuildTileProgram(window, policy), policy, kind);
}

KernelProgram
BuildKernelProgram(const TileProgram & tileProgram, const KernelPolicy & policy, const KernelKind & kind)
{
  if (tileProgram.GetTile() != policy.tile)
  {
    throw std::invalid_argument("BuildKernelProgram: the program's tile has " +
                                std::to_string(Volume(tileProgram.GetTile())) + " outputs in another shape than the " +
                                std::to_string(Volume(policy.tile)) + " of the policy");
  }
  KernelProgram result;
  result.phases = CutIntoPhases(tileProgram, policy.phases);
  result.shared = LayOut(result.phases, kind);
  result.margin = GetMargin(result.phases);
  const auto loadKeys = GetLoadKeys(policy.tile, kind);
  for (const auto & phase : result.phases.phases)
  {
    const auto & program = phase.program;
    const auto   pixels = program.GetNumberOfPixels();
    // Groups are vectors: of the footprint by line and column, then of shared values by vector and position.
    const auto width = static_cast<std::size_t>(program.GetFootprint()[0]) + 8;
    const auto positions = static_cast<std::size_t>(result.shared.lastPosition - result.shared.firstPosition + 1);
    const auto groupOf = [&](TileProgram::Value input) {
      if (input < pixels)
      {
        const auto vector = GetFootprintVector(program, input, loadKeys);
        return vector.line * width + static_cast<std::size_t>(vector.column + loadKeys);
      }
      const auto & import = phase.imports[input - pixels];
      return pixels * width + result.shared.places[import.value].vector * positions +
             static_cast<std::size_t>(import.position - result.shared.firstPosition);
    };
    result.lowered.push_back(LowerProgram(program, policy.lowering));
    result.plans.push_back(PlanRegisters(program, result.lowered.back(), policy.registers, groupOf));
    result.savedValues = std::max(result.savedValues, result.plans.back().numberOfSlots);
  }
  return result;
}

std::vector<bool>
FindReadPixels(const TileProgram & program)
{
  std::vector<bool> isRead(program.GetNumberOfPixels(), false);
  for (const auto & instruction : program.GetInstructions())
  {
    for (const auto operand : { instruction.a, instruction.b })
    {
      if (operand < isRead.size())
      {
        isRead[operand] = true;
      }
    }
  }
  return isRead;
}

PhasesCost
CountPhases(const ProgramPhases & phases, const LoweringOptions & options, int tilesOfRow)
{
  PhasesCost sum;
  for (const auto & phase : phases.phases)
  {
    const auto & program = phase.program;
    const auto   cost = CountProgram(program, LowerProgram(program, options));
    const auto   runs = static_cast<double>(tilesOfRow + phase.last - phase.first) / tilesOfRow;
    sum.cost.operations += cost.operations * runs;
    sum.cost.minMax += cost.minMax * runs;
    sum.cost.multiplyAdd += cost.multiplyAdd * runs;
    sum.cost.clocks += cost.clocks * runs;
    sum.cost.liveValues = std::max(sum.cost.liveValues, cost.liveValues);

    const auto pixels = static_cast<double>(Volume(program.GetTile()));
    const auto isRead = FindReadPixels(program);
    const auto moved = static_cast<std::size_t>(std::count(isRead.begin(), isRead.end(), true)) + phase.imports.size() +
                       phase.exports.size();
    sum.code += (cost.minMax + instructionsOfAdd * cost.multiplyAdd) * pixels + static_cast<double>(moved) / 4;
  }
  sum.code += instructionsOfOutput * static_cast<double>(Volume(phases.phases.back().program.GetTile()));
  return sum;
}

int
GetLoadKeys(const Extent & tile, const KernelKind & kind)
{
  int keys = 1;
  while (2 * keys * kind.GetRegisterBytes() <= 16 && tile[0] % (2 * keys) == 0)
  {
    keys *= 2;
  }
  return keys;
}

FootprintVector
GetFootprintVector(const TileProgram & program, TileProgram::Value input, int loadKeys)
{
  const auto width = static_cast<std::size_t>(program.GetFootprint()[0]);
  const auto shift = (loadKeys - static_cast<int>(program.GetWindow().radius[0] % loadKeys)) % loadKeys;
  const auto column = static_cast<int>(input % width) + shift;
  return { input / width, column / loadKeys * loadKeys - shift, column % loadKeys };
}

namespace
{

/** Pixels that a thread stages at once. */
int
GetStagePixels(const KernelKind & kind)
{
  return kind.pixelBytes == 1 ? 8 : 16 / kind.pixelBytes;
}

/** Columns that are staged on either side of a block's outputs, whole vectors. */
int
GetHalo(const KernelKind & kind, const KernelProgram & program)
{
  return RoundUp(program.margin, GetStagePixels(kind));
}

} // namespace

KernelShape
GetKernelShape(const Window &        window,
               const KernelPolicy &  policy,
               const KernelKind &    kind,
               const KernelProgram & program)
{
  if (policy.lineBytes > 0)
  {
    return GetLineShape(window, policy, kind);
  }
  const auto  halo = GetHalo(kind, program);
  KernelShape shape;
  shape.threads = policy.blockX * policy.blockY;
  shape.block[0] = policy.blockX * static_cast<int>(policy.tile[0]);
  shape.block[1] = policy.blockY * static_cast<int>(policy.tile[1]) * kind.GetPixels();
  shape.block[2] = static_cast<int>(policy.tile[2]);
  shape.block[3] = static_cast<int>(policy.tile[3]);
  if (policy.steps > 0)
  {
    shape.marchAxis = GetMarchAxis(window);
    shape.steps = policy.steps;
    shape.residentBlocks = policy.residentBlocks;
    shape.stepLength = shape.block[shape.marchAxis] / (shape.marchAxis == 1 ? kind.GetPixels() : 1);
  }
  // As many lines behind as before: a kernel knows the radius alone.
  const auto added = [&](int axis) { return static_cast<int>(2 * window.radius[axis]); };
  const auto rows = shape.block[1] / kind.GetPixels() + added(1);
  const auto staged = (shape.block[0] + 2 * halo) * rows * (shape.block[2] + added(2)) * (shape.block[3] + added(3));
  const auto positions = policy.blockX + program.shared.lastPosition - program.shared.firstPosition;
  const auto shared =
    static_cast<int>(program.shared.numberOfVectors) * program.shared.keys * policy.blockY * positions;
  shape.sharedBytes =
    (staged + shared + static_cast<int>(program.savedValues) * shape.threads) * kind.GetRegisterBytes();
  return shape;
}

Window
GetMaskedWindow(const Window & ofMap)
{
  auto window = ofMap;
  if (window.GetLargestRadius() == 1)
  {
    window.rank = 0;
    window.ranks = window.CountPixels() / 2 + 1;
  }
  return window;
}

bool
HasTurns(const Window & window)
{
  return window.rank > 0;
}

bool
CanReadMasks(const Window & window, const KernelPolicy & policy, const KernelKind & kind, const KernelProgram & program)
{
  const auto parts = kind.GetPixels();
  const bool isKnown = kind.packing == KeyPacking::Pair || kind.packing == KeyPacking::HalfPair ||
                       (kind.packing == KeyPacking::Single && kind.pixelBytes <= 4);
  const bool areRanks = HasTurns(window) ? window.ranks == window.CountPixels() / window.GetSize(0) + 1
                                         : window.ranks == window.CountPixels() / 2 + 1;
  return isKnown && window.footprint == nullptr && !window.HasEvenSize() && areRanks &&
         window.GetSize(0) <= bitsOfWord && policy.lineBytes == 0 && policy.steps == 0 &&
         GetHalo(kind, program) < bitsOfWord && policy.blockX * policy.tile[0] % bitsOfWord == 0 &&
         bitsOfWord / parts % policy.tile[0] == 0;
}

bool
CanTellOutliers(const KernelPolicy & policy, const KernelKind & kind)
{
  return kind.packing != KeyPacking::BFloatPair && policy.lineBytes == 0;
}

KernelShape
GetMaskedShape(const Window &        window,
               const KernelPolicy &  policy,
               const KernelKind &    kind,
               const KernelProgram & program)
{
  auto       shape = GetKernelShape(window, policy, kind, program);
  const auto added = [&](int axis) { return static_cast<int>(2 * window.radius[axis]); };
  const auto rows = policy.blockY * static_cast<int>(policy.tile[1]);
  const auto slices = shape.block[2];
  const auto volumes = shape.block[3];
  const auto layout =
    MakeMaskedLayout(shape.block[0] + 2 * GetHalo(kind, program),
                     (rows + added(1)) * (slices + added(2)) * (volumes + added(3)) * kind.GetPixels(),
                     kind.GetPixels(),
                     shape.block[0],
                     rows * slices * volumes,
                     static_cast<int>(window.CountPixels() / window.GetSize(0)),
                     static_cast<int>(window.GetSize(0)),
                     HasTurns(window));
  shape.sharedBytes += 4 * layout.CountWords();
  return shape;
}

} // namespace cudamedian
