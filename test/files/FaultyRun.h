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
#ifndef FaultyRun_h
#define FaultyRun_h

#include <cstddef>
#include <string>
#include <vector>

namespace cudamediantest
{

/** What goes wrong while a program runs. */
struct Fault
{
  enum class Kind
  {
    None,
    SignalAfter,  ///< the signal is sent after a time
    SignalAtCall, ///< the signal is sent as the program is about to make a call
    FailedCall    ///< a call returns an error and does nothing
  };
  /** Which of the calls of the main thread, and of the process that writes for it, count. */
  enum class Calls
  {
    Changes, ///< from the first folder that is made on: those that change files or folders
    Reads    ///< those that read the file `input`
  };

  Kind        kind{ Kind::None };
  Calls       calls{ Calls::Changes };
  std::string input;
  std::size_t call{ 0 }; ///< number of the call, from 0
  int         error{ 0 };
  int         signal{ 0 };
  double      seconds{ 0 };
  std::size_t largestFile{ 0 }; ///< RLIMIT_FSIZE; 0: none
  std::size_t memory{ 0 };      ///< RLIMIT_AS; 0: none
  bool        count{ false };   ///< count the calls
};

/** What became of the program. */
struct RunOutcome
{
  int         exitCode{ -1 }; ///< -1 when a signal ended it
  int         signal{ 0 };
  bool        timedOut{ false };
  std::size_t calls{ 0 }; ///< calls that counted, where they were counted
  std::string error;      ///< standard error
};

/** Whether calls of another process can be counted and made to fail here. */
bool
CanTrace();

/** Runs a program with a fault and waits for its end, but not longer than a minute. */
RunOutcome
RunWithFault(const std::vector<std::string> & command, const Fault & fault, const std::string & errorPath);

} // namespace cudamediantest

#endif
