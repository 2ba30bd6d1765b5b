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

/** Turns the instructions of a tile program into those of a GPU, one after the other. */
class Lowering
{
public:
  Lowering(const TileProgram & program, const LoweringOptions & options)
    : m_Program(program)
    , m_Options(options)
    , m_Inputs(program.GetNumberOfInputs())
    , m_Operands(JoinOperands(program, options.threeInput))
    , m_MinOf(m_Operands.size(), none)
    , m_Excess(m_Operands.size())
  {
    m_Lowered.numberOfValues = m_Inputs + m_Operands.size();
    FindMinima();
    if (options.excessPercent > 0)
    {
      ChooseExcesses();
    }
  }

  LoweredProgram
  Run()
  {
    for (std::size_t n = 0; n < m_Operands.size(); ++n)
    {
      if (!m_Operands[n].empty())
      {
        Lower(n);
      }
    }
    return std::move(m_Lowered);
  }

private:
  using Value = TileProgram::Value;
  static constexpr Value none = ~Value{ 0 };

  /** A maximum that exists as a sum alone. */
  struct Sum
  {
    Value a{ none };
    Value excess{ none }; ///< none: it exists itself
  };

  bool
  IsMin(std::size_t n) const
  {
    return m_Program.GetInstructions()[n].operation == TileProgram::Operation::Min;
  }

  /** For each max of two operands the min of the same two, if it is computed before. */
  void
  FindMinima()
  {
    std::map<std::pair<Value, Value>, Value> minOfPair;
    for (std::size_t n = 0; n < m_Operands.size(); ++n)
    {
      if (m_Operands[n].size() == 2)
      {
        const std::pair<Value, Value> pair(std::minmax(m_Operands[n][0], m_Operands[n][1]));
        if (IsMin(n))
        {
          minOfPair[pair] = static_cast<Value>(m_Inputs + n);
        }
        else if (const auto min = minOfPair.find(pair); min != minOfPair.end())
        {
          m_MinOf[n] = min->second;
        }
      }
    }
  }

  /** Chooses maxima that exist as sums alone: those that are no results, whose users take two operands, and neither two
   * sums nor, for a sum of their own, one. The operand that is used last is added, since it stays in its register. */
  void
  ChooseExcesses()
  {
    std::vector<std::vector<std::size_t>> users(m_Inputs + m_Operands.size());
    for (std::size_t n = 0; n < m_Operands.size(); ++n)
    {
      for (const auto operand : m_Operands[n])
      {
        users[operand].push_back(n);
      }
    }
    std::vector<bool> isResult(users.size(), false);
    for (const auto * results : { &m_Program.GetOutputs(), &m_Program.GetExports() })
    {
      for (const auto result : *results)
      {
        isResult[result] = true;
      }
    }
    int share = 0;
    for (std::size_t n = 0; n < m_Operands.size(); ++n)
    {
      const auto value = m_Inputs + n;
      const bool isSum = m_MinOf[n] != none && !isResult[value] && !FindSum(n).first &&
                         std::none_of(users[value].begin(), users[value].end(), [&](std::size_t user) {
                           return m_Operands[user].size() != 2 || FindSum(user).first;
                         });
      if (isSum && !users[value].empty() && (share += m_Options.excessPercent) >= 100)
      {
        share -= 100;
        const auto & pair = m_Operands[n];
        m_Excess[n].a = users[pair[0]].back() >= users[pair[1]].back() ? pair[0] : pair[1];
        m_Excess[n].excess = static_cast<Value>(m_Lowered.numberOfValues++);
      }
    }
  }

  /** An operand of an instruction that exists as a sum alone, and the other operand. */
  std::pair<const Sum *, Value>
  FindSum(std::size_t n) const
  {
    for (std::size_t i = 0; i < m_Operands[n].size(); ++i)
    {
      const auto operand = m_Operands[n][i];
      if (operand >= m_Inputs && m_Excess[operand - m_Inputs].excess != none)
      {
        return { &m_Excess[operand - m_Inputs], m_Operands[n][1 - i] };
      }
    }
    return { nullptr, none };
  }

  void
  Lower(std::size_t n)
  {
    const auto & operands = m_Operands[n];
    const auto   result = static_cast<Value>(m_Inputs + n);
    const bool   isMin = IsMin(n);
    if (operands.size() == 3)
    {
      Add(isMin ? LoweredOperation::Min3 : LoweredOperation::Max3, result, operands);
    }
    else if (m_Excess[n].excess != none)
    {
      const auto b = operands[0] == m_Excess[n].a ? operands[1] : operands[0];
      Add(LoweredOperation::Excess, m_Excess[n].excess, { b, m_MinOf[n] });
    }
    else if (const auto sum = FindSum(n); sum.first != nullptr)
    {
      Add(isMin ? LoweredOperation::MinOfSum : LoweredOperation::MaxOfSum,
          result,
          { sum.first->a, sum.first->excess, sum.second });
    }
    else if (m_MinOf[n] != none && (m_Share += m_Options.sumPercent) >= 100)
    {
      m_Share -= 100;
      Add(LoweredOperation::MaxBySum, result, { operands[0], operands[1], m_MinOf[n] });
    }
    else
    {
      Add(isMin ? LoweredOperation::Min : LoweredOperation::Max, result, operands);
    }
  }

  void
  Add(LoweredOperation operation, Value result, const std::vector<Value> & operands)
  {
    LoweredProgram::Instruction instruction{};
    instruction.operation = operation;
    instruction.result = result;
    instruction.numberOfOperands = static_cast<int>(operands.size());
    std::copy(operands.begin(), operands.end(), instruction.operands);
    m_Lowered.instructions.push_back(instruction);
  }

  const TileProgram &             m_Program;
  LoweringOptions                 m_Options;
  std::size_t                     m_Inputs;
  std::vector<std::vector<Value>> m_Operands; ///< empty where an instruction was joined into its only user
  std::vector<Value>              m_MinOf;
  std::vector<Sum>                m_Excess;
  int                             m_Share{ 0 };
  LoweredProgram                  m_Lowered{};
};

} // namespace

LoweredProgram
LowerProgram(const TileProgram & program, const LoweringOptions & options)
{
  return Lowering(program, options).Run();
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
    const bool isSum = instruction.operation == LoweredOperation::MaxBySum;
    const bool isExcess = instruction.operation == LoweredOperation::Excess;
    (isSum || isExcess ? cost.multiplyAdd : cost.minMax) += isSum ? 2 : 1;
  }

  const auto               values = lowered.numberOfValues;
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
