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
#include "RegisterPlan.h"

#include <limits>
#include <map>
#include <set>

namespace cudamedian
{
namespace
{

using Value = TileProgram::Value;

class RegisterPlanner
{
public:
  RegisterPlanner(const TileProgram &                       program,
                  const LoweredProgram &                    lowered,
                  std::size_t                               registers,
                  const std::function<std::size_t(Value)> & groupOf)
    : m_Lowered(lowered)
    , m_Registers(registers)
    , m_Inputs(program.GetNumberOfInputs())
    , m_Values(lowered.numberOfValues)
    , m_GroupOf(groupOf)
  {
    for (std::size_t n = 0; n < lowered.instructions.size(); ++n)
    {
      const auto & instruction = lowered.instructions[n];
      for (int i = 0; i < instruction.numberOfOperands; ++i)
      {
        m_Values[instruction.operands[i]].uses.push_back(n);
      }
    }
    for (Value input = 0; input < m_Inputs; ++input)
    {
      m_Groups[groupOf(input)].push_back(input);
    }
  }

  RegisterPlan
  Run()
  {
    for (std::size_t n = 0; n < m_Lowered.instructions.size(); ++n)
    {
      const auto & instruction = m_Lowered.instructions[n];
      m_Pinned.clear();
      for (int i = 0; i < instruction.numberOfOperands; ++i)
      {
        m_Pinned.insert(instruction.operands[i]);
      }
      for (const auto operand : m_Pinned)
      {
        Fetch(operand);
      }
      m_Plan.steps.push_back({ RegisterPlan::Action::Compute, instruction.result, 0, n });
      for (const auto operand : m_Pinned)
      {
        Use(operand, n);
      }
      if (!m_Values[instruction.result].uses.empty())
      {
        Enter(instruction.result);
      }
      MakeRoom();
    }
    return std::move(m_Plan);
  }

private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  struct State
  {
    std::vector<std::size_t> uses; ///< instructions that use the value, in order
    std::size_t              used{ 0 };
    bool                     inRegister{ false };
    std::size_t              slot{ nowhere };

    std::size_t
    GetNextUse() const
    {
      return used < uses.size() ? uses[used] : nowhere;
    }
  };

  void
  Enter(Value value)
  {
    auto & state = m_Values[value];
    if (!state.inRegister && state.GetNextUse() != nowhere)
    {
      state.inRegister = true;
      m_InRegisters.emplace(state.GetNextUse(), value);
    }
  }

  void
  Leave(Value value)
  {
    auto & state = m_Values[value];
    if (state.inRegister)
    {
      m_InRegisters.erase({ state.GetNextUse(), value });
      state.inRegister = false;
    }
  }

  void
  Fetch(Value value)
  {
    if (m_Values[value].inRegister)
    {
      return;
    }
    if (value < m_Inputs)
    {
      m_Plan.steps.push_back({ RegisterPlan::Action::Load, value, 0, 0 });
      for (const auto pixel : m_Groups[m_GroupOf(value)])
      {
        Enter(pixel);
      }
    }
    else
    {
      m_Plan.steps.push_back({ RegisterPlan::Action::Restore, value, m_Values[value].slot, 0 });
      Enter(value);
    }
    MakeRoom();
  }

  void
  Use(Value value, std::size_t instruction)
  {
    auto & state = m_Values[value];
    Leave(value);
    while (state.used < state.uses.size() && state.uses[state.used] <= instruction)
    {
      ++state.used;
    }
    if (state.GetNextUse() != nowhere)
    {
      Enter(value);
    }
    else if (state.slot != nowhere)
    {
      m_FreeSlots.push_back(state.slot);
    }
  }

  /** Sends values away until the rest fits; operands of the instruction at hand stay. */
  void
  MakeRoom()
  {
    auto candidate = m_InRegisters.end();
    while (m_Registers != 0 && m_InRegisters.size() > m_Registers && candidate != m_InRegisters.begin())
    {
      --candidate;
      const auto value = candidate->second;
      if (m_Pinned.count(value) != 0)
      {
        continue;
      }
      auto & state = m_Values[value];
      if (value >= m_Inputs && state.slot == nowhere)
      {
        if (m_FreeSlots.empty())
        {
          m_FreeSlots.push_back(m_Plan.numberOfSlots++);
        }
        state.slot = m_FreeSlots.back();
        m_FreeSlots.pop_back();
        m_Plan.steps.push_back({ RegisterPlan::Action::Save, value, state.slot, 0 });
      }
      state.inRegister = false;
      candidate = m_InRegisters.erase(candidate);
    }
  }

  const LoweredProgram &                    m_Lowered;
  std::size_t                               m_Registers;
  std::size_t                               m_Inputs;
  std::vector<State>                        m_Values;
  const std::function<std::size_t(Value)> & m_GroupOf;
  std::map<std::size_t, std::vector<Value>> m_Groups;
  std::set<std::pair<std::size_t, Value>>   m_InRegisters; ///< by next use
  std::set<Value>                           m_Pinned;
  std::vector<std::size_t>                  m_FreeSlots;
  RegisterPlan                              m_Plan;
};

} // namespace

RegisterPlan
PlanRegisters(const TileProgram &                                    program,
              const LoweredProgram &                                 lowered,
              std::size_t                                            registers,
              const std::function<std::size_t(TileProgram::Value)> & groupOf)
{
  return RegisterPlanner(program, lowered, registers, groupOf).Run();
}

} // namespace cudamedian
