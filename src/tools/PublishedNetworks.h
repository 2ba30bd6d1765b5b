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
#ifndef PublishedNetworks_h
#define PublishedNetworks_h

#include "TileProgram.h"

#include <utility>
#include <vector>

/** Networks of exchanges that find the median of one window, as tile programs of one output. Wire i of a network starts
 * with pixel i of the window, axis 0 fastest. */
namespace cudamedian
{

/** Appends a min and a max of two values. \returns both, the lesser first. */
std::pair<TileProgram::Value, TileProgram::Value>
AppendExchange(TileProgram & program, TileProgram::Value a, TileProgram::Value b);

/** \throws std::invalid_argument, which begins with the caller's name, unless a window is a box of odd sizes and its
 * rank the median's. */
void
CheckMedianOfBox(const Window & window, const char * caller);

/** Two wires that are exchanged: the first gets the lesser value. */
using Exchange = std::pair<std::size_t, std::size_t>;

/** The program of a network: what a wire has after all exchanges. */
TileProgram
BuildNetworkProgram(const Window & window, const std::vector<Exchange> & exchanges, std::size_t wire);

/** Exchanges of a 3x3 window in 22 steps.
 *
 * The network of 25 exchanges that sorts nine values (Knuth, The Art of Computer Programming 5.3.4) without the three
 * that the median does not need. Source: M. Zucchi, "3x3 median filter, or branchless loopless sort", 2011. */
TileProgram
BuildTwentyTwoStepProgram();

/** The exchanges for a 5x5 window that were published for shaders, 94 of them, or correct ones. The median is on
 * wire 12.
 *
 * The published ones are wrong: of the 2^25 windows of zeros and ones they fail in 1,490,419. Three of them differ from
 * those of the network that they resemble, and five are not there. With these eight changes they are 99, and right.
 * None of the eight can be left out, and no one or two changes of any kind make the published network right.
 *
 * Sources: M. McGuire, "A Fast, Small-Radius GPU Median Filter", ShaderX6, 2008; N. Devillard, "Fast median search: an
 * ANSI C implementation", 1998, for the 99 exchanges; U. Hofmann, "Deriving small sized median filters from bitonic
 * sorting networks", 2024, for an input on which the published ones fail. */
std::vector<Exchange>
ListFiveByFiveExchanges(bool isCorrected);

/** Their program. */
TileProgram
BuildFiveByFiveNetworkProgram(bool isCorrected);

/** The median of a window as the middle wire of a bitonic sorting network.
 *
 * The network sorts as many values as the next power of two. Wires beyond the window's have infinite values; exchanges
 * with them are left out, and those that the median does not depend on. Sources: K. E. Batcher, "Sorting Networks and
 * Their Applications", 1968; U. Hofmann, as above, for medians.
 *
 * \throws std::invalid_argument unless the window is a box of odd sizes and its rank the median's. */
TileProgram
BuildBitonicProgram(const Window & window);

/** The median of a window by finding the greatest value, then the greatest of the rest and so on down to the median.
 *
 * N values take N(N-1)/2 - M(M-1)/2 exchanges with M = (N-1)/2. Source: H.-J. Kim (ForgetfulSelection.h), with rows
 * staged in shared memory.
 *
 * \throws std::invalid_argument unless the window is a box of odd sizes and its rank the median's. */
TileProgram
BuildPartialSortProgram(const Window & window);

} // namespace cudamedian

#endif
