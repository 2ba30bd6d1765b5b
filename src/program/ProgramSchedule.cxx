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
#include "ProgramSchedule.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace cudamedian
{
namespace
{

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

/** A min and a max of the same operands, or one of them alone. */
struct Step
{
  TileProgram::Value a;
  TileProgram::Value b;
  std::size_t        min{ never }; // the value it defines
  std::size_t        max{ never };

  ProgramSchedule::Join join{ ProgramSchedule::Join::None };
};

/** Joins each instruction with the next one where they are the min and the max of one pair. */
std::vector<Step>
PairUp(const TileProgram & program)
{
  const auto &      instructions = program.GetInstructions();
  std::vector<Step> steps;
  for (std::size_t n = 0; n < instructions.size(); ++n)
  {
    const auto & instruction = instructions[n];
    const auto   value = program.GetNumberOfInputs() + n;
    const bool   isMin = instruction.operation == TileProgram::Operation::Min;
    const bool   joins = !steps.empty() && steps.back().a == instruction.a && steps.back().b == instruction.b &&
                       (isMin ? steps.back().min : steps.back().max) == never;
    if (!joins)
    {
      steps.push_back({ instruction.a, instruction.b });
    }
    (isMin ? steps.back().min : steps.back().max) = value;
  }
  return steps;
}

/** Puts behind each step, where it can be, one that alone uses one of its results. */
std::vector<Step>
JoinSteps(const TileProgram & program, std::vector<Step> steps)
{
  const auto               values = program.GetNumberOfInputs() + program.GetInstructions().size();
  std::vector<std::size_t> uses(values, 0);
  std::vector<std::size_t> user(values, never); // the last step that uses a value
  std::vector<bool>        isThere(values, false);
  std::fill_n(isThere.begin(), program.GetNumberOfInputs(), true);
  for (std::size_t n = 0; n < steps.size(); ++n)
  {
    for (const auto operand : { steps[n].a, steps[n].b })
    {
      ++uses[operand];
      user[operand] = n;
    }
  }
  for (const auto output : program.GetOutputs())
  {
    uses[output] += 2;
  }

  std::vector<Step> ordered;
  std::vector<bool> isDone(steps.size(), false);
  const auto        add = [&](std::size_t n) {
    isDone[n] = true;
    ordered.push_back(steps[n]);
    for (const auto value : { steps[n].min, steps[n].max })
    {
      if (value != never)
      {
        isThere[value] = true;
      }
    }
  };
  for (std::size_t n = 0; n < steps.size(); ++n)
  {
    if (isDone[n])
    {
      continue;
    }
    add(n);
    for (const auto value : { steps[n].min, steps[n].max })
    {
      const auto next = value != never && uses[value] == 1 ? user[value] : never;
      const auto takes = [&](std::size_t result) { return steps[next].a == result || steps[next].b == result; };
      if (next != never && isThere[steps[next].a] && isThere[steps[next].b] &&
          !(takes(steps[n].min) && takes(steps[n].max)))
      {
        ordered.back().join = value == steps[n].min ? ProgramSchedule::Join::Low : ProgramSchedule::Join::High;
        add(next);
        break;
      }
    }
  }
  return ordered;
}

} // namespace

ProgramSchedule
ScheduleProgram(const TileProgram & program)
{
  const auto inputs = program.GetNumberOfInputs();
  const auto steps = JoinSteps(program, PairUp(program));

  std::vector<std::size_t> lastUse(inputs + program.GetInstructions().size(), 0);
  for (std::size_t n = 0; n < steps.size(); ++n)
  {
    lastUse[steps[n].a] = n;
    lastUse[steps[n].b] = n;
  }
  for (const auto output : program.GetOutputs())
  {
    lastUse[output] = never;
  }

  ProgramSchedule            schedule;
  std::vector<std::size_t>   operand(lastUse.size(), never);
  std::vector<std::uint16_t> freeSlots;
  std::size_t                slots = 0;
  for (std::size_t input = 0; input < inputs; ++input)
  {
    operand[input] = input;
  }
  const auto take = [&](std::size_t value) -> std::uint16_t {
    if (value == never)
    {
      return 0;
    }
    if (freeSlots.empty())
    {
      if (inputs + slots >= std::numeric_limits<std::uint16_t>::max())
      {
        throw std::invalid_argument("ScheduleProgram: more than 65,535 operands");
      }
      freeSlots.push_back(static_cast<std::uint16_t>(slots++));
    }
    const auto slot = freeSlots.back();
    freeSlots.pop_back();
    operand[value] = inputs + slot;
    return slot;
  };
  const auto release = [&](TileProgram::Value value, std::size_t step) {
    if (value >= inputs && lastUse[value] == step)
    {
      freeSlots.push_back(static_cast<std::uint16_t>(operand[value] - inputs));
      lastUse[value] = never; // once, when both operands are the same value
    }
  };

  for (std::size_t n = 0; n < steps.size(); ++n)
  {
    const auto &                 step = steps[n];
    ProgramSchedule::Instruction instruction{};
    instruction.operation = step.max == never   ? ProgramSchedule::Operation::Min
                            : step.min == never ? ProgramSchedule::Operation::Max
                                                : ProgramSchedule::Operation::MinMax;
    instruction.a = static_cast<std::uint16_t>(operand[step.a]);
    instruction.b = static_cast<std::uint16_t>(operand[step.b]);
    release(step.a, n);
    release(step.b, n);
    instruction.low = take(step.min);
    instruction.high = take(step.max);
    schedule.instructions.push_back(instruction);
    schedule.joins.push_back(step.join);
  }
  schedule.numberOfInputs = static_cast<std::uint16_t>(inputs);
  schedule.numberOfSlots = static_cast<std::uint16_t>(slots);
  for (const auto output : program.GetOutputs())
  {
    schedule.outputs.push_back(static_cast<std::uint16_t>(operand[output]));
  }
  return schedule;
}

} // namespace cudamedian
