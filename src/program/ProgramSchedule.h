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
#ifndef ProgramSchedule_h
#define ProgramSchedule_h

#include "TileProgram.h"

namespace cudamedian
{

/** A tile program with its values assigned to slots, for backends that interpret it.
 *
 * An operand below the number of inputs is a footprint pixel; any other operand is slot `operand - inputs`. A slot is
 * used again once its value is dead. The min and the max of the same two operands become one instruction. */
struct ProgramSchedule
{
  /** What an instruction does with two operands. */
  enum class Operation : std::uint16_t
  {
    Min,   ///< low = min(a, b)
    Max,   ///< high = max(a, b)
    MinMax ///< low = min(a, b), high = max(a, b), both operands read before either slot is written
  };

  /** One instruction: its operands, and the slots of its results. */
  struct Instruction
  {
    Operation     operation;
    std::uint16_t a;
    std::uint16_t b;
    std::uint16_t low;
    std::uint16_t high;
  };

  /** Whether an instruction is followed by the only one that uses one of its results, which is then in no slot for
   * long: who runs both at once need not write it. */
  enum class Join : std::uint8_t
  {
    None,
    Low, ///< low is used by the next instruction alone
    High ///< high is
  };

  std::uint16_t              numberOfInputs{ 0 };
  std::uint16_t              numberOfSlots{ 0 };
  std::vector<Instruction>   instructions;
  std::vector<Join>          joins;   ///< for each instruction; none is joined with two others
  std::vector<std::uint16_t> outputs; ///< operand that holds each output at the end
};

/** Assigns slots by linear scan. \throws std::invalid_argument when a program needs more operands than 65,535. */
ProgramSchedule
ScheduleProgram(const TileProgram & program);

} // namespace cudamedian

#endif
