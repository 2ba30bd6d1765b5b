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
#ifndef BackendRows_h
#define BackendRows_h

#include "TuningRow.h"
#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <cctype>

namespace cudamedian
{

/** A case of BackendRows.inc: what both backends took for an ordinary image with 16 threads on the host of an H200, in
 * milliseconds, and what was estimated then. The estimates' constants were fitted to the rows of host 1. */
struct BackendRow
{
  const char * host;
  const char * commit;
  PixelType    type;
  Extent       extent;
  Extent       window;
  double       cpu;
  double       cuda;
  double       estimatedCpu; ///< 0 where it is not told
  double       estimatedCuda;
};

/** The row as the table has it. */
inline std::string
ToRow(const BackendRow & row)
{
  // "uint8" as the enumerator that it is.
  std::string type = ToString(row.type);
  const auto  capitals = type.front() == 'u' ? 2 : 1;
  std::transform(type.begin(), type.begin() + capitals, type.begin(), [](char c) { return std::toupper(c); });
  std::ostringstream text;
  text << "{ \"" << row.host << "\", \"" << row.commit << "\", PixelType::" << type << ", " << ToRow(row.extent) << ", "
       << ToRow(row.window) << ", " << row.cpu << ", " << row.cuda << ", " << row.estimatedCpu << ", "
       << row.estimatedCuda << " },";
  return text.str();
}

/** The estimates are that many times longer or shorter than the rows at most. */
constexpr double backendError = 2.2;

} // namespace cudamedian

#endif
