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
#ifndef FuzzOptions_h
#define FuzzOptions_h

#include "FuzzCase.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cudamedianfuzz
{

/** What both programs are told on their command lines. */
struct Options
{
  double               seconds{ 0 }; ///< 0: no limit
  std::uint64_t        cases{ 0 };   ///< 0: no limit
  std::uint64_t        seed{ 0 };
  std::string          replay; ///< one case; empty: random ones
  std::vector<Backend> backends;
  std::vector<int>     devices;
  bool                 requireGpu{ false };
  unsigned             jobs{ 1 };
  unsigned             caseSeconds{ 120 };  ///< a case that takes longer is a failure
  unsigned             shrinkSeconds{ 20 }; ///< for making a case that fails smaller
  unsigned             newWindows{ 200 };   ///< with a device one case in so many has a window that it has not met
  unsigned             threads{ 4 };        ///< of the stress program
  bool                 injectsDifference{ false };
};

/** Reads the command line, with seed and need of a GPU from the environment where it has neither; prints the usage and
 * ends the program where it is not understood. */
Options
ReadOptions(int count, char ** words, const char * usage);

/** How often what was met. */
using Counts = std::map<std::string, std::uint64_t>;

/** What one process did. */
struct Tally
{
  std::uint64_t cases{ 0 };
  std::uint64_t failures{ 0 };
  Counts        counts;
};

/** Runs `body(seed, first)` in as many processes as there are jobs, `first` in one of them, and adds up what they did.
 * A process that ends without its tally counts as a failure. */
Tally
RunJobs(const Options & options, const std::function<Tally(std::uint64_t seed, bool first)> & body);

/** Prints how often what was met, then one line of seed, cases, rate and failures. */
void
PrintTally(const char * program, const Options & options, const Tally & tally, double seconds);

/** Names the case that is under way: a signal that ends the process, and a case that takes too long, print it. */
void
SetCurrentCase(const std::string & line, unsigned seconds);

/** Has SetCurrentCase() do so. */
void
WatchForCrashes();

/** Prints a line at once, as a whole: several processes may print. */
void
PrintLine(const std::string & line);

} // namespace cudamedianfuzz

#endif
