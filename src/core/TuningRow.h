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
#ifndef TuningRow_h
#define TuningRow_h

#include "itkCudaMedianExtent.h"

#include <sstream>
#include <string>

/** What rows of tables of measurements have in common. A row begins with the device or host, the commit that was
 * measured, or that wrote the figure down, and the window in pixels. Rows are data: tables stand in files of their own,
 * as the programs that measure print them. */
namespace cudamedian
{

/** How fast an algorithm was. */
struct RateRow
{
  const char * device;
  const char * commit;
  Extent       window;
  int          pixelBytes;
  double       rate; ///< Gpixel/s
};

/** How fast an algorithm was beside another in the same run: on hosts, whose times differ from run to run. */
struct RatioRow
{
  const char * host;
  const char * commit;
  Extent       window;
  int          pixelBytes;
  double       ratio; ///< of pixels in a second
};

/** "{ { 5, 5, 1, 1 } }": a window or a tile as the tables have it. */
inline std::string
ToRow(const Extent & extent)
{
  std::string text = "{ { ";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    text += (axis > 0 ? ", " : "") + std::to_string(extent[axis]);
  }
  return text + " } }";
}

/** The row as its table has it. */
inline std::string
ToRow(const RateRow & row)
{
  std::ostringstream text;
  text << "{ \"" << row.device << "\", \"" << row.commit << "\", " << ToRow(row.window) << ", " << row.pixelBytes
       << ", " << row.rate << " },";
  return text.str();
}

/** The row of a window and a format: that of the device, else the first one of another, else nullptr. */
template <typename TRow, std::size_t VRows>
const TRow *
FindRow(const TRow (&rows)[VRows], const std::string & device, const Extent & window, int pixelBytes)
{
  const TRow * found = nullptr;
  for (const auto & row : rows)
  {
    if (row.window == window && row.pixelBytes == pixelBytes)
    {
      if (row.device == device)
      {
        return &row;
      }
      found = found == nullptr ? &row : found;
    }
  }
  return found;
}

} // namespace cudamedian

#endif
