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
#ifndef SortingNetwork_h
#define SortingNetwork_h

#include "TileProgram.h"

namespace cudamedian
{

/** Values of a tile program in ascending order, whatever the inputs. */
using SortedValues = std::vector<TileProgram::Value>;

/** The part of a sorted list that can still hold the wanted value, and how many values were discarded on either side.
 */
struct SortedCore
{
  SortedValues values;
  std::int64_t discardedBelow{ 0 };
  std::int64_t discardedAbove{ 0 };
};

/** Appends a network that merges two sorted lists of any lengths.
 * Batcher's odd-even merge (K. E. Batcher, 1968; Knuth, The Art of Computer Programming 5.3.4). */
SortedValues
MergeSorted(TileProgram & program, const SortedValues & a, const SortedValues & b);

/** Makes sorted values one output of a program's: as many for each of the outputs. */
void
PutOutput(const SortedValues & values, std::int64_t output, std::vector<TileProgram::Value> & outputs);

/** Merges any number of sorted lists, the two shortest first. */
SortedValues
MergeAllSorted(TileProgram & program, std::vector<SortedValues> lists);

} // namespace cudamedian

#endif
