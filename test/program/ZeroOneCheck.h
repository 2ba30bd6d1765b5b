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
#ifndef ZeroOneCheck_h
#define ZeroOneCheck_h

#include "TileProgram.h"

#include <string>

namespace cudamedian
{

/** Runs a program on 64 zero-one cases at once: bit i of `inputs[v]` is input v in case i (min is AND, max is OR).
 * \returns the outputs, in the order of TileProgram::GetOutputs(). */
std::vector<std::uint64_t>
RunZeroOne(const TileProgram & program, const std::vector<std::uint64_t> & inputs);

/** Checks a program against all 2^N zero-one windows of each of its outputs, the rest of the footprint pseudo-random.
 * By the 0-1 principle a program that passes yields the value of the window's rank for every input. Feasible up to N =
 * 25 or so. \returns an empty string, or the first failing case in words. */
std::string
CheckAllZeroOneWindows(const TileProgram & program);

/** Checks a program on structured zero-one footprints (half planes, stripes, single pixels, nearly balanced windows)
 * and on `count` times 64 random ones of every density.
 * \returns an empty string, or the first failing case in words. */
std::string
CheckSampledZeroOneFootprints(const TileProgram & program, std::uint64_t seed, std::size_t count);

/** Of a program that finds several ranks of each window the part that finds one of them: number 0 is the window's. */
TileProgram
TakeRank(const TileProgram & program, std::int64_t number);

} // namespace cudamedian

#endif
