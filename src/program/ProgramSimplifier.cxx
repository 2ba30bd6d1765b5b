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
#include "ProgramSimplifier.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cudamedian
{
namespace
{

using Value = TileProgram::Value;
using Operation = TileProgram::Operation;

class Simplifier
{
public:
  explicit Simplifier(const TileProgram & program)
    : m_Program(program)
    , m_Result(program.GetWindow(), program.GetTile(), program.GetNumberOfInputs() - program.GetNumberOfPixels())
  {}

  TileProgram
  Simplify()
  {
    std::vector<Value> renamed;
    for (Value input = 0; input < m_Program.GetNumberOfInputs(); ++input)
    {
      renamed.push_back(input);
    }
    for (const auto & instruction : m_Program.GetInstructions())
    {
      renamed.push_back(Append(instruction.operation, renamed[instruction.a], renamed[instruction.b]));
    }
    const auto rename = [&renamed](std::vector<Value> values) {
      std::transform(values.begin(), values.end(), values.begin(), [&](Value value) { return renamed[value]; });
      return values;
    };
    m_Result.SetOutputs(rename(m_Program.GetOutputs()));
    m_Result.SetExports(rename(m_Program.GetExports()));
    m_Result.RemoveDeadCode();
    return std::move(m_Result);
  }

private:
  /** How many operations are looked back: with 3 all of what runs of equal values leave is found. */
  static constexpr int deepest = 3;

  Value
  Append(Operation operation, Value a, Value b)
  {
    if (IsAtMost(a, b, deepest))
    {
      return operation == Operation::Min ? a : b;
    }
    if (IsAtMost(b, a, deepest))
    {
      return operation == Operation::Min ? b : a;
    }
    const auto key = std::make_tuple(operation, std::min(a, b), std::max(a, b));
    const auto found = m_Known.find(key);
    return found != m_Known.end() ? found->second
                                  : m_Known.emplace(key, m_Result.Append(operation, a, b)).first->second;
  }

  /** Whether a value is no larger than another for all inputs, as far as so many operations show. */
  bool
  IsAtMost(Value a, Value b, int depth) const
  {
    if (a == b || depth == 0)
    {
      return a == b;
    }
    const auto inputs = m_Result.GetNumberOfInputs();
    if (a >= inputs)
    {
      const auto & lower = m_Result.GetInstructions()[a - inputs];
      const bool   first = IsAtMost(lower.a, b, depth - 1);
      if (lower.operation == Operation::Min ? first || IsAtMost(lower.b, b, depth - 1)
                                            : first && IsAtMost(lower.b, b, depth - 1))
      {
        return true;
      }
    }
    if (b >= inputs)
    {
      const auto & upper = m_Result.GetInstructions()[b - inputs];
      const bool   first = IsAtMost(a, upper.a, depth - 1);
      return upper.operation == Operation::Max ? first || IsAtMost(a, upper.b, depth - 1)
                                               : first && IsAtMost(a, upper.b, depth - 1);
    }
    return false;
  }

  const TileProgram &                                  m_Program;
  TileProgram                                          m_Result;
  std::map<std::tuple<Operation, Value, Value>, Value> m_Known;
};

} // namespace

TileProgram
SimplifyProgram(const TileProgram & program)
{
  return Simplifier(program).Simplify();
}

} // namespace cudamedian
