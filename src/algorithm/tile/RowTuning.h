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
#ifndef RowTuning_h
#define RowTuning_h

#include "HierarchicalTiling.h"
#include "ProgramPhases.h"
#include "TuningRow.h"

/** The rows of RowTuning.inc and ColumnTuning.inc: how the CPU runs the tile program of a window, measured against
 * others. */
namespace cudamedian
{

/** A policy that was measured on one core. */
struct RowTuningRow
{
  const char * device; ///< the processor, by its instruction set
  const char * commit;
  Extent       window;
  int          pixelBytes;
  Extent       tile;
  Extent       root;
  Division     division;
  PhaseOptions phases;
  std::size_t  chunkOperations; ///< 0: left whole
  double       clocks;          ///< a pixel
  double       runnerUpClocks;  ///< of the best other policy measured
  const char * runnerUp;        ///< how that one differs
};

} // namespace cudamedian

#endif
