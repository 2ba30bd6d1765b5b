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
#ifndef FuzzWindow_h
#define FuzzWindow_h

#include "FuzzCase.h"

#include <cstdint>
#include <vector>

/** What the window of a case is, by its own words: nothing here is the library's. */
namespace cudamedianfuzz
{

/** A pixel of a window: how far it lies from the output's own, and how many times it counts. */
struct WindowPixel
{
  Extent       offset{ { 0, 0, 0, 0 } };
  std::int64_t weight{ 1 };
};

/** All of them that count. */
std::vector<WindowPixel>
ListWindow(const Case & c);

/** How many times each pixel of the box counts, axis 0 fastest: shapes alone. */
std::vector<std::int64_t>
ListWeights(const Case & c);

/** What a window is, in numbers. */
struct WindowMeasures
{
  Extent       extent{ { 1, 1, 1, 1 } }; ///< of the least box around the output's own pixel that holds all
  Extent       radius{ { 0, 0, 0, 0 } }; ///< of that box
  std::int64_t pixels{ 1 };
  std::int64_t values{ 1 };          ///< pixels as often as they count
  bool         isFootprint{ false }; ///< some pixel of the box does not count, or counts several times
};

WindowMeasures
MeasureWindow(const Case & c);

/** Whether the documentation says that the filter accepts the case's window and rules together. */
bool
IsAccepted(const Case & c);

} // namespace cudamedianfuzz

#endif
