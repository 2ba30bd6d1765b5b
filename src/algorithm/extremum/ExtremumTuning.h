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
#ifndef ExtremumTuning_h
#define ExtremumTuning_h

#include "ExtremumPolicy.h"
#include "TuningRow.h"

/** The rows of ExtremumTuning.inc: the shapes of passes that find extremes, measured against others. */
namespace cudamedian
{

/** The name of a way to work. */
inline const char *
ToString(ExtremumMeans means)
{
  return means == ExtremumMeans::Bands     ? "Bands"
         : means == ExtremumMeans::Columns ? "Columns"
         : means == ExtremumMeans::Tile    ? "Tile"
                                           : "Strip";
}

/** A shape that was measured, as CudaMedianKernelBenchmark --algorithm extremes --tune prints it: for a window, or for
 * what it has along some of its axes. */
struct ExtremumTuningRow
{
  const char *  device;
  const char *  commit;
  Extent        window;
  Extent        image; ///< that was measured with
  int           pixelBytes;
  ExtremumMeans means;
  int           isWide;
  int           along;
  int           across;
  int           run;
  int           band;
  int           bands;
  int           warps;
  double        rate;         ///< Gpixel/s
  double        modelledRate; ///< of the shape that the model takes for the fastest
};

/** The row as the table has it. */
inline std::string
ToRow(const ExtremumTuningRow & row)
{
  std::ostringstream text;
  text << "{ \"" << row.device << "\", \"" << row.commit << "\", " << ToRow(row.window) << ", " << ToRow(row.image)
       << ", " << row.pixelBytes << ", ExtremumMeans::" << ToString(row.means) << ", " << row.isWide << ", "
       << row.along << ", " << row.across << ", " << row.run << ", " << row.band << ", " << row.bands << ", "
       << row.warps << ", " << row.rate << ", " << row.modelledRate << " },";
  return text.str();
}

} // namespace cudamedian

#endif
