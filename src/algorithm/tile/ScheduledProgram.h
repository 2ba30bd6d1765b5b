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
#ifndef ScheduledProgram_h
#define ScheduledProgram_h

#include "ProgramSchedule.h"
#include "TileProgram.h"

#include <memory>

namespace cudamedian
{

/** A tile program and the schedule by which it is interpreted. Shared between plans. */
struct ScheduledProgram
{
  TileProgram     program;
  ProgramSchedule schedule;
};

/** The program of a window in a tile that hierarchical tiling divides down to single pixels. Built once per process,
 * window and tile. Thread-safe. */
std::shared_ptr<const ScheduledProgram>
GetScheduledProgram(const Window & window, const Extent & tile);

/** The program of a window with a footprint, in the tile and put together in the way that take the fewest operations.
 * Likewise built once. */
std::shared_ptr<const ScheduledProgram>
GetScheduledFootprintProgram(const Window & window);

/** The program that finds so many values of each window: of its rank, and of those behind it. A footprint has a tile of
 * its own. Likewise built once. */
std::shared_ptr<const ScheduledProgram>
GetScheduledRanksProgram(const Window & window, const Extent & tile, std::int64_t ranks);

/** Bytes of device memory that a program's schedule takes for the kernel that interprets it. */
std::size_t
GetDeviceProgramBytes(const ProgramSchedule & schedule);

} // namespace cudamedian

#endif
