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
#include "ProgramLowering.h"

#include <algorithm>
#include <map>

namespace cudamedian
{
namespace
{

/** Instructions a clock and SM, measured on an H200, befe859. */
constexpr double minMaxPerClock = 62;
constexpr double multiplyAddPerClock = 64;
constexpr double issuedPerClock = 128;

std::vector<int>
CountUses(const TileProgram & program)
{
  std::vector<int> uses(program.GetNumberOfInputs() + program.GetInstructions().size(), 0);
  for (const auto & instruction : program.GetInstructions())
  {
    ++uses[instruction.a];
    ++uses[instruction.b];
  }
  for (const auto * results : { &program.GetOutputs(), &program.GetExports() })
  {
    for (const auto result : *results)
    {
      uses[result] += 2; // needed by itself, whoever else uses it
    }
  }
  return uses;
}

/** Operands of each instruction after joining; empty where an instruction was joined into its only user. */
std::vector<std::vector<TileProgram::Value>>
JoinOperands(const TileProgram & program, bool threeInput)
{
  const auto & instructions = program.GetInstructions();
  const auto   inputs = program.GetNumberOfInputs();
  const auto   uses = CountUses(program);

  std::vector<std::vector<TileProgram::Value>> operands(instructions.size());
  std::vector<bool>                            joined(instructions.size(), false);
  for (std::size_t n = instructions.size(); n-- > 0;)
  {
    if (joined[n])
    {
      continue;
    }
    const auto & instruction = instructions[n];
    operands[n] = { instruction.a, instruction.b };
    for (const bool first : { true, false })
    {
      const auto operand = first ? instruction.a : instruction.b;
      if (threeInput && operand >= inputs && uses[operand] == 1 &&
          instructions[operand - inputs].operation == instruction.operation)
      {
        const auto & inner = instructions[operand - inputs];
        operands[n] = { inner.a, inner.b, first ? instruction.b : instruction.a };
        joined[operand - inputs] = true;
        break;
      }
    }
  }
  return operands;
}

} // namespace

LoweredProgram
LowerProgram(const TileProgram & program, const LoweringOptions & options)
{
  using Operation = TileProgram::Operation;
  using Pair = std::pair<TileProgram::Value, TileProgram::Value>;
  const auto & instructions = program.GetInstructions();
  const auto   operands = JoinOperands(program, options.threeInput);

  LoweredProgram                     lowered;
  std::map<Pair, TileProgram::Value> minOfPair;
  int                                share = 0;
  for (std::size_t n = 0; n < instructions.size(); ++n)
  {
    if (operands[n].empty())
    {
      continue;
    }
    const bool                  isMin = instructions[n].operation == Operation::Min;
    LoweredProgram::Instruction instruction{};
    instruction.result = static_cast<TileProgram::Value>(program.GetNumberOfInputs() + n);
    instruction.numberOfOperands = static_cast<int>(operands[n].size());
    std::copy(operands[n].begin(), operands[n].end(), instruction.operands);
    if (instruction.numberOfOperands == 3)
    {
      instruction.operation = isMin ? LoweredOperation::Min3 : LoweredOperation::Max3;
    }
    else
    {
      instruction.operation = isMin ? LoweredOperation::Min : LoweredOperation::Max;
      const Pair pair(std::min(operands[n][0], operands[n][1]), std::max(operands[n][0], operands[n][1]));
      const auto min = minOfPair.find(pair);
      if (isMin)
      {
        minOfPair[pair] = instruction.result;
      }
      else if (min != minOfPair.end() && (share += options.sumPercent) >= 100)
      {
        share -= 100;
        instruction.operation = LoweredOperation::MaxBySum;
        instruction.operands[instruction.numberOfOperands++] = min->second;
      }
    }
    lowered.instructions.push_back(instruction);
  }
  return lowered;
}

double
GetFloorClocks(const ProgramCost & cost)
{
  return std::max({ cost.minMax / minMaxPerClock,
                    cost.multiplyAdd / multiplyAddPerClock,
                    (cost.minMax + cost.multiplyAdd) / issuedPerClock });
}

ProgramCost
CountProgram(const TileProgram & program, const LoweredProgram & lowered)
{
  const auto  inputs = program.GetNumberOfInputs();
  ProgramCost cost;
  for (const auto & instruction : lowered.instructions)
  {
    (instruction.operation == LoweredOperation::MaxBySum ? cost.multiplyAdd : cost.minMax) +=
      instruction.operation == LoweredOperation::MaxBySum ? 2 : 1;
  }

  const auto               values = inputs + program.GetInstructions().size();
  std::vector<std::size_t> lastUse(values, 0);
  for (std::size_t n = 0; n < lowered.instructions.size(); ++n)
  {
    for (int i = 0; i < lowered.instructions[n].numberOfOperands; ++i)
    {
      lastUse[lowered.instructions[n].operands[i]] = n;
    }
  }
  std::vector<bool> alive(values, false);
  std::size_t       live = 0;
  for (std::size_t n = 0; n < lowered.instructions.size(); ++n)
  {
    const auto & instruction = lowered.instructions[n];
    const auto   begin = [&](TileProgram::Value value) {
      live += alive[value] ? 0 : 1;
      alive[value] = true;
    };
    std::for_each(instruction.operands, instruction.operands + instruction.numberOfOperands, [&](auto operand) {
      if (operand < inputs)
      {
        begin(operand);
      }
    });
    begin(instruction.result);
    cost.liveValues = std::max(cost.liveValues, live);
    const auto end = [&](TileProgram::Value value) {
      live -= alive[value] ? 1 : 0;
      alive[value] = false;
    };
    std::for_each(instruction.operands, instruction.operands + instruction.numberOfOperands, [&](auto operand) {
      if (lastUse[operand] == n)
      {
        end(operand);
      }
    });
    if (lastUse[instruction.result] == 0)
    {
      end(instruction.result); // an output, stored at once
    }
  }

  const auto pixels = static_cast<double>(Volume(program.GetTile()));
  cost.operations = static_cast<double>(program.GetInstructions().size()) / pixels;
  cost.minMax /= pixels;
  cost.multiplyAdd /= pixels;
  cost.clocks = GetFloorClocks(cost);
  return cost;
}

} // namespace cudamedian
