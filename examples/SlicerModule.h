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
#ifndef SlicerModule_h
#define SlicerModule_h

#include "OutputFile.h"

#include <chrono>
#include <string>

/** The description of this program for 3D Slicer and other hosts of command line modules, as XML. */
extern const char * const ModuleDescriptionXml;

/** Whether the arguments ask for nothing but that description. */
bool
AsksForModuleDescription(int argc, const char * const argv[]);

/** Whether 3D Slicer has started the program: it asks for the output parameters of every module that has some. */
bool
IsRunBySlicer(int argc, const char * const argv[]);

/** Prints the description to standard output. \returns the exit code of the program */
int
PrintModuleDescription();

/** \class SlicerModule
 * What a command line module tells 3D Slicer while it runs.
 *
 * Standard output carries the elements that Slicer looks for, flushed at once: `<filter-start>`, `<filter-comment>`,
 * `<filter-progress>` with a number that rises from 0 to 1, and `<filter-end>`. The output parameters go into a file
 * at the end, which is written as a whole or not at all. */
class SlicerModule
{
public:
  /** Tells the start. \throws UserError when there can be no file at `parameterFile`. */
  explicit SlicerModule(const std::string & parameterFile);

  /** Tells what is done from now on. The comment holds no markup. */
  void
  Begin(const std::string & comment);

  /** Tells how much of the filter's work is done, 0 to 1. Reading and writing take their share of what is printed. A
   * step too small to be seen is kept for a tenth of a second. */
  void
  ShowFiltered(double fraction);

  /** Takes what ran, in any number of lines: the output parameter `report`. */
  void
  SetReport(const std::string & report);

  /** Writes the output parameters and tells the end. \throws UserError when they cannot be written. */
  void
  End();

private:
  using Clock = std::chrono::steady_clock;

  void
  Print(double progress);

  OutputFile        m_ParameterFile;
  std::string       m_Report;
  Clock::time_point m_Start{ Clock::now() };
  Clock::time_point m_LastPrint{ m_Start };
  double            m_Progress{ -1 };
};

#endif
