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
#ifndef FootprintRows_h
#define FootprintRows_h

#include "Window.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace cudamedian
{

/** Which pixels of its box a footprint in a plane has, row by row: some that follow each other. */
struct FootprintRows
{
  std::vector<std::uint8_t> first;  ///< of each row along the second axis, the first place along the first one
  std::vector<std::uint8_t> length; ///< of each row, how many follow; both are as long as a multiple of 16, the rest 0
};

/** The rows of a footprint.
 * \param axes image axes; rows lie along the first one, one below the other along the second
 * \returns none where pixels of a row do not follow each other, lie beyond 255 places, or along other axes, or where
 * they have weights. */
std::optional<FootprintRows>
ListFootprintRows(const Footprint & footprint, const int (&axes)[Dimension]);

} // namespace cudamedian

#endif
