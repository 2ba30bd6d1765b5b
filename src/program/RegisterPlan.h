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
#ifndef RegisterPlan_h
#define RegisterPlan_h

#include "ProgramLowering.h"

#include <functional>

namespace cudamedian
{

/** A lowered program with a place for every value at every time: in a register, saved in memory that the thread has to
 * itself, or, for pixels, in the footprint. */
struct RegisterPlan
{
  /** What a step does. */
  enum class Action : std::uint8_t
  {
    Load,    ///< bring a group of pixels from the footprint; `value` is one of them
    Save,    ///< copy `value` to `slot`
    Restore, ///< bring `value` back from `slot`
    Compute  ///< instruction number `instruction` of the lowered program
  };
  /** A step, with what its action needs. */
  struct Step
  {
    Action             action;
    TileProgram::Value value;
    std::size_t        slot;
    std::size_t        instruction;
  };
  std::vector<Step> steps;
  std::size_t       numberOfSlots{ 0 };
};

/** Plans a program for a number of registers.
 *
 * Where more values are alive than registers, the one whose next use is furthest away leaves them (L. A. Belady, 1966):
 * a computed value is saved, unless it was before, and a pixel is loaded once more when needed. Compilers do the same
 * with local memory; this plan knows that the code is one straight line, and puts the values into shared memory.
 *
 * \param registers how many values may be in registers, 0 for as many as there are
 * \param groupOf the number of the group of pixels that one load brings, by pixel; groups are loaded as a whole, and
 * only pixels still needed stay */
RegisterPlan
PlanRegisters(const TileProgram &                                    program,
              const LoweredProgram &                                 lowered,
              std::size_t                                            registers,
              const std::function<std::size_t(TileProgram::Value)> & groupOf);

} // namespace cudamedian

#endif
