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
#ifndef TileTuning_h
#define TileTuning_h

#include "HierarchicalTiling.h"
#include "ProgramPhases.h"
#include "TuningRow.h"

/** The rows of TileTuning.inc: how kernels run the tile program of a window, measured against others. */
namespace cudamedian
{

/** A policy that was measured, as CudaMedianKernelBenchmark --tune prints it. */
struct TileTuningRow
{
  const char * device;
  const char * commit;
  Extent       window;
  int          pixelBytes; ///< 2: two keys in a register, which 8-bit pixels have too; 4: one
  Extent       tile;
  Extent       root;
  Division     division;
  PhaseOptions phases;
  int          sumPercent;
  int          excessPercent;
  int          blockX;
  int          blockY;
  int          residentBlocks; ///< that the compiler has to leave registers for, or 0
  int          steps;          ///< of a block along an axis, or 0
  double       rate;           ///< Gpixel/s
  double       runnerUpRate;   ///< of the best other policy measured; 0 where none is told
  const char * runnerUp;       ///< how that one differs, or all of it
};

/** The row as the table has it. */
inline std::string
ToRow(const TileTuningRow & row)
{
  constexpr const char * divisions[] = { "Halves", "PowerFirst", "PowerLast" };
  std::ostringstream     text;
  text << "{ \"" << row.device << "\", \"" << row.commit << "\", " << ToRow(row.window) << ", " << row.pixelBytes
       << ", " << ToRow(row.tile) << ", " << ToRow(row.root)
       << ", Division::" << divisions[static_cast<int>(row.division)] << ", { " << row.phases.sharedPhases << ", "
       << row.phases.firstColumn << ", " << row.phases.columns << " }, " << row.sumPercent << ", " << row.excessPercent
       << ", " << row.blockX << ", " << row.blockY << ", " << row.residentBlocks << ", " << row.steps << ", "
       << row.rate << ", " << row.runnerUpRate << ", \"" << row.runnerUp << "\" },";
  return text.str();
}

} // namespace cudamedian

#endif
