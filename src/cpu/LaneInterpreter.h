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
#ifndef LaneInterpreter_h
#define LaneInterpreter_h

#include "ProgramSchedule.h"

namespace cudamedian
{

/** InterpretLanes() for keys of so many bytes. */
void
InterpretBytes(const ProgramSchedule & schedule, const void * operands, std::size_t keyBytes, std::size_t lanes);

/** Runs a schedule on `lanes` tiles at once. Each instruction is one pass over its lanes, with the widest vectors of
 * the machine (Google Highway), or with those that the compiler makes of loops.
 *
 * \param operands one pointer per operand of the schedule, inputs first, then slots; each points to `lanes` keys.
 * \param lanes a multiple of 64 bytes' worth of keys. */
template <typename TKey>
void
InterpretLanes(const ProgramSchedule & schedule, TKey * const * operands, std::size_t lanes)
{
  InterpretBytes(schedule, operands, sizeof(TKey), lanes);
}

} // namespace cudamedian

#endif
