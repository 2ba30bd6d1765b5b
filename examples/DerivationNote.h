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
#ifndef DerivationNote_h
#define DerivationNote_h

#include "Options.h"

#include <cstdint>
#include <string>

/** What a new DICOM series says of the filter that made it. */
struct DerivationNote
{
  std::string   name;                ///< for the description of the series: "median 3x3x3"
  std::string   description;         ///< all that decided the values, in words
  bool          isSmoothing{ true }; ///< no minimum or maximum, which move edges
  std::uint64_t slicesBefore{ 0 };   ///< that a window reaches before its own slice
  std::uint64_t slicesBehind{ 0 };
  bool          wraps{ false }; ///< whether windows go on at the other end of the stack
};

/** The note of a filter with three axes. `path` is the series' own, for messages.
 * \throws UserError when there may be values that no voxel of the input has: not every value can be stored in a slice
 */
DerivationNote
MakeDerivationNote(const Options & options, const AxisWindows & windows, const std::string & path);

#endif
