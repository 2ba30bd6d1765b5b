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
#ifndef ProgramLowering_h
#define ProgramLowering_h

#include "TileProgram.h"

namespace cudamedian
{

/** What a GPU executes for an operation of a tile program.
 *
 * Min and max run on one pipe of the multiprocessor (62 a clock and SM on an H200), multiply-add on another (64), and
 * both are issued at once: 58 and 58 measured.
 *
 * A maximum whose minimum exists too need not exist itself: max(a, b) = a + excess, where the excess is b - min(a, b),
 * and one instruction (VIADDMNMX) adds two operands and takes min or max of the sum and a third. That is exact for
 * unsigned keys, since the sum is a key. */
enum class LoweredOperation : std::uint8_t
{
  Min,
  Max,
  Min3,     ///< of three operands, the price of two (VIMNMX3)
  Max3,     ///< of three operands
  MaxBySum, ///< max(a, b) = a + b - min(a, b), modulo the register: two multiply-adds; the third operand is the min
  Excess,   ///< b - min(a, b), one multiply-add; the operands are b and the min
  MinOfSum, ///< min(a + b, c), on the pipe of min and max
  MaxOfSum  ///< max(a + b, c)
};

/** A tile program in the instructions of a GPU. */
struct LoweredProgram
{
  /** One instruction: the value that it defines, and the values that it reads. */
  struct Instruction
  {
    LoweredOperation   operation;
    TileProgram::Value result; ///< numbered as in the tile program; an excess follows behind its values
    TileProgram::Value operands[3];
    int                numberOfOperands;
  };
  std::vector<Instruction> instructions;
  std::size_t              numberOfValues; ///< inputs, results of the tile program and excesses
};

/** How a program is lowered. */
struct LoweringOptions
{
  bool threeInput{ true }; ///< join two operations of one kind whose intermediate value has no other use
  int  sumPercent{ 0 };    ///< share of the max operations whose min exists too that become MaxBySum
  int  excessPercent{ 0 }; ///< share of those whose users can add two operands that are left to them, before
};

/** Lowers a program; the MaxBySum operations are spread evenly over it, and so are the excesses. */
LoweredProgram
LowerProgram(const TileProgram & program, const LoweringOptions & options);

/** What a program costs per pixel of its tile. */
struct ProgramCost
{
  double      operations{ 0 };  ///< min and max of two operands
  double      minMax{ 0 };      ///< instructions on the pipe of min and max
  double      multiplyAdd{ 0 }; ///< instructions on the pipe of multiply-add
  std::size_t liveValues{ 0 };  ///< values alive at one time, in program order; pixels count from their first use
  double      clocks{ 0 };      ///< floor: clocks of one SM for one pixel and one key to a register
};

/** The floor of a cost: clocks by the busiest of the two pipes and the issue of 128 instructions a clock. */
double
GetFloorClocks(const ProgramCost & cost);

/** Counts a lowered program. The floor is the busiest of the two pipes and the issue of 128 instructions a clock. */
ProgramCost
CountProgram(const TileProgram & program, const LoweredProgram & lowered);

} // namespace cudamedian

#endif
