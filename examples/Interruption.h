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
#ifndef Interruption_h
#define Interruption_h

#include <string>

/** \class Interruption
 * Leaves no temporary folder behind, however the program ends.
 *
 * A signal that would end the program, and a crash, first put the folder away and say so in one line, and then end it
 * as they would have: the exit status is the signal's. Signals that the program was started to ignore stay ignored.
 * SIGKILL can be caught by nobody. A small second process waits for the end of this one and puts the folder away when
 * nobody else did. It is of a session of its own, and ends with this one. Should both be killed, the next run that
 * writes into the same directory clears up. */
class Interruption
{
public:
  /** Whose child the second process is. Who kills a program may kill its children with it, as 3D Slicer does: then that
   * process must not be one. */
  enum class Watcher
  {
    Child,
    Apart
  };

  /** To be made first in main, before there is any other thread. */
  explicit Interruption(Watcher watcher = Watcher::Child);
  ~Interruption();
  Interruption(const Interruption &) = delete;
  Interruption &
  operator=(const Interruption &) = delete;

  /** The folder to put away, as an absolute path; empty: there is none. */
  static void
  SetFolder(const std::string & path);

  /** Starts a copy of this process for work that may crash or give up as it likes: signals that are sent to the program
   * are this process's matter, and the copy ends with it at the latest.
   * \returns the copy's number, 0 in the copy itself, or -1 if there can be none */
  static int
  Fork();

  /** Waits for the end of the copy. \returns its status as waitpid() has it */
  static int
  WaitForFork();

  /** What a signal is called. */
  static const char *
  NameOf(int signal);

  /** \class Task
   * What the program is doing while the object lives, to be told should it end meanwhile. */
  class Task
  {
  public:
    explicit Task(const std::string & text);
    ~Task();
    Task(const Task &) = delete;
    Task &
    operator=(const Task &) = delete;
  };

private:
  int m_Alive{ -1 };
  int m_Watcher{ -1 }; ///< number of the second process, if it is a child
  int m_Gone{ -1 };    ///< what is read from here ends with the second process, if it is none
};

#endif
