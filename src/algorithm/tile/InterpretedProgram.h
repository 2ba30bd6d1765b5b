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
#ifndef InterpretedProgram_h
#define InterpretedProgram_h

#include "ProgramSchedule.h"

namespace cudamedian
{

/** A schedule in the memory of whoever interprets it. */
struct InterpretedProgram
{
  const ProgramSchedule::Instruction * instructions;
  const std::uint16_t *                outputs;
  std::uint32_t                        numberOfInstructions;
  std::uint32_t                        numberOfInputs;
  std::uint32_t                        numberOfSlots;
  std::int32_t                         tile[Dimension];
  std::int32_t                         footprint[Dimension];
};

} // namespace cudamedian

#endif
